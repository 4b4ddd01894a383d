"""Views as a table service sends them, for what is drawn and typed at them."""

from diwan.api.event.v1 import event_pb2, hand_pb2, table_pb2
from diwan.api.table.v1 import view_pb2
from diwan.cli.play.look import Look
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words
from diwan.core.cards import parse_cards

NOW = 1_000_000
HAND = "00000000-0000-5000-8000-000000000001"


def look(game="holdem", language="en", *, is_drawn=False, has_symbols=True):
    return Look(Words(language, game), has_symbols, is_drawn)


def plain(lines):
    """Return lines as they read, without colours."""
    return "\n".join(str(line) for line in lines)


def decision(**said):
    fields = {"seat": 0, "turn": 7, "deadline_ms": NOW + 20_000, "can_fold": True} | said
    return view_pb2.Decision(**fields)


FACING_BET = {"can_call": True, "call_amount": 20, "can_raise": True, "min_to": 80, "max_to": 980, "pot_to": 240}
OPEN = {"can_check": True, "can_bet": True, "min_to": 10, "max_to": 980, "pot_to": 60}


def reveals(text):
    return [hand_pb2.Reveal(position=place, card=card) for place, card in enumerate(parse_cards(text))]


def own(cards="As Kd", **said):
    return view_pb2.PrivateView(seat=0, hand_id=HAND, reveals=reveals(cards), **said)


def seat(number, name, stack, **said):
    return view_pb2.SeatView(
        seat=number, player=name, display_name=name, stack=stack, in_hand=True, status="SEAT_STATUS_PLAYING", **said
    )


def scene(game="holdem", *, cards="As Kd", seats=(), board="", private=None, **hand):
    """Return a hand in play: we are at seat 0, Rami, a bot, at seat 2, Layla at seat 4."""
    config = {"game": game, "small_blind": 0 if game == "sarab" else 5, "big_blind": 10, "decision_seconds": 20}
    table = view_pb2.TableView(
        table_id="t",
        config=table_pb2.TableConfig(hand=config),
        seats=seats
        or (
            seat(0, "amal", 960, bet=20, time_bank_ms=30_000),
            seat(2, "bot:rami-01", 900, is_bot=True, bet=40),
            seat(4, "layla", 0, has_folded=True),
        ),
        hand=view_pb2.HandView(
            **{"hand_id": HAND, "hand_no": 12, "street": hand_pb2.STREET_FLOP, "button": 2, "pot": 140, "game": game}
            | {"board": parse_cards(board)}
            | hand
        ),
    )
    return Scene(table, 0, private or own(cards), NOW)


def stored(kind, /, **fields):
    """Return an event as it lies in the log."""
    body = event_pb2.Event(**{kind: fields}).SerializeToString()
    return event_pb2.StoredEvent(recorded_at_ms=NOW, body=body)
