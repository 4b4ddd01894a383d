"""The register: what is signed, proved and cosigned, and what is never signed (P7, P8, A7)."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from diwan.core import merkle
from diwan.core.decider import Rejected
from diwan.core.transparency.note import parse_note
from diwan.core.transparency.proof import TlogProof, is_consistent, is_included, parse_tlog_proof
from diwan.signing.heads import Head
from diwan.signing.notekey import LogSecret
from services.audit.signing import HoldKind
from services.audit.witnesses import WitnessClient
from tests.integration.audit.conftest import TABLE_FEED, ListFeed
from tests.integration.audit.registering import FEED, ORIGIN, SECRET, TestedRegister, policy_of, witnesses


@pytest.fixture
def register_of(audit):
    """Makes registers over the audit's database, and closes them."""
    made: list[TestedRegister] = []

    def make(where: Path, *arguments, **options) -> TestedRegister:
        made.append(TestedRegister(audit.database, where, *arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def part(table, count: int) -> ListFeed:
    """The feed as it was when it had so many events."""
    return ListFeed(TABLE_FEED, table.events[:count])


async def test_every_event_is_proved_and_every_head_extends_those_before(audit, table, tmp_path, register_of):
    register = register_of(tmp_path)
    sizes = [3, 17, 64, 65, len(table.events)]
    for size in sizes:
        await audit.take(part(table, size))
        head = await register.sign()
        assert (head.origin, head.size) == (ORIGIN, size)
    leaves = [event.leaf_hash for event in part(table, len(table.events)).events]
    for size in sizes:
        signed, proofs = await register.inclusions(range(1, size + 1), size)
        assert signed.root == merkle.root(leaves[:size])
        for proof in proofs:
            assert proof.leaf == leaves[proof.global_seq - 1]
            assert is_included(proof.leaf, proof.global_seq - 1, size, signed.root, proof.path)
        text = TlogProof(proofs[-1].global_seq - 1, proofs[-1].path, parse_note(signed.note)).raw
        assert parse_tlog_proof(text).proves(leaves[size - 1])
        for old in range(0, size + 1, 5):
            _, hashes = await register.consistency(old, size)
            assert is_consistent(old, merkle.root(leaves[:old]), size, signed.root, hashes)
    assert await register.sizes() == sizes
    assert register.judged(await register.newest(proved=True)).is_trusted
    assert register.alarms == []


async def test_what_cannot_be_proved_is_refused_with_its_reason(audit, table, tmp_path, register_of):
    register = register_of(tmp_path)
    await audit.take(part(table, 20))
    for asked, reason in [
        (register.newest(), "CHECKPOINT_NOT_FOUND"),
        (register.inclusions([1]), "CHECKPOINT_NOT_FOUND"),
    ]:
        with pytest.raises(Rejected) as refused:
            await asked
        assert refused.value.reason == reason
    await register.sign()
    for asked, reason in [
        (register.inclusions([21]), "NOT_IN_CHECKPOINT"),
        (register.inclusions([0]), "FIELD_INVALID"),
        (register.inclusions([]), "FIELD_INVALID"),
        (register.inclusions([1] * 501), "FIELD_INVALID"),
        (register.inclusions([1], 19), "CHECKPOINT_NOT_FOUND"),
        (register.inclusions([1], -1), "FIELD_INVALID"),
        (register.consistency(21), "FIELD_INVALID"),
        (register.consistency(-1), "FIELD_INVALID"),
    ]:
        with pytest.raises(Rejected) as refused:
            await asked
        assert refused.value.reason == reason


async def test_two_of_three_witnesses_prove_a_checkpoint_though_one_is_away(audit, table, tmp_path, register_of):
    with witnesses(tmp_path, 3) as running:
        register = register_of(tmp_path / "log", policy_of(running, 2))
        running[2].stop()
        await audit.take(part(table, 20))
        await register.sign()
        with pytest.raises(Rejected):
            await register.newest(proved=True)
        await register.bring()
        signed = await register.newest(proved=True)
        assert {one.witness for one in register.judged(signed).cosigners} == {"w1", "w2"}
        # It comes back and is brought up to date, over sizes that it never saw.
        running[2].start()
        await audit.take(part(table, 90))
        await register.sign()
        await register.bring()
        assert {one.witness for one in register.judged(await register.newest()).cosigners} == {"w1", "w2", "w3"}
        assert register.alarms == []
        assert all(one.folder.head(ORIGIN).size == 90 for one in running)


async def test_the_background_signs_and_has_cosigned_what_grows(audit, table, tmp_path, register_of):
    """P7: proved within seconds, here of all that was played so far."""
    with witnesses(tmp_path, 2) as running:
        register = register_of(tmp_path / "log", policy_of(running, 2))
        tasks = [asyncio.create_task(run()) for run in register.register.background.values()]
        try:
            for size in (30, 60, len(table.events)):
                await audit.take(part(table, size))
                async with asyncio.timeout(20):
                    while True:
                        with suppress(Rejected):
                            if (await register.newest(proved=True)).size == size:
                                break
                        await asyncio.sleep(0.02)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert register.judged(await register.newest(proved=True)).is_trusted


async def test_a_log_is_signed_once_a_second_or_as_soon_as_much_has_come(
    audit, table, tmp_path, register_of, monkeypatch
):
    """RELIABILITY 3.4: every second or 1,000 leaves (here 20); a log that stands still is not signed again."""
    monkeypatch.setattr("services.audit.signing.CHECKPOINT_LEAVES", 20)
    clock = [1_000.0]
    register = register_of(tmp_path)
    register.signer._clock = lambda: clock[0]

    async def signed_after(seconds: float, size: int) -> list[int]:
        clock[0] += seconds
        await audit.take(part(table, size))
        await register.signer.look()
        return await register.sizes()

    assert await signed_after(0, 10) == [10], "at once where nothing was signed for long"
    assert await signed_after(0.5, 15) == [10]
    assert await signed_after(0.4, 31) == [10, 31], "so much that it cannot wait"
    assert await signed_after(0.9, 32) == [10, 31]
    assert await signed_after(0.2, 32) == [10, 31, 32]
    assert await signed_after(60, 32) == [10, 31, 32]


async def test_two_processes_sign_one_history(audit, table, tmp_path, register_of):
    first, second = (register_of(tmp_path / name) for name in "ab")
    for size in (10, 40, 70):
        await audit.take(part(table, size))
        await asyncio.gather(*(one.sign() for one in (first, second, first, second)))
    assert await first.sizes() == [10, 40, 70]
    assert first.alarms == second.alarms == []


# What is never signed


async def test_a_database_of_yesterday_signs_nothing_until_it_has_filled_up_again(audit, table, tmp_path, register_of):
    """The file beside the key remembers. The feeds are whole, so the copy becomes what it was, and signing goes on."""
    ahead = register_of(tmp_path / "log")
    await audit.take(part(table, 60))
    await ahead.sign()
    remembered = ahead.heads.read(ORIGIN)
    # A copy that was kept at 40, restored: the same feed, taken in again.
    restored = register_of(tmp_path / "log")
    later = Head(ORIGIN, 80, merkle.root([event.leaf_hash for event in part(table, 80).events]))
    restored.heads.write(later)
    assert await restored.sign() is None
    assert restored.signer.held[ORIGIN].kind is HoldKind.BEHIND
    assert await restored.sign() is None
    assert [kind for kind, _ in restored.alarms] == ["register"], "told once"
    assert await audit.kinds() == ["CHECKPOINT_AHEAD"]
    assert remembered.size == 60
    await audit.take(part(table, 90))
    assert (await restored.sign()).size == 90
    assert restored.signer.held == {}


async def test_a_crash_between_the_head_and_the_database_loses_nothing(audit, table, tmp_path, register_of):
    """The head is written first: killed right after it, the next process signs the same tree."""
    register = register_of(tmp_path / "log")
    await audit.take(part(table, 20))
    register.heads.write(Head(ORIGIN, 20, merkle.root([event.leaf_hash for event in part(table, 20).events])))
    assert (await register.sign()).size == 20
    assert await register.sizes() == [20]
    assert register.alarms == []


async def test_where_the_head_cannot_be_written_nothing_is_signed(audit, table, tmp_path, register_of, monkeypatch):
    """Disk full: nobody gets to see a signature that was not remembered."""
    register = register_of(tmp_path / "log")
    await audit.take(part(table, 20))

    def full(_head: Head) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(register.heads, "write", full)
    with pytest.raises(OSError, match="No space"):
        await register.sign()
    assert await register.sizes() == []
    monkeypatch.undo()
    assert (await register.sign()).size == 20


async def test_a_rewritten_history_is_never_signed(audit, table, tmp_path, register_of):
    """Store and copy put back from yesterday, and another day played: what was signed of the first stays the last word."""
    register = register_of(tmp_path / "log")
    await audit.take(part(table, 60))
    register.heads.write(Head(ORIGIN, 50, bytes(32)))
    assert await register.sign() is None
    assert register.signer.held[ORIGIN].kind is HoldKind.CONTRADICTED
    assert await audit.kinds() == ["CHECKPOINT_CONTRADICTED"]
    # Not even once it would fit: somebody must look.
    register.heads.write(Head(ORIGIN, 50, merkle.root([event.leaf_hash for event in part(table, 50).events])))
    assert await register.sign() is None
    again = register_of(tmp_path / "log")
    assert (await again.sign()).size == 60


async def test_a_damaged_head_holds_the_log(audit, table, tmp_path, register_of):
    register = register_of(tmp_path / "log")
    await audit.take(part(table, 20))
    await register.sign()
    register.heads.path(ORIGIN).write_text("nonsense")
    await audit.take(part(table, 30))
    assert await register.sign() is None
    assert register.signer.held[ORIGIN].kind is HoldKind.UNREADABLE


async def test_a_machine_put_back_as_a_whole_is_told_by_its_witnesses_before_it_signs(
    audit, table, tmp_path, register_of
):
    """Database, feeds and the file beside the key are all of yesterday: only the witnesses know of today."""
    with witnesses(tmp_path, 3) as running:
        policy = policy_of(running, 2)
        register = register_of(tmp_path / "log", policy)
        await audit.take(part(table, 30))
        await register.sign()
        shutil.copytree(tmp_path / "log", tmp_path / "yesterday")
        for one in running:
            one.folder.write_head(Head(ORIGIN, 77, bytes(32)))
        restored = register_of(tmp_path / "yesterday", policy)
        await audit.take(part(table, 40))
        assert await restored.sign() is None
        assert restored.signer.held[ORIGIN].kind is HoldKind.WITNESSES
        assert "w1 signed 77" in restored.signer.held[ORIGIN].detail
        assert await restored.sizes() == [30]


async def test_nothing_is_signed_before_a_quorum_of_witnesses_has_said_what_it_signed(
    audit, table, tmp_path, register_of, monkeypatch
):
    """A machine that was put back while its witnesses were away: it waits, for without them nothing is proved anyway."""
    with witnesses(tmp_path, 3) as running:
        policy = policy_of(running, 2)
        for one in running[:2]:
            one.stop()
        register = register_of(tmp_path / "log", policy)
        await audit.take(part(table, 30))
        for _ in range(2):
            assert await register.sign() is None
            assert register.signer.held[ORIGIN].kind is HoldKind.AWAY
        assert register.alarms == [], "they may be coming up"
        monkeypatch.setattr("services.audit.signing.AWAY_SECONDS", 0.0)
        for _ in range(2):
            assert await register.sign() is None
        assert [kind for kind, _ in register.alarms] == ["register"]
        running[1].start()
        assert (await register.sign()).size == 30
        assert register.signer.held == {}


async def test_one_mistaken_witness_of_three_holds_nothing_up_and_two_do(audit, table, tmp_path, register_of):
    with witnesses(tmp_path, 3) as running:
        register = register_of(tmp_path / "log", policy_of(running, 2))
        await audit.take(part(table, 30))
        await register.sign()
        await register.bring()
        running[0].folder.write_head(Head(ORIGIN, 30, bytes(32)))
        await audit.take(part(table, 40))
        await register.sign()
        await register.bring()
        assert {one.witness for one in register.judged(await register.newest(proved=True)).cosigners} == {"w2", "w3"}
        assert [kind for kind, _ in register.alarms] == ["witness"]
        running[1].folder.write_head(Head(ORIGIN, 90, bytes(32)))
        await audit.take(part(table, 50))
        await register.sign()
        await register.bring()
        assert register.signer.held[ORIGIN].kind is HoldKind.WITNESSES
        await audit.take(part(table, 60))
        assert await register.sign() is None
        assert await audit.kinds() == ["WITNESS_DISAGREES", "WITNESS_DISAGREES", "WITNESSES_DISAGREE"]


async def test_a_node_that_was_edited_in_the_audit_s_own_database_is_found_before_anything_is_signed(
    audit, table, tmp_path, postgres, register_of
):
    """The copy's own superuser is an attacker, too."""
    register = register_of(tmp_path / "log")
    await audit.take(part(table, 50))
    await register.sign()
    name = await audit.database.run(lambda c: c.fetchval("select current_database()"))
    import asyncpg

    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, name))
    try:
        await connection.execute("set session_replication_role = replica")
        await connection.execute("update tree_node set hash = sha256(hash) where level = 4 and place = 1")
    finally:
        await connection.close()
    await audit.take(part(table, 60))
    assert await register.sign() is None
    assert register.signer.held[ORIGIN].kind is HoldKind.CONTRADICTED


# Keys (A7)


async def test_the_log_s_key_is_rotated_and_nobody_is_left_without_a_key_that_he_knows(
    audit, table, tmp_path, register_of
):
    new = LogSecret(bytes((9,)) * 32)
    with witnesses(tmp_path, 1) as running:
        policy = policy_of(running, 1)
        old_days = register_of(tmp_path / "log", policy)
        await audit.take(part(table, 20))
        await old_days.sign()
        await old_days.bring()
        # Grace: both keys sign. The witness still knows the old one alone.
        grace = register_of(tmp_path / "log", policy, secrets=(new, SECRET))
        await audit.take(part(table, 30))
        await grace.sign()
        await grace.bring()
        signed = await grace.newest(proved=True)
        assert signed.size == 30
        assert old_days.judged(signed).log_key == SECRET.key(ORIGIN).verifier, "an old policy verifies it"
        running[0].folder.trust(new.key(ORIGIN).verifier.text)
        running[0].folder.distrust(SECRET.key(ORIGIN).verifier.text)
        # After: the new key alone.
        after = register_of(tmp_path / "log", policy, secrets=(new,))
        await audit.take(part(table, 40))
        await after.sign()
        await after.bring()
        signed = await after.newest(proved=True)
        assert signed.size == 40
        assert after.judged(signed).is_trusted
        assert not old_days.judged(signed).is_trusted
        assert (after.alarms, grace.alarms) == ([], [])


async def test_a_witness_s_key_is_rotated_under_a_log_that_goes_on(audit, table, tmp_path, register_of):
    with witnesses(tmp_path, 1) as running:
        old_line = running[0].line
        before = register_of(tmp_path / "log", policy_of(running, 1))
        await audit.take(part(table, 20))
        await before.sign()
        await before.bring()
        running[0].stop()
        running[0].folder.rotate()
        running[0].start()
        await audit.take(part(table, 30))
        await before.sign()
        await before.bring()
        assert (await before.newest(proved=True)).size == 30, "the old key signs beside the new one"
        from diwan.core.transparency.policy import parse_policy

        both = parse_policy("\n".join([
            old_line, running[0].line.replace("witness w1 ", "witness w1-new "), "group one any w1 w1-new", "quorum one",
        ]))  # fmt: skip
        grace = register_of(tmp_path / "log", both)
        await grace.bring()
        running[0].stop()
        running[0].folder.retire()
        running[0].start()
        await audit.take(part(table, 40))
        await grace.sign()
        await grace.bring()
        signed = await grace.newest(proved=True)
        assert [one.witness for one in grace.judged(signed).cosigners] == ["w1-new"]


async def test_an_answer_that_is_none_of_the_protocol_s_keeps_nothing(audit, table, tmp_path, register_of, monkeypatch):
    with witnesses(tmp_path, 1) as running:
        register = register_of(tmp_path / "log", policy_of(running, 1))
        await audit.take(part(table, 20))
        await register.sign()
        from services.audit.witnesses import Answer

        stranger = LogSecret(bytes(32)).key("x").sign("y\n").line
        witness = register.policy.witnesses["w1"]
        for answer in (
            Answer(200, "nonsense"),
            Answer(200, stranger),
            Answer(500, ""),
            Answer(404, ""),
            Answer(403, ""),
        ):
            monkeypatch.setattr(WitnessClient, "ask", lambda _self, _body, answer=answer: answer)
            with pytest.raises(OSError, match=r"\w"):
                await register.cosigner.bring(witness, FEED, register.signer)
        with pytest.raises(Rejected):
            await register.newest(proved=True)
        assert register.signer.held == {}
        monkeypatch.undo()
        await register.bring()
        assert (await register.newest(proved=True)).size == 20


async def test_a_witness_that_answers_byte_by_byte_holds_up_nobody(audit, table, tmp_path, register_of, monkeypatch):
    """Its thread ends, another question is asked over another connection, and the others sign meanwhile."""
    monkeypatch.setattr("services.audit.witnesses.QUESTION_SECONDS", 0.5)

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with witnesses(tmp_path, 2) as running:
        from diwan.core.transparency.policy import parse_policy

        slow = running[1].line.rsplit(":", 1)[0] + f":{port}"
        policy = parse_policy(f"{running[0].line}\n{slow}\ngroup one 1 w1 w2\nquorum one")
        register = register_of(tmp_path / "log", policy)
        for size in (20, 30):
            await audit.take(part(table, size))
            assert (await register.sign()).size == size
            await register.bring()
            assert (await register.newest(proved=True)).size == size
        assert register.alarms == []
    server.close()
    await server.wait_closed()


def test_a_policy_that_nobody_can_meet_is_refused_at_the_start(tmp_path: Path):
    with witnesses(tmp_path, 2) as running:
        from diwan.core.transparency.policy import parse_policy
        from services.audit.witnesses import Cosigner

        text = "\n".join([running[0].line, running[1].line.rsplit(" ", 1)[0], "group all 2 w1 w2", "quorum all"])
        with pytest.raises(ValueError, match="too few of which have a URL"):
            Cosigner(None, "diwan.test", (), parse_policy(text))
