"""What happened in a Capsa hand. Events carry every result, so that folding them needs no rule (DESIGN 3).

Events speak of deck positions, never of cards; who holds which position is public. What a seat did with its positions
before the reveal (drafts, sets, a confirmed foul) is for that seat alone (CS-22, CS-83): redaction leaves only the fact
that it has locked. `DeadlineMoved`, `HandVoided` and `HandEnded` are those of every hand.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diwan.core.games.capsa.settings import CapsaSettings, NaturalKind, Units
from diwan.core.hand.events import (
    Chips,
    DeadlineMoved,
    DecidedBy,
    HandEnded,
    HandSeat,
    HandVoided,
    OpenedSeed,
    Position,
    Seat,
)

type Status = Literal["set", "fouled", "surrendered", "natural"]
type Answer = Literal["play", "surrender"]
type SetSource = Literal["player", "draft", "server", "none"]


class Arrangement(Struct, frozen=True):
    """Positions by row. A set has 3, 5 and 5; a draft may still lack some."""

    front: tuple[Position, ...] = ()
    middle: tuple[Position, ...] = ()
    back: tuple[Position, ...] = ()

    @property
    def rows(self) -> tuple[tuple[Position, ...], tuple[Position, ...], tuple[Position, ...]]:
        """Front, middle, back."""
        return self.front, self.middle, self.back


class CapsaStarted(Struct, frozen=True, tag=True):
    """The first event of a Capsa hand, complete in itself: a hand is replayed from here without the table before it."""

    hand_id: str
    hand_no: int
    rules_version: int
    settings: CapsaSettings
    seats: tuple[HandSeat, ...]  # who is dealt in; each covers the reserve (CS-65)
    button: Seat
    secret_commitment: bytes  # of this hand's secret, published before any seed was opened
    seeds: tuple[OpenedSeed, ...]  # who contributed to the deck, by seat
    absent: tuple[Seat, ...]  # dealt in, but without a seed
    deck_root: bytes
    next_commitment: bytes  # of the next hand's secret: opens the next seed exchange
    started_at_ms: int


class ThirteenDealt(Struct, frozen=True, tag=True):
    """Hidden cards: which positions each seat holds (CS-4). ``holdings`` is parallel to ``CapsaStarted.seats``."""

    holdings: tuple[tuple[Position, ...], ...]


class NaturalShown(Struct, frozen=True, tag=True):
    """A natural was found and its thirteen cards turned up: revealed to all with this event (CS-69).

    ``division`` says how the server divides a hand of three flushes or straights (CS-77), None for other kinds.
    """

    seat: Seat
    kind: NaturalKind
    units: Units
    positions: tuple[Position, ...]
    division: Arrangement | None


class SettingBegan(Struct, frozen=True, tag=True):
    """Everybody without a natural sets by the deadline. ``turn`` is this event's own version in its stream."""

    seats: tuple[Seat, ...]
    turn: int
    deadline_ms: int


class DraftSaved(Struct, frozen=True, tag=True):
    """A seat keeps a draft of its arrangement, which it may still change (CS-20); ``is_usable`` if it is complete and legal (CS-28). Private."""

    seat: Seat
    arrangement: Arrangement
    is_usable: bool
    turn: int
    received_at_ms: int


class SetLocked(Struct, frozen=True, tag=True):
    """A seat's set is locked; only this fact is public. ``arrangement`` is None for who was late where that fouls.

    ``source`` says whose set it is: the player's, the last usable draft or the server's own (CS-28, CS-29).
    """

    seat: Seat
    arrangement: Arrangement | None
    is_foul_confirmed: bool
    source: SetSource
    turn: int
    decided_by: DecidedBy
    received_at_ms: int


class SetUnlocked(Struct, frozen=True, tag=True):
    """A seat takes its set back to arrange it anew (CS-20)."""

    seat: Seat
    turn: int
    received_at_ms: int


class SettingClosed(Struct, frozen=True, tag=True):
    """The setting clock ran out for a seat, or for everybody who had not locked (None); their sets follow."""

    seat: Seat | None
    turn: int
    decided_by: DecidedBy
    received_at_ms: int


class AnswerAsked(Struct, frozen=True, tag=True):
    """A seat must say by the deadline whether it plays (CS-30). ``turn`` is this event's own version in its stream."""

    seat: Seat
    turn: int
    deadline_ms: int


class Answered(Struct, frozen=True, tag=True):
    """A seat plays or surrenders; public at once (CS-30)."""

    seat: Seat
    answer: Answer
    turn: int
    decided_by: DecidedBy
    received_at_ms: int


class DeclaredRoyalty(Struct, frozen=True):
    """A royalty that a row declares: the row's category by the scenario format, empty where there is none."""

    category: str = ""
    units: Units = 0


class Standing(Struct, frozen=True):
    """What a seat is in the settlement, and the royalties that it declares."""

    seat: Seat
    status: Status
    front: DeclaredRoyalty = DeclaredRoyalty()
    middle: DeclaredRoyalty = DeclaredRoyalty()
    back: DeclaredRoyalty = DeclaredRoyalty()


class RoyaltiesDeclared(Struct, frozen=True, tag=True):
    """Royalties of all legal sets that play, declared at once (CS-41). Parallel to ``CapsaStarted.seats``."""

    standings: tuple[Standing, ...]


class ShownSet(Struct, frozen=True):
    """A set as it was turned up, with the categories of its rows."""

    seat: Seat
    arrangement: Arrangement
    front: str
    middle: str
    back: str
    is_fouled: bool


class SetsShown(Struct, frozen=True, tag=True):
    """The reveal: all sets of those who play, fouls included, at once (CS-84, CS-87); revealed to all with this event."""

    sets: tuple[ShownSet, ...]

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions that are turned up, set by set: front, middle, back."""
        return tuple([position for each in self.sets for row in each.arrangement.rows for position in row])


class RowResults(Struct, frozen=True):
    """Who won each row, from the first seat's side: 1, 0 or -1."""

    front: int
    middle: int
    back: int


class PairSettled(Struct, frozen=True, tag=True):
    """The line of one pair (CS-66), from the side of ``a``, who sits nearer left of the dealer.

    ``units`` is the sum of the parts, cut to the loss cap; ``chips`` (units times the pair's stake) move from ``b`` to
    ``a``, and none where they are 0. ``other`` is for naturals, fouls and surrender; ``rows`` is None without a comparison.
    """

    a: Seat
    b: Seat
    rows: RowResults | None
    row_units: Units
    overall: Units
    scoop: Units
    royalty: Units
    other: Units
    units: Units
    chips: Chips


type CapsaOnlyEvent = (
    DraftSaved
    | SetLocked
    | SetUnlocked
    | AnswerAsked
    | Answered
    | PairSettled
    | CapsaStarted
    | ThirteenDealt
    | NaturalShown
    | SettingBegan
    | SettingClosed
    | RoyaltiesDeclared
    | SetsShown
)
type CapsaEvent = CapsaOnlyEvent | HandEnded | DeadlineMoved | HandVoided
