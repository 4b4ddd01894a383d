"""What may be asked of a Capsa hand. ``version`` is the stream's version before the command's first event.

Commands name positions; the servicer translates a client's cards from that seat's own. `MoveDeadline` and `VoidHand`
are those of every hand. ``turn`` is the open decision that is answered, None where the caller cannot name one.
"""

from __future__ import annotations

from msgspec import Struct

from diwan.core.games.capsa.events import Answer, Arrangement
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.hand.events import DecidedBy, HandSeat, OpenedSeed, Seat


class StartCapsa(Struct, frozen=True):
    """Deal a Capsa hand. The fields are those of ``CapsaStarted``, which see."""

    hand_id: str
    hand_no: int
    rules_version: int
    settings: CapsaSettings
    seats: tuple[HandSeat, ...]
    button: Seat
    secret_commitment: bytes
    seeds: tuple[OpenedSeed, ...]
    absent: tuple[Seat, ...]
    deck_root: bytes
    next_commitment: bytes
    version: int
    now_ms: int


class SaveDraft(Struct, frozen=True):
    """Keep an arrangement, complete or not, for the case that time runs out (CS-20, CS-28)."""

    seat: Seat
    arrangement: Arrangement
    turn: int | None
    version: int
    now_ms: int


class LockSet(Struct, frozen=True):
    """Lock a set of exactly the seat's thirteen cards; a foul only where it is meant (CS-26)."""

    seat: Seat
    arrangement: Arrangement
    turn: int | None
    version: int
    now_ms: int
    is_foul_confirmed: bool = False
    decided_by: DecidedBy = "player"


class Unlock(Struct, frozen=True):
    """Take a locked set back while others still set (CS-20)."""

    seat: Seat
    turn: int | None
    version: int
    now_ms: int


class AnswerCall(Struct, frozen=True):
    """Say whether the seat plays or surrenders (CS-30)."""

    seat: Seat
    answer: Answer
    turn: int | None
    version: int
    now_ms: int
    decided_by: DecidedBy = "player"


class ExpireCapsaClock(Struct, frozen=True):
    """The open clock ran out: sets are made by the timeout policy (CS-28), who is asked plays (CS-31).

    ``seat`` None is everybody who is late; naming one serves a seat that leaves before its time is over.
    """

    seat: Seat | None
    turn: int | None
    version: int
    now_ms: int
    decided_by: DecidedBy = "clock"


type CapsaCommand = SaveDraft | LockSet | Unlock | AnswerCall | ExpireCapsaClock | StartCapsa | MoveDeadline | VoidHand
