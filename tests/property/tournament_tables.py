"""Tables for simulated tournaments: they follow the contract of tournament tables, deal by chance and in virtual time.

Button and blinds are the real ones (`diwan.core.table.button`); who wins what is drawn.
"""

from diwan.core.table.button import Contender, first_hand_positions, next_hand_positions
from diwan.core.tournament import commands as c
from diwan.core.tournament import orders as o
from diwan.core.tournament.events import SeatResult
from diwan.core.tournament.ladders import point_at, point_of_hands, with_level_length
from diwan.core.tournament.state import Clock


class FakeTable:
    """One table: takes orders any number of times in any order, and writes what happens into its feed, in order."""

    def __init__(self, order, sim):
        self.sim = sim
        self.no = order.table_no
        self.table_id = order.table_id
        self.seats = order.seats
        self.button = order.button
        self.clock = Clock()
        self.ladder = with_level_length(sim.config.ladder, order.level_ms)
        self.feed = []  # reports without their time
        self.version = 0
        self.stacks = {}
        self.players = {}
        self.newcomers = set()
        self.released = set()
        self.seated_ids = set()
        self.added_ids = set()
        self.leaving = {}
        self.adding = {}
        self.mode, self.start_no = "on_grant", 0
        self.round_no = self.round_played = 0
        self.holds = False
        self.spots = None
        self.hand_no = 0
        self.hand = None
        self.hand_ended = -(10**9)
        self.is_gone = False
        self.wake_at = None
        self.first_hands = {}  # player -> how the seat was chosen, until the first hand there
        self.tell(c.ReportTableReady)

    def tell(self, kind, *fields):
        self.version += 1
        self.feed.append((kind, self.no, self.version, *fields))
        self.sim.feed_grew(self)

    def take(self, order):
        """Take an order: what was done before is done no more."""
        if self.is_gone:
            return
        match order:
            case o.SetStartMode(start_no=number, mode=mode):
                if number > self.start_no:
                    self.start_no, self.mode = number, mode
                    self.tell(c.ReportStartMode, number, mode, self.hand_no if self.hand else 0)
            case o.SetClock(clock=clock):
                if clock.clock_no > self.clock.clock_no:
                    self.clock = clock
                    self.tell(c.ReportClock, clock.clock_no)
            case o.GrantHand(round_no=number):
                if number > self.round_no:
                    self.round_no, self.holds = number, order.holds_runouts
            case o.ReleaseRunout(hand_no=number):
                if self.hand is not None and self.hand_no == number and self.hand.get("held"):
                    self.hand["held"] = False
                    self.hand["ends"] = self.sim.now + 3000
            case o.SeatEntrant():
                self.seat(order)
            case o.ReleaseEntrant():
                seat = self.seat_of(order.player)
                if order.move_id not in self.released and seat is not None:
                    self.leaving[order.player] = order.move_id
            case o.AddChips():
                if order.add_id not in self.added_ids and self.seat_of(order.player) is not None:
                    self.adding[order.add_id] = (order.player, order.amount)
            case o.CloseTable():
                if self.hand is None or self.sim.state.phase == "paying":
                    assert not self.stacks or self.sim.state.phase == "paying"
                    self.is_gone = True
                    self.tell(c.ReportTableGone)
                    return
        self.between()
        self.wake()

    def seat(self, order):
        if order.move_id in self.seated_ids:
            return
        assert order.seat not in self.stacks, "two players on one seat"
        assert self.seat_of(order.player) is None
        assert 0 <= order.seat < self.seats
        self.seated_ids.add(order.move_id)
        self.stacks[order.seat], self.players[order.seat] = order.stack, order.player
        self.newcomers.add(order.seat)
        self.tell(c.ReportSeated, order.move_id, order.player, order.seat)

    def seat_of(self, player):
        return next((seat for seat, each in self.players.items() if each == player), None)

    def between(self):
        """Let go and add between hands."""
        if self.hand is not None:
            return
        for add_id, (player, amount) in list(self.adding.items()):
            del self.adding[add_id]
            seat = self.seat_of(player)
            if seat is not None:
                self.added_ids.add(add_id)
                self.stacks[seat] += amount
                self.tell(c.ReportChipsAdded, add_id, player, amount)
        for player, move_id in list(self.leaving.items()):
            del self.leaving[player]
            seat = self.seat_of(player)
            if seat is not None:
                self.released.add(move_id)
                stack = self.stacks.pop(seat)
                del self.players[seat]
                self.newcomers.discard(seat)
                self.tell(c.ReportReleased, move_id, player, stack, 0, None)

    def may_start(self):
        if self.is_gone or self.hand is not None or len(self.stacks) < 2 or self.clock.paused_at_ms:
            return False
        if not self.clock.clock_no:
            return False
        return self.mode == "automatic" or self.round_played < self.round_no

    def wake(self):
        """Plan the next thing that happens here by itself."""
        if self.hand is not None:
            if not self.hand.get("held"):
                self.sim.at(self.hand["ends"], self.act)
            else:
                self.sim.at(self.hand["until"], self.act)
        elif self.may_start():
            at = max(self.hand_ended + self.sim.config.tables.pause_ms, self.clock.base_ms, self.sim.now)
            point = point_at(self.ladder, at - self.clock.base_ms) if self.ladder.by == "time" else None
            if point is not None and point.is_break:
                at = self.clock.base_ms + point.ends_ms
            if self.wake_at is None or at < self.wake_at or self.wake_at < self.sim.now:
                self.wake_at = at
                self.sim.at(at, self.act)

    def act(self):
        now = self.sim.now
        if self.hand is not None:
            if self.hand.get("held"):
                if now >= self.hand["until"]:
                    self.hand["held"] = False
                    self.hand["ends"] = now
                else:
                    return
            if now >= self.hand["ends"]:
                self.end()
                self.wake_at = None
                self.wake()
        elif self.may_start():
            at = max(self.hand_ended + self.sim.config.tables.pause_ms, self.clock.base_ms)
            if now >= at and not (
                self.ladder.by == "time" and point_at(self.ladder, now - self.clock.base_ms).is_break
            ):
                self.start()
            self.wake_at = None
            self.wake()

    def level(self):
        if self.ladder.by == "hands":
            return self.ladder.levels[point_of_hands(self.ladder, self.hand_no).level_no - 1]
        return self.ladder.levels[point_at(self.ladder, self.sim.now - self.clock.base_ms).level_no - 1]

    def positions(self, level):
        """Return button, blinds and who is dealt in: newcomers too, but between the button and the big blind."""
        if self.spots is None:
            return first_hand_positions(self.button, self.stacks, level.small_blind, level.big_blind)
        contenders = [
            Contender(seat, "newcomer", posts=True) if seat in self.newcomers else Contender(seat)
            for seat in sorted(self.stacks)
        ]
        return next_hand_positions(self.spots, contenders, level.small_blind, level.big_blind)

    def start(self):
        level = self.level()
        positions = self.positions(level)
        if len(positions.dealt_in) < 2:
            raise AssertionError("two players at a table and no hand")
        self.sim.check_positions(self, positions)
        self.spots = positions.spots
        self.newcomers -= set(positions.dealt_in)
        if self.mode != "automatic" or self.round_played < self.round_no:
            self.round_played = self.round_no
        self.hand_no += 1
        chance = self.sim.chance
        before = {seat: self.stacks[seat] for seat in positions.dealt_in}
        after, is_all_in, is_void = self.play(positions, level, before)
        duration = chance.randint(*self.sim.hand_ms)
        self.hand = {
            "before": before,
            "after": after,
            "started": self.sim.now,
            "void": is_void,
            "spots": positions.spots,
        }
        self.hand["ends"] = self.sim.now + duration
        if is_all_in and self.holds and self.round_no and self.mode == "on_grant":
            self.hand["held"], self.hand["until"] = True, self.sim.now + duration + self.sim.config.floor.runout_ms
            self.tell(c.ReportRunoutHeld, self.hand_no, self.hand["until"])

    def play(self, positions, level, before):
        """Return the stacks after a hand: blinds and antes go to somebody, and now and then two or three go all in."""
        chance = self.sim.chance
        if chance.random() < self.sim.void_rate:
            return dict(before), False, True
        after, pot = dict(before), 0
        dues = [(seat, level.ante) for seat in after] if level.ante_kind == "each" else []
        if level.ante_kind == "big_blind":
            dues.append((positions.spots.big_blind, level.ante))
        dues += [(due.seat, due.amount) for due in positions.dues if due.kind in ("small_blind", "big_blind")]
        if level.small_blind == 0:
            dues = [(seat, level.big_blind) for seat in after]
        posted = set()
        for seat, amount in dues:
            if (seat, amount) in posted and level.small_blind:
                continue
            posted.add((seat, amount))
            paid = min(amount, after[seat])
            after[seat] -= paid
            pot += paid
        seats = sorted(after)
        short = [seat for seat in seats if before[seat] <= 8 * level.big_blind]
        rate = self.sim.all_in_rate + 0.25 * bool(short)
        if chance.random() > rate:
            winner = chance.choice(seats)
            after[winner] += pot
            return after, any(not after[seat] for seat in seats), False
        count = min(len(seats), chance.choice((2, 2, 2, 3)))
        in_it = chance.sample(seats, count)
        if short and short[0] not in in_it:
            in_it[0] = short[0]
        return self.all_in(in_it, after, pot), True, False

    def all_in(self, in_it, after, pot):
        order = list(in_it)
        self.sim.chance.shuffle(order)  # best hand first
        stacks = {seat: after[seat] for seat in in_it}
        for seat in in_it:
            after[seat] = 0
        after[order[0]] += pot
        while any(stacks.values()):
            left = [seat for seat in order if stacks[seat]]
            least = min(stacks[seat] for seat in left)
            for seat in left:
                stacks[seat] -= least
                after[left[0]] += least
        return after

    def end(self):
        hand, self.hand = self.hand, None
        self.hand_ended = self.sim.now
        results = tuple(
            SeatResult(seat, self.players[seat], hand["before"][seat], hand["after"][seat]) for seat in hand["before"]
        )
        for seat in hand["before"]:
            self.stacks[seat] = hand["after"][seat]
        gone = [seat for seat in hand["before"] if not self.stacks[seat]]
        for seat in gone:
            self.leaving.pop(self.players[seat], None)
            del self.stacks[seat], self.players[seat]
        spots = hand["spots"]
        self.tell(
            c.ReportHand,
            self.hand_no,
            hand["void"],
            spots.button,
            spots.small_blind,
            spots.big_blind,
            results,
            hand["started"],
            self.sim.now,
        )
        self.sim.hands += 1
        self.between()
