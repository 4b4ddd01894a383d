"""A client's decision as a command: the same by stream and by unary call, so that one may repeat the other."""

from typing import Final
from uuid import UUID

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.core.decider import Rejected
from diwan.core.hand.commands import Act, AllIn
from diwan.core.hand.events import ActionKind
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
        seat = state.seat_of(player)
        if seat is None:
            raise Rejected("NOT_SEATED")
        if kind is None:
            return AllIn(seat.seat, turn, state.version, received_at_ms)
        return Act(seat.seat, kind, to if kind in _SIZED else 0, turn, state.version, received_at_ms)

    return build


def action_hash(table_id: UUID, player: str, action: pb.Action) -> bytes:
    """Return what a decision's request id is bound to, whichever way it comes."""
    content = table_id.bytes + player.encode() + b"\x00" + action.SerializeToString(deterministic=True)
    return request_hash("Act", content)
