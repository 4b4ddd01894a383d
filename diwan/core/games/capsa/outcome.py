"""``capsa-outcome/v1``: the canonical bytes of how a Capsa hand ended, and their digest, which every replay checks.

Layout as in ``outcome/v1`` (`diwan.core.hand.outcome`): every field stands behind its length in 4 bytes (big-endian),
an integer takes 8 bytes (big-endian, two's complement), a card one byte (0..51), a text UTF-8; a list is one field.

    "capsa-outcome/v1", result, button, seats, stacks, payoffs,
    number of standings, then for each: seat, status, royalty units of front, middle and back as one list,
    number of lines, then for each, in the order of the events: a, b, row units, overall, scoop, royalty, other,
        units and chips as one list,
    number of hands shown, then for each in seat order: seat, cards in the order of their positions
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from struct import pack

from diwan.core.cards import Card
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.hand.events import Chips, HandResult, Position, Seat
from diwan.core.hashing import prefixed

LABEL = "capsa-outcome/v1"


def payoffs_of(state: LiveCapsa) -> tuple[Chips, ...]:
    """Return each place's net result: its chips now less its chips before the hand."""
    return tuple([now - before for now, before in zip(state.stacks, state.deal.stacks, strict=True)])


def units_of(state: LiveCapsa) -> tuple[int, ...]:
    """Return each place's net units, the sum over its lines."""
    units = [0] * len(state.stacks)
    for line in state.lines:
        units[state.deal.places[line.a]] += line.units
        units[state.deal.places[line.b]] -= line.units
    return tuple(units)


def shown_positions(state: LiveCapsa) -> dict[Seat, tuple[Position, ...]]:
    """Return the positions that were turned up, by seat: naturals and the sets of the reveal."""
    shown = {play.natural.seat: play.natural.positions for play in state.plays if play.natural is not None}
    for each in state.shown:
        shown[each.seat] = tuple([position for row in each.arrangement.rows for position in row])
    return shown


def outcome_bytes(state: LiveCapsa, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return capsa-outcome/v1 of a settled hand; reads the cards that were shown, no others."""
    fields: list[bytes | int] = [
        result.encode(),
        state.deal.started.button,
        _integers(state.deal.seats),
        _integers(state.stacks),
        _integers(payoffs_of(state)),
        len(state.standings),
    ]
    for standing in state.standings:
        royalties = (standing.front.units, standing.middle.units, standing.back.units)
        fields += (standing.seat, standing.status.encode(), _integers(royalties))
    fields.append(len(state.lines))
    for line in state.lines:
        parts = (line.a, line.b, line.row_units, line.overall, line.scoop, line.royalty, line.other)
        fields.append(_integers((*parts, line.units, line.chips)))
    shown = shown_positions(state)
    fields.append(len(shown))
    for seat in sorted(shown):
        fields += (seat, bytes([cards[position] for position in sorted(shown[seat])]))
    return prefixed(LABEL, *fields)


def outcome_digest(state: LiveCapsa, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return SHA-256 of `outcome_bytes`."""
    return sha256(outcome_bytes(state, result, cards)).digest()


def _integers(values: Iterable[int]) -> bytes:
    numbers = tuple(values)
    return pack(f">{len(numbers)}q", *numbers)
