"""The language of the hand's tests: ``given(hand).when(command).then(events)``, and hands to begin with."""

from diwan.core.cards import DECK, parse_cards
from diwan.core.decider import Rejected
from diwan.core.hand.commands import Act, AllIn, ExpireClock, StartHand
from diwan.core.hand.decide import advance, decide
from diwan.core.hand.events import Due, HandSeat
from diwan.core.hand.evolve import evolve
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand

NOW = 1_000_000
SECONDS = 20


def start(stacks, button=0, ante=0, rules_version=CURRENT_RULES_VERSION, dues=None, **settings):
    """A StartHand; ``stacks`` is a list, or a dict of seats. Blinds 5/10 left of the button unless ``dues`` says else."""
    by_seat = stacks if isinstance(stacks, dict) else dict(enumerate(stacks))
    seats = sorted(by_seat)
    hand = HandSettings(**{"small_blind": 5, "big_blind": 10, **settings})
    order = [seat for seat in seats if seat > button] + [seat for seat in seats if seat <= button]
    small, big = (order[1], order[0]) if len(seats) == 2 else order[:2]
    if dues is None:
        dues = [Due(seat, "ante", ante) for seat in seats if ante]
        dues += [Due(small, "small_blind", hand.small_blind), Due(big, "big_blind", hand.big_blind)]
    has_blind = any(due.kind == "big_blind" for due in dues)
    return StartHand(
        hand_id="00000000-0000-0000-0000-000000000001",
        hand_no=1,
        rules_version=rules_version,
        settings=hand,
        seats=tuple(HandSeat(seat, f"player-{seat}", by_seat[seat]) for seat in seats),
        button=button,
        big_blind_seat=big if has_blind else None,
        dues=tuple(dues),
        secret_commitment=b"\1" * 32,
        seeds=(),
        absent=tuple(seats),
        deck_root=b"\2" * 32,
        next_commitment=b"\3" * 32,
        version=0,
        now_ms=NOW,
    )


def deck(text):
    """Cards by position: those of the text first, then the others in the order of the pack."""
    first = parse_cards(text)
    return dict(enumerate([*first, *(card for card in DECK if card not in first)]))


class Hand:
    """A hand in a test: commands by ``do``, everything that happened in ``events``."""

    def __init__(self, command, cards=None):
        self.cards = deck("") if cards is None else cards
        self.events = []
        self.state = None
        self.now_ms = NOW
        self.batch = ()
        self.tell(command)

    def tell(self, command):
        self.batch, self.state = advance(self.state, command, self.cards)
        self.events += self.batch
        return self

    def do(self, *actions):
        """Actions such as ``fold``, ``call``, ``raise 40``, ``all_in``, each by the seat to act."""
        for action in actions:
            self.tell(self.command(action))
        return self

    def command(self, action, seat=None, turn=None, now_ms=None, **more):
        kind, _, to = action.partition(" ")
        seat = self.actor if seat is None else seat
        now_ms = self.now_ms if now_ms is None else now_ms
        if kind == "all_in":
            return AllIn(seat, turn, len(self.events), now_ms)
        if kind == "expire":
            return ExpireClock(seat, turn, len(self.events), self.live.deadline_ms if now_ms == NOW else now_ms, **more)
        return Act(seat, kind, int(to or 0), turn, len(self.events), now_ms, **more)

    def refused(self, command):
        """The reason with which a command is refused; it must change nothing."""
        before = self.state
        try:
            decide(self.state, command, self.cards)
        except Rejected as refusal:
            assert self.state is before
            return refusal.reason
        return None

    @property
    def live(self):
        return self.state.last if isinstance(self.state, EndedHand) else self.state

    @property
    def actor(self):
        return None if self.live.actor < 0 else self.live.deal.seats[self.live.actor]

    @property
    def is_over(self):
        return isinstance(self.state, EndedHand)

    @property
    def ended(self):
        assert self.is_over
        return self.state.ended

    def all(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


def fold(events, state=None):
    for event in events:
        state = evolve(state, event)
    return state
