"""What one finished hand costs a tournament of 500 tables, beside one of a single table: it must cost its table, not the field.

In this process only: report in, events out, the next state, the orders of what was touched and when to look again. The
service's own cost (append, feed, couriers) is measured where it is.
"""

import heapq
import statistics
import time

from diwan.core.tournament import commands as c
from diwan.core.tournament import orders as o
from diwan.core.tournament.decide import advance
from diwan.core.tournament.events import SeatResult
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.settings import EntryTerms
from diwan.core.tournament.timing import next_due_ms
from tests.property.tournament_fields import scheduled, sit_and_go
from tests.property.tournament_sim import START_MS, Simulation

ROUNDS = 9
HANDS = 400
BAR_US = 400.0
BAR_RATIO = 4.0


def begun_simulation(config, players):
    """Return a simulated tournament at which everybody has just sat down."""
    simulation = Simulation(config, players, 1, again=0, chips_every=10**9)
    simulation.create()
    while simulation.state.phase != "playing":
        simulation.now, _, act = heapq.heappop(simulation.heap)
        act()
    return simulation


def begun(config, players):
    """Return a tournament at which everybody has just sat down."""
    return begun_simulation(config, players).state


def hand_of(state, table, *, busts):
    """Return the report of a table's next hand, in which chips move and perhaps somebody goes out."""
    seats = table.sitters
    after = [sitter.stack for sitter in seats]
    lost = after[0] if busts else min(20, after[0] - 1)
    after[0] -= lost
    after[1] += lost
    results = tuple(
        SeatResult(sitter.seat, sitter.player, sitter.stack, stack) for sitter, stack in zip(seats, after, strict=True)
    )
    now = state.clock.base_ms + 1000
    spots = (seats[0].seat, seats[1].seat, seats[-1].seat)
    return c.ReportHand(
        *(table.table_no, table.version + 1, table.hand_no + 1, False, *spots, results, now - 30_000, now, now)
    )


def microseconds_a_hand(state, *, busts=False):
    """Return the processor time of a finished hand, from report to orders."""
    chance = c.Chance(bytes(32), bytes(32))
    tables = [state.tables[number] for number in state.in_play]
    reports = [hand_of(state, tables[index % len(tables)], busts=busts) for index in range(HANDS)]
    began = time.process_time()
    for report in reports:
        events, after = advance(state, report, chance)
        for number in o.touched_tables(after, events):
            list(o.table_orders(after, after.tables[number]))
        next_due_ms(after)
    return (time.process_time() - began) / HANDS * 1e6


def main() -> None:
    """Print the cost of a hand with 1 and with 500 tables, of one with a bust, and of folding a hand again."""
    one = begun(sit_and_go(9), 9)
    many = begun(scheduled(9, entries=EntryTerms(starts_at_ms=START_MS + 60_000)), 4500)
    rounds = [
        (microseconds_a_hand(one), microseconds_a_hand(many), microseconds_a_hand(many, busts=True))
        for _ in range(ROUNDS)
    ]
    single, field, bust = (statistics.median(each) for each in zip(*rounds, strict=True))
    report = hand_of(many, many.tables[many.in_play[0]], busts=False)
    events, _ = advance(many, report, None)
    began = time.process_time()
    for _ in range(HANDS):
        state = many
        for event in events:
            state = evolve(state, event)
    fold = (time.process_time() - began) / HANDS * 1e6
    print(f"tables in play: {len(one.in_play)} and {len(many.in_play)}, players {one.left} and {many.left}")
    print(f"a finished hand, report to orders: {single:.0f} us at one table, {field:.0f} us at {len(many.in_play)}")
    print(f"one in which a player goes out: {bust:.0f} us; folding a hand from the log: {fold:.0f} us")
    assert field < BAR_US, f"a hand costs {field:.0f} us"
    assert field < BAR_RATIO * single, f"a hand of a field costs {field / single:.1f} times one of a single table"
