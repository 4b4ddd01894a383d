"""Events of the line for a seat and their messages."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import waiting_pb2 as pb
from diwan.core.table.waiting import events as waiting
from diwan.wire.mapping import Row, named, plain_row

WAIT_CAUSE_NUMBER, WAIT_CAUSE_NAME = named(waiting.WaitCause, pb.WaitCause)


def _write_wait_ended(message: pb.WaitEnded, event: waiting.WaitEnded) -> None:
    message.player = event.player
    message.cause = WAIT_CAUSE_NUMBER[event.cause]
    message.ended_at_ms = event.ended_at_ms


def _read_wait_ended(message: pb.WaitEnded) -> waiting.WaitEnded:
    return waiting.WaitEnded(message.player, WAIT_CAUSE_NAME[message.cause], message.ended_at_ms)


WAITING_ROWS: Final = (
    plain_row(waiting.SeatWanted, pb.SeatWanted),
    plain_row(waiting.SeatHeld, pb.SeatHeld),
    Row(waiting.WaitEnded, _write_wait_ended, _read_wait_ended),
)
