"""Random Capsa hands under random settings: the invariants of capsa.md section 8, and the laws of every decider."""

import random  # noqa: TID251  (tests may use chance)
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import AnswerCall, ExpireCapsaClock, LockSet, SaveDraft, StartCapsa, Unlock
from diwan.core.games.capsa.decide import advance, decide
from diwan.core.games.capsa.events import Arrangement, NaturalShown, PairSettled, RoyaltiesDeclared, SetsShown
from diwan.core.games.capsa.evolve import evolve
from diwan.core.games.capsa.inverse import command_of
from diwan.core.games.capsa.outcome import outcome_digest, shown_positions, units_of
from diwan.core.games.capsa.reserve import reserve_of
from diwan.core.games.capsa.rows import is_fouled, row_value
from diwan.core.games.capsa.settings import (
    DEFAULT_ROYALTIES,
    NATURAL_KINDS,
    CapsaSettings,
    NaturalAward,
    PairUnit,
    RowRoyalties,
    Royalties,
    SurrenderTerms,
    checked,
    most_units,
    scoop_value,
)
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.hand.events import HandSeat

HANDS = settings(max_examples=150, deadline=None)


@st.composite
def row_royalties(draw):
    units = st.none() | st.integers(0, 20)
    return RowRoyalties(**{name: draw(units) for name in RowRoyalties.__struct_fields__})


@st.composite
def capsa_settings(draw):
    scoring = draw(st.sampled_from(["2-4", "1-6", "1-4", "rows", "custom"]))
    custom = {"overall_bonus": draw(st.integers(0, 5)), "scoop_bonus": draw(st.integers(0, 9))}
    table = draw(
        st.sampled_from([DEFAULT_ROYALTIES, Royalties()])
        | st.builds(
            Royalties,
            front=st.builds(RowRoyalties, trips=st.integers(0, 9)),
            middle=row_royalties(),
            back=row_royalties(),
        )
    )
    seats = draw(st.lists(st.sampled_from([(0, 1), (0, 2), (1, 2), (3, 0)]), unique=True))
    base = CapsaSettings(
        scoring=scoring,
        **(custom if scoring == "custom" else {}),
        royalties=table,
        royalty_mode=draw(st.sampled_from(["winner", "cancel", "net"])),
        one_royalty_per_player=draw(st.booleans()),
        broken_royalties=draw(st.booleans()),
        naturals=draw(st.sampled_from([None, None, (), tuple(NaturalAward(kind, 5) for kind in _listed())])),
        foul_pays_royalties=draw(st.booleans()),
        wheel=draw(st.sampled_from(["low", "second"])),
        unit=draw(st.integers(1, 1000)),
        pair_units=tuple(PairUnit(a, b, draw(st.integers(1, 500))) for a, b in seats),
        loss_cap_units=draw(st.none() | st.integers(1, 12)),
        timeout_policy=draw(st.sampled_from(["draft_then_auto", "auto", "foul"])),
    )
    price = draw(st.integers(1, scoop_value(base)))
    return checked(replace(base, surrender=SurrenderTerms(draw(st.booleans()), price)))


def _listed():
    first = ["suited_dragon", "dragon", "three_straight_flushes", "five_pairs_trips", "all_low"]
    return [*first, *sorted(NATURAL_KINDS - set(first))]


class Story:
    """Deals one hand and plays it at random to its end; what is refused is counted and leaves no trace."""

    def __init__(self, seed, rules):
        self.chance = random.Random(seed)
        count = self.chance.choice((2, 3, 4))
        self.seats = sorted(self.chance.sample(range(4), count))
        self.cards = dict(enumerate(self.deck(count)))
        self.batches = []
        self.state = None
        self.version = self.chance.choice((0, 17))
        self.now = 1000
        self.refusals = 0
        stacks = {seat: reserve_of(rules, seat, self.seats) + self.chance.choice((0, 1, 500)) for seat in self.seats}
        self.start = StartCapsa(
            hand_id="h",
            hand_no=3,
            rules_version=1,
            settings=rules,
            seats=tuple(HandSeat(seat, f"p{seat}", stacks[seat]) for seat in self.seats),
            button=self.chance.choice(self.seats),
            secret_commitment=b"s",
            seeds=(),
            absent=(),
            deck_root=b"r",
            next_commitment=b"n",
            version=self.version,
            now_ms=self.now,
        )
        self.when(self.start)
        for _ in range(400):
            if isinstance(self.state, EndedCapsa):
                break
            self.now += self.chance.randrange(3000)
            self.try_something()
        while not isinstance(self.state, EndedCapsa):  # Clocks alone end every hand.
            self.now = self.state.deadline_ms
            self.when(ExpireCapsaClock(None, self.state.turn, self.version, self.now))

    def deck(self, count):
        """A deck; half of them give the first seat a hand that is likely to be a natural."""
        deck = self.chance.sample(range(52), 52)
        kind = self.chance.randrange(8)
        if kind == 0:
            special = [rank * 4 + self.chance.randrange(4) for rank in range(13)]  # a dragon
        elif kind == 1:
            ranks = self.chance.sample(range(13), 7)
            special = [rank * 4 + suit for rank in ranks for suit in self.chance.sample(range(4), 2)][:13]
        elif kind == 2:
            suits = self.chance.sample(range(4), 3)
            sizes = zip(suits, (5, 5, 3), strict=True)
            special = [rank * 4 + suit for suit, size in sizes for rank in self.chance.sample(range(13), size)]
        elif kind == 3:
            special = [rank * 4 + suit for rank in self.chance.sample(range(13), 4) for suit in range(4)][:13]
        else:
            return deck
        rest = [card for card in deck if card not in special]
        for number, card in enumerate(special):
            rest.insert(number * count, card)
        return rest

    def when(self, command):
        events, state = advance(self.state, command, self.cards)
        self.batches.append((self.version, self.state, command, events))
        self.state = state
        self.version += len(events)

    def try_something(self):
        seat = self.chance.choice((*self.seats, 5))
        turn = self.chance.choice((None, self.state.turn, self.state.turn, self.state.turn + 1))
        at = (turn, self.version, self.now)
        kind = self.chance.randrange(10)
        if kind < 5:
            is_confirmed = self.chance.random() < 0.5
            command = LockSet(seat, self.arrangement(seat), *at, is_confirmed)
        elif kind == 5:
            command = SaveDraft(seat, self.arrangement(seat), *at)
        elif kind == 6:
            command = Unlock(seat, *at)
        elif kind == 7:
            command = ExpireCapsaClock(self.chance.choice((None, seat)), *at, self.chance.choice(("clock", "system")))
        else:
            command = AnswerCall(seat, self.chance.choice(("play", "surrender")), *at)
        before = self.state
        try:
            self.when(command)
        except Rejected:
            self.refusals += 1
            assert self.state is before

    def arrangement(self, seat):
        place = self.state.deal.places.get(seat, 0)
        positions = list(self.state.holdings[place])
        if self.chance.random() < 0.7:  # by rank, so that not everything fouls
            positions.sort(key=lambda position: self.cards[position])
        else:
            self.chance.shuffle(positions)
        if self.chance.random() < 0.1:
            positions[0] = self.chance.randrange(52)
        return Arrangement(tuple(positions[:3]), tuple(positions[3:8]), tuple(positions[8:]))

    @property
    def events(self):
        return [event for _, _, _, events in self.batches for event in events]

    @property
    def last(self):
        return self.state.last


def stories():
    return st.builds(Story, st.integers(0, 2**32), capsa_settings())


@HANDS
@given(stories())
def test_every_hand_ends_and_sums_to_zero_in_units_and_chips(story):
    """Invariants 1 and 7, CS-60, CS-65: nobody can lose more than the reserve, no pair more than M."""
    rules = story.start.settings
    payoffs = story.state.ended.payoffs
    assert sum(units_of(story.last)) == sum(payoffs) == 0
    assert all(abs(line.units) <= most_units(rules) for line in story.last.lines)
    for seat, payoff in zip(story.last.deal.seats, payoffs, strict=True):
        assert payoff >= -reserve_of(rules, seat, story.seats)
    assert len(story.last.lines) == len(story.seats) * (len(story.seats) - 1) // 2


@HANDS
@given(stories())
def test_chips_are_conserved_and_nobody_is_below_zero_at_every_event(story):
    """CS-65: not even between two lines of the settlement."""
    state, chips = None, sum(seat.stack for seat in story.start.seats)
    for event in story.events:
        state = evolve(state, event)
        live = state.last if isinstance(state, EndedCapsa) else state
        assert sum(live.stacks) == chips
        assert min(live.stacks) >= 0


@HANDS
@given(stories())
def test_replaying_any_prefix_gives_the_state_of_then(story):
    """Invariant 9, CS-85: evolve never raises on what decide made."""
    folded = None
    for _, before, _, events in story.batches:
        assert folded == before
        for event in events:
            folded = evolve(folded, event)
    assert folded == story.state
    ended = story.state.ended
    assert ended.digest == outcome_digest(story.last, ended.result, story.cards)


@HANDS
@given(stories())
def test_every_act_is_decided_again_from_the_log_alone(story):
    """DESIGN 3: command_of is the inverse, and decide gives exactly the recorded batch."""
    for version, before, _, events in story.batches:
        command = command_of(events[0], version)
        assert command is not None
        assert decide(before, command, story.cards) == events
        assert all(command_of(event, version) is None for event in events[1:])


class Watched(dict):
    """Cards that note which positions were read."""

    def __init__(self, cards):
        super().__init__(cards)
        self.read = set()

    def __getitem__(self, position):
        self.read.add(position)
        return super().__getitem__(position)


@HANDS
@given(stories())
def test_what_is_read_is_revealed_or_a_named_private_read(story):
    """DESIGN 3: the deal looks for naturals; drafts, locks and late sets at that seat's own; the end at sets that play."""
    places = story.last.deal.places
    for _, before, command, _ in story.batches:
        watched = Watched(story.cards)
        after = advance(before, command, watched)[1]
        live = after.last if isinstance(after, EndedCapsa) else after
        allowed = set()
        if isinstance(command, StartCapsa):
            allowed = {position for holding in live.holdings for position in holding}
        elif isinstance(command, SaveDraft | LockSet):
            allowed = set(live.holdings[places[command.seat]])
        elif isinstance(command, ExpireCapsaClock):
            late = [place for place, play in enumerate(before.plays) if play.locked is None]
            allowed = {position for place in late for position in live.holdings[place]}
        if isinstance(after, EndedCapsa):
            ends = [place for place, standing in enumerate(live.standings) if standing.status != "surrendered"]
            allowed |= {position for place in ends for position in live.holdings[place]}
        assert watched.read <= allowed


@HANDS
@given(stories())
def test_payments_follow_the_statuses(story):
    """Invariants 4 to 6: winners collect royalties, fouled players nothing, a surrender costs its price."""
    rules = story.start.settings
    status = {standing.seat: standing.status for standing in story.last.standings}
    for line in story.last.lines:
        for seat, other, units in ((line.a, line.b, line.units), (line.b, line.a, -line.units)):
            if status[seat] == "fouled":
                assert units <= 0
            if status[seat] == "surrendered" and status[other] != "natural":
                price = -rules.surrender.price if status[other] == "set" else 0
                assert units == max(price, -(rules.loss_cap_units or 10**9))
        if line.rows is not None and rules.royalty_mode == "winner":
            rows = (line.rows.front, line.rows.middle, line.rows.back)
            assert line.royalty <= 0 or 1 in rows
            assert line.royalty >= 0 or -1 in rows


@HANDS
@given(stories())
def test_only_sets_that_play_and_naturals_are_shown(story):
    """CS-84, CS-57, CS-69: fouls included; surrendered and lone hands stay hidden."""
    status = {standing.seat: standing.status for standing in story.last.standings}
    playing = [seat for seat, each in status.items() if each in {"set", "fouled"}]
    late = {
        seat
        for seat, play in zip(story.last.deal.seats, story.last.plays, strict=True)
        if play.locked is not None and play.locked.arrangement is None
    }
    expected = {seat for seat, each in status.items() if each == "natural"}
    if len(playing) > 1:
        expected |= set(playing) - late
    assert set(shown_positions(story.last)) == expected


@HANDS
@given(stories())
def test_a_set_is_a_foul_exactly_where_its_rows_are_out_of_order(story):
    """CS-23, CS-24, and CS-26: no foul without confirmation or the clock."""
    rules = story.start.settings
    for play in story.last.plays:
        locked = play.locked
        if locked is None or locked.arrangement is None:
            continue
        rows = [[story.cards[position] for position in row] for row in locked.arrangement.rows]
        if is_fouled(*[row_value(row, rules.wheel) for row in rows]):
            assert locked.is_foul_confirmed


@HANDS
@given(st.integers(0, 2**32), capsa_settings(), st.sampled_from(list(permutations(range(4)))))
def test_exchanging_suits_changes_no_result(seed, rules, suits):
    """Invariant 8, CS-14: the same commands over the deck with its suits exchanged.

    Colours are suits (CS-80), and of equally strong rows the server takes one by suit (CS-29): both are left out.
    """
    awards = tuple([award for award in rules.naturals if not award.kind.startswith("one_colour")])
    plain = Story(seed, replace(rules, naturals=awards, timeout_policy="foul"))
    turned = {position: card // 4 * 4 + suits[card % 4] for position, card in plain.cards.items()}
    state, log = None, []
    for _, _, command, _ in plain.batches:
        events, state = advance(state, command, turned)
        log += events
    for kind in (NaturalShown, RoyaltiesDeclared, SetsShown, PairSettled):
        found = [[event for event in each if isinstance(event, kind)] for each in (log, plain.events)]
        if kind is NaturalShown:  # equal cards may change places in the division
            found = [[(event.seat, event.kind) for event in each] for each in found]
        assert found[0] == found[1]


@HANDS
@given(stories())
def test_where_people_sit_changes_no_result(story):
    """Invariant 2: the same hands dealt from another dealer, with every pair at one stake."""
    rules = replace(story.start.settings, pair_units=())
    lines = {}
    for button in story.seats:
        start = replace(story.start, settings=rules, button=button, seats=_rich(story))
        cards = _dealt_from(story, button)
        _, state = advance(None, start, cards)
        while not isinstance(state, EndedCapsa):
            _, state = advance(state, ExpireCapsaClock(None, None, 0, state.deadline_ms), cards)
        for line in state.last.lines:
            sign = 1 if line.a < line.b else -1
            pair = tuple(sorted((line.a, line.b)))
            assert lines.setdefault(pair, sign * line.units) == sign * line.units


def _rich(story):
    return tuple(replace(seat, stack=10**12) for seat in story.start.seats)


def _dealt_from(story, button):
    """The deck that gives every seat the cards of the story with another dealer."""
    held = {
        seat: [story.cards[position] for position in holding]
        for seat, holding in zip(story.last.deal.seats, story.last.holdings, strict=True)
    }
    order = [seat for seat in story.seats if seat > button] + [seat for seat in story.seats if seat <= button]
    return dict(enumerate(held[order[i % len(order)]][i // len(order)] for i in range(13 * len(order))))


@HANDS
@given(st.integers(0, 2**32), capsa_settings())
def test_a_hand_can_be_voided_or_given_time_at_any_decision(seed, rules):
    """Every hand ends Settled or Voided; a moved deadline changes nothing else."""
    story = Story(seed, rules)
    for version, before, _, _ in story.batches[1:]:
        events, state = advance(before, VoidHand("interrupted", version, before.deadline_ms), story.cards)
        assert state.ended.result == "void"
        assert state.ended.payoffs == (0,) * len(story.seats)
        assert evolve(evolve(before, events[0]), events[1]) == state
        moved = MoveDeadline(before.turn, before.deadline_ms + 1, "outage", version, 0)
        assert advance(before, moved, story.cards)[1] == replace(before, deadline_ms=before.deadline_ms + 1)


def test_the_stories_reach_what_they_are_about():
    """The properties above hold of something: statuses, refusals and long hands all occur."""
    seen, refusals = set(), 0
    for seed in range(60):
        story = Story(seed, checked(CapsaSettings(timeout_policy="auto")))
        seen |= {standing.status for standing in story.last.standings}
        refusals += story.refusals
    assert seen == {"set", "fouled", "surrendered", "natural"}
    assert refusals > 100


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_hands():
    """A longer run of the same stories."""
    for seed in range(20_000):
        story = Story(seed, checked(CapsaSettings(broken_royalties=seed % 2 == 0)))
        assert sum(story.state.ended.payoffs) == 0
