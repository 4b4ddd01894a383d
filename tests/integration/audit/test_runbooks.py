"""docs/operating/register.md, "After a restore of yesterday's backup": each case, with databases that are really put back (P8, A7)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path

import asyncpg
import pytest

from diwan.chassis.database import Database
from diwan.core.transparency.checkpoint import origin_of
from diwan.core.transparency.note import parse_note
from diwan.core.transparency.policy import parse_policy
from diwan.signing.heads import Heads
from diwan.verifier.signatures import judge_note
from diwan.witness.program import main
from services.audit.checkpoints import checkpoint_in
from services.audit.register import Register
from services.audit.signing import HoldKind
from tests.integration.audit.conftest import PASSWORDS, TABLE_FEED, Audit, ListFeed
from tests.integration.audit.registering import FEED, HOUSE, ORIGIN, SECRET, TestedRegister, policy_of, witnesses
from tests.unit.verifier.logs import played

_numbers = count(1)
YESTERDAY, TODAY = 40, 70


class Backups:
    """An audit whose database can be kept and put back."""

    def __init__(self, postgres, migrated: str) -> None:
        self._postgres, self._template = postgres, migrated
        self._made: list[tuple[str, Database]] = []

    async def _copy(self, of: str) -> tuple[str, Audit]:
        name = f"runbook_{next(_numbers)}"
        connection = await asyncpg.connect(self._postgres.superuser_url)
        await connection.execute(f"create database {name} template {of}")
        await connection.close()
        database = await Database.open(self._postgres.url("audit_rw", PASSWORDS["audit_rw"], name), size=4)
        self._made.append((name, database))
        return name, Audit(database)

    async def new(self) -> tuple[str, Audit]:
        return await self._copy(self._template)

    async def restored(self, name: str, audit: Audit) -> Audit:
        """What the database is now, as a copy that goes its own way: a backup is made by stopping and copying."""
        await audit.database.close()
        _, again = await self._copy(name)
        return again

    async def drop(self) -> None:
        for name, database in self._made:
            await database.close()
            await asyncio.to_thread(self._postgres.drop_database, name)


@pytest.fixture
async def backups(postgres, migrated) -> AsyncIterator[Backups]:
    made = Backups(postgres, migrated)
    yield made
    await made.drop()


@pytest.fixture
def register_of() -> Callable[..., TestedRegister]:
    made: list[TestedRegister] = []

    def make(audit: Audit, where: Path, policy=None) -> TestedRegister:
        made.append(TestedRegister(audit.database, where, policy))
        return made[-1]

    yield make
    for one in made:
        one.close()


async def day(register: TestedRegister, audit: Audit, feed: ListFeed) -> None:
    await audit.take(feed)
    await register.sign()
    await register.bring()


def until(table, size: int) -> ListFeed:
    return ListFeed(TABLE_FEED, table.events[:size])


async def test_the_audit_s_database_alone_fills_up_again_and_goes_on_by_itself(backups, table, tmp_path, register_of):
    with witnesses(tmp_path, 2) as running:
        policy = policy_of(running, 2)
        name, audit = await backups.new()
        await day(register_of(audit, tmp_path / "log", policy), audit, until(table, YESTERDAY))
        backup = await backups.restored(name, audit)
        current = await backups.restored(name, audit)
        await day(register_of(current, tmp_path / "log", policy), current, until(table, TODAY))
        # Put back: the copy of yesterday, the heads of today.
        again = register_of(backup, tmp_path / "log", policy)
        assert await again.sign() is None
        assert again.signer.held[ORIGIN].kind is HoldKind.BEHIND
        await day(again, backup, until(table, TODAY + 10))
        assert again.signer.held == {}
        signed = await again.newest(proved=True)
        assert signed.size == TODAY + 10
        assert again.judged(signed).is_trusted


async def test_a_whole_machine_is_held_until_a_witness_s_line_says_what_was_signed(
    backups, table, tmp_path, register_of, capsys
):
    with witnesses(tmp_path, 1) as running:
        policy = policy_of(running, 1)
        name, audit = await backups.new()
        await day(register_of(audit, tmp_path / "log", policy), audit, until(table, YESTERDAY))
        backup = await backups.restored(name, audit)
        shutil.copytree(tmp_path / "log", tmp_path / "log of yesterday")
        today = await backups.restored(name, audit)
        await day(register_of(today, tmp_path / "log", policy), today, until(table, TODAY))
        # Put back: database and heads of yesterday. The feeds are whole.
        where = tmp_path / "log of yesterday"
        held = register_of(backup, where, policy)
        await backup.take(until(table, TODAY + 10))
        assert await held.sign() is None
        assert held.signer.held[ORIGIN].kind is HoldKind.WITNESSES
        # The runbook: the line of `diwan witness show`, into the log's file in the heads directory.
        assert main(["show", str(running[0].folder.path)]) == 0
        (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("head")]
        Heads(where / "heads").path(ORIGIN).write_text(line.removeprefix("head").strip() + "\n")
        again = register_of(backup, where, policy)
        assert (await again.sign()).size == TODAY + 10
        await again.bring()
        assert again.judged(await again.newest(proved=True)).is_trusted


async def test_a_feed_that_was_put_back_ends_its_log_and_a_new_one_begins_under_a_new_name(
    backups, table, tmp_path, register_of
):
    with witnesses(tmp_path, 1) as running:
        policy = policy_of(running, 1)
        _, audit = await backups.new()
        register = register_of(audit, tmp_path / "log", policy)
        await day(register, audit, until(table, TODAY))
        last = await register.newest(proved=True)
        # The tables' database of yesterday, another day played, and a new audit that knows nothing.
        other = ListFeed(TABLE_FEED, table.events[:YESTERDAY] + played(7, 5).events)
        _, new = await backups.new()
        held = register_of(new, tmp_path / "log", policy)
        await new.take(other)
        assert await held.sign() is None
        assert held.signer.held[ORIGIN].kind in {HoldKind.WITNESSES, HoldKind.CONTRADICTED}
        # The runbook: a new house name; the witness learns the new keys; the old log's last checkpoint stays provable.
        house = f"{HOUSE}/2"
        running[0].folder.trust(SECRET.key(origin_of(house, FEED)).verifier.text)
        renamed = Register(new.database, house, [SECRET], Heads(tmp_path / "log" / "heads"), policy)
        try:
            assert (await renamed.signer.sign(FEED)).origin == origin_of(house, FEED)
            await renamed.cosigner.bring(policy.witnesses["w1"], FEED, renamed.signer)
            signed = await new.database.run(lambda c: checkpoint_in(c, house, FEED, 0, proved=True))
            assert judge_note(parse_note(signed.note), parse_policy(renamed.policy_text([FEED]))).is_trusted
        finally:
            renamed.cosigner.close()
        assert register.judged(last).is_trusted
