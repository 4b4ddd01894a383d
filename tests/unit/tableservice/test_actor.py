"""A table's actor without a database: what it does when the store is slow, silent, or not its own any more."""

import asyncio
import contextlib
import time
from types import SimpleNamespace
from uuid import uuid4

import pytest
from asyncpg import CannotConnectNowError, InterfaceError

from diwan.api.table.v1.table_service_pb2 import PlayResponse
from diwan.api.table.v1.view_pb2 import SEAT_STATUS_SITTING_OUT, TableView
from diwan.chassis.clock import DatabaseClock
from diwan.chassis.store import Appended, Claim, Conflict, ConflictKind, Overloaded, UnknownOutcome
from diwan.chassis.store.batch import chain_of
from diwan.core.decider import Rejected
from diwan.core.evaluation import evaluate
from diwan.core.hand.commands import Act, ExpireClock
from diwan.core.hand.events import Acted, TurnBegan
from diwan.core.hand.settings import HandSettings
from diwan.core.table.checking import checked
from diwan.core.table.commands import SitIn, SitOut
from diwan.core.table.config import TableConfig
from diwan.core.table.events import BuyInRequested, SeatFunded, TableCreated
from diwan.core.table.evolve import evolve
from diwan.wire.events import decode
from services.table import actor as module
from services.table.actor import Actor
from services.table.asking import MAILBOX_MAX
from services.table.cards import HandCards
from services.table.conduct import FAULTS_MAX, GRACE_MS
from services.table.loaded import Loaded
from services.table.refusals import REASONS_PER_SEAT_MAX, Refusals
from services.table.stream import TableStream
from services.table.watchers import ANSWERS_MAX, Watcher


class Store:
    """Stores in memory; ``troubles`` are raised first, one an append."""

    def __init__(self):
        self.appends = []
        self.troubles = []
        self.has_meanwhile = True
        self.gate = asyncio.Event()
        self.gate.set()

    async def append(self, append, meanwhile=None):
        if meanwhile is not None and self.has_meanwhile:
            meanwhile()
        await self.gate.wait()
        if self.troubles:
            trouble = self.troubles.pop(0)
            if trouble is not None:
                raise trouble
        self.appends.append(append)
        return Appended(append.expected_version + 1, append.expected_version + len(append.events), b"")

    async def outcome(self, _stream_id, _command_id):
        return None

    async def read(self, *_):
        return []


class Vault:
    async def put(self, *_, **__):
        return None


class Nobody:
    def look(self):
        return None

    def happened(self, *_):
        return None


def loaded(store, *, players=1, epoch=1, table_id=None):
    table_id = table_id or uuid4()
    config = checked(TableConfig(name="t", hand=HandSettings(decision_seconds=60), pause_ms=600_000))
    state = evolve(None, TableCreated(str(table_id), config, "host", 1))
    for seat in range(players):
        transfer = str(uuid4())
        event = BuyInRequested(seat, f"p{seat}", False, 100, transfer, 1, False)  # noqa: FBT003  (fields of an event)
        state = evolve(evolve(state, event), SeatFunded(seat, 100, transfer, 1))
    claim = Claim(table_id, epoch, state.version, bytes(32), 1, int(time.time() * 1000))
    return Loaded(TableStream(store, claim), state, [], DatabaseClock(claim.database_now_ms), 0, [], [])


@pytest.fixture
async def table():
    evaluate(range(7))
    store, reclaimed = Store(), []

    async def reclaim(actor):
        reclaimed.append(actor.epoch)
        return loaded(store, epoch=actor.epoch + 1, table_id=actor.table_id) if len(reclaimed) < 2 else None

    first = loaded(store)
    actor = Actor(first, store, HandCards(first.stream.table_id, Vault()), {}, Nobody(), reclaim)
    actor.store, actor.reclaimed = store, reclaimed
    actor.start()
    await asyncio.sleep(0.05)
    yield actor
    store.gate.set()
    await actor.stop()


def sitting_out(actor, *, is_out=True):
    def build(_state):
        now = actor.clock.now_ms()
        return SitOut("p0", "player", now) if is_out else SitIn("p0", post_at_once=False, now_ms=now)

    return actor.ask(build, command_id=uuid4(), caller="p0", request_hash=b"h")


def conflict(kind, actor):
    return Conflict(kind, actor.table_id, version=0, epoch=0)


async def test_an_append_in_doubt_is_made_again_until_it_is_certain(table):
    """D9: unknown is never taken for no."""
    table.store.troubles = [UnknownOutcome("silence"), UnknownOutcome("silence")]
    answer = await sitting_out(table)
    assert table.state.seat(0).is_sitting_out
    assert answer.first_version == table.state.version
    assert table.reclaimed == []


async def test_an_append_in_doubt_that_a_busy_store_cannot_be_asked_about_is_decided_by_a_claim(table):
    """D9: `Overloaded` says of its own attempt alone that nothing was stored; the one before may have been."""
    table.store.troubles = [UnknownOutcome("silence"), Overloaded("its row stays locked")]
    await sitting_out(table)
    assert (table.reclaimed, table.epoch) == ([1], 2)
    assert table.state.seat(0).is_sitting_out


@pytest.mark.parametrize("trouble", [TimeoutError(), CannotConnectNowError("starting up"), InterfaceError("closed")])
async def test_an_append_in_doubt_is_asked_about_until_the_log_can_be_read(table, trouble):
    """D9: a database that restarts again just then is asked once more, and the request keeps its answer."""
    store, troubles = table.store, [trouble]
    store.troubles = [UnknownOutcome("silence"), conflict(ConflictKind.DUPLICATE_COMMAND, table)]
    appending = store.append

    async def append(append, meanwhile=None):
        digest = chain_of(append)[-1]
        store.tried = [SimpleNamespace(hash=digest)]
        return await appending(append, meanwhile)

    async def read(*_):
        if troubles:
            raise troubles.pop()
        return store.tried

    store.append, store.read = append, read
    answer = await sitting_out(table)
    assert answer.first_version == table.state.version
    assert table.state.seat(0).is_sitting_out
    assert table.reclaimed == []


@pytest.mark.parametrize("kind", [ConflictKind.STALE, ConflictKind.FENCED])
async def test_after_a_lost_compare_and_set_the_request_is_decided_on_what_is_true(table, kind):
    """No repair by discarding: the state is dropped and claimed again."""
    table.store.troubles = [conflict(kind, table)]
    await sitting_out(table)
    assert (table.reclaimed, table.epoch) == ([1], 2)
    assert table.state.seat(0).is_sitting_out


def updates_of(watcher):
    """Return what a watcher has been told since it was asked last: version and view of each update."""
    told = []
    while (frame := watcher.take()) is not None:
        message = PlayResponse.FromString(frame)
        if message.WhichOneof("message") == "update":
            told.append((message.update.is_snapshot, message.update.events, message.update.view))
    return told


def sits_out(view):
    return view.seats[0].status == SEAT_STATUS_SITTING_OUT


@pytest.mark.parametrize("has_meanwhile", [True, False])
async def test_what_was_written_ahead_is_told_when_it_is_stored_and_not_before(table, has_meanwhile):
    """O4: it is the same as what is written afterwards, where the store never said that there is time."""
    table.store.has_meanwhile = has_meanwhile
    watcher = Watcher(table.hub.snapshot, player="p0")
    table.hub.attach(watcher, 0)
    updates_of(watcher)
    table.store.gate.clear()
    asked = asyncio.create_task(sitting_out(table))
    await asyncio.sleep(0.05)
    assert updates_of(watcher) == []
    assert not sits_out(TableView.FromString(table.hub.view_bytes()))

    table.store.gate.set()
    answer = await asked
    [(is_snapshot, events, view)] = updates_of(watcher)
    assert not is_snapshot
    assert [event.version for event in events] == list(range(answer.first_version, answer.last_version + 1))
    assert view == TableView.FromString(table.hub.view_bytes())
    assert sits_out(view)
    table.hub.reset(table.state, [])
    assert view == TableView.FromString(table.hub.view_bytes()), "as it is written from the state alone"


async def test_what_was_written_ahead_of_a_lost_compare_and_set_is_never_told(table):
    """O4, O5: whoever watches goes on from a snapshot of what is true, and hears of the batch that was stored alone."""
    watcher = Watcher(table.hub.snapshot, player="p0")
    table.hub.attach(watcher, 0)
    updates_of(watcher)
    table.store.troubles = [conflict(ConflictKind.STALE, table)]
    answer = await sitting_out(table)
    (is_snapshot, events, view), (is_another, told, after) = updates_of(watcher)
    assert (is_snapshot, len(events), sits_out(view)) == (True, 0, False)
    assert (is_another, sits_out(after)) == (False, True)
    assert [event.version for event in told] == list(range(answer.first_version, answer.last_version + 1))


async def test_a_table_that_others_own_answers_everybody_and_ends_its_streams(table):
    """O5: who asks is told to connect again, nobody waits for ever."""
    watcher = Watcher(table.hub.snapshot)
    table.hub.attach(watcher, 0)
    table.store.troubles = [conflict(ConflictKind.FENCED, table), conflict(ConflictKind.FENCED, table)]
    asked = [asyncio.create_task(sitting_out(table)) for _ in range(3)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert {outcome.reason for outcome in outcomes} == {"TABLE_MOVED"}
    with pytest.raises(Rejected, match="TABLE_MOVED"):
        watcher.take()
    with pytest.raises(Rejected, match="TABLE_MOVED"):
        await sitting_out(table)
    assert table.is_gone


async def test_a_store_that_takes_nothing_more_is_said_so_and_nothing_has_changed(table):
    version = table.state.version
    table.store.troubles = [Overloaded("full")]
    with pytest.raises(Rejected, match="SERVER_BUSY"):
        await sitting_out(table)
    assert table.state.version == version


@contextlib.asynccontextmanager
async def in_a_hand():
    """A table of two with an open decision, the clock of which runs out when `late` says so."""
    evaluate(range(7))
    store = Store()
    first = loaded(store, players=2)

    async def reclaim(_actor):
        return None

    actor = Actor(first, store, HandCards(first.stream.table_id, Vault()), {}, Nobody(), reclaim)
    actor.store = store
    actor.start()
    try:
        await until(lambda: actor.state.is_running)
        yield actor
    finally:
        await actor.stop()


async def until(condition):
    async with asyncio.timeout(10):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


def late(actor):
    """Let the time of the open decision be over."""
    actor._alarm.stop()
    actor._alarm._timer = None  # it was set to what the clock said before
    actor.clock._offset_ms += 61_000
    actor.wake()


async def test_a_store_that_takes_nothing_more_costs_nobody_a_turn_and_voids_no_hand(monkeypatch):
    """O7, H9: given a full store when a clock runs out, when it takes something again, then the decision has time again."""
    monkeypatch.setattr("services.table.actor.BUSY_SECONDS", 0.001)
    async with in_a_hand() as table:
        turn = table.state.hand.turn
        # One more than the faults after which a hand is given up, and one as the time is given back.
        table.store.troubles = [Overloaded("full")] * (FAULTS_MAX + 1)
        late(table)
        await until(lambda: not table.store.troubles)
        await until(lambda: table.is_gone or table.state.hand.deadline_ms > table.clock.now_ms())
        assert (table.is_gone, table.state.is_running, table.state.hand.turn) == (False, True, turn)
        assert table.state.hand.deadline_ms - table.clock.now_ms() > GRACE_MS - 1_000


async def test_a_table_is_taken_over_while_the_store_is_full(monkeypatch):
    """H9: what a new owner does first waits, and the table is not set aside."""
    monkeypatch.setattr("services.table.actor.BUSY_SECONDS", 0.001)
    async with in_a_hand() as table:
        resume = table._conduct.resume
        table.store.troubles = [Overloaded("full")] * 3
        table.silent_since_ms = table.clock.now_ms() - 3_600_000
        await table._surely(resume)
        assert not table.store.troubles
        assert table.state.is_running
        assert not table.is_gone


async def test_a_hand_whose_clock_fails_over_and_over_is_voided_and_its_table_plays_on(monkeypatch):
    """H9: a fault of ours in the hand hangs no table; after so many attempts all chips are back."""
    real = module.advance

    def failing(state, command, cards):
        if isinstance(command, ExpireClock):
            raise ZeroDivisionError
        return real(state, command, cards)

    monkeypatch.setattr(module, "advance", failing)
    monkeypatch.setattr("services.table.conduct._RETRY_MS", 1)
    async with in_a_hand() as table:
        late(table)
        await until(lambda: table.is_gone or not table.state.is_running)
        assert not table.is_gone
        assert table.state.hand.last.is_void
        assert [seat.stack for seat in table.state.seats] == [100, 100]


async def test_a_fault_of_ours_costs_one_request_and_not_the_table(table):
    def build(_state):
        raise ZeroDivisionError

    with pytest.raises(Rejected, match="INTERNAL"):
        await table.ask(build, command_id=uuid4(), caller="p0", request_hash=b"h")
    await sitting_out(table)
    assert table.state.seat(0).is_sitting_out


async def test_requests_beyond_the_mailbox_are_refused_at_once(table):
    """P12: bounded, whoever asks."""
    table.store.gate.clear()
    asked = [asyncio.create_task(sitting_out(table)) for _ in range(MAILBOX_MAX + 20)]
    await asyncio.sleep(0.05)
    busy = [task for task in asked if task.done()]
    assert {task.exception().reason for task in busy} == {"TABLE_BUSY"}
    assert len(busy) >= 19
    table.store.gate.set()
    await asyncio.gather(*asked, return_exceptions=True)


async def test_stopping_does_not_wait_for_ever_for_a_store_that_is_silent(table, monkeypatch):
    monkeypatch.setattr(module, "STOP_SECONDS", 0.1)
    table.store.gate.clear()
    asked = asyncio.create_task(sitting_out(table))
    await asyncio.sleep(0.05)
    async with asyncio.timeout(2):
        await table.stop()
        with pytest.raises(Rejected, match="SERVICE_DRAINING"):
            await asked


async def test_a_reader_that_asks_and_does_not_read_is_ended():
    watcher = Watcher(lambda _: [])
    for _ in range(ANSWERS_MAX + 1):
        watcher.tell(b"answer")
    with pytest.raises(Rejected, match="READER_TOO_SLOW"):
        watcher.take()


def test_refusals_are_counted_by_seat_and_reason_within_bounds():
    refusals = Refusals()
    for number in range(100):
        refusals.count(3, f"REASON_{number % 40}")
    counts = refusals.counts()
    assert len(counts) == REASONS_PER_SEAT_MAX
    assert {each.seat for each in counts} == {3}
    assert refusals.counts() == counts, "they are kept until they stand in the log"
    refusals.forget()
    assert not refusals


async def test_a_decision_that_was_sent_before_it_was_asked_for_is_received_when_it_was():
    """H8: a turn's name can be guessed; the log never shows an answer before its question."""
    async with in_a_hand() as actor:
        live = actor.state.hand
        asked_ms = next(
            append.recorded_at_ms
            for append in actor.store.appends
            if any(isinstance(said_by(event), TurnBegan) for event in append.events)
        )

        def build(state):
            early = asked_ms - 60_000
            return Act(live.deal.seats[live.actor], "fold", 0, live.turn, state.version, early)

        await actor.ask(build, command_id=uuid4(), caller="p0", request_hash=b"h")
        acted = next(
            said
            for append in actor.store.appends
            for event in append.events
            if isinstance(said := said_by(event), Acted)
        )
        assert acted.received_at_ms == asked_ms


def said_by(event):
    return decode(event.type_id, event.schema_v, event.body).event
