"""What is asked of a table's actor, and what it answers."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

import msgspec

from diwan.core.decider import Rejected
from diwan.core.table.commands import TableCommand
from diwan.core.table.events import TableEvent
from diwan.core.table.state import TableState

type Build = Callable[[TableState], TableCommand]
type Reply = Callable[[tuple[TableEvent, ...]], bytes]


class Answer(msgspec.Struct, frozen=True):
    """What became of a command: its versions, the reply recorded with it, and whether it took effect earlier."""

    first_version: int
    last_version: int
    reply: bytes = b""
    is_replayed: bool = False


def no_reply(_events: tuple[TableEvent, ...]) -> bytes:
    """Record nothing beside the outcome: its versions say all."""
    return b""


class Ask:
    """A request on its way to the actor.

    ``build`` makes the command from the table as it stands then; it may raise `Rejected`. ``answer`` is called once,
    with the answer or the refusal. ``refusals_of`` names the player whose refusals are counted, for play.
    """

    __slots__ = ("answer", "build", "caller", "command_id", "refusals_of", "reply", "request_hash")

    def __init__(
        self,
        build: Build,
        answer: Callable[[Answer | Rejected], None],
        *,
        command_id: UUID,
        caller: str,
        request_hash: bytes,
        reply: Reply = no_reply,
        refusals_of: str | None = None,
    ) -> None:
        self.build = build
        self.answer = answer
        self.command_id = command_id
        self.caller = caller
        self.request_hash = request_hash
        self.reply = reply
        self.refusals_of = refusals_of


MAILBOX_MAX: Final = 256
"""Requests that may wait for a table; nine seats cannot have honest reasons for more (P12)."""

RECENT_ANSWERS: Final = 256
"""Answers kept in memory a table; older ones are read from the store."""
