"""Random tables of tournaments: chips, blinds, levels, grants and held boards (L12, TR, B5, TDA R8, R10, R23, R32, RP-8, RP-11)."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.core.decider import Rejected
from diwan.core.fairness import SEED_BYTES
from diwan.core.hand.events import HandEnded, HandStarted, RunoutHeld, RunoutReleased
from diwan.core.ledger.seats import RELEVANT, TableSeats, follow
from diwan.core.table.evolve import evolve
from diwan.core.table.state import TableState
from diwan.core.table.tournament.events import (
    ChipsAdded,
    ClockSet,
    EntrantReleased,
    EntrantSeated,
    HandGranted,
    StartModeSet,
)
from diwan.core.table.tournament.terms import BlindLevel, TournamentTerms
from tests.property import test_table as cash
from tests.unit.table.directing import BEGINS, TournamentTable, forced

PLAYERS = tuple(f"p{number}" for number in range(14))


def ladder(chance, game):
    """Return a random ladder, by the clock or by hands."""
    bets = sorted(chance.randrange(2, 60) * 2 for _ in range(chance.randrange(1, 5)))
    if game == "sarab":
        return forced(*bets, deals=chance.choice((1, 2)))
    is_timed, kind = chance.random() < 0.6, chance.choice(("each", "big_blind"))
    return tuple(
        BlindLevel(
            small_blind=bet // 2,
            big_blind=bet,
            ante=chance.choice((0, bet // 4, bet)),
            ante_kind=kind,
            duration_ms=chance.randrange(1, 60_000) if is_timed else 0,
            hands=0 if is_timed else chance.randrange(1, 5),
            break_after_ms=chance.choice((0, 20_000)) if is_timed else 0,
        )
        for bet in bets
    )


class Story(cash.Story):
    """A tournament that directs its table at random; what is refused leaves no trace."""

    def __init__(self, seed, steps):
        self.chance = cash.random.Random(seed)
        game = self.chance.choice(("holdem", "holdem", "omaha", "naiko", "sarab"))
        self.table = TournamentTable(
            game=game,
            seats=self.chance.choice((2, 3, 6, 9)),
            levels=ladder(self.chance, game),
            clock_base_ms=self.chance.choice((0, BEGINS, BEGINS, BEGINS - 100_000)),
            start=self.chance.choice(("automatic", "automatic", "on_grant")),
            time_bank_seconds=self.chance.choice((0, 3)),
        )
        self.decks, self.plans = {}, []
        for number in range(self.chance.randrange(2, 6)):
            self.table.now += 1
            self._tried(lambda number=number: self.table.come(f"p{number}", number, self.stack()))
        for _ in range(steps):
            self.table.now += self.chance.randrange(3_000)
            self.step()

    def stack(self):
        return self.chance.randrange(1, 400)

    def _tried(self, move):
        try:
            move()
        except Rejected:
            return

    def step(self):
        moves = [self.come, self.come, self.leave, self.direct, *[self.deal] * 4, *[self.play] * 6, self.release]
        self._tried(self.chance.choice(moves))

    def come(self):
        state = self.table.state
        seat = self.chance.randrange(state.config.seats)
        if state.spots is not None and self.chance.random() < 0.4:
            # Where a place of the last hand was left, most is to be got wrong.
            places = (state.spots.big_blind, state.spots.small_blind, state.spots.button)
            seat = next((place for place in places if state.seat(place) is None), seat)
        if self.chance.random() < 0.15:
            self.table.add(self.chance.choice(PLAYERS), self.stack())
        else:
            self.table.come(self.chance.choice(PLAYERS), seat, self.stack())

    def leave(self):
        if self.chance.random() < 0.5:
            self.table.go(self.chance.choice(PLAYERS), self.chance.choice(("moved", "moved", "removed")))

    def direct(self):
        table, roll = self.table, self.chance.random()
        if roll < 0.2:
            stopped = self.chance.choice((0, 0, table.now))
            table.clock(max(1, table.now - self.chance.randrange(200_000)), stopped)
        elif roll < 0.5:
            table.mode(self.chance.choice(("automatic", "on_grant")))
        elif roll < 0.8:
            table.grant(table.state.directed.granted_no + self.chance.choice((0, 1, 1, 3)))
        else:
            table.hold(self.chance.choice((0, 5_000)))

    def deal(self):
        if self.table.state.directed.start == "on_grant" and self.chance.random() < 0.7:
            self._tried(lambda: self.table.grant(self.table.state.directed.granted_no + 1))
        self.start()

    def start(self):
        cards = list(range(52))
        self.chance.shuffle(cards)
        if self.table.state.is_running:
            return
        self.table.cards = cash.Cards(enumerate(cards))
        taken = [seat.seat for seat in self.table.state.seats]
        seeds = {seat: self.chance.randbytes(SEED_BYTES) for seat in taken if self.chance.random() < 0.2}
        try:
            self.table.start(seeds)
        except Rejected:
            self.table.start()
        self.decks[self.table.state.hand_no] = dict(self.table.cards)

    def bet(self):
        if self.chance.random() < 0.15:
            self.table.when_all_in()
        else:
            super().bet()

    def play(self):
        live = self.table.state.hand
        if self.table.state.is_running and live.held_until_ms:
            return
        super().play()

    def release(self):
        live = self.table.state.hand
        if self.table.state.is_running and live.held_until_ms:
            if self.chance.random() < 0.5:
                self.table.now = max(self.table.now, live.held_until_ms)
                self.table.release_runout(is_by_clock=True)
            else:
                self.table.release_runout()


stories = st.builds(Story, st.integers(0, 2**32), st.integers(40, 160))
told = settings(max_examples=60, deadline=None)


def steps(story):
    """Yield every event with the table before it."""
    state: TableState | None = None
    for batch in story.table.batches:
        for event in batch:
            yield state, event
            state = evolve(state, event)


@told
@given(stories)
def test_chips_come_and_go_with_the_tournament_s_orders_alone(story):
    """L12: seated and added = released + at the seats, after every batch; none of it in any hand."""
    state, came, went = None, 0, 0
    for batch in story.table.batches:
        for event in batch:
            state = evolve(state, event)
            came += event.stack if isinstance(event, EntrantSeated) else 0
            came += event.amount if isinstance(event, ChipsAdded) else 0
            went += event.stack if isinstance(event, EntrantReleased) else 0
            if isinstance(event, HandEnded):
                assert sum(event.payoffs) == 0
        assert came == went + sum(seat.stack for seat in state.seats)
        assert all(seat.stack > 0 or state.is_in_hand(seat.seat) for seat in state.seats), "who has nothing is released"
        assert state.carried == 0
        assert all(not seat.is_sitting_out for seat in state.seats)


@told
@given(stories)
def test_the_ledger_finds_that_all_adds_up_and_is_asked_for_nothing(story):
    """L10, L12."""
    seats = TableSeats(story.table.state.table_id)
    for version, (_, event) in enumerate(steps(story), 1):
        seats, requests = follow(seats, event if isinstance(event, RELEVANT) else None, version)
        assert requests == ()
    here = {stay.player: stay.stack for stay in seats.tournament.stays}
    assert here == {seat.player: seat.stack for seat in story.table.state.seats}


@told
@given(stories)
def test_every_act_decided_again_gives_exactly_its_batch(story):
    """DESIGN 3: with the cards that the log shows by then, an auditor finds the same levels, antes, releases and boards."""
    cash.test_every_act_decided_again_gives_exactly_its_batch.hypothesis.inner_test(story)


@told
@given(stories)
def test_folding_the_log_gives_the_live_state_and_counts_every_event(story):
    """H1, H3."""
    cash.test_folding_the_log_gives_the_live_state_and_counts_every_event.hypothesis.inner_test(story)


def level_at(terms: TournamentTerms, base, now):
    """The level at a moment that is in no break, written once more: count what is left of the time level by level."""
    left = now - base
    for number, level in enumerate(terms.levels, 1):
        if number == len(terms.levels) or left < level.duration_ms:
            return number
        left -= level.duration_ms
        assert left >= level.break_after_ms, "a hand began in a break"
        left -= level.break_after_ms
    raise AssertionError


@told
@given(stories)
def test_every_hand_begins_at_the_level_of_the_schedule_and_owes_what_it_says(story):
    """TDA R23, RP-11: by the clock as it was set last, or by the hands dealt; never while the clock stands."""
    terms = story.table.state.config.tournament
    base, stopped = terms.clock_base_ms, 0
    for state, event in steps(story):
        if isinstance(event, ClockSet):
            base, stopped = event.base_ms, event.stopped_at_ms
        if not isinstance(event, HandStarted):
            continue
        assert base
        assert not stopped
        assert event.started_at_ms >= base
        counted = [number for number, level in enumerate(terms.levels, 1) for _ in range(level.hands)]
        dealt = event.hand_no if event.settings.game != "sarab" else event.deal_no
        if not terms.levels[0].hands:
            number = level_at(terms, base, event.started_at_ms)
        else:
            number = counted[dealt - 1] if dealt <= len(counted) - terms.levels[-1].hands else len(terms.levels)
        level = terms.levels[number - 1]
        assert event.tournament.level == number
        assert event.settings.big_blind == level.big_blind
        antes = {due.seat: due.amount for due in event.dues if due.kind == "ante"}
        payers = [each.seat for each in event.seats] if level.ante_kind == "each" else [event.big_blind_seat]
        if event.settings.game != "sarab":
            assert event.settings.small_blind == level.small_blind
            assert antes == (dict.fromkeys(payers, level.ante) if level.ante else {})
            assert {due.amount for due in event.dues if due.kind == "big_blind"} == {level.big_blind}
        assert state is not None


@told
@given(stories)
def test_a_hand_by_grant_uses_one_grant_and_each_round_is_used_once(story):
    """DESIGN 8: an unused grant is replaced by the next one and forgotten with the mode."""
    mode, open_round, used = story.table.state.config.start, None, []
    for _, event in steps(story):
        if isinstance(event, StartModeSet):
            mode, open_round = event.mode, None
        elif isinstance(event, HandGranted):
            assert mode == "on_grant"
            open_round = event.round_no
        elif isinstance(event, HandStarted):
            assert event.tournament.round_no == (open_round if mode == "on_grant" else 0)
            if mode == "on_grant":
                assert open_round is not None
                used.append(open_round)
            open_round = None
    assert all(before < after for before, after in pairwise(used))


@told
@given(stories)
def test_a_board_is_held_where_the_hand_says_so_and_cards_are_still_to_come(story):
    """RP-8: once a hand at most, in no other than such a hand; nothing is turned up before it is released."""
    held, started = None, None
    for state, event in steps(story):
        if isinstance(event, HandStarted):
            started, held = event, None
        elif isinstance(event, RunoutHeld):
            assert held is None
            assert event.until_ms == event.held_at_ms + started.tournament.hold_ms
            assert started.tournament.hold_ms
            held = event
        elif isinstance(event, RunoutReleased):
            assert held is not None
            assert not event.is_by_clock or event.released_at_ms >= held.until_ms
        elif type(event).__name__ in {"BoardDealt", "CardsShown", "PotAwarded"} and held is not None:
            assert state.hand.is_released


def places_of(started):
    dues = {due.kind: due.seat for due in started.dues if due.kind != "ante"}
    return dues.get("small_blind"), started.big_blind_seat


@told
@given(stories)
def test_the_big_blind_skips_and_doubles_nobody_and_no_arrival_posts_the_small_blind(story):
    """B5, TDA R8, R10, R32: seen from those who stayed; a void hand changes nothing."""
    if story.table.state.config.game == "sarab":
        return
    before, first_hand, open_hand = None, {}, None
    for state, event in steps(story):
        if isinstance(event, EntrantReleased):
            first_hand.pop(event.player, None)
        if isinstance(event, HandEnded):
            if event.result != "void":
                before = open_hand
                for seat in open_hand.seats:
                    first_hand.setdefault(seat.player, open_hand.hand_no)
            open_hand = None
        if not isinstance(event, HandStarted):
            continue
        open_hand = event
        small, big = places_of(event)
        dealt = {seat.seat: seat.player for seat in event.seats}
        if before is None:
            assert len(dealt) == len(state.seats), "at its first hand a table deals everybody in"
            continue
        was = {seat.seat: seat.player for seat in before.seats}
        stayed = [seat for seat, player in was.items() if dealt.get(seat) == player and player in first_hand]
        here = {seat.player for seat in state.seats} & set(was.values()) & set(first_hand)
        assert here <= set(dealt.values()), "who was dealt in is dealt in again"
        between = {(before.big_blind_seat + step) % 9 for step in range(1, (big - before.big_blind_seat) % 9 or 9)}
        assert not between & set(stayed), "nobody's big blind is skipped"
        assert big != before.big_blind_seat or dealt[big] != was[big], "nobody has it twice running"
        arrivals = [seat for seat, player in dealt.items() if player not in first_hand]
        inside = {(event.button + step) % 9 for step in range(1, (big - event.button) % 9)}
        # One alone plays with arrivals wherever they sit, if none of them may come in otherwise.
        if len(dealt) > 2 and (len(stayed) > 1 or (stayed and set(arrivals) - inside - {big})):
            assert small not in arrivals, "nobody is dealt in as the small blind"
            assert not inside & set(arrivals), "nor anywhere between the button and the big blind"
        for waiting in [seat for seat in state.seats if seat.seat not in dealt]:
            assert waiting.player not in first_hand
            # Two who are left play heads-up, as if nobody else were there.
            assert len(dealt) == 2 or waiting.seat in inside, "only between the button and the big blind does one wait"


def test_the_stories_reach_what_they_are_about():
    """Breaks, every game, holds released both ways, arrivals that wait, moves in mid-hand, busts."""
    seen = set()
    for seed in range(60):
        for state, event in steps(Story(seed, 120)):
            seen.add(type(event).__name__)
            if isinstance(event, HandStarted):
                seen |= {event.settings.game, f"level {event.tournament.level}"}
                if len(event.seats) < len(state.seats):
                    seen.add("waits")
                if state.spots is not None and (late := state.seat(state.spots.big_blind)) is not None and late.is_new:
                    seen.add("comes to the small blind")
            if isinstance(event, EntrantReleased):
                seen.add(event.cause)
            if isinstance(event, RunoutReleased):
                seen.add(f"by clock {event.is_by_clock}")
    assert seen >= {
        "holdem",
        "omaha",
        "naiko",
        "sarab",
        "level 3",
        "waits",
        "comes to the small blind",
        "moved",
        "removed",
        "busted",
    }
    assert seen >= {"by clock True", "by clock False", "ClockSet", "HandGranted", "ChipsAdded", "EntrantReleaseOrdered"}


@pytest.mark.soak
def test_a_thousand_stories_hold():
    for seed in range(1_000):
        story = Story(seed, 150)
        for held in HELD:
            held.hypothesis.inner_test(story)


HELD = [each for name, each in globals().items() if name.startswith("test_") and hasattr(each, "hypothesis")]
