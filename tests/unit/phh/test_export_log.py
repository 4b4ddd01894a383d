"""``diwan phh export`` of a hand from a table's log, as the table service answers (P10, S4)."""

import pytest
from typer.testing import CliRunner

from diwan.cli import phh as command
from diwan.cli.main import app
from diwan.cli.replay import Gathered, Wanted, gather
from diwan.core.cards import format_cards
from diwan.history.phh import Verdict, check_hand, read_documents
from tests.unit.cli.test_replay import House, names


class Room:
    """A running table service behind the command."""

    def __init__(self, monkeypatch):
        self.house = House()
        monkeypatch.setattr(command, "access", lambda *_: ("nowhere", None))
        monkeypatch.setattr(command, "over_grpc", self.over_grpc)

    async def over_grpc(self, wanted: Wanted, *_access) -> Gathered:
        return await gather(wanted, self.house.tables_of)

    def export(self, *options):
        return CliRunner().invoke(app, ["phh", "export", self.house.insider.hand_id, *options])


@pytest.fixture
def room(monkeypatch):
    return Room(monkeypatch)


def test_what_everybody_saw_is_written_and_agrees_with_the_rules(room):
    done = room.export()

    fields = read_documents(done.stdout)[0].fields
    assert done.exit_code == 0
    assert fields["_hand_id"] == room.house.insider.hand_id
    assert fields["table"] == str(room.house.insider.table.stream)
    assert fields["year"] == 2027
    assert check_hand(fields).verdict is not Verdict.DIFFERS
    assert room.house.opened == []


def test_hidden_cards_are_in_a_seats_own_history_and_in_an_auditors_with_a_reason(room):
    """S4: nobody else's."""
    seat = next(iter(room.house.holdings))
    holding = format_cards(names(room.house, seat), "")
    others = [format_cards(names(room.house, other), "") for other in room.house.holdings if other != seat]

    own = room.export("--as", str(seat)).stdout
    everything = room.export("--as", "auditor", "--reason", "complaint 12").stdout

    assert holding in own
    shown = room.export().stdout
    assert [other for other in others if other in own] == [other for other in others if other in shown]
    assert all(cards in everything for cards in [holding, *others])
    assert "not said" in room.export().stderr


def test_an_auditor_without_a_reason_gets_no_history(room):
    assert room.export("--as", "auditor").exit_code == 2
    assert room.house.opened == []


def test_a_changed_log_makes_no_history(room):
    """H1."""
    room.house.events = room.house.events[:3] + room.house.events[4:]

    done = room.export()

    assert done.exit_code == 1
    assert "does not hold" in done.stderr
