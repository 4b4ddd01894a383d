"""What the doctor says of the register: as far as the stack's own witness knows it (P8)."""

from __future__ import annotations

from diwan.cli.doctor import register_finding
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
