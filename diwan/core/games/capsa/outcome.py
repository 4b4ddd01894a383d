"""``capsa-outcome/v1``: the canonical bytes of how a Capsa hand ended, and their digest, which every replay checks.

Laid out as ``outcome/v1`` (`diwan.core.hand.outcome`): every field stands behind its length in 4 bytes (big-endian). Texts
are UTF-8; an integer takes 8 bytes (big-endian, two's complement), a card one byte (0..51); the items of a list run
together in one field:

| field | what |
| --- | --- |
| label | ``capsa-outcome/v1`` |
| result | ``uncontested``, ``showdown`` or ``void`` |
| button | integer |
| seats, stacks, payoffs | three lists of integers, parallel, in the order of the seats dealt in |
| statuses | one text, in the same order, with a comma between: ``set``, ``fouled``, ``surrendered``, ``natural``; empty in a void hand |
| royalties | integers, three a seat in the same order: units declared by front, middle, back; empty in a void hand |
| lines | integers, for each pair in the order of the events: a, b, row units, overall, scoop, royalty, other, units, chips |
| shown | bytes, for each seat that showed, in the order of seats: seat, number of cards, cards in the order of their positions |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from struct import pack

from diwan.core.cards import Card
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.hand.events import Chips, HandResult, Position, Seat
from diwan.core.hashing import prefixed

LABEL = "capsa-outcome/v1"


def payoffs_of(state: LiveCapsa) -> tuple[Chips, ...]:
    """Return each place's net result: its chips now less its chips before the hand."""
    return tuple([after - before for after, before in zip(state.stacks, state.deal.stacks, strict=True)])


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
    royalties: list[int] = []
    for standing in state.standings:
        royalties += (standing.front.units, standing.middle.units, standing.back.units)
    lines: list[int] = []
    for line in state.lines:
        lines += (line.a, line.b, line.row_units, line.overall, line.scoop, line.royalty, line.other)
        lines += (line.units, line.chips)
    shown = bytearray()
    holdings = shown_positions(state)
    for seat in sorted(holdings):
        hand = [cards[position] for position in sorted(holdings[seat])]
        shown += bytes((seat, len(hand), *hand))
    return prefixed(
        LABEL,
        result,
        state.deal.started.button,
        _integers(state.deal.seats),
        _integers(state.stacks),
        _integers(payoffs_of(state)),
        ",".join([standing.status for standing in state.standings]),
        _integers(royalties),
        _integers(lines),
        bytes(shown),
    )


def outcome_digest(state: LiveCapsa, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return SHA-256 of `outcome_bytes`."""
    return sha256(outcome_bytes(state, result, cards)).digest()


def _integers(numbers: Sequence[int]) -> bytes:
    return pack(f">{len(numbers)}q", *numbers)
