"""A witness signs a history that only grows, whatever it is asked (P8; c2sp.org/tlog-witness)."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from random import Random  # noqa: TID251  (tests may use chance)

import pytest

from diwan.core.transparency.note import Note, parse_signatures
from diwan.core.transparency.proof import is_consistent
from diwan.signing.heads import Head
from diwan.signing.notekey import LogSecret, NoteKey
from diwan.signing.notes import cosigned_at
from diwan.witness.folder import EVIDENCE_MAX, Folder, WitnessError
from diwan.witness.program import main
from diwan.witness.serving import BODY_BYTES_MAX, WitnessServer
from diwan.witness.witness import SIZE_TYPE, Witness
from tests.unit.witness.logs import KEY, ORIGIN, SECRET, Log, request

NOW = 1_796_083_200


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "witness")
    folder.init("auditor.test/w1")
    folder.trust(KEY.verifier.text)
    return folder


@pytest.fixture
def witness(folder: Folder) -> Witness:
    return Witness(folder, now=lambda: NOW)


LOG = Log(200)


def times(folder: Folder, answer, note: Note) -> list[int | None]:
    """The times of an answer's cosignatures, by this folder's keys."""
    keys = {key.verifier.key_id: key.verifier for key in folder.signing_keys()}
    return [cosigned_at(note.text, one, keys[one.key_id]) for one in parse_signatures(answer.body)]


def test_growth_is_signed_with_the_time_and_kept_before_the_answer(folder, witness):
    for old, new in [(0, 0), (0, 1), (1, 7), (7, 8), (8, 8), (8, 200)]:
        answer = witness.add_checkpoint(LOG.request(old, new))
        assert answer.status == HTTPStatus.OK
        assert times(folder, answer, LOG.note(new)) == [NOW]
        assert folder.head(ORIGIN) == Head(ORIGIN, new, LOG.head(new).root)


def test_a_new_process_goes_on_where_the_old_one_was(folder, witness):
    assert witness.add_checkpoint(LOG.request(0, 50)).status == HTTPStatus.OK
    again = Witness(folder)
    assert again.add_checkpoint(LOG.request(50, 60)).status == HTTPStatus.OK
    assert again.add_checkpoint(LOG.request(0, 70)).status == HTTPStatus.CONFLICT


def test_another_size_than_the_last_is_answered_with_the_last(folder, witness):
    witness.add_checkpoint(LOG.request(0, 50))
    for old, new in [(0, 60), (49, 60), (51, 60), (0, 40), (0, 0), (40, 50)]:
        answer = witness.add_checkpoint(LOG.request(old, new))
        assert (answer.status, answer.content_type, answer.body) == (HTTPStatus.CONFLICT, SIZE_TYPE, "50\n")
    assert folder.head(ORIGIN).size == 50


@pytest.mark.parametrize("size", [51, 64, 200])
def test_a_fork_is_refused_and_kept_as_evidence(folder, witness, size):
    """An operator who signs a second history gets no signature for it, and leaves his own signature behind."""
    witness.add_checkpoint(LOG.request(0, 50))
    for forked_at in (0, 25, 49):
        fork = Log(200, forked_at=forked_at)
        assert witness.add_checkpoint(fork.request(50, size)).status == HTTPStatus.UNPROCESSABLE_ENTITY
        mixed = request(50, LOG.proof(50, size), fork.note(size))
        assert witness.add_checkpoint(mixed).status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert folder.head(ORIGIN) == Head(ORIGIN, 50, LOG.head(50).root)
    kept = list((folder.path / "evidence").iterdir())
    assert len(kept) == 6
    assert witness.add_checkpoint(LOG.request(50, size)).status == HTTPStatus.OK


def test_two_trees_of_one_size_are_never_both_signed(folder, witness):
    witness.add_checkpoint(LOG.request(0, 50))
    fork = Log(50, forked_at=49)
    answer = witness.add_checkpoint(request(50, (), fork.note(50)))
    assert answer.status == HTTPStatus.CONFLICT
    assert answer.content_type != SIZE_TYPE
    assert folder.head(ORIGIN).root == LOG.head(50).root


def test_an_empty_tree_has_the_root_of_nothing(witness):
    wrong = Log(1).head(1)
    text = f"{ORIGIN}\n0\n{wrong.text.splitlines()[2]}\n"
    answer = witness.add_checkpoint(request(0, (), Note(text, (KEY.sign(text),))))
    assert answer.status == HTTPStatus.CONFLICT


def test_who_did_not_sign_is_told_so_before_anything_else(folder, witness):
    """Also where the proof and the sizes are right: 403 for keys that are not the log's, 404 for logs not known."""
    other = LogSecret(bytes((1,)) * 32)
    note = LOG.note(50)
    unsigned = Note(note.text, (other.key(ORIGIN).sign(note.text), SECRET.key("diwan.test/feed/2").sign(note.text)))
    assert witness.add_checkpoint(request(0, (), unsigned)).status == HTTPStatus.FORBIDDEN
    other_text = Note(note.text, LOG.note(49).signatures)
    assert witness.add_checkpoint(request(0, (), other_text)).status == HTTPStatus.FORBIDDEN
    unknown = Log(9, origin="diwan.test/feed/9")
    assert witness.add_checkpoint(unknown.request(0, 9)).status == HTTPStatus.NOT_FOUND
    assert witness.add_checkpoint(LOG.request(60, 50)).status == HTTPStatus.BAD_REQUEST
    assert folder.head(ORIGIN).size == 0


GOOD = LOG.request(3, 50)


@pytest.mark.parametrize("bad", [
    b"", b"\n\n", GOOD[4:], GOOD.replace(b"old 3", b"old 03"), GOOD.replace(b"old 3", b"old -3"), GOOD.replace(b"old 3", b"old"),
    GOOD.replace(b"old 3", b"OLD 3"), GOOD.replace(b"old 3", b"old 9223372036854775808"), GOOD.replace(b"\n\n", b"\n"), GOOD[:-1],
    GOOD.replace(b"\n", b"\r\n"), request("3 ", (), LOG.note(50)), request(3, [b"short"], LOG.note(50)),
    request(3, [bytes(32)] * 64, LOG.note(50)), b"\xff" + GOOD, GOOD.replace(b"=\n", b"\n", 1), GOOD.replace(ORIGIN.encode(), b""),
    GOOD.replace(b"\n50\n", b"\n050\n"), GOOD.partition(b"\xe2\x80\x94")[0],
])  # fmt: skip
def test_what_is_no_request_is_a_bad_one(folder, witness, bad):
    assert witness.add_checkpoint(bad).status == HTTPStatus.BAD_REQUEST
    assert folder.head(ORIGIN).size == 0


def test_no_random_damage_of_a_request_gets_anything_signed_that_was_not_asked(folder, witness):
    """Fuzz: 3,000 damaged requests; what is signed is the log's own next head or nothing."""
    rng = Random(7)
    witness.add_checkpoint(LOG.request(0, 3))
    for _ in range(3_000):
        raw = bytearray(GOOD)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(raw))
            match rng.randrange(4):
                case 0:
                    raw[at] ^= 1 << rng.randrange(8)
                case 1:
                    del raw[at]
                case 2:
                    raw.insert(at, rng.randrange(256))
                case _:
                    raw[at:at] = raw[rng.randrange(len(raw)) :][: rng.randrange(80)]
        answer = witness.add_checkpoint(bytes(raw))
        if answer.status == HTTPStatus.OK:
            # Only a line of an unknown key may differ: the text, the proof and the log's signature are whole.
            assert folder.head(ORIGIN) == Head(ORIGIN, 50, LOG.head(50).root)
            folder.write_head(Head(ORIGIN, 3, LOG.head(3).root))
        else:
            assert folder.head(ORIGIN).size == 3


def test_whatever_comes_in_whatever_order_all_that_was_signed_is_one_history(folder):
    """Forks, replays and honest growth from sixteen threads at once: every two signed heads are consistent."""
    witness = Witness(folder, now=lambda: NOW)
    logs = [Log(80), Log(80, forked_at=20), Log(80, forked_at=5)]
    signed: list[tuple[Log, int]] = []

    def attack(seed: int) -> None:
        rng = Random(seed)
        for _ in range(60):
            log = rng.choice(logs)
            old = folder.head(ORIGIN).size if rng.random() < 0.8 else rng.randrange(80)
            new = min(80, old + rng.randrange(4))
            if witness.add_checkpoint(log.request(old, new)).status == HTTPStatus.OK:
                signed.append((log, new))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(attack, range(16)))
    heads = sorted({(size, log.head(size).root) for log, size in signed})
    assert len({size for size, _ in heads}) == len(heads), "one root a size"
    assert len(heads) > 5
    final = folder.head(ORIGIN)
    whole = next(log for log in logs if log.head(final.size).root == final.root)
    for size, root in heads:
        assert is_consistent(size, root, final.size, final.root, whole.proof(size, final.size))


KILLED_WITNESS = """
import os, signal, sys
from pathlib import Path
from diwan.witness.folder import Folder
from diwan.witness.witness import Witness
class Dies(Folder):
    def write_head(self, head):
        if sys.argv[2] == "after":
            super().write_head(head)
        os.kill(os.getpid(), signal.SIGKILL)
Witness(Dies(Path(sys.argv[1]))).add_checkpoint(sys.stdin.buffer.read())
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_between_keeping_and_answering_it_signs_no_other_history(folder, moment):
    """kill -9 at the worst moments: what may have been signed is known; what was not kept was not signed."""
    Witness(folder).add_checkpoint(LOG.request(0, 10))
    run = subprocess.run(
        [sys.executable, "-c", KILLED_WITNESS, str(folder.path), moment],
        input=LOG.request(10, 20),
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert run.returncode == -signal.SIGKILL
    assert run.stdout == b""
    again = Witness(folder)
    fork = Log(30, forked_at=15)
    if moment == "after":
        assert again.add_checkpoint(fork.request(10, 20)).body == "20\n"
        assert again.add_checkpoint(fork.request(20, 30)).status == HTTPStatus.UNPROCESSABLE_ENTITY
        assert again.add_checkpoint(LOG.request(20, 20)).status == HTTPStatus.OK, "the log asks again and is answered"
    else:
        assert again.add_checkpoint(LOG.request(10, 20)).status == HTTPStatus.OK


def test_a_head_that_cannot_be_kept_is_not_signed(folder, monkeypatch):
    """Disk full: no answer is better than a forgotten one."""
    witness = Witness(folder)

    def full(_head):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_head", full)
    with pytest.raises(OSError, match="No space"):
        witness.add_checkpoint(LOG.request(0, 10))
    monkeypatch.undo()
    assert folder.head(ORIGIN).size == 0


@pytest.mark.parametrize("damage", [
    lambda path: path.unlink(), lambda path: path.write_text(""), lambda path: path.write_text("5\n"),
    lambda path: path.write_text(path.read_text().replace(ORIGIN, "another")), lambda path: path.write_text(path.read_text()[:-1]),
])  # fmt: skip
def test_a_witness_that_forgot_what_it_signed_signs_no_more(folder, damage):
    witness = Witness(folder)
    witness.add_checkpoint(LOG.request(0, 10))
    (head,) = (folder.path / "heads").iterdir()
    damage(head)
    with pytest.raises(WitnessError, match="lost or damaged"):
        witness.add_checkpoint(LOG.request(0, 5))
    with pytest.raises(WitnessError, match="lost or damaged"):
        Witness(folder)
    folder.trust(LogSecret(bytes((1,)) * 32).key(ORIGIN).verifier.text)
    with pytest.raises(WitnessError, match="lost or damaged"):
        Witness(folder)


def test_evidence_fills_no_disk(folder, witness):
    witness.add_checkpoint(LOG.request(0, 10))
    for number in range(EVIDENCE_MAX + 5):
        fork = Log(11, forked_at=number % 10)
        stranger = NoteKey("x", KEY.verifier.kind, number.to_bytes(32)).sign("x\n")
        assert (
            witness.add_checkpoint(request(10, (), fork.note(11, stranger))).status == HTTPStatus.UNPROCESSABLE_ENTITY
        )
    assert len(list((folder.path / "evidence").iterdir())) == EVIDENCE_MAX


def test_a_log_s_new_key_is_known_without_a_restart_and_the_old_one_until_it_is_forgotten(folder, witness):
    """A7: the log's key is rotated under a running witness."""
    new = LogSecret(bytes((1,)) * 32).key(ORIGIN)
    assert witness.add_checkpoint(LOG.request(0, 10)).status == HTTPStatus.OK
    assert witness.add_checkpoint(LOG.request(10, 11, key=new)).status == HTTPStatus.FORBIDDEN
    folder.trust(new.verifier.text)
    assert witness.add_checkpoint(LOG.request(10, 11, key=new)).status == HTTPStatus.OK
    assert witness.add_checkpoint(LOG.request(11, 12)).status == HTTPStatus.OK
    folder.distrust(KEY.verifier.text)
    assert witness.add_checkpoint(LOG.request(12, 13)).status == HTTPStatus.FORBIDDEN
    assert witness.add_checkpoint(LOG.request(12, 13, key=new)).status == HTTPStatus.OK
    assert witness.add_checkpoint(Log(14, forked_at=3).request(13, 14, key=new)).status == 422, "the head stayed"


def test_a_witness_s_own_key_is_rotated_with_both_signing_until_the_old_one_is_retired(folder):
    """A7: no verifier is left without a key that it knows."""
    old = folder.signing_keys()[0].verifier
    new = folder.rotate().verifier
    assert new.name == old.name
    assert new.public != old.public
    witness = Witness(folder, now=lambda: NOW)
    answer = witness.add_checkpoint(LOG.request(0, 10))
    assert [one.key_id for one in parse_signatures(answer.body)] == [new.key_id, old.key_id]
    assert times(folder, answer, LOG.note(10)) == [NOW, NOW]
    with pytest.raises(WitnessError, match="still signs"):
        folder.rotate()
    folder.retire()
    after = Witness(folder, now=lambda: NOW).add_checkpoint(LOG.request(10, 20))
    assert [one.key_id for one in parse_signatures(after.body)] == [new.key_id]
    with pytest.raises(WitnessError, match="no older key"):
        folder.retire()


def test_one_folder_has_one_process(folder):
    folder.hold()
    with pytest.raises(WitnessError, match="another process"):
        Folder(folder.path).hold()
    with pytest.raises(WitnessError, match="another process"):
        Folder(folder.path).rotate()
    folder.release()
    other = Folder(folder.path)
    other.hold()
    other.release()


# Over HTTP


@pytest.fixture
def server(witness):
    with WitnessServer(("127.0.0.1", 0), witness) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def post(server, body: bytes, path: str = "/add-checkpoint", **headers: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(*server.server_address, timeout=10)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def test_every_answer_of_the_protocol_comes_over_http(server):
    status, _, body = post(server, LOG.request(0, 10))
    assert (status, body.startswith("\N{EM DASH} auditor.test/w1 ")) == (200, True)
    assert post(server, LOG.request(3, 20)) == (409, "text/x.tlog.size", "10\n")
    assert post(server, Log(20, forked_at=4).request(10, 20))[0] == 422
    assert post(server, b"nonsense")[0] == 400
    assert post(server, Log(9, origin="diwan.test/feed/9").request(0, 9))[0] == 404
    assert post(server, LOG.request(10, 20, key=LogSecret(bytes((1,)) * 32).key(ORIGIN)))[0] == 403
    assert post(server, b"", path="/other")[0] == 404


def test_a_connection_is_kept_for_the_next_request(server):
    connection = http.client.HTTPConnection(*server.server_address, timeout=10)
    for old, new in [(0, 10), (10, 20), (20, 30)]:
        connection.request("POST", "/add-checkpoint", LOG.request(old, new))
        answer = connection.getresponse()
        assert answer.status == 200
        answer.read()
    connection.close()


def test_requests_without_end_are_not_read(server):
    assert post(server, b"x", **{"Content-Length": str(BODY_BYTES_MAX + 1)})[0] == 413
    assert post(server, b"x", **{"Content-Length": "9" * 30})[0] == 413
    assert post(server, b"x", **{"Content-Length": "-1"})[0] == 411
    assert post(server, b"1\r\nx\r\n0\r\n\r\n", **{"Transfer-Encoding": "chunked"})[0] == 411
    connection = http.client.HTTPConnection(*server.server_address, timeout=10)
    connection.request("GET", "/add-checkpoint")
    assert connection.getresponse().status == 501
    connection.close()


def test_who_sends_for_ever_is_cut_off_and_who_asks_again_is_not(server, monkeypatch):
    """A byte now and then would hold a connection, and sixty-four of them the witness."""
    monkeypatch.setattr("diwan.witness.serving.IDLE_SECONDS", 0.4)
    dripping = socket.create_connection(server.server_address, timeout=10)
    dripping.sendall(b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 5000\r\n\r\n")
    asking = http.client.HTTPConnection(*server.server_address, timeout=10)
    began = time.monotonic()

    def both() -> None:
        while time.monotonic() - began < 8:
            dripping.sendall(b"x")
            asking.request("POST", "/add-checkpoint", LOG.request(0, 0))
            answer = asking.getresponse()
            assert (answer.status, answer.read()[:3]) == (200, "\N{EM DASH}".encode())
            time.sleep(0.05)

    with pytest.raises(OSError, match=r"(?i)pipe|reset"):
        both()
    assert time.monotonic() - began < 8
    assert asking.sock is not None, "the other connection was used again and again"
    asking.close()
    dripping.close()


def test_a_witness_without_its_head_says_that_it_cannot_sign_and_no_more(server, folder, capsys):
    next((folder.path / "heads").iterdir()).unlink()
    status, _, body = post(server, LOG.request(0, 10))
    assert (status, body) == (500, "this witness cannot sign now\n")
    assert str(folder.path) in capsys.readouterr().err


# The command


def test_an_auditor_makes_a_witness_shows_it_and_is_told_what_is_missing(tmp_path, capsys):
    where = str(tmp_path / "w")
    assert main(["run", where]) == 1
    assert "there is no witness" in capsys.readouterr().err
    assert main(["init", where, "--name", "auditor.test/w1", "--log", KEY.verifier.text]) == 0
    vkey = capsys.readouterr().out.strip()
    assert main(["init", where, "--name", "auditor.test/w1"]) == 1
    assert "a witness already" in capsys.readouterr().err
    assert main(["show", where]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"key  {vkey}",
        f"head  {Head(ORIGIN).line}".strip(),
    ]
    assert main(["trust", where, "nonsense"]) == 1
    assert main(["trust", where, vkey]) == 1, "a witness's key is no log's"
    assert main(["rotate", where]) == 0
    assert main(["retire", where]) == 0
    assert main(["distrust", where, KEY.verifier.text]) == 0
    assert main(["distrust", where, KEY.verifier.text]) == 1
    assert main(["run", where, "--listen", "nowhere"]) == 1


def test_the_program_serves_until_it_is_told_to_stop(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "diwan.witness", "run", str(folder.path), "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("witness at http://127.0.0.1:")
        host, _, port = line.strip().removeprefix("witness at http://").rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("POST", "/add-checkpoint", LOG.request(0, 10))
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert folder.head(ORIGIN).size == 10


def test_the_program_needs_nothing_installed_but_cryptography_and_msgspec():
    """Small enough to be read before it is run: no server, no database, no wire format comes with it."""
    code = (
        "import sys, diwan.witness.program; "
        "print(*sorted({n.partition('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)));"
        "print(*sorted({'.'.join(n.split('.')[:2]) for n in sys.modules if n.startswith('diwan.')}))"
    )
    paths = os.pathsep.join(filter(None, sys.path))
    told = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    installed, own = told.stdout.splitlines()
    assert set(installed.split()) <= {
        *("__main__", "diwan", "msgspec", "typing_extensions"),
        *("cryptography", "_cffi_backend", "_openssl"),
    }
    assert set(own.split()) == {"diwan.core", "diwan.signing", "diwan.witness"}
