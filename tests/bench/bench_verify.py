"""Bundles verified offline on one core: a file a hand, and many hands in one file, of all five games.

Time is the processor's, in one thread. Beside it the deciding again alone (no file, no register, no wallet), and the
independent script of docs/auditing on the same files. Run: ``./run bench verify``.
"""

import importlib.util
import statistics
import time
from pathlib import Path

from diwan.verifier import verify_hand
from tests.unit.verifier.games import GAMES, played_game, stream_of
from tests.unit.verifier.registers import WITNESSES, House, log_key, verified

HANDS = 40
ROUNDS = 5
SCRIPT = Path(__file__).parents[2] / "docs" / "auditing" / "independent_check.py"


def seconds(work) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def rates(game: str, script) -> dict[str, list[float]]:
    """Hands a second by kind of work, a round each; the contestants take turns."""
    table = played_game(game, 77, HANDS)
    house = House(table, *(played_game("holdem", n, 8, stream_of(n)) for n in range(1, 9)))
    files = {lens: [house.bundle(hand, lens=lens) for hand in table.hand_ids] for lens in ("public", "auditor")}
    one = house.bundle(*table.hand_ids, lens="auditor", about="table", subject=str(table.stream))
    logs = [log_key(feed_id).verifier.text for feed_id in (1, 2)]
    keys = [key.verifier.text for key in WITNESSES.values()]

    def files_of(lens):
        for lines in files[lens]:
            if verified(lines).verdict == "not_verified":
                raise RuntimeError("an honest hand is called false")

    def whole():
        if not verified(one).is_verified:
            raise RuntimeError("an honest table is not verified")

    def decided():
        for hand in table.hand_ids:
            if not verify_hand(parts[hand], hand).is_verified:
                raise RuntimeError("an honest hand is not verified")

    def independently():
        for lines in files["auditor"]:
            script.check(lines, logs, keys, 2)

    # As a file has them: the hand and what was committed to before it.
    parts = {}
    for hand in table.hand_ids:
        record = house.hand_record(table, hand, "public", None)
        parts[hand] = table.events[record.needs_version - 1 : record.last_version]
    works = {
        "a file a hand, public": lambda: files_of("public"),
        "a file a hand, auditor": lambda: files_of("auditor"),
        "one file, auditor": whole,
        "decided again alone": decided,
        "the independent script": independently,
    }
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            found[name].append(len(table.hand_ids) / seconds(work))
    found["bytes a hand, public"] = [sum(map(len, lines)) for lines in files["public"]]
    return found


def main() -> None:
    """Print medians with least and greatest."""
    spec = importlib.util.spec_from_file_location("independent_check", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for game in GAMES:
        print(game)
        for name, values in rates(game, script).items():
            unit = "bytes" if name.startswith("bytes") else "hands/s"
            print(f"  {name:26} {statistics.median(values):>8,.0f} {unit}  ({min(values):,.0f}-{max(values):,.0f})")


if __name__ == "__main__":
    main()
