"""Who may write a stream: epochs, leases, zombies (O1, O2, O3, O8)."""

import asyncio
import signal
import sys
import time
from uuid import UUID, uuid4

import asyncpg
import pytest

from diwan.chassis.store import Append, Claim, Conflict, ConflictKind, EventStore, StoredEvent, append_in
from diwan.chassis.store import store as store_module
from tests.integration.store.conftest import Prepared, new_append


async def created(store: EventStore) -> UUID:
    stream_id = uuid4()
    await store.append(new_append(stream_id))
    return stream_id


async def claimed(store: EventStore, stream_id: UUID, owner: str, lease_seconds: float = 5.0) -> Claim:
    claim = await store.claim(stream_id, owner, lease_seconds=lease_seconds)
    assert claim is not None
    return claim


def next_append(claim: Claim) -> Append:
    return new_append(
        claim.stream_id, claim.version, claim.head_hash, epoch=claim.epoch, recorded_at_ms=claim.recorded_at_ms
    )


async def test_a_claim_carries_the_head_and_the_databases_clock(store: EventStore):
    stream_id = uuid4()
    appended = await store.append(new_append(stream_id, recorded_at_ms=77))

    claim = await claimed(store, stream_id, "me")

    assert (claim.epoch, claim.version, claim.head_hash, claim.recorded_at_ms) == (1, 1, appended.head_hash, 77)
    assert abs(claim.database_now_ms - time.time_ns() // 1_000_000) < 60_000


async def test_a_running_lease_keeps_others_out_until_it_is_released_or_ends(store: EventStore):
    stream_id = await created(store)
    mine = await claimed(store, stream_id, "me")

    assert await store.claim(stream_id, "other") is None
    assert await store.claim(uuid4(), "other") is None
    assert await store.renew_lease(stream_id, "me", mine.epoch)
    assert not await store.renew_lease(stream_id, "other", mine.epoch)
    assert await store.release_lease(stream_id, "me", mine.epoch)
    other = await claimed(store, stream_id, "other", lease_seconds=0.0)
    assert not await store.renew_lease(stream_id, "me", mine.epoch)
    back = await claimed(store, stream_id, "me")
    assert (mine.epoch, other.epoch, back.epoch) == (1, 2, 3)


async def test_many_leases_are_released_at_once_and_the_lost_ones_left_to_their_owners(store: EventStore):
    ids = [await created(store) for _ in range(3)]
    epochs = {stream_id: (await claimed(store, stream_id, "me")).epoch for stream_id in ids[:2]}
    others = await claimed(store, ids[2], "other")

    assert await store.release_leases("me", epochs | {ids[2]: others.epoch, uuid4(): 1}) == set(ids[:2])
    assert await store.release_leases("me", {ids[0]: epochs[ids[0]] + 1}) == set()
    assert (await claimed(store, ids[0], "other")).epoch == epochs[ids[0]] + 1
    assert await store.claim(ids[2], "me") is None


async def test_a_released_lease_is_not_renewed_by_who_released_it(store: EventStore):
    """A renewal on its way while streams are handed over would keep their next owner out for a whole lease."""
    ids = [await created(store) for _ in range(2)]
    epochs = {stream_id: (await claimed(store, stream_id, "me")).epoch for stream_id in ids}
    await store.release_leases("me", {ids[0]: epochs[ids[0]]})

    assert await store.renew_leases("me", epochs) == {ids[1]}
    await claimed(store, ids[0], "other")


async def test_many_leases_are_renewed_a_few_a_commit_and_the_lost_ones_named(store: EventStore, monkeypatch):
    monkeypatch.setattr(store_module, "RENEWED_AT_ONCE", 2)
    ids = [await created(store) for _ in range(3)]
    epochs = {stream_id: (await claimed(store, stream_id, "me", 0.0)).epoch for stream_id in ids}
    await claimed(store, ids[1], "other")

    assert await store.renew_leases("me", epochs) == {ids[0], ids[2]}
    assert await store.renew_leases("me", {}) == set()


async def test_o1_an_append_with_an_older_epoch_is_fenced_though_its_version_fits(store: EventStore):
    stream_id = await created(store)
    zombie = await claimed(store, stream_id, "zombie", lease_seconds=0.0)
    await claimed(store, stream_id, "owner")

    with pytest.raises(Conflict) as refused:
        await store.append(next_append(zombie))

    assert (refused.value.kind, refused.value.epoch) == (ConflictKind.FENCED, 2)
    assert len(await store.read(stream_id)) == 1


async def test_o2_a_zombie_that_writes_during_a_takeover_waits_and_gets_nothing(store: EventStore, prepared: Prepared):
    stream_id = await created(store)
    zombie = await claimed(store, stream_id, "zombie", lease_seconds=0.0)
    takeover = await asyncpg.connect(prepared.url("table_rw"))
    transaction = takeover.transaction()
    await transaction.start()
    await takeover.execute("update stream set epoch = epoch + 1, owner = 'owner' where stream_id = $1", stream_id)

    writing = asyncio.create_task(store.append(next_append(zombie)))
    await asyncio.sleep(0.2)
    assert not writing.done()
    await transaction.commit()
    await takeover.close()

    with pytest.raises(Conflict) as refused:
        await writing
    assert refused.value.kind is ConflictKind.FENCED
    assert len(await store.read(stream_id)) == 1


async def test_o2_a_zombie_wins_if_the_takeover_is_rolled_back(store: EventStore, prepared: Prepared):
    stream_id = await created(store)
    owner = await claimed(store, stream_id, "owner", lease_seconds=0.0)
    takeover = await asyncpg.connect(prepared.url("table_rw"))
    transaction = takeover.transaction()
    await transaction.start()
    await takeover.execute("update stream set epoch = epoch + 1 where stream_id = $1", stream_id)

    writing = asyncio.create_task(store.append(next_append(owner)))
    await asyncio.sleep(0.2)
    assert not writing.done()
    await transaction.rollback()
    await takeover.close()

    assert (await writing).last_version == 2


async def test_o3_the_new_owners_first_event_commits_with_its_claim_or_not_at_all(store: EventStore):
    stream_id = await created(store)

    claim = await store.claim(stream_id, "me", lease_seconds=0.0, first_event=next_append)
    assert claim is not None
    events = await store.read(stream_id)
    assert (claim.version, claim.head_hash, claim.epoch) == (2, events[-1].hash, 1)
    assert [e.epoch for e in events] == [0, 1]

    def wrong(claim: Claim) -> Append:
        return new_append(claim.stream_id, claim.version + 5, claim.head_hash, epoch=claim.epoch)

    with pytest.raises(Conflict):
        await store.claim(stream_id, "me", first_event=wrong)
    head = await store.head(stream_id)
    assert head is not None
    assert (head.epoch, head.version) == (1, 2)


async def test_many_streams_are_claimed_in_one_commit_and_those_with_living_owners_left_out(store: EventStore):
    """O1, O3: each claim stands behind its own first event, as if it had been made alone."""
    ids = [await created(store) for _ in range(5)]
    await claimed(store, ids[0], "other")
    former = await claimed(store, ids[1], "other", lease_seconds=0.0)

    claims = await store.claim_many([*ids, uuid4()], "me", first_event=next_append)

    assert {claim.stream_id for claim in claims} == set(ids[1:])
    by_stream: dict[UUID, list[StoredEvent]] = {}
    for event in await store.read_many(dict.fromkeys(ids, 0)):
        by_stream.setdefault(event.stream_id, []).append(event)
    for claim in claims:
        events = by_stream[claim.stream_id]
        assert events == await store.read(claim.stream_id)
        assert (claim.version, claim.head_hash, claim.epoch) == (len(events), events[-1].hash, events[-1].epoch)
        assert claim.epoch == (former.epoch + 1 if claim.stream_id == ids[1] else 1)
        assert (await store.append(next_append(claim))).last_version == claim.version + 1
    assert await store.claim(ids[2], "other") is None
    assert await store.claim_many([uuid4()], "me", first_event=next_append) == []


async def test_of_many_streams_those_of_an_owner_known_to_be_gone_are_claimed_under_its_lease(store: EventStore):
    """O1: whoever it was is fenced by the epoch, as after any claim; other owners' leases still count."""
    ids = [await created(store) for _ in range(3)]
    gone = await claimed(store, ids[0], "me, before")
    await claimed(store, ids[1], "other")

    claims = await store.claim_many(ids, "me", first_event=next_append, instead_of={"me, before"})

    assert {claim.stream_id: claim.epoch for claim in claims} == {ids[0]: gone.epoch + 1, ids[2]: 1}
    with pytest.raises(Conflict) as refused:
        await store.append(next_append(gone))
    assert refused.value.kind is ConflictKind.FENCED


async def test_where_one_of_many_claims_cannot_commit_none_does(store: EventStore):
    ids = sorted([await created(store) for _ in range(3)])

    def wrong_for_one(claim: Claim) -> Append:
        skipped = 5 if claim.stream_id == ids[1] else 0
        return new_append(claim.stream_id, claim.version + skipped, claim.head_hash, epoch=claim.epoch)

    with pytest.raises(Conflict):
        await store.claim_many(ids, "me", first_event=wrong_for_one)
    heads = [await store.head(each) for each in ids]
    assert [(head.epoch, head.version) for head in heads if head is not None] == [(0, 1)] * 3


async def test_o8_of_parallel_claims_of_many_each_stream_goes_to_one(store: EventStore):
    ids = [await created(store) for _ in range(20)]

    found = await asyncio.gather(
        *(store.claim_many(ids, f"owner-{number}", first_event=next_append) for number in range(6))
    )

    taken = [claim.stream_id for claims in found for claim in claims]
    assert len(taken) == len(set(taken))
    assert {claim.epoch for claims in found for claim in claims} == {1}
    heads = [await store.head(each) for each in ids]
    assert {head.stream_id for head in heads if head is not None and head.epoch} == set(taken)


async def test_o8_of_parallel_claims_one_gets_the_stream(store: EventStore):
    stream_id = await created(store)

    claims = await asyncio.gather(*(store.claim(stream_id, f"owner-{n}") for n in range(12)))

    assert [c.epoch for c in claims if c is not None] == [1]


async def test_o1_two_processes_fighting_for_a_stream_never_mix_their_epochs(store: EventStore, prepared: Prepared):
    stream_id = await created(store)
    rival_store = await EventStore.open(prepared.url("table_rw"))

    async def fight(mine: EventStore, owner: str) -> int:
        written, lost = 0, []
        for _ in range(15):
            claim = await mine.claim(stream_id, owner, lease_seconds=0.0)
            assert claim is not None
            version, head = claim.version, claim.head_hash
            try:
                for _ in range(5):
                    append = new_append(stream_id, version, head, epoch=claim.epoch)
                    appended = await mine.append(append)
                    version, head, written = appended.last_version, appended.head_hash, written + 1
            except Conflict as conflict:
                lost.append(conflict.kind)
        assert set(lost) <= {ConflictKind.FENCED}
        return written

    counts = await asyncio.gather(fight(store, "a"), fight(rival_store, "b"))
    await rival_store.close()

    events = await store.read(stream_id)
    assert len(events) == 1 + sum(counts)
    assert [e.version for e in events] == list(range(1, len(events) + 1))
    epochs = [e.epoch for e in events]
    assert epochs == sorted(epochs)


OWNER_PROGRAM = """
import asyncio, sys
from uuid import UUID
from diwan.chassis.store import Conflict, EventStore
from tests.integration.store.conftest import new_append

async def main(url, stream_id):
    store = await EventStore.open(url)
    claim = await store.claim(stream_id, "zombie", lease_seconds=0.2)
    version, head = claim.version, claim.head_hash
    while True:
        try:
            appended = await store.append(new_append(stream_id, version, head, epoch=claim.epoch))
        except Conflict as conflict:
            print(conflict.kind, flush=True)
            break
        version, head = appended.last_version, appended.head_hash
        print(version, flush=True)
    await store.close()

asyncio.run(main(sys.argv[1], UUID(sys.argv[2])))
"""


async def test_o1_an_owner_that_was_frozen_during_a_takeover_writes_nothing_afterwards(
    store: EventStore, prepared: Prepared
):
    stream_id = await created(store)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OWNER_PROGRAM, prepared.url("table_rw"), str(stream_id)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    for _ in range(20):
        assert (await process.stdout.readline()).strip().isdigit()
    process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(0.3)

    owner = await claimed(store, stream_id, "owner")
    mine = await store.append(next_append(owner))
    process.send_signal(signal.SIGCONT)
    output, _ = await process.communicate()

    assert output.split()[-1] == b"fenced"
    events = await store.read(stream_id)
    assert events[-1].version == mine.last_version
    assert [e.epoch for e in events] == sorted(e.epoch for e in events)
    assert sum(e.epoch == owner.epoch for e in events) == 1


async def test_an_append_in_a_transaction_is_fenced_too(store: EventStore):
    stream_id = await created(store)
    zombie = await claimed(store, stream_id, "zombie", lease_seconds=0.0)
    await claimed(store, stream_id, "owner")

    with pytest.raises(Conflict) as refused:
        await store.database.run(lambda connection: append_in(connection, next_append(zombie)))

    assert refused.value.kind is ConflictKind.FENCED
