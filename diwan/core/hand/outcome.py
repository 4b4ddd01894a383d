"""``outcome/v1``: the canonical bytes of how a hand ended, and their digest, which every replay checks (DESIGN 3).

Every field stands behind its length in 4 bytes (big-endian). Texts are UTF-8; an integer takes 8 bytes (big-endian, two's
complement), a card one byte (0..51); the items of a list run together in one field:

| field | what |
| --- | --- |
| label | ``outcome/v1`` |
| result | ``uncontested``, ``showdown`` or ``void`` |
| button | integer |
| seats, stacks, payoffs | three lists of integers, parallel, in the order of the seats dealt in |
| board | its cards as they came |
| pots | integers, for each pot from the main pot on: amount, number of eligible seats, these seats, number of winners, for each winner seat and amount |
| shown | bytes, for each seat that showed, in the order of seats: seat, number of cards, cards in the order of their positions |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from struct import pack

from diwan.core.cards import Card
from diwan.core.hand.events import Chips, HandResult, Position
from diwan.core.hand.state import LiveHand
from diwan.core.hashing import prefixed

LABEL = "outcome/v1"


def payoffs_of(state: LiveHand) -> tuple[Chips, ...]:
    """Return each place's net result: its chips now less its chips before the hand."""
    return tuple([after - before for after, before in zip(state.stacks, state.deal.stacks, strict=True)])


def outcome_bytes(state: LiveHand, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return outcome/v1 of a hand whose pots are paid; reads the cards of the board and those shown, no others."""
    pots: list[int] = []
    for pot in state.pots:
        pots += (pot.amount, len(pot.eligible), *pot.eligible, len(pot.shares))
        for share in pot.shares:
            pots += (share.seat, share.amount)
    shown = bytearray()
    holdings = {event.seat: event.positions for event in state.shown}
    for seat in sorted(holdings):
        hand = [cards[position] for position in holdings[seat]]
        shown += bytes((seat, len(hand), *hand))
    return prefixed(
        LABEL,
        result,
        state.deal.started.button,
        _integers(state.deal.seats),
        _integers(state.stacks),
        _integers(payoffs_of(state)),
        bytes([cards[position] for position in state.board]),
        _integers(pots),
        bytes(shown),
    )


def outcome_digest(state: LiveHand, result: HandResult, cards: Mapping[Position, Card]) -> bytes:
    """Return SHA-256 of `outcome_bytes`."""
    return sha256(outcome_bytes(state, result, cards)).digest()


def _integers(numbers: Sequence[int]) -> bytes:
    return pack(f">{len(numbers)}q", *numbers)
