"""Views of tables of Capsa on the wire: read back as they were shown, at every step of random hands (H10)."""

from random import Random  # noqa: TID251  (tests may use chance)

import pytest

from diwan.api.table.v1 import view_pb2
from diwan.core.redact import private_view, public_view, view
from diwan.core.view import SPECTATOR, Lens
from diwan.wire.views import (
    ViewWriter,
    private_view_message,
    read_private_view,
    read_table_view,
    table_view_message,
)
from tests.unit.verifier.capsa_logs import PlayedCapsa, played_capsa

NEXT = "7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8b"


class Seen(PlayedCapsa):
    """A table that is looked at after every command."""

    def do(self, command):
        super().do(command)
        if self.deck is not None:
            look(self)


def look(table):
    cards = dict(enumerate(table.deck.cards))
    shown = public_view(table.state, cards, names={}, next_hand_id=NEXT)
    message = table_view_message(shown, table.state.config)
    assert read_table_view(message) == shown
    assert view_pb2.TableView.FromString(ViewWriter(table.state.config, None).write(shown)) == message
    for seat in table.state.seats:
        own = private_view(table.state, seat.player, table.deck.reveal)
        if own is not None:
            assert read_private_view(private_view_message(own)) == own
    table.looks = getattr(table, "looks", 0) + 1


@pytest.mark.parametrize("seed", range(6))
def test_a_view_is_read_back_as_it_was_shown(seed):
    table = Seen(Random(seed))
    table.sit(table.rng.randint(2, 4))
    for _ in range(2):
        while table.able() < 2:
            table.sit(1)
        table.play_hand()
    assert table.looks > 5


@pytest.mark.parametrize("seed", range(6))
def test_a_lens_shows_one_seat_or_all_or_none_of_what_is_arranged(seed):
    """S1, CS-83."""
    table = played_capsa(seed, 1)
    cards = dict(enumerate(table.deck.cards))
    seats = table.state.hand.last.deal.seats
    for lens, seen in ((SPECTATOR, ()), (Lens("seat", seats[0]), seats[:1]), (Lens("auditor"), seats)):
        shown = view(table.state, cards, lens, names={}, next_hand_id=NEXT)
        assert tuple(shown.capsa) == seen
        assert tuple(shown.own_cards) == seen
        assert all(len(own.cards) == 13 for own in shown.capsa.values())
