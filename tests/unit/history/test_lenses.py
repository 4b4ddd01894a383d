"""Which cards a seat was shown alone, read from the events (P10, NK-16, NK-20)."""

import pytest

from diwan.core.games.naiko.viewing import discarded_by, glanced_by
from diwan.core.hand.events import CardGlanced, CardSwapped
from diwan.core.hand.state import EndedHand
from diwan.history import fold, own_positions
from tests.property.naiko_hands import played_naiko
from tests.unit.history.test_steps import hand_of


def naiko_hands():
    return [played_naiko(seed) for seed in range(40)]


@pytest.mark.parametrize("seed", range(10))
def test_in_games_without_powers_a_seat_was_shown_what_it_held(seed):
    _, entries = hand_of(seed)
    state = fold(entries)
    events = [entry.event for entry in entries]
    for seat, holding in zip(state.last.deal.seats, state.last.holdings, strict=True):
        assert own_positions(events, seat) == holding


def test_in_naiko_a_seat_was_also_shown_what_it_glanced_at_swapped_in_and_threw_away():
    powers = set()
    for played in naiko_hands():
        state = played.states[-1]
        live = state.last if isinstance(state, EndedHand) else state
        events = [event for batch in played.batches for event in batch]
        for seat, holding in zip(live.deal.seats, live.holdings, strict=True):
            expected = {*holding, *(each[seat] for each in (glanced_by(live), discarded_by(live)) if seat in each)}
            assert set(own_positions(events, seat)) == expected
        powers |= {type(event) for event in events}
    assert {CardGlanced, CardSwapped} <= powers, "the hands must show what is tested"


def test_a_seat_that_was_not_dealt_in_was_shown_nothing():
    _, entries = hand_of(3)
    events = [entry.event for entry in entries]
    dealt = {seat.seat for seat in events[0].seats}
    for seat in set(range(9)) - dealt:
        assert own_positions(events, seat) == ()
