"""The tournament service over gRPC, beside the real wallet, tables and bots: entries, retries, refunds, operators."""

import asyncio
import json
import os
import signal
import time
from uuid import UUID, uuid4

import asyncpg
import pytest
from msgspec.structs import replace

from diwan.api.tournament.v1 import lobby_pb2
from diwan.api.tournament.v1 import notices_pb2 as notices
from diwan.chassis.access import Role
from diwan.cli.demo import floor
from diwan.cli.demo.gather import until
from diwan.cli.stack.stack import superuser_database_url
from diwan.client import DiwanError, new_request_id
from diwan.client.fair import EntrySeed
from diwan.core.tournament.events import SeedOpened
from diwan.core.tournament.settings import BotTerms, EntryTerms, Multiplier, TableTerms
from diwan.verifier.tournament import verify_tournament
from diwan.wire.events import decode
from diwan.wire.stored import logged_event
from services.tournament.index import UNFINISHED
from tests.integration.tournament.conftest import in_an_hour, people_alone

pytestmark = pytest.mark.timeout(120)

GRANT = 10_000
PRICE = 110


async def refused(asking) -> DiwanError:
    with pytest.raises(DiwanError) as caught:
        await asking
    return caught.value


async def balance_of(player) -> int:
    return (await player.wallet.get_account()).balance


# ---- entering -------------------------------------------------------------------------------------------------------


async def test_an_entry_is_paid_once_however_often_it_is_asked_for(house, ops):
    """P2, H6: ten copies at once and one later take effect once; another request finds the entry there."""
    tournament_id = await house.announced(ops)
    async with await house.player(*house.names()) as player:
        request_id = new_request_id()
        answers = await asyncio.gather(
            *[player.tournaments.register(tournament_id, request_id=request_id) for _ in range(10)]
        )
        again = await player.tournaments.register(tournament_id, request_id=request_id)

        assert {answer.result.first_version for answer in answers} == {again.result.first_version}
        assert sum(not answer.result.is_replayed for answer in answers) == 1
        assert again.result.is_replayed
        assert again.own.status == "registered"
        assert await balance_of(player) == GRANT - PRICE
        assert (await refused(player.tournaments.register(tournament_id))).reason == "ALREADY_ENTERED"


async def test_the_same_request_id_for_something_else_is_a_conflict(house, ops):
    """H6."""
    tournament_id = await house.announced(ops)
    async with await house.player(*house.names()) as player:
        request_id = new_request_id()
        await player.tournaments.register(tournament_id, request_id=request_id)
        conflict = await refused(player.tournaments.unregister(tournament_id, request_id=request_id))
        assert conflict.reason == "REQUEST_ID_CONFLICT"


async def test_who_has_no_account_or_too_few_chips_is_told_the_wallets_reason(house, ops):
    """A refused entry is final, and leaves the place free."""
    dear = await house.announced(ops, people_alone(entry=GRANT + 1, fee=0))
    async with house.client(*house.names(), Role.PLAYER) as stranger, await house.player(*house.names()) as poor:
        assert (await refused(stranger.tournaments.register(dear))).metadata["cause"] == "ACCOUNT_NOT_FOUND"
        refusal = await refused(poor.tournaments.register(dear))
        assert (refusal.reason, refusal.metadata["cause"]) == ("ENTRY_REFUSED", "EXCEEDS_BALANCE")
        assert await balance_of(poor) == GRANT
    assert (await ops.tournaments.get(dear)).tournament.entries == 0


async def test_an_entry_that_is_given_back_comes_back_whole_and_may_be_made_again(house, ops):
    """Fee included, before the start."""
    tournament_id = await house.announced(ops)
    async with await house.player(*house.names()) as player:
        await player.tournaments.register(tournament_id)
        await player.tournaments.unregister(tournament_id)

        async def is_back():
            return await balance_of(player) == GRANT

        await until("the entry comes back", is_back)
        assert await house.pool(ops, tournament_id) == 0
        assert (await refused(player.tournaments.unregister(tournament_id))).reason == "NOT_ENTERED"
        assert (await player.tournaments.register(tournament_id)).own.status == "registered"
        assert await balance_of(player) == GRANT - PRICE


async def test_an_entry_waits_for_a_wallet_that_is_killed_under_it(house, ops):
    """P1: nobody knows at first, then it is paid once."""
    tournament_id = await house.announced(ops)
    async with await house.player(*house.names()) as player:
        wallet = house.stack.child("wallet").pid
        os.kill(wallet, signal.SIGSTOP)
        registering = asyncio.create_task(player.tournaments.register(tournament_id))
        await asyncio.sleep(0.3)  # long enough for the transfer to lie in the frozen process's socket
        os.kill(wallet, signal.SIGKILL)
        await registering

        async def is_in():
            own = (await player.tournaments.get(tournament_id)).own
            return own.status == "registered"

        await until("the entry is paid for", is_in, 60)
        assert await balance_of(player) == GRANT - PRICE
        assert await house.pool(ops, tournament_id) == PRICE


@pytest.mark.parametrize("first", [0, 1])
async def test_a_pair_that_is_kept_apart_never_enters_one_tournament_from_either_side(house, ops, first):
    """CL-7: where seats are drawn and moved, who may not sit together may not enter together; one who is out is gone."""
    names = house.names(2)
    made = await ops.tables.set_exclusion(names[0], apart_from=names[1], reason="collusion", note="not told")
    tournament_id, other_id = await house.announced(ops), await house.announced(ops)
    async with await house.player(names[first]) as one, await house.player(names[1 - first]) as other:
        await one.tournaments.register(tournament_id)
        refusal = await refused(other.tournaments.register(tournament_id))
        assert (refusal.reason, refusal.metadata["kind"]) == ("PLAYER_EXCLUDED", "kept_apart")
        assert names[first] not in str(refusal.metadata), "who else is meant is not told"
        assert await balance_of(other) == GRANT
        await other.tournaments.register(other_id)
        await one.tournaments.unregister(tournament_id)
        await other.tournaments.register(tournament_id)
        assert (await refused(one.tournaments.register(tournament_id))).reason == "PLAYER_EXCLUDED"
        await ops.tables.lift_exclusion(made.exclusion_id, reason="cleared")
        assert (await one.tournaments.register(tournament_id)).own.status == "registered"


async def test_both_of_a_pair_who_ask_at_once_do_not_both_get_in(house, ops):
    """CL-7."""
    names = house.names(2)
    await ops.tables.set_exclusion(names[0], apart_from=names[1], reason="collusion")
    tournament_id = await house.announced(ops)
    async with await house.player(names[0]) as ann, await house.player(names[1]) as ben:
        asked = [each.tournaments.register(tournament_id) for each in (ann, ben)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [getattr(each, "reason", "") for each in answers].count("PLAYER_EXCLUDED") == 1
    assert (await ops.tournaments.get(tournament_id)).tournament.entries == 1


async def test_a_suspended_player_enters_nothing_and_is_told_why(house, ops):
    """CL-7."""
    name = house.names()[0]
    made = await ops.tables.set_exclusion(name, reason="case 7: two accounts", note="Write to support.")
    tournament_id = await house.announced(ops)
    async with await house.player(name) as player:
        refusal = await refused(player.tournaments.register(tournament_id))
        assert refusal.reason == "PLAYER_EXCLUDED"
        assert (refusal.metadata["kind"], refusal.metadata["note"]) == ("suspended", "Write to support.")
        await ops.tables.lift_exclusion(made.exclusion_id, reason="cleared")
        await player.tournaments.register(tournament_id)


# ---- calling off, running -------------------------------------------------------------------------------------------


async def test_what_is_called_off_before_play_gives_everything_back(house, ops):
    """e2, TR-3: entries and fees, to the chip; the pool is empty and the tournament finished only then."""
    tournament_id = await house.announced(ops, in_an_hour())
    players = [await house.player(name) for name in house.names(3)]
    for player in players:
        await player.tournaments.register(tournament_id)
    assert await house.pool(ops, tournament_id) == 3 * PRICE

    assert (await refused(ops.tournaments.cancel(tournament_id, " "))).reason == "REASON_REQUIRED"
    await ops.tournaments.cancel(tournament_id, "no power")

    view = await house.comes_to(ops, tournament_id, lambda view: view.phase == "finished", "it is finished")
    assert view.cancelled == "operator"
    assert [await balance_of(player) for player in players] == [GRANT] * 3
    assert await house.pool(ops, tournament_id) == 0
    assert (await refused(players[0].tournaments.register(tournament_id))).reason == "TOURNAMENT_OVER"
    for player in players:
        await player.close()


async def test_a_spin_that_the_house_cannot_pay_is_called_off_before_anybody_enters(house, ops):
    """Guarantees fail safe: the largest multiplier is reserved first, or registration never opens."""
    beyond = (Multiplier(times=2, weight=999_999), Multiplier(times=1_000_002, weight=1))
    config = replace(floor.spin(), entry=100_000, multipliers=beyond)
    made = await ops.tournaments.create(config)
    tournament_id = made.tournament.tournament_id

    view = await house.comes_to(ops, tournament_id, lambda view: view.phase == "finished", "it is called off")

    assert view.cancelled == "house_short"
    assert view.entries == 0


async def test_a_pause_starts_no_hand_and_a_removed_player_is_out_with_a_reason_in_the_log(house, ops):
    """TR-5: operators pause, go on, remove; the level clock stands meanwhile."""
    slow = TableTerms(pause_ms=200, time_bank_seconds=0, time_bank_gain_seconds=0)
    ladder = floor.quick_ladder(level_ms=60_000)
    config = people_alone(bots=BotTerms(up_to=2, after_ms=0), tables=slow, ladder=ladder)
    tournament_id = await house.announced(ops, config)
    name = house.names()[0]
    async with await house.player(name) as player:
        await player.tournaments.register(tournament_id)
        await house.comes_to(ops, tournament_id, lambda view: view.phase == "playing", "play begins")
        await ops.tournaments.pause(tournament_id, "fire alarm")
        view = (await ops.tournaments.get(tournament_id)).tournament
        assert (view.is_paused, view.level.ends_at_ms) == (True, 0)
        assert (await refused(ops.tournaments.pause(tournament_id, "again"))).reason == "TOURNAMENT_NOT_RUNNING"
        table_id = (await ops.tournaments.tables(tournament_id))[0].table_id

        async def stands_still():
            before = (await ops.tables.get(table_id)).version
            await asyncio.sleep(0.6)  # three times the pause between hands
            return (await ops.tables.get(table_id)).version == before

        await until("the table stands still", stands_still)
        await ops.tournaments.remove(tournament_id, name, "case 17")
        await ops.tournaments.resume(tournament_id, "false alarm")

        view = await house.comes_to(ops, tournament_id, lambda view: view.players_left == 2, "the player is out")
        own = (await player.tournaments.get(tournament_id)).own
        assert own.status == "out"
        assert own.place == 3
        await ops.tournaments.cancel(tournament_id, "enough")
        await house.comes_to(ops, tournament_id, lambda view: view.phase == "finished", "it is finished")
        assert await house.pool(ops, tournament_id) == 0


class Bold(floor.Guest):
    """Puts everything in, whatever it holds."""

    async def decide(self, seat, turn, *, can_check):
        await seat.act(turn, "call", is_all_in=True)


async def test_chips_are_bought_at_the_seat_and_who_is_out_may_come_back(house, ops):
    """R10: rebuy, add-on and re-entry, each paid once into the pool, and each only as often as the conditions say."""
    terms = EntryTerms(
        starts_at_ms=time.time_ns() // 1_000_000 + 3_000,
        late_levels=1,
        re_entries=1,
        rebuys=1,
        rebuy_price=50,
        rebuy_chips=700,
        has_add_on=True,
        add_on_price=30,
        add_on_chips=900,
    )
    config = floor.scheduled(0, players=6, level_ms=60_000)
    config = replace(config, entries=terms, bots=BotTerms(), first_hand_ms=2_500)
    tournament_id = await house.announced(ops, config)
    players = [await house.player(name) for name in house.names(5)]
    buyer, *bold = players[2], players[0], players[1]
    for player in players:
        await player.tournaments.register(tournament_id)
    guests = [(Bold if player in bold else floor.Guest)(player, tournament_id) for player in players]
    playing = [asyncio.create_task(guest.play()) for guest in guests]
    await house.comes_to(ops, tournament_id, lambda view: view.phase == "playing", "play begins")

    request_id = new_request_id()
    await buyer.tournaments.rebuy(tournament_id, request_id=request_id)

    async def has(stack):
        return (await buyer.tournaments.get(tournament_id)).own.stack >= stack

    await until("the rebuy is at the seat", lambda: has(1_500))
    assert (await buyer.tournaments.rebuy(tournament_id, request_id=request_id)).is_replayed
    assert (await refused(buyer.tournaments.rebuy(tournament_id))).reason == "EXTRA_NOT_ALLOWED"
    await buyer.tournaments.add_on(tournament_id)
    await until("the add-on is at the seat", lambda: has(2_300))
    assert (await refused(buyer.tournaments.add_on(tournament_id))).reason == "EXTRA_NOT_ALLOWED"
    assert await balance_of(buyer) == GRANT - PRICE - 50 - 30

    async def is_out(player):
        return (await player.tournaments.get(tournament_id)).own.status == "out"

    async def somebody_is_out():
        return any([await is_out(player) for player in bold])

    await until("one of the bold is out", somebody_is_out, 40)
    loser = bold[0] if await is_out(bold[0]) else bold[1]
    request_id = new_request_id()
    again = await loser.tournaments.re_enter(tournament_id, request_id=request_id)
    assert again.own.status == "playing"
    assert (await loser.tournaments.re_enter(tournament_id, request_id=request_id)).result.is_replayed
    assert await balance_of(loser) == GRANT - 2 * PRICE
    assert await house.pool(ops, tournament_id) == 6 * PRICE + 50 + 30

    await ops.tournaments.cancel(tournament_id, "enough")
    await house.comes_to(ops, tournament_id, lambda view: view.phase == "finished", "it is finished")
    await asyncio.gather(*playing)
    assert await house.pool(ops, tournament_id) == 0
    log = [logged_event(each) async for each in ops.tournaments.log(tournament_id)]
    report = verify_tournament(UUID(tournament_id).bytes, log)
    assert report.is_verified, (report.rule, report.expected, report.found)
    for player in players:
        await player.close()


async def test_the_first_draw_waits_for_entrants_seeds_and_the_log_proves_that_they_were_in_it(house, ops):
    """F1, F7: committed to with the entry, asked for when the seats are taken, opened once, mixed in."""
    config = people_alone(entries=EntryTerms(seed_window_ms=30_000))
    tournament_id = await house.announced(ops, config)
    names = house.names(3)
    players = [await house.player(name) for name in names]
    seeds = [EntrySeed(tournament_id, name) for name in names[:2]]
    for player, seed in zip(players, [*seeds, None], strict=True):
        await player.tournaments.register(tournament_id, seed_commitment=b"" if seed is None else seed.commitment)
    view = await house.comes_to(ops, tournament_id, lambda view: view.seeds_until_ms, "seeds are asked for")
    assert (view.phase, seeds[0].answers(view)) == ("registering", seeds[0].seed)
    assert seeds[0].answers(view) is None, "given already"
    assert (await refused(players[0].tournaments.open_seed(tournament_id, bytes(32)))).reason == "SEED_DOES_NOT_MATCH"
    assert (await refused(players[2].tournaments.open_seed(tournament_id, bytes(32)))).reason == "SEED_NOT_ASKED"
    for player, seed in zip(players, seeds, strict=False):
        await player.tournaments.open_seed(tournament_id, seed.seed)

    await house.comes_to(ops, tournament_id, lambda view: view.phase == "playing", "play begins")
    log = [logged_event(each) async for each in ops.tournaments.log(tournament_id)]
    opened = [decode(each.type_id, each.schema_v, each.body).event for each in log]
    assert [each.seed for each in opened if isinstance(each, SeedOpened)] == [seed.seed for seed in seeds]
    report = verify_tournament(UUID(tournament_id).bytes, log)
    assert (report.is_verified, report.draws) == (True, 1), (report.rule, report.expected, report.found)
    await ops.tournaments.cancel(tournament_id, "enough")
    for player in players:
        await player.close()


# ---- what is told ---------------------------------------------------------------------------------------------------


async def test_the_lobby_is_searched_page_by_page_and_shows_the_conditions(house, ops):
    """TR-5: fee, payouts or multipliers with their frequencies, levels, bots or not, before entering."""
    ids = {await house.announced(ops, in_an_hour(name=f"Paged {number}", entry=7_001)) for number in range(3)}

    async def listed():
        found = [each async for each in ops.tournaments.found(price_min=7_001, price_max=7_011, page_size=1)]
        return {each.tournament_id for each in found} == ids and len(found) == len(ids)

    await until("the lobby knows them", listed)
    entry = await anext(ops.tournaments.found(price_min=7_001, price_max=7_011))
    conditions = entry.conditions
    assert (conditions.entry, conditions.fee, conditions.has_bots) == (7_001, 10, False)
    assert [payout.entries_min for payout in conditions.payouts] == [1, 4, 10]
    assert conditions.ladder.levels[0].big_blind == 20
    templates = {template.name: template.conditions for template in await ops.tournaments.templates()}
    multipliers = templates["spin"].multipliers
    assert sum(line.times * line.weight for line in multipliers) == 3 * multipliers[0].weights
    assert [each async for each in ops.tournaments.found(kinds=["spin"], bots=lobby_pb2.TOURNAMENT_WISH_NO)] == []
    async with house.client("nobody", Role.PLAYER) as nobody:
        assert [each async for each in nobody.tournaments.found(is_own=True)] == []


async def test_what_is_unknown_or_makes_no_sense_is_told_by_its_name(ops):
    """A2."""
    for asking in (
        ops.tournaments.get(str(uuid4())),
        ops.tournaments.cancel(str(uuid4()), "why"),
        ops.tournaments.tables(str(uuid4())),
    ):
        assert (await refused(asking)).reason == "TOURNAMENT_NOT_FOUND"
    assert (await refused(ops.tournaments.create("no such template"))).reason == "TEMPLATE_NOT_FOUND"
    assert (await refused(ops.tournaments.create(people_alone(starting_stack=1)))).reason == "SETTING_INVALID"


async def test_back_ends_are_told_what_to_push_from_a_cursor_on(house, ops):
    """None twice, none missed: entry, start, seat, place and prize of one's own players."""
    async with house.client("backend", Role.BACKEND) as backend, backend.tournaments.notices() as fresh:
        name = house.names()[0]
        cursor = await started_cursor(fresh)
        config = replace(floor.sit_and_go(), entries=EntryTerms())
        tournament_id = await house.announced(ops, config)
        async with await house.player(name) as player:
            await player.tournaments.register(tournament_id)
            guest = floor.Guest(player, tournament_id)
            await asyncio.wait_for(guest.play(), 100)
        told = []
        async with backend.tournaments.notices(after_cursor=cursor, players=[name]) as story:
            async for notice in story:
                told.append(notice)
                if notice.kind in {notices.TOURNAMENT_NOTICE_KIND_OUT, notices.TOURNAMENT_NOTICE_KIND_PRIZE}:
                    break

    kinds = [notice.kind for notice in told]
    assert kinds[0] == notices.TOURNAMENT_NOTICE_KIND_REGISTERED
    assert kinds.index(notices.TOURNAMENT_NOTICE_KIND_SEATED) < kinds.index(notices.TOURNAMENT_NOTICE_KIND_STARTED)
    seated = told[kinds.index(notices.TOURNAMENT_NOTICE_KIND_SEATED)]
    assert (seated.table_id, seated.seat) == (guest.tables[0], told[kinds.index(seated.kind)].seat)
    assert [notice.cursor for notice in told] == sorted({notice.cursor for notice in told})
    assert guest.own.status == "out" or guest.view.winner == name


async def started_cursor(stream):
    """The cursor of now: the first sign of life says that everything up to now was told."""
    reading = asyncio.create_task(anext(stream))
    try:

        async def has_begun():
            return stream.cursor is not None

        await until("the stream of notices begins", has_begun)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    return stream.cursor


async def test_a_log_is_verified_and_a_restart_changes_nothing(house, ops):
    """P6, F7: decided again from the stored bytes, and the same tournament after kill -9."""
    tournament_id = await house.announced(ops, in_an_hour())
    async with await house.player(*house.names()) as player:
        await player.tournaments.register(tournament_id)
        before = (await ops.tournaments.get(tournament_id)).tournament
        os.kill(house.stack.child("tournament").pid, signal.SIGKILL)

        view = await house.comes_to(ops, tournament_id, lambda view: bool(view.version), "it is back")

        assert view == before
        log = [logged_event(each) async for each in ops.tournaments.log(tournament_id)]
        report = verify_tournament(UUID(tournament_id).bytes, log)
        assert report.is_verified, (report.rule, report.expected, report.found)
        assert report.state.version == view.version
        altered = [*log[:-1], replace(log[-1], body=log[-1].body[:-1] + b"\x01")]
        assert not verify_tournament(UUID(tournament_id).bytes, altered).is_verified
        await player.tournaments.unregister(tournament_id)


# ---- what is taken over ---------------------------------------------------------------------------------------------

STREAMS_BEFORE = 20_000


async def test_what_is_over_is_neither_looked_at_nor_claimed_again(house, ops):
    """O1: taking over costs what runs, not what ever ran, and looking at what is over makes nobody its owner."""
    over, running = [await house.announced(ops, in_an_hour()) for _ in range(2)]
    await ops.tournaments.cancel(over, "no power")
    await house.comes_to(ops, over, lambda view: view.phase == "finished", "it is finished")
    connection = await asyncpg.connect(superuser_database_url(house.stack.places, "diwan_tournament"))
    try:

        async def listed():
            rows = await connection.fetch("select tournament_id from unfinished_tournament")
            return {str(row["tournament_id"]) for row in rows}

        async def is_struck_off():
            return over not in await listed()

        await until("it is struck off", is_struck_off)
        assert running in await listed()
        epoch = "select epoch from stream where stream_id = $1"
        before = await connection.fetchval(epoch, UUID(over))
        os.kill(house.stack.child("tournament").pid, signal.SIGKILL)
        view = await house.comes_to(ops, over, lambda view: bool(view.version), "it is looked at")
        assert view.phase == "finished"
        assert await connection.fetchval(epoch, UUID(over)) == before

        nodes = await plan_among(connection, STREAMS_BEFORE)
        assert {node["Index Name"] for node in nodes if node.get("Relation Name") == "stream"} == {"stream_pkey"}
        assert sum(node["Actual Rows"] for node in nodes if "Relation Name" in node) < STREAMS_BEFORE / 100
    finally:
        await connection.close()


async def plan_among(connection, many):
    """Return the nodes of the plan by which the unfinished are found among so many that are over; all is undone again."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(
            "insert into stream (stream_id, kind, head_hash) "
            "select gen_random_uuid(), 3, sha256(n::text::bytea) from generate_series(1, $1::int) n",
            many,
        )
        listed = "select count(*) from unfinished_tournament"
        assert await connection.fetchval(listed) > many, "listed with its stream"
        await connection.execute(
            "delete from unfinished_tournament where tournament_id in (select stream_id from stream where version = 0)"
        )
        await connection.execute("analyze stream, unfinished_tournament")
        told = await connection.fetchval(f"explain (analyze, format json) {UNFINISHED}")
        return list(nodes_of(json.loads(told)[0]["Plan"]))
    finally:
        await transaction.rollback()


def nodes_of(node):
    yield node
    for below in node.get("Plans", ()):
        yield from nodes_of(below)
