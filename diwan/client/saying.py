"""What a seat says, as the contract's messages have it."""

from collections.abc import Sequence
from typing import Any

from diwan.api.event.v1 import capsa_pb2 as event_capsa_pb2
from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import capsa_pb2
from diwan.api.table.v1 import table_service_pb2 as pb

type Rows = Sequence[Sequence[int]]
"""Front, middle and back, as cards of 0 to 51."""


def rows_message(rows: Rows) -> capsa_pb2.CapsaRows:
    """Return front, middle and back as a message."""
    front, middle, back = rows
    return capsa_pb2.CapsaRows(front=front, middle=middle, back=back)


def capsa_answer(answer: str) -> Any:
    """Return the number of "play" or "surrender"; raises ValueError for a word that is neither."""
    return event_capsa_pb2.CapsaAnswer.Value(f"CAPSA_ANSWER_{answer.upper()}")


def action_of(turn: int, kind: int | str, to: int, *, is_all_in: bool) -> pb.Action:
    """Return an action as the contract has it: all chips stand apart from its kinds; raises ValueError for no kind."""
    if is_all_in or kind == "sarab":
        return pb.Action(turn=turn, is_all_in=True)
    number: Any = hand_pb2.ActionKind.Value(f"ACTION_KIND_{kind.upper()}") if isinstance(kind, str) else kind
    return pb.Action(turn=turn, kind=number, to=to)
