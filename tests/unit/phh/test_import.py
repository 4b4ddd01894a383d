"""Histories stored as hands: told, verified, marked as played elsewhere, and written again."""

import json
from hashlib import sha256
from uuid import UUID, uuid5

import pytest

from diwan.cli.imported import read_file
from diwan.core.hashing import first_prev_hash
from diwan.core.log import LoggedEvent, StreamKind
from diwan.history.phh import NotCovered, read_documents, read_hand
from diwan.verifier.report import Verdict
from diwan.wire.events import decode
from diwan.wire.imported import import_hand
from tests.unit.phh.histories import HEADS_UP, OMAHA, SHOWDOWN, with_field
from tests.unit.phh.test_command import run


def imported(text, time_ms=0):
    (document,) = read_documents(text)
    return import_hand(read_hand(document.fields), text.encode(), "", time_ms)


@pytest.fixture
def file(tmp_path):
    """The file of an imported hand."""
    (tmp_path / "one.phh").write_text(f"{SHOWDOWN}year = 2026\nmonth = 3\nday = 4\ntime = 05:06:07\n")
    done = run("import", tmp_path / "one.phh", "-o", tmp_path / "hands")
    assert done.exit_code == 0, done.output
    (path,) = (tmp_path / "hands").iterdir()
    return path


@pytest.mark.parametrize("text", [SHOWDOWN, HEADS_UP, OMAHA])
def test_an_imported_hand_is_verified(tmp_path, text):
    """H1, H2, F3, F4: chain, cards and every decision."""
    (tmp_path / "one.phh").write_text(text)
    run("import", tmp_path / "one.phh", "-o", tmp_path)
    (path,) = tmp_path.glob("*.diwan")

    report = read_file(path).report

    assert report.verdict is Verdict.VERIFIED
    assert report.contributed == ()


def test_an_imported_hand_is_marked_in_what_its_hashes_cover():
    made = imported(SHOWDOWN)
    first: LoggedEvent = made.events[0]

    assert first.prev_hash == first_prev_hash(first.stream_id, StreamKind.IMPORTED)


def test_ids_follow_from_the_source_as_the_reference_says():
    """docs/reference/hashing.md, section 14, computed apart."""
    fields = (b"imported/v1", SHOWDOWN.encode(), b"")
    told = sha256(b"".join(len(field).to_bytes(4, "big") + field for field in fields)).digest()
    stream = uuid5(UUID("5b9f7a1e-3c52-5d0e-8f64-2f1d8f0b7c31"), told.hex())

    made = imported(SHOWDOWN)

    assert made.events[0].stream_id == stream.bytes
    assert made.hand_id == str(uuid5(stream, "hand/1"))
    assert decode(made.events[1].type_id, made.events[1].schema_v, made.events[1].body).event.secret_commitment == told


def test_a_second_import_makes_the_same_events_and_another_history_makes_others():
    assert imported(SHOWDOWN) == imported(SHOWDOWN)
    assert imported(SHOWDOWN).hand_id != imported(SHOWDOWN + "# more").hand_id


def test_a_hand_that_was_mucked_unseen_is_not_covered():
    """HD-19: its showing would be an invention."""
    with pytest.raises(NotCovered, match="mucked"):
        imported(SHOWDOWN.replace("d dh p3 QcQd", "d dh p3 ????"))


def test_a_changed_file_is_refused(file):
    """H1: each event, and each hidden card, in turn."""
    lines = file.read_bytes().splitlines()
    for number in range(len(lines)):
        told = json.loads(lines[number])
        if number:
            told["recorded_at_ms"] += 1
        else:
            told["hidden"][0]["card"] ^= 1
        file.write_bytes(b"\n".join([*lines[:number], json.dumps(told).encode(), *lines[number + 1 :]]))

        assert run("show", file).exit_code == 1, number


def test_a_file_that_was_cut_short_is_not_verified(file):
    file.write_bytes(b"\n".join(file.read_bytes().splitlines()[:-1]))

    assert run("show", file).exit_code == 1


def test_what_is_no_file_of_a_hand_is_refused(tmp_path):
    for name, text in {"empty": "", "words": "words", "object": "{}"}.items():
        (tmp_path / f"{name}.diwan").write_text(text)

        assert run("show", tmp_path / f"{name}.diwan").exit_code == 1
    assert run("show", tmp_path / "none.diwan").exit_code == 1


def test_it_is_told_as_everybody_a_seat_or_an_auditor_may_see_it(file):
    """Seat 1 folded 7h 7d, which nobody was shown."""
    told = {lens: run("show", file, "--as", lens) for lens in ("public", "0", "1", "auditor")}

    assert all(done.exit_code == 0 for done in told.values())
    assert {lens: "7h 7d" in done.stdout for lens, done in told.items()} == {
        "public": False, "0": False, "1": True, "auditor": True,
    }  # fmt: skip
    assert "verified" in told["public"].stderr
    assert "imported" in told["public"].stderr
    assert "05:06:07" in told["public"].stdout
    assert run("show", file, "--as", "7").exit_code == 2


def test_it_is_written_again_as_the_history_it_was(file, tmp_path):
    done = run("export", file, "--as", "auditor", "-o", tmp_path / "again.phh")

    assert done.exit_code == 0
    again, first = (read_documents(text)[0].fields for text in ((tmp_path / "again.phh").read_text(), SHOWDOWN))
    for name in (
        "variant",
        "antes",
        "blinds_or_straddles",
        "min_bet",
        "starting_stacks",
        "finishing_stacks",
        "players",
    ):
        assert again[name] == first[name], name
    assert (again["year"], again["month"], again["day"], str(again["time"])) == (2026, 3, 4, "05:06:07")
    assert run("check", tmp_path / "again.phh").exit_code == 0


def test_import_refuses_what_the_rules_refuse_and_counts(tmp_path):
    wrong = SHOWDOWN.replace("'p1 cbr 20'", "'p1 cbr 1'")
    other = with_field(SHOWDOWN, "variant", "'FB'")
    (tmp_path / "many.phhs").write_text(f"[1]{SHOWDOWN}\n[2]{wrong}\n[3]{other}")
    (tmp_path / "broken.phh").write_text("variant = ")

    done = run("import", tmp_path, "-o", tmp_path / "hands")

    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "1 hands stored, 2 refused, 1 not covered"
    assert len(list((tmp_path / "hands").iterdir())) == 1


def test_chips_in_parts_are_counted_whole_and_said_to_be(tmp_path):
    (tmp_path / "one.phh").write_text(OMAHA)
    run("import", tmp_path / "one.phh", "-o", tmp_path)
    (path,) = tmp_path.glob("*.diwan")

    done = run("export", path)

    assert "starting_stacks = [161, 122]" in done.stdout
    assert "4 of these chips" in done.stderr
