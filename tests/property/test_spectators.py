"""S8: who holds no seat sees a running hand so many events late, by the log and not by a clock; and all of it at its end."""

import random  # noqa: TID251  (tests may use chance)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.api.table.v1.table_service_pb2 import PlayResponse
from diwan.api.table.v1.view_pb2 import TableView
from diwan.core.decider import Rejected
from diwan.core.table.commands import FundSeat, RefuseBuyIn
from services.table.loaded import Fold
from services.table.watchers import Watcher
from tests.property.hub_house import GAMES, HubHouse
from tests.unit.table.play import asking, transfer_of


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


class House(HubHouse):
    """A table with a delay; its hub may be lost and made anew from the log."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.delay = chance.choice((1, 3, 8, 40))
        self.batch_ends, self.idle_end, self.streams = [], 1, []
        super().__init__(chance, chance.choice(sorted(GAMES)), spectator_delay_events=self.delay)
        self.amount = 3000 if self.table.state.config.capsa else 100
        for player in ("ann", "ben", "cid"):
            self.sit(player, self.amount)

    def stored(self, events, first):
        made = super().stored(events, first)
        self.batch_ends.append(made[-1].version)
        if not self.table.state.is_running:
            self.idle_end = made[-1].version
        return made

    def ask(self, player):
        transfer = transfer_of(f"{player}/{len(self.table.batches)}")
        asked = asking(player, transfer, self.table.now, amount=self.amount, post=True)
        self.do(lambda: self.table.when(asked))

    def paid(self):
        for seat in self.table.state.seats:
            if seat.pending is not None:
                transfer, now = seat.pending.transfer_id, self.table.now
                is_paid = self.chance.random() < 0.9
                answer = FundSeat(transfer, now) if is_paid else RefuseBuyIn(transfer, "NO", now)
                self.do(lambda answer=answer: self.table.when(answer))

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

    def step(self):
        roll = self.chance.random()
        player = self.chance.choice(("ann", "ben", "cid", "dan", "eve"))
        if roll < 0.06:
            self.restart()
        elif roll < 0.12:
            self.ask(player)
        elif roll < 0.15:
            self.do(lambda: self.table.stand_up(player))
        elif roll < 0.25:
            self.attach()
        elif roll < 0.4:
            self.paid()
        elif self.table.state.is_running:
            self.play()
        else:
            self.start()


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_spectators_are_late_by_the_log_and_are_told_everything_in_the_end(seed):
    house = House(seed)
    for _ in range(90):
        house.step()
