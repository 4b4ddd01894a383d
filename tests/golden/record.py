"""Record a golden hand: ``python -m tests.golden.record NAME SEED [RULES_VERSION [GAME]]`` (from the root of the repository).

A golden hand is what one version of the rules made of commands, with the cards that it revealed. It is never changed:
later programs must decide the same from it. Its hash is appended to ``hashes.txt``.
"""

import hashlib
import sys
from pathlib import Path

import msgspec

from diwan.core.hand.events import BoardDealt, CardsShown, HandEvent
from tests.property.naiko_hands import played_naiko
from tests.property.random_hands import Played

HERE = Path(__file__).parent
HASHES = HERE / "hashes.txt"


class Golden(msgspec.Struct, frozen=True):
    """A recorded hand: the version of its stream before it, its events, and the cards that they revealed."""

    note: str
    version: int
    cards: dict[str, int]
    events: list[HandEvent]


def record(name: str, note: str, version: int, cards: dict[int, int], events: list[HandEvent]) -> None:
    """Write a golden hand and its hash; refuses to change one."""
    path = HERE / "hands" / f"{name}.json"
    if path.exists():
        sys.exit(f"{path.name} stands already; golden hands are never changed")
    shown = {p for event in events if isinstance(event, BoardDealt | CardsShown) for p in event.positions}
    golden = Golden(note, version, {str(position): cards[position] for position in sorted(shown)}, events)
    raw = msgspec.json.format(msgspec.json.encode(golden), indent=1)
    path.write_bytes(raw)
    with HASHES.open("a", encoding="utf-8") as hashes:
        hashes.write(f"{hashlib.sha256(raw).hexdigest()}  {name}\n")


def main(name: str, seed: str, rules_version: str = "2", game: str = "holdem") -> None:
    if game == "naiko":
        played = played_naiko(int(seed), version=int(rules_version))
    else:
        played = Played(int(seed), version=int(rules_version), game=game)
    note = f"random hand of {game}, seed {seed}, rules version {rules_version}"
    record(name, note, played.start.version, played.cards, played.events)


if __name__ == "__main__":
    main(*sys.argv[1:])
