"""A hand read back from its log: what everybody saw, and what one seat saw (H3, P6, P10)."""

from __future__ import annotations

from functools import cache
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.core.cards import format_card
from diwan.core.hand import events as hand
from diwan.core.hand.state import EndedHand
from diwan.core.table import events as table
from diwan.core.table.hosting import events as hosting
from diwan.core.table.waiting import events as waiting
from diwan.history import batches, fold, hand_events, hand_steps, plain_text
from diwan.history.steps import SeatLine
from diwan.history.text import clock_text, seat_text
from diwan.history.words import describe, seconds
from diwan.verifier.chain import LogReader
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.logs import played
from tests.unit.wire.strategies import records

EVERY_EVENT = (
    *get_args(hand.HandEvent.__value__),
    *get_args(hosting.HostingEvent.__value__),
    *get_args(waiting.WaitingEvent.__value__),
    *get_args(table.TableOnlyEvent.__value__),
)


@cache
def hand_of(seed, number=-1):
    """The entries of one hand with the table that played it."""
    one = Insider(played(seed, 3), number)
    reader = LogReader()
    entries = [reader.read_entry(event) for event in one.events]
    return one.table, entries[one.start() : one.end() + 1]


@pytest.mark.parametrize("seed", range(20))
def test_the_fold_of_the_log_is_the_hand_that_was_played(seed):
    """H3: the state of the owner and the state read back are one."""
    one, entries = hand_of(seed)
    state = fold(entries)
    assert isinstance(state, EndedHand)
    assert state == one.state.hand


@pytest.mark.parametrize("seed", range(20))
def test_no_chip_is_lost_in_any_step(seed):
    """L10: stacks and pot add up to the same at every step."""
    _, entries = hand_of(seed)
    steps = hand_steps(entries)
    totals = {step.pot + sum(line.stack for line in step.seats) for step in steps}
    assert totals == {sum(seat.stack for seat in entries[0].event.seats)}
    assert steps[-1].pot == 0


@pytest.mark.parametrize("seed", range(20))
def test_every_entry_has_its_step_with_version_and_time(seed):
    _, entries = hand_of(seed)
    steps = hand_steps(entries)
    assert [step.version for step in steps] == [entry.version for entry in entries]
    assert [step.recorded_at_ms for step in steps] == [entry.recorded_at_ms for entry in entries]


@pytest.mark.parametrize("seed", range(20))
def test_everybody_sees_no_card_before_it_is_turned_up(seed):
    """P10: a public replay shows hidden cards from their showing on, and never those that were not shown."""
    _, entries = hand_of(seed)
    shown = {}
    for entry, step in zip(entries, hand_steps(entries), strict=True):
        if isinstance(entry.event, hand.CardsShown):
            shown[entry.event.seat] = tuple(reveal.card for reveal in entry.reveals)
        for line in step.seats:
            if line.seat not in shown:
                assert set(line.cards) <= {None}
        assert None not in step.board
    for line in hand_steps(entries)[-1].seats:
        assert line.cards == shown.get(line.seat, (None, None))


@pytest.mark.parametrize("seed", range(20))
def test_a_seat_sees_its_own_cards_from_the_deal_on_and_nobody_elses(seed):
    one, entries = hand_of(seed)
    dealt = next(event for event in hand_events(entries) if isinstance(event, hand.HoleCardsDealt))
    mine = [one.deck.reveal(position) for position in dealt.holdings[0]]
    public, own = hand_steps(entries), hand_steps(entries, mine)
    for before, after in zip(public, own, strict=True):
        assert after.seats[1:] == before.seats[1:]
        assert (after.pot, after.board, after.time_left_ms) == (before.pot, before.board, before.time_left_ms)
        if after.seats[0].cards:
            assert after.seats[0].cards == tuple(reveal.card for reveal in mine)


def test_the_board_is_told_in_cards():
    for seed in range(20):
        _, entries = hand_of(seed)
        steps = hand_steps(entries)
        for entry, step in zip(entries, steps, strict=True):
            if isinstance(entry.event, hand.BoardDealt):
                for reveal in entry.reveals:
                    assert format_card(reveal.card) in step.what
                assert step.board[-len(entry.reveals) :] == tuple(reveal.card for reveal in entry.reveals)


@pytest.mark.parametrize("seed", range(20))
def test_time_left_is_what_stood_on_the_clock(seed):
    """H8: the deadline in force, an outage's extension included, less the arrival."""
    _, entries = hand_of(seed)
    deadline = None
    for entry, step in zip(entries, hand_steps(entries), strict=True):
        match entry.event:
            case hand.TurnBegan(deadline_ms=deadline_ms) | hand.DeadlineMoved(deadline_ms=deadline_ms):
                deadline = deadline_ms
            case hand.Acted(received_at_ms=received_at_ms, decided_by=decided_by):
                assert step.time_left_ms == deadline - received_at_ms
                assert step.decided_by == decided_by
                assert decided_by != "player" or step.time_left_ms >= 0
                assert decided_by != "clock" or step.time_left_ms <= 0
            case _:
                assert step.time_left_ms is None


@pytest.mark.parametrize("seed", range(10))
def test_a_batch_is_what_one_command_caused(seed):
    _, entries = hand_of(seed)
    grouped = batches(entries)
    assert [entry for batch in grouped for entry in batch.entries] == entries
    assert len({batch.command_id for batch in grouped}) == len(grouped)
    firsts = [step.version for step in hand_steps(entries) if step.is_first_of_command]
    assert firsts == [batch.entries[0].version for batch in grouped]


@pytest.mark.parametrize("kind", EVERY_EVENT, ids=lambda kind: kind.__name__)
def test_every_event_has_its_words(kind):
    """Whatever an event holds, it is told in one line that prints no byte string and no record."""

    @settings(max_examples=25, deadline=None)
    @given(event=records(kind), now=st.integers(min_value=0, max_value=2**40))
    def has_words(event, now):
        text = describe(event, {}, now)
        assert text
        assert "b'" not in text.split(":")[0]
        assert kind.__name__ not in text

    has_words()


def test_a_decision_of_the_clock_is_told_as_such():
    folded = hand.Acted(2, "fold", 0, 0, is_all_in=False, turn=7, decided_by="clock", received_at_ms=9)
    raised = hand.Acted(2, "raise", 300, 200, is_all_in=True, turn=7, decided_by="player", received_at_ms=9)
    assert describe(folded, {}, 9) == "folds (decided by the clock)"
    assert describe(raised, {}, 9) == "raises to 300 (adds 200), all-in"


def test_a_pot_tells_its_odd_chip():
    pot = hand.PotAwarded(1, 5, (0, 1), (hand.Share(1, 3, 1), hand.Share(0, 2)))
    assert describe(pot, {}, 0) == "pays the side pot 1 of 5: 3 to seat 1 (1 of it odd), 2 to seat 0"


def test_results_name_their_seats():
    ended = hand.HandEnded("showdown", (5, 0), (3, -3), (6, 0), (0, 0), b"", 9)
    assert describe(ended, {}, 0, (4, 7)) == "ends the hand: cards were compared; seat 4 +3, seat 7 -3"


@pytest.mark.parametrize(
    ("duration", "text"), [(20_000, "20.0 s"), (7_549, "7.5 s"), (0, "0.0 s"), (-16, "0.0 s"), (-1_270, "-1.3 s")]
)
def test_durations_are_told_in_tenths(duration, text):
    assert seconds(duration) == text


def test_unknown_cards_are_question_marks():
    assert describe(hand.CardsShown(1, (4, 5), "pair", 7), {4: 51}, 0) == "shows As ??, pair"


def test_times_are_told_in_utc():
    assert clock_text(1_800_000_000_123) == "08:00:00.123"


def test_hidden_cards_are_told_of_seats_that_play_and_shown_ones_of_all():
    playing = SeatLine(seat=1, player="p", stack=95, bet=5, cards=(None, None), has_folded=False)
    assert seat_text(playing) == "1: 95+5 ?? ??"
    assert seat_text(msgspec.structs.replace(playing, has_folded=True)) == "(1: 95+5)"
    assert seat_text(msgspec.structs.replace(playing, has_folded=True, cards=(51, None))) == "(1: 95+5 As ??)"


@pytest.mark.parametrize("seed", range(5))
def test_plain_text_has_a_line_for_every_step(seed):
    _, entries = hand_of(seed)
    steps = hand_steps(entries)
    text = plain_text(steps)
    told = [line for line in text.splitlines() if not line.startswith(" " * 8)]
    assert len(told) == len(steps)
    for line, step in zip(told, steps, strict=True):
        assert line.startswith(f"{step.version:>6}  {clock_text(step.recorded_at_ms)}")
        assert step.what in line


def test_steps_are_json():
    _, entries = hand_of(1)
    steps = hand_steps(entries)
    assert msgspec.json.decode(msgspec.json.encode(steps), type=tuple[type(steps[0]), ...]) == steps
