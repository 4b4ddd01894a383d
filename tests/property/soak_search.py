"""Looking for what a viewer must not have: tokens in any spelling in what it was sent, cards in what that says."""

import base64

import numpy as np
from google.protobuf.message import Message

from diwan.core.fairness.chance import derive_key
from diwan.core.fairness.material import mix
from diwan.core.hashing import prefixed, uuid_bytes

CARD_FIELDS = {
    ("diwan.api.table.v1.SeatView", "shown_cards"),
    ("diwan.api.table.v1.HandView", "board"),
    ("diwan.api.table.v1.CapsaNaturalView", "cards"),
    ("diwan.api.table.v1.CapsaRows", "front"),
    ("diwan.api.table.v1.CapsaRows", "middle"),
    ("diwan.api.table.v1.CapsaRows", "back"),
    ("diwan.api.table.v1.StepSeat", "cards"),
    ("diwan.api.table.v1.HandStep", "board"),
    ("diwan.api.event.v1.Reveal", "card"),
}
"""Every field of the contract that holds a card; a test holds the list against the contract."""


def spellings(token):
    """A token raw, as hexadecimal in both cases, as Python writes bytes, and as the middle of its base64 at each offset."""
    yield token
    yield token.hex().encode()
    yield token.hex().upper().encode()
    yield repr(token)[2:-1].encode()
    for offset in range(3):
        yield base64.b64encode(bytes(offset) + token)[4:-4]


class Tokens:
    """Byte strings that are looked for all at once: by their first two bytes, then each place that has those."""

    def __init__(self, tokens):
        self._found_as = {}
        self._begins = np.zeros(1 << 16, dtype=bool)
        for name, token in tokens.items():
            for spelling in spellings(token):
                self._found_as.setdefault(spelling[:8], []).append((spelling, name))
                self._begins[spelling[0] << 8 | spelling[1]] = True

    def found_in(self, haystack):
        """Return the names of the tokens that stand anywhere in some bytes."""
        if len(haystack) < 8:
            return set()
        raw = np.frombuffer(haystack, dtype=np.uint8).astype(np.uint16)
        places = np.flatnonzero(self._begins[raw[:-1] << 8 | raw[1:]])
        found = set()
        for place in places.tolist():
            for spelling, name in self._found_as.get(haystack[place : place + 8], ()):
                if haystack.startswith(spelling, place):
                    found.add(name)
        return found


def tokens_of(hand_id, secret, seeds, deck):
    """What a hand's cards can be told by: salts by position, the secret and the keys that come of it."""
    hand, mixed = uuid_bytes(hand_id), mix(seeds)
    keys = {label: derive_key(secret, prefixed(label, hand, mixed)) for label in ("deck/v1", "salt/v1")}
    return {position: deck.reveal(position).salt for position in range(52)} | {"secret": bytes(secret)} | keys


def cards_in(message: Message):
    """Yield every card that a message tells, wherever it stands in it."""
    for field, value in message.ListFields():
        holds_cards = (message.DESCRIPTOR.full_name, field.name) in CARD_FIELDS
        values = value if field.is_repeated else [value]
        for each in values:
            if isinstance(each, Message):
                yield from cards_in(each)
            elif holds_cards:
                yield each
