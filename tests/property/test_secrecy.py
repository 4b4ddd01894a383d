"""S1, S2, P10: cards of others never reach a viewer before they are shown, not even as the length of a message."""

import random  # noqa: TID251  (tests may use chance)
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings

from diwan.chassis.store import StoredEvent
from diwan.core.fairness import Reveal
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.redact import private_view, public_view, shown_to
from diwan.wire.events import decode, encode
from diwan.wire.views import private_view_message, table_view_message
from services.table.hub import Hub
from services.table.watchers import Watcher
from tests.property.naiko_hands import naiko_command
from tests.property.random_hands import NOW, random_command, seeds
from tests.unit.table.play import TABLE_ID, Table

NEXT = str(uuid5(UUID(TABLE_ID), "hand/2"))
RICH = NaikoSettings(gain_per_deal=3)
GAMES = {
    "holdem": HandSettings(),
    "holdem shown at once": HandSettings(show_all_in="at_once"),
    "omaha": HandSettings(game="omaha", limit="pot_limit"),
    "naiko": HandSettings(game="naiko", naiko=RICH),
    "sarab": HandSettings(game="sarab", small_blind=0, sarab=SarabSettings(forced_bets=(2,), no_fold_at_or_below=10)),
}


def salt_of(position):
    return bytes([position]) * 32


class Played:
    """A hand at a table, with what each step showed to everybody and to one seat, as it is sent."""

    def __init__(self, chance, rules, cards):
        self.looked_at = set()
        self.public = set()
        self.steps = []
        self.table = Table(cards=cards, hand=rules)
        self.table.now = NOW
        for seat in range(chance.randint(2, 4)):
            self.table.seat(f"player-{seat}", seat=seat, amount=chance.choice([40, 80, 200]))
        self.take(self.table.start())

    @property
    def is_running(self):
        return self.table.state.is_running

    def reveal(self, position):
        """A reveal as sent, without the path: its hashes hide what they stand for."""
        self.looked_at.add(position)
        return Reveal(position, self.table.cards[position], salt_of(position), ())

    def take(self, events):
        """Note what watchers get for a batch: every event, the table's view, the first seat's own cards."""
        bodies = [encode(event, nonce=bytes(16), reveal=self.reveal) for event in events]
        for stored in bodies:
            self.public |= {each.position for each in decode(stored.type_id, stored.schema_v, stored.body).reveals}
        seen = Watched(self.table.cards)
        state = self.table.state
        view = table_view_message(public_view(state, seen, names={}, next_hand_id=NEXT), state.config)
        # Everything that was looked at to tell it is told to all: nothing else can have left a trace.
        assert seen.positions | self.looked_at <= self.public
        private = private_view(state, "player-0", self.reveal)
        holding = private and {each.position for each in own_reveals(private)}
        assert self.looked_at - self.public <= (holding or set())
        self.looked_at -= holding or set()
        own = private_view_message(private).SerializeToString(deterministic=True) if private else b""
        self.steps.append(([each.body for each in bodies], view.SerializeToString(deterministic=True), own))


def own_reveals(private):
    """Everything that a seat's holder alone is shown: its cards, in Naiko also what it looked at and threw away."""
    return [*private.reveals, *(one for one in (private.glanced, private.discarded) if one is not None)]


def choose(chance, table):
    choosing = naiko_command if table.state.config.hand.game == "naiko" else random_command
    return choosing(chance, table.live, table.state.version)


class Watched(dict):
    """Cards that note which positions somebody looked at."""

    def __init__(self, cards):
        super().__init__(cards)
        self.positions = set()

    def __getitem__(self, position):
        self.positions.add(position)
        return super().__getitem__(position)


def other_cards_for_others(chance, cards, holdings):
    """Return the deck with everything that the first seat does not hold, and no board shows, in another order."""
    free = [position for holding in holdings[1:] for position in holding] + list(range(40, 52))
    mixed = chance.sample(free, len(free))
    return cards | {position: cards[other] for position, other in zip(free, mixed, strict=True)}


@pytest.mark.parametrize("name", GAMES)
@settings(deadline=None, max_examples=60)
@given(seed=seeds)
def test_a_seat_gets_the_same_bytes_whatever_the_others_hold_until_they_show(name, seed):
    """S2: two runs of one hand with other cards in other hands; and S1: nothing is read that is not shown."""
    chance = random.Random(seed)
    order = chance.sample(range(52), 52)
    cards = dict(enumerate(order))
    layout = chance.random()
    one = Played(random.Random(layout), GAMES[name], cards)
    holdings = one.table.live.holdings
    other = Played(random.Random(layout), GAMES[name], other_cards_for_others(chance, cards, holdings))
    hidden = {position for holding in holdings[1:] for position in holding}
    while one.is_running:
        command = choose(chance, one.table)
        for each in (one, other):
            each.take(each.table.when(command))
        if one.public & hidden:
            return
        assert one.steps == other.steps


@settings(deadline=None, max_examples=60)
@given(seed=seeds)
def test_the_comparison_sees_a_card_that_gets_out(seed):
    """A test of non-interference that ignores what is sent would hold for anything."""
    chance = random.Random(seed)
    cards = dict(enumerate(chance.sample(range(52), 52)))
    played = [Played(random.Random(seed), GAMES["holdem"], cards) for _ in range(2)]
    assert played[0].steps == played[1].steps
    position = played[0].table.live.holdings[0][0]
    changed = Played(random.Random(seed), GAMES["holdem"], cards | {position: (cards[position] + 1) % 52})
    assert changed.steps != played[0].steps


class Told:
    """The frames that the streams of the first seat, of another one and of a spectator carry for one hand."""

    def __init__(self, layout, rules, cards):
        self.played = Played(random.Random(layout), rules, cards)
        table = self.played.table
        self.hub = Hub(Deck(cards), {}, lambda _state: NEXT)
        self.streams = [Watcher(self.hub.snapshot, player) for player in ("player-0", "player-1", None)]
        self.told = [[], [], []]
        self.hub.reset(table.state, [])
        for stream in self.streams:
            self.hub.attach(stream, 0)

    def take(self, command):
        """Decide at the table and publish as an actor does."""
        table = self.played.table
        first = table.state.version + 1
        events = table.when(command)
        self.played.take(events)
        bodies = [encode(event, nonce=bytes(16), reveal=self.hub._cards.reveal) for event in events]
        stored = [stored_event(first + number, body) for number, body in enumerate(bodies)]
        self.hub.publish(table.state, stored, shown_to=shown_to(table.state, events[0]))

    def frames(self, number):
        """Everything that a stream has carried so far."""
        while (frame := self.streams[number].take()) is not None:
            self.told[number].append(frame)
        return self.told[number]


class Deck:
    """A table's cards, as its hub asks for them."""

    has_deck = True

    def __init__(self, cards):
        self.by_position = cards

    def reveal(self, position):
        return Reveal(position, self.by_position[position], salt_of(position), (bytes(32),) * 6)


def stored_event(version, encoded):
    nothing = UUID(int=version)
    return StoredEvent(
        UUID(TABLE_ID), version, nothing, nothing, 1, encoded.type_id, encoded.schema_v, NOW, encoded.body, b"", b""
    )


@pytest.mark.parametrize("name", GAMES)
@settings(deadline=None, max_examples=40)
@given(seed=seeds)
def test_the_frames_of_a_seat_and_of_spectators_are_the_same_whatever_others_hold(name, seed):
    """S1, S2 for the service's own frames: the holder of other cards is told them, nobody else is told anything."""
    chance = random.Random(seed)
    cards = dict(enumerate(chance.sample(range(52), 52)))
    layout = chance.random()
    one = Told(layout, GAMES[name], cards)
    holdings = one.played.table.live.holdings
    changed = other_cards_for_others(chance, cards, holdings)
    other = Told(layout, GAMES[name], changed)
    hidden = {position for holding in holdings[1:] for position in holding}
    while one.played.is_running:
        command = choose(chance, one.played.table)
        one.take(command)
        other.take(command)
        if one.played.public & hidden:
            return
        assert one.frames(0) == other.frames(0)
        assert one.frames(2) == other.frames(2)
        assert (one.frames(1) == other.frames(1)) == all(changed[each] == cards[each] for each in holdings[1])
