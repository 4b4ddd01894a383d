"""One Capsa hand for tests: seats are letters or numbers, cards are texts, commands go in, events come out."""

from diwan.core.cards import DECK, parse_cards
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import (
    AnswerCall,
    ExpireCapsaClock,
    LockSet,
    SaveDraft,
    StartCapsa,
    Unlock,
)
from diwan.core.games.capsa.decide import advance
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.evolve import evolve
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.events import HandSeat

START_MS = 1_000_000


def deck_of(hands, button):
    """Return the deck that deals each seat its thirteen cards (CS-4), the rest behind in the order of the pack."""
    seats = len(hands)
    assert len({card for hand in hands for card in hand}) == 13 * seats
    order = [(button + 1 + number) % seats for number in range(seats)]
    dealt = [hands[order[number % seats]][number // seats] for number in range(13 * seats)]
    return dict(enumerate([*dealt, *[card for card in DECK if card not in dealt]]))


class Hand:
    """A hand in which seat i holds ``rows[i]``: 'front | middle | back', or thirteen cards without bars."""

    def __init__(self, *rows, button=None, stacks=None, cards=None, version=0, **settings):
        self.rows = [tuple(parse_cards(part) for part in text.split("|")) for text in rows]
        seats = len(rows)
        button = seats - 1 if button is None else button
        holdings = [tuple(card for row in each for card in row) for each in self.rows]
        self.cards = deck_of(holdings, button) if cards is None else cards
        self.position_of = {card: position for position, card in self.cards.items()}
        self.state = None
        self.batches = []
        self.version = version
        self.now = START_MS
        self.when(
            StartCapsa(
                hand_id="h",
                hand_no=1,
                rules_version=1,
                settings=CapsaSettings(**{"unit": 10} | settings),
                seats=tuple(HandSeat(seat, f"p{seat}", (stacks or [100_000] * seats)[seat]) for seat in range(seats)),
                button=button,
                secret_commitment=b"s",
                seeds=(),
                absent=(),
                deck_root=b"r",
                next_commitment=b"n",
                version=self.version,
                now_ms=self.now,
            )
        )

    def when(self, command):
        """Give a command; the events that it made are returned and kept."""
        before = self.state
        events, self.state = advance(before, command, self.cards)
        folded = before
        for event in events:
            folded = evolve(folded, event)

        assert folded == self.state
        self.batches.append((self.version, command, events))
        self.version += len(events)
        return events

    def refused(self, command):
        """Return the reason of a refusal, which must change nothing."""
        before = self.state
        try:
            advance(before, command, self.cards)
        except Rejected as refusal:
            assert self.state is before
            return refusal.reason
        raise AssertionError(f"{command} was accepted")

    def arrangement(self, rows):
        parts = [parse_cards(part) for part in rows.split("|")] if isinstance(rows, str) else rows
        return Arrangement(*[tuple(self.position_of[card] for card in part) for part in parts])

    def lock_command(self, seat, rows=None, /, **more):
        rows = self.rows[seat] if rows is None else rows
        return LockSet(
            **{
                "seat": seat,
                "arrangement": self.arrangement(rows),
                "turn": None,
                "version": self.version,
                "now_ms": self.now,
            }
            | more
        )

    def lock(self, seat, rows=None, **more):
        return self.when(self.lock_command(seat, rows, **more))

    def lock_all(self):
        """Everybody without a natural locks its rows, fouls confirmed."""
        for place in self.live.setters:
            self.lock(self.live.deal.seats[place], is_foul_confirmed=True)

    def draft_command(self, seat, rows):
        return SaveDraft(seat, self.arrangement(rows), None, self.version, self.now)

    def unlock_command(self, seat):
        return Unlock(seat, None, self.version, self.now)

    def answer_command(self, seat, answer, **more):
        return AnswerCall(
            **{"seat": seat, "answer": answer, "turn": None, "version": self.version, "now_ms": self.now} | more
        )

    def play(self, seat):
        return self.when(self.answer_command(seat, "play"))

    def surrender(self, seat):
        return self.when(self.answer_command(seat, "surrender"))

    def play_all(self):
        while not self.is_over:
            self.play(self.live.deal.seats[self.live.asked])

    def expire_command(self, seat=None, **more):
        late = self.live.deadline_ms
        return ExpireCapsaClock(**{"seat": seat, "turn": None, "version": self.version, "now_ms": late} | more)

    def expire(self, seat=None):
        self.now = self.live.deadline_ms
        return self.when(self.expire_command(seat))

    @property
    def is_over(self):
        return isinstance(self.state, EndedCapsa)

    @property
    def live(self):
        return self.state.last if self.is_over else self.state

    @property
    def events(self):
        return [event for _, _, events in self.batches for event in events]

    def of_kind(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def units(self, a, b):
        """Return the units that seat ``a`` receives from seat ``b``."""
        for line in self.live.lines:
            if (line.a, line.b) == (a, b):
                return line.units
            if (line.a, line.b) == (b, a):
                return -line.units
        raise AssertionError(f"no line for {a} and {b}")

    @property
    def statuses(self):
        return [standing.status for standing in self.live.standings]

    @property
    def royalties(self):
        return [(standing.front.units, standing.middle.units, standing.back.units) for standing in self.live.standings]

    @property
    def payoffs(self):
        return list(self.state.ended.payoffs)
