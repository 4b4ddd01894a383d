"""H10: wherever a stream is cut, and from whatever version it goes on, what is known then is what the uncut one knows."""

import random  # noqa: TID251  (tests may use chance)
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.api.table.v1.table_service_pb2 import PlayResponse
from diwan.core.decider import Rejected
from diwan.core.hand.events import TimeBankBegan, WindowOpened
from diwan.core.redact import public_view, view
from diwan.core.table.evolve import evolve
from diwan.core.view import SPECTATOR
from diwan.wire.events import decode
from diwan.wire.views import read_table_view
from services.table.watchers import Watcher
from tests.property.hub_house import GAMES, HubHouse
from tests.unit.table.play import TABLE_ID


class Reader:
    """What somebody knows who reads a stream."""

    def __init__(self, house, player, after):
        self.watcher = Watcher(house.hub.snapshot, player, is_seat=False)
        self.events, self.view, self.private, self.has_snapshot = [], None, b"", False
        house.hub.attach(self.watcher, after)

    def read(self):
        while (frame := self.watcher.take()) is not None:
            message = PlayResponse.FromString(frame)
            if message.HasField("update"):
                self.events += message.update.events
                self.has_snapshot |= message.update.is_snapshot
                if message.update.HasField("view"):
                    self.view = message.update.view
            elif message.HasField("private"):
                self.private = message.private.SerializeToString(deterministic=True)
        return self


class Cut(HubHouse):
    """A house at which, after every batch, readers of a seat and spectators come back from versions of every age."""

    PLAYERS = ("ann", "ben", "cid")

    def __init__(self, seed, game):
        self.uncut = {}
        self.states = {}
        self.shown = {}
        self.seen = set()
        super().__init__(random.Random(seed), game, time_bank_seconds=0 if game == "capsa" else 4)
        self.states[1] = self.table.state
        self.uncut = {player: Reader(self, player, 0) for player in (*self.PLAYERS, None)}
        for player in self.PLAYERS:
            self.sit(player, 3000 if game == "capsa" else 100)

    def look(self):
        state, newest = self.table.state, self.table.state.version
        self.keep_states()
        for player, uncut in self.uncut.items():
            uncut.read()
            assert uncut.view == self.views[newest]
            ages = {0, newest, newest - 1, *self.chance.choices(range(1, newest + 1), k=2)}
            for after in range(newest + 1) if self.chance.random() < 0.02 else ages:
                self.comes_back(player, after)
            for beyond in (newest + 1, newest + 1000, -1):
                with pytest.raises(Rejected, match="VERSION_OUT_OF_RANGE"):
                    Reader(self, player, beyond)
        if state.config.capsa is None:
            assert self.folded(state) == replace(
                read_table_view(self.views[newest]), settings=self.folded(state).settings
            )
            self.seen |= {type(event) for event in self.table.batches[-1]}

    def keep_states(self):
        """Fold what the uncut spectator was told, by the product's own fold; the seats of Capsa keep theirs to themselves."""
        version = max(self.states)
        for stored in self.log:
            if stored.version <= version:
                continue
            decoded = decode(stored.type_id, stored.schema_v, stored.body)
            if type(decoded.event).__name__ in {"HandStarted", "CapsaStarted"}:
                self.shown = {}
            self.shown |= {reveal.position: reveal.card for reveal in decoded.reveals}
            self.states[stored.version] = evolve(self.states[stored.version - 1], decoded.event)

    def folded(self, state):
        """The public view as the events alone give it."""
        next_hand_id = str(uuid5(UUID(TABLE_ID), f"hand/{state.hand_no + 1}"))
        shown = public_view(state, self.shown, names={}, next_hand_id=next_hand_id)
        assert view(state, self.shown, SPECTATOR, names={}, next_hand_id=next_hand_id).table == shown
        return shown

    def comes_back(self, player, after):
        """Go on from a version, with the table as it was then: now everything is as it is for who never left."""
        newest, uncut = self.table.state.version, self.uncut[player]
        back = Reader(self, player, after).read()
        self.hub.detach(back.watcher)
        assert back.view == uncut.view
        assert back.private == uncut.private
        assert back.has_snapshot == (after in {0, newest})
        if back.has_snapshot:
            assert not back.events
            return
        assert [event.version for event in back.events] == list(range(after + 1, newest + 1)), "no hole, no duplicate"
        told = [event for event in uncut.events if event.version > after]
        assert back.events[-len(told) :] == told
        if self.table.state.config.capsa is None:
            state = self.states[after]
            for event in back.events:
                state = evolve(state, decode(event.type_id, event.schema_version, event.body).event)
            assert state == self.table.state


@pytest.mark.parametrize("game", GAMES)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_a_reader_that_was_cut_anywhere_knows_what_the_uncut_one_knows(game, seed):
    house = Cut(seed, game)
    for _ in range(3):
        house.start()
        for _ in range(60):
            if not house.table.state.is_running:
                break
            house.play()


def test_the_cuts_lie_in_response_windows_and_in_time_banks_too():
    """A test of cuts that never came into one would say nothing of them."""
    seen, seed = set(), 0
    while not {WindowOpened, TimeBankBegan} <= seen and seed < 6:
        house, seed = Cut(seed, "naiko"), seed + 1
        for _ in range(4):
            house.start()
            while house.table.state.is_running:
                house.play()
        seen |= house.seen
    assert {WindowOpened, TimeBankBegan} <= seen
