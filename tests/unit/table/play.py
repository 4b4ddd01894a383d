"""A table for tests: commands go in, events come out and are kept batch by batch."""

from uuid import NAMESPACE_URL, UUID, uuid5

from diwan.core.decider import Rejected
from diwan.core.fairness import seed_commitment
from diwan.core.hand.commands import Act, AnswerAnchor, ExpireClock, UsePower
from diwan.core.hand.events import OpenedSeed
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import LiveHand
from diwan.core.table.commands import (
    CommitSecret,
    CommitSeeds,
    CreateTable,
    FundSeat,
    RequestSeat,
    SitIn,
    SitOut,
    StandUp,
    StartNextHand,
)
from diwan.core.table.config import TableConfig
from diwan.core.table.decide import advance, decide
from diwan.core.table.events import SeedCommitment
from diwan.core.table.evolve import evolve
from diwan.core.table.games import draw_for, plan_next_hand
from diwan.core.table.planning import Drawn

TABLE_ID = "c1d2e3f4-0001-4002-8003-a0b0c0d0e0f0"
ROOT = bytes(32)
SECRET = bytes(range(32))
MIXED = {position: (position * 19 + 7) % 52 for position in range(52)}


def config(**changes):
    if "capsa" in changes:
        return TableConfig(**{"name": "t", "seats": changes["capsa"].players} | changes)
    blinds = {key: changes.pop(key) for key in ("small_blind", "big_blind", "decision_seconds") if key in changes}
    return TableConfig(**{"name": "t", "hand": HandSettings(**blinds), "seats": 6} | changes)


def transfer_of(name):
    return str(uuid5(NAMESPACE_URL, name))


def hand_id_of(number):
    return str(uuid5(UUID(TABLE_ID), f"hand/{number}"))


def asking(player, transfer, now, *, seat=None, amount=100, post=False, is_bot=False):
    return RequestSeat(player, is_bot, seat, amount, transfer, post, now)


def coming_back(player, now, *, post=False):
    return SitIn(player, post, now)


class Table:
    """Given, when and then of one table; time passes only where a test says so."""

    def __init__(self, *, cards=None, host="", **changes):
        self.state = None
        self.batches = []
        self.secret = SECRET
        self.now = 1_000_000
        self.cards = MIXED if cards is None else cards
        self.when(CreateTable(TABLE_ID, config(**changes), "host", self.now, host))

    def when(self, command):
        """Decide, fold and return the batch."""
        events, after = advance(self.state, command, self.cards)
        for event in events:
            self.state = evolve(self.state, event)
        assert after == self.state, "the state that comes with a batch is that of folding it"
        self.batches.append(events)
        return events

    def refused(self, command):
        """Return the reason and the facts of a refusal; nothing may have changed."""
        before = self.state
        try:
            decide(self.state, command, self.cards)
        except Rejected as refusal:
            assert self.state == before
            return refusal.reason, refusal.facts
        raise AssertionError(f"{command} was not refused")

    def seat(self, player, *, seat=None, amount=100, post=False, is_bot=False):
        """Take a seat and get the chips."""
        transfer = transfer_of(f"{player}/{len(self.batches)}")
        self.when(asking(player, transfer, self.now, seat=seat, amount=amount, post=post, is_bot=is_bot))
        if self.state.seat_of(player).pending is not None:  # A match may cost nothing.
            self.when(FundSeat(transfer, self.now))
        return self.state.seat_of(player)

    def start(self, seeds=None):
        """Deal the next hand, with seeds by seat that are committed to first."""
        number = self.state.hand_no + 1
        if self.state.exchange is None:
            self.when(CommitSecret(bytes(32), self.now))
        hand_id = hand_id_of(number)
        opened = tuple(OpenedSeed(seat, seed) for seat, seed in sorted((seeds or {}).items()))
        if opened:
            commitments = tuple(SeedCommitment(o.seat, seed_commitment(hand_id, o.seat, o.seed)) for o in opened)
            self.when(CommitSeeds(number, commitments, self.now))
        drawn = Drawn()
        if (plan := plan_next_hand(self.state, self.now)) is not None:
            drawn = draw_for(plan, self.secret, hand_id)
        following = bytes([number % 256]) * 32
        return self.when(StartNextHand(hand_id, ROOT, opened, following, self.now, drawn.button, drawn.carousel))

    @property
    def live(self):
        assert isinstance(self.state.hand, LiveHand)
        return self.state.hand

    @property
    def to_act(self):
        """The seat whose turn it is, None if no hand runs."""
        return self.live.deal.seats[self.live.actor] if self.state.is_running else None

    @property
    def asked(self):
        """The seat that must answer: an Anchor's target within its window, else the one whose turn it is."""
        return self.live.deal.seats[self.live.asked]

    def act(self, kind, to=0):
        return self.when(Act(self.to_act, kind, to, self.live.turn, self.state.version, self.now))

    def use(self, power, *, target=None, discard=None):
        return self.when(UsePower(self.to_act, power, target, discard, self.live.turn, self.state.version, self.now))

    def answer(self, answer):
        return self.when(AnswerAnchor(self.asked, answer, self.live.asked_turn, self.state.version, self.now))

    def time_out(self):
        self.now = max(self.now, self.live.asked_until_ms)
        return self.when(ExpireClock(self.asked, self.live.asked_turn, self.state.version, self.now))

    def fold_out(self):
        """Fold until the hand is over."""
        while self.state.is_running:
            last = self.act("fold")
        return last

    def stand_up(self, player, cause="player"):
        return self.when(StandUp(player, cause, self.now))

    def sit_out(self, player):
        return self.when(SitOut(player, "player", self.now))

    def sit_in(self, player, *, post=False):
        return self.when(coming_back(player, self.now, post=post))


def kinds(events):
    return [type(event).__name__ for event in events]
