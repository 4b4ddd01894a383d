"""The audit as a process beside real services: over the bus and over gRPC, through kill -9 (P5, D6, D13, S4)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from diwan.api.audit.v1 import audit_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli.replay import Wanted, tell
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, DiwanError, connect
from diwan.core.log import StreamKind
from diwan.verifier import verify_stream
from diwan.wire.stored import logged_event

OWNER_CHANGED = 41

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A house without bots."""
    data = tmp_path_factory.mktemp("house")
    with Stack(data, report=lambda *_: None, services=("wallet", "table", "audit")) as running:
        yield running


@asynccontextmanager
async def client_of(stack: Stack, name: str, role: Role) -> AsyncIterator[DiwanClient]:
    async with connect(stack.places.services, stack.token(name, role)) as client:
        yield client


async def plays(stack: Stack, table_id: str, name: str) -> None:
    """Sit down and check or call, for ever."""
    async with client_of(stack, name, Role.PLAYER) as client:
        await client.wallet.open_account()
        await client.tables.sit_down(table_id, 1000, post_at_once=True)
        async with client.tables.play(table_id) as seat:
            async for _ in seat:
                decision = seat.decision
                if decision is not None:
                    await seat.act(decision.turn, "check" if decision.can_check else "call")


@asynccontextmanager
async def played_table(stack: Stack, client: DiwanClient) -> AsyncIterator[str]:
    """A table at which three people play while the body runs."""
    config = {"name": "watched", "hand": {"small_blind": 5, "big_blind": 10}, "pause_ms": 1, "seats": 6}
    table = await client.tables.create(config)
    players = [asyncio.create_task(plays(stack, table.table_id, f"{name} {table.table_id}")) for name in "abc"]
    try:
        yield table.table_id
    finally:
        for player in players:
            player.cancel()
        await asyncio.gather(*players, return_exceptions=True)


async def status_with(client: DiwanClient, hands: int, seconds: float = 60) -> pb.GetStatusResponse:
    """The audit's status once it has verified so many hands."""
    async with asyncio.timeout(seconds):
        while True:
            status = await client.audit.get_status()
            if status.hands_verified >= hands:
                return status
            await asyncio.sleep(0.1)


async def ended_hands(client: DiwanClient, table_id: str, count: int) -> list[str]:
    """The ids of the hands of this table that have ended, newest first, once there are so many."""
    async with asyncio.timeout(60):
        while True:
            hands = [hand.hand_id async for hand in client.tables.hands(table_id=table_id) if hand.last_version]
            if len(hands) >= count:
                return hands
            await asyncio.sleep(0.05)


async def verdict_on(client: DiwanClient, hand_id: str) -> pb.GetHandVerdictResponse:
    """What the audit thinks of a hand that has ended, once it has looked."""
    async with asyncio.timeout(30):
        while True:
            try:
                verdict = await client.audit.get_hand_verdict(hand_id)
            except DiwanError as error:
                if error.reason != "HAND_NOT_FOUND":
                    raise
            else:
                if verdict.acts:
                    return verdict
            await asyncio.sleep(0.05)


async def test_what_is_played_is_verified_and_nothing_is_found(stack):
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        status = await status_with(client, 5)
        assert [feed.service for feed in status.feeds] == ["table", "wallet"]
        assert [finding async for finding in client.audit.findings()] == []
        assert (status.hands_not_verified, status.hands_cannot_say) == (0, 0)
        hand_id = (await ended_hands(client, table_id, 1))[0]
        verdict = await verdict_on(client, hand_id)
        assert verdict.verdict == pb.VERDICT_VERIFIED
        assert verdict.acts > 2


async def test_killed_in_mid_play_it_goes_on_where_it_was(stack):
    """D6, and the bus gone for it meanwhile: whatever it missed is read again."""
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client):
        before = await status_with(client, 3)
        os.kill(stack.child("audit").pid, signal.SIGKILL)
        after = await status_with(client, before.hands_verified + 5)
        assert (after.findings, after.hands_not_verified, after.hands_cannot_say) == (0, 0, 0)
        assert after.feeds[0].cursor > before.feeds[0].cursor
    assert stack.restarts["audit"] >= 1


async def test_the_log_of_a_killed_table_service_is_verified_whole(stack):
    """H3, H9, O3: owners change, hands are resumed or voided, and every command can still be decided again."""
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        before = await ended_hands(client, table_id, 2)
        os.kill(stack.child("table").pid, signal.SIGKILL)
        await ended_hands(client, table_id, len(before) + 3)
        after = await client.audit.get_status()
        assert (after.findings, after.hands_not_verified, after.hands_cannot_say) == (0, 0, 0)
        service = client.with_token(stack.token("op", Role.OPERATOR))
        feed = [event async for event in service.feed("table").events()]
    stream_id = UUID(table_id).bytes
    events = [logged_event(each.event) for each in feed if each.event.stream_id == stream_id]
    last_command = events[-1].command_id
    whole = [event for event in events if event.command_id != last_command]
    report = verify_stream(stream_id, StreamKind.TABLE, whole)
    assert report.is_verified, (report.at_version, report.rule, report.expected, report.found)
    assert len(report.hands) >= 4
    owners = [each for each in whole if each.type_id == OWNER_CHANGED]
    assert len(owners) >= 2
    assert sorted({each.epoch for each in whole}) == [0, *(each.epoch for each in owners)], "0 created the table"


async def test_a_hand_is_told_as_each_may_see_it(stack):
    """S4 and the one door to hidden cards."""
    async with client_of(stack, "op", Role.OPERATOR) as client:

        def tables_of(role, subject):
            return client.with_token(stack.token(subject, role)).tables

        async with played_table(stack, client) as table_id:
            hand_id = (await ended_hands(client, table_id, 1))[0]
        public = await tell(Wanted(hand_id), tables_of)
        seat = public.steps[-1].seats[0].seat
        own = await tell(Wanted(hand_id, str(seat)), tables_of)
        everything = await tell(Wanted(hand_id, "auditor", "dispute", "case-1"), tables_of)
        dealt = next(number for number, step in enumerate(public.steps) if step.event == "HoleCardsDealt")
        assert {card for line in public.steps[dealt].seats for card in line.cards} == {None}
        known = {line.seat for line in own.steps[dealt].seats if None not in line.cards}
        assert known == {seat}
        assert None not in {card for line in everything.steps[dealt].seats for card in line.cards}
        assert own.steps[dealt].seats[0] == everything.steps[dealt].seats[0]
        with pytest.raises(DiwanError) as refusal:
            await tell(Wanted("7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a"), tables_of)
        assert refusal.value.reason == "HAND_NOT_FOUND"


async def test_only_operators_and_auditors_read_findings(stack):
    """S3."""
    for role in (Role.PLAYER, Role.BOT, Role.BACKEND):
        async with client_of(stack, "bot:curious" if role is Role.BOT else "curious", role) as client:
            with pytest.raises(DiwanError) as refusal:
                await client.audit.get_hand_verdict("x")
            assert refusal.value.code.name == "PERMISSION_DENIED"
