"""Views written seat by seat are the views written whole."""

from diwan.api.table.v1 import view_pb2
from diwan.core.redact import public_view
from diwan.wire.views import ViewWriter, read_table_view, table_view_message
from tests.unit.table.play import Table, hand_id_of


def test_a_view_with_remembered_seats_is_the_same_message_at_every_step():
    """A seat that is remembered wrongly would show old chips or an old player."""
    table = Table(seats=9)
    for seat in range(9):
        table.seat(f"p{seat}", seat=seat)
    writer = ViewWriter(table.state.config)
    for _ in range(4):
        table.start()
        while table.state.is_running:
            table.act("call" if max(table.live.bets) > table.live.bets[table.live.actor] else "check")
            shown = public_view(table.state, table.cards, names={}, next_hand_id=hand_id_of(9))
            read = view_pb2.TableView.FromString(writer.write(shown))
            assert read == table_view_message(shown, table.state.config)
            assert read_table_view(read) == shown
        leaver = next((seat.player for seat in table.state.seats if seat.seat % 4 == 1), None)
        if leaver is not None:
            table.stand_up(leaver)
            table.seat(f"{leaver}+", is_bot=True, amount=150)
