"""Record a golden Capsa hand: ``python -m tests.golden.record_capsa NAME SEED`` (from the root of the repository).

A golden hand is what one version of the rules made of commands, with the cards that were dealt: a Capsa hand is judged
by its hidden cards too. It is never changed: later programs must decide the same. Its hash goes to ``hashes_capsa.txt``.
"""

import hashlib
import json
import sys
from pathlib import Path

import msgspec

from diwan.core.games.capsa.events import CapsaEvent
from diwan.scenarios.capsa import CapsaTable
from tests.unit.capsa.scenarios import scenario

HERE = Path(__file__).parent
HASHES = HERE / "hashes_capsa.txt"


class Golden(msgspec.Struct, frozen=True):
    """A recorded hand: the version of its stream before it, its cards by position, and its events."""

    note: str
    version: int
    cards: dict[str, int]
    events: list[CapsaEvent]


def record(name: str, note: str, cards: dict[int, int], events: list[CapsaEvent]) -> None:
    """Write a golden hand and its hash; refuses to change one."""
    path = HERE / "capsa" / f"{name}.json"
    if path.exists():
        sys.exit(f"{path.name} stands already; golden hands are never changed")
    golden = Golden(note, 0, {str(position): card for position, card in sorted(cards.items())}, events)
    raw = msgspec.json.format(msgspec.json.encode(golden), indent=1)
    path.write_bytes(raw)
    with HASHES.open("a", encoding="utf-8") as hashes:
        hashes.write(f"{hashlib.sha256(raw).hexdigest()}  {name}\n")


def main(name: str, source: str) -> None:
    """Record a random hand by its seed, or a scenario by ``FILE:ID``."""
    if source.isdigit():
        case, note = scenario(int(source)), f"random hand of seed {source}"
    else:
        file, _, wanted = source.partition(":")
        lines = Path(file).read_text(encoding="utf-8").splitlines()
        case = next(each for each in map(json.loads, lines) if each["id"] == wanted)
        note = case["note"]
    played = CapsaTable(case).deal(case)
    for step in case["steps"]:
        if "error" not in step:
            played.do_step(step)
    dealt = 13 * len(played.live.deal.seats)
    record(name, note, {position: played.cards[position] for position in range(dealt)}, played.events)


if __name__ == "__main__":
    main(*sys.argv[1:])
