"""Extra units for strong rows (CS-40 to CS-49)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from diwan.core.cards import Card
from diwan.core.games.capsa.arrangement import CardRows
from diwan.core.games.capsa.rows import FULL_HOUSE, QUADS, ROYAL_FLUSH, STRAIGHT_FLUSH, TRIPS, row_value
from diwan.core.games.capsa.settings import CapsaSettings, RowRoyalties, Units

# Royalties of equal value: back before middle before front (CS-42).
_FRONT, _MIDDLE, _BACK = range(3)


class RowRoyalty(Struct, frozen=True):
    """What a row is worth; ``category`` is an index of `CATEGORIES`."""

    category: int
    units: Units


NO_ROYALTY: Final = RowRoyalty(0, 0)
NO_ROYALTIES: Final = (NO_ROYALTY, NO_ROYALTY, NO_ROYALTY)


def royalties_of(rows: CardRows, settings: CapsaSettings) -> tuple[RowRoyalty, RowRoyalty, RowRoyalty]:
    """Return the royalties of front, middle and back that a legal set declares (CS-41)."""
    table = settings.royalties
    front, middle, back = [
        row_royalty(row_value(row, settings.wheel)[0], paid)
        for row, paid in zip(rows, (table.front, table.middle, table.back), strict=True)
    ]
    if settings.broken_royalties:
        broken = max(
            [row_royalty(category, table.back) for category in _broken(rows)],
            key=lambda royalty: royalty.units,
            default=NO_ROYALTY,
        )
        if broken.units > back.units:
            back = broken
    if not settings.one_royalty_per_player:
        return front, middle, back
    royalties = [front, middle, back]
    best = max((_BACK, _MIDDLE, _FRONT), key=lambda row: royalties[row].units)
    kept = [royalty if row == best else NO_ROYALTY for row, royalty in enumerate(royalties)]
    return kept[_FRONT], kept[_MIDDLE], kept[_BACK]


def row_royalty(category: int, paid: RowRoyalties) -> RowRoyalty:
    """Return what a row of a category declares under a row of the table."""
    straight_flush = paid.straight_flush
    units = {
        TRIPS: paid.trips,
        FULL_HOUSE: paid.full_house,
        QUADS: paid.quads,
        STRAIGHT_FLUSH: straight_flush,
        # Without an entry of its own it is the highest straight flush (finer point 12).
        ROYAL_FLUSH: straight_flush if paid.royal_flush is None else paid.royal_flush,
    }.get(category)
    return RowRoyalty(category, units) if units else NO_ROYALTY


def _broken(rows: CardRows) -> Iterator[int]:
    """Categories of quads and straight flushes that were dealt but stand in no single row (CS-48).

    A run that shares cards with a straight flush which was set whole is no second one: six suited cards in a row are
    not broken because one end of them stands elsewhere.
    """
    cards = {card for row in rows for card in row}
    wholes = [set(row) for row in rows]
    for rank in range(13):
        four = set(range(rank * 4, rank * 4 + 4))
        if four <= cards and not any(four <= row for row in wholes):
            yield QUADS
    kept: set[Card] = set()
    for row in rows[_MIDDLE:]:
        if row_value(row, "low")[0] in {STRAIGHT_FLUSH, ROYAL_FLUSH}:
            kept |= set(row)
    for suit in range(4):
        for low in range(-1, 9):  # -1: the ace opens the wheel.
            run = {rank % 13 * 4 + suit for rank in range(low, low + 5)}
            if run <= cards - kept:
                yield ROYAL_FLUSH if low == 8 else STRAIGHT_FLUSH
