"""Random tables: chips, versions, and every act decided again from the log alone (P3, P6, L10, H3, DESIGN 3)."""

import contextlib
import random  # noqa: TID251  (tests may use chance)

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.fairness import SEED_BYTES
from diwan.core.hand.events import BoardDealt, CardsShown, TurnBegan
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.table.commands import (
    ClaimTable,
    CloseTable,
    FundSeat,
    RecordRefusals,
    RefuseBuyIn,
    RequestTopUp,
)
from diwan.core.table.decide import decide
from diwan.core.table.events import CarriedPotReturned, RefusalCount, SeatFunded, SeatReleased
from diwan.core.table.evolve import evolve
from diwan.core.table.inverse import command_of
from tests.unit.table.play import Table, asking, transfer_of

CARRY = SarabSettings(forced_bets=(2,), void_antes="carry", no_fold_at_or_below=0)
GAMES = (
    HandSettings(game="sarab", small_blind=0, sarab=CARRY),
    HandSettings(),
    HandSettings(game="omaha", limit="pot_limit"),
    HandSettings(game="naiko", naiko=NaikoSettings()),
    HandSettings(game="naiko", naiko=NaikoSettings(gain_per_deal=3)),
    HandSettings(game="sarab", small_blind=0, sarab=SarabSettings(forced_bets=(2, 3, 7), no_fold_at_or_below=20)),
)
PLAYERS = ("ann", "ben", "cid", "dan", "eve", "fay", "gil")


class Cards(dict):
    """A deck that notes which positions were read."""

    def __init__(self, cards):
        super().__init__(cards)
        self.read = set()

    def __getitem__(self, position):
        self.read.add(position)
        return super().__getitem__(position)


class Story:
    """Plays a table at random; what is refused leaves no trace."""

    def __init__(self, seed, steps):
        self.chance = random.Random(seed)
        self.table = Table(
            seats=self.chance.choice((2, 3, 6, 9)),
            sit_out_after=2,
            hand=self.chance.choice(GAMES),
            time_bank_seconds=self.chance.choice((0, 3)),
            time_bank_gain_seconds=1,
        )
        self.decks = {}
        for _ in range(steps):
            self.table.now += self.chance.randrange(2000)
            self.step()

    def step(self):
        moves = [self.join, self.answer, self.leave, self.start, self.start, self.play, self.play, self.play, self.rare]
        try:
            self.chance.choice(moves)()
        except Rejected:
            return

    def join(self):
        player = self.chance.choice(PLAYERS)
        transfer = transfer_of(f"{player}/{len(self.table.batches)}")
        amount = self.chance.randrange(30, 260)
        if self.table.state.seat_of(player) is None:
            seat = self.chance.choice((None, 0, 1, 5))
            post = self.chance.random() < 0.5
            self.table.when(asking(player, transfer, self.table.now, seat=seat, amount=amount, post=post))
        else:
            self.table.when(RequestTopUp(player, amount, transfer, self.table.now))

    def answer(self):
        for seat in self.table.state.seats:
            if seat.pending is not None:
                answer = FundSeat if self.chance.random() < 0.8 else None
                transfer = seat.pending.transfer_id
                if answer is None:
                    self.table.when(RefuseBuyIn(transfer, "EXCEEDS_BALANCE", self.table.now))
                else:
                    self.table.when(FundSeat(transfer, self.table.now))

    def leave(self):
        player = self.chance.choice(PLAYERS)
        move = self.chance.choice((self.table.stand_up, self.table.sit_out, self.table.sit_in, self.table.sit_in))
        if move == self.table.stand_up and self.chance.random() < 0.5:
            return
        move(player)

    def start(self):
        cards = list(range(52))
        self.chance.shuffle(cards)
        if not self.table.state.is_running:
            self.table.cards = Cards(enumerate(cards))
            able = [seat.seat for seat in self.table.state.seats]
            seeds = {seat: self.chance.randbytes(SEED_BYTES) for seat in able if self.chance.random() < 0.3}
            try:
                self.table.start(seeds)
            except Rejected:
                self.table.start()
            self.decks[self.table.state.hand_no] = dict(self.table.cards)

    def play(self):
        for _ in range(self.chance.randrange(1, 12)):
            if not self.table.state.is_running:
                return
            try:
                self.act()
            except Rejected:
                continue

    def act(self):
        live = self.table.live
        if live.window is not None and self.chance.random() < 0.7:
            self.table.answer(self.chance.choice(("pass", "seal_shield")))
        elif live.naiko is not None and self.chance.random() < 0.5:
            power = self.chance.choice(("hidden_glance", "sleeve_trick", "short_anchor"))
            holding = live.holdings[live.actor]
            self.table.use(power, target=self.chance.choice(live.deal.seats), discard=self.chance.choice(holding))
        else:
            self.bet()

    def bet(self):
        kind = self.chance.choice(("fold", "check", "call", "call", "check", "bet", "raise", "clock"))
        if kind == "clock":
            self.table.time_out()
        else:
            self.table.act(kind, self.chance.randrange(1, 300))

    def rare(self):
        table, roll = self.table, self.chance.random()
        if roll < 0.02:
            table.when(CloseTable("host", table.now))
        elif roll < 0.5:
            table.when(ClaimTable(table.state.epoch + 1, "again", table.now))
        elif table.state.hand_no:
            counts = (RefusalCount(1, "NOT_YOUR_TURN", 3),)
            table.when(RecordRefusals(table.state.hand_no, counts, table.now))


stories = st.builds(Story, st.integers(0, 2**32), st.integers(20, 120))


@settings(max_examples=60, deadline=None)
@given(stories)
def test_chips_that_came_are_at_the_table_or_went_home(story):
    """P3, L10, A6: funded = at the seats + carried over + gone home, after every batch; no seat is ever below zero."""
    state, funded, released = None, 0, 0
    for batch in story.table.batches:
        for event in batch:
            state = evolve(state, event)
            if isinstance(event, SeatFunded):
                funded += event.amount
            if isinstance(event, SeatReleased):
                released += event.amount
            if isinstance(event, CarriedPotReturned):
                released += sum(share.amount for share in event.shares)
        assert funded == released + state.carried + sum(seat.stack for seat in state.seats)
        assert all(seat.stack >= 0 for seat in state.seats)


@settings(max_examples=60, deadline=None)
@given(stories)
def test_folding_the_log_gives_the_live_state_and_counts_every_event(story):
    """H1, H3; a turn's name is the version of the event that opened it."""
    state, version = None, 0
    for batch in story.table.batches:
        for event in batch:
            state, version = evolve(state, event), version + 1
            assert state.version == version
            if isinstance(event, TurnBegan):
                assert event.turn == version
    assert state == story.table.state


@settings(max_examples=60, deadline=None)
@given(stories)
def test_every_act_decided_again_gives_exactly_its_batch(story):
    """DESIGN 3: verification knows only cards that the log shows by then."""
    state, shown = None, {}
    for batch in story.table.batches:
        if type(batch[0]).__name__ == "HandStarted":
            shown = {}
        deck = story.decks.get(_hand_no(state, batch), {})
        for event in batch:
            if isinstance(event, BoardDealt | CardsShown):
                shown |= {position: deck[position] for position in event.positions}
        command = command_of(batch[0], state)
        assert command is not None
        assert decide(state, command, shown) == batch
        for event in batch:
            state = evolve(state, event)


def _hand_no(state, batch):
    started = getattr(batch[0], "hand_no", 0)
    return started if type(batch[0]).__name__ == "HandStarted" else (state.hand_no if state else 0)


@settings(max_examples=30, deadline=None)
@given(stories)
def test_a_changed_act_is_not_decided_again_to_the_same_batch(story):
    """The check above can fail: another amount or player is found at that act."""
    state = None
    for batch in story.table.batches:
        command = command_of(batch[0], state)
        for field in ("amount", "player"):
            if hasattr(command, field):
                other = replace(command, **{field: command.amount + 1 if field == "amount" else "somebody"})
                with contextlib.suppress(Rejected):
                    assert decide(state, other, story.table.cards) != batch
        for event in batch:
            state = evolve(state, event)
