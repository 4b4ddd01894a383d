"""Random matches to their end: coins and entries neither come nor go, and the log is decided again (L12, P3, DESIGN 3)."""

import random  # noqa: TID251  (tests may use chance)

from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.core.decider import Rejected
from diwan.core.games.coins import Coins
from diwan.core.hand.events import BoardDealt, CardsShown, HandStarted
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.table.commands import CloseTable
from diwan.core.table.config import MatchTerms
from diwan.core.table.decide import decide
from diwan.core.table.events import MatchEnded, SeatFunded, SeatReleased
from diwan.core.table.evolve import evolve
from diwan.core.table.inverse import command_of
from tests.unit.table.play import Table

PLAYERS = ("ann", "ben", "cid", "dan", "eve")


class Match:
    """A match that is played at random until it is over."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.players = self.chance.randint(2, 5)
        sarab = SarabSettings(
            forced_bets=(10, 30, 60),
            deals_per_level=2,
            void_antes=self.chance.choice(("refund", "carry")),
            no_fold_at_or_below=self.chance.choice((0, 50)),
        )
        terms = MatchTerms(
            starting_coins=Coins(stones=20),
            entry_fee=self.chance.choice((0, 70)),
            prizes=self.chance.choice(((100,), (70, 30))),
        )
        hand = HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=sarab)
        self.table = Table(hand=hand, seats=self.players, chips="match", match=terms)
        self.decks = {}
        for player in PLAYERS[: self.players]:
            self.table.seat(player, amount=terms.entry_fee)
        self.is_asleep = self.chance.random() < 0.2
        while not self.table.state.is_closed:
            self.deal()

    def deal(self):
        cards = list(range(52))
        self.chance.shuffle(cards)
        self.table.cards = dict(enumerate(cards))
        self.table.start()
        self.decks[self.table.state.hand_no] = self.table.cards
        if self.chance.random() < 0.01 and not self.table.state.is_closing:
            self.table.when(CloseTable("host", self.table.now))
        while self.table.state.is_running:
            try:
                self.act()
            except Rejected:
                continue

    def act(self):
        roll = self.chance.random()
        if self.is_asleep or roll < 0.1:
            self.table.time_out()
        elif roll < 0.2:
            self.table.act("bet", 10_000)
        else:
            self.table.act(
                self.chance.choice(("check", "call", "fold", "bet", "raise")), self.chance.randrange(10, 400)
            )


matches = st.builds(Match, st.integers(0, 2**32))


@settings(max_examples=25, deadline=None)
@given(matches)
def test_every_match_ends_and_pays_out_exactly_its_entries(match):
    """L12, SB-38: coins are conserved while it goes on, prizes are the entries, and nothing else comes home."""
    state, funded, released, coins = None, 0, 0, None
    for batch in match.table.batches:
        for event in batch:
            state = evolve(state, event)
            if isinstance(event, SeatFunded):
                funded += event.amount
            if isinstance(event, SeatReleased):
                released += event.amount
            if isinstance(event, MatchEnded):
                assert sum(place.prize for place in event.places) == funded
                assert {place.player for place in event.places} == set(PLAYERS[: match.players])
        if state.match is not None and not state.match.is_ended:
            coins = sum(seat.stack for seat in state.seats) + state.carried
            assert coins == 200 * match.players
    assert coins is not None
    assert released == 0
    assert state.match.is_ended


@settings(max_examples=25, deadline=None)
@given(matches)
def test_every_act_of_a_match_is_decided_again_to_its_batch(match):
    """DESIGN 3: with no more cards than its log shows."""
    state, shown, deck = None, {}, {}
    for batch in match.table.batches:
        if isinstance(batch[0], HandStarted):
            shown, deck = {}, match.decks[batch[0].hand_no]
        for event in batch:
            if isinstance(event, BoardDealt | CardsShown):
                shown |= {position: deck[position] for position in event.positions}
        assert decide(state, command_of(batch[0], state), shown) == batch
        for event in batch:
            state = evolve(state, event)
