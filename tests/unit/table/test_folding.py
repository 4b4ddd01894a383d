"""Folding a table's log: by the kind of every event, of which none may be unknown."""

from typing import get_args

import pytest

from diwan.core.games.capsa import events as capsa
from diwan.core.games.capsa import stakes
from diwan.core.hand import events as hand
from diwan.core.table import events as table
from diwan.core.table import evolve as folding
from diwan.core.table.hosting import events as hosting
from diwan.core.table.tournament import events as tournament
from diwan.core.table.waiting import events as waiting
from tests.unit.table.play import Table


def kinds_of(*unions):
    return {kind for union in unions for kind in get_args(union.__value__)}


def test_every_kind_of_event_of_a_table_can_be_folded_and_no_other():
    """H3: the log says all; an event that the fold did not know would be a table that nobody can load."""
    of_a_table = kinds_of(
        hand.HandEvent,
        capsa.CapsaOnlyEvent,
        stakes.StakeEvent,
        hosting.HostingEvent,
        waiting.WaitingEvent,
        tournament.TournamentTableEvent,
        table.TableOnlyEvent,
    )
    assert len(get_args(table.TableEvent.__value__)) == 7, "another aggregate belongs into the list above"
    assert set(folding._EVOLVERS) == of_a_table


def test_what_a_hand_changes_at_the_table_around_it_is_never_folded_into_the_hand_alone():
    """H3: `at_table` returns the table untouched for exactly the events that are folded into the hand alone."""
    alone = {kind for kind, evolver in folding._EVOLVERS.items() if evolver is folding._in_hand}
    around = {kind for kind, evolver in folding._EVOLVERS.items() if evolver is folding._in_hand_and_at_table}
    assert alone | around == kinds_of(hand.HandEvent, capsa.CapsaOnlyEvent)
    state = Table().state
    for kind in alone:
        # Not one field of such an event is read: an empty one of its kind will do.
        assert folding.at_table(state, kind(*[None] * len(kind.__struct_fields__))) is state, kind


def test_a_table_is_created_once():
    """H3: a second beginning in a stream is no event of it."""
    state = Table().state
    event = table.TableCreated(state.table_id, state.config, "", 0)
    with pytest.raises(AssertionError, match="created once"):
        folding.evolve(state, event)
