"""A wallet under siege: two real processes on one database, sixteen writers, killed backends, killed processes.

Whoever asks goes on asking with the same id, of either process, until there is an answer; what was answered must be true
for ever. A sampler adds the books up all the while, in snapshots of its own.
"""

import asyncio
import contextlib
import random  # noqa: TID251  (attacks may use chance)
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import asyncpg
import grpc

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.embedded import EmbeddedPostgres
from tests.integration.wallet.conftest import Prepared, faults
from tests.integration.wallet.room import NotStarted, Process, Refused, Room, a_room
from tests.integration.wallet.tables import TableLog

UNDECIDED = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}
"""How a call ends that must be asked again: whether it took effect is not known."""

ANSWER_SECONDS = 60.0


@dataclass
class Figures:
    """What was tried and what happened to it."""

    asked: int = 0
    retries: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    backend_kills: int = 0
    process_kills: int = 0
    samples: int = 0
    hands: int = 0
    holds: int = 0

    def __str__(self) -> str:
        answers = ", ".join(f"{count} {answer}" for answer, count in self.answers.most_common())
        return (
            f"{self.asked} requests tried, {self.retries} asked again without an answer; {answers}; {self.hands} hands; "
            f"{self.holds} holds raced for; "
            f"{self.backend_kills} backends and {self.process_kills} processes killed; sums sampled {self.samples} times"
        )


@dataclass(frozen=True)
class Asked:
    """A transfer that somebody asked for, and the answer."""

    request: object
    method: str
    role: Role
    subject: str
    answer: str


class Siege:
    """Two wallet processes, and whoever calls them."""

    def __init__(self, rooms: list[Room], processes: list[Process], prepared: Prepared, rng: random.Random) -> None:
        self.rooms = rooms
        self.processes = processes
        self.prepared = prepared
        self.rng = rng
        self.figures = Figures()
        self.known: dict[str, Asked] = {}
        self.posted: set[str] = set()
        self.not_posted: set[str] = set()
        self.tables: list[TableLog] = []
        self.stop = asyncio.Event()

    async def ask(self, method: str, request: object, role: Role, subject: str) -> object:
        """Ask until there is an answer; returns the response or what refused it."""
        self.figures.asked += 1
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                try:
                    return await self.once(self.rng.choice(self.rooms), method, request, role, subject)
                except Refused as refusal:
                    if refusal.code not in UNDECIDED:
                        return refusal
                self.figures.retries += 1
                await asyncio.sleep(self.rng.uniform(0.01, 0.1))

    async def once(self, room: Room, method: str, request: object, role: Role, subject: str) -> object:
        """Ask one process once; a line that broke under the call is UNAVAILABLE."""
        try:
            return await room.call(method, request, role, subject)
        except grpc.aio.UsageError:
            raise Refused(grpc.StatusCode.UNAVAILABLE, "", {}) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise Refused(grpc.StatusCode.UNAVAILABLE, "", {}) from None

    async def transfer(self, method: str, request: object, role: Role, subject: str, *, name: str = "") -> str:
        """Ask for a transfer and keep the answer: "created", "exists" or the reason."""
        answered = await self.ask(method, request, role, subject)
        answer = answered.reason if isinstance(answered, Refused) else answered.result
        self.figures.answers[answer] += 1
        key = name or request.transfer_id
        if key not in self.known:
            # Asked again because the answer was lost, it is there already: what it came to was our own doing.
            if answer == "exists":
                answer = "created"
            elif answer == "ID_ALREADY_FAILED":
                answer = answered.metadata["first_reason"]
            self.known[key] = Asked(request, method, role, subject, answer)
        return answer

    async def movement(self, request: pb.TransferRequest) -> str:
        """Ask for a movement between two accounts, as a service."""
        return await self.transfer("Transfer", request, Role.SERVICE, "t", name=request.movement.transfer_id)

    async def linked(self, request: pb.TransferLinkedRequest) -> None:
        """Ask for several movements, all or none; each of them has its answer afterwards."""
        answered = await self.ask("TransferLinked", request, Role.SERVICE, "t")
        is_posted = not isinstance(answered, Refused)
        self.figures.answers["linked" if is_posted else answered.reason] += 1
        for movement in request.movements:
            (self.posted if is_posted else self.not_posted).add(movement.transfer_id)

    async def post(self, request: pb.PostHoldRequest) -> object:
        """Ask for a hold to be turned into a transfer."""
        answered = await self.ask("PostHold", request, Role.SERVICE, "t")
        (self.not_posted if isinstance(answered, Refused) else self.posted).add(request.transfer_id)
        return answered

    async def open_account(self, player: str) -> None:
        request = pb.OpenAccountRequest(request_id=str(uuid4()))
        answered = await self.ask("OpenAccount", request, Role.PLAYER, player)
        assert not isinstance(answered, Refused), answered

    async def sit(self, table: TableLog, number: int, player: str, amount: int, *, is_bot: bool = False) -> None:
        """Take a seat by the whole saga, as the table service does it."""
        sitting = await table.ask_buy_in(number, player, amount, is_bot=is_bot)
        request = pb.FundSeatRequest(
            transfer_id=sitting, player=player, is_bot=is_bot, sitting=sitting, table_id=str(table.table_id),
            amount=amount, code="buy_in",
        )  # fmt: skip
        answer = await self.transfer("FundSeat", request, Role.SERVICE, "table")
        if answer in {"created", "exists"}:
            await table.seat(number, player, sitting, amount, is_bot=is_bot)
        else:
            await table.refuse(number, sitting, answer)

    async def deal(self, players: list[str]) -> None:
        """Keep a table in play: people come and go, hands are played, until the siege is over."""
        table = TableLog(self.rooms[0].side.store, self.rng)
        self.tables.append(table)
        await table.open()
        while not self.stop.is_set():
            free = [number for number in range(6) if number not in {seat.number for seat in table.seats}]
            for number in free[: self.rng.randrange(1, 4)]:
                if self.rng.random() < 0.3:
                    await self.sit(table, number, f"bot-{number}", self.rng.randrange(100, 900), is_bot=True)
                else:
                    seated = {seat.player for seat in table.seats}
                    player = self.rng.choice([player for player in players if player not in seated])
                    await self.sit(table, number, player, self.rng.randrange(1, 2_000))
            for _ in range(self.rng.randrange(1, 6)):
                if len(table.seats) > 1:
                    await table.play(is_void=self.rng.random() < 0.1)
                    self.figures.hands += 1
                await asyncio.sleep(0.01)
            for seat in [seat for seat in table.seats if not seat.stack or self.rng.random() < 0.3]:
                await table.leave(seat)

    async def kill_backends(self, connection: asyncpg.Connection) -> None:
        """Kill one of the wallet's backends now and then, whatever it does."""
        while not self.stop.is_set():
            await asyncio.sleep(self.rng.uniform(0.05, 0.25))
            self.figures.backend_kills += await connection.fetchval(
                "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity"
                " where usename in ('wallet_rw', 'wallet_seq') and datname = current_database()"
                " order by random() limit 1) one"
            )

    async def kill_processes(self, seconds: float) -> None:
        """Kill one process after the other with -9, and start it again; one of the two is always there."""
        number = 0
        while not self.stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), self.rng.uniform(0.5, 1.5) * seconds)
                return
            process = self.processes[number % 2]
            number += 1
            await process.kill()
            self.figures.process_kills += 1
            while True:
                # Whose backend is killed while it starts ends, and is started again by whoever watches over it.
                with contextlib.suppress(NotStarted):
                    await process.start()
                    break
                self.figures.process_kills += 1

    async def sample(self, connection: asyncpg.Connection) -> None:
        """Add the books up again and again, each time in one snapshot (L1, L2, L7)."""
        while not self.stop.is_set():
            assert await faults(connection) == []
            self.figures.samples += 1
            await asyncio.sleep(0.03)

    async def run(self, seconds: float, tasks: list[Callable[[], Awaitable[None]]], *, kill_every: float) -> None:
        """Let writers write under fire for a while, then until each has its last answer."""
        self.stop.clear()
        async with AsyncExitStack() as stack:
            connections = [await asyncpg.connect(self.prepared.superuser_url) for _ in range(2)]
            for connection in connections:
                stack.push_async_callback(connection.close)
            group = await stack.enter_async_context(asyncio.TaskGroup())
            for task in tasks:
                group.create_task(task())
            group.create_task(self.kill_backends(connections[0]))
            group.create_task(self.kill_processes(kill_every))
            group.create_task(self.sample(connections[1]))
            await asyncio.sleep(seconds)
            self.stop.set()

    async def reconcile(self) -> list[str]:
        """Return what a living process finds when it adds everything up."""
        response = await self.ask("Reconcile", pb.ReconcileRequest(), Role.AUDITOR, "auditor")
        assert not isinstance(response, Refused), response
        return [f"{check.name}: {check.finding}" for check in response.checks if not check.holds]

    async def asked_for(self, connection: asyncpg.Connection) -> set[str]:
        """Return the transfers that somebody must have asked for."""
        rows = await connection.fetch("select transfer_id from transfer where code <> all($1::text[])", list(NOT_ASKED))
        return {str(row["transfer_id"]) for row in rows}

    async def untrue_answers(self, connection: asyncpg.Connection, others: set[str]) -> list[str]:
        """Return which answers the books do not bear out, and what they hold that nobody asked for but ``others``."""
        answers = {key: asked.answer for key, asked in self.known.items()}
        created = self.posted | {key for key, answer in answers.items() if answer == "created"}
        denied = self.not_posted | answers.keys() - created
        posted = await self.asked_for(connection)
        refused = {str(row[0]): row[1] for row in await connection.fetch("select transfer_id, reason from refused")}
        wrong = [f"{key} was answered created and is not posted" for key in created - posted]
        wrong += [f"{key} was answered {answers.get(key, 'no')} and is posted" for key in denied & posted]
        wrong += [
            f"{key} was refused with {answer}, the books say {refused.get(key)}"
            for key, answer in answers.items()
            if answer in REMEMBERED and refused.get(key) != answer
        ]
        return wrong + [f"{key} is posted and nobody asked for it" for key in posted - created - others]


NOT_ASKED = {"hand", "cash_out", "buy_in_returned", "top_up_returned", "bots_float", "starting_grant"}
"""What the wallet posts by itself: settlements, chips that go home, floats, grants."""

REMEMBERED = {"EXCEEDS_BALANCE", "ACCOUNT_NOT_FOUND", "ACCOUNT_CLOSED"}


@asynccontextmanager
async def besieged(postgres: EmbeddedPostgres, prepared: Prepared, folder: Path, *, seed: int) -> AsyncIterator[Siege]:
    """Start two wallets on one database."""
    async with a_room(postgres, prepared, folder, is_running=False) as room:
        rooms, processes = [], []
        for name in ("one", "other"):
            own = folder / name
            own.mkdir()
            rooms.append(replace(room))
            processes.append(Process(rooms[-1], own))
        await asyncio.gather(*(process.start() for process in processes))
        try:
            yield Siege(rooms, processes, prepared, random.Random(seed))
        finally:
            for process in processes:
                await process.close()
