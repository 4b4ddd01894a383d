"""A hand's proof is ready within seconds of its end, on a whole house with a witness of its own (P7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from diwan.chassis.access import Role
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.play import open_tables
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


@pytest.fixture
def stack(tmp_path) -> Iterator[Stack]:
    with Stack(tmp_path, report=lambda *_: None, overrides=DEMO_SETTINGS) as running:
        yield running


async def test_hands_are_proved_within_five_seconds_and_their_proofs_hold(stack):
    async with connect(stack.places.services, stack.token("op", Role.OPERATOR)) as client:
        await open_tables(client, 3)
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
