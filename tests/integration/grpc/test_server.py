"""The server of every service, on real connections: what it refuses, what it says, how it ends."""

import asyncio
import contextlib
import json
import re
import time
import urllib.request
from contextlib import asynccontextmanager
from uuid import uuid4

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from diwan.api.table.v1 import table_service_pb2
from diwan.chassis.access import AccessRuleMissing, Role
from diwan.chassis.auth import Authenticator, JwksFile
from diwan.chassis.calls import MESSAGE_BYTES_MAX
from diwan.chassis.keys import SigningKey, write_jwks
from diwan.chassis.server import GrpcServer, MethodMissing, Served
from diwan.chassis.service import Service, serve
from diwan.chassis.settings import ServiceSettings
from tests.integration.grpc.house import FEED, TABLE, Feed, a_house, check_hostile_calls, checked, refused

READ = "/diwan.api.feed.v1.FeedService/Read"
PLAY = "/diwan.api.table.v1.TableService/Play"


@pytest.fixture
async def house(tmp_path):
    async with a_house(tmp_path, reflection=True) as running:
        yield running


async def test_a_call_with_token_and_deadline_is_answered(house):
    answer = await house.read(17)

    assert answer.head == 17
    assert house.feed.calls[0].caller.subject == "somebody"
    assert house.feed.calls[0].caller.role is Role.SERVICE


async def test_a_refusal_has_one_error_info_and_both_languages(house):
    info = await refused(house.read(1))

    assert info.reason == "VERSION_OUT_OF_RANGE"
    assert dict(info.metadata) == {"version": "41"}


async def test_a_fault_of_ours_tells_an_incident_and_nothing_else(house):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await house.read(2)

    assert checked(caught.value).reason == "INTERNAL"
    assert "swordfish" not in repr(caught.value)
    assert (await house.read(5)).head == 5


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"seconds": -60}, id="expired"),
        pytest.param({"audience": "wallet"}, id="other_service"),
        pytest.param({"issuer": "somebody-else"}, id="other_issuer"),
        pytest.param({"key": SigningKey.generate()}, id="unknown_key"),
        pytest.param({"subject": ""}, id="no_subject"),
    ],
)
async def test_a_token_that_does_not_hold_lets_nobody_in(house, options):
    info = await refused(house.read(metadata=house.token(**options)))

    assert info.reason == "UNAUTHENTICATED"
    assert house.feed.calls == []


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x.y.z", "Basic abc", "Bearer " + "x" * 5000])
async def test_what_is_no_token_lets_nobody_in(house, header):
    metadata = [] if header is None else [("authorization", header)]

    assert (await refused(house.read(metadata=metadata))).reason == "UNAUTHENTICATED"


async def test_two_tokens_let_nobody_in(house):
    """Whoever stands between may have looked at the other one."""
    info = await refused(house.read(metadata=[*house.token(), *house.token(subject="somebody-else")]))

    assert info.reason == "UNAUTHENTICATED"
    assert house.feed.calls == []


async def test_a_role_that_the_contract_does_not_name_is_denied(house):
    for role in (Role.PLAYER, Role.BOT, Role.BACKEND, Role.AUDITOR):
        assert (await refused(house.read(metadata=house.token(role)))).reason == "PERMISSION_DENIED"

    assert house.feed.calls == []
    assert (await house.read(metadata=house.token(Role.OPERATOR))).head == 0


async def test_a_player_token_that_lives_too_long_is_refused(house):
    watch = house.tables.Watch(table_service_pb2.WatchRequest(), metadata=house.token(Role.PLAYER, seconds=3600))

    assert (await refused(watch.read())).reason == "UNAUTHENTICATED"


async def test_a_retired_key_is_refused_and_a_new_one_works_without_restart(tmp_path):
    """A7."""
    async with a_house(tmp_path, jwks_refresh_seconds=0.05) as house:
        new = SigningKey.generate()
        await house.read()
        write_jwks(tmp_path / "jwks.json", [new])

        async with asyncio.timeout(5):
            while True:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await house.read(metadata=house.token(key=new))
                    break
        assert (await refused(house.read())).reason == "UNAUTHENTICATED"


async def test_a_unary_call_without_a_deadline_is_refused(house):
    """A3."""
    assert (await refused(house.read(timeout=None))).reason == "DEADLINE_REQUIRED"
    assert house.feed.calls == []


@pytest.mark.parametrize("method", [READ, "/diwan.api.table.v1.TableService/Watch"])
async def test_who_has_no_token_cannot_hold_a_place_by_sending_nothing(house, method):
    """A3: refused by its first bytes, though its request never comes."""
    parked = [
        house.channel.stream_stream(method)(metadata=metadata)
        for metadata in ([], house.token(key=SigningKey.generate()))
    ]
    async with asyncio.timeout(5):
        for call in parked:
            assert (await refused(call.read())).reason == "UNAUTHENTICATED"


async def test_a_call_is_ended_at_our_cap_whatever_the_caller_would_wait(house, monkeypatch):
    """A3."""
    monkeypatch.setattr("diwan.chassis.calls.UNARY_SECONDS_MAX", 0.2)

    began = time.monotonic()
    info = await refused(house.read(4, timeout=60.0))

    assert info.reason == "DEADLINE_EXCEEDED"
    assert time.monotonic() - began < 2


async def raw(house, path, payload, **options):
    call = house.channel.unary_unary(path)
    return await call(payload, timeout=3.0, metadata=house.token(), **options)


async def test_garbage_is_refused_with_a_reason(house):
    for garbage in (b"\xff" * 20, b"\x08", b"\x12\xff\xff\xff\xff\x0f"):
        assert (await refused(raw(house, READ, garbage))).reason == "REQUEST_MALFORMED"
    # Deeper than any message of ours: groups within groups.
    assert (await refused(raw(house, READ, b"\x1b" * 200))).reason == "REQUEST_MALFORMED"

    assert house.feed.calls == []
    assert (await house.read(9)).head == 9


async def test_a_message_over_the_limit_is_refused(house):
    """A4."""
    unknown_field = b"\xfa\x01" + b"\xfd\xff\x03" + b"x" * (MESSAGE_BYTES_MAX - 3)
    padded = unknown_field + b"\x08\x05"
    assert len(padded) > MESSAGE_BYTES_MAX

    info = await refused(raw(house, READ, padded))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await raw(house, READ, b"x" * 4 * MESSAGE_BYTES_MAX)

    assert info.reason == "MESSAGE_TOO_LARGE"
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert house.feed.calls == []
    assert (await house.read(9)).head == 9


async def test_every_method_refuses_what_no_servicer_should_see(house):
    """A1, A4: no token, a forged one, a wrong role, garbage, one byte too many, no deadline."""
    tried = await check_hostile_calls(house.channel, house.token, [FEED, TABLE])

    assert tried > 80
    assert house.feed.calls == []
    assert house.table.open == 0
    assert (await house.read(9)).head == 9


async def test_metadata_over_the_limit_is_refused(house):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await house.read(metadata=[*house.token(), ("x-much", "y" * 9000)])

    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await house.read(9)).head == 9


async def test_a_method_that_does_not_exist_says_so(house):
    assert (await refused(raw(house, "/diwan.api.feed.v1.FeedService/Write", b""))).reason == "METHOD_UNKNOWN"


async def test_a_correlation_id_is_taken_over_and_a_wild_one_is_not(house):
    await house.read(metadata=[*house.token(), ("x-correlation-id", "tour-42")])
    await house.read(metadata=[*house.token(), ("x-correlation-id", "a b {c}")])

    assert house.feed.calls[0].correlation_id == "tour-42"
    assert house.feed.calls[1].correlation_id != "a b {c}"


async def test_calls_that_bring_no_correlation_id_get_one_each(house):
    for _ in range(3):
        await house.read()

    given = [call.correlation_id for call in house.feed.calls]
    assert len(set(given)) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in given)


async def test_a_stream_writes_the_bytes_that_it_is_given(house):
    call = house.tables.Watch(table_service_pb2.WatchRequest(after_version=12), metadata=house.token())
    first = await call.read()
    call.cancel()

    assert first.heartbeat.version == 12


async def test_a_cancelled_stream_lets_go_of_what_it_holds(house):
    """A5."""
    for _ in range(3):
        call = house.tables.Watch(table_service_pb2.WatchRequest(), metadata=house.token())
        await call.read()
        assert house.table.open == 1
        call.cancel()
        async with asyncio.timeout(2):
            await house.table.ended.wait()
        house.table.ended.clear()

    assert house.table.open == 0


async def test_a_refusal_inside_a_stream_ends_it_with_the_reason(house):
    player = house.token(Role.PLAYER)
    call = house.tables.Play(metadata=player)
    await call.write(table_service_pb2.PlayRequest(attach=table_service_pb2.Attach()))
    assert (await call.read()).heartbeat.version == 7
    await call.write(table_service_pb2.PlayRequest(action=table_service_pb2.Action()))

    info = await refused(call.read())

    assert info.reason == "NOT_YOUR_TURN"
    assert info.metadata["to_act"] == "3"


async def test_garbage_inside_a_stream_ends_it_with_a_reason(house):
    call = house.channel.stream_stream(PLAY)(metadata=house.token(Role.PLAYER))
    await call.write(b"\xff\xff\xff")

    assert (await refused(call.read())).reason == "REQUEST_MALFORMED"


async def test_a_player_has_only_so_many_streams(tmp_path):
    async with a_house(tmp_path, streams_per_caller_max=2) as house:
        calls = []
        for _ in range(2):
            calls.append(house.tables.Watch(table_service_pb2.WatchRequest(), metadata=house.token(Role.PLAYER)))
            await calls[-1].read()
        third = house.tables.Watch(table_service_pb2.WatchRequest(), metadata=house.token(Role.PLAYER))
        assert (await refused(third.read())).reason == "TOO_MANY_STREAMS"

        calls[0].cancel()
        async with asyncio.timeout(2):
            await house.table.ended.wait()
        again = house.tables.Watch(table_service_pb2.WatchRequest(), metadata=house.token(Role.PLAYER))
        assert (await again.read()).HasField("heartbeat")


async def test_a_full_server_says_so_early(tmp_path):
    """P12."""
    async with a_house(tmp_path, calls_in_flight_max=1) as house:
        parked = asyncio.create_task(house.read(3))
        await house.feed.began.wait()
        assert (await refused(house.read())).reason == "SERVER_BUSY"
        house.feed.may_end.set()

        assert (await parked).head == 3


async def test_health_says_serving_for_the_server_and_every_service(house):
    stub = health_pb2_grpc.HealthStub(house.channel)
    for name in ("", FEED.full_name, TABLE.full_name):
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=2)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_the_services_only_where_it_is_wanted(house, tmp_path):
    async def listed(channel):
        call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(timeout=2)
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        answer = await call.read()
        call.cancel()
        return {service.name for service in answer.list_services_response.service}

    assert FEED.full_name in await listed(house.channel)
    (tmp_path / "other").mkdir()
    async with a_house(tmp_path / "other") as closed:
        assert (await refused(listed(closed.channel))).reason == "METHOD_UNKNOWN"


async def test_a_call_in_flight_is_answered_while_the_server_drains(tmp_path):
    async with a_house(tmp_path) as house:
        health = health_pb2_grpc.HealthStub(house.channel)
        watched = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        in_flight = asyncio.create_task(house.read(3))
        stream = house.tables.Watch(table_service_pb2.WatchRequest(), metadata=house.token())
        await stream.read()
        await house.feed.began.wait()

        house.stop.set()

        assert (await watched.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert (await refused(stream.read())).reason == "SERVICE_DRAINING"
        assert (await refused(house.read())).reason == "SERVICE_DRAINING"
        assert not in_flight.done()
        house.feed.may_end.set()
        assert (await in_flight).head == 3


async def test_draining_ends_in_time_though_a_call_hangs(tmp_path):
    began = time.monotonic()
    async with a_house(tmp_path, drain_seconds=0.3) as house:
        hanging = asyncio.create_task(house.read(4))
        await house.feed.began.wait()
        house.stop.set()
        with pytest.raises(grpc.aio.AioRpcError):
            await hanging

    assert time.monotonic() - began < 4


async def test_metrics_have_the_names_that_dashboards_know(tmp_path):
    async with a_house(tmp_path, metrics_listen="127.0.0.1:0") as house:
        await house.read()
        await refused(house.read(1))
        url = f"http://127.0.0.1:{house.running.metrics_port}/metrics"
        text = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=2).read().decode())

    labels = 'grpc_method="Read",grpc_service="diwan.api.feed.v1.FeedService",grpc_type="unary"'
    assert f"grpc_server_started_total{{{labels}}}" in text
    for code in ("OK", "OutOfRange"):
        assert f'grpc_server_handled_total{{grpc_code="{code}",{labels}}}' in text
    for name in ("grpc_server_handling_seconds_bucket", "grpc_server_msg_received_total", "grpc_server_msg_sent_total"):
        assert name in text


async def test_the_ready_file_names_the_address_while_it_serves(tmp_path):
    ready = tmp_path / "run" / "house.json"
    async with a_house(tmp_path, ready_file=ready) as house:
        assert json.loads(ready.read_text())["address"] == house.address

    assert not ready.exists()


async def test_a_background_task_that_fails_ends_the_process_loudly(tmp_path):
    key = SigningKey.generate()
    write_jwks(tmp_path / "jwks.json", [key])

    async def breaks():
        raise RuntimeError("the relay is gone")

    @asynccontextmanager
    async def build(_settings):
        yield Service(served=[Served(FEED, Feed())], background={"relay": breaks})

    settings = ServiceSettings(service="house", jwks_file=tmp_path / "jwks.json", drain_seconds=1, metrics_listen=None)

    assert await serve(settings, build, stop=asyncio.Event()) == 1


def authenticator_for_nobody(folder):
    return Authenticator(JwksFile(folder / "none"), audience="x", issuer="x", player_token_seconds_max=1)


async def test_a_method_without_an_access_rule_stops_the_server_from_starting(tmp_path):
    """A1: a planted service whose one method says nothing about access."""
    file = descriptor_pb2.FileDescriptorProto(name=f"planted_{uuid4().hex}.proto", package="planted", syntax="proto3")
    file.message_type.add(name="Ask")
    service = file.service.add(name="PlantedService")
    service.method.add(name="Leak", input_type=".planted.Ask", output_type=".planted.Ask")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    planted = pool.FindServiceByName("planted.PlantedService")

    with pytest.raises(AccessRuleMissing, match=r"planted\.PlantedService\.Leak"):
        GrpcServer(ServiceSettings(), authenticator_for_nobody(tmp_path), [Served(planted, object())])


async def test_a_servicer_without_a_method_of_its_contract_stops_the_server_from_starting(tmp_path):
    class Empty:
        pass

    class Blocking:
        def Read(self, request, call):  # noqa: N802
            return None

    for servicer, missing in ((Empty(), r"Empty\.Read"), (Blocking(), r"Blocking\.Read")):
        with pytest.raises(MethodMissing, match=missing):
            GrpcServer(ServiceSettings(), authenticator_for_nobody(tmp_path), [Served(FEED, servicer)])


async def test_a_service_without_keys_does_not_start(tmp_path):
    @asynccontextmanager
    async def build(_settings):
        yield Service(served=[Served(FEED, Feed())])

    with pytest.raises(ValueError, match="jwks_file"):
        await serve(ServiceSettings(service="house"), build)
    with pytest.raises(FileNotFoundError):
        await serve(ServiceSettings(service="house", jwks_file=tmp_path / "none"), build)
