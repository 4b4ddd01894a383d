"""Whole tournaments in virtual time: players, tables, the wallet and a network that loses, repeats and reorders.

The shell here is what the service does and no more: hand every report and answer to `advance`, keep the events, send the
orders of what they touched, send everything pending again now and then, tick when due. A crash takes all of its memory.
"""

import heapq
import random  # noqa: TID251  (tests may use chance)
from collections import Counter
from hashlib import sha256
from uuid import UUID, uuid5

from diwan.core.decider import Rejected
from diwan.core.fairness import secret_commitment
from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.core.tournament import orders as o
from diwan.core.tournament.balancing import gap, longest, shortest
from diwan.core.tournament.decide import advance, decide
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.inverse import chance_of, command_of
from diwan.core.tournament.seeds import drawn_for, entry_seed_commitment
from diwan.core.tournament.timing import next_due_ms
from tests.property.tournament_tables import FakeTable

TOURNAMENT_ID = "5b0c6a3e-0000-4000-8000-000000000001"
START_MS = 1_800_000_000_000
MEANT = {
    *("TOURNAMENT_FULL", "REGISTRATION_CLOSED", "ALREADY_ENTERED", "BOTS_NOT_WANTED", "RE_ENTRY_NOT_ALLOWED"),
    *("EXTRA_PENDING", "EXTRA_NOT_ALLOWED", "NOT_ENTERED"),
    *("REGISTRATION_NOT_OPEN", "LAST_PLAYER", "TOURNAMENT_OVER", "TOURNAMENT_NOT_RUNNING", "TOURNAMENT_NOT_PAUSED"),
}
"""Refusals that chance may run into."""


def seed_of(player):
    """Return a player's seed."""
    return sha256(f"seed of {player}".encode()).digest()


class Wallet:
    """Accounts by name; a transfer is applied once by its id, and refused for good where the giver is short."""

    def __init__(self, house=10**9, purse=10**6):
        self.house_start = house
        self.purse = purse
        self.balances = {"pool": 0, "house": house, "bots": 0}
        self.answers = {}
        self.lines = []

    def account(self, party, player):
        return player if party == "player" else party

    def balance(self, account):
        return self.balances.setdefault(account, self.purse)

    def ask(self, order):
        """Return whether it was refused; the same question always has the same answer."""
        payment = order.payment
        name = str(uuid5(UUID(TOURNAMENT_ID), order.name))
        if name in self.answers:
            known, refused = self.answers[name]
            assert known == payment, "one id, two contents"
            return refused
        giver = self.account(payment.giver, payment.player)
        taker = self.account(payment.taker, payment.player)
        refused = giver != "bots" and self.balance(giver) < payment.amount
        self.answers[name] = (payment, refused)
        if not refused:
            self.balances[giver] = self.balance(giver) - payment.amount
            self.balances[taker] = self.balance(taker) + payment.amount
            self.lines.append(payment)
        return refused


class Simulation:
    """One tournament from its announcement to the last payment."""

    def __init__(
        self,
        config,
        players,
        seed,
        *,
        loss=0.0,
        repeat=0.0,
        crash=0.0,
        latency=(5, 60),
        hand_ms=(20_000, 90_000),
        all_in_rate=0.05,
        void_rate=0.0,
        again=1.0,
        chips_every=1,
        late=0,
        retry_ms=1500,
        operator=False,
        refuse_rate=0.0,
        judges_moves=True,
    ):
        self.config = config
        self.chance = random.Random(seed)
        self.network = random.Random(seed + 1)
        self.seed = seed
        self.loss, self.repeat, self.crash_rate, self.latency = loss, repeat, crash, latency
        self.hand_ms, self.all_in_rate, self.void_rate = hand_ms, all_in_rate, void_rate
        self.again, self.chips_every, self.retry_ms = again, chips_every, retry_ms
        self.operator = operator
        self.refuse_rate = refuse_rate
        self.judges_moves = judges_moves
        self.now = START_MS
        self.heap = []
        self.count = 0
        self.tables = {}
        self.cursor = {}
        self.delivering = set()
        self.wallet = Wallet()
        self.batches = []
        self.state = None
        self.hands = 0
        self.crashes = 0
        self.max_gap_seen = 0
        self.landings = Counter()
        self.chosen_seats = {}
        self.last_big_blinds = {}
        self.sent = Counter()
        self.retrying = False
        self.tick_at = None
        self.players = [f"p{number}" for number in range(players)]
        self.late_players = [f"late{number}" for number in range(late)]

    # Time.

    def at(self, when, act):
        self.count += 1
        heapq.heappush(self.heap, (max(when, self.now), self.count, act))

    def run(self, limit_events=50_000_000):
        self.create()
        steps = 0
        while self.heap and not self.state.is_over:
            when, _, act = heapq.heappop(self.heap)
            self.now = when
            act()
            steps += 1
            assert steps < limit_events, "it never ends"
            assert self.now < START_MS + 40 * 24 * 3_600_000, f"it never ends: {self.stuck()}"
        assert self.state.is_over, self.stuck()
        self.check_end()
        return self

    def stuck(self):
        state = self.state
        tables = [
            (t.table_no, t.status, t.size, len(t.sitters), t.mode, t.running_hand_no, t.arriving, t.leaving)
            for t in state.tables.values()
            if t.status != "gone"
        ]
        return (state.phase, state.left, tables[:12], list(state.moves.values())[:8], list(o.pending_orders(state))[:8])

    # The shell.

    def create(self):
        self.next_secret = self.secret(1)
        commitment = secret_commitment(TOURNAMENT_ID, self.next_secret)
        self.command(c.CreateTournament(TOURNAMENT_ID, self.config, commitment, "host", self.now))
        opens = max(self.config.entries.opens_at_ms, self.now)
        for number, player in enumerate(self.players):
            self.at(opens + 1000 + number % 5000, lambda player=player: self.enter(player))
        if self.operator:
            self.at(opens + 3_600_000, self.operate)
        starts = self.config.entries.starts_at_ms
        if self.config.entries.rebuys:
            self.at(starts + 120_000, self.buy)
        for player in self.late_players:
            self.at(starts + self.chance.randint(0, 1_200_000), lambda player=player: self.enter(player))

    def secret(self, number):
        return sha256(f"{self.seed}/{number}".encode()).digest()

    def chance_now(self):
        number = self.state.draw_no if self.state is not None else 1
        following = secret_commitment(TOURNAMENT_ID, self.secret(number + 1))
        return c.Chance(self.secret(number), following)

    def command(self, command):
        before = self.state
        events, after = advance(before, command, self.chance_now())
        if not events:
            return events
        if (
            before is not None and self.network.random() < self.crash_rate
        ):  # killed before the append: nothing has happened
            self.crash()
            return ()
        self.state = after
        self.batches.append(events)
        self.check_batch(before, events)
        if before is not None and self.network.random() < self.crash_rate:  # killed after it: nothing was sent
            self.crash()
            return events
        for number in sorted(o.touched_tables(after, events)):
            for order in o.table_orders(after, after.tables[number]):
                self.send(order)
        if any(isinstance(event, (e.PaymentDue, e.PaymentSettled)) for event in events):
            keys = {event.payment.key for event in events if isinstance(event, e.PaymentDue)}
            keys |= {event.key for event in events if isinstance(event, e.PaymentSettled)}
            for key in sorted(keys):
                pending = after.payments.get(key)
                if pending is not None:
                    self.send(o.Pay(pending.payment, pending.attempt_no))
        self.plan()
        return events

    def crash(self):
        """Lose all memory: the state is the fold of the log, and everything pending is sent again later."""
        self.crashes += 1
        state = None
        if self.network.random() < 0.1:
            for batch in self.batches:
                for event in batch:
                    state = evolve(state, event)
            assert state == self.state, "the log does not give the state"
        for number in self.cursor:  # feeds are read again from an earlier place
            self.cursor[number] = max(0, self.cursor[number] - self.network.randint(0, 3))
            self.feed_grew(self.tables[number])
        self.tick_at = None
        self.plan()

    def plan(self):
        due = next_due_ms(self.state)
        if due is not None and (self.tick_at is None or due < self.tick_at):
            self.tick_at = due
            self.at(due, self.tick)
        if not self.retrying and (self.loss or self.crash_rate or self.refuse_rate):
            self.retrying = True
            self.at(self.now + self.retry_ms, self.retry)

    def tick(self):
        self.tick_at = None
        if not self.state.is_over:
            self.command(c.Tick(self.now))
            self.plan()

    def retry(self):
        self.retrying = False
        if self.state.is_over:
            return
        for order in list(o.pending_orders(self.state)):
            self.send(order)
        for number in self.cursor:
            if self.cursor[number] < len(self.tables[number].feed):
                self.feed_grew(self.tables[number])
        self.plan()

    # The network.

    def send(self, order):
        self.sent[type(order).__name__] += 1
        copies = 1 + (self.network.random() < self.repeat) if self.network.random() >= self.loss else 0
        for _ in range(copies):
            latency = self.network.randint(*self.latency)
            if self.loss and self.network.random() < 0.02:
                latency *= 50  # a late copy
            self.at(self.now + latency, lambda: self.arrive(order))

    def arrive(self, order):
        if isinstance(order, o.Pay):
            refused = self.wallet.ask(order)
            self.at(self.now + 20, lambda: self.answer(order, refused))
            return
        table = self.tables.get(order.table_no)
        if isinstance(order, o.OpenTable):
            if table is None:
                self.tables[order.table_no] = None
                self.cursor[order.table_no] = 0
                self.tables[order.table_no] = FakeTable(order, self)
        elif table is not None:
            table.take(order)

    def answer(self, order, refused):
        if not self.state.is_over:
            reason = "INSUFFICIENT_FUNDS" if refused else ""
            self.command(c.ReportPayment(order.payment.key, order.attempt_no, refused, reason, self.now))

    def feed_grew(self, table):
        self.at(self.now + self.network.randint(*self.latency), lambda: self.deliver(table.no))

    def deliver(self, number):
        table = self.tables[number]
        if table is None:
            self.at(self.now + 1, lambda: self.deliver(number))
            return
        while self.cursor[number] < len(table.feed) and not self.state.is_over:
            kind, *fields = table.feed[self.cursor[number]]
            count = self.crashes
            self.command(kind(*fields, self.now))
            if self.crashes != count:
                return
            self.cursor[number] += 1

    # Players and operators.

    def enter(self, player, *, is_bot=False):
        try:
            self.command(c.Enter(player, is_bot, self.now, self.commitment_of(player, is_bot=is_bot)))
        except Rejected as refusal:
            if refusal.reason not in MEANT:
                raise
            if refusal.reason == "REGISTRATION_NOT_OPEN":
                self.at(self.now + 500, lambda: self.enter(player, is_bot=is_bot))
            return
        if self.state.entrants.get(player) is None:  # the shell was killed before it was written
            self.at(self.now + 500, lambda: self.enter(player, is_bot=is_bot))

    def commitment_of(self, player, *, is_bot):
        """Two players of three commit to a seed for the first draw."""
        has_seed = not is_bot and seed_of(player)[0] % 3
        return entry_seed_commitment(TOURNAMENT_ID, player, seed_of(player)) if has_seed else b""

    def seeds_asked(self):
        """Let everybody but a few open what they committed to, some of them too late."""
        for entry in self.state.entries.values():
            if entry.seed_commitment and seed_of(entry.player)[1] % 10:
                wait = seed_of(entry.player)[2] * 21
                self.at(self.now + wait, lambda player=entry.player: self.open_seed(player))

    def open_seed(self, player):
        try:
            self.command(c.OpenSeed(player, seed_of(player), self.now))
        except Rejected as refusal:
            if refusal.reason != "SEED_NOT_ASKED":
                raise

    def operate(self):
        """Do what operators do now and then."""
        if self.state.is_over or self.state.phase != "playing":
            return
        try:
            choice = self.chance.random()
            if choice < 0.3 and not self.state.is_paused:
                self.command(c.Pause("op", "fire drill", self.now))
                self.at(self.now + 600_000, self.resume)
            elif choice < 0.6 and self.state.left > 2:
                playing = sorted(p.player for p in self.state.entrants.values() if p.standing == "playing")
                self.command(c.Remove(self.chance.choice(playing), "op", "collusion", self.now))
        except Rejected as refusal:
            if refusal.reason not in MEANT:
                raise
        self.at(self.now + 1_800_000, self.operate)

    def buy(self):
        """Let somebody ask for a rebuy or an add-on, as long as it may."""
        if self.state.is_closed:
            return
        players = sorted(self.state.entrants.keys())
        if players and self.state.phase == "playing":
            kind = self.chance.choice(("rebuy", "add_on"))
            try:
                self.command(c.BuyExtra(self.chance.choice(players), kind, self.now))
            except Rejected as refusal:
                if refusal.reason not in MEANT:
                    raise
        self.at(self.now + 45_000, self.buy)

    def resume(self):
        if self.state.is_paused and self.state.phase == "playing":
            self.command(c.Resume("op", "over", self.now))
            if self.state.is_paused:
                self.at(self.now + 1000, self.resume)

    # What must hold.

    def check_batch(self, before, events):
        if len(self.batches) % self.chips_every == 0:
            state = before
            for event in events:
                state = evolve(state, event)
                check_chips(state)
            assert state == self.state, "advance and fold differ"
        if self.chance.random() < self.again:
            again = decide(before, command_of(events[0]), chance_of(events))
            assert again == events, f"decided again it differs: {events[0]}"
        state = self.state
        is_quiet = not len(state.moves) and not state.breaking and state.redraw is None
        is_round = state.hand_for_hand is not None and state.hand_for_hand.is_playing
        if state.phase == "playing" and is_quiet and not is_round and not state.hand_for_hand:
            spread = longest(state) - shortest(state)
            self.max_gap_seen = max(self.max_gap_seen, spread)
            assert spread <= gap(state), f"tables differ by {spread}"
        for event in events:
            self.check_event(before, event)
            if isinstance(event, e.SeedsAsked):
                self.seeds_asked()
            if isinstance(event, e.PlayersOut) and state.is_open and self.config.entries.re_entries:
                for out in event.players:
                    if self.chance.random() < 0.7:
                        self.at(self.now + 30_000, lambda player=out.player: self.enter(player))

    def check_event(self, before, event):
        if isinstance(event, e.Drawn) and before.seeds_until_ms:
            asked = next(each for batch in self.batches for each in batch if isinstance(each, e.SeedsAsked))
            assert event.entrants_digest == asked.entrants_digest, "the list of the first draw has changed"
            assert self.now >= asked.until_ms or all(
                each.seed or not each.seed_commitment for each in drawn_for(self.state)
            )
        if isinstance(event, e.SeatChosen):
            chosen = next(each for each in event.candidates if each.seat == event.seat)
            assert chosen.may_take or not any(each.may_take for each in event.candidates)
            player = self.state.moves.get(event.move_no)
            name = player.player if player is not None else ""
            self.chosen_seats[(event.table_no, name)] = chosen
        if isinstance(event, e.MoverChosen) and self.judges_moves:
            fewest = min(each.balanced for each in event.candidates)
            chosen = next(each for each in event.candidates if each.player == event.player)
            assert chosen.balanced == fewest, "the same player again although another would do"

    def check_positions(self, table, positions):
        """Before a hand: whoever was moved here to even out tables is dealt in at once, and never as the small blind."""
        for seat, player in table.players.items():
            chosen = self.chosen_seats.pop((table.no, player), None) if seat in table.newcomers else None
            if chosen is None:
                continue
            self.landings["all"] += 1
            if not table.hand_no:
                # At a new table the first blinds follow from its drawn button and from who else still comes.
                self.landings["new table"] += 1
                continue
            if seat not in positions.dealt_in:
                # Every free seat lay between the button and the blinds: only there a player waits (TDA R10).
                self.landings["waiting"] += 1
                spots = positions.spots
                assert (seat - spots.button) % 9 < (spots.big_blind - spots.button) % 9, "moved and dealt out"
                continue
            if len(positions.dealt_in) == 2 and any(isinstance(event, e.RemovalOrdered) for event in self.events):
                continue  # An operator may remove somebody after the seat was chosen.
            if not chosen.may_take:
                # One opponent, who has the big blind next: then the other one has the small blind, and the button.
                # Others may have sat down meanwhile, by draw.
                self.landings["heads-up"] += 1
            else:
                assert seat != positions.spots.small_blind, "moved into the small blind"
            if chosen.hands_to_big_blind == 0:
                self.landings["big blind"] += 1
                assert seat == positions.spots.big_blind, "the worst position was not what it was said to be"
        previous = self.last_big_blinds.get(table.no)
        if previous is not None:
            occupied = list(table.stacks)
            following = min(occupied, key=lambda seat: (seat - previous - 1) % 9)
            assert positions.spots.big_blind == following, "a big blind was skipped"
            if len(occupied) > 1:
                assert positions.spots.big_blind != previous, "a big blind was doubled"
        self.last_big_blinds[table.no] = positions.spots.big_blind

    def check_end(self):
        state = self.state
        assert self.wallet.balances["pool"] == 0, "chips are left in the pool"
        house = self.wallet.balances["house"] - self.wallet.house_start
        prizes = sum(line.amount for line in self.wallet.lines if line.code == "prize")
        paid_in = sum(line.amount for line in self.wallet.lines if line.giver in ("player", "bots"))
        refunds = sum(line.amount for line in self.wallet.lines if line.code == "refund")
        assert paid_in == prizes + refunds + house
        if state.cancelled is None:
            check_places(state)
            assert prizes == sum(state.prizes or ())

    @property
    def events(self):
        return [event for batch in self.batches for event in batch]


def check_chips(state):
    """Chips in play are constant: they stand in front of players, or go with a move."""
    at_tables = sum(sitter.stack for table in state.tables.values() for sitter in table.sitters)
    on_the_way = sum(move.stack for move in state.moves.values() if move.phase in ("placing", "seating"))
    if state.phase not in ("paying", "finished"):
        assert at_tables + on_the_way == state.chips_in_play
    counted = [0] * 10
    for number in state.in_play:
        counted[min(state.tables[number].size, 9)] += 1
    assert tuple(counted) == state.sizes


def check_places(state):
    """Every entry that was played has its place; shared places are as wide as those who share them."""
    played = [entry for entry in state.entries.values() if entry.status in ("out", "playing")]
    assert len(played) == state.accepted
    assert [entry.player for entry in played if entry.status == "playing"] == [state.winner]
    spans = Counter((entry.out_first, entry.out_last) for entry in played if entry.status == "out")
    covered = []
    for (first, last), count in spans.items():
        assert last - first + 1 == count
        covered += range(first, last + 1)
    assert sorted(covered) == list(range(1, state.accepted))
