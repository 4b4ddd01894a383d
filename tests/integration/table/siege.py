"""Tables that are played by impatient clients while their service is killed and frozen; what they were told is kept."""

import asyncio
import contextlib
import random  # noqa: TID251  (tests may use chance)
import signal
import socket
import time
from dataclasses import dataclass, field
from uuid import uuid4

import grpc

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1.table_service_pb2_grpc import TableServiceStub
from diwan.chassis.access import Role
from diwan.chassis.ids import command_id_of
from diwan.client.connection import CHANNEL_OPTIONS
from tests.integration.table.house import a_wallet, error_of, has_decision, keys_in, player_of
from tests.integration.table.test_crash import a_process, checked, log_of

CHIPS = 100_000
PLAYERS = ("ann", "ben", "cid")
ACTED = 14
_ASK_AGAIN = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
}


def free_address():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


@dataclass
class Command:
    """A decision under one request id, with everything that was answered to it: versions and whether it was before."""

    player: str
    request: pb.ActRequest
    answers: list = field(default_factory=list)
    refusals: list = field(default_factory=list)


class Table:
    """One table's play: a decision at a time, each sent once, twice or three times, and old ones again."""

    def __init__(self, siege, table_id, seed):
        self.siege = siege
        self.table_id = table_id
        self.chance = random.Random(seed)
        self.commands = []
        self.went_on = asyncio.Event()

    async def play(self):
        version = 0
        while True:
            view = await self.view_after(version)
            if not has_decision(view):
                await asyncio.sleep(0.01)
                continue
            decision, player = view.hand.decision, player_of(view, view.hand.decision.seat)
            rivals = [self.command(player, decision) for _ in range(2 if self.chance.random() < 0.15 else 1)]
            await asyncio.gather(*(self.send(each) for each in rivals for _ in range(self.chance.choice((1, 1, 2, 3)))))
            version = max([answer.last_version for each in rivals for answer in each.answers], default=version)
            self.went_on.set()
            if self.chance.random() < 0.25:
                await self.send(self.chance.choice(self.commands))

    def command(self, player, decision):
        kinds = ["check"] * 5 if decision.can_check else ["call"] * 5
        kinds += ["raise" if decision.can_raise else "bet"] if decision.can_raise or decision.can_bet else []
        kinds += [] if decision.can_check else ["fold"]
        kind = self.chance.choice(kinds)
        to = decision.min_to if kind in {"bet", "raise"} else 0
        action = pb.Action(turn=decision.turn, kind=hand_pb2.ActionKind.Value(f"ACTION_KIND_{kind.upper()}"), to=to)
        request = pb.ActRequest(request_id=str(uuid4()), table_id=self.table_id, action=action)
        self.commands.append(Command(player, request))
        return self.commands[-1]

    async def send(self, command):
        """Send a decision until it is answered for certain."""
        self.siege.sent += 1
        outcome = await self.siege.surely("Act", command.request, command.player)
        if isinstance(outcome, str):
            command.refusals.append(outcome)
        else:
            command.answers.append(outcome.result)

    async def view_after(self, version):
        while True:
            table = await self.siege.surely("GetTable", pb.GetTableRequest(table_id=self.table_id), "host")
            if table.table.version >= version:
                return table.table


class Siege:
    """A table service at one address that dies and comes back, and the tables that are played there."""

    def __init__(self, start, address, key, seed):
        self._start = start
        self._lives = None
        self._house = None
        self._channel = grpc.aio.insecure_channel(address, CHANNEL_OPTIONS)
        self._stub = TableServiceStub(self._channel)
        self._key = key
        self._metadata = {}
        self.chance = random.Random(seed)
        self.tables = []
        self.sent = self.retried = 0
        self.slowest = {}
        self.back = 0.0

    # ---- the service ------------------------------------------------------------------------------------------------

    async def begin(self):
        """Start the process; again after it was killed."""
        self._lives = self._start()
        self._house = await self._lives.__aenter__()

    async def end(self):
        await self._lives.__aexit__(None, None, None)

    async def kill(self):
        self._house.process.kill()
        await self._house.process.wait()
        await self.end()
        await self.begin()

    async def freeze(self):
        self._house.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(self.chance.uniform(0.5, 2.5))
        self._house.process.send_signal(signal.SIGCONT)

    async def hurt(self, blow):
        """Strike in mid-play, and wait until every table has gone on; note how long the slowest took from the blow on."""
        await asyncio.sleep(self.chance.uniform(0.5, 2.0))
        began = time.monotonic()
        if blow == "freeze":
            await self.freeze()
            began = time.monotonic()
        else:
            await self.kill()
        self.back = max(self.back, time.monotonic() - began)
        for table in self.tables:
            table.went_on.clear()
        async with asyncio.timeout(60):
            await asyncio.gather(*(table.went_on.wait() for table in self.tables))
        self.slowest[blow] = max(self.slowest.get(blow, 0.0), time.monotonic() - began)

    # ---- its callers ------------------------------------------------------------------------------------------------

    async def surely(self, method, request, subject):
        """Ask until somebody answers for certain; returns the answer, or the reason of a refusal."""
        while True:
            try:
                return await getattr(self._stub, method)(request, timeout=5, metadata=self._metadata_of(subject))
            except grpc.aio.AioRpcError as error:
                if error.code() not in _ASK_AGAIN:
                    return error_of(error)[0]
            self.retried += method == "Act"
            await asyncio.sleep(0.05)

    def _metadata_of(self, subject):
        made, metadata = self._metadata.get(subject, (0.0, ()))
        if time.monotonic() - made > 60:
            token = self._key.mint(subject, Role.OPERATOR if subject == "host" else Role.PLAYER, "table", seconds=300)
            metadata = (("authorization", f"Bearer {token}"),)
            self._metadata[subject] = (time.monotonic(), metadata)
        return metadata

    async def open(self, number):
        """Open tables and seat three players at each."""
        house = self._house
        for seed in range(number):
            table_id = await house.create(decision_seconds=600, reserve_seconds=3600, buy_in_max=CHIPS)
            for player in PLAYERS:
                await house.sit(table_id, f"{player}{seed}", amount=CHIPS)
            self.tables.append(Table(self, table_id, self.chance.random()))

    @contextlib.asynccontextmanager
    async def playing(self):
        """Play at every table while the block runs; then stop between two decisions."""
        players = [asyncio.create_task(table.play()) for table in self.tables]
        try:
            yield
            for task in players:
                assert not task.done(), task.exception()
        finally:
            for task in players:
                task.cancel()
            await asyncio.gather(*players, return_exceptions=True)

    async def close(self):
        await self.end()
        await self._channel.close()


@contextlib.asynccontextmanager
async def a_siege(postgres, database, folder, seed=1):
    key, address = keys_in(folder), free_address()
    async with a_wallet(folder) as wallet:
        siege = Siege(lambda: a_process(postgres, database, folder, wallet, key, listen=address), address, key, seed)
        await siege.begin()
        try:
            yield siege
        finally:
            await siege.close()


async def nothing_is_lost_or_doubled(postgres, database, siege):
    """Hold what callers were told against the logs, every decision of which is made again; returns their number."""
    decisions = 0
    for table in siege.tables:
        rows = await log_of(postgres, database, table.table_id)
        state = checked(table.table_id, rows)
        assert sum(seat.stack for seat in state.seats) == CHIPS * len(PLAYERS), "chips are off"
        by_command = {}
        for row in rows:
            by_command.setdefault(row["command_id"], []).append(row)
        for command in table.commands:
            stored = by_command.get(command_id_of(command.player, command.request.request_id), [])
            acts = [row for row in stored if row["type_id"] == ACTED]
            decisions += len(acts)
            assert_told_truly(command, stored, acts)
        acted = sum(1 for row in rows if row["type_id"] == ACTED)
        assert acted == sum(
            any(row["type_id"] == ACTED for row in by_command.get(command_id_of(c.player, c.request.request_id), []))
            for c in table.commands
        ), "an action that nobody sent"
    return decisions


def assert_told_truly(command, stored, acts):
    """Once in the log or not at all; every answer names the same events, and at most one says that it was now."""
    assert len(acts) == (1 if stored else 0)
    versions = {(answer.first_version, answer.last_version) for answer in command.answers}
    if stored:
        assert versions <= {(stored[0]["version"], stored[-1]["version"])}
        assert not command.refusals, "refused although it took effect"
    else:
        assert not versions, "an answer without an event"
        assert set(command.refusals) <= {"STALE_TURN", "NOT_YOUR_TURN", "HAND_OVER"}, command.refusals
    assert sum(not answer.is_replayed for answer in command.answers) <= 1
