"""The bots service beside the real wallet and table services: processes, PostgreSQL, NATS, gRPC, nothing scripted."""

from __future__ import annotations

import asyncio
import importlib
import os
import pkgutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

import diwan.api
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import view_pb2
from diwan.chassis.access import Role, rule_of
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, connect
from diwan.core.hand.events import Acted, HandStarted
from diwan.core.table.events import SeatReleased
from diwan.wire.events import decode

SERVICES = ("wallet", "table", "bots")
HAND = {"game": "holdem", "small_blind": 1, "big_blind": 2, "decision_seconds": 5}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    quick = {"bots": {"think_ms_min": "0", "think_ms_max": "20"}}
    with Stack(tmp_path_factory.mktemp("house"), report=unheard, services=SERVICES, overrides=quick) as running:
        yield running


@pytest.fixture
async def operator(stack: Stack) -> AsyncIterator[DiwanClient]:
    async with client_of(stack, "ops", Role.OPERATOR) as client:
        yield client


def unheard(name: str, what: str) -> None:
    """What happens to the parts of the stack is seen by what they do."""


def client_of(stack: Stack, subject: str, role: Role) -> DiwanClient:
    return connect(stack.places.services, stack.token(subject, role))


def config(name: str, **settings: Any) -> Mapping[str, Any]:
    return {"name": name, "hand": HAND, "seats": 4, "pause_ms": 20, "bots_fill": 3, **settings}


async def until[T](look: Callable[[], Any], holds: Callable[[T], bool], seconds: float = 60.0) -> T:
    """Look again and again until what is seen holds; returns it."""
    async with asyncio.timeout(seconds):
        while not holds(seen := await look()):  # noqa: ASYNC110  (what is looked at is in another process)
            await asyncio.sleep(0.1)
        return seen


def bots_in(table: view_pb2.TableView) -> set[str]:
    return {seat.player for seat in table.seats if seat.is_bot}


async def hands_played(client: DiwanClient, table_id: str, hands: int, seconds: float = 60.0) -> view_pb2.TableView:
    return await until(lambda: client.tables.get(table_id), lambda table: table.hand.hand_no >= hands, seconds)


async def close(client: DiwanClient, table_id: str) -> None:
    """Close a table and see everybody home."""
    await client.tables.close(table_id)
    await until(lambda: client.tables.get(table_id), lambda table: table.is_closed and not table.seats)


async def events_of(client: DiwanClient, table_id: str, hands: int) -> list[Any]:
    """Return the events of the first hands, decoded."""
    summaries = [hand async for hand in client.tables.hands(table_id=table_id)]
    found = []
    for summary in summaries:
        if summary.hand_no <= hands:
            stored = (await client.tables.get_hand(summary.hand_id)).events
            found += [decode(event.type_id, event.schema_version, event.body).event for event in stored]
    return found


async def causes_of_leaving(client: DiwanClient, table_id: str) -> list[str]:
    """Return why seats were left so far, in order; the table is young enough for its events to be told."""
    causes: list[str] = []
    async with client.tables.watch(table_id, after_version=1) as messages:
        async for message in messages:
            decoded = [decode(e.type_id, e.schema_version, e.body).event for e in message.update.events]
            causes += [event.cause for event in decoded if isinstance(event, SeatReleased)]
            if message.update.HasField("view"):
                return causes
    raise AssertionError("the stream ended")


async def test_bots_fill_a_table_and_play_it(operator):
    """Given a table that asks for three bots, then they play 20 hands by themselves, and every seat seeds its deck."""
    table = await operator.tables.create(config("filled"))

    played = await hands_played(operator, table.table_id, 20)

    assert len(bots_in(played)) == 3
    assert all(seat.player.startswith("bot:") for seat in played.seats)
    events = await events_of(operator, table.table_id, 15)
    assert {act.decided_by for act in events if isinstance(act, Acted)} == {"player"}, "no clock ran out"
    assert {act.kind for act in events if isinstance(act, Acted)} >= {"fold", "call", "raise"}
    starts = sorted((start for start in events if isinstance(start, HandStarted)), key=lambda start: start.hand_no)
    assert [start.hand_no for start in starts] == list(range(1, 16))
    assert all(not start.absent for start in starts[3:]), "the exchange of a seed runs during the hand before"
    status = await operator.bots.get_status()
    assert {bot.player for bot in status.bots if bot.table_id == table.table_id} == bots_in(played)
    assert sum(bot.decisions for bot in status.bots) > 20
    assert status.table_feed_cursor > 0
    await close(operator, table.table_id)
    await until(operator.bots.get_status, lambda told: not told.bots)


async def test_busted_bots_come_back(operator):
    """Given stacks of three big blinds, when 25 hands are played, then the table is still full."""
    table = await operator.tables.create(config("short", buy_in_min=6, buy_in_max=6))

    played = await hands_played(operator, table.table_id, 25)
    refilled = await until(
        lambda: operator.tables.get(table.table_id),
        lambda seen: sum(seat.stack > 0 for seat in seen.seats) >= 2 and len(seen.seats) == 3,
    )

    assert bots_in(refilled) == bots_in(played)
    await close(operator, table.table_id)


@pytest.mark.parametrize("service", ["table", "bots"])
async def test_play_goes_on_after_a_service_was_killed(stack, operator, service):
    """H9, DESIGN 8: given a table in play, when the process is killed, then the same bots play on in the same seats."""
    table = await operator.tables.create(config(f"killed {service}"))
    before = await hands_played(operator, table.table_id, 5)
    restarts = stack.restarts[service]

    os.kill(stack.child(service).pid, signal.SIGKILL)

    after = await hands_played(operator, table.table_id, before.hand.hand_no + 10, seconds=90)
    assert stack.restarts[service] == restarts + 1
    assert {(seat.seat, seat.player) for seat in after.seats} == {(seat.seat, seat.player) for seat in before.seats}
    status = await until(
        operator.bots.get_status, lambda told: sum(bot.table_id == table.table_id for bot in told.bots) == 3
    )
    assert {bot.player for bot in status.bots if bot.table_id == table.table_id} == bots_in(after)
    await close(operator, table.table_id)


async def test_a_bot_yields_to_who_waits_at_a_table_that_is_full_as_it_asked_and_none_retakes_the_seat(stack, operator):
    """CL-6: given a table filled with bots alone, when a person stands in line, then one bot goes for that person."""
    table = await operator.tables.create(config("yielding", seats=3, bots_fill=3))
    before = await hands_played(operator, table.table_id, 3)
    assert len(bots_in(before)) == 3
    async with client_of(stack, "waiting-eve", Role.PLAYER) as eve:
        await eve.wallet.open_account()
        await eve.tables.wait_for_seat(table.table_id)
        kept = await until(
            lambda: eve.tables.get(table.table_id), lambda seen: not seen.waiting or seen.waiting[0].HasField("seat")
        )
        assert len(bots_in(kept)) == 2
        hand_no = kept.hand.hand_no
        later = await hands_played(operator, table.table_id, hand_no + 3)
        assert len(bots_in(later)) == 2, "the two play on, and no third comes for the kept seat"
        answer = await eve.tables.sit_down(table.table_id, 100)
        assert answer.seat == kept.waiting[0].seat
        seated = await eve.tables.get(table.table_id)
        assert len(bots_in(seated)) == 2
        causes = await causes_of_leaving(operator, table.table_id)
        assert causes.count("yielded") == 1
    await close(operator, table.table_id)


async def test_bots_come_to_a_private_table_and_go_as_its_host_wishes(stack):
    """TB-3, CL-6: given a private table, when its host turns bots on and off, then they sit down, leave, and come again."""
    async with client_of(stack, "host-of-bots", Role.PLAYER) as host:
        wanted = config("private", is_private=True)
        table = await host.tables.create(wanted)
        played = await hands_played(host, table.table_id, 2)
        assert len(bots_in(played)) == 3
        await host.tables.private.change_settings(table.table_id, {**wanted, "bots_fill": 0})
        await until(lambda: host.tables.get(table.table_id), lambda seen: not seen.seats)
        await host.tables.private.change_settings(table.table_id, {**wanted, "bots_fill": 2})
        await until(lambda: host.tables.get(table.table_id), lambda seen: len(bots_in(seen)) == 2)
        await close(host, table.table_id)


async def test_a_bot_makes_room_for_people(stack, operator):
    """CL-6: given a full table with more players than asked for, then a bot goes after its hand."""
    hand = HAND | {"decision_seconds": 1}
    table = await operator.tables.create(config("wanted", seats=3, bots_fill=2, hand=hand, time_bank_seconds=0))
    await hands_played(operator, table.table_id, 2)
    async with client_of(stack, "ann", Role.PLAYER) as ann:
        await ann.wallet.open_account()
        await ann.tables.sit_down(table.table_id, 100)

        made_room = await until(lambda: ann.tables.get(table.table_id), lambda seen: len(bots_in(seen)) == 1)

        assert {seat.player for seat in made_room.seats if not seat.is_bot} == {"ann"}
        assert await causes_of_leaving(operator, table.table_id) == ["yielded"]
        await asyncio.sleep(1.0)
        assert len(bots_in(await ann.tables.get(table.table_id))) == 1, "a free seat is enough"
    await close(operator, table.table_id)


async def test_a_bot_is_sent_exactly_what_a_person_in_its_seat_is_sent(stack, operator):
    """P11: given a bot and a person who watch, then every byte is the same but the bot's own cards, which are just those."""
    table = await operator.tables.create(config("watched"))
    bot = min(bots_in(await hands_played(operator, table.table_id, 3)))

    seen = await asyncio.gather(
        watched_bytes(stack, bot, Role.BOT, table.table_id, private=6),
        watched_bytes(stack, "curious", Role.PLAYER, table.table_id, updates=60),
    )

    updates, privates = zip(*seen, strict=True)
    shared = updates[0].keys() & updates[1].keys()
    assert len(shared) > 20
    assert all(updates[0][version] == updates[1][version] for version in shared)
    assert not privates[1]
    async with client_of(stack, "auditor", Role.AUDITOR) as auditor:
        for hand_id, raw in list(privates[0].items())[:-1]:
            told = pb.WatchResponse.FromString(raw).private
            opened = await auditor.tables.open_hand(hand_id, seat=told.seat, reason="what a bot is sent")
            own = view_pb2.PrivateView(seat=told.seat, hand_id=hand_id, reveals=opened.seats[0].reveals)
            assert told == own, "the seat's own cards and nothing else"
    await close(operator, table.table_id)


async def watched_bytes(
    stack: Stack, player: str, role: Role, table_id: str, *, private: int = 0, updates: int = 0
) -> tuple[dict[int, bytes], dict[str, bytes]]:
    """Return raw updates by the version that they end at, and raw private views by hand; up to so many of either."""
    method = pb.DESCRIPTOR.services_by_name["TableService"].methods_by_name["Watch"]
    seen: dict[int, bytes] = {}
    privates: dict[str, bytes] = {}
    async with asyncio.timeout(60), grpc.aio.insecure_channel(stack.places.services["table"]) as channel:
        call = channel.unary_stream(
            f"/{method.containing_service.full_name}/{method.name}", request_serializer=lambda m: m.SerializeToString()
        )(pb.WatchRequest(table_id=table_id), metadata=bearer(stack, player, role))
        async for raw in call:
            message = pb.WatchResponse.FromString(raw)
            if message.HasField("update") and not message.update.is_snapshot and message.update.events:
                seen[message.update.events[-1].version] = raw
            elif message.HasField("private"):
                privates[message.private.hand_id] = raw
            if len(privates) == private > 0 or len(seen) == updates > 0:
                break
        call.cancel()
    return seen, privates


def bearer(stack: Stack, subject: str, role: Role) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {stack.token(subject, role)}"),)


def methods_of(service: str) -> list[MethodDescriptor]:
    """Return every method that a service's process serves."""
    packages = {f"diwan.api.{service}.v1"} | ({"diwan.api.feed.v1"} if service in {"table", "wallet"} else set())
    found = []
    for module in pkgutil.walk_packages(diwan.api.__path__, "diwan.api."):
        if module.name.endswith("_service_pb2") and module.name.rpartition(".")[0] in packages:
            for descriptor in importlib.import_module(module.name).DESCRIPTOR.services_by_name.values():
                found += descriptor.methods
    return found


@pytest.mark.parametrize("service", SERVICES)
async def test_a_bots_token_is_refused_at_every_method_that_is_not_for_bots(stack, service):
    """S3: given a bot's token, when every method of every running service is called, then nothing else opens."""
    refused, open_to_bots = [], []
    async with grpc.aio.insecure_channel(stack.places.services[service]) as channel:
        for method in methods_of(service):
            code = await code_of_call(channel, method, bearer(stack, "bot:amal-01", Role.BOT))
            (open_to_bots if Role.BOT in rule_of(method).roles else refused).append((method.full_name, code))

    assert refused
    assert {code for _, code in refused} == {grpc.StatusCode.PERMISSION_DENIED}
    assert grpc.StatusCode.PERMISSION_DENIED not in {code for _, code in open_to_bots}
    assert bool(open_to_bots) == (service == "table")


async def code_of_call(
    channel: grpc.aio.Channel, method: MethodDescriptor, metadata: tuple[tuple[str, str], ...]
) -> grpc.StatusCode:
    """Call a method with an empty request; returns how the call ended."""
    name = f"/{method.containing_service.full_name}/{method.name}"
    match method.client_streaming, method.server_streaming:
        case False, False:
            call = channel.unary_unary(name)(b"", metadata=metadata, timeout=5)
        case False, True:
            call = channel.unary_stream(name)(b"", metadata=metadata, timeout=5)
        case _:
            call = channel.stream_stream(name)(iter([b""]), metadata=metadata, timeout=5)
    code: grpc.StatusCode = await call.code()
    return code
