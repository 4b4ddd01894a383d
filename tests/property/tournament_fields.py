"""Tournaments to simulate: ladders, kinds and fields by a seed."""

import random  # noqa: TID251  (tests may use chance)

from diwan.core.tournament import spin
from diwan.core.tournament.settings import EntryTerms, Ladder, Level, Payout, TournamentConfig
from tests.property.tournament_sim import START_MS

STEPS = (10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)


def ladder(minutes=6, **changes):
    steps = (*STEPS, *[2000 * 2**power for power in range(8)])
    return Ladder(tuple(Level(step, 2 * step, duration_ms=minutes * 60_000) for step in steps), **changes)


def scheduled(size=9, **changes):
    entries = changes.pop("entries", EntryTerms(starts_at_ms=START_MS + 60_000))
    return TournamentConfig(
        **{
            "name": "scheduled",
            "kind": "scheduled",
            "players_min": 2,
            "players_max": 10_000,
            "table_size": size,
            "entry": 100,
            "fee": 10,
            "starting_stack": 2000,
            "ladder": ladder(),
            "entries": entries,
        }
        | changes
    )


def sit_and_go(players, size=9, **changes):
    return TournamentConfig(
        **{
            "name": "sit",
            "kind": "sit_and_go",
            "players_min": players,
            "players_max": players,
            "table_size": size,
            "entry": 100,
            "fee": 10,
            "starting_stack": 1500,
            "ladder": ladder(5),
        }
        | changes
    )


def a_spin(**changes):
    return TournamentConfig(
        **{
            "name": "spin",
            "kind": "spin",
            "players_min": 3,
            "players_max": 3,
            "table_size": 3,
            "entry": 100,
            "starting_stack": 500,
            "ladder": ladder(3),
            "multipliers": spin.MULTIPLIERS,
        }
        | changes
    )


def any_field(seed):
    """Return a config, how many enter before the start and how many later."""
    chance = random.Random(seed)
    kind = chance.choice(("sit_and_go", "spin", "scheduled", "scheduled", "late"))
    if kind == "spin":
        return a_spin(), 3, 0
    if kind == "sit_and_go":
        size = chance.choice((2, 6, 9))
        players = size * chance.choice((1, 2, 3))
        return sit_and_go(players, size), players + 2, 0
    players, size = chance.randint(2, 60), chance.choice((2, 3, 4, 6, 8, 9))
    if kind == "late":
        terms = EntryTerms(starts_at_ms=START_MS + 60_000, late_levels=3, re_entries=1)
        return scheduled(size, entries=terms), players, chance.randint(0, 20)
    return scheduled(size, payout=Payout(guarantee=chance.choice((0, 10_000)))), players, 0
