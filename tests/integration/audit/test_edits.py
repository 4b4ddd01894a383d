"""Edits of an insider with every right over the table service's PostgreSQL: each caught by whom RELIABILITY 3.4 says (P8).

Four look: the chain of each stream; a checkpoint that somebody kept from before; a witness that is shown the new history;
the audit, which asks the feed again for what it has shown. "The operator" below may also sign whatever he likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from uuid import UUID

import asyncpg
import pytest

from diwan.chassis.database import Database
from diwan.chassis.feed import Feed
from diwan.core import merkle
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hashing import chain_start, feed_leaf
from diwan.core.log import LoggedEvent
from diwan.core.register import Edge
from diwan.core.transparency.checkpoint import Checkpoint
from diwan.core.transparency.note import Note
from diwan.core.transparency.tree import consistency_spans, grow_with_nodes, span_hashes
from diwan.signing.heads import Head
from diwan.signing.notekey import signed_checkpoint
from diwan.verifier.chain import LogReader
from diwan.verifier.report import Fault
from diwan.witness.folder import Folder
from diwan.witness.witness import Witness
from services.audit.standing import Standing
from tests.integration.audit.conftest import TABLE_FEED
from tests.integration.audit.registering import ORIGIN, SECRET, TestedRegister
from tests.integration.store.conftest import Prepared, prepare
from tests.unit.verifier.logs import TABLE_KIND, chained
from tests.unit.witness.logs import request

_EVENT = """
insert into event (stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms, body, prev_hash, hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""


@dataclass
class Operator:
    """Somebody with the superuser's password of the table service's database, and with the register's key."""

    connection: asyncpg.Connection
    feed: Feed
    witness: Witness
    kept: Checkpoint | None = None
    alarms: list[tuple[str, str]] = field(default_factory=list)

    async def write(self, events: list[LoggedEvent]) -> None:
        """Make these the table's whole history, its feed with right numbers and leaves."""
        await self.connection.execute("delete from feed; delete from event")
        rows, entries = [], []
        for number, one in enumerate(events, 1):
            stream_id = UUID(bytes=one.stream_id)
            ids = (stream_id, one.version, UUID(bytes=one.event_id), UUID(bytes=one.command_id), one.epoch)
            rows.append((*ids, one.type_id, one.schema_v, one.recorded_at_ms, one.body, one.prev_hash, one.hash))
            leaf = feed_leaf(TABLE_FEED, number, one.stream_id, one.version, one.hash)
            entries.append((TABLE_FEED, number, stream_id, one.version, leaf))
        await self.connection.executemany(_EVENT, rows)
        await self.connection.executemany("insert into feed values ($1, $2, $3, $4, $5)", entries)

    async def shown(self) -> list[LoggedEvent]:
        found = []
        while page := await self.feed.read(len(found)):
            found += [one.event.logged() for one in page]
        return found

    async def leaves(self) -> list[bytes]:
        """The tree's leaves, from what the feed shows now."""
        return [
            feed_leaf(TABLE_FEED, number, one.stream_id, one.version, one.hash)
            for number, one in enumerate(await self.shown(), 1)
        ]

    # Who looks

    async def chain_holds(self) -> bool:
        """Follow the stream in the order of the feed."""
        events = await self.shown()
        reader = LogReader(chain_start(events[0].stream_id, TABLE_KIND))
        try:
            for one in events:
                reader.read(one)
        except Fault:
            return False
        return True

    async def checkpoint_holds(self) -> bool:
        """Hold the feed against a checkpoint that was kept outside: hashes alone, no body is looked at."""
        assert self.kept is not None
        leaves = await self.leaves()
        return len(leaves) >= self.kept.size and merkle.root(leaves[: self.kept.size]) == self.kept.root

    async def witness_follows(self) -> bool:
        """Sign the head of what the feed shows now, with the best proof that it has, and ask the witness."""
        assert self.kept is not None
        leaves = await self.leaves()
        head = Checkpoint(ORIGIN, len(leaves), merkle.root(leaves))
        note = Note(head.text, (signed_checkpoint(SECRET.key(ORIGIN), head),))
        nodes = {(0, at): leaf for at, leaf in enumerate(leaves)}
        nodes |= {(level, place): node for level, place, node in grow_with_nodes(Edge(), leaves)[1]}
        proof = span_hashes(consistency_spans(self.kept.size, head.size), nodes) if head.size > self.kept.size else ()
        return self.witness.add_checkpoint(request(self.kept.size, proof, note)).status == HTTPStatus.OK


@pytest.fixture(scope="module")
def tables(postgres) -> Iterator[Prepared]:
    """A migrated database of the table service; every test writes its history anew."""
    yield asyncio.run(prepare(postgres, "edits"))
    postgres.drop_database("edits")


@pytest.fixture
async def operator(tables: Prepared, table, tmp_path) -> AsyncIterator[Operator]:
    connection = await asyncpg.connect(tables.superuser_url)
    # Every trigger that refuses rewriting is off: a superuser may do that.
    await connection.execute("set session_replication_role = replica")
    reader = await Database.open(tables.url("table_seq"), size=2, application="reader")
    folder = Folder(tmp_path / "witness")
    folder.init("auditor.test/w")
    folder.trust(SECRET.key(ORIGIN).verifier.text)
    made = Operator(connection, Feed(reader, TABLE_FEED), Witness(folder))
    await made.write(table.events[:-10])
    leaves = await made.leaves()
    made.kept = Checkpoint(ORIGIN, len(leaves), merkle.root(leaves))
    note = Note(made.kept.text, (signed_checkpoint(SECRET.key(ORIGIN), made.kept),))
    assert made.witness.add_checkpoint(request(0, (), note)).status == HTTPStatus.OK
    yield made
    await connection.close()
    await reader.close()


def remade(event: LoggedEvent, **changed: object) -> LoggedEvent:
    fields = {name: getattr(event, name) for name in LoggedEvent.__struct_fields__}
    return LoggedEvent(**{**fields, **changed})


def rehashed(events: list[LoggedEvent]) -> list[LoggedEvent]:
    return chained(events, chain_start(events[0].stream_id, TABLE_KIND))


def without_a_hand(table, events: list[LoggedEvent]) -> list[LoggedEvent]:
    """The events without those of the second hand, numbered and chained anew."""
    core = table.core[: len(events)]
    first = [at for at, one in enumerate(core) if isinstance(one, HandStarted)][1]
    last = next(at for at, one in enumerate(core) if at > first and isinstance(one, HandEnded))
    return rehashed(events[:first] + events[last + 1 :])


def edits(table) -> dict[str, tuple[list[LoggedEvent], bool, bool, bool]]:
    """By name: the history that is shown instead; whether the chain, the checkpoint and the witness are deceived."""
    events = table.events[:-10]
    at = len(events) // 2
    body = remade(events[at], body=events[at].body[:-1] + bytes((events[at].body[-1] ^ 1,)))
    changed = [*events[:at], body, *events[at + 1 :]]
    swapped = [*events[:at], events[at + 1], events[at], *events[at + 2 :]]
    grown = table.events
    return {
        "nothing": (events, True, True, True),
        "honest growth": (grown, True, True, True),
        "edit a body": (changed, False, True, True),
        "edit a body and hash again": (rehashed(changed), True, False, False),
        "delete a hand": (without_a_hand(table, events), True, False, False),
        "delete a hand, then play on": (without_a_hand(table, grown), True, False, False),
        "cut the tail": (events[:-7], True, False, False),
        "cut the tail, then play on otherwise": (rehashed(changed[:-7] + grown[-12:]), True, False, False),
        "swap two events": (swapped, False, False, False),
    }


NAMES = [
    *("nothing", "honest growth", "edit a body", "edit a body and hash again", "delete a hand"),
    *("delete a hand, then play on", "cut the tail", "cut the tail, then play on otherwise", "swap two events"),
]


@pytest.mark.parametrize("name", NAMES)
async def test_each_edit_is_caught_by_whom_it_says(operator, audit, table, name):
    history, chain, checkpoint, witness = edits(table)[name]
    # The audit has taken in what was true.
    keeper = audit.keepers[TABLE_FEED]
    first = await operator.feed.read(0)
    await audit.database.run(lambda c: keeper.apply(c, first))
    standing = Standing(TABLE_FEED, audit.database, operator.feed, alarm=lambda *told: operator.alarms.append(told))
    await operator.write(history)
    assert await operator.chain_holds() is chain
    assert await operator.checkpoint_holds() is checkpoint
    assert await operator.witness_follows() is witness
    await standing.look(range(1, len(first) + 1))
    is_honest = name in {"nothing", "honest growth"}
    assert bool(operator.alarms) is not is_honest, "the audit's own memory catches all of them"
    assert {kind for kind, _ in operator.alarms} == (set() if is_honest else {"fork"})


async def test_an_operator_who_signs_a_second_history_of_the_same_size_is_refused(operator, table):
    """Both are well chained and well signed; only the witness has seen the first."""
    events = table.events[:-10]
    await operator.write(rehashed([*events[:5], remade(events[5], body=events[5].body + b"\x00"), *events[6:]]))
    leaves = await operator.leaves()
    assert len(leaves) == operator.kept.size
    head = Checkpoint(ORIGIN, len(leaves), merkle.root(leaves))
    note = Note(head.text, (signed_checkpoint(SECRET.key(ORIGIN), head),))
    assert operator.witness.add_checkpoint(request(head.size, (), note)).status == HTTPStatus.CONFLICT
    assert operator.witness.add_checkpoint(request(0, (), note)).status == HTTPStatus.CONFLICT


async def test_an_audit_that_was_rebuilt_over_an_edited_feed_signs_nothing(operator, audit, table, tmp_path):
    """The insider edits the feed, empties the audit's database and has it filled anew: the head beside the key knows."""
    keeper = audit.keepers[TABLE_FEED]
    register = TestedRegister(audit.database, tmp_path / "log")
    register.heads.write(Head(ORIGIN, operator.kept.size, operator.kept.root))
    await operator.write(edits(table)["edit a body and hash again"][0] + table.events[-10:])
    events = await operator.feed.read(0)
    await audit.database.run(lambda c: keeper.apply(c, events))
    assert await register.sign() is None
    assert "CHECKPOINT_CONTRADICTED" in await audit.kinds()
    register.close()
