"""Bundles from a running house: exported over gRPC, verified offline, by every lens (P7, S4, S1)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diwan.api.audit.v1 import record_pb2
from diwan.chassis.access import Role
from diwan.cli.demo import floor
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.gather import until
from diwan.cli.exporting.gathering import NotReadyError, Wanted, gather
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, DiwanError
from diwan.core.tournament.events import TournamentFinished
from diwan.core.transparency.policy import parse_policy
from diwan.verifier import Verdict
from diwan.verifier.bundle import verify_bundle
from diwan.wire.events import type_id_of
from tests.integration.audit.test_service import client_of, played_table, stack

__all__ = ["stack"]

pytestmark = pytest.mark.timeout(180)


async def ended_hands(client, table_id: str, count: int = 2) -> list[str]:
    """Ids of hands that have ended at a table, once there are so many."""
    while True:
        found = [hand.hand_id async for hand in client.tables.hands(table_id=table_id) if hand.last_version]
        if len(found) >= count:
            return found
        await asyncio.sleep(0.05)


async def recorded(client: DiwanClient, hand_id: str) -> record_pb2.GetHandRecordResponse:
    """What the audit keeps of a hand that has ended at its table, once the audit knows that too."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await client.audit.hand_record(hand_id)
            except DiwanError as error:
                if error.reason not in {"HAND_NOT_FOUND", "HAND_NOT_SETTLED"}:
                    raise
            await asyncio.sleep(0.05)


async def bundle_of(stack: Stack, client, hand_id: str, lens: str = "public", **more) -> list[bytes]:
    def client_as(role: Role, subject: str):
        return client.with_token(stack.token(subject, role))

    about = more.pop("about", "hand")
    hands = more.pop("hands", [hand_id])
    wanted = Wanted(about, hand_id, lens, **more)
    return list(await gather(wanted, hands, client_as))


async def test_a_hand_is_exported_by_every_lens_and_verified_with_the_houses_keys(stack):
    """P7: bytes, decisions, wallet and register, a second after the hand; a seat's bundle has its own cards alone."""
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        hand_id = (await ended_hands(client, table_id))[0]
        policy = parse_policy(await client.audit.register_policy())
        reports = {}
        for lens, more in {"public": {}, "auditor": {"reason": "the pot was wrong"}, "seat": {"seat": 0}}.items():
            began = time.monotonic()
            lines = await bundle_of(stack, client, hand_id, lens, **more)
            assert time.monotonic() - began < 5
            report, _ = verify_bundle(lines, policy)
            assert report.is_verified, [one.text for one in report.findings]
            reports[lens] = report
        assert reports["seat"].own_cards == 2
        assert reports["public"].own_cards == 0
        assert reports["public"].postings == reports["auditor"].postings >= 1
        assert [one.origin for one in reports["public"].checkpoints] == ["diwan.local/feed/1", "diwan.local/feed/2"]


async def test_a_bundle_of_a_table_holds_all_its_hands(stack):
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        hands = await ended_hands(client, table_id, 3)
        await ended_hands(client, table_id, len(hands) + 2)  # play goes on while a bundle is made
        policy = parse_policy(await client.audit.register_policy())
        lines = await bundle_of(stack, client, table_id, about="table", hands=hands)
        report, _ = verify_bundle(lines, policy)
        assert report.is_verified, [one.text for one in report.findings]
        assert {hand.hand_id for hand in report.hands} == set(hands)
        assert report.commands > 10, "from the table's first event on"


async def test_a_bundle_is_joined_to_an_older_checkpoint(stack):
    """P8: who kept a checkpoint sees that the register only grew from it."""
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        await ended_hands(client, table_id, 1)
        older = await client.audit.checkpoint(1)
        hand_id = (await ended_hands(client, table_id, 3))[0]
        policy = parse_policy(await client.audit.register_policy())
        lines = await bundle_of(stack, client, hand_id, since=(older.note.decode(),))
        from diwan.core.transparency.checkpoint import parse_checkpoint
        from diwan.core.transparency.note import parse_note

        seen = parse_checkpoint(parse_note(older.note).text)
        report, _ = verify_bundle(lines, policy, seen=[seen])
        assert report.is_verified, [one.text for one in report.findings]
        without = await bundle_of(stack, client, hand_id)
        report, _ = verify_bundle(without, policy, seen=[seen])
        assert report.verdict is Verdict.CANNOT_SAY


async def test_a_player_has_the_record_of_own_hands_alone(stack):
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        hand_id = (await ended_hands(client, table_id))[0]
        own = client.with_token(stack.token(f"a {table_id}", Role.PLAYER))
        record = await recorded(own, hand_id)
        assert record.is_posted or record.last_version
        other = client.with_token(stack.token("somebody", Role.PLAYER))
        with pytest.raises(DiwanError) as refused:
            await other.audit.hand_record(hand_id)
        assert refused.value.reason == "NOT_IN_HAND"
        with pytest.raises(DiwanError) as refused:
            await own.audit._connection.unary(
                own.audit._stub.GetHandRecord, record_pb2.GetHandRecordRequest(hand_id=hand_id, on_behalf_of="b")
            )
        assert refused.value.reason.startswith("ON_BEHALF_OF")


async def test_a_hand_that_runs_or_is_none_is_no_bundle(stack):
    """S4: no record of a running hand leaves the audit."""
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        hand_id = (await ended_hands(client, table_id))[0]
        with pytest.raises(DiwanError) as refused:
            await bundle_of(stack, client, "00000000-0000-4000-8000-000000000000", wait_seconds=0.1)
        assert refused.value.reason == "HAND_NOT_FOUND"
        with pytest.raises(NotReadyError):
            await bundle_of(stack, client, hand_id, "seat", seat=8)


def diwan(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from diwan.cli.entry import main; main()", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        timeout=60,
    )


async def test_the_commands_of_the_guide_lead_from_a_hand_to_a_verdict(stack, tmp_path):
    """`diwan export`, `diwan verify`: exit codes 0, 1 and 2, words and JSON."""
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        hand_id = (await ended_hands(client, table_id))[0]
        policy = await client.audit.register_policy()
    (tmp_path / "policy").write_text(policy)
    told = await asyncio.to_thread(
        diwan, "export", hand_id, "-o", "hand.bundle", "--data", str(stack.layout.root), cwd=tmp_path
    )
    assert (told.returncode, told.stderr) == (0, "")
    told = await asyncio.to_thread(diwan, "verify", "hand.bundle", "--policy", "policy", cwd=tmp_path)
    assert told.returncode == 0, told.stdout
    assert told.stdout.startswith("hand.bundle: verified")
    told = await asyncio.to_thread(diwan, "verify", "hand.bundle", cwd=tmp_path)
    assert (told.returncode, "KEYS_MISSING" in told.stdout) == (2, True)
    raw = bytearray((tmp_path / "hand.bundle").read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "forged.bundle").write_bytes(bytes(raw))
    told = await asyncio.to_thread(
        diwan, "verify", "forged.bundle", "hand.bundle", "--policy", "policy", "--json", cwd=tmp_path
    )
    assert told.returncode == 1
    reports = [json.loads(line) for line in told.stdout.splitlines()]
    assert [report["verdict"] for report in reports] == ["not_verified", "verified"]
    assert reports[0]["findings"][0]["place"]


@pytest.fixture
def whole_house(tmp_path):
    """A house with all its services, as the demo has it."""
    with Stack(tmp_path / "house", report=lambda *_: None, overrides=DEMO_SETTINGS) as running:
        yield running


@pytest.mark.soak
@pytest.mark.timeout(400)
async def test_a_spin_is_exported_and_every_draw_and_hand_of_it_verified(whole_house, tmp_path):
    """F1: a Spin of a guest and two bots, from the first entry to the prize."""
    house = whole_house
    async with client_of(house, "op", Role.OPERATOR) as client, client_of(house, "guest", Role.PLAYER) as guest:
        await client.wallet.issue_to_house(floor.HOUSE_CHIPS, reason="what a Spin may draw")
        await guest.wallet.open_account()
        tournament_id = (await client.tournaments.create(floor.spin())).tournament.tournament_id

        async def is_open() -> bool:
            return (await client.tournaments.get(tournament_id)).tournament.is_open

        await until("registration opens", is_open)
        await guest.tournaments.register(tournament_id)
        await floor.play_out(floor.Floor({tournament_id: floor.Guest(guest, tournament_id)}), print, seconds=200)

        async def is_kept() -> bool:
            """Before the audit has its end a tournament's bundle says so, and no more."""
            kept = [one.event.type_id async for one in client.audit.tournament_record(tournament_id)]
            return type_id_of(TournamentFinished) in kept

        await until("the audit has the tournament's end", is_kept)
        options = ("--tournament", tournament_id, "-o", "spin.bundle", "--data", str(house.layout.root))
        told = await asyncio.to_thread(diwan, "export", *options, cwd=tmp_path)
        assert (told.returncode, told.stderr) == (0, "")
        policy = parse_policy(await client.audit.register_policy())
    report, _ = verify_bundle((tmp_path / "spin.bundle").read_bytes().splitlines(keepends=True), policy)
    assert report.is_verified, [one.text for one in report.findings]
    assert report.multiplier >= 2
    assert report.hands


async def test_pages_of_a_table_join_without_a_seam_and_ids_that_are_none_are_refused(stack):
    async with client_of(stack, "op", Role.OPERATOR) as client, played_table(stack, client) as table_id:
        await ended_hands(client, table_id, 1)
        versions = []
        async for one in client.audit.table_record(table_id, page_size=3):
            versions.append(one.event.version)
            if len(versions) == 40:
                # The table is played on meanwhile, and may well be quicker than pages of three.
                break
        assert versions == list(range(1, 41))
        for ask in (client.audit.table_record, client.audit.tournament_record):
            for wrong, reason in (("nobody", "ID_INVALID"), ("00000000-0000-4000-8000-000000000000", "_NOT_FOUND")):
                with pytest.raises(DiwanError) as refused:
                    [one async for one in ask(wrong)]
                assert refused.value.reason.endswith(reason)
            with pytest.raises(DiwanError) as refused:
                [one async for one in ask(table_id, page_size=5000)]
            assert refused.value.reason == "PAGE_SIZE_INVALID"
        player = client.with_token(stack.token("a", Role.PLAYER))
        with pytest.raises(DiwanError) as refused:
            [one async for one in player.audit.table_record(table_id)]
        assert refused.value.reason == "PERMISSION_DENIED"
