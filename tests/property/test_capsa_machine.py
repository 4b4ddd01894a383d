"""A Capsa hand as a state machine: what the view offers is accepted, everything else is refused and changes nothing."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import AnswerCall, ExpireCapsaClock, LockSet, SaveDraft, StartCapsa, Unlock
from diwan.core.games.capsa.decide import CHANGES_MAX, advance
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.evolve import evolve
from diwan.core.games.capsa.redact import view
from diwan.core.games.capsa.settings import CapsaSettings, SurrenderTerms
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.events import HandSeat
from diwan.core.view import SPECTATOR

SEATS = range(4)
STACK = 10_000


class CapsaMachine(RuleBasedStateMachine):
    """One hand of two to four players."""

    @initialize(
        deck=st.permutations(range(52)),
        players=st.lists(st.sampled_from(SEATS), min_size=2, unique=True),
        button=st.sampled_from(SEATS),
        allowed=st.booleans(),
        policy=st.sampled_from(["draft_then_auto", "auto", "foul"]),
    )
    def deal(self, deck, players, button, allowed, policy):
        self.cards = dict(enumerate(deck))
        self.players = sorted(players)
        self.version = 0
        self.events = []
        self.state = None
        self.tell(
            StartCapsa(
                hand_id="h",
                hand_no=1,
                rules_version=1,
                settings=CapsaSettings(unit=10, surrender=SurrenderTerms(allowed), timeout_policy=policy),
                seats=tuple(HandSeat(seat, f"p{seat}", STACK) for seat in self.players),
                button=button,
                secret_commitment=b"",
                seeds=(),
                absent=(),
                deck_root=b"",
                next_commitment=b"",
                version=0,
                now_ms=0,
            )
        )

    def tell(self, command):
        events, self.state = advance(self.state, command, self.cards)
        self.events += events
        self.version += len(events)

    @property
    def is_over(self):
        return isinstance(self.state, EndedCapsa)

    @property
    def decision(self):
        return view(self.state, self.cards, SPECTATOR).hand.decision

    def is_locked(self, seat):
        seats = view(self.state, self.cards, SPECTATOR).hand.seats
        return next(each.has_locked for each in seats if each.seat == seat)

    def offers(self, kind, seat):
        """Say by the public view alone whether a command should be accepted."""
        decision = self.decision
        if decision is None or seat not in decision.seats:
            return False
        if decision.kind == "set":
            return {"lock": not self.is_locked(seat), "draft": not self.is_locked(seat), "unlock": self.is_locked(seat)}.get(kind, False)  # fmt: skip
        return kind == "play" or (kind == "surrender" and decision.can_surrender)

    def arrangement(self, seat, order):
        if seat not in self.players:
            return Arrangement((0, 1, 2), (3, 4, 5, 6, 7), (8, 9, 10, 11, 12))
        live = self.state.last if self.is_over else self.state
        holding = live.holdings[live.deal.places[seat]]
        positions = [holding[place] for place in order]
        return Arrangement(tuple(positions[:3]), tuple(positions[3:8]), tuple(positions[8:]))

    @rule(
        kind=st.sampled_from(["lock", "draft", "unlock", "play", "surrender"]),
        seat=st.sampled_from(SEATS),
        order=st.permutations(range(13)),
    )
    def ask(self, kind, seat, order):
        at = (None, self.version, 0)
        command = {
            "lock": lambda: LockSet(seat, self.arrangement(seat, order), *at, is_foul_confirmed=True),
            "draft": lambda: SaveDraft(seat, self.arrangement(seat, order), *at),
            "unlock": lambda: Unlock(seat, *at),
            "play": lambda: AnswerCall(seat, "play", *at),
            "surrender": lambda: AnswerCall(seat, "surrender", *at),
        }[kind]()
        is_offered, before = self.offers(kind, seat), self.state
        reason = self.refusal(command)
        assert (reason is None) == is_offered, (kind, reason)
        if reason is not None:
            assert self.state is before
            assert (reason == "HAND_OVER") == self.is_over

    def refusal(self, command):
        """Give a command; return why it was refused, None where it was not."""
        try:
            self.tell(command)
        except Rejected as refusal:
            return refusal.reason
        return None

    @precondition(lambda self: self.state is not None and not self.is_over)
    @rule()
    def run_out_of_time(self):
        self.tell(ExpireCapsaClock(None, None, self.version, self.state.deadline_ms))

    @invariant()
    def chips_are_conserved_and_the_log_says_it_all(self):
        if not getattr(self, "events", None):
            return
        folded = None
        for event in self.events:
            folded = evolve(folded, event)
        assert folded == self.state
        live = folded.last if self.is_over else folded
        assert sum(live.stacks) == STACK * len(self.players)
        assert min(live.stacks) >= 0
        assert all(play.changes <= CHANGES_MAX for play in live.plays)

    def teardown(self):
        """Clocks alone end the hand."""
        for _ in range(1 + len(getattr(self, "players", ()))):
            if getattr(self, "state", None) is not None and not self.is_over:
                self.run_out_of_time()
        assert getattr(self, "state", None) is None or self.is_over


TestCapsaMachine = CapsaMachine.TestCase
TestCapsaMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
