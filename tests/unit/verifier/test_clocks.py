"""Clocks beside the rules: nothing is received before it was asked for, and an outage gives nobody more than a whole decision."""

from __future__ import annotations

from random import Random  # noqa: TID251  (tests may use chance)

import pytest
from msgspec.structs import replace

from diwan.core.hand.commands import MoveDeadline
from diwan.core.limits import OUTAGE_GRACE_MS
from diwan.core.table.playing import DECISIONS, open_clock, whole_time_ms
from diwan.verifier import Verdict, verify_hand
from diwan.verifier.stream import verify_stream
from tests.unit.verifier.games import GAMES, KINDS
from tests.unit.verifier.logs import STREAM, TABLE_KIND


def table_of(game: str, change=lambda command: command):
    """A table whose decisions and moves are made otherwise, each by rules that allow it, and recorded when they were."""

    class Told(KINDS[game]):
        def do(self, command: object) -> None:
            super().do(change(command))

    table = Told(Random(f"{game}/1"), STREAM)
    table.sit(3)
    for _ in range(2):
        while table.able() < 2:
            table.sit(1)
        table.play_hand()
    return table


def faults(table) -> set[tuple[str, str]]:
    reports = [verify_hand(table.events, hand_id) for hand_id in table.hand_ids]
    whole = verify_stream(STREAM.bytes, TABLE_KIND, table.events)
    return {(report.verdict.value, "" if report.rule is None else report.rule.value) for report in (*reports, whole)}


@pytest.mark.parametrize("game", GAMES)
def test_a_decision_is_not_received_before_it_was_asked_for(game):
    def earlier(by_ms):
        def change(command):
            return replace(command, now_ms=command.now_ms - by_ms) if isinstance(command, DECISIONS) else command

        return change

    assert faults(table_of(game)) == {(Verdict.VERIFIED.value, "")}
    assert (Verdict.NOT_VERIFIED.value, "CLOCK_AT_ODDS") in faults(table_of(game, change=earlier(100_000)))


def moved(table, *, by_ms: int, reason: str = "outage", late_ms: int = 0):
    """Move the running clock once, in the table's second hand, to so long from now."""
    if table.is_moved or len(table.hand_ids) < 2 or open_clock(table.state.hand) is None:
        return
    table.is_moved = True
    clock = open_clock(table.state.hand)
    deadline_ms = table.now_ms + late_ms + by_ms
    if deadline_ms >= clock.deadline_ms:
        table.do(MoveDeadline(clock.turn, deadline_ms, reason, table.state.version, table.now_ms + late_ms))


def table_with_a_move(game: str, **how):
    class Moved(KINDS[game]):
        is_moved = False

        def do(self, command: object) -> None:
            super().do(command)
            if not isinstance(command, MoveDeadline):
                whole = max(whole_time_ms(self.state.hand), OUTAGE_GRACE_MS) if self.state.is_running else 0
                moved(self, **(how | {"by_ms": whole + how.get("by_ms", 0)}))

    table = Moved(Random(f"{game}/2"), STREAM)
    table.sit(3)
    for _ in range(2):
        while table.able() < 2:
            table.sit(1)
        table.play_hand()
    assert table.is_moved
    return table


@pytest.mark.parametrize("game", GAMES)
def test_an_outage_gives_back_the_whole_time_of_a_decision_and_no_more(game):
    assert faults(table_with_a_move(game)) == {(Verdict.VERIFIED.value, "")}
    assert (Verdict.NOT_VERIFIED.value, "CLOCK_AT_ODDS") in faults(table_with_a_move(game, by_ms=1))


def test_a_deadline_moves_for_an_outage_alone():
    assert (Verdict.NOT_VERIFIED.value, "CLOCK_AT_ODDS") in faults(table_with_a_move("holdem", reason="a friend"))


def test_a_deadline_is_not_moved_after_its_move_was_recorded():
    """Else whoever says that it was moved later may move it further."""
    assert (Verdict.NOT_VERIFIED.value, "CLOCK_AT_ODDS") in faults(table_with_a_move("holdem", late_ms=60_000))
