"""``outcome/v1``: the canonical bytes of how a hand ended, and their digest, which every replay checks (DESIGN 3).

Layout: every field stands behind its length in 4 bytes (big-endian), an integer takes 8 bytes (big-endian, two's
complement), a card one byte (0..51), a text UTF-8. A list of integers or cards is one field, its items run together.

    "outcome/v1", result, button, seats, stacks, payoffs, board,
    number of pots, then for each pot, main pot first: amount, eligible seats, winners' seats, their amounts,
    number of seats shown, then for each in seat order: seat, cards in the order of their positions
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from struct import pack

from diwan.core.cards import Card
from diwan.core.hand.events import Chips, HandResult, Position
from diwan.core.hand.state import LiveHand
from diwan.core.hashing import prefixed

LABEL = "outcome/v1"


def payoffs_of(state: LiveHand) -> tuple[Chips, ...]:
    """Return each place's net result: its chips now less its chips before the hand."""
    return tuple([now - before for now, before in zip(state.stacks, state.deal.stacks, strict=True)])


def outcome_bytes(state: LiveHand, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return outcome/v1 of a hand whose pots are paid; reads the cards of the board and those shown, no others."""
    fields: list[bytes | int] = [
        result.encode(),
        state.deal.started.button,
        _integers(state.deal.seats),
        _integers(state.stacks),
        _integers(payoffs_of(state)),
        bytes([cards[position] for position in state.board]),
        len(state.pots),
    ]
    for pot in state.pots:
        fields += (
            pot.amount,
            _integers(pot.eligible),
            _integers([share.seat for share in pot.shares]),
            _integers([share.amount for share in pot.shares]),
        )
    shown = {event.seat: event.positions for event in state.shown}
    fields.append(len(shown))
    for seat in sorted(shown):
        fields += (seat, bytes([cards[position] for position in shown[seat]]))
    return prefixed(LABEL, *fields)


def outcome_digest(state: LiveHand, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return SHA-256 of `outcome_bytes`."""
    return sha256(outcome_bytes(state, result, cards)).digest()


def _integers(values: Iterable[int]) -> bytes:
    numbers = tuple(values)
    return pack(f">{len(numbers)}q", *numbers)
