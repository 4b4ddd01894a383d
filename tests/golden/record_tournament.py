"""Record the golden hands of tournaments: ``python -m tests.golden.record_tournament`` (from the repository's root).

Each is an all-in that waits for the other tables (RP-8): one goes on by the tournament's order, one by the clock.
"""

from typing import get_args

from diwan.core.hand.events import HandEvent
from tests.golden.record import HERE, record
from tests.unit.table.directing import TournamentTable, timed

HAND_KINDS = get_args(HandEvent.__value__)


def held(*, is_by_clock: bool, **changes) -> tuple[int, dict[int, int], list]:
    """Return the version before, the cards and the events of a hand whose board is held."""
    table = TournamentTable(start="on_grant", **changes).filled(3, 500)
    table.grant(4)
    table.hold(180_000)
    before, batches = table.state.version + 1, len(table.batches)
    table.start()
    table.now += 1_500
    table.act("fold")
    for _ in range(2):
        table.now += 2_000
        table.when_all_in()
    table.now = table.live.held_until_ms if is_by_clock else table.now + 40_000
    table.release_runout(is_by_clock=is_by_clock)
    events = [each for batch in table.batches[batches:] for each in batch if isinstance(each, HAND_KINDS)]
    return before, dict(table.cards), events


HANDS = {
    "v2_tournament_held": (
        "all-in held for the other tables, released by the tournament's order; the big blind's ante",
        {"is_by_clock": False, "levels": timed(20, 40, ante=20, ante_kind="big_blind")},
    ),
    "v2_tournament_held_by_clock": (
        "all-in held for the other tables, released by the clock; Naiko, everybody's ante",
        {"is_by_clock": True, "levels": timed(20, 40, ante=5), "game": "naiko"},
    ),
}


def main() -> None:
    for name, (note, story) in HANDS.items():
        if not (HERE / "hands" / f"{name}.json").exists():
            record(name, note, *held(**story))


if __name__ == "__main__":
    main()
