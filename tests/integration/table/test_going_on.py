"""A table that is taken over goes on from a copy, and comes to the same as from the whole log (H3, H5, P1)."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest
from msgspec.structs import replace

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.alarms import ALARMS
from diwan.chassis.store import EventStore
from diwan.core.log import StreamKind
from services.table import loading
from services.table.index import _UNOWNED
from services.table.loaded import Fold
from services.table.loading import _fold_of
from services.table.standing import Copy, read, written
from tests.integration.table.house import PASSWORDS, a_house, a_wallet, has_decision, player_of
from tests.integration.table.test_looking_back import eventually, fold_hands, two
from tests.integration.table.test_my_hands import unique

HANDS = 4


async def log_of(postgres, database, table_id):
    store = await EventStore.open(postgres.url("table_rw", PASSWORDS["table_rw"], database))
    try:
        return await store.read(UUID(table_id))
    finally:
        await store.close()


async def play_hands(house, table_id, player, hands):
    """Play so many hands to their third decision, then fold; seen by a player, who sees the table as it is."""

    async def seen():
        return (await house.call("GetTable", pb.GetTableRequest(table_id=table_id), player)).table

    for number in range(1, hands + 1):
        for kind in ("call", "check", "check", "fold"):
            view = await eventually(seen, lambda view, n=number: view.hand.hand_no == n and has_decision(view))
            decision = view.hand.decision
            await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)


def whole(events):
    fold = Fold()
    fold.take(events)
    return fold


def copies_in(events):
    """Return the copies that the table's owner keeps, as they are read back: at every command's end between two hands."""
    fold, kept = Fold(), []
    for event, following in zip(events, [*events[1:], None], strict=True):
        fold.take([event])
        is_end = following is None or following.command_id != event.command_id
        if is_end and fold.started is not None and not fold.state.is_running:
            kept.append(Copy(read(written(fold.state)), event.hash))
    return kept


@pytest.mark.parametrize("delay", [0, 3])
async def test_wherever_the_log_ends_a_copy_leads_to_what_the_whole_log_does(house, postgres, database, delay):
    """H3, S8: the table, the cards shown, when it was last heard, and what spectators had been shown."""
    players = unique("ann", "ben")
    table_id = await two(house, players, spectator_delay_events=delay)
    await play_hands(house, table_id, players[0], HANDS)
    events = await log_of(postgres, database, table_id)
    copies, compared, were_behind, read_whole = copies_in(events), 0, 0, 0
    for end in range(1, len(events) + 1):
        expected = whole(events[:end])
        last_hand = expected.hands[-1][0].first_version if expected.hands else 0
        for copy in [each for each in copies if each.state.version < last_hand]:
            found = _fold_of(copy, events[copy.state.version - 1 : end])
            if found is None:
                read_whole += 1
                continue
            compared += 1
            assert found.state == expected.state
            assert found.behind() == expected.behind()
            were_behind += bool(found.behind())
            for name in ("version", "shown", "started", "silent_since_ms"):
                assert getattr(found, name) == getattr(expected, name)
            assert found.recent == expected.recent[-len(found.recent) :]
            assert found.hands == expected.hands[-len(found.hands) :]
    assert compared > 3 * HANDS
    assert bool(were_behind) == bool(delay)
    assert read_whole < compared // 2
    assert bool(read_whole) == bool(delay), "spectators see the hand before for a moment, and that is in no copy"


async def test_only_open_tables_without_a_living_owner_are_looked_for(house, postgres, database):
    """RELIABILITY 3.3: what is owned, and what is over, is passed over however much of it there is."""
    open_one, over = await house.create(), await house.create()
    await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=over))
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    try:
        is_known = "select count(*) from table_index where table_id = any($1::uuid[]) and is_closed"
        async with asyncio.timeout(10):
            while not await connection.fetchval(is_known, [over]):  # noqa: ASYNC110  (another process writes it)
                await asyncio.sleep(0.02)

        async def unowned():
            return {str(row["stream_id"]) for row in await connection.fetch(_UNOWNED, StreamKind.TABLE)}

        # In one transaction, which ends in nothing: the owner would take its lease back at any time.
        transaction = connection.transaction()
        await transaction.start()
        end_leases = "update stream set lease_until = now() + $2 where stream_id = any($1::uuid[])"
        await connection.execute(end_leases, [open_one, over], timedelta(seconds=5))
        assert not {open_one, over} & await unowned()
        await connection.execute(end_leases, [open_one, over], timedelta(0))
        assert {open_one, over} & await unowned() == {open_one}
        await connection.execute("update stream set lease_until = null where stream_id = any($1)", [open_one, over])
        assert {open_one, over} & await unowned() == {open_one}
        await transaction.rollback()
    finally:
        await connection.close()


async def test_a_copy_of_another_place_or_one_within_a_command_is_not_gone_on_from(house, postgres, database):
    table_id = await two(house, unique("ann", "ben"))
    await fold_hands(house, table_id, 2)
    events = await log_of(postgres, database, table_id)
    copy = copies_in(events)[0]
    at = copy.state.version
    rest = events[at - 1 :]
    alarms = ALARMS.labels("standing")._value.get()

    assert _fold_of(copy, rest) is not None
    assert _fold_of(copy, [rest[0], replace(rest[1], command_id=rest[0].command_id), *rest[2:]]) is None
    assert _fold_of(copy, rest[:1]) is None, "it leads to no hand"
    assert ALARMS.labels("standing")._value.get() == alarms
    assert _fold_of(replace(copy, stream_hash=bytes(32)), rest) is None
    assert _fold_of(copy, events[at - 2 :]) is None
    assert ALARMS.labels("standing")._value.get() == alarms + 2


def of_the_game(view):
    """Return what a view says that is not about when and in whose hands the table is."""
    told = [(seat.seat, seat.player, seat.stack) for seat in view.seats]
    return view.hand.hand_id, view.hand.hand_no, view.hand.decision.seat, list(view.hand.board), told


async def test_a_restart_reads_behind_the_copies_and_shows_the_same_without_them(
    postgres, database, folder, monkeypatch
):
    """H5: copies that are gone, damaged or of other code change nothing but how much is read."""
    places = []
    read_many = EventStore.read_many

    async def noting(self, after):
        places.append(dict(after))
        return await read_many(self, after)

    async with a_wallet(folder) as wallet:
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            table_id = await two(house, unique("ann", "ben"), decision_seconds=3600)
            await fold_hands(house, table_id, HANDS)
            view = await house.until(table_id, lambda view: view.hand.hand_no == HANDS + 1 and has_decision(view))
            connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
            await eventually(
                lambda: connection.fetchval("select count(*) from table_standing where table_id = $1", UUID(table_id)),
                lambda count: count >= 2,
            )
        monkeypatch.setattr(EventStore, "read_many", noting)
        alarms, told = [], []
        for damage in (
            "select 1",
            "update table_standing set body = 'nonsense'",
            "update table_standing set layout = 'other code'",
            "delete from table_standing",
        ):
            await connection.execute(damage)
            places.clear()
            before = ALARMS.labels("standing")._value.get()
            async with a_house(postgres, database, folder, wallet=wallet) as house:
                told.append((places[0][UUID(table_id)] > 0, of_the_game(await house.view(table_id))))
            alarms.append(ALARMS.labels("standing")._value.get() > before)
        await connection.close()

    assert [is_from_a_copy for is_from_a_copy, _ in told] == [True, False, False, False]
    assert [shown for _, shown in told] == [of_the_game(view)] * 4
    assert alarms == [False, True, False, False]


async def test_a_table_whose_copies_cannot_be_read_is_taken_over_all_the_same(postgres, database, folder, monkeypatch):
    async def newest(_self, _table_ids):
        raise asyncpg.UndefinedTableError("no such table")

    async with a_wallet(folder) as wallet:
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            table_id = await two(house, unique("ann", "ben"), decision_seconds=3600)
            await fold_hands(house, table_id, 2)
            view = await house.until(table_id, lambda view: view.hand.hand_no == 3 and has_decision(view))
        monkeypatch.setattr(loading.Standing, "newest", newest)
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            again = await house.view(table_id)

    assert of_the_game(again) == of_the_game(view)
