"""Reads found hands, each through the reader's eyes, and hands them to a format."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from diwan.cli.find import CHIPS, found
from diwan.cli.replay import AUDITOR, PUBLIC, Gathered, TablesOf, Wanted, gather
from diwan.client import DiwanClient, DiwanError
from diwan.client.others import FoundHand
from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.history import Entry, hand_events
from diwan.history.exports.record import About

OWN: Final = "own"
LENSES: Final = (PUBLIC, OWN, AUDITOR)


class Eyes(msgspec.Struct, frozen=True):
    """Through whose eyes: everybody's, one player's own, or an auditor's, whose every look is recorded with its reason."""

    lens: str = PUBLIC
    player: str = ""
    reason: str = ""
    case_id: str = ""


class ReadHand(msgspec.Struct, frozen=True):
    """A hand as the reader may see it; ``heroes`` are the seats whose cards were opened."""

    hand_id: str
    about: About
    gathered: Gathered
    heroes: tuple[int, ...]

    @property
    def entries(self) -> Sequence[Entry]:
        """The hand's events."""
        return self.gathered.entries

    @property
    def cards(self) -> dict[int, Card]:
        """Cards by position, as far as the reader may know them."""
        cards = {reveal.position: reveal.card for reveal in self.gathered.extra}
        return cards | {reveal.position: reveal.card for entry in self.entries for reveal in entry.reveals}

    @property
    def is_capsa(self) -> bool:
        """Whether it is a hand of Capsa, which knows no betting."""
        return isinstance(next(hand_events(self.entries), None), CapsaStarted)


async def read_hands(
    client: DiwanClient, tables_of: TablesOf, sought: dict[str, Any], limit: int, eyes: Eyes, left_out: Counter[str]
) -> AsyncIterator[ReadHand]:
    """Iterate over hands that fit, newest first; raises `DiwanError` or `ReplayFailedError`.

    Hands whose hidden cards nobody can open any more are counted in ``left_out``.
    """
    async for line in found(client.audit, sought, limit):
        try:
            yield await read_hand(tables_of, line.hand_id, eyes, _about(line))
        except DiwanError as error:
            if error.reason != "SECRET_DESTROYED":
                raise
            left_out["its hidden cards are destroyed; --as public writes what was shown"] += 1


async def read_hand(tables_of: TablesOf, hand_id: str, eyes: Eyes, about: About | None = None) -> ReadHand:
    """Read one hand; raises `DiwanError` or `ReplayFailedError`."""
    gathered = await gather(Wanted(hand_id, PUBLIC), tables_of)
    seats = _seats(gathered)
    heroes: tuple[int, ...] = ()
    if eyes.lens == AUDITOR:
        gathered = await gather(Wanted(hand_id, AUDITOR, eyes.reason, eyes.case_id), tables_of)
        heroes = tuple(seats)
    elif eyes.lens == OWN and (own := [seat for seat, player in seats.items() if player == eyes.player]):
        # The player's own token: an own look needs no reason.
        gathered = await gather(Wanted(hand_id, str(own[0])), tables_of)
        heroes = tuple(own)
    return ReadHand(hand_id, about or About(table_id=gathered.table_id), gathered, heroes)


def _seats(gathered: Gathered) -> dict[int, str]:
    started = next(
        (entry.event for entry in gathered.entries if isinstance(entry.event, HandStarted | CapsaStarted)), None
    )
    return {} if started is None else {seat.seat: seat.player for seat in started.seats}


def _about(line: FoundHand) -> About:
    return About(
        table_id=line.table_id,
        table_name=line.table_name,
        table_seats=line.table_seats,
        chips=CHIPS[line.chips],
    )
