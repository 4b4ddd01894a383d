"""Appending: the compare-and-set, the chain, recorded outcomes (H1, H2, H6, H8)."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from diwan.chassis.store import (
    BrokenChain,
    Conflict,
    ConflictKind,
    EventStore,
    NewEvent,
    OutcomeKind,
    append_in,
    create_stream_in,
    record_refusal_in,
)
from diwan.core.hashing import ChainHead, chain_start, verify_chain
from diwan.core.hashing import StoredEvent as HashedEvent
from tests.integration.store.conftest import TABLE_KIND, Prepared, new_append


async def follow_chain(store: EventStore, stream_id: UUID) -> ChainHead:
    events = await store.read(stream_id)
    hashed = [
        HashedEvent(e.version, e.type_id, e.schema_v, e.recorded_at_ms, e.command_id.bytes, e.body, e.prev_hash, e.hash)
        for e in events
    ]
    return verify_chain(stream_id.bytes, chain_start(stream_id.bytes, TABLE_KIND), hashed)


async def test_a_batch_is_read_back_as_it_was_written_with_versions_from_one(store: EventStore):
    stream_id = uuid4()
    append = new_append(stream_id, events=3)

    appended = await store.append(append)

    events = await store.read(stream_id)
    assert (appended.first_version, appended.last_version) == (1, 3)
    assert [e.version for e in events] == [1, 2, 3]
    assert [(e.type_id, e.schema_v, e.body, e.event_id) for e in events] == [
        (n.type_id, n.schema_v, n.body, n.event_id) for n in append.events
    ]
    assert {e.command_id for e in events} == {append.command_id}
    assert events[-1].hash == appended.head_hash


async def test_h2_the_chain_over_stored_bytes_verifies_and_breaks_with_any_byte(store: EventStore, superuser):
    stream_id, head = uuid4(), None
    for version in range(5):
        appended = await store.append(new_append(stream_id, version, head))
        head = appended.head_hash
    assert await follow_chain(store, stream_id) == ChainHead(5, head, 1_000)

    await superuser.execute("alter table event disable trigger event_is_never_rewritten")
    await superuser.execute(
        "update event set body = set_byte(body, 0, get_byte(body, 0) # 1) where stream_id = $1 and version = 3",
        stream_id,
    )
    await superuser.execute("alter table event enable trigger event_is_never_rewritten")

    assert (await follow_chain(store, stream_id)).fault_version == 3


async def test_what_is_called_meanwhile_is_called_once_before_the_answer_and_may_fail(store: EventStore):
    stream_id, order = uuid4(), []

    def meanwhile() -> None:
        order.append("meanwhile")
        raise ZeroDivisionError

    first = await store.append(new_append(stream_id), meanwhile)
    order.append("answer")
    with pytest.raises(Conflict):
        await store.append(new_append(stream_id), lambda: order.append("in vain"))

    assert order == ["meanwhile", "answer", "in vain"]
    assert [e.hash for e in await store.read(stream_id)] == [first.head_hash]


async def test_a_second_append_at_the_same_version_is_stale_and_leaves_nothing(store: EventStore):
    stream_id = uuid4()
    first = await store.append(new_append(stream_id))
    late = new_append(stream_id)

    with pytest.raises(Conflict) as refused:
        await store.append(late)

    assert (refused.value.kind, refused.value.version) == (ConflictKind.STALE, 1)
    assert await store.outcome(stream_id, late.command_id) is None
    assert [e.hash for e in await store.read(stream_id)] == [first.head_hash]


async def test_an_append_to_a_stream_that_is_not_there_is_stale_at_version_zero(store: EventStore):
    with pytest.raises(Conflict) as refused:
        await store.append(new_append(uuid4(), 4, b"x" * 32))

    assert (refused.value.kind, refused.value.version) == (ConflictKind.STALE, 0)


async def test_an_append_that_does_not_continue_the_head_is_refused_as_a_broken_chain(store: EventStore):
    stream_id = uuid4()
    appended = await store.append(new_append(stream_id))

    with pytest.raises(BrokenChain):
        await store.append(new_append(stream_id, 1, b"x" * 32))
    with pytest.raises(BrokenChain):
        await store.append(new_append(stream_id, 1, appended.head_hash, recorded_at_ms=999))

    assert len(await store.read(stream_id)) == 1


async def test_h6_the_same_command_again_is_a_duplicate_and_its_outcome_is_the_first_one(store: EventStore):
    stream_id = uuid4()
    first = new_append(stream_id, events=2)
    appended = await store.append(first)

    for again in (
        first,
        new_append(stream_id, 2, appended.head_hash, command_id=first.command_id),
        new_append(stream_id, 2, appended.head_hash, command_id=first.command_id, request_hash=b"other content"),
    ):
        with pytest.raises(Conflict) as refused:
            await store.append(again)
        assert refused.value.kind is ConflictKind.DUPLICATE_COMMAND

    outcome = await store.outcome(stream_id, first.command_id)
    assert outcome is not None
    assert (outcome.kind, outcome.request_hash, outcome.reply) == (OutcomeKind.APPLIED, b"request", b"reply")
    assert (outcome.first_version, outcome.last_version, outcome.caller) == (1, 2, "player-1")
    assert len(await store.read(stream_id)) == 2


async def test_h6_of_a_double_tap_in_the_same_instant_one_is_stored(store: EventStore):
    stream_id, command_id = uuid4(), uuid4()
    taps = [new_append(stream_id, command_id=command_id) for _ in range(20)]

    answers = await asyncio.gather(*(store.append(tap) for tap in taps), return_exceptions=True)

    assert sorted(type(answer).__name__ for answer in answers) == ["Appended", *["Conflict"] * 19]
    assert {a.kind for a in answers if isinstance(a, Conflict)} == {ConflictKind.DUPLICATE_COMMAND}
    assert len(await store.read(stream_id)) == 1


async def test_l5_a_refused_command_stays_refused(store: EventStore):
    stream_id, command_id = uuid4(), uuid4()
    appended = await store.append(new_append(stream_id))

    first = await store.record_refusal(stream_id, command_id, "player-1", b"request", b"NO_FUNDS")
    again = await store.record_refusal(stream_id, command_id, "player-1", b"request", b"ANOTHER_REASON")
    with pytest.raises(Conflict) as refused:
        await store.append(new_append(stream_id, 1, appended.head_hash, command_id=command_id))

    assert first == again == await store.outcome(stream_id, command_id)
    assert (first.is_refused, first.reply) == (True, b"NO_FUNDS")
    assert refused.value.kind is ConflictKind.DUPLICATE_COMMAND


async def test_a_refusal_after_an_application_gives_back_the_application(store: EventStore):
    append = new_append(uuid4())
    await store.append(append)

    recorded = await store.record_refusal(append.stream_id, append.command_id, "player-1", b"request", b"LATE")

    assert recorded.kind is OutcomeKind.APPLIED


async def test_a_conflict_fails_its_own_command_alone(store: EventStore):
    taken = [uuid4() for _ in range(10)]
    for stream_id in taken:
        await store.append(new_append(stream_id))
    free = [uuid4() for _ in range(10)]

    answers = await asyncio.gather(
        *(store.append(new_append(stream_id)) for pair in zip(taken, free, strict=True) for stream_id in pair),
        return_exceptions=True,
    )

    assert [type(answer).__name__ for answer in answers] == ["Conflict", "Appended"] * 10


async def test_an_append_against_the_schema_fails_alone_too(store: EventStore):
    used = new_append(uuid4())
    await store.append(used)
    bad = new_append(uuid4())
    bad = msgspec.structs.replace(bad, events=used.events)
    good = [new_append(uuid4()) for _ in range(10)]

    answers = await asyncio.gather(*map(store.append, [*good[:5], bad, *good[5:]]), return_exceptions=True)

    assert isinstance(answers.pop(5), asyncpg.UniqueViolationError)
    assert {type(answer).__name__ for answer in answers} == {"Appended"}


async def test_an_event_too_big_for_the_bus_is_refused_and_leaves_nothing(store: EventStore):
    append = new_append(uuid4())
    events = (NewEvent(7, 1, b"x" * 61_441, uuid4()),)
    big = msgspec.structs.replace(append, events=events)

    with pytest.raises(asyncpg.CheckViolationError):
        await store.append(big)

    assert await store.head(append.stream_id) is None


async def test_many_callers_of_one_stream_are_ordered_one_in_flight(store: EventStore):
    stream_id = uuid4()
    head = None
    for version in range(50):
        rivals = [new_append(stream_id, version, head) for _ in range(3)]
        answers = await asyncio.gather(*map(store.append, rivals), return_exceptions=True)
        won = [a for a in answers if not isinstance(a, Conflict)]
        assert len(won) == 1
        head = won[0].head_hash

    assert [e.version for e in await store.read(stream_id)] == list(range(1, 51))
    assert (await follow_chain(store, stream_id)).fault is None


@pytest.mark.parametrize("table", ["event", "command", "feed"])
@pytest.mark.parametrize("verb", ["update {} set stream_id = stream_id", "delete from {}", "truncate {} cascade"])
async def test_h1_rows_never_change_by_the_runtime_role_nor_by_the_owner(
    store: EventStore, prepared: Prepared, verb: str, table: str
):
    await store.append(new_append(uuid4()))
    for role in ("table_rw", "table_seq", "migrate"):
        connection = await asyncpg.connect(prepared.url(role))
        with pytest.raises(asyncpg.InsufficientPrivilegeError) as refused:
            await connection.execute(verb.format(table))
        await connection.close()

    assert "never rewritten" in str(refused.value)


@pytest.mark.parametrize("role", ["table_rw", "table_seq", "table_ro", "hand_secret_rw"])
async def test_h1_no_role_that_serves_has_the_right_to_rewrite_even_without_the_trigger(prepared: Prepared, role: str):
    connection = await asyncpg.connect(prepared.url(role))
    held = await connection.fetch(
        "select t, p from unnest(array['event', 'command', 'feed']) t,"
        " unnest(array['update', 'delete', 'truncate', 'trigger']) p where has_table_privilege(t, p)"
    )
    await connection.close()

    assert [tuple(row) for row in held] == []


async def test_an_append_in_the_callers_transaction_stands_and_falls_with_it(store: EventStore):
    kept, dropped = new_append(uuid4()), new_append(uuid4())

    async def falls(connection):
        await append_in(connection, dropped)
        raise ValueError("the caller changed its mind")

    await store.database.run(lambda connection: append_in(connection, kept))
    with pytest.raises(ValueError, match="changed its mind"):
        await store.database.run(falls)

    assert len(await store.read(kept.stream_id)) == 1
    assert await store.head(dropped.stream_id) is None
    assert await store.outcome(dropped.stream_id, dropped.command_id) is None


async def test_an_append_in_the_callers_transaction_reports_conflicts(store: EventStore):
    append = new_append(uuid4())
    await store.append(append)

    for again, kind in ((append, ConflictKind.DUPLICATE_COMMAND), (new_append(append.stream_id), ConflictKind.STALE)):
        with pytest.raises(Conflict) as refused:
            await store.database.run(lambda connection, again=again: append_in(connection, again))
        assert refused.value.kind is kind


async def test_a_refusal_in_the_callers_transaction_falls_with_it(store: EventStore):
    stream_id, command_id = uuid4(), uuid4()

    async def falls(connection):
        await record_refusal_in(connection, stream_id, command_id, "player-1", b"request", b"NO_FUNDS")
        raise ValueError("the caller changed its mind")

    with pytest.raises(ValueError, match="changed its mind"):
        await store.database.run(falls)

    assert await store.outcome(stream_id, command_id) is None


async def test_reading_goes_on_behind_a_version_and_in_pages(store: EventStore):
    stream_id = uuid4()
    await store.append(new_append(stream_id, events=10))

    pages = [[e.version for e in await store.read(stream_id, after, 4)] for after in (0, 4, 8, 10)]

    assert pages == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10], []]


async def test_streams_of_a_kind_are_listed_by_id(store: EventStore):
    kind, ids = 321, sorted(uuid4() for _ in range(5))
    for stream_id in ids:
        await store.database.run(lambda c, s=stream_id: create_stream_in(c, s, kind, b"h" * 32))

    first = await store.heads(kind, limit=3)
    rest = await store.heads(kind, first[-1].stream_id)

    assert [h.stream_id for h in (*first, *rest)] == ids
    assert {(h.version, h.owner, h.is_leased) for h in first} == {(0, None, False)}
