"""Reads found hands, each through the reader's eyes, and hands them to a format."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from diwan.chassis.access import Role
from diwan.cli.find import CHIPS, found
from diwan.cli.replay import AUDITOR, PUBLIC, Gathered, TablesOf, Wanted, gather
from diwan.client import DiwanClient
from diwan.client.others import FoundHand
from diwan.core.cards import Card
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.history import Entry, hand_events, own_positions
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
    client: DiwanClient, tables_of: TablesOf, sought: dict[str, Any], limit: int, eyes: Eyes
) -> AsyncIterator[ReadHand]:
    """Iterate over hands that fit, newest first; raises `DiwanError` or `ReplayFailedError`."""
    async for line in found(client.audit, sought, limit):
        yield await read_hand(tables_of, line.hand_id, eyes, _about(line))


async def read_hand(tables_of: TablesOf, hand_id: str, eyes: Eyes, about: About | None = None) -> ReadHand:
    """Read one hand; raises `DiwanError` or `ReplayFailedError`."""
    gathered = await gather(Wanted(hand_id, PUBLIC), tables_of)
    seats = _seats(gathered)
    wanted = eyes.lens
    if eyes.lens == OWN:
        own = [seat for seat, player in seats.items() if player == eyes.player]
        wanted = str(own[0]) if own else PUBLIC
    if wanted != PUBLIC:
        gathered = await gather(Wanted(hand_id, wanted, eyes.reason, eyes.case_id), tables_of)
    opened = {reveal.position for reveal in gathered.extra}
    events = list(hand_events(gathered.entries))
    heroes = tuple(
        seat for seat in seats if (own_of := own_positions(events, seat)) and set(own_of) <= opened and wanted != PUBLIC
    )
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


def roles(token_of: Any, client: DiwanClient) -> TablesOf:
    """Return the table service as callers of any role and name, by the stack's own key."""
    return lambda role, subject: client.with_token(token_of(Role(role), subject)).tables
