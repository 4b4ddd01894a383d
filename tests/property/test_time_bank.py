"""Clocks add up: whatever is thought for how long, a decision has its clock and then its bank, and not a moment more."""

import random  # noqa: TID251  (tests may use chance)

from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.core.games.naiko.rules import targets
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AnswerAnchor, ExpireClock, UsePower
from diwan.core.hand.events import Acted, HandStarted, TimeBankBegan, TurnBegan, WindowOpened
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.table.banks import time_bank_of
from diwan.core.table.decide import decide
from diwan.core.table.inverse import command_of
from tests.property.random_hands import game_of
from tests.unit.table.play import Table

GAMES = (
    HandSettings(decision_seconds=2),
    HandSettings(game="omaha", limit="pot_limit", decision_seconds=1),
    HandSettings(game="naiko", naiko=NaikoSettings(gain_per_deal=3, response_seconds=1), decision_seconds=2),
    HandSettings(
        game="sarab", small_blind=0, decision_seconds=2, sarab=SarabSettings(forced_bets=(2,), no_fold_at_or_below=0)
    ),
)
LATE_MS = 60
"""The most that the end of a clock is noticed late."""


class Timed:
    """Plays hands; every decision takes some time, and the clock is noticed now and then late."""

    def __init__(self, seed):
        chance = self.chance = random.Random(seed)
        self.bank_ms, self.gain_ms = chance.choice((0, 1000, 3000)), chance.choice((0, 1000))
        self.table = Table(
            time_bank_seconds=self.bank_ms // 1000,
            time_bank_gain_seconds=self.gain_ms // 1000,
            sit_out_after=0,
            hand=chance.choice(GAMES),
        )
        for player in ("ann", "ben", "cid"):
            self.table.seat(player, amount=chance.randrange(40, 200))
        self.banks = {seat.seat: self.bank_ms for seat in self.table.state.seats}
        self.used = 0  # of the open decision, windows left out

    def take(self, command):
        before, decks = self.table.state, self.table.cards
        batch = self.table.when(command)
        again = command_of(batch[0], before)
        assert decide(before, again, decks) == batch, "the log alone leads to the same batch"
        for event in batch:
            self.look(event)

    def look(self, event):
        match event:
            case HandStarted():
                dealt = [seat.seat for seat in event.seats]
                self.banks |= {seat: min(self.bank_ms, self.banks[seat] + self.gain_ms) for seat in dealt}
                banks = tuple(self.banks[seat] for seat in dealt)
                assert event.time_banks_ms == (banks if any(banks) else ())
            case TimeBankBegan():
                assert event.bank_ms == self.banks[event.seat] > 0
                assert event.deadline_ms - event.began_at_ms == event.bank_ms - (self.used - self.decision_ms)
            case Acted():
                over = max(0, self.used - self.decision_ms)
                assert event.bank_spent_ms == min(over, self.banks[event.seat])
                if event.decided_by == "player":
                    assert self.used <= self.decision_ms + self.banks[event.seat]
                else:
                    assert self.used >= self.decision_ms + self.banks[event.seat]
                self.banks[event.seat] -= event.bank_spent_ms
                self.used = 0
            case TurnBegan() | WindowOpened():
                pass

    @property
    def decision_ms(self):
        return self.table.state.config.hand.decision_seconds * 1000

    def think(self, most):
        """Let time pass; the clock acts where it ends meanwhile. Returns whether the same answer is still asked."""
        left = self.chance.randrange(most)
        table = self.table
        while left:
            live = table.live
            to_clock = live.asked_until_ms - table.now
            if left <= to_clock:
                self.pass_by(left)
                return True
            late = self.chance.randrange(LATE_MS)
            self.pass_by(to_clock + late)
            left = max(0, left - to_clock - late)
            asked = live.asked_turn
            self.take(ExpireClock(table.asked, asked, table.state.version, table.now))
            if not table.state.is_running or table.live.asked_turn != asked:
                return False
        return True

    def pass_by(self, milliseconds):
        self.table.now += milliseconds
        if self.table.live.window is None:
            self.used += milliseconds

    def answer(self):
        table, chance = self.table, self.chance
        live, version, now = table.live, table.state.version, table.now
        if live.window is not None:
            self.take(AnswerAnchor(table.asked, chance.choice(("pass", "seal_shield")), live.asked_turn, version, now))
            return
        legal = legal_actions(game_of(live), live)
        powers = [power for power in legal.powers if power == "short_anchor"]
        if powers and chance.random() < 0.7:
            target = live.deal.seats[chance.choice(list(targets(live)))]
            self.take(UsePower(table.to_act, "short_anchor", target, None, live.turn, version, now))
            return
        kinds = [kind for kind, can in (("check", legal.check), ("call", legal.call)) if can]
        if legal.fold and (not kinds or chance.random() < 0.1):
            kinds = ["fold"]
        self.take(Act(table.to_act, chance.choice(kinds), 0, live.turn, version, now))

    def play(self):
        self.take_start()
        while self.table.state.is_running:
            if self.think(6000):
                self.answer()
        for seat in self.table.state.seats:
            assert time_bank_of(self.table.state.config, seat) == self.banks[seat.seat]

    def take_start(self):
        self.table.now += 5000
        for event in self.table.start():
            self.look(event)
        self.used = 0


@settings(deadline=None, max_examples=150)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_clocks_add_up(seed):
    """H8, CL-1, CL-2: decision clock, bank and response window, over hands of every game that has betting."""
    one = Timed(seed)
    for _ in range(4):
        if sum(1 for seat in one.table.state.seats if seat.stack) < 3:
            return
        one.play()
