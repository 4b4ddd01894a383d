"""A tournament for tests: tables and the wallet do at once what they are ordered, hands end as a test says."""

from hashlib import sha256

import pytest

from diwan.core.decider import Rejected
from diwan.core.fairness import secret_commitment
from diwan.core.tournament import commands as c
from diwan.core.tournament import orders as o
from diwan.core.tournament.balancing import clockwise
from diwan.core.tournament.decide import advance, decide
from diwan.core.tournament.events import SeatResult
from diwan.core.tournament.inverse import chance_of, command_of
from diwan.core.tournament.seeds import entry_seed_commitment
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID, check_chips


class Floor:
    """Given, when and then of one tournament. What is in ``refused`` the wallet refuses; ``deaf`` tables do nothing."""

    def __init__(self, config, players=0, *, play=True, refused=()):
        self.config = config
        self.now = START_MS
        self.state = None
        self.batches = []
        self.versions = {}
        self.modes = {}
        self.refused = set(refused)
        self.paid = []
        self.deaf = set()
        self.do(c.CreateTournament(TOURNAMENT_ID, config, self.commitment(1), "host", self.now))
        self.obey()
        for number in range(players):
            self.enter(f"p{number}")
        if play and players and config.entries.starts_at_ms:
            self.tick(config.entries.starts_at_ms)

    def secret(self, number):
        return sha256(number.to_bytes(8)).digest()

    def commitment(self, number):
        return secret_commitment(TOURNAMENT_ID, self.secret(number))

    def do(self, command):
        """Give a command, and hold the batch to its laws: decided again it is the same, chips are constant."""
        before = self.state
        number = 1 if before is None else before.draw_no
        chance = c.Chance(self.secret(number), self.commitment(number + 1))
        events, after = advance(before, command, chance)
        if events:
            self.batches.append(events)
            self.state = after
            check_chips(after)
            assert decide(before, command_of(events[0]), chance_of(events)) == events
        return events

    def refuse(self, command):
        with pytest.raises(Rejected) as refused:
            self.do(command)
        return refused.value.reason

    def tick(self, now=None):
        self.now = max(self.now, now or self.now)
        events = self.do(c.Tick(self.now))
        self.obey()
        return events

    def asks(self, player, *, is_bot=False, seed=None):
        commitment = b"" if seed is None else entry_seed_commitment(TOURNAMENT_ID, player, seed)
        return c.Enter(player, is_bot, self.now, commitment)

    def enter(self, player, *, is_bot=False, seed=None):
        self.do(self.asks(player, is_bot=is_bot, seed=seed))
        self.obey()

    @property
    def events(self):
        return [event for batch in self.batches for event in batch]

    def told(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    # What tables and the wallet do.

    def version(self, table_no):
        self.versions[table_no] = self.versions.get(table_no, 0) + 1
        return self.versions[table_no]

    def obey(self, *, but=()):
        """Let every order be done and reported, until nothing is pending but what is refused or goes to deaf tables."""
        for _ in range(10_000):
            orders = [order for order in o.pending_orders(self.state) if self.can(order) and type(order) not in but]
            if not orders or not sum([self.done(order) for order in orders]):
                return
        raise AssertionError("orders without end")

    def can(self, order):
        return not isinstance(order, o.GrantHand | o.ReleaseRunout) and getattr(order, "table_no", 0) not in self.deaf

    def done(self, order):
        if order not in list(o.pending_orders(self.state)):
            return False
        if isinstance(order, o.Pay):
            return self.pay(order)
        no, now = order.table_no, self.now
        match order:
            case o.OpenTable():
                self.do(c.ReportTableReady(no, self.version(no), now))
            case o.SeatEntrant():
                self.do(c.ReportSeated(no, self.version(no), order.move_id, order.player, order.seat, now))
            case o.ReleaseEntrant():
                stack = self.state.tables[no].sitter(order.player).stack
                self.do(c.ReportReleased(no, self.version(no), order.move_id, order.player, stack, 0, None, now))
            case o.SetStartMode():
                self.do(c.ReportStartMode(no, self.version(no), order.start_no, order.mode, 0, now))
            case o.SetClock():
                self.do(c.ReportClock(no, self.version(no), order.clock.clock_no, now))
            case o.AddChips():
                self.do(c.ReportChipsAdded(no, self.version(no), order.add_id, order.player, order.amount, now))
            case o.CloseTable():
                self.do(c.ReportTableGone(no, self.version(no), now))
        return True

    def pay(self, order):
        key = order.payment.key
        if key in self.refused:
            if order.payment.code in ("entry", "re_entry", "rebuy", "add_on") or key == "guarantee/reserved":
                self.do(
                    c.ReportPayment(
                        key, order.attempt_no, is_refused=True, reason="INSUFFICIENT_FUNDS", now_ms=self.now
                    )
                )
                return True
            return False
        self.paid.append(order.payment)
        self.do(c.ReportPayment(key, order.attempt_no, is_refused=False, reason="", now_ms=self.now))
        return True

    # Play.

    @property
    def tables(self):
        return {number: self.state.tables[number] for number in self.state.in_play}

    def table_of(self, player):
        return self.state.tables[self.state.entrants[player].table_no]

    def players_at(self, table_no):
        return [sitter.player for sitter in self.state.tables[table_no].sitters]

    def hand(self, table_no, *, out=(), by=None, stacks=None, is_void=False, seconds=30, obey=True):
        """End a table's next hand: who is ``out`` loses everything to ``by``; ``stacks`` says others' stacks after it."""
        table = self.state.tables[table_no]
        before = {sitter.player: sitter.stack for sitter in table.sitters}
        after = dict(before) | dict(stacks or {})
        winner = by or next(player for player in before if player not in out)
        for player in out:
            after[winner] += after[player]
            after[player] = 0
        seats = tuple(SeatResult(s.seat, s.player, s.stack, after[s.player]) for s in table.sitters)
        button, small, big = self.spots(table)
        self.now += seconds * 1000
        events = self.do(
            c.ReportHand(
                table_no,
                self.version(table_no),
                table.hand_no + 1,
                is_void,
                button,
                small,
                big,
                seats,
                self.now - seconds * 1000,
                self.now,
                self.now,
            )
        )
        if obey:
            self.obey()
        return events

    def spots(self, table):
        seats = [sitter.seat for sitter in table.sitters]
        big = clockwise(seats, table.big_blind if table.hand_no else table.first_button)[0]
        small = table.big_blind if table.hand_no else clockwise(seats, big)[-1]
        return clockwise(seats, small)[-1], small, big

    def settle_stacks(self, table_no, stacks):
        """Play a hand after which these players have these stacks; what that takes comes from or goes to the others."""
        table = self.state.tables[table_no]
        before = {sitter.player: sitter.stack for sitter in table.sitters}
        after = before | stacks
        rest = [player for player in before if player not in stacks]
        after[rest[0]] += sum(before.values()) - sum(after.values())
        return self.hand(table_no, stacks=after)

    def bust_down_to(self, count):
        """Play hands in which one player of the longest table goes out, until so many are left."""
        while self.state.left > count:
            number = max(self.tables, key=lambda each: (len(self.state.tables[each].sitters), -each))
            self.hand(number, out=[self.players_at(number)[-1]])

    def finish(self):
        """Play to the end."""
        while self.state.phase == "playing":
            running = self.state.hand_for_hand
            if running is not None and running.is_playing:
                for number in running.tables:
                    self.hand(number, obey=False)
                self.obey()
                continue
            self.bust_down_to(self.state.left - 1)
        self.obey()


def pay_of(floor, key):
    """Return what was paid under a key."""
    return sum(payment.amount for payment in floor.paid if payment.key == key)
