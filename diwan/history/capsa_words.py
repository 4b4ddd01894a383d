"""What an event of a Capsa hand, or of pairs' stakes, says in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, assert_never

from diwan.core.cards import Card
from diwan.core.games.capsa.events import (
    AnswerAsked,
    Answered,
    Arrangement,
    CapsaOnlyEvent,
    CapsaStarted,
    DeclaredRoyalty,
    DraftSaved,
    NaturalShown,
    PairSettled,
    RoyaltiesDeclared,
    SetLocked,
    SetsShown,
    SettingBegan,
    SettingClosed,
    ShownSet,
    Standing,
    ThirteenDealt,
)
from diwan.core.games.capsa.stakes import StakeAgreed, StakeEnded, StakeEvent, StakeProposed

type Cards = Mapping[int, Card]
type CardTexts = Callable[[Iterable[int], Cards], str]
type Seconds = Callable[[int], str]

_DECIDED_BY: Final = {
    "player": "",
    "clock": " (decided by the clock)",
    "operator": " (decided by an operator)",
    "system": " (decided by the room)",
}
_SOURCE: Final = {
    "player": "locks its set",
    "draft": "has its last usable draft locked",
    "server": "has a set made by the room locked",
    "none": "is late and has no set",
}
_ROWS: Final = ("front", "middle", "back")


def describe_capsa(event: CapsaOnlyEvent, cards: Cards, recorded_at_ms: int, texts: CardTexts, seconds: Seconds) -> str:
    """Return what happened, as a clause whose subject is the seat or the room.

    What a seat arranges is told only where its cards are known: it is nobody else's business (CS-22).
    """
    match event:
        case CapsaStarted():
            return _started(event)
        case ThirteenDealt(holdings=holdings):
            return f"deals thirteen cards to each of {len(holdings)} seats"
        case NaturalShown(kind=kind, units=units, positions=positions):
            return f"holds a natural, {kind.replace('_', ' ')} for {units} units: {texts(positions, cards)}"
        case SettingBegan(seats=seats, deadline_ms=deadline_ms):
            return f"gives {seconds(deadline_ms - recorded_at_ms)} to set to seats {', '.join(map(str, seats))}"
        case DraftSaved(arrangement=arrangement):
            return f"saves a draft{_arranged(arrangement, cards, texts)}"
        case SetLocked(arrangement=arrangement, source=source, decided_by=decided_by):
            rows = "" if arrangement is None else _arranged(arrangement, cards, texts)
            return f"{_SOURCE[source]}{rows}{_DECIDED_BY[decided_by]}"
        case SettingClosed(decided_by=decided_by):
            return f"has no more time to set{_DECIDED_BY[decided_by]}"
        case AnswerAsked(deadline_ms=deadline_ms):
            return f"has {seconds(deadline_ms - recorded_at_ms)} to play or surrender"
        case Answered(answer=answer, decided_by=decided_by):
            return f"{'plays' if answer == 'play' else 'surrenders'}{_DECIDED_BY[decided_by]}"
        case RoyaltiesDeclared(standings=standings):
            return f"declares: {'; '.join(map(_standing, standings))}"
        case SetsShown(sets=sets):
            return "turns up " + "; ".join(_shown(each, cards, texts) for each in sets)
        case PairSettled():
            return _settled(event)
        case _:
            return "takes its set back"


def describe_stake(event: StakeEvent) -> str:
    """Return what a pair agrees upon, as a clause whose subject is the seat."""
    match event:
        case StakeProposed(other=other, unit=unit):
            return f"offers seat {other} a stake of {unit} a unit"
        case StakeAgreed(other=other, unit=unit):
            return f"agrees with seat {other} on a stake of {unit} a unit"
        case StakeEnded(other=other, reason=reason):
            return f"ends what there was with seat {other}{' by leaving' if reason == 'left' else ''}"
        case _:
            assert_never(event)


def _started(event: CapsaStarted) -> str:
    rules = event.settings
    pairs = "".join(f", {pair.unit} between seats {pair.a} and {pair.b}" for pair in rules.pair_units)
    seats = ", ".join(str(seat.seat) for seat in event.seats)
    return (
        f"begins hand {event.hand_no}: capsa {rules.scoring} at {rules.unit} a unit{pairs}, "
        f"seats {seats}, button {event.button}, deck {event.deck_root.hex()[:16]}"
    )


def _arranged(arrangement: Arrangement, cards: Cards, texts: CardTexts) -> str:
    positions = [position for row in arrangement.rows for position in row]
    if not positions or any(position not in cards for position in positions):
        return ""
    return ": " + _rows(arrangement, cards, texts)


def _rows(arrangement: Arrangement, cards: Cards, texts: CardTexts) -> str:
    return " | ".join(texts(row, cards) or "-" for row in arrangement.rows)


def _shown(shown: ShownSet, cards: Cards, texts: CardTexts) -> str:
    names = ", ".join(name.replace("_", " ") for name in (shown.front, shown.middle, shown.back))
    fouled = ", fouled" if shown.is_fouled else ""
    return f"seat {shown.seat} {_rows(shown.arrangement, cards, texts)} ({names}{fouled})"


def _standing(standing: Standing) -> str:
    declared = zip(_ROWS, (standing.front, standing.middle, standing.back), strict=True)
    royalties = ", ".join(f"{row} {_royalty(each)}" for row, each in declared if each.units)
    return f"seat {standing.seat} {standing.status}{f' with {royalties}' if royalties else ''}"


def _royalty(royalty: DeclaredRoyalty) -> str:
    return f"{royalty.category.replace('_', ' ')} for {royalty.units}"


def _settled(event: PairSettled) -> str:
    if not event.units:
        return f"settles seats {event.a} and {event.b}: nothing moves"
    winner, loser = (event.a, event.b) if event.units > 0 else (event.b, event.a)
    units = abs(event.units)
    return (
        f"settles seats {event.a} and {event.b}: {units} units, {abs(event.chips)} from seat {loser} to seat {winner}"
    )
