"""S1, S2 for Capsa: what others hold, draft and lock leaves no trace in a seat's frames before the reveal (CS-22, CS-83)."""

import random  # noqa: TID251  (tests may use chance)
from uuid import UUID, uuid5

from hypothesis import given, settings

from diwan.api.table.v1 import capsa_pb2
from diwan.api.table.v1.table_service_pb2 import PlayResponse
from diwan.chassis.errors import refusal_of
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import LockSet, SaveDraft, Unlock
from diwan.core.games.capsa.events import Arrangement, SetsShown
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.redact import shown_to
from diwan.core.table.decide import advance
from diwan.wire.events import encode
from services.table.arranging import arranging
from services.table.hub import Hub
from services.table.watchers import Watcher
from tests.property.random_hands import seeds
from tests.property.test_secrecy import Deck, stored_event
from tests.unit.table.play import TABLE_ID, Table

NEXT = str(uuid5(UUID(TABLE_ID), "hand/2"))
SETTINGS = CapsaSettings(unit=1, players=3, naturals=())


class Told:
    """A hand of three, with the frames of every seat's stream and of a spectator's."""

    def __init__(self, cards):
        self.table = Table(cards=cards, capsa=SETTINGS, buy_in_max=10_000)
        for seat in range(3):
            self.table.seat(f"player-{seat}", seat=seat, amount=5_000)
        self.deck = Deck(cards)
        self.hub = Hub(self.deck, {}, lambda _state: NEXT)
        self.hub.reset(self.table.state, [])
        self.streams = [Watcher(self.hub.snapshot, player) for player in ("player-0", "player-1", "player-2", None)]
        self.told = [[] for _ in self.streams]
        for stream in self.streams:
            self.hub.attach(stream, 0)
        self.publish(self.table.start())

    @property
    def live(self):
        return self.table.state.hand

    def publish(self, events):
        first = self.table.state.version - len(events) + 1
        bodies = [encode(event, nonce=bytes(16), reveal=self.deck.reveal) for event in events]
        stored = [stored_event(first + number, body) for number, body in enumerate(bodies)]
        self.hub.publish(self.table.state, stored, shown_to=shown_to(self.table.state, events[0]))

    def take(self, command):
        """Decide, and publish as an actor does; a refusal tells nobody anything."""
        try:
            events = self.table.when(command)
        except Rejected:
            return ()
        self.publish(events)
        return events

    def frames(self, number):
        """What a stream carried; hashes of withheld bodies, which say nothing with a nonce of their own, apart."""
        told = self.told[number]
        while (frame := self.streams[number].take()) is not None:
            message = PlayResponse.FromString(frame)
            for event in message.update.events:
                assert not (event.body and event.body_hash)
                event.body_hash = b"withheld" if event.body_hash else b""
            told.append(message.SerializeToString(deterministic=True))
        return told


def arrangement(chance, holding):
    mixed = chance.sample(holding, 13)
    return Arrangement(tuple(mixed[:3]), tuple(mixed[3:8]), tuple(mixed[8:]))


def commands(chance, live, seats):
    """A command of the setting for one of some seats; rows by chance, so fouls must be confirmed."""
    seat = chance.choice(seats)
    rows = arrangement(chance, live.holdings[live.deal.places[seat]])
    kind, version = chance.choice(["draft", "draft", "lock", "unlock"]), None
    return seat, kind, rows, version


def command_of(table, step):
    seat, kind, rows, _ = step
    live, version, now = table.state.hand, table.state.version, table.now
    match kind:
        case "draft":
            return SaveDraft(seat, rows, live.turn, version, now)
        case "lock":
            return LockSet(seat, rows, live.turn, version, now, is_foul_confirmed=True)
        case _:
            return Unlock(seat, live.turn, version, now)


@settings(deadline=None, max_examples=60)
@given(seed=seeds)
def test_what_others_hold_draft_and_lock_is_in_no_frame_of_a_seat_or_spectator(seed):
    """S2: two runs with other cards in other hands, arranged in other ways: the same bytes until the sets are shown."""
    chance = random.Random(seed)
    cards = dict(enumerate(chance.sample(range(52), 52)))
    one = Told(cards)
    others = [position for holding in one.live.holdings[1:] for position in holding]
    mixed = chance.sample(others, len(others))
    other = Told(cards | {position: cards[given] for position, given in zip(others, mixed, strict=True)})
    for _ in range(12):
        if one.live.phase != "setting" or not one.table.state.is_running:
            break
        step = commands(chance, one.live, [0, 1, 2])
        seat, kind, rows, _ = step
        if seat:
            rows = arrangement(chance, one.live.holdings[one.live.deal.places[seat]])
        first, second = (
            one.take(command_of(one.table, step)),
            other.take(command_of(other.table, (seat, kind, rows, _))),
        )
        if any(isinstance(event, SetsShown) for event in (*first, *second)):
            return
        assert one.frames(0) == other.frames(0)
        assert one.frames(3) == other.frames(3)


@settings(deadline=None, max_examples=20)
@given(seed=seeds)
def test_the_comparison_sees_a_draft_that_gets_out(seed):
    """A test of non-interference that ignores what is sent would hold for anything: the seat itself is told its draft."""
    chance = random.Random(seed)
    cards = dict(enumerate(chance.sample(range(52), 52)))
    one, other = Told(cards), Told(cards)
    assert one.frames(1) == other.frames(1)
    holding = one.live.holdings[1]
    first = arrangement(chance, holding)
    second = Arrangement((first.middle[0], *first.front[1:]), (first.front[0], *first.middle[1:]), first.back)
    one.take(command_of(one.table, (1, "draft", first, None)))
    other.take(command_of(other.table, (1, "draft", second, None)))
    assert one.frames(1) != other.frames(1)
    assert one.frames(0) == other.frames(0)


@settings(deadline=None, max_examples=20)
@given(seed=seeds)
def test_no_card_is_looked_at_for_others_before_it_is_shown(seed):
    """S1: the public view of a hand that is being set reads no card at all."""
    chance = random.Random(seed)
    told = Told(dict(enumerate(chance.sample(range(52), 52))))
    told.take(command_of(told.table, (0, "draft", arrangement(chance, told.live.holdings[0]), None)))
    told.take(command_of(told.table, (1, "lock", arrangement(chance, told.live.holdings[1]), None)))
    blind = Hub(Deck({}), {}, lambda _state: NEXT)
    blind.reset(told.table.state, [])
    assert blind.view_bytes() == told.hub.view_bytes()


def answer_to(told, player, rows, kind):
    """What the seat's holder is answered to rows of cards, as clients name them: events, or the refusal with its facts."""
    live, message = told.live, capsa_pb2.CapsaRows(front=rows[0], middle=rows[1], back=rows[2])
    said = {"save_draft": message} if kind == "draft" else {"lock": capsa_pb2.CapsaLock(rows=message)}
    build = arranging(told.deck)(capsa_pb2.CapsaAction(turn=live.turn, **said), player, told.table.now)
    try:
        events, _ = advance(told.table.state, build(told.table.state), told.table.cards)
    except Rejected as refusal:
        return refusal_of(refusal).SerializeToString()
    return events


@settings(deadline=None, max_examples=60)
@given(seed=seeds)
def test_rows_with_cards_that_are_not_held_are_refused_alike_whoever_holds_them(seed):
    """S2 for refusals: naming a card that another holds says no more than naming one that nobody holds."""
    chance = random.Random(seed)
    cards = dict(enumerate(chance.sample(range(52), 52)))
    one = Told(cards)
    own = set(one.live.holdings[0])
    others = [position for position in range(52) if position not in own]
    mixed = chance.sample(others, len(others))
    other = Told(cards | {position: cards[given] for position, given in zip(others, mixed, strict=True)})
    for kind in ("draft", "lock"):
        named = chance.sample([cards[position] for position in own], 13)
        for _ in range(chance.randint(1, 13)):
            named[chance.randrange(13)] = chance.choice([*range(52), 52, 99])
        rows = named[:3], named[3:8], named[8:]
        assert answer_to(one, "player-0", rows, kind) == answer_to(other, "player-0", rows, kind)
