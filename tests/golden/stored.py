"""Record the golden hands as stored bytes, once: ``python -m tests.golden.stored`` (from the repository's root).

A file holds one body after the other, each behind its type, schema and length (16, 16 and 32 bits, the greatest first).
Existing files are never written over; hashes are appended to ``hashes_stored.txt`` and ``hashes_stored_capsa.txt``.
"""

import hashlib
import struct
from pathlib import Path

import msgspec
from msgspec.structs import replace

from diwan.core.cards import DECK
from diwan.core.fairness import commit_deck, verify_reveal
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandStarted
from diwan.core.hashing import hashed
from diwan.wire.events import NONCE_BYTES, decode, encode
from tests.golden.record import HERE, Golden
from tests.golden.record_capsa import Golden as GoldenCapsa

HASHES = HERE / "hashes_stored.txt"
CAPSA_HASHES = HERE / "hashes_stored_capsa.txt"
HAND_ID = "3f0c7a55-1f0e-4e0d-9d67-0a4b1c2d3e4f"
_HEAD = struct.Struct(">HHI")


def golden_hand(name: str) -> Golden:
    """Return a golden hand of poker as it was recorded in words."""
    return msgspec.json.decode((HERE / "hands" / f"{name}.json").read_bytes(), type=Golden)


def golden_capsa(name: str) -> GoldenCapsa:
    """Return a golden hand of Capsa as it was recorded in words."""
    return msgspec.json.decode((HERE / "capsa" / f"{name}.json").read_bytes(), type=GoldenCapsa)


def committed(golden: Golden | GoldenCapsa):
    """Return a deck that has the hand's cards where they were shown, and the hand with that deck's root and an id."""
    known = {int(position): card for position, card in golden.cards.items()}
    others = iter(sorted(set(DECK) - set(known.values())))
    cards = tuple(known[at] if at in known else next(others) for at in range(len(DECK)))
    deck = commit_deck(HAND_ID, cards, tuple(hashed("golden/v1", at) for at in range(len(DECK))))
    events = [
        replace(event, hand_id=HAND_ID, deck_root=deck.root) if isinstance(event, HandStarted | CapsaStarted) else event
        for event in golden.events
    ]
    return deck, replace(golden, events=events)


def stored(golden: Golden | GoldenCapsa) -> bytes:
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


def capsa_path_of(name: str) -> Path:
    return HERE / "stored_capsa" / f"{name}.bin"


def write(path: Path, raw: bytes, listed: Path) -> None:
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(raw)
    with listed.open("a", encoding="utf-8") as hashes:
        hashes.write(f"{hashlib.sha256(raw).hexdigest()}  {path.stem}\n")


def main() -> None:
    for source in sorted((HERE / "hands").glob("*.json")):
        write(path_of(source.stem), stored(golden_hand(source.stem)), HASHES)
    for source in sorted((HERE / "capsa").glob("*.json")):
        write(capsa_path_of(source.stem), stored(golden_capsa(source.stem)), CAPSA_HASHES)


if __name__ == "__main__":
    main()
