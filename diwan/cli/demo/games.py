"""What was played of every game, a line each, counted from the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from diwan.cli.demo.evidence import Evidence
from diwan.core.games.capsa.events import (
    Answered,
    CapsaStarted,
    DraftSaved,
    NaturalShown,
    PairSettled,
    RoyaltiesDeclared,
    SetLocked,
)
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    CardGlanced,
    CardSwapped,
    HandEnded,
    HandStarted,
)
from diwan.core.log import LoggedEvent
from diwan.wire.events import decode

_NAMES: Final = {"holdem": "hold'em", "omaha": "Omaha", "naiko": "Naiko", "sarab": "Sarab", "capsa": "Capsa"}
_OF_CAPSA: Final = ("drafts", "naturals", "surrenders", "royalties", "pairs settled")
_POWERS: Final = (CardGlanced, CardSwapped, AnchorDeclared)


def game_lines(evidence: Evidence) -> Iterator[str]:
    """Yield for every game what was played of it, and how often what the game is about happened."""
    games: dict[str, Counter[str]] = {}
    for _, events in evidence.streams():
        _count(games, events)
    for game, counts in games.items():
        yield f"  {_NAMES.get(game, game):<8} {', '.join(_parts(counts))}"


def _parts(counts: Counter[str]) -> Iterator[str]:
    yield f"{counts['hands']} hands"
    for what in (
        "actions",
        "shown to the end",
        "powers used",
        "Anchors answered",
        "sarabs",
        "void",
        "pots carried",
        *_OF_CAPSA,
    ):
        if counts[what]:
            yield f"{counts[what]} {what}"


def _count(games: dict[str, Counter[str]], events: list[LoggedEvent]) -> None:
    counts: Counter[str] = Counter()
    for logged in events:
        if logged.body_hash:  # A look at hidden cards, which is for auditors.
            continue
        event = decode(logged.type_id, logged.schema_v, logged.body).event
        if isinstance(event, HandStarted):
            counts = games.setdefault(event.settings.game, Counter())
            counts["pots carried"] += event.carried > 0
        elif isinstance(event, HandEnded):
            counts["hands"] += 1
            counts["void"] += event.result == "void"
            counts["shown to the end"] += event.result == "showdown"
        elif isinstance(event, Acted):
            counts["actions"] += 1
            counts["sarabs"] += event.is_sarab
        elif isinstance(event, CapsaStarted):
            counts = games.setdefault(event.settings.game, Counter())
        elif isinstance(event, RoyaltiesDeclared):
            counts["royalties"] += sum(
                row.units > 0 for one in event.standings for row in (one.front, one.middle, one.back)
            )
        counts["actions"] += isinstance(event, SetLocked | Answered)
        counts["drafts"] += isinstance(event, DraftSaved)
        counts["naturals"] += isinstance(event, NaturalShown)
        counts["surrenders"] += isinstance(event, Answered) and event.answer == "surrender"
        counts["pairs settled"] += isinstance(event, PairSettled)
        counts["powers used"] += isinstance(event, _POWERS)
        counts["Anchors answered"] += isinstance(event, AnchorAnswered)
