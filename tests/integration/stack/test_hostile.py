"""Bad input to every method of every running service: a clear reason, no change, and the service lives (A1, A2, L11)."""

import asyncio
from collections import Counter
from contextlib import suppress
from itertools import cycle
from uuid import uuid4

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from diwan.api.audit.v1 import audit_service_pb2
from diwan.api.bots.v1 import bots_service_pb2
from diwan.api.feed.v1 import feed_service_pb2
from diwan.api.table.v1 import table_service_pb2
from diwan.api.tournament.v1 import tournament_service_pb2
from diwan.api.wallet.v1 import wallet_service_pb2
from diwan.chassis.access import BOT_PREFIX, Role, rule_of
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.gather import NotSettledError, until
from diwan.cli.stack.stack import Stack
from diwan.client import connect
from tests.integration.grpc.house import check_hostile_calls, checked, methods_of

pytestmark = pytest.mark.timeout(240)

FEED = feed_service_pb2.DESCRIPTOR.services_by_name["FeedService"]
SERVED = {
    "table": [table_service_pb2.DESCRIPTOR.services_by_name["TableService"], FEED],
    "wallet": [wallet_service_pb2.DESCRIPTOR.services_by_name["WalletService"], FEED],
    "tournament": [tournament_service_pb2.DESCRIPTOR.services_by_name["TournamentService"], FEED],
    "bots": [bots_service_pb2.DESCRIPTOR.services_by_name["BotsService"]],
    "audit": [audit_service_pb2.DESCRIPTOR.services_by_name["AuditService"]],
}
METHODS = {
    f"{service}{name}": (service, name, method) for service, of in SERVED.items() for name, method, _ in methods_of(*of)
}

TEXTS = (
    "", "x", "\0", "a\0b", "a\nb", "]: (", "\u202eevil", "\u200f", "\U000e0001", "\N{GRINNING FACE}" * 40, "é" * 10_000,
    "x" * 60_000, "٣" * 36, str(uuid4()), str(uuid4()).upper(), f"{{{uuid4()}}}", f"urn:uuid:{uuid4()}", "' or 1=1 --",
    "%s%n{0}", "../../x", "-1", "MTIz",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**63 - 1, -(2**63), 2**64 - 1)
BYTES = (b"", bytes(32), b"\xff" * 33, b"x" * 60_000)
LIMITS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}
VALUES = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: BYTES,
    FieldDescriptor.TYPE_BOOL: (True,),
    FieldDescriptor.TYPE_ENUM: (0, 1, 2, 99, -1),
} | {kind: [number for number in NUMBERS if low <= number <= high] for kind, (low, high) in LIMITS.items()}


WRITTEN_TOO_LATE = "Internal error from Core"


def good_fields(message, good):
    """Fill in what is good, and return every plain field as (the message that holds it, the field)."""
    fields = []
    for field in message.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            inner = getattr(message, field.name)
            fields += good_fields(inner.add() if field.is_repeated else inner, good)
        elif not field.is_repeated:
            fields.append((message, field))
            if field.name in good:
                setattr(message, field.name, good[field.name]())
    return fields


def spoiled_requests(request_class, good):
    """Yield requests of which each has one field that is not as it should be."""
    for place, (_, field) in enumerate(good_fields(request_class(), good)):
        for value in VALUES[field.type]:
            request = request_class()
            holder, _ = good_fields(request, good)[place]
            setattr(holder, field.name, value)
            yield request


class Target:
    """A running house with one table of bots."""

    def __init__(self, stack):
        self.stack = stack
        self.good = {"request_id": lambda: str(uuid4()), "transfer_id": lambda: str(uuid4()), "reason": lambda: "why"}

    def token(self, role, subject="mallory"):
        name = BOT_PREFIX + subject if role is Role.BOT else subject
        return (("authorization", f"Bearer {self.stack.token(name, role)}"),)

    async def open(self):
        async with connect(self.stack.places.services, self.stack.token("host", Role.OPERATOR)) as host:
            blinds = {"small_blind": 5, "big_blind": 10}
            config = {"name": "Fez", "seats": 6, "bots_fill": 3, "hand": blinds, "pause_ms": 100}
            table_id = (await host.tables.create(config)).table_id
            self.doomed = (await host.tables.create(config | {"bots_fill": 0})).table_id
            tournaments = [(await host.tournaments.create("sit_and_go_6")).tournament.tournament_id for _ in range(2)]
            self.doomed_tournament = tournaments.pop()

            hands = []

            async def has_played():
                hands[:] = [hand.hand_id async for hand in host.tables.hands(table_id=table_id) if hand.last_version]
                return bool(hands)

            await until("a hand is played", has_played)
        names = {
            "table_id": table_id,
            "tournament_id": tournaments.pop(),
            "hand_id": hands[-1],
            "player": "mallory",
            "sitting": str(uuid4()),
            "code": "top_up",
        }
        self.good |= {name: lambda value=value: value for name, value in names.items()}

    def pids(self):
        return {name: self.stack.child(name).pid for name in SERVED}

    async def told(self, channel, name, method, request, role):
        """Send a request and return the reason of its refusal, OK for none; every error must hold what errors hold."""
        raw, options = request.SerializeToString(), {"metadata": self.token(role), "timeout": 10.0}
        try:
            if method.client_streaming:
                return await self._told_by_play(channel, name, raw, options)
            if method.server_streaming:
                call = channel.unary_stream(name)(raw, **options)
                await call.read()
                call.cancel()
            else:
                await channel.unary_unary(name)(raw, **options)
        except grpc.aio.AioRpcError as error:
            return checked(error).reason
        return "OK"

    async def _told_by_play(self, channel, name, raw, options):
        """A seat's stream: an attachment that holds, then the message, then anything that comes back."""
        attach = table_service_pb2.Attach(table_id=self.good["table_id"](), on_behalf_of="mallory")
        messages = [table_service_pb2.PlayRequest(attach=attach).SerializeToString(), raw]
        try:
            return await self._answered(channel.stream_stream(name)(**options), messages)
        except grpc.aio.AioRpcError as error:
            if error.details() != WRITTEN_TOO_LATE:
                raise
        # The attachment was refused before the message went: grpc then loses the reason.
        return await self._answered(channel.stream_stream(name)(**options), messages[:1])

    async def _answered(self, call, messages):
        with suppress(asyncio.InvalidStateError):  # the answer is there already
            for message in messages:
                await call.write(message)
            await call.done_writing()
        reason = "OK"
        async for answer in call:
            refusal = table_service_pb2.PlayResponse.FromString(answer).result.refusal
            reason = refusal.reason or reason
        return reason


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    with Stack(tmp_path_factory.mktemp("hostile"), report=lambda *_: None, overrides=DEMO_SETTINGS) as stack:
        target = Target(stack)
        asyncio.run(target.open())
        yield target


@pytest.mark.parametrize("service", SERVED)
async def test_no_token_wrong_role_garbage_and_too_much_are_refused_by_every_method(target, service):
    """A1, A3: over the real services, in their own processes."""
    before = target.pids()
    async with grpc.aio.insecure_channel(target.stack.places.services[service]) as channel:
        tried = await check_hostile_calls(channel, target.token, SERVED[service])
    assert tried >= 4 * sum(len(each.methods) for each in SERVED[service])
    assert target.pids() == before


@pytest.mark.parametrize("key", METHODS)
async def test_fields_with_anything_in_them_are_answered_with_a_reason_that_blames_the_caller(target, key):
    """A2, L11: NUL, marks of direction, 60,000 characters, negative and huge numbers; nothing is a fault of ours."""
    service, name, method = METHODS[key]
    # Somebody who may close a table closes it: that one is not the one that must play on.
    good = target.good | ({"table_id": lambda: target.doomed} if name.endswith("CloseTable") else {})
    good |= {"tournament_id": lambda: target.doomed_tournament} if name.endswith("CancelTournament") else {}
    answers, roles = Counter(), cycle(sorted(rule_of(method).roles))
    async with grpc.aio.insecure_channel(target.stack.places.services[service]) as channel:
        for request in spoiled_requests(GetMessageClass(method.input_type), good):
            answers[await target.told(channel, name, method, request, next(roles))] += 1
    faults = {"INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN_OUTCOME", "SERVICE_UNAVAILABLE", "TABLE_QUARANTINED"}
    faults |= {"TOURNAMENT_QUARANTINED", "SECRETS_UNAVAILABLE"}
    assert not answers.keys() & faults, answers


async def test_the_house_plays_on_after_all_that(target):
    """The same processes still deal; nothing was restarted."""
    assert all(not count for count in target.stack.restarts.values()), target.stack.restarts
    async with connect(target.stack.places.services, target.stack.token("host", Role.OPERATOR)) as host:
        table_id = target.good["table_id"]()
        hand_no = (await host.tables.get(table_id)).hand.hand_no

        async def has_played():
            return (await host.tables.get(table_id)).hand.hand_no > hand_no + 2

        try:
            await until("hands go on", has_played)
        except NotSettledError:
            pytest.fail(f"no hand goes on at {await host.tables.get(table_id)}")
        assert (await host.wallet.get_totals()).sum == 0
