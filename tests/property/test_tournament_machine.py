"""A tournament asked for anything at any time: its laws hold after every command (DESIGN 3, TR-1 to TR-4, L12).

Tables and the wallet answer when chance lets them, in any order, so every state between two steps is met.
"""

import random  # noqa: TID251  (tests may use chance)

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from diwan.core.decider import Rejected
from diwan.core.tournament import commands as c
from diwan.core.tournament import orders as o
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.seeds import entry_seed_commitment
from diwan.core.tournament.settings import BotTerms, EntryTerms, FloorRules, Payout
from diwan.core.tournament.timing import next_due_ms
from tests.property.tournament_fields import a_spin, scheduled, sit_and_go
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID, check_chips, check_places, seed_of
from tests.unit.tournament.floor import Floor

TERMS = EntryTerms(
    starts_at_ms=START_MS + 60_000,
    late_levels=2,
    re_entries=2,
    rebuys=2,
    rebuy_price=50,
    rebuy_chips=1000,
    has_add_on=True,
    add_on_price=70,
    add_on_chips=3000,
)
PAYS_MANY = Payout(table="shares", shares=(40_000, 30_000, 20_000, 10_000))
CONFIGS = {
    "scheduled": lambda: scheduled(size=3, entries=EntryTerms(starts_at_ms=START_MS + 60_000)),
    "late": lambda: scheduled(size=3, entries=TERMS, payout=Payout(guarantee=2000)),
    "bubble": lambda: scheduled(
        size=3,
        players_min=4,
        entries=EntryTerms(starts_at_ms=START_MS + 60_000),
        payout=PAYS_MANY,
        floor=FloorRules(hand_for_hand_within=4, redraw_entries=6),
    ),
    "sit": lambda: sit_and_go(6, size=3, bots=BotTerms(up_to=4, after_ms=1000)),
    "spin": lambda: a_spin(bots=BotTerms(up_to=2, after_ms=1000)),
}


class TournamentMachine(RuleBasedStateMachine):
    @initialize(
        kind=st.sampled_from(sorted(CONFIGS)),
        seed=st.integers(0, 2**32),
        players=st.integers(2, 20),
        is_started=st.booleans(),
    )
    def announce(self, kind, seed, players, is_started):
        self.chance = random.Random(seed)
        self.floor = Floor(CONFIGS[kind](), play=False)
        self.count = 0
        for _ in range(players):
            self.enter(is_bot=False)
        self.floor.obey()
        if is_started and self.floor.config.entries.starts_at_ms:
            self.floor.tick(self.floor.config.entries.starts_at_ms)

    def ask(self, command):
        try:
            return self.floor.do(command)
        except Rejected as refusal:
            if refusal.reason in {"CHIPS_DIFFER", "OUT_OF_ORDER", "UNEXPECTED"}:
                raise
            return ()

    def some_player(self):
        players = sorted(self.floor.state.entrants.keys())
        return self.chance.choice(players) if players else "nobody"

    @rule(is_bot=st.booleans())
    def enter(self, is_bot):
        if self.chance.random() < 0.3:
            player = self.some_player()
        else:
            self.count += 1
            player = f"bot:{self.count}" if is_bot else f"p{self.count}"
        commitment = (
            entry_seed_commitment(TOURNAMENT_ID, player, seed_of(player)) if self.chance.random() < 0.5 else b""
        )
        self.ask(c.Enter(player, is_bot, self.floor.now, commitment))

    @precondition(lambda self: self.floor.state.phase == "registering")
    @rule()
    def withdraw(self):
        self.ask(c.Withdraw(self.some_player(), self.floor.now))

    @precondition(lambda self: self.floor.state.seeds_until_ms)
    @rule()
    def open_a_seed(self):
        player = self.some_player()
        self.ask(c.OpenSeed(player, seed_of(player), self.floor.now))

    @precondition(lambda self: self.floor.state.is_open and self.floor.state.phase == "playing")
    @rule(kind=st.sampled_from(["rebuy", "add_on"]))
    def buy(self, kind):
        for player in sorted(self.floor.state.entrants.keys())[:3]:
            self.ask(c.BuyExtra(player, kind, self.floor.now))

    @rule()
    def pass_time(self):
        due = next_due_ms(self.floor.state)
        self.floor.now = max(self.floor.now, due or 0) if self.chance.random() < 0.7 else self.floor.now + 1000
        self.ask(c.Tick(self.floor.now))

    @rule(count=st.integers(1, 12))
    def answer_some(self, count):
        """Let some orders be done, in any order; the wallet refuses now and then what it may refuse for good."""
        for _ in range(count):
            orders = [order for order in o.pending_orders(self.floor.state) if self.floor.can(order)]
            if not orders:
                return
            order = self.chance.choice(orders)
            is_money = isinstance(order, o.Pay) and order.payment.key != "guarantee/reserved"
            if is_money and self.chance.random() < 0.15:
                self.floor.do(
                    c.ReportPayment(
                        order.payment.key, order.attempt_no, is_refused=True, reason="X", now_ms=self.floor.now
                    )
                )
            else:
                self.floor.done(order)

    @rule()
    def answer_all(self):
        self.floor.obey()

    def may_deal(self, table):
        is_granted = table.round_done < table.round_no and table.clock_no == self.floor.state.clock.clock_no
        is_free = table.mode == "automatic" and not self.floor.state.clock.paused_at_ms
        held = table.held_hand_no and not table.is_run_out
        return len(table.sitters) > 1 and table.clock_no and (is_granted or is_free) and not held

    @precondition(lambda self: self.floor.state.phase == "playing")
    @rule(hands=st.integers(1, 12))
    def play_hands(self, hands):
        for _ in range(hands):
            self.play_a_hand(self.chance.choice((0, 0, 0, 1, 1, 2)))
            if self.chance.random() < 0.5:
                self.answer_some(self.chance.choice((2, 6, 30)))

    def play_a_hand(self, busts):
        tables = [
            table for table in self.floor.state.tables.values() if table.status != "gone" and self.may_deal(table)
        ]
        if not tables:
            return
        table = self.chance.choice(sorted(tables, key=lambda each: each.table_no))
        players = [sitter.player for sitter in table.sitters]
        out = self.chance.sample(players, min(busts, len(players) - 1))
        self.floor.hand(table.table_no, out=out, is_void=not out and self.chance.random() < 0.2, obey=False)

    @precondition(lambda self: self.floor.state.hand_for_hand is not None)
    @rule()
    def hold_a_runout(self):
        for table in self.floor.state.tables.values():
            if table.status == "open" and table.round_done < table.round_no and not table.held_hand_no:
                version = self.floor.version(table.table_no)
                until = self.floor.now + 180_000
                self.ask(c.ReportRunoutHeld(table.table_no, version, table.hand_no + 1, until, self.floor.now))
                return

    @precondition(lambda self: self.floor.state.phase == "playing")
    @rule()
    def lose_a_table(self):
        if self.chance.random() < 0.1 and self.floor.state.in_play:
            number = self.chance.choice(self.floor.state.in_play)
            if self.floor.versions.get(number):
                self.ask(c.ReportTableGone(number, self.floor.version(number), self.floor.now))

    @rule(what=st.sampled_from([c.Pause, c.Resume]))
    def pause_or_resume(self, what):
        self.ask(what("op", "because", self.floor.now))

    @rule()
    def remove(self):
        if self.chance.random() < 0.3:
            self.ask(c.Remove(self.some_player(), "op", "because", self.floor.now))

    @rule()
    def call_off(self):
        if self.chance.random() < 0.02:
            self.ask(c.Cancel("op", "because", self.floor.now))

    @invariant()
    def chips_and_counts_add_up(self):
        if not hasattr(self, "floor"):
            return
        state = self.floor.state
        check_chips(state)
        standings = [entrant.standing for entrant in state.entrants.values()]
        if state.phase == "playing":
            assert state.left == standings.count("playing")
        elif state.phase in ("announced", "registering", "seating"):
            assert state.left == standings.count("playing") + standings.count("registered")

    def teardown(self):
        """Whatever has happened, it comes to an end that is whole, and the log gives the state."""
        if not hasattr(self, "floor"):
            return
        floor = self.floor
        self.play_out()
        del self.floor  # Hypothesis keeps the machines.
        state = None
        for event in floor.events:
            state = evolve(state, event)
        assert state == floor.state
        assert state.is_over
        into = sum(payment.amount for payment in floor.paid if payment.taker == "pool")
        out = sum(payment.amount for payment in floor.paid if payment.giver == "pool")
        assert into == out
        if state.cancelled is None:
            check_places(state)
            prizes = sum(payment.amount for payment in floor.paid if payment.code == "prize")
            assert prizes == sum(state.prizes)

    def play_out(self):
        floor = self.floor
        for _ in range(2000):
            floor.obey()
            if floor.state.is_over:
                return
            if floor.state.is_paused and floor.state.phase == "playing":
                floor.do(c.Resume("op", "on", floor.now))
            elif floor.state.phase == "playing":
                before = len(floor.batches)
                self.play_a_hand(1)
                if len(floor.batches) == before:
                    self.wait()
            elif floor.state.phase in ("announced", "registering") and not floor.state.seeds_until_ms:
                self.fill_or_call_off()
            else:
                self.wait()
        raise AssertionError("it never ends")

    def wait(self):
        due = next_due_ms(self.floor.state)
        assert due is not None, f"nothing will ever happen: {list(o.pending_orders(self.floor.state))}"
        self.floor.now = max(self.floor.now, due)
        self.floor.do(c.Tick(self.floor.now))

    def fill_or_call_off(self):
        if self.floor.config.kind == "scheduled":
            self.wait()
        else:
            self.floor.do(c.Cancel("op", "nobody came", self.floor.now))


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def test_any_sequence_of_requests_and_reports_comes_to_a_whole_end():
    run_state_machine_as_test(
        TournamentMachine,
        settings=settings(max_examples=100, stateful_step_count=80, deadline=None, suppress_health_check=SLOW),
    )


@pytest.mark.soak
def test_very_many_sequences_of_requests_and_reports_come_to_a_whole_end():
    run_state_machine_as_test(
        TournamentMachine,
        settings=settings(max_examples=3000, stateful_step_count=100, deadline=None, suppress_health_check=SLOW),
    )
