"""The table service in this process on memory: its own servicer, actors and streams; no database and no network."""

import contextlib
import random  # noqa: TID251  (tests may use chance)
import time
from uuid import uuid4

from diwan.chassis.access import Caller, Role
from diwan.chassis.calls import Call
from diwan.chassis.errors import refusal_of
from diwan.chassis.feed import FeedEvent
from diwan.chassis.keyfile import VaultError
from diwan.chassis.pace import Pace
from diwan.chassis.store import Claim, Conflict, ConflictKind, Outcome, OutcomeKind, StoredEvent, StreamHead
from diwan.core.decider import Rejected
from diwan.core.hashing import chain_hashes
from diwan.core.table.events import BuyInRequested, SeatReleased
from diwan.wire.events import decode
from services.table.api import TableServicer
from services.table.creating import Creation
from services.table.exclusions import Kept
from services.table.hands import Hands
from services.table.hosting import Hosts
from services.table.index import SittingLine
from services.table.lobby import Lobby
from services.table.notices import NoticeBoard
from services.table.opening import Openings
from services.table.replays import Replays
from services.table.saga import BuyIns
from services.table.seats import Seats
from services.table.standing import Around, Standing
from services.table.tables import Tables

FAILS_EVERY = 20
FAILS = "the store fell over with the secret in its hands"


def now_ms():
    return int(time.time() * 1000)


class MemoryStore:
    """Streams, outcomes and the feed. While it ``fails``, it does so with every so many appends of players."""

    def __init__(self):
        self.streams, self.heads_of, self.outcomes = {}, {}, {}
        self.feed, self.sittings, self.replies = [], [], []
        self.fails, self.asked, self.failed = False, 0, 0

    async def append(self, append, meanwhile=lambda: None):
        meanwhile()
        if append.caller != "table" and self.fails:
            self.asked += 1
            if self.asked % FAILS_EVERY == 0:
                self.failed += 1
                raise RuntimeError(FAILS)
        if (append.stream_id, append.command_id) in self.outcomes:
            raise Conflict(ConflictKind.DUPLICATE_COMMAND, append.stream_id, version=0, epoch=append.epoch)
        stream = self.streams.setdefault(append.stream_id, [])
        assert append.expected_version == len(stream)
        bodies = [(event.type_id, event.schema_v, event.body) for event in append.events]
        first = len(stream) + 1
        digests = chain_hashes(
            append.prev_hash,
            append.stream_id.bytes,
            first,
            append.recorded_at_ms,
            append.command_id.bytes,
            bodies,
        )
        previous = append.prev_hash
        for number, (event, digest) in enumerate(zip(append.events, digests, strict=True), first):
            at = number, event.event_id, append.command_id, append.epoch, event.type_id, event.schema_v
            stored = StoredEvent(append.stream_id, *at, append.recorded_at_ms, event.body, previous, digest)
            stream.append(stored)
            self.feed.append(stored)
            self._note_sitting(stored)
            previous = digest
        versions = first, len(stream)
        self.outcomes[append.stream_id, append.command_id] = Outcome(
            append.stream_id,
            append.command_id,
            OutcomeKind.APPLIED,
            append.caller,
            append.request_hash,
            *versions,
            append.reply,
        )
        self.replies.append(append.reply)

    def _note_sitting(self, stored):
        event, version = decode(stored.type_id, stored.schema_v, stored.body).event, stored.version
        if isinstance(event, BuyInRequested):
            line = SittingLine(stored.stream_id, event.seat, event.player, event.is_bot, version, None)
            self.sittings.append(line)
        elif isinstance(event, SeatReleased):
            self.sittings = [
                SittingLine(each.table_id, each.seat, each.player, each.is_bot, each.first_version, version)
                if (each.table_id, each.seat, each.last_version) == (stored.stream_id, event.seat, None)
                else each
                for each in self.sittings
            ]

    async def outcome(self, stream_id, command_id):
        return self.outcomes.get((stream_id, command_id))

    async def read(self, stream_id, after=0, limit=100_000):
        return self.streams.get(stream_id, [])[after : after + limit]

    async def head(self, stream_id):
        stream = self.streams.get(stream_id)
        return stream and StreamHead(stream_id, 1, len(stream), 1, stream[-1].hash, now_ms(), None, False)  # noqa: FBT003

    async def claim(self, stream_id, _owner, *, first_event):
        stream = self.streams.get(stream_id)
        if stream is None:
            return None
        last = stream[-1]
        epoch = last.epoch + 1
        claim = Claim(stream_id, epoch, len(stream), last.hash, last.recorded_at_ms, now_ms())
        await self.append(first_event(claim))
        return Claim(stream_id, epoch, len(stream), stream[-1].hash, last.recorded_at_ms, now_ms())


class MemoryFeed:
    """What the projections would have come to."""

    def __init__(self, store):
        self._store = store

    async def read(self, after, limit):
        return [
            FeedEvent(1, seq, b"", stored)
            for seq, stored in enumerate(self._store.feed[max(after, 0) :][:limit], max(after, 0) + 1)
        ]


class MemoryVault:
    """The secrets of hands; a test looks for them everywhere else."""

    def __init__(self):
        self.secrets = {}

    async def put(self, hand_id, _commitment, secret, *, epoch):
        assert epoch > 0
        self.secrets[hand_id] = secret

    async def get(self, hand_id):
        if hand_id not in self.secrets:
            raise VaultError("NO_SECRET", hand_id)
        return self.secrets[hand_id]


class MemoryIndex:
    """An index that has come to nothing but seats: hands are known from the tables."""

    def __init__(self, store):
        self._store = store

    async def tables_of(self, _player):
        return set()

    async def tables_hosted_by(self, _host):
        return {}

    async def hand(self, _hand_id):
        return None

    async def sittings(self, since):
        return [line for line in self._store.sittings if line.table_id in since]


class NoCopies:
    """No copy of a table is ever there: what lies before a hand is folded from the beginning."""

    async def run(self, _work):
        return None


class Uncopied(Standing):
    async def around(self, table_id, first_version, limit):
        return Around(table_id, first_version, None, [], await self._store.read(table_id, first_version - 1, limit))

    async def newest(self, _table_ids):
        return {}


class NoExclusions:
    async def of(self, _player):
        return Kept()


class Names(dict):
    def want(self, player):
        pass

    async def of(self, _players):
        return {}


class RichWallet:
    async def fund_seat(self, **_):
        pass


class NoGuesses:
    def trying(self, _player):
        return contextlib.nullcontext()

    async def was_wrong(self, _player):
        pass


class NoLimit(Pace):
    def take(self, player):
        pass


class Room:
    """The service, and whoever calls it; ``told`` keeps what each caller was refused or answered, as sent."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.store = MemoryStore()
        self.vault = MemoryVault()
        index, pace, buy_ins = MemoryIndex(self.store), NoLimit(), BuyIns(RichWallet())
        standing = Uncopied(NoCopies(), self.store)
        self.tables = Tables(self.store, self.vault, index, buy_ins, Names(), "soak", standing)
        openings = Openings(self.tables, self.store, self.vault)
        hands = Hands(self.tables, openings, self.store, index)
        hosts = Hosts(self.tables, index, Names(), pace, NoGuesses(), now_ms, hosted_max=9)
        self.servicer = TableServicer(
            self.tables,
            Seats(self.tables, self.store, index, buy_ins, pace, NoExclusions(), tables_per_player_max=9),
            openings,
            hands,
            Lobby(self.tables, index, now_ms),
            hosts,
            Creation(self.tables, index, hosts, self.store, now_ms),
            NoExclusions(),
            NoticeBoard(MemoryFeed(self.store), index, lambda: len(self.store.feed), now_ms),
            pace,
            Replays(hands, openings, self.store, standing, Names(), now_ms, pace),
        )

    def call(self, subject, role=Role.PLAYER):
        return Call("/diwan.api.table.v1.TableService/Any", "soak", Caller(subject, role))

    async def ask(self, method, request, subject, role=Role.PLAYER):
        """Call a unary method; returns the bytes that the caller gets, answer or refusal, and whether it was one."""
        try:
            answer = await getattr(self.servicer, method)(request, self.call(subject, role))
        except Rejected as refusal:
            return refusal_of(refusal).SerializeToString(), False
        return answer.SerializeToString(), True


def request_id():
    return str(uuid4())
