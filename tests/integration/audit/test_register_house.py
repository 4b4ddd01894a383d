"""The register of a whole house with a witness of its own: proofs in time, commands, kill -9 (P7, P8, D5)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from diwan.chassis.access import Role
from diwan.chassis.bus import Bus
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.play import open_tables
from diwan.cli.main import app
from diwan.cli.stack.stack import Stack
from diwan.client import connect
from diwan.core.hashing import feed_entry
from diwan.core.merkle import leaf_hash
from diwan.core.transparency.note import parse_note
from diwan.core.transparency.policy import parse_policy
from diwan.core.transparency.proof import is_consistent, is_included
from diwan.verifier.signatures import judge_note
from tests.integration.audit.proving import TABLE_FEED, proofs_of

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("house"), report=lambda *_: None, overrides=DEMO_SETTINGS) as running:
        asyncio.run(opened(running))
        yield running


async def opened(stack: Stack) -> None:
    async with connect(stack.places.services, stack.token("op", Role.OPERATOR)) as client:
        await open_tables(client, 2)


async def test_hands_are_proved_within_five_seconds_and_their_proofs_hold(stack):
    async with connect(stack.places.services, stack.token("op", Role.OPERATOR)) as client:
        waited = await proofs_of(client, 20, seconds=120)
        assert waited.quantile(0.99) < 5.0, sorted(waited.seconds)
        policy = parse_policy(stack.layout.register_policy.read_text())
        early = await client.audit.checkpoint(TABLE_FEED)
        await proofs_of(client, 5, seconds=60)
        late = await client.audit.checkpoint(TABLE_FEED)
        assert late.size > early.size
        for one in (early, late):
            judged = judge_note(parse_note(one.note), policy)
            assert judged.is_trusted
            assert judged.checkpoint.size == one.size
        proof = await client.audit.consistency_proof(TABLE_FEED, early.size, late.size)
        assert is_consistent(early.size, early.root, late.size, late.root, list(proof.hashes))
        numbers = [1, early.size // 2, early.size]
        answer = await client.audit.inclusion_proof(TABLE_FEED, numbers, late.size)
        for number, found in zip(numbers, answer.proofs, strict=True):
            (event,) = (await client.feed("table").read(number - 1, limit=1)).events
            stored = event.event
            entry = feed_entry(TABLE_FEED, number, stored.stream_id, stored.version, stored.hash)
            assert is_included(leaf_hash(entry), number - 1, late.size, late.root, list(found.path))
    log = (stack.layout.logs / "witness.log").read_text()
    assert log.startswith("witness at http://127.0.0.1:")
    assert "REFUSED" not in log


async def told(stack: Stack, *words: str) -> str:
    """What the command says, run as a person would."""
    arguments = ["register", *words, "--data", str(stack.layout.root)]
    result = await asyncio.to_thread(lambda: CliRunner().invoke(app, arguments))
    assert result.exit_code == 0, result.output
    return result.output


async def test_a_checkpoint_for_the_drawer_is_trusted_by_the_policy_that_the_house_tells(stack):
    async with connect(stack.places.services, stack.token("op", Role.OPERATOR)) as client:
        await proofs_of(client, 1, seconds=60)
    policy = parse_policy(await told(stack, "policy"))
    for feed_id in (1, 2):
        judged = judge_note(parse_note((await told(stack, "checkpoint", str(feed_id))).encode()), policy)
        assert judged.is_trusted
        assert [one.witness for one in judged.cosigners] == ["witness"]
    keys = (
        await asyncio.to_thread(lambda: CliRunner().invoke(app, ["register", "keys", str(stack.layout.register_key)]))
    ).output
    assert {log.key.text for log in policy.logs} <= set(keys.splitlines())


async def test_witness_and_audit_killed_in_mid_play_go_on_where_they_were(stack):
    async with connect(stack.places.services, stack.token("op", Role.OPERATOR)) as client:
        await proofs_of(client, 1, seconds=60)
        before = await client.audit.checkpoint(TABLE_FEED)
        for name in ("witness", "audit"):
            os.kill(stack.child(name).pid, signal.SIGKILL)
            await proofs_of(client, 3, seconds=90)
        after = await client.audit.checkpoint(TABLE_FEED)
        assert after.size > before.size
        proof = await client.audit.consistency_proof(TABLE_FEED, before.size, after.size)
        assert is_consistent(before.size, before.root, after.size, after.root, list(proof.hashes))
        assert [finding async for finding in client.audit.findings()] == []


async def test_a_copy_that_is_begun_anew_is_filled_again_while_play_goes_on(stack):
    """D5, by the command of the runbook."""
    output = await told(stack, "rebuild-copy", "table")
    assert "begins anew at 1" in output
    admin = Bus.start(stack.admin_nats_url(), "test")
    try:
        await admin.ready()
        async with connect(stack.places.services, stack.token("op", Role.OPERATOR)) as client:
            head = (await client.feed("table").read(0, limit=1)).head
            async with asyncio.timeout(60):
                while (await admin.stream_state("table")).last_seq < head:  # noqa: ASYNC110  (a stream has no event)
                    await asyncio.sleep(0.1)
            await proofs_of(client, 2, seconds=60)
        state = await admin.stream_state("table")
        assert (state.first_seq, state.messages) == (1, state.last_seq)
    finally:
        await admin.close()
