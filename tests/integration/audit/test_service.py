"""The audit as a process beside real services: over the bus and over gRPC, through kill -9 (P5, D6, D13, S4)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from diwan.api.audit.v1 import audit_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli.replay import Wanted, tell
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, DiwanError, connect

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


async def newest_ended_hand(client: DiwanClient, table_id: str) -> str:
    """The id of a hand of this table that has ended, as soon as there is one."""
    async with asyncio.timeout(30):
        while True:
            async for hand in client.tables.hands(table_id=table_id):
                if hand.last_version:
                    return hand.hand_id
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
        hand_id = await newest_ended_hand(client, table_id)
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


async def test_a_hand_is_told_as_each_may_see_it(stack):
    """S4 and the one door to hidden cards."""
    async with client_of(stack, "op", Role.OPERATOR) as client:

        def tables_of(role, subject):
            return client.with_token(stack.token(subject, role)).tables

        async with played_table(stack, client) as table_id:
            hand_id = await newest_ended_hand(client, table_id)
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
        async with client_of(stack, "curious", role) as client:
            with pytest.raises(DiwanError) as refusal:
                await client.audit.get_hand_verdict("x")
            assert refusal.value.code.name == "PERMISSION_DENIED"
