"""Record the golden hands of poker as stored bytes, once: ``python -m tests.golden.stored`` (from the repository's root).

A file holds one body after the other, each behind its type, schema and length (16, 16 and 32 bits, the greatest first).
Existing files are never written over; hashes are appended to ``hashes_stored.txt``.
"""

import hashlib
import struct
from pathlib import Path

import msgspec
from msgspec.structs import replace

from diwan.core.cards import DECK
from diwan.core.fairness import commit_deck, verify_reveal
from diwan.core.hand.events import HandStarted
from diwan.core.hashing import hashed
from diwan.wire.events import NONCE_BYTES, decode, encode
from tests.golden.record import HERE, Golden

HASHES = HERE / "hashes_stored.txt"
HAND_ID = "3f0c7a55-1f0e-4e0d-9d67-0a4b1c2d3e4f"
_HEAD = struct.Struct(">HHI")


def golden_hand(name: str) -> Golden:
    """Return a golden hand as it was recorded in words."""
    return msgspec.json.decode((HERE / "hands" / f"{name}.json").read_bytes(), type=Golden)


def committed(golden: Golden):
    """Return a deck that has the hand's cards where they were shown, and the hand with that deck's root and an id."""
    known = {int(position): card for position, card in golden.cards.items()}
    others = iter(sorted(set(DECK) - set(known.values())))
    cards = tuple(known[at] if at in known else next(others) for at in range(len(DECK)))
    deck = commit_deck(HAND_ID, cards, tuple(hashed("golden/v1", at) for at in range(len(DECK))))
    events = [
        replace(event, hand_id=HAND_ID, deck_root=deck.root) if isinstance(event, HandStarted) else event
        for event in golden.events
    ]
    return deck, replace(golden, events=events)


def stored(golden: Golden) -> bytes:
    """Return a hand's events as bodies of a store."""
    deck, hand = committed(golden)
    out = bytearray()
    for at, event in enumerate(hand.events):
        body = encode(event, nonce=hashed("golden-nonce/v1", at)[:NONCE_BYTES], reveal=deck.reveal)
        out += _HEAD.pack(body.type_id, body.schema_v, len(body.body)) + body.body
    return bytes(out)


def read_back(raw: bytes):
    """Return the events and the cards of a file; every card is held against the deck's root."""
    events, cards, at = [], {}, 0
    while at < len(raw):
        type_id, schema_v, length = _HEAD.unpack_from(raw, at)
        at += _HEAD.size
        decoded = decode(type_id, schema_v, raw[at : at + length])
        at += length
        events.append(decoded.event)
        for reveal in decoded.reveals:
            assert verify_reveal(HAND_ID, events[0].deck_root, reveal)
            cards[str(reveal.position)] = reveal.card
    return events, cards


def path_of(name: str) -> Path:
    return HERE / "stored" / f"{name}.bin"


def main() -> None:
    for source in sorted((HERE / "hands").glob("*.json")):
        path = path_of(source.stem)
        if path.exists():
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(stored(golden_hand(source.stem)))
        with HASHES.open("a", encoding="utf-8") as hashes:
            hashes.write(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {source.stem}\n")


if __name__ == "__main__":
    main()
