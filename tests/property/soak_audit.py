"""What each viewer may have of a table's hands, from the rules and the log; and the search for anything else."""

from collections import Counter, defaultdict

from diwan.api.event.v1.event_pb2 import Event
from diwan.api.table.v1 import history_pb2, replay_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.core.fairness import deal
from diwan.core.games.capsa.events import (
    Answered,
    CapsaStarted,
    NaturalShown,
    SetsShown,
    ThirteenDealt,
)
from diwan.core.hand.events import (
    Acted,
    BoardDealt,
    CardGlanced,
    CardsShown,
    CardSwapped,
    HandEnded,
    HandStarted,
    HoleCardsDealt,
)
from diwan.wire.events import decode
from tests.property.soak_room import FAILS
from tests.property.soak_search import Tokens, cards_in, tokens_of

EVER = 1 << 62


class Dealt:
    """One hand as its events tell it: who may see which position, and from which version on everybody."""

    def __init__(self, started, version, secret):
        self.hand_id = started.hand_id
        self.first, self.last = version, EVER
        self.seats = {seat.seat: seat.player for seat in started.seats}
        seeds = {each.seat: each.seed for each in started.seeds}
        self.deck = deal(started.hand_id, secret, seeds)
        assert self.deck.root == started.deck_root
        self.tokens = tokens_of(started.hand_id, secret, seeds, self.deck)
        self.own = defaultdict(set)
        self.held = {}
        self.public = {}
        self.out = set()
        self.shown = set()

    def take(self, event, version):
        match event:
            case HoleCardsDealt(holdings) | ThirteenDealt(holdings):
                for seat, holding in zip(self.seats, holdings, strict=True):
                    self.held[seat] = set(holding)
                    self.own[self.seats[seat]] |= set(holding)
            case CardGlanced():
                self.own[self.seats[event.seat]].add(event.position)
            case CardSwapped():
                assert event.discarded in self.held[event.seat]
                self.held[event.seat] ^= {event.discarded, event.taken}
                self.own[self.seats[event.seat]].add(event.taken)
            case Acted(kind="fold") | Answered(answer="surrender"):
                self.out.add(event.seat)
            case BoardDealt():
                assert not set(event.positions) & set().union(*self.held.values()), "a board of somebody's cards"
                self._show(event.positions, version)
            case CardsShown() | NaturalShown():
                self._turn_up(event.seat, event.positions, version)
            case SetsShown():
                for each in event.sets:
                    rows = each.arrangement
                    self._turn_up(each.seat, (*rows.front, *rows.middle, *rows.back), version)
            case HandEnded():
                self.last = version
                assert len(self.shown) != 1 or len(self.seats) - len(self.out) > 1, "who won by folds shows nothing"

    def _turn_up(self, seat, positions, version):
        assert seat not in self.out, "who folded or surrendered shows nothing"
        assert set(positions) <= self.held[seat]
        self.shown.add(seat)
        self._show(positions, version)

    def _show(self, positions, version):
        for position in positions:
            self.public.setdefault(position, version)

    def allows(self, viewer, position, version):
        """Say whether a viewer may have a position in what tells the table up to a version."""
        return position in self.own.get(viewer, ()) or self.public.get(position, EVER) <= version


class Audit:
    """Gathers what was told, and searches it when a table's story is over."""

    def __init__(self):
        self.hands = 0
        self.events = Counter()
        self.searched = Counter()
        self.messages = 0
        self.found = Counter()
        self._told = []

    def note(self, viewer, message_class, raw):
        """Keep a message as it was sent to a viewer."""
        self._told.append((viewer, message_class, raw))

    def search(self, room, log):
        """Search everything that was told of a room's table; raises AssertionError at the first find."""
        self._hands = self._dealt(room)
        self.hands += len(self._hands)
        tokens = {(hand.hand_id, name): token for hand in self._hands for name, token in hand.tokens.items()}
        tokens |= {(hand_id, "secret"): bytes(secret) for hand_id, secret in room.vault.secrets.items()}
        self._by_id = {hand.hand_id: hand for hand in self._hands}
        self._tokens = Tokens(tokens)
        assert self._tokens.found_in(b"x" + b"".join(tokens.values())) == set(tokens), "the search finds them"
        for viewer, message_class, raw in dict.fromkeys(self._told):
            self._check(viewer, message_class.FromString(raw), raw)
        for stored in room.store.feed:
            # What is on the feed, and so on the bus: what it shows everybody, and nothing of a seat's own.
            self._look("feed", stored.body, stored.version)
        self._look("replies", b"\n".join(room.store.replies), 0)
        self._look("log", log, 0)
        assert FAILS.encode() in log or not room.store.failed, "errors are in the log that is searched"
        self._told.clear()

    def _dealt(self, room):
        hands = []
        for stored in room.store.feed:
            event = decode(stored.type_id, stored.schema_v, stored.body).event
            self.events[type(event).__name__] += 1
            if isinstance(event, HandStarted | CapsaStarted):
                hands.append(Dealt(event, stored.version, room.vault.secrets[event.hand_id]))
            elif hands:
                hands[-1].take(event, stored.version)
        return hands

    def _check(self, viewer, message, raw):
        self.messages += 1
        self._look(viewer, raw, _version_of(message))
        match message:
            case pb.PlayResponse():
                self._check_update(viewer, message.update)
                private = message.private
                self._check_cards(viewer, private, self._by_id.get(private.hand_id), 0)
            case pb.GetTableResponse():
                self._check_view(viewer, message.table)
            case pb.GetHandResponse():
                self._check_events(viewer, message.events)
            case pb.OpenHandResponse():
                assert not message.secret
                opened = set(cards_in(message))
                assert any(opened <= self._cards(hand, viewer, 0) for hand in self._hands)
                self._check_events(viewer, message.arranged)
            case history_pb2.GetMyHandResponse():
                hand = self._by_id[message.hand_id]
                self._check_events(viewer, [step.event for step in message.steps])
                for step in message.steps:
                    self._check_cards(viewer, step, hand, step.event.version)
            case replay_pb2.GetReplayResponse():
                for moment in message.moments:
                    self._check_view(viewer, moment.view)
                    self._check_events(viewer, [each.event for each in moment.events])
                    for private in moment.private:
                        self._check_cards(viewer, private, self._by_id[message.hand_id], 0)
                        assert self._by_id[message.hand_id].seats[private.seat] == viewer, "somebody else's eyes"
            case _:
                assert not list(cards_in(message)), message

    def _check_update(self, viewer, update):
        self._check_events(viewer, update.events)
        if update.HasField("view"):
            self._check_view(viewer, update.view)

    def _check_view(self, viewer, view):
        self._check_cards("nobody", view, self._by_id.get(view.hand.hand_id), view.version)

    def _check_events(self, viewer, events):
        for stored in events:
            hand = next((each for each in self._hands if each.first <= stored.version <= each.last), None)
            self._check_cards("nobody", Event.FromString(stored.body), hand, stored.version)
            event = Event.FromString(stored.body)
            for kind in ("draft_saved", "set_locked"):
                if event.HasField(kind):
                    assert hand.seats[getattr(event, kind).seat] == viewer, "a set of somebody else's"

    def _check_cards(self, viewer, message, hand, version):
        told = set(cards_in(message))
        if told:
            assert told <= self._cards(hand, viewer, version), (viewer, type(message).__name__, version)

    def _cards(self, hand, viewer, version):
        return {card for position, card in enumerate(hand.deck.cards) if hand.allows(viewer, position, version)}

    def _look(self, viewer, raw, version):
        self.searched[viewer] += len(raw)
        for hand_id, name in self._tokens.found_in(raw):
            hand = self._by_id.get(hand_id)
            is_fine = isinstance(name, int) and hand.allows(viewer, name, version)
            assert is_fine, f"{viewer} has {name} of {hand_id} at version {version}"
            self.found["own" if hand.public.get(name, EVER) > version else "shown"] += 1

    def figures(self):
        """Return what was played and searched in one line."""
        size = sum(self.searched.values()) / 1e6
        return (
            f"{self.hands} hands, {self.messages} messages, {size:.0f} MB to {len(self.searched)} viewers,"
            f" {self.found['own']} own and {self.found['shown']} shown proofs found, nothing else"
        )


def _version_of(message):
    """Return up to which version of its table a message tells anything."""
    match message:
        case pb.PlayResponse():
            update = message.update
            return max([0, update.view.version, *(event.version for event in update.events)])
        case pb.GetTableResponse():
            return message.table.version
        case pb.GetHandResponse():
            return max([0, *(event.version for event in message.events)])
        case history_pb2.GetMyHandResponse():
            return max([0, *(step.event.version for step in message.steps)])
        case replay_pb2.GetReplayResponse():
            return max([0, *(moment.version for moment in message.moments)])
        case _:
            return 0
