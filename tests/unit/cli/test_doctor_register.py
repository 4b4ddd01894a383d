"""What the doctor says of the register: as far as the stack's own witness knows it (P8)."""

from __future__ import annotations

import http.server
import threading

import pytest

from diwan.cli.doctor import register_finding, signing_finding
from diwan.witness.folder import Folder
from diwan.witness.witness import Witness
from tests.unit.witness.logs import KEY, ORIGIN, Log

LOG = Log(30)


def witnessed(tmp_path) -> tuple[Folder, Witness]:
    folder = Folder(tmp_path / "witness")
    folder.init("house.test/witness")
    folder.trust(KEY.verifier.text)
    return folder, Witness(folder)


def test_a_stack_without_a_witness_has_nothing_to_say(tmp_path):
    assert list(register_finding(Folder(tmp_path))) == []


def test_what_was_witnessed_is_told(tmp_path):
    folder, witness = witnessed(tmp_path)
    (finding,) = register_finding(folder)
    assert (finding.is_well, finding.detail) == (True, "witnessed: nothing yet")
    witness.add_checkpoint(LOG.request(0, 20))
    (finding,) = register_finding(folder)
    assert (finding.is_well, finding.detail) == (True, f"witnessed: {ORIGIN} up to 20")


def test_a_log_that_contradicted_itself_is_told(tmp_path):
    folder, witness = witnessed(tmp_path)
    witness.add_checkpoint(LOG.request(0, 20))
    witness.add_checkpoint(Log(30, forked_at=3).request(20, 30))
    (finding,) = register_finding(folder)
    assert not finding.is_well
    assert "1 checkpoints contradict that" in finding.detail
    assert "docs/operating/register.md" in finding.mend


def test_a_lost_head_is_told(tmp_path):
    folder, _ = witnessed(tmp_path)
    next((folder.path / "heads").iterdir()).unlink()
    (finding,) = register_finding(folder)
    assert not finding.is_well
    assert "lost or damaged" in finding.detail


@pytest.fixture
def metrics():
    """The address of an audit's metrics, and what they say."""
    text: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write("".join(text).encode())

        def log_message(self, *_):
            """Nobody reads it."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}", text
    server.shutdown()
    thread.join()
    server.server_close()


def test_logs_that_are_signed_no_more_are_told(metrics):
    address, text = metrics
    text.append('diwan_register_held{origin="house.test/feed/1"} 0.0\n')
    assert list(signing_finding(address)) == []
    text.append('diwan_register_held{origin="house.test/feed/2"} 1.0\n')
    (finding,) = signing_finding(address)
    assert not finding.is_well
    assert finding.detail.startswith("house.test/feed/2: nothing is signed")


def test_an_audit_that_does_not_answer_is_left_to_the_other_findings():
    assert list(signing_finding("127.0.0.1:1")) == []
    assert list(signing_finding("")) == []
