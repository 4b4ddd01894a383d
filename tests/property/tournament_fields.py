"""Tournaments to simulate: ladders, kinds and fields by a seed."""

import random  # noqa: TID251  (tests may use chance)

from diwan.core.tournament import balancing, spin
from diwan.core.tournament.seating import room
from diwan.core.tournament.settings import EntryTerms, FloorRules, Ladder, Level, Payout, TournamentConfig
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
        return scheduled(size, entries=GENEROUS), players, chance.randint(0, 20)
    paid = chance.randint(2, min(players, 20))
    own = Payout(table="shares", shares=(100_000 - 2_000 * (paid - 1), *[2_000] * (paid - 1)))
    payout = chance.choice((Payout(), Payout(guarantee=10_000), own))
    # Some bubbles are long, and in some of them a slow table is waited for no longer.
    floor = FloorRules(hand_for_hand_within=chance.choice((2, 5)), late_table_ms=chance.choice((60_000, 180_000)))
    return scheduled(size, payout=payout, floor=floor, players_min=min(paid, players)), players, 0


GENEROUS = EntryTerms(
    starts_at_ms=START_MS + 60_000,
    late_levels=3,
    re_entries=1,
    rebuys=2,
    rebuy_price=50,
    rebuy_chips=1000,
    has_add_on=True,
    add_on_price=70,
    add_on_chips=3000,
)


class MoveWhoever:
    """A plain balancer to compare with: anybody of a longest table to any seat of a shortest, whenever two tables differ."""

    def __init__(self, monkeypatch, seed):
        chance = random.Random(seed)
        monkeypatch.setattr(balancing, "_pair", lambda state, most, least: self.pair(chance, state, most, least))
        monkeypatch.setattr(balancing, "_least_moved_then_next", lambda _candidate: chance.random())
        monkeypatch.setattr(balancing, "_opposite_move", lambda _state, _source, _target: None)
        monkeypatch.setattr(balancing, "gap", lambda _state: 1)

    @staticmethod
    def pair(chance, state, most, least):
        tables = [state.tables[number] for number in state.in_play]
        sources = [t.table_no for t in tables if t.size == most and len(t.leaving) < len(t.sitters)]
        targets = [t.table_no for t in tables if t.size == least and room(state, t) > 0]
        return (chance.choice(sources) if sources else None), (chance.choice(targets) if targets else None)


def moves_told(simulation):
    """Return how often players were moved: in all, alone to even out tables, the most of one player, as one line."""
    entrants = list(simulation.state.entrants.values())
    moves = sum(entrant.moves for entrant in entrants)
    alone = sum(entrant.balanced for entrant in entrants)
    twice = sum(entrant.balanced > 1 for entrant in entrants)
    return (
        f"{len(entrants)} players, {simulation.hands} hands, {sum(map(len, simulation.batches))} events: "
        f"{moves / len(entrants):.3f} moves a player, {alone} of them alone, {twice} players alone more than once, "
        f"the most of one {max(entrant.moves for entrant in entrants)}"
    )
