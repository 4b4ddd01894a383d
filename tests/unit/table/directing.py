"""A tournament's table for tests: orders go in as a tournament would give them."""

from dataclasses import dataclass, field

from diwan.core.hand.betting import price_of
from diwan.core.hand.commands import Act, AllIn, ReleaseRunout
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hand.settings import HandSettings
from diwan.core.table.commands import CloseTable
from diwan.core.table.decide import advance
from diwan.core.table.events import TableEvent
from diwan.core.table.tournament.commands import (
    AddChips,
    GrantHand,
    HoldRunouts,
    ReleaseEntrant,
    SeatEntrant,
    SetClock,
    SetStartMode,
)
from diwan.core.table.tournament.terms import BlindLevel, TournamentTerms
from tests.unit.table.play import Table

BEGINS = 1_000_000
"""When a test's table is opened, and its clock begins."""

MINUTE = 60_000


def timed(*blinds, minutes=5, ante=0, ante_kind="each", break_after=()):
    """Levels by the clock; ``break_after`` names levels, from 1, that a break of ten minutes follows."""
    return tuple(
        BlindLevel(
            small_blind=big // 2,
            big_blind=big,
            ante=ante,
            ante_kind=ante_kind,
            duration_ms=minutes * MINUTE,
            break_after_ms=10 * MINUTE if number in break_after else 0,
        )
        for number, big in enumerate(blinds, 1)
    )


def counted(*blinds, hands=3):
    """Levels by hands."""
    return tuple(BlindLevel(small_blind=big // 2, big_blind=big, hands=hands) for big in blinds)


def forced(*bets, deals=2):
    """Sarab's levels."""
    return tuple(BlindLevel(small_blind=0, big_blind=bet, hands=deals) for bet in bets)


class TournamentTable(Table):
    """Given, when and then of a tournament's table."""

    def __init__(self, *, levels=None, clock_base_ms=BEGINS, game="holdem", limit=None, sarab=None, **changes):
        told = {"tournament_id": "t-1", "table_no": 3, "first_button": None}
        told |= {key: changes.pop(key) for key in told if key in changes}
        terms = TournamentTerms(
            levels=timed(20, 40, 80) if levels is None else levels, clock_base_ms=clock_base_ms, **told
        )
        usual = limit or ("pot_limit" if game == "omaha" else "no_limit")
        hand = HandSettings(game=game, limit=usual, sarab=sarab)
        self.orders = 0
        super().__init__(**{"chips": "tournament", "tournament": terms, "hand": hand, "seats": 6} | changes)

    def order(self):
        """A fresh id of an order."""
        self.orders += 1
        return f"order-{self.orders}"

    def come(self, player, seat, stack=1_000, **more):
        return self.when(SeatEntrant(self.order(), seat, player, is_bot=False, stack=stack, now_ms=self.now, **more))

    def filled(self, players=3, stack=1_000):
        """Seat players p0, p1, ... at seats 0, 1, ..."""
        for number in range(players):
            self.come(f"p{number}", number, stack)
        return self

    def go(self, player, cause="moved"):
        return self.when(ReleaseEntrant(self.order(), player, cause, self.now))

    def add(self, player, amount):
        return self.when(AddChips(self.order(), player, amount, self.now))

    def clock(self, base_ms, stopped_at_ms=0):
        return self.when(SetClock(self.order(), base_ms, stopped_at_ms, self.now))

    def mode(self, mode):
        return self.when(SetStartMode(self.order(), mode, self.now))

    def grant(self, round_no):
        return self.when(GrantHand(self.order(), round_no, self.now))

    def hold(self, hold_ms):
        return self.when(HoldRunouts(self.order(), hold_ms, self.now))

    def last_release(self, *, is_by_clock=False):
        order = "" if is_by_clock else self.order()
        return ReleaseRunout(order, self.state.hand_no, self.state.version, self.now, is_by_clock)

    def release_runout(self, *, is_by_clock=False):
        return self.when(self.last_release(is_by_clock=is_by_clock))

    def when_all_in(self):
        """Let the seat to act put in everything."""
        return self.when(AllIn(self.to_act, self.live.turn, self.state.version, self.now))

    def close(self):
        return self.when(CloseTable("tournament", self.now))

    def refused_act(self, kind, to):
        return self.refused(Act(self.to_act, kind, to, self.live.turn, self.state.version, self.now))

    def loser_if_all_in(self):
        """Return the seat that loses when both of two go all in now; the deck is known to a test."""
        state = self.state
        for _ in range(2):
            live = state.hand
            seat = live.deal.seats[live.actor]
            _, state = advance(state, AllIn(seat, live.turn, state.version, self.now), self.cards)
        return next(number for number, stack in enumerate(state.hand.ended.stacks) if not stack)

    def call_down(self):
        """Check or call until the hand is over or its board is held."""
        last = ()
        while self.state.is_running and not self.live.held_until_ms:
            is_called = self.live.bets[self.live.actor] >= price_of(self.live)
            last = self.act("check" if is_called else "call")
        return last


@dataclass
class Told:
    """What the hands of a table's log said, in order."""

    started: list[HandStarted] = field(default_factory=list)
    ended: list[HandEnded] = field(default_factory=list)


def told(events: tuple[TableEvent, ...] | list[TableEvent]) -> Told:
    told = Told()
    for event in events:
        if isinstance(event, HandStarted):
            told.started.append(event)
        elif isinstance(event, HandEnded):
            told.ended.append(event)
    return told
