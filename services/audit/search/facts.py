"""What a hand is found by: a pure reading of its events, without a rule of the game."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntFlag
from typing import Final
from uuid import UUID

import msgspec

from diwan.core.games.capsa.events import (
    Answered,
    CapsaStarted,
    PairSettled,
    SetLocked,
    SettingClosed,
)
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    CardGlanced,
    CardSwapped,
    DeadlineMoved,
    HandEnded,
    HandResult,
    HandStarted,
    HandVoided,
    PotAwarded,
)
from diwan.core.table.config import TableConfig
from diwan.core.table.events import RefusalsRecorded

RESULT_NUMBERS: Final[dict[HandResult, int]] = {"uncontested": 1, "showdown": 2, "void": 3}
"""As in event/v1."""

CHIP_NUMBERS: Final = {"wallet": 1, "match": 2, "tournament": 3}
"""As ChipSource in event/v1; 0 where the table's beginning could not be read."""


class Flag(IntFlag):
    """What may make a hand worth a look; each is a bit, and the name of a value in audit/v1."""

    VOID = 1
    CLOCK = 2
    OPERATOR = 4
    INTERRUPTED = 8
    POWERS = 16
    ALL_IN = 32
    REFUSALS = 64
    LOOKED_AT = 128
    BOTS_ONLY = 256


OWN_ROLES: Final = frozenset({"player", "bot", "backend"})
"""Who looks at a hand as one of these looks at an own seat; every other look is somebody else's."""


class SeatFacts(msgspec.Struct, frozen=True):
    """A seat that was dealt in, and what the hand made of its chips."""

    seat: int
    player: str
    is_bot: bool
    stack: int
    payoff: int


class HandFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A hand's line in the index. Times in milliseconds; ``stake`` is the big blind, the smallest bet or Capsa's unit."""

    hand_id: UUID
    hand_no: int
    first_version: int
    last_version: int
    game: str
    bet_limit: str
    stake: int
    started_at_ms: int
    ended_at_ms: int
    result: int
    pot: int
    flags: Flag
    tournament_id: str
    seats: tuple[SeatFacts, ...]


class TableFacts(msgspec.Struct, frozen=True):
    """What of a table its hands are found by."""

    name: str = ""
    chips: int = 0
    seats: int = 0
    tournament_id: str = ""


class NoHandError(ValueError):
    """These events are not one whole hand; the message says why."""


def table_facts(config: TableConfig) -> TableFacts:
    """Return what hands are found by of their table's settings."""
    tournament_id = "" if config.tournament is None else config.tournament.tournament_id
    return TableFacts(config.name, CHIP_NUMBERS.get(config.chips, 0), config.seats, tournament_id)


def hand_facts(events: Sequence[tuple[int, object]], later: Iterable[object] = (), *, looks: int = 0) -> HandFacts:
    """Return what a hand is found by; raise `NoHandError` unless the events begin and end one.

    ``events`` are (version, event), None in place of one that could not be read; ``later`` is what the table said of
    the hand when it was over, ``looks`` how often somebody who was not in it looked at its hidden cards.
    """
    if not events or not isinstance(events[0][1], HandStarted | CapsaStarted):
        raise NoHandError("it does not begin with a beginning")
    started, ended = events[0][1], events[-1][1]
    if not isinstance(ended, HandEnded):
        raise NoHandError("it does not end with an end")
    if len(ended.payoffs) != len(started.seats):
        raise NoHandError(f"{len(ended.payoffs)} payoffs for {len(started.seats)} seats")
    said = [event for _, event in events]
    return HandFacts(
        hand_id=UUID(started.hand_id),
        hand_no=started.hand_no,
        first_version=events[0][0],
        last_version=events[-1][0],
        game=started.settings.game,
        bet_limit="" if isinstance(started, CapsaStarted) else started.settings.limit,
        stake=_stake(started),
        started_at_ms=started.started_at_ms,
        ended_at_ms=ended.ended_at_ms,
        result=RESULT_NUMBERS[ended.result],
        pot=_pot(said),
        flags=_flags(started, ended, said, later, looks),
        tournament_id=_tournament_of(started),
        seats=tuple(
            SeatFacts(seat.seat, seat.player, seat.is_bot, seat.stack, payoff)
            for seat, payoff in zip(started.seats, ended.payoffs, strict=True)
        ),
    )


def _tournament_of(started: HandStarted | CapsaStarted) -> str:
    if isinstance(started, CapsaStarted) or started.tournament is None:
        return ""
    return started.tournament.tournament_id


def _stake(started: HandStarted | CapsaStarted) -> int:
    if isinstance(started, CapsaStarted):
        return started.settings.unit
    return started.settings.big_blind or max((due.amount for due in started.dues), default=0)


def _pot(events: Iterable[object]) -> int:
    """Everything that changed hands or lay in the middle: pots as they were paid, Capsa's lines, a void hand's refunds."""
    pot = 0
    for event in events:
        match event:
            case PotAwarded():
                pot += event.amount
            case PairSettled():
                pot += abs(event.chips)
            case HandVoided():
                pot += sum(share.amount for share in event.refunds) + event.carried
            case _:
                pass
    return pot


def _flags(
    started: HandStarted | CapsaStarted, ended: HandEnded, events: Iterable[object], later: Iterable[object], looks: int
) -> Flag:
    flags = Flag(0)
    if ended.result == "void":
        flags |= Flag.VOID
    if all(seat.is_bot for seat in started.seats):
        flags |= Flag.BOTS_ONLY
    if looks:
        flags |= Flag.LOOKED_AT
    for event in (*events, *later):
        flags |= _flags_of(event, started.hand_no)
    return flags


def _flags_of(event: object, hand_no: int) -> Flag:
    match event:
        case Acted():
            return _decided_by(event.decided_by) | (Flag.ALL_IN if event.is_all_in else Flag(0))
        case AnchorAnswered():
            powers = Flag.POWERS if event.answer == "seal_shield" else Flag(0)
            return _decided_by(event.decided_by) | powers
        case SetLocked() | SettingClosed() | Answered():
            return _decided_by(event.decided_by)
        case HandVoided():
            interrupted = Flag.INTERRUPTED if event.reason == "interrupted" else Flag(0)
            by_operator = Flag.OPERATOR if event.reason == "operator" else Flag(0)
            return interrupted | by_operator | _decided_by(event.decided_by)
        case DeadlineMoved():
            return Flag.INTERRUPTED
        case CardGlanced() | CardSwapped() | AnchorDeclared():
            return Flag.POWERS
        case RefusalsRecorded() if event.hand_no == hand_no and event.counts:
            return Flag.REFUSALS
        case _:
            return Flag(0)


def _decided_by(who: str) -> Flag:
    return {"clock": Flag.CLOCK, "operator": Flag.OPERATOR}.get(who, Flag(0))
