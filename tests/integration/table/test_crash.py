"""kill -9, takeovers and zombies: nothing lost, nothing doubled, play goes on (P1, P4, H3, H9, O1, O3, O4, O7)."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest

from diwan.api.event.v1 import event_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.ids import command_id_of
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hashing import StoredEvent, chain_start, verify_chain
from diwan.core.log import StreamKind
from diwan.core.table.decide import decide
from diwan.core.table.evolve import evolve
from diwan.core.table.inverse import command_of
from diwan.wire.events import decode
from tests.integration.table.house import (
    House,
    a_house,
    a_wallet,
    error_of,
    has_decision,
    keys_in,
    player_of,
    settings_for,
)

pytestmark = pytest.mark.timeout(180)


@contextlib.asynccontextmanager
async def a_process(postgres, database, folder, wallet, key, **changes):
    """The service as a process of its own, to be killed."""
    ready = folder / f"ready-{uuid4()}.json"
    settings = settings_for(postgres, database, folder, wallet.address, ready_file=ready, **changes)
    environment = dict(os.environ)
    for name, value in settings.model_dump().items():
        plain = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        if name in settings.model_fields_set and plain is not None:
            environment[f"DIWAN_TABLE_{name.upper()}"] = str(plain)
    environment["DIWAN_TABLE_METRICS_LISTEN"] = "127.0.0.1:0"
    with (folder / f"service-{uuid4()}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "services.table"), env=environment, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(30):
            while not ready.exists():
                assert process.returncode is None, "the service ended"
                await asyncio.sleep(0.05)
        house = House(json.loads(ready.read_text())["address"], key, wallet)
        house.process = process
        yield house
        await house.close()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        await process.wait()


async def log_of(postgres, database, table_id):
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    rows = await connection.fetch("select * from event where stream_id = $1 order by version", UUID(table_id))
    await connection.close()
    return rows


def checked(table_id, rows):
    """Return the folded state of a log whose chain, versions, epochs and every decision hold."""
    events = [
        StoredEvent(
            row["version"],
            row["type_id"],
            row["schema_v"],
            row["recorded_at_ms"],
            row["command_id"].bytes,
            row["body"],
            row["prev_hash"],
            row["hash"],
        )
        for row in rows
    ]
    stream_id = UUID(table_id).bytes
    head = verify_chain(stream_id, chain_start(stream_id, StreamKind.TABLE), events)
    assert (head.fault, head.version) == (None, len(rows))
    assert [row["epoch"] for row in rows] == sorted(row["epoch"] for row in rows)
    state, shown, batch, last = None, {}, [], None
    for row in rows:
        decoded = decode(row["type_id"], row["schema_v"], row["body"])
        if row["command_id"] != last:
            _decide_again(state, batch, shown)
            for event in batch:
                state = evolve(state, event)
            batch, last = [], row["command_id"]
        if isinstance(decoded.event, HandStarted):
            shown = {}
        shown |= {reveal.position: reveal.card for reveal in decoded.reveals}
        batch.append(decoded.event)
    _decide_again(state, batch, shown)
    for event in batch:
        state = evolve(state, event)
    return state


def _decide_again(state, batch, shown):
    if batch:
        command = command_of(batch[0], state)
        assert command is not None, f"{batch[0]} is no act"
        assert decide(state, command, shown) == tuple(batch)


async def seated(house, *players, **config):
    table_id = await house.create(**config)
    for player in players:
        await house.sit(table_id, player)
    return table_id, await house.until(table_id, has_decision)


async def test_after_kill_9_in_mid_hand_the_hand_goes_on_from_its_log(postgres, database, folder):
    """P1, H9, O3, O7: the same hand, the same cards, the decision with its time back."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as house:
            table_id, view = await seated(house, "ann", "ben", "cid", decision_seconds=6)
            for _ in range(4):
                decision = view.hand.decision
                kind = "check" if decision.can_check else "call"
                await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)
                view = await house.until(table_id, lambda v, t=decision.turn: v.version > t and has_decision(v))
            house.process.kill()
            await house.process.wait()
        before = view
        async with a_process(postgres, database, folder, wallet, key) as house:
            view = await house.until(table_id, has_decision)
            assert (view.hand.hand_id, list(view.hand.board)) == (before.hand.hand_id, list(before.hand.board))
            assert view.hand.decision.turn == before.hand.decision.turn
            view = await house.until(table_id, lambda v: v.hand.decision.deadline_ms - time.time() * 1000 > 4_000)
            assert view.epoch > before.epoch
            decision = view.hand.decision
            await house.act(table_id, player_of(view, decision.seat), decision.turn, "check")
            await house.until(table_id, lambda view: view.hand.hand_id != before.hand.hand_id, seconds=60)
    state = checked(table_id, await log_of(postgres, database, table_id))
    assert sum(seat.stack for seat in state.seats) == 300


async def test_a_command_in_flight_at_kill_9_takes_effect_once_or_not_at_all(postgres, database, folder):
    """P1, P2: the log decides; asked again with the same id, the caller learns which, and it happens once."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as house:
            table_id, view = await seated(house, "ann", "ben", decision_seconds=60)
        for round_number in range(4):
            async with a_process(postgres, database, folder, wallet, key) as house:
                view = await house.until(table_id, has_decision)
                decision, request_id = view.hand.decision, str(uuid4())
                player = player_of(view, decision.seat)
                kind = "check" if decision.can_check else "call"
                asked = asyncio.create_task(house.act(table_id, player, decision.turn, kind, request_id=request_id))
                # Killed a little later each time: before it arrives, while it is stored, after the answer.
                await asyncio.sleep(0.0015 * round_number)
                house.process.kill()
                await house.process.wait()
                was_answered = not isinstance(
                    (await asyncio.gather(asked, return_exceptions=True))[0], grpc.aio.AioRpcError
                )
            rows = await log_of(postgres, database, table_id)
            command_id = command_id_of(player, request_id)
            was_stored = any(row["command_id"] == command_id for row in rows)
            assert was_stored or not was_answered, "an answer before the commit"
            async with a_process(postgres, database, folder, wallet, key) as house:
                again = await house.act(table_id, player, decision.turn, kind, request_id=request_id)
                assert again.is_replayed == was_stored
            rows = await log_of(postgres, database, table_id)
            acts = [row for row in rows if row["command_id"] == command_id and row["type_id"] == 14]
            assert len(acts) == 1
    checked(table_id, await log_of(postgres, database, table_id))


async def test_what_a_watcher_has_seen_is_in_the_log_whenever_the_process_dies(postgres, database, folder):
    """O4: no side effect before the commit."""
    key = keys_in(folder)
    seen = []

    async def watch(house, table_id):
        call = house.stub.Watch(pb.WatchRequest(table_id=table_id), metadata=house.metadata("w", Role.SERVICE))
        with contextlib.suppress(grpc.aio.AioRpcError):
            async for message in call:
                seen.extend((event.version, event.hash) for event in message.update.events)

    async with a_wallet(folder) as wallet, a_process(postgres, database, folder, wallet, key) as house:
        table_id, view = await seated(house, "ann", "ben")
        watching = asyncio.create_task(watch(house, table_id))
        end = asyncio.get_running_loop().time() + 1.0
        with contextlib.suppress(grpc.aio.AioRpcError):
            while True:
                decision = view.hand.decision
                kind = "check" if decision.can_check else "call"
                await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)
                view = await house.until(table_id, lambda v, t=decision.turn: v.version > t and has_decision(v))
                if asyncio.get_running_loop().time() > end:
                    house.process.kill()
        await house.process.wait()
        await watching
    stored = {row["version"]: row["hash"] for row in await log_of(postgres, database, table_id)}
    assert len(seen) > 20
    assert all(stored.get(version) == digest for version, digest in seen)
    checked(table_id, await log_of(postgres, database, table_id))


async def test_a_frozen_owner_that_wakes_up_after_a_takeover_writes_nothing_more(postgres, database, folder):
    """O1, P4: the zombie finds its epoch gone, tells its callers, and no event of it follows the new owner's first."""
    key = keys_in(folder)
    async with (
        a_wallet(folder) as wallet,
        a_process(postgres, database, folder, wallet, key, instance="one") as first,
    ):
        table_id, view = await seated(first, "ann", "ben", decision_seconds=60)
        first.process.send_signal(signal.SIGSTOP)
        async with a_process(postgres, database, folder, wallet, key, instance="two") as second:
            # The lease of 5 s must run out before anybody else may claim.
            async with asyncio.timeout(20):
                while True:
                    with contextlib.suppress(grpc.aio.AioRpcError):
                        taken = await second.view(table_id)
                        break
                    await asyncio.sleep(0.2)
            assert taken.epoch > view.epoch
            first.process.send_signal(signal.SIGCONT)
            decision = taken.hand.decision
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await first.act(table_id, player_of(view, decision.seat), decision.turn, "call")
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
            result = await second.act(table_id, player_of(taken, decision.seat), decision.turn, "call")
            assert not result.is_replayed
    rows = await log_of(postgres, database, table_id)
    checked(table_id, rows)
    owners = [event_pb2.Event.FromString(row["body"]).owner_changed for row in rows if row["type_id"] == 41]
    assert [each.owner.partition("#")[0] for each in owners] == ["one", "two"]
    assert [each.epoch for each in owners] == sorted({each.epoch for each in owners})


async def until_refused(house, request, reason, seconds=10.0):
    """Ask for a table until a former owner has learnt that it is one: at the latest when it renews its leases."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                await house.call("GetTable", request)
            except grpc.aio.AioRpcError as error:
                if error_of(error)[0] == reason:
                    return
                raise
            await asyncio.sleep(0.05)


async def test_two_processes_of_one_name_do_not_take_the_table_from_each_other_for_ever(postgres, database, folder):
    """O1, P4: an operator's slip. The later one takes over as after a restart; the earlier one learns it and lets go."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet, a_process(postgres, database, folder, wallet, key) as first:
        table_id, view = await seated(first, "ann", "ben", decision_seconds=60)
        async with a_process(postgres, database, folder, wallet, key) as second:
            request = pb.GetTableRequest(table_id=table_id)
            await until_refused(first, request, "TABLE_MOVED")
            for _ in range(6):
                view = await second.until(table_id, has_decision)
                decision = view.hand.decision
                kind = "check" if decision.can_check else "call"
                await second.act(table_id, player_of(view, decision.seat), decision.turn, kind)
                # Longer than the renewal of leases and, all together, than the look for tables without an owner.
                await asyncio.sleep(0.7)
                assert (await first.refused("GetTable", request))[0] == "TABLE_MOVED"
    rows = await log_of(postgres, database, table_id)
    events = [event_pb2.Event.FromString(row["body"]) for row in rows]
    assert sum(event.HasField("owner_changed") for event in events) == 2
    checked(table_id, rows)


@pytest.mark.parametrize("is_row_held", [False, True])
async def test_a_process_takes_back_what_its_former_life_left_before_it_answers(
    postgres, database, folder, is_row_held
):
    """O8: at once, whatever its lease says, and where an append of that life is still on its way behind it."""
    async with a_house(postgres, database, folder) as house:
        table_id, view = await seated(house, "ann", "ben")
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    await connection.execute(
        "update stream set owner = 'table-0#before', lease_until = now() + interval '1 hour' where stream_id = $1",
        UUID(table_id),
    )
    holding = connection.transaction()
    if is_row_held:
        await holding.start()
        await connection.execute("select from stream where stream_id = $1 for no key update", UUID(table_id))

    async def let_go():
        """Hold the row until somebody waits for it."""
        other = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
        waiting = (
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        async with asyncio.timeout(20):
            while not await other.fetchval(waiting):  # noqa: ASYNC110  (a wait in another process)
                await asyncio.sleep(0.01)
        await other.close()
        await holding.rollback()

    letting_go = asyncio.create_task(let_go()) if is_row_held else None
    async with a_house(postgres, database, folder) as house:
        # Under that lease nobody but a process of the same name could have it.
        assert (await house.view(table_id)).epoch == view.epoch + 1
    if letting_go is not None:
        await letting_go
    await connection.close()
    checked(table_id, await log_of(postgres, database, table_id))


async def test_a_process_that_stood_still_costs_nobody_a_turn(postgres, database, folder):
    """O7: frozen for longer than a decision may take, with nobody to take over; also for a decision sent meanwhile."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet, a_process(postgres, database, folder, wallet, key) as house:
        table_id, view = await seated(house, "ann", "ben", decision_seconds=2)
        for is_sent_meanwhile in (False, True):
            decision = view.hand.decision
            player, kind = player_of(view, decision.seat), "check" if decision.can_check else "call"
            house.process.send_signal(signal.SIGSTOP)
            acting = (
                [asyncio.create_task(house.act(table_id, player, decision.turn, kind))] if is_sent_meanwhile else []
            )
            await asyncio.sleep(3.2)
            house.process.send_signal(signal.SIGCONT)
            if not is_sent_meanwhile:
                view = await house.until(table_id, lambda v, d=decision: v.hand.decision.deadline_ms > d.deadline_ms)
                assert view.hand.decision.turn == decision.turn
                acting = [house.act(table_id, player, decision.turn, kind)]
            await asyncio.gather(*acting)
            view = await house.until(table_id, lambda v, d=decision: has_decision(v) and v.version > d.turn + 1)
        events = [event_pb2.Event.FromString(row["body"]) for row in await log_of(postgres, database, table_id)]
    moved = [event.deadline_moved.reason for event in events if event.HasField("deadline_moved")]
    assert moved == ["outage", "outage"]
    acted = [event.acted.decided_by for event in events if event.HasField("acted")]
    assert set(acted) == {1}, "every decision was a player's"
    checked(table_id, await log_of(postgres, database, table_id))


async def test_a_lost_compare_and_set_drops_the_state_and_claims_anew(postgres, database, folder):
    """RELIABILITY 3.3: somebody wrote behind our back; the caller's decision is decided again on what is true."""
    async with a_house(postgres, database, folder) as house:
        table_id, view = await seated(house, "ann", "ben")
        connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
        await connection.execute("update stream set epoch = epoch + 1 where stream_id = $1", UUID(table_id))
        await connection.close()
        decision = view.hand.decision
        result = await house.act(table_id, player_of(view, decision.seat), decision.turn, "call")
        assert result.first_version > decision.turn + 1
        assert (await house.view(table_id)).epoch > view.epoch + 1
    checked(table_id, await log_of(postgres, database, table_id))


async def test_a_hand_whose_secret_is_gone_is_voided_with_all_chips_back(postgres, database, folder):
    """H9: every hand ends Settled or Voided, with a reason; here the vault lost what the deck is made of."""
    async with a_house(postgres, database, folder) as house:
        table_id, view = await seated(house, "ann", "ben")
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn, "call")
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    await connection.execute("alter table vault.hand_secret disable trigger user")
    await connection.execute("delete from vault.hand_secret where hand_id = $1", UUID(view.hand.hand_id))
    await connection.execute("alter table vault.hand_secret enable trigger user")
    await connection.close()
    async with a_house(postgres, database, folder) as house:
        await house.until(table_id, lambda view: view.hand.hand_no == 2 and has_decision(view))
    rows = await log_of(postgres, database, table_id)
    state = checked(table_id, rows)
    assert sum(seat.stack for seat in state.seats) == 200
    ended = [event for row in rows if isinstance(event := decode(*_typed(row)).event, HandEnded)]
    assert [event.result for event in ended] == ["void"]


def _typed(row):
    return row["type_id"], row["schema_v"], row["body"]


async def test_a_wrong_key_file_holds_tables_back_and_costs_no_hand(postgres, database, folder, tmp_path):
    """An operator's slip must not void hands: the table answers TABLE_QUARANTINED until the right key is there."""
    async with a_house(postgres, database, folder) as house:
        table_id, view = await seated(house, "ann", "ben", decision_seconds=60)
    async with a_house(postgres, database, folder, master_key_file=tmp_path / "other.key") as house:
        assert (await house.refused("GetTable", pb.GetTableRequest(table_id=table_id)))[0] == "TABLE_QUARANTINED"
    async with a_house(postgres, database, folder) as house:
        again = await house.until(table_id, has_decision)
        assert again.hand.hand_id == view.hand.hand_id


async def test_of_many_tables_that_are_taken_over_at_once_a_broken_one_keeps_no_other_closed(
    postgres, database, folder
):
    """P1: given ten tables with open hands, one log with a hole, when the service starts, then nine are played on."""
    async with a_house(postgres, database, folder) as house:
        tables = [(await seated(house, "ann", "ben", decision_seconds=60))[0] for _ in range(10)]
    broken = tables.pop(4)
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    await connection.execute("alter table event disable trigger user")
    await connection.execute("delete from event where stream_id = $1 and version = 3", UUID(broken))
    await connection.execute("alter table event enable trigger user")
    await connection.close()
    async with a_house(postgres, database, folder) as house:
        for table_id in tables:
            view = await house.view(table_id)
            decision = view.hand.decision
            await house.act(table_id, player_of(view, decision.seat), decision.turn, "call")
        request = pb.GetTableRequest(table_id=broken)
        assert (await house.refused("GetTable", request))[0] == "TABLE_QUARANTINED"
    for table_id in tables:
        rows = await log_of(postgres, database, table_id)
        checked(table_id, rows)
        owners = [row["epoch"] for row in rows if row["type_id"] == 41]
        assert owners == [1, 2], "one claim a life, whoever else was claimed with it"
