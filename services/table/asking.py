"""What is asked of a table's actor, and who may ask it."""

from collections import Counter
from collections.abc import Callable
from typing import Final
from uuid import UUID

from diwan.chassis.actors import Answer
from diwan.core.decider import Rejected
from diwan.core.table.commands import TableCommand
from diwan.core.table.events import TableEvent
from diwan.core.table.state import TableState

type Build = Callable[[TableState], TableCommand]
type Reply = Callable[[tuple[TableEvent, ...]], bytes]


def no_reply(_events: tuple[TableEvent, ...]) -> bytes:
    """Record nothing beside the outcome: its versions say all."""
    return b""


class Ask:
    """A request on its way to the actor.

    ``build`` makes the command from the table as it stands then; it may raise `Rejected`. ``hears`` is called once, with
    the answer or the refusal: with what took effect just now, right before the table's watchers are told of it.
    ``asker`` is the player who may have only so many requests waiting, ``refusals_of`` the player whose refusals are
    counted, for play.
    """

    __slots__ = (
        "_hears",
        "admission",
        "asker",
        "build",
        "caller",
        "command_id",
        "refusals_of",
        "reply",
        "request_hash",
    )

    def __init__(
        self,
        build: Build,
        hears: Callable[[Answer | Rejected], None],
        *,
        command_id: UUID,
        caller: str,
        request_hash: bytes,
        reply: Reply = no_reply,
        asker: str | None = None,
        refusals_of: str | None = None,
    ) -> None:
        self.asker = asker
        self.build = build
        self._hears: Callable[[Answer | Rejected], None] | None = hears
        self.admission: Admission | None = None
        self.command_id = command_id
        self.caller = caller
        self.request_hash = request_hash
        self.reply = reply
        self.refusals_of = refusals_of

    def answer(self, outcome: Answer | Rejected) -> None:
        """Answer; whatever is said later is not heard."""
        hears, self._hears = self._hears, None
        if hears is None:
            return
        if self.admission is not None and self.asker is not None:
            self.admission.answered(self.asker)
        hears(outcome)


MAILBOX_MAX: Final = 256
"""Requests that may wait for a table; nine seats cannot have honest reasons for more (P12)."""

STRANGERS_MAX: Final = MAILBOX_MAX // 2
"""With so many waiting, only who has a seat may still ask: what strangers do fills no table."""

ASKS_A_PLAYER_MAX: Final = 24
"""Requests of one player that may be unanswered at one table, over all of the player's calls and streams."""


class Admission:
    """Who may ask a table now. One player who asks without end takes nobody else's place (P12)."""

    def __init__(self) -> None:
        self._unanswered: Counter[str] = Counter()

    def admit(self, ask: Ask, waiting: int, *, has_seat: bool) -> None:
        """Count a request until it is answered; raises `Rejected` with TABLE_BUSY where there is no room for it."""
        if waiting >= MAILBOX_MAX:
            raise Rejected("TABLE_BUSY")
        asker = ask.asker
        if asker is None:
            return
        if self._unanswered[asker] >= ASKS_A_PLAYER_MAX or (waiting >= STRANGERS_MAX and not has_seat):
            raise Rejected("TABLE_BUSY")
        self._unanswered[asker] += 1
        ask.admission = self

    def answered(self, asker: str) -> None:
        """Make room for a player's next request."""
        self._unanswered[asker] -= 1
        if not self._unanswered[asker]:
            del self._unanswered[asker]


RECENT_ANSWERS: Final = 256
"""Answers kept in memory a table; older ones are read from the store."""
