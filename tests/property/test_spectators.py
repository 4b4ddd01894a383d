"""S8: who holds no seat sees a running hand so many events late, by the log and not by a clock; and all of it at its end."""

import contextlib
import random  # noqa: TID251  (tests may use chance)
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.api.table.v1.table_service_pb2 import PlayResponse
from diwan.api.table.v1.view_pb2 import TableView
from diwan.chassis.store import StoredEvent
from diwan.core.decider import Rejected
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.redact import shown_to
from diwan.core.table.commands import CommitSecret, FundSeat, RefuseBuyIn
from diwan.wire.events import encode
from services.table.hub import Hub
from services.table.loaded import Fold
from services.table.watchers import Watcher
from tests.property.random_hands import NOW, game_of
from tests.property.test_secrecy import Deck
from tests.unit.table.play import TABLE_ID, Table, asking, transfer_of

GAMES = (
    HandSettings(),
    HandSettings(game="omaha", limit="pot_limit"),
    HandSettings(game="naiko", naiko=NaikoSettings()),
    HandSettings(game="sarab", small_blind=0, sarab=SarabSettings(forced_bets=(2,), no_fold_at_or_below=0)),
)


class Following:
    """A stream, and what somebody knows who reads it."""

    def __init__(self, house, player, after):
        self.house = house
        self.player = player
        self.events = []
        self.version = after
        self.watcher = Watcher(house.hub.snapshot, player, is_seat=False)
        house.hub.attach(self.watcher, after)

    def read(self):
        while (frame := self.watcher.take()) is not None:
            message = PlayResponse.FromString(frame)
            if message.WhichOneof("message") != "update":
                continue
            update = message.update
            for event in update.events:
                assert event.version == self.version + 1, "no hole and no duplicate"
                self.version = event.version
            if update.HasField("view"):
                assert update.view.version == self.version or update.is_snapshot
                self.version = update.view.version
                assert update.view == self.house.views[self.version], "the view as it was told to all"
        return self.version


class House:
    """A table with a delay, its hub, and its log; the hub may be lost and made anew from the log."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.delay = self.chance.choice((1, 3, 8, 40))
        hand = self.chance.choice(GAMES)
        self.table = Table(seats=6, hand=hand, spectator_delay_events=self.delay, sit_out_after=0, return_minutes=0)
        self.log, self.views, self.batch_ends, self.idle_end = [], {}, [], 1
        self.decks = {}
        self.hub = self.new_hub()
        self.hub.reset(self.table.state, [])
        self.stored(self.table.batches[0], 1)
        self.streams = []
        for player in ("ann", "ben", "cid"):
            self.sit(player)

    def new_hub(self):
        return Hub(Deck(self.table.cards), {}, lambda state: str(uuid5(UUID(TABLE_ID), f"hand/{state.hand_no + 1}")))

    def stored(self, events, first):
        command = UUID(int=first)
        made = []
        for version, event in enumerate(events, first):
            body = encode(event, nonce=bytes(16), reveal=self.hub._cards.reveal)
            made.append(
                StoredEvent(
                    UUID(TABLE_ID), version, command, command, 1, body.type_id, body.schema_v, NOW, body.body, b"", b""
                )
            )
        self.log += made
        self.batch_ends.append(made[-1].version)
        if not self.table.state.is_running:
            self.idle_end = made[-1].version
        return made

    def publish(self, events):
        state = self.table.state
        made = self.stored(events, state.version - len(events) + 1)
        self.hub.publish(state, made, shown_to=shown_to(state, events[0]))
        self.views[state.version] = TableView.FromString(self.hub.view_bytes())
        self.look()

    def do(self, ask):
        """Do something at the table and tell of it; what is refused leaves nothing to tell."""
        before = len(self.table.batches)
        with contextlib.suppress(Rejected):
            ask()
        for batch in self.table.batches[before:]:
            self.publish(batch)

    def sit(self, player):
        transfer = transfer_of(f"{player}/{len(self.table.batches)}")
        self.do(lambda: self.table.when(asking(player, transfer, self.table.now, amount=100, post=True)))

    def paid(self):
        for seat in self.table.state.seats:
            if seat.pending is not None:
                transfer = seat.pending.transfer_id
                if self.chance.random() < 0.9:
                    self.do(lambda transfer=transfer: self.table.when(FundSeat(transfer, self.table.now)))
                else:
                    self.do(lambda transfer=transfer: self.table.when(RefuseBuyIn(transfer, "NO", self.table.now)))

    @property
    def shown(self):
        """The newest version that spectators may see, by the rule itself."""
        newest = self.table.state.version
        if not self.table.state.is_running:
            return newest
        return max([self.idle_end, *(end for end in self.batch_ends if end <= newest - self.delay)])

    def holds_seat(self, player):
        seat = None if player is None else self.table.state.seat_of(player)
        return seat is not None and seat.is_funded

    def look(self):
        """Everybody has read what there is: seats everything, spectators as far as the log allows, and just so far."""
        for stream in self.streams:
            version = stream.read()
            if self.holds_seat(stream.player):
                assert version == self.table.state.version
                stream.furthest = version
            else:
                assert version == max(self.shown, getattr(stream, "furthest", 0))
        assert TableView.FromString(self.hub.view_for(None)).version == self.hub.version_for(None) == self.shown

    def attach(self):
        player = self.chance.choice((None, "ann", "ben", "cid", "dan", "eve"))
        newest = self.table.state.version if self.holds_seat(player) else self.shown
        after = self.chance.choice((0, newest, self.chance.randrange(newest + 1)))
        self.streams.append(Following(self, player, after))
        with pytest.raises(Rejected, match="VERSION_OUT_OF_RANGE"):
            Following(self, player, newest + 1)
        self.look()

    def restart(self):
        """Another process: the hub knows only what the log says, and shows spectators no more than before."""
        fold = Fold()
        cut = self.chance.randrange(len(self.log) + 1)
        for page in (self.log[:cut], self.log[cut:]):
            fold.take(page)
        behind = fold.behind()
        assert (behind[0][0].version if behind else fold.version) == self.shown
        self.hub = self.new_hub()
        self.hub.reset(self.table.state, fold.recent, behind)
        assert TableView.FromString(self.hub.view_for(None)) == self.views[self.shown]
        self.streams = []

    def play(self):
        if not self.table.state.is_running:
            if self.table.state.exchange is None:
                self.do(lambda: self.table.when(CommitSecret(bytes(32), self.table.now)))
            self.do(self.table.start)
            return
        live = self.table.live
        if live.window is not None:
            self.do(lambda: self.table.answer("pass"))
            return
        legal = legal_actions(game_of(live), live)
        kinds = [kind for kind, can in (("check", legal.check), ("call", legal.call), ("fold", legal.fold)) if can]
        self.do(lambda: self.table.act(self.chance.choice(kinds)))

    def step(self):
        roll = self.chance.random()
        player = self.chance.choice(("ann", "ben", "cid", "dan", "eve"))
        if roll < 0.06:
            self.restart()
        elif roll < 0.12:
            self.sit(player)
        elif roll < 0.15:
            self.do(lambda: self.table.stand_up(player))
        elif roll < 0.25:
            self.attach()
        elif roll < 0.4:
            self.paid()
        else:
            self.play()


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_spectators_are_late_by_the_log_and_are_told_everything_in_the_end(seed):
    house = House(seed)
    house.paid()
    for _ in range(90):
        house.step()
