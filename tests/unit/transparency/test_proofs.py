"""Inclusion and consistency proofs: RFC 6962's own trees, published vectors, every size, and forgeries (P7, P8)."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core import merkle
from diwan.core.register import Edge, grow
from diwan.core.transparency.note import Note, NoteMalformed, parse_note
from diwan.core.transparency.proof import TlogProof, is_consistent, is_included, parse_tlog_proof
from diwan.core.transparency.tree import (
    STRIDE,
    consistency_spans,
    grow_with_nodes,
    inclusion_spans,
    places,
    span_hash,
    span_hashes,
)
from tests.unit.transparency.test_notes import C2SP_COSIGNED

# RFC 6962's reference tree and its proofs, as in transparency-dev/merkle, proof/verify_test.go.
ENTRIES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
REFERENCE = [merkle.leaf_hash(bytes.fromhex(entry)) for entry in ENTRIES]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSIONS = {
    (0, 1): "",
    (0, 8): """96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7
        5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e
        6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4""",
    (5, 8): """bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b
        ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0
        d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7""",
    (2, 3): "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    (1, 5): """6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
        5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e
        bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b""",
}
CONSISTENCIES = {
    (1, 1): "",
    (1, 8): """96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7
        5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e
        6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4""",
    (6, 8): """0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a
        ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0
        d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7""",
    (2, 5): """5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e
        bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b""",
    (6, 7): """0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a
        b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f
        d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7""",
}

# An entry of Sigstore's Rekor, log2025-1, with its proof (sigstore-js, tests of its client for Rekor v2).
REKOR_ENTRY = (
    "eyJhcGlWZXJzaW9uIjoiMC4wLjIiLCJraW5kIjoiaGFzaGVkcmVrb3JkIiwic3BlYyI6eyJoYXNoZWRSZWtvcmRWMDAyIjp7ImRhdGEiOnsiYWxn"
    "b3JpdGhtIjoiU0hBMl8yNTYiLCJkaWdlc3QiOiI1ZEoyU2FrVWVPWFk0dXQxaEJIUG9teitoVG42dGMwS1R6Y0dvc0ErZXBFPSJ9LCJzaWduYXR1"
    "cmUiOnsiY29udGVudCI6Ik1FWUNJUURjSk84Mm56MXJydHUxRHhTcHJ1WDFvZ0p1bThkbDRJaUdCTVB6M2pZY2JnSWhBS3dROHdOdTFPbjhwWWZo"
    "QUpDSzhPcVQwT09HVGgveUFRK0FuL2UzZC9kVSIsInZlcmlmaWVyIjp7ImtleURldGFpbHMiOiJQS0lYX0VDRFNBX1AyNTZfU0hBXzI1NiIsInB1"
    "YmxpY0tleSI6eyJyYXdCeXRlcyI6Ik1Ga3dFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRTBxOVErdGRHMTk1Q1hLZm1VeDFZYXR2Wi9t"
    "TjNyaGpwT2ZtMWx2c2tXcHJIOVB4cGU5WGM2TGpFSmJCY1ZQaHV0a2ZVdkJCOVJEays0MlNORTYvNXhnPT0ifX19fX19"
)
REKOR_PROOF = """c2sp.org/tlog-proof@v1
index 412114
KIoYVJ0TqmaEkFboP7YWTjSh8vFjVECmokcTOAByfIM=
Umf0h0cK2hegTzNnSgsXszyiA4bp5OvEvP+GrWq3C8w=
vNQeSNBfepYZI2Ez3ViKdCft0JH87ZS8IGKwixxUVjc=
JBAugd5awOqmHXIKgz1MOjlR5f37VqmP0bWoRVcHX5M=
xYH2mAxGxfOgvSOLnItT2LsJt+Z2a2egjf8QJFwK7jA=
PbZWM3NitzChx9A22m/kddDtzh2bAKX5Fy7j76l3z2k=
sKX9Sbsahvw5DiC2oP6pbZsDi1NzuNS1nIULXkCC57o=
pfTCxXHnCM253jwYxVJcuUhmoTTtDxznn92QhN0M4Ws=
cJ8uk2ZvZyfg+HRILKOHcyHu2pvI8Fz3R1MyMvyzWtA=

log2025-1.rekor.sigstore.dev
412115
+8vUkEgBK/ansexBUomzocaWoPEmPIzxJC/y+xNMQN4=

— log2025-1.rekor.sigstore.dev zxGZFahCZ/+MqTjH4rC5MWcdLDWbpetE5l30RZfQc4BQkRjWSoKipEUPjvHENeZDHIlAsuezJcLzUVvItpNjaSRoMAs=
""".encode()


def hashes(text: str) -> list[bytes]:
    return [bytes.fromhex(one) for one in text.split()]


def leaves_of(count: int) -> list[bytes]:
    return [sha256(b"%d" % number).digest() for number in range(count)]


def kept(leaves: list[bytes]) -> dict[tuple[int, int], bytes]:
    """What a store keeps: the leaves, and the nodes that growing by one and by many completes."""
    nodes = {(0, place): leaf for place, leaf in enumerate(leaves)}
    edge = Edge()
    half = len(leaves) // 2
    for part in (leaves[:1], leaves[1:half], leaves[max(1, half) :]):
        edge, completed = grow_with_nodes(edge, part)
        nodes |= {(level, place): node for level, place, node in completed}
    assert edge == grow(Edge(), leaves)
    return nodes


def test_the_reference_trees_have_their_published_roots_and_proofs():
    nodes = kept(REFERENCE)
    for size, root in enumerate(ROOTS, 1):
        assert span_hash((0, size), nodes).hex() == root
    for (index, size), proof in INCLUSIONS.items():
        assert list(span_hashes(inclusion_spans(index, size), nodes)) == hashes(proof)
        assert is_included(REFERENCE[index], index, size, bytes.fromhex(ROOTS[size - 1]), hashes(proof))
    for (old, new), proof in CONSISTENCIES.items():
        assert list(span_hashes(consistency_spans(old, new), nodes)) == hashes(proof)
        assert is_consistent(old, bytes.fromhex(ROOTS[old - 1]), new, bytes.fromhex(ROOTS[new - 1]), hashes(proof))


def test_a_public_log_s_entry_is_proved_by_its_published_proof():
    proof = parse_tlog_proof(REKOR_PROOF)
    assert proof.proves(merkle.leaf_hash(base64.b64decode(REKOR_ENTRY)))
    assert not proof.proves(merkle.leaf_hash(base64.b64decode(REKOR_ENTRY) + b" "))
    assert proof.raw == REKOR_PROOF


def test_every_leaf_of_every_small_tree_is_included_and_every_pair_of_sizes_consistent():
    leaves = leaves_of(70)
    nodes = kept(leaves)
    roots = [merkle.root(leaves[:size]) for size in range(71)]
    for size in range(1, 71):
        levels = merkle.tree(leaves[:size])
        for index in range(size):
            path = span_hashes(inclusion_spans(index, size), nodes)
            assert path == merkle.path(levels, index), "as the tree built whole says"
            assert is_included(leaves[index], index, size, roots[size], path)
        for old in range(size + 1):
            proof = span_hashes(consistency_spans(old, size), nodes)
            assert is_consistent(old, roots[old], size, roots[size], proof)
            assert old in {0, size} or not is_consistent(old, roots[old - 1], size, roots[size], proof)


def test_a_proof_needs_few_nodes():
    """O(log n) reads: of a log of ten million, little more than a hundred."""
    size = 10_000_019
    for index in (0, 1, 5_000_000, size - 1):
        assert len(places(inclusion_spans(index, size))) < 128
    for old in (1, 4_999_999, 9_999_999, size - 1):
        assert len(places(consistency_spans(old, size))) < 200


def test_only_every_fourth_level_is_kept():
    nodes = kept(leaves_of(1_000))
    assert {level for level, _ in nodes} == {0, STRIDE, 2 * STRIDE}
    assert len([1 for level, _ in nodes if level]) == 1_000 // 16 + 1_000 // 256


@given(st.integers(1, 400), st.data())
def test_no_changed_proof_holds(size, data):
    """P8: another index, size, root, leaf; a hash changed, left out, added or moved."""
    leaves = leaves_of(size)
    nodes = kept(leaves)
    index = data.draw(st.integers(0, size - 1))
    path = list(span_hashes(inclusion_spans(index, size), nodes))
    root = merkle.root(leaves)
    forged = data.draw(st.sampled_from(["index", "leaf", "root", "drop", "add", "flip", "swap"]))
    leaf = leaves[index]
    if forged == "index":
        index = data.draw(st.integers(0, size).filter(lambda other: other != index))
    elif forged == "leaf":
        leaf = sha256(leaf).digest()
    elif forged == "root":
        root = sha256(root).digest()
    elif forged == "add":
        path.insert(data.draw(st.integers(0, len(path))), root)
    elif forged == "drop" and path:
        del path[data.draw(st.integers(0, len(path) - 1))]
    elif forged == "flip" and path:
        at = data.draw(st.integers(0, len(path) - 1))
        path[at] = bytes((path[at][0] ^ 1,)) + path[at][1:]
    elif forged == "swap" and len(path) > 1:
        path[0], path[1] = path[1], path[0]
    else:
        path.append(root)
    assert not is_included(leaf, index, size, root, path)


@given(st.integers(2, 400), st.data())
def test_no_forked_tree_is_consistent(size, data):
    """P8: a history that was rewritten anywhere before the old head has no proof, whatever the proof is made of."""
    old = data.draw(st.integers(1, size - 1))
    leaves = leaves_of(size)
    at = data.draw(st.integers(0, old - 1))
    forked = [*leaves[:at], sha256(b"another").digest(), *leaves[at + 1 :]]
    old_root, new_root = merkle.root(leaves[:old]), merkle.root(forked)
    for made_of in (leaves, forked):
        proof = span_hashes(consistency_spans(old, size), kept(made_of))
        assert not is_consistent(old, old_root, size, new_root, proof)
        assert not is_consistent(old, old_root, size, merkle.root(leaves), [*proof, proof[0]])
        assert not is_consistent(old, old_root, size, merkle.root(leaves), proof[:-1])


def test_sizes_that_no_proof_can_join_are_refused():
    root, other = REFERENCE[0], REFERENCE[1]
    assert is_consistent(0, merkle.EMPTY_ROOT, 5, root, [])
    assert not is_consistent(0, merkle.EMPTY_ROOT, 5, root, [root])
    assert not is_consistent(5, root, 4, root, [])
    assert not is_consistent(5, root, 5, other, [])
    assert not is_consistent(5, root, 5, root, [root])
    assert not is_consistent(1, root, 2, other, [])
    assert not is_consistent(3, root, 4, other, [])
    assert not is_consistent(3, b"short", 3, b"short", [])
    with pytest.raises(ValueError, match="no such leaf"):
        inclusion_spans(5, 5)
    with pytest.raises(ValueError, match="later ones"):
        consistency_spans(6, 5)


def test_a_proof_s_text_is_read_as_it_was_written():
    note = parse_note(C2SP_COSIGNED)
    for proof in (TlogProof(0, (), note), TlogProof(7, tuple(REFERENCE), note, b"more"), TlogProof(1, (), note, b"")):
        assert parse_tlog_proof(proof.raw) == proof


@pytest.mark.parametrize("broken", [
    REKOR_PROOF.replace(b"@v1", b"@v2"), REKOR_PROOF.replace(b"index 412114\n", b""),
    REKOR_PROOF.replace(b"index ", b"index 0"), REKOR_PROOF.replace(b"KIoY", b"KIo="), b"", REKOR_PROOF[:300],
    REKOR_PROOF.replace(b"412115\n", b""), REKOR_PROOF.replace(b"c2sp.org", "ç2sp.org".encode()),
    REKOR_PROOF.replace(b"index 412114\n", b"index 412114\n" + b"KIoYVJ0TqmaEkFboP7YWTjSh8vFjVECmokcTOAByfIM=\n" * 64),
])  # fmt: skip
def test_what_is_no_proof_is_refused(broken):
    with pytest.raises(NoteMalformed):
        parse_tlog_proof(broken)


def test_a_proof_of_something_else_than_a_checkpoint_is_refused():
    with pytest.raises(NoteMalformed):
        parse_tlog_proof(TlogProof(0, (), Note("no checkpoint\n", parse_note(C2SP_COSIGNED).signatures)).raw)
