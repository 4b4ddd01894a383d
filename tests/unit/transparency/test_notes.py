"""Signed notes, keys and checkpoints against published texts (P7, P8)."""

from __future__ import annotations

import base64
import hmac
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.transparency import note as notes
from diwan.core.transparency.checkpoint import Checkpoint, origin_of, parse_checkpoint
from diwan.core.transparency.note import KeyType, NoteMalformed, VerifierKey, parse_note, parse_vkey
from diwan.signing.notekey import LogSecret, NoteKey, signed_checkpoint
from diwan.signing.notes import cosigned_at, is_signed

# golang.org/x/mod/sumdb/note, note_test.go: the key, its private half, and a note that it signed.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
PETER_NOTE = f"{PETER_TEXT}\n{PETER_LINE}".encode()

# A checkpoint of Sigstore's Rekor, shard log2025-1, as it was served in July 2026; its key is in Sigstore's trusted root.
REKOR_SPKI = "MCowBQYDK2VwAyEAt8rlp1knGwjfbcXAYPYAkn0XiLz1x8O4t0YkEhie244="
REKOR_NOTE = """log2025-1.rekor.sigstore.dev
34356369
dA9mMr0smTXgo7nGsE01Zdc5KOOqTs2/zYfdSqxO+ks=

— log2025-1.rekor.sigstore.dev zxGZFQZgTebN28s0D7vKP5gX8R+CsXCved700HCQAHgDHbdkaH3tfx7+DMPkccNhzsnSy7LijLzWMa+evZduylLs0wc=
""".encode()

# c2sp.org/tlog-cosignature: the example of a cosigned checkpoint (its keys are not published).
C2SP_COSIGNED = """example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
""".encode()


def test_the_published_key_has_its_published_id_and_signature():
    key = parse_vkey(PETER)
    assert key.kind == KeyType.ED25519
    assert key.text == PETER
    assert is_signed(PETER_TEXT, parse_note(PETER_NOTE).signatures[0], key)


def test_signing_with_the_published_private_key_gives_the_published_note():
    key = NoteKey.parse(PETER_PRIVATE)
    assert key.verifier.text == PETER
    assert key.private_text == PETER_PRIVATE
    assert key.sign(PETER_TEXT).line == PETER_LINE
    assert notes.Note(PETER_TEXT, (key.sign(PETER_TEXT),)).raw == PETER_NOTE


def test_a_checkpoint_of_a_public_log_verifies():
    key = VerifierKey("log2025-1.rekor.sigstore.dev", KeyType.ED25519, base64.b64decode(REKOR_SPKI)[-32:])
    note = parse_note(REKOR_NOTE)
    head = parse_checkpoint(note.text)
    assert (head.origin, head.size) == ("log2025-1.rekor.sigstore.dev", 34356369)
    assert note.raw == REKOR_NOTE
    assert head.text == note.text
    assert is_signed(note.text, note.signatures[0], key)
    assert not is_signed(note.text.replace("34356369", "34356368"), note.signatures[0], key)


def test_the_specification_s_cosigned_checkpoint_is_read_to_the_byte():
    note = parse_note(C2SP_COSIGNED)
    time, signature = notes.parse_cosignature(note.signatures[1].blob)
    assert note.raw == C2SP_COSIGNED
    assert time == 1679315147, "the time of the specification's example"
    assert len(signature) == 64
    expected = "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n"
    assert notes.cosigned_message(time, note.text).decode().startswith(expected)


BAD_KEYS = [
    "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",  # too long (note_test.go)
    "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",  # another id
    "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    "PeterNeumann+c74f20a3",
    "PeterNeumann+c74f20a3+!!!!",
    "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    "",
]


@pytest.mark.parametrize("text", BAD_KEYS)
def test_what_is_no_key_is_refused(text):
    with pytest.raises(NoteMalformed):
        parse_vkey(text)


def test_a_key_of_a_type_that_is_not_used_here_is_read_and_verifies_nothing():
    """note_test.go: unknown algorithm with adjusted key hash."""
    key = parse_vkey("PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    assert key.kind == 0x65
    signature = parse_note(PETER_NOTE).signatures[0]
    assert not is_signed(PETER_TEXT, notes.Signature(key.name, key.key_id, signature.blob), key)


BAD_NOTES = [
    b"",
    PETER_TEXT.encode(),
    PETER_NOTE[:-1],
    PETER_NOTE.replace(b"\n\n", b"\n"),
    PETER_NOTE.replace("— ".encode(), b"- "),
    PETER_NOTE.replace(b"x08go", b"x08g_"),
    PETER_NOTE + b"\n",
    PETER_NOTE + b"another line\n",
    PETER_NOTE.replace(b"think", b"th\tink"),
    PETER_NOTE.replace(b"think", b"th\xffink"),
    PETER_NOTE.replace(b"PeterNeumann", b"Peter+Neumann"),
    PETER_NOTE.replace(b"PeterNeumann", "Peter\N{NO-BREAK SPACE}Neumann".encode()),
    f"text\n\n— name {base64.b64encode(b'1234').decode()}\n".encode(),
    PETER_NOTE.replace(b"nAM=\n", b"nAN=\n"),  # the same bytes in another spelling
    PETER_TEXT.encode() + b"\n" + PETER_LINE.encode() * (notes.SIGNATURES_MAX + 1),
    b"x" * notes.NOTE_BYTES_MAX + PETER_NOTE,
]


@pytest.mark.parametrize("raw", BAD_NOTES)
def test_what_is_no_note_is_refused(raw):
    with pytest.raises(NoteMalformed):
        parse_note(raw)


@pytest.mark.parametrize("text", [
    "a\n1\n", "a\n01\nroot\n", "", "\n1\nx\n", "a\n-1\n" + "A" * 43 + "=\n", "a\n1\n" + "A" * 43 + "=",
    "a\n1\n" + "A" * 43 + "=\n\nx\n", "a\n1\n" + "A" * 40 + "\n", "a\n9223372036854775808\n" + "A" * 43 + "=\n",
    "a\n\u0661\n" + "A" * 43 + "=\n",
])  # fmt: skip
def test_what_is_no_checkpoint_is_refused(text):
    with pytest.raises(NoteMalformed):
        parse_checkpoint(text)


@given(st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32), st.integers(1, 9))
def test_a_checkpoint_is_read_as_it_was_written(size, root, feed_id):
    head = Checkpoint(origin_of("diwan.local", feed_id), size, root)
    assert parse_checkpoint(head.text) == head


@given(st.data())
def test_no_changed_byte_of_a_signed_checkpoint_verifies(data):
    """P8: whatever is changed in the text or in the signature."""
    key = LogSecret(bytes(32)).key("diwan.test/feed/1")
    head = Checkpoint("diwan.test/feed/1", 77, bytes(range(32)))
    raw = notes.Note(head.text, (signed_checkpoint(key, head),)).raw
    at = data.draw(st.integers(0, len(raw) - 1))
    changed = raw[:at] + bytes((raw[at] ^ data.draw(st.integers(1, 255)),)) + raw[at + 1 :]
    try:
        note = parse_note(changed)
        assert not any(is_signed(note.text, one, key.verifier) for one in note.signatures)
    except NoteMalformed:
        pass


def test_a_cosignature_is_good_for_its_time_and_text_alone():
    key = NoteKey.generate("auditor.example/w1", KeyType.COSIGNATURE_V1)
    signature = key.cosign(1796083200, PETER_TEXT)
    assert cosigned_at(PETER_TEXT, signature, key.verifier) == 1796083200
    assert cosigned_at(PETER_TEXT + "x\n", signature, key.verifier) is None
    later = notes.Signature(signature.name, signature.key_id, notes.cosignature_blob(1796083201, signature.blob[8:]))
    assert cosigned_at(PETER_TEXT, later, key.verifier) is None
    assert cosigned_at(PETER_TEXT, notes.Signature(signature.name, signature.key_id, b"short"), key.verifier) is None


def test_a_log_s_key_never_makes_a_cosignature_nor_a_witness_s_a_log_s_signature():
    """One key for both would let a log's signature pass as somebody else's witness."""
    witness = NoteKey("one.name", KeyType.COSIGNATURE_V1, bytes(32))
    log = NoteKey("one.name", KeyType.ED25519, bytes(32))
    with pytest.raises(ValueError, match="signs as"):
        witness.sign(PETER_TEXT)
    with pytest.raises(ValueError, match="signs as"):
        log.cosign(1, PETER_TEXT)
    assert witness.verifier.key_id != log.verifier.key_id
    assert cosigned_at(PETER_TEXT, log.sign(PETER_TEXT), witness.verifier) is None


def test_each_log_has_a_key_of_its_own_out_of_one_secret():
    secret = LogSecret.generate()
    first, second = secret.key("diwan.test/feed/1"), secret.key("diwan.test/feed/2")
    assert first.verifier.public != second.verifier.public
    assert secret.key("diwan.test/feed/1").verifier == first.verifier
    with pytest.raises(ValueError, match="signs no checkpoint"):
        signed_checkpoint(first, Checkpoint("diwan.test/feed/2", 0, bytes(32)))


def test_a_log_s_key_is_made_as_the_page_of_hashes_says():
    """docs/reference/hashing.md, section 16."""
    section = (Path(__file__).parents[3] / "docs/reference/hashing.md").read_text().partition("## 16.")[2]
    vector = dict(re.findall(r"^(\w+) +=(?: (.+))$", section, re.MULTILINE))
    key = LogSecret(bytes.fromhex(vector["log_secret"])).key(vector["origin"])
    assert key.verifier.text == vector["vkey"]
    assert NoteKey(vector["origin"], KeyType.ED25519, bytes.fromhex(vector["seed"])).verifier == key.verifier
    fields = b"".join(len(one).to_bytes(4) + one for one in (b"logkey/v1", vector["origin"].encode()))
    assert hmac.digest(bytes.fromhex(vector["log_secret"]), fields, "sha256").hex() == vector["seed"]


def test_keys_are_kept_for_their_owner_alone(tmp_path: Path):
    path = tmp_path / "keys" / "register.key"
    secret = LogSecret.load_or_generate(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert LogSecret.load_or_generate(path).key("a").verifier == secret.key("a").verifier
    assert [one.name for one in path.parent.iterdir()] == ["register.key"], "no draft stays"
    path.chmod(0o644)
    with pytest.raises(PermissionError):
        LogSecret.load(path)


def test_no_key_is_ever_written_over_another(tmp_path: Path):
    path = tmp_path / "witness.key"
    key = NoteKey.generate("w", KeyType.COSIGNATURE_V1)
    key.save(path)
    with pytest.raises(FileExistsError):
        NoteKey.generate("w", KeyType.COSIGNATURE_V1).save(path)
    assert NoteKey.load(path).verifier == key.verifier


@pytest.mark.parametrize(
    "text", ["", "diwan log secret v1\n00", "diwan log secret v2\n" + "0" * 64, PETER_PRIVATE, "\xff"]
)
def test_a_damaged_secret_is_told_without_telling_it(tmp_path: Path, text):
    path = tmp_path / "register.key"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(NoteMalformed) as told:
        LogSecret.load(path)
    assert "0000" not in str(told.value)


@pytest.mark.parametrize("text", [
    "", PETER, PETER_PRIVATE.replace("c74f20a3", "c74f20a4"), PETER_PRIVATE[:-4], "PRIVATE+KEY+a+00000000+ZZZZ",
])  # fmt: skip
def test_a_damaged_private_key_is_told_without_telling_it(text):
    with pytest.raises(NoteMalformed) as told:
        NoteKey.parse(text)
    assert "AYEK" not in str(told.value)
