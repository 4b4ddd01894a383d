"""What a client says in play as a command: the same by stream and by unary call, so that one may repeat the other."""

from typing import Final
from uuid import UUID

from google.protobuf.message import Message

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.core.decider import Rejected
from diwan.core.games.naiko.rules import TURN_POWERS
from diwan.core.hand.commands import Act, AllIn, AnswerAnchor, UsePower
from diwan.core.hand.events import ActionKind, Answer, Seat, TurnPower
from diwan.core.hashing import request_hash
from diwan.core.table.state import TableState
from services.table.asking import Build
from services.table.fields import AMOUNT_MAX

_KINDS: Final[dict[int, ActionKind]] = {
    hand_pb2.ACTION_KIND_FOLD: "fold",
    hand_pb2.ACTION_KIND_CHECK: "check",
    hand_pb2.ACTION_KIND_CALL: "call",
    hand_pb2.ACTION_KIND_BET: "bet",
    hand_pb2.ACTION_KIND_RAISE: "raise",
}
_SIZED: Final = frozenset({"bet", "raise"})
_POWERS: Final[dict[str, TurnPower]] = {power: power for power in TURN_POWERS}
_ANSWERS: Final[dict[str, Answer]] = {"seal_shield": "seal_shield", "pass": "pass"}


def acting(action: pb.Action, player: str, received_at_ms: int) -> Build:
    """Return what makes the command of a decision, for the seat where the player sits then (G3: by receipt).

    Raises FIELD_REQUIRED, FIELD_INVALID or AMOUNT_INVALID; building raises NOT_SEATED.
    """
    turn, to, is_all_in = action.turn, action.to, action.is_all_in
    kind = _KINDS.get(action.kind)
    if turn <= 0:
        raise Rejected("FIELD_REQUIRED", field="action.turn")
    if is_all_in:
        if action.kind:
            raise Rejected("FIELD_INVALID", field="action.kind", why="all_in stands apart")
    elif kind is None:
        raise Rejected("FIELD_INVALID", field="action.kind", why="fold, check, call, bet or raise")
    elif kind in _SIZED and not 1 <= to <= AMOUNT_MAX:
        raise Rejected("AMOUNT_INVALID", field="action.to")

    def build(state: TableState) -> Act | AllIn:
        seat = _seat_of(state, player)
        if kind is None:
            return AllIn(seat, turn, state.version, received_at_ms)
        return Act(seat, kind, to if kind in _SIZED else 0, turn, state.version, received_at_ms)

    return build


def using(use: pb.PowerUse, player: str, received_at_ms: int) -> Build:
    """Return what makes the command of a power, for the seat where the player sits then; raises as `acting` does."""
    turn, target, discard = use.turn, None, None
    power = _POWERS.get(use.power)
    if turn <= 0:
        raise Rejected("FIELD_REQUIRED", field="use.turn")
    if power is None:
        raise Rejected("FIELD_INVALID", field="use.power", why=" or ".join(_POWERS))
    if use.HasField("target"):
        target = use.target
    if use.HasField("discard"):
        discard = use.discard

    def build(state: TableState) -> UsePower:
        seat = _seat_of(state, player)
        return UsePower(seat, power, target, discard, turn, state.version, received_at_ms)

    return build


def answering(answer: pb.AnchorAnswer, player: str, received_at_ms: int) -> Build:
    """Return what makes the command of an answer to an Anchor; raises as `acting` does."""
    turn, said = answer.turn, _ANSWERS.get(answer.answer)
    if turn <= 0:
        raise Rejected("FIELD_REQUIRED", field="answer.turn")
    if said is None:
        raise Rejected("FIELD_INVALID", field="answer.answer", why=" or ".join(_ANSWERS))

    def build(state: TableState) -> AnswerAnchor:
        return AnswerAnchor(_seat_of(state, player), said, turn, state.version, received_at_ms)

    return build


def _seat_of(state: TableState, player: str) -> Seat:
    seat = state.seat_of(player)
    if seat is None:
        raise Rejected("NOT_SEATED")
    return seat.seat


def play_hash(method: str, table_id: UUID, player: str, said: Message) -> bytes:
    """Return what the request id of something said in play is bound to, whichever way it comes."""
    content = table_id.bytes + player.encode() + b"\x00" + said.SerializeToString(deterministic=True)
    return request_hash(method, content)
