"""A hand's steps, told through a lens, as messages."""

from __future__ import annotations

from diwan.api.table.v1 import history_pb2 as pb
from diwan.core.log import LoggedEvent
from diwan.history import Step
from diwan.wire.hand import DECIDED_BY_NUMBER
from diwan.wire.stored import stored_message


def step_message(step: Step, event: LoggedEvent) -> pb.HandStep:
    """Return the message of a step and the stored event that it tells of."""
    message = pb.HandStep(
        event=stored_message(event),
        seat=step.seat,
        what=step.what,
        decided_by=DECIDED_BY_NUMBER[step.decided_by] if step.decided_by is not None else 0,  # type: ignore[arg-type]
        pot=step.pot,
        board=[card for card in step.board if card is not None],
        time_left_ms=step.time_left_ms,
        is_first_of_command=step.is_first_of_command,
    )
    for line in step.seats:
        message.seats.add(
            seat=line.seat,
            player=line.player,
            stack=line.stack,
            bet=line.bet,
            cards=[card for card in line.cards if card is not None],
            hidden_cards=sum(card is None for card in line.cards),
            has_folded=line.has_folded,
        )
    return message
