"""What a client says at a table of Capsa, in cards, as a command, in positions of that seat's own cards."""

from collections.abc import Callable
from typing import Final

from diwan.api.table.v1 import capsa_pb2
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import AnswerCall, LockSet, SaveDraft, Unlock
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.stakes import AcceptStake, EndStake, ProposeStake
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.hand.events import Position, Seat
from diwan.core.limits import SEATS_MAX
from diwan.core.table.commands import TableCommand
from diwan.core.table.state import TableState
from diwan.wire.capsa import ANSWER_NAME
from services.table.asking import Build
from services.table.cards import HandCards
from services.table.fields import AMOUNT_MAX

_NOT_HELD: Final[Position] = -1
"""Stands for a card that the seat does not hold: no seat has this position, so the rules say BAD_SET in their order."""

_CARDS_MAX: Final = 52


def arranging(cards: HandCards) -> Callable[[capsa_pb2.CapsaAction, str, int], Build]:
    """Return what makes the command of a decision in a hand of Capsa; ``cards`` are the table's."""

    def building(action: capsa_pb2.CapsaAction, player: str, received_at_ms: int) -> Build:
        """Raises FIELD_REQUIRED or FIELD_INVALID; building raises NOT_SEATED."""
        _check(action)

        def build(state: TableState) -> TableCommand:
            seat = _seat_of(state, player)
            return _command(action, state, seat, cards, received_at_ms)

        return build

    return building


def staking(stake: capsa_pb2.PairStakeAction, player: str, received_at_ms: int) -> Build:
    """Return what makes the command of an offer, an acceptance or an end; raises as `arranging` does."""
    kind = stake.WhichOneof("action")
    unit = stake.propose_unit or stake.accept_unit
    if kind is None or (kind == "end" and not stake.end):
        raise Rejected("FIELD_REQUIRED", field="stake.action")
    if stake.other >= SEATS_MAX:
        raise Rejected("FIELD_INVALID", field="stake.other", why="no seat")
    if kind != "end" and not 1 <= unit <= AMOUNT_MAX:
        raise Rejected("AMOUNT_INVALID", field=f"stake.{kind}")

    def build(state: TableState) -> TableCommand:
        seat = _seat_of(state, player)
        if kind == "propose_unit":
            return ProposeStake(seat, stake.other, unit, received_at_ms)
        if kind == "accept_unit":
            return AcceptStake(seat, stake.other, unit, received_at_ms)
        return EndStake(seat, stake.other, received_at_ms)

    return build


def _check(action: capsa_pb2.CapsaAction) -> None:
    if action.turn <= 0:
        raise Rejected("FIELD_REQUIRED", field="action.turn")
    kind = action.WhichOneof("action")
    if kind is None:
        raise Rejected("FIELD_REQUIRED", field="action.action")
    if kind == "answer" and action.answer not in ANSWER_NAME:
        raise Rejected("FIELD_INVALID", field="action.answer", why="play or surrender")
    rows = action.lock.rows if kind == "lock" else action.save_draft
    if len(rows.front) + len(rows.middle) + len(rows.back) > _CARDS_MAX:
        raise Rejected("FIELD_INVALID", field=f"action.{kind}", why="more cards than a deck has")


def _command(
    action: capsa_pb2.CapsaAction, state: TableState, seat: Seat, cards: HandCards, now_ms: int
) -> SaveDraft | LockSet | Unlock | AnswerCall:
    turn, version = action.turn, state.version
    match action.WhichOneof("action"):
        case "save_draft":
            return SaveDraft(seat, _arrangement(action.save_draft, state, seat, cards), turn, version, now_ms)
        case "lock":
            rows = _arrangement(action.lock.rows, state, seat, cards)
            return LockSet(seat, rows, turn, version, now_ms, is_foul_confirmed=action.lock.is_foul_confirmed)
        case "unlock":
            return Unlock(seat, turn, version, now_ms)
        case _:
            return AnswerCall(seat, ANSWER_NAME[action.answer], turn, version, now_ms)


def _arrangement(rows: capsa_pb2.CapsaRows, state: TableState, seat: Seat, cards: HandCards) -> Arrangement:
    hand = state.hand
    place = hand.deal.places.get(seat) if isinstance(hand, LiveCapsa) else None
    holding = hand.holdings[place] if isinstance(hand, LiveCapsa) and place is not None else ()
    known = cards.by_position
    held = {known[position]: position for position in holding if position in known}
    front, middle, back = [
        tuple(held.get(card, _NOT_HELD) for card in row) for row in (rows.front, rows.middle, rows.back)
    ]
    return Arrangement(front, middle, back)


def _seat_of(state: TableState, player: str) -> Seat:
    seat = state.seat_of(player)
    if seat is None:
        raise Rejected("NOT_SEATED")
    return seat.seat
