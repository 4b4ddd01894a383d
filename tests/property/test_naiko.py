"""What holds in every hand of Naiko, however it is played (NK-1 to NK-42, S2)."""

import random  # noqa: TID251  (tests may use chance)

import pytest
from hypothesis import given, settings

from diwan.core.decider import Rejected
from diwan.core.games.naiko.rules import TURN_POWERS, targets, why_not
from diwan.core.hand.betting import last_full_raise, legal_actions, pot_sized, price_of
from diwan.core.hand.commands import Act, AllIn, AnswerAnchor, ExpireClock, MoveDeadline, UsePower, VoidHand
from diwan.core.hand.decide import advance, decide
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    BoardDealt,
    CardGlanced,
    CardSwapped,
    DestellosReturned,
    HoleCardsDealt,
    TurnBegan,
    WindowOpened,
)
from diwan.core.hand.inverse import command_of
from diwan.core.hand.state import EndedHand
from diwan.core.redact import view
from diwan.core.view import SPECTATOR, Lens
from tests.property.naiko_hands import played_naiko, table_of
from tests.property.random_hands import game_of, seeds
from tests.property.test_hands import CHECKS, folded

pytestmark = pytest.mark.timeout(600)

COSTS = {
    CardGlanced: "hidden_glance",
    CardSwapped: "sleeve_trick",
    AnchorDeclared: "short_anchor",
}


class Referee:
    """Follows the events by its own words and says of every power whether it was lawful."""

    def __init__(self, start):
        self.settings = start.settings.naiko
        self.carousel = start.naiko.carousel
        self.seats = [seat.seat for seat in start.seats]
        self.destellos = dict(zip(self.seats, start.naiko.destellos, strict=True))
        self.used = {seat: [] for seat in self.seats}
        self.new_round("preflop")
        self.folded = set()
        self.is_power_played = False
        self.asked = None
        self.held = {}
        self.thrown = set()
        self.next_card = None

    def new_round(self, street):
        self.street = street
        self.count = 0
        self.acted = set()
        self.aimed_at = set()

    def pay(self, seat, power, cost):
        assert cost == getattr(self.settings.costs, power)
        self.destellos[seat] -= cost
        assert self.destellos[seat] >= 0

    def use(self, event, power):
        """NK-9, NK-10, NK-12."""
        assert event.seat == self.turn
        assert power in self.carousel
        assert power not in self.used[event.seat]
        assert not self.is_power_played
        self.pay(event.seat, power, event.cost)
        self.used[event.seat].append(power)
        self.is_power_played = True
        self.count += 1
        assert self.count <= self.settings.activations_per_round

    def see(self, event, state):
        match event:
            case HoleCardsDealt():
                self.held = dict(zip(self.seats, map(set, event.holdings), strict=True))
                self.next_card = sum(map(len, event.holdings))
            case BoardDealt():
                self.new_round(event.street)
                assert event.positions[0] == self.next_card
                self.next_card += len(event.positions)
                assert not self.thrown & set(event.positions)
            case TurnBegan():
                self.turn = event.seat
            case Acted():
                assert self.asked is None
                self.acted.add(event.seat)
                self.is_power_played = False
                if event.kind == "fold":
                    self.folded.add(event.seat)
            case CardGlanced():
                self.use(event, "hidden_glance")
                assert self.street != "river"
                assert event.position == self.next_card
            case CardSwapped():
                self.use(event, "sleeve_trick")
                assert (self.street, event.seat in self.acted) == ("preflop", False)
                assert event.taken == self.next_card
                self.held[event.seat].remove(event.discarded)
                self.held[event.seat].add(event.taken)
                self.thrown.add(event.discarded)
                self.next_card += 1
            case AnchorDeclared():
                self.use(event, "short_anchor")
                assert event.target != event.seat
                assert event.target not in self.acted | self.folded | self.aimed_at
                assert state.stacks[state.deal.places[event.target]] > 0
                self.aimed_at.add(event.target)
                self.target = event.target
                self.could_answer = (
                    "seal_shield" in self.carousel
                    and "seal_shield" not in self.used[event.target]
                    and self.destellos[event.target] >= self.settings.costs.seal_shield
                )
                self.answer, self.was_asked = "pass", False
            case WindowOpened():
                assert (event.seat, self.could_answer) == (self.target, True)
                self.asked, self.was_asked = event.seat, True
            case AnchorAnswered():
                assert event.seat == self.asked
                self.asked = None
                self.answer = event.answer
                if event.answer == "seal_shield":
                    self.pay(event.seat, "seal_shield", event.cost)
                    self.used[event.seat].append("seal_shield")
                else:
                    assert event.cost == 0
            case AnchorSettled():
                assert (self.asked, self.was_asked) == (None, self.could_answer)
                assert (event.target, event.is_blocked) == (self.target, self.answer == "seal_shield")


def check_referee(played):
    """Every power that was accepted was lawful; balances and holdings are what the events make of them."""
    referee = Referee(played.start)
    for event, state in folded(played):
        live = state.last if isinstance(state, EndedHand) else state
        referee.see(event, live)
        assert list(live.naiko.destellos) == list(referee.destellos.values())
        assert all(0 <= each <= referee.settings.max_destellos for each in live.naiko.destellos)
        if live.holdings:
            assert [set(holding) for holding in live.holdings] == list(referee.held.values())


def reason_of(state, command, cards):
    try:
        decide(state, command, cards)
    except Rejected as refusal:
        return refusal.reason
    return None


def check_offers(played):
    """Powers that are offered are accepted and no others; the reason told is the reason for the refusal."""
    for state in played.states[1:-1]:
        actor = state.deal.seats[state.actor]
        now_ms = state.deadline_ms if state.window is None else 0
        for seat in state.deal.seats:
            holding = state.holdings[state.deal.places[seat]]
            for power in TURN_POWERS:
                reason = why_not(state, seat, power)
                ways = {
                    "hidden_glance": [(None, None)],
                    "sleeve_trick": [(None, position) for position in holding],
                    "short_anchor": [(target, None) for target in state.deal.seats],
                }[power]
                found = [
                    reason_of(state, UsePower(seat, power, *way, state.turn, 0, now_ms), played.cards) for way in ways
                ]
                assert (None in found) == (reason is None)
                assert reason is None or reason in found
            offered = legal_actions(game_of(state), state).powers if seat == actor else ()
            assert set(offered) == {power for power in TURN_POWERS if why_not(state, seat, power) is None}
        anchor = [
            target
            for target in state.deal.seats
            if reason_of(state, UsePower(actor, "short_anchor", target, None, None, 0, now_ms), played.cards) is None
        ]
        if why_not(state, actor, "short_anchor") is None:
            assert anchor == list(targets(state))


def check_window(played):
    """NK-40, finer point 3: while an Anchor's target is asked nobody else does anything."""
    for state in played.states[1:-1]:
        window = state.window
        for seat in state.deal.seats:
            is_target = window is not None and state.deal.seats[window.target] == seat
            for answer in ("seal_shield", "pass"):
                reason = reason_of(state, AnswerAnchor(seat, answer, None, 0, 0), played.cards)
                assert reason == (None if is_target else "NO_RESPONSE_WINDOW")
        if window is None:
            continue
        actor, target = state.deal.seats[state.actor], state.deal.seats[window.target]
        late = window.deadline_ms + 1
        for seat in state.deal.seats:
            for command in (
                Act(seat, "fold", 0, None, 0, late),
                Act(seat, "call", 0, state.turn, 0, 0),
                AllIn(seat, None, 0, 0),
                UsePower(seat, "hidden_glance", None, None, state.turn, 0, late),
            ):
                assert reason_of(state, command, played.cards) == "WINDOW_OPEN"
        assert reason_of(state, ExpireClock(actor, state.turn, 0, late), played.cards) == "WINDOW_OPEN"
        for command, reason in (
            (AnswerAnchor(target, "pass", window.turn, 0, late), "DEADLINE_PASSED"),
            (AnswerAnchor(target, "pass", state.turn, 0, 0), "STALE_TURN"),
            (ExpireClock(target, state.turn, 0, late), "STALE_TURN"),
            (ExpireClock(target, window.turn, 0, window.deadline_ms - 1), "CLOCK_RUNNING"),
            (MoveDeadline(state.turn, late, "outage", 0, 0), "STALE_TURN"),
        ):
            assert reason_of(state, command, played.cards) == reason
        _, after = advance(state, MoveDeadline(window.turn, late, "outage", 0, 0), played.cards)
        assert (after.window.deadline_ms, after.deadline_ms) == (late, state.deadline_ms)


def check_standing_clock(played):
    """NK-40: the declarer's turn begins again with the time that it had left; a power alone changes no deadline."""
    for command, batch, before, after in zip(
        played.commands, played.batches, played.states[:-1], played.states[1:], strict=True
    ):
        match batch[0]:
            case AnchorDeclared():
                left_ms = before.deadline_ms - command.now_ms
                assert (after.turn, after.deadline_ms) == (before.turn, before.deadline_ms)
                if after.window is not None:
                    assert after.window.remaining_ms == left_ms
                    settings = before.deal.started.settings.naiko
                    assert after.window.deadline_ms == command.now_ms + settings.response_seconds * 1000
            case AnchorAnswered():
                assert isinstance(batch[-1], TurnBegan)
                assert after.deadline_ms - command.now_ms == before.window.remaining_ms
                assert (after.actor, after.window) == (before.actor, None)
            case CardGlanced() | CardSwapped():
                assert (after.turn, after.deadline_ms) == (before.turn, before.deadline_ms)
                assert len(batch) == 1


def check_limit(played):
    """NK-25, NK-28, NK-30: who is anchored lifts to the pot at most, or to the least that is legal."""
    for batch, before in zip(played.batches[1:], played.states[1:-1], strict=True):
        act = batch[0]
        if not isinstance(act, Acted) or act.kind not in {"bet", "raise"}:
            continue
        place = before.deal.places[act.seat]
        price = price_of(before)
        is_held = any(
            made.is_anchored and made.target == place and made.street == before.street
            for made in before.naiko.activations
        )
        if is_held or before.deal.started.settings.limit == "pot_limit":
            assert act.to <= max(pot_sized(before, place, price), price + last_full_raise(before))


def check_inverse(played):
    """A power and an answer come back from their events as they were asked for."""
    version = played.start.version
    for command, batch in zip(played.commands, played.batches, strict=True):
        if isinstance(command, UsePower | AnswerAnchor) and command.turn is not None:
            assert command_of(batch[0], version) == command
        version += len(batch)


def check_void(played):
    """H9: an interrupted hand gives back what its powers cost."""
    for state in played.states[1:-1]:
        events, after = advance(state, VoidHand("interrupted", 0, 0), played.cards)
        assert after.last.naiko.destellos == played.start.naiko.destellos
        assert any(isinstance(event, DestellosReturned) for event in events) == bool(state.naiko.activations)
        assert after.last.window is None


class Watched(dict):
    """Cards that note which positions somebody looked at."""

    def __init__(self, cards):
        super().__init__(cards)
        self.seen = set()

    def __getitem__(self, position):
        self.seen.add(position)
        return super().__getitem__(position)


def seen_by(state, cards, lens):
    return view(table_of(state), cards, lens, names={}, next_hand_id="n")


def check_views(played):
    """S2, NK-18, NK-41: what a seat sees does not change when the cards that it may not know are dealt otherwise."""
    chance = random.Random(played.start.hand_no)
    state = chance.choice(played.states[1:])
    live = state.last if isinstance(state, EndedHand) else state
    public = {*live.board, *(position for showing in live.shown for position in showing.positions)}
    for lens in (SPECTATOR, *(Lens("seat", seat) for seat in live.deal.seats)):
        known = set(public)
        if lens.seat is not None:
            place = live.deal.places[lens.seat]
            known |= {*live.holdings[place]}
            known |= {made.position for made in live.naiko.activations if made.place == place and made.position >= 0}
        cards = Watched(played.cards)
        shown = seen_by(state, cards, lens)
        assert cards.seen <= known
        hidden = [position for position in range(52) if position not in known]
        others = [played.cards[position] for position in hidden]
        chance.shuffle(others)
        dealt_otherwise = played.cards | dict(zip(hidden, others, strict=True))
        assert seen_by(state, dealt_otherwise, lens) == shown


ALL = [
    *CHECKS,
    check_referee,
    check_offers,
    check_window,
    check_standing_clock,
    check_limit,
    check_inverse,
    check_void,
    check_views,
]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_in_every_hand_of_naiko(check):
    @settings(max_examples=120, deadline=None)
    @given(seed=seeds)
    def holds(seed):
        check(played_naiko(seed))

    holds()


@pytest.mark.soak
@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_in_a_great_many_hands_of_naiko(check):
    @settings(max_examples=20_000, deadline=None)
    @given(seed=seeds)
    def holds(seed):
        check(played_naiko(seed))

    holds()


def test_the_random_hands_come_to_every_corner():
    """The checks above would be empty without these."""
    hands = [played_naiko(seed) for seed in range(300)]
    events = [event for hand in hands for event in hand.events]
    assert {event.answer for event in events if isinstance(event, AnchorAnswered)} == {"seal_shield", "pass"}
    deciders = {event.decided_by for event in events if isinstance(event, AnchorAnswered)}
    assert deciders == {"player", "clock", "system", "operator"}
    assert any(isinstance(event, AnchorSettled) and not event.is_blocked for event in events)
    assert any(isinstance(event, CardGlanced) for event in events)
    assert any(isinstance(event, CardSwapped) for event in events)
    streets = {made.street for hand in hands for made in hand.last.naiko.activations}
    assert streets == {"preflop", "flop", "turn", "river"}
    assert {hand.ended.result for hand in hands} == {"uncontested", "showdown"}
