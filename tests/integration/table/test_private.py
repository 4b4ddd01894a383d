"""Private tables over gRPC: nobody uninvited sees, watches or sits; hosts, codes, pause, settings (TB-3, S4)."""

import asyncio
import contextlib
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest

from diwan.api.event.v1 import event_pb2, hand_pb2, table_pb2
from diwan.api.table.v1 import hosting_pb2, lobby_pb2
from diwan.chassis.access import Role
from diwan.chassis.database import Database
from diwan.client import DiwanError, connect
from diwan.core.decider import Rejected
from services.table.codes import WINDOW_SECONDS, WRONG_MAX, Guesses, hash_of
from services.table.hosting import OPENED_TIMES
from services.table.index import Index
from tests.integration.table.gamers import verified
from tests.integration.table.house import PASSWORDS, Seat, a_house, error_of, has_decision, player_of
from tests.integration.table.test_looking_back import eventually


def someone(name):
    return f"{name}-{uuid4()}"


def client_of(house, player, role=Role.PLAYER, **options):
    return connect(house.address, house.key.mint(player, role, "table", **options))


@contextlib.asynccontextmanager
async def clients(house, *players):
    async with contextlib.AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(client_of(house, player))).tables for player in players]


def settings(**changes):
    hand = hand_pb2.HandSettings(**changes.pop("hand", {}))
    return table_pb2.TableConfig(**{"name": "Friends", "pause_ms": 1, "is_private": True} | changes, hand=hand)


async def opened(tables, **changes):
    return (await tables.create(settings(**changes))).table_id


async def reason_of(coroutine):
    with pytest.raises(DiwanError) as refused:
        await coroutine
    return refused.value.reason


async def reason_or_none(coroutine):
    try:
        await coroutine
    except DiwanError as error:
        return error.reason
    return None


async def end_of(watching):
    """Read a table's story to its end; returns the reason of that."""
    async with asyncio.timeout(5):
        try:
            async for _ in watching:
                pass
        except DiwanError as error:
            return error.reason
    return None


async def in_lobby(tables, table_id, **wanted):
    wanted = lobby_pb2.TableFilter(**wanted)
    return table_id in [line.table_id async for line in tables.lobby(wanted)]


async def let_in(host, table_id, *guests):
    """Invite players by name; each accepts. ``guests``: pairs of name and tables."""
    for player, tables in guests:
        await host.private.invite(table_id, player)
        await tables.private.answer(table_id, is_accepted=True)


# ---- seeing and sitting -------------------------------------------------------------------------------------------


async def test_who_is_not_invited_neither_sees_the_table_nor_watches_nor_sits(house):
    """TB-3."""
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        await eventually(lambda: in_lobby(host, table_id), bool)
        assert not await in_lobby(guest, table_id)
        assert await reason_of(guest.get(table_id)) == "INVITATION_REQUIRED"
        assert await reason_of(guest.sit_down(table_id, 100)) == "INVITATION_REQUIRED"
        for asked in (guest.watch(table_id, patience_seconds=0), guest.play(table_id, patience_seconds=0)):
            async with asked as messages:
                with pytest.raises(DiwanError) as refused:
                    await anext(messages)
                assert refused.value.reason == "INVITATION_REQUIRED"
        await host.private.invite(table_id, ann)
        assert (await guest.get(table_id)).config.is_private
        await eventually(lambda: in_lobby(guest, table_id), bool)
        assert await in_lobby(guest, table_id, private=lobby_pb2.WISH_YES)
        assert not await in_lobby(guest, table_id, private=lobby_pb2.WISH_NO)
        assert (await guest.sit_down(table_id, 100)).seat == 0
        async with guest.watch(table_id) as messages:
            assert (await anext(messages)).update.view.host == hal


async def test_a_hand_of_a_private_table_is_for_who_played_or_may_look_on(house):
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann, someone("eve")) as (host, guest, stranger):
        table_id = await opened(host, pause_ms=600_000)
        await let_in(host, table_id, (ann, guest))
        await host.sit_down(table_id, 100)
        await guest.sit_down(table_id, 100)
        view = await house.until(table_id, has_decision)
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
        for tables in (host, guest):
            assert (await tables.get_hand(view.hand.hand_id)).is_ended
        assert await reason_of(stranger.get_hand(view.hand.hand_id)) == "INVITATION_REQUIRED"
        assert await reason_of(stranger.my_hand(view.hand.hand_id)) == "NOT_IN_HAND"
        async with client_of(house, "staff", Role.AUDITOR) as staff:
            assert (await staff.tables.get_hand(view.hand.hand_id)).is_ended
        async with client_of(house, "phones", Role.BACKEND, players="nobody.") as backend:
            assert await reason_of(backend.tables.get_hand(view.hand.hand_id)) == "INVITATION_REQUIRED"
        await host.close(table_id)
        await eventually(lambda: house.view(table_id), lambda view: view.is_closed)
        assert (await guest.get_hand(view.hand.hand_id)).is_ended


async def test_a_back_end_sees_for_its_players_and_names_them(house):
    hal, ann = someone("ours.hal"), someone("ours.ann")
    async with client_of(house, "phones", Role.BACKEND, players="ours.") as backend:
        tables = backend.tables
        table_id = (await tables.create(settings(), host=hal)).table_id
        assert (await tables.get(table_id)).host == hal, "the host is its own player"
        assert await reason_of(tables.get(table_id, player=ann)) == "INVITATION_REQUIRED"
        await tables.private.invite(table_id, ann, host=hal)
        assert await reason_of(tables.private.invite(table_id, ann, host=ann)) == "NOT_HOST"
        assert (await tables.get(table_id, player=ann)).table_id == table_id
        assert await reason_of(tables.get(table_id, player="theirs.eve")) == "ON_BEHALF_OF_NOT_ALLOWED"
        await tables.sit_down(table_id, 100, player=ann)

        async def listed(player=""):
            return [line.table_id async for line in tables.lobby(player=player)]

        await eventually(lambda: listed(ann), lambda found: table_id in found)
        assert table_id in await listed(hal)
        assert table_id not in await listed(), "without a player only public tables are told"
    async with client_of(house, "others", Role.BACKEND, players="theirs.") as other:
        assert await reason_of(other.tables.get(table_id)) == "INVITATION_REQUIRED"


# ---- invitations --------------------------------------------------------------------------------------------------


async def test_invitations_are_listed_as_they_stand_with_the_conditions(house):
    hal, ann, ben, cid = (someone(name) for name in ("hal", "ann", "ben", "cid"))
    async with clients(house, hal, ann, ben, cid) as (host, a, b, c):
        table_id = await opened(host, hand={"small_blind": 5, "big_blind": 10}, bots_fill=2)
        await host.private.invite(table_id, ann)
        await host.private.invite(table_id, ben)
        await host.private.invite(table_id, cid, valid_seconds=1)
        await b.private.answer(table_id, is_accepted=False)

        async def standing():
            return {each.player: each.status async for each in host.private.invitations(table_id=table_id)}

        status = hosting_pb2.InvitationStatus.Value
        expected = {
            ann: status("INVITATION_STATUS_PENDING"),
            ben: status("INVITATION_STATUS_DECLINED"),
            cid: status("INVITATION_STATUS_EXPIRED"),
        }
        await eventually(standing, lambda found: found == expected)
        (mine,) = [each async for each in a.private.invitations()]
        assert (mine.table_id, mine.table_name, mine.host, mine.invited_by) == (table_id, "Friends", hal, hal)
        assert mine.conditions == await host.conditions(table_id)
        assert mine.conditions.is_private
        assert mine.conditions.has_bots
        (declined,) = [each async for each in b.private.invitations()]
        assert not declined.HasField("conditions"), "what the table is like now is not for who is no guest"
        only = status("INVITATION_STATUS_PENDING")
        assert [each async for each in c.private.invitations(status=only)] == []
        # The table's clock and the listing's are two; it is over when the table says so.
        await eventually(lambda: reason_or_none(c.get(table_id)), lambda reason: reason == "INVITATION_EXPIRED")
        assert await reason_of(c.sit_down(table_id, 200)) == "INVITATION_EXPIRED"
        assert await reason_of(anext(aiter(a.private.invitations(table_id=table_id)))) == "NOT_HOST"
        pages = [each.player async for each in host.private.invitations(table_id=table_id, page_size=1)]
        assert sorted(pages) == sorted(expected)


async def test_what_was_asked_twice_happened_once(house):
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        request_id = str(uuid4())
        first = await host.private.invite(table_id, ann, request_id=request_id)
        again = await host.private.invite(table_id, ann, request_id=request_id)
        assert first == again
        assert await reason_of(host.private.invite(table_id, "other", request_id=request_id)) == "REQUEST_ID_CONFLICT"
        code_id = str(uuid4())
        code = await host.private.create_code(table_id, request_id=code_id)
        assert await host.private.create_code(table_id, request_id=code_id) == code
        assert (await guest.private.join(code.code)).table_id == table_id
        assert (await guest.private.join(code.code)).table_id == table_id, "who is a guest has what it asked for"


async def test_a_removed_guest_stops_watching_after_the_hand_and_gets_its_chips(house):
    hal, ann, ben = (someone(name) for name in ("hal", "ann", "ben"))
    async with clients(house, hal, ann, ben) as (host, a, b):
        table_id = await opened(host, pause_ms=600_000)
        await let_in(host, table_id, (ann, a), (ben, b))
        await host.sit_down(table_id, 100)
        await a.sit_down(table_id, 100)
        view = await house.until(table_id, has_decision)
        async with Seat(house, table_id, ann) as seat, b.watch(table_id, patience_seconds=0) as looking:
            await seat.until(lambda seat: seat.view is not None)
            await host.private.remove_guest(table_id, ann)
            await host.private.revoke(table_id, ben)
            assert await end_of(looking) == "INVITATION_REQUIRED", "a spectator goes at once"
            while has_decision(view := await house.view(table_id)):
                await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
            with pytest.raises(grpc.aio.AioRpcError) as cut:
                await seat.until(lambda _: False, seconds=5)
            assert error_of(cut.value)[0] == "INVITATION_REQUIRED"
        assert await reason_of(a.sit_down(table_id, 100)) == "INVITATION_REQUIRED"
        view = await house.view(table_id)
        assert [each.player for each in view.seats] == [hal]
    events = await verified(house, table_id)
    (released,) = [event for event in events if type(event).__name__ == "SeatReleased"]
    assert (released.player, released.cause) == (ann, "host")


# ---- codes --------------------------------------------------------------------------------------------------------


async def test_a_code_lets_friends_in_until_it_is_revoked_and_is_in_no_event(house, postgres, database):
    """No secret travels: the log and the feed hold only the hash."""
    hal, ann, ben = (someone(name) for name in ("hal", "ann", "ben"))
    async with clients(house, hal, ann, ben) as (host, a, b):
        table_id = await opened(host)
        code = (await host.private.create_code(table_id)).code
        typed = code.lower().replace("-", " ")
        joined = await a.private.join(typed)
        assert (joined.table_id, joined.conditions) == (table_id, await host.conditions(table_id))
        await a.sit_down(table_id, 100)
        await host.private.revoke_code(table_id)
        assert await reason_of(b.private.join(code)) == "INVITATION_REQUIRED"
        new = (await host.private.create_code(table_id)).code
        assert await reason_of(b.private.join(code)) == "INVITATION_REQUIRED", "the old one stays revoked"
        await b.private.join(new)
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    bodies = [row["body"] for row in await connection.fetch("select body from event")]
    await connection.close()
    assert any(event_pb2.Event.FromString(body).join_code_issued.code_hash == hash_of(code) for body in bodies)
    for text in (code, code.replace("-", ""), new):
        assert not any(text.encode() in body for body in bodies)


async def test_guesses_are_counted_and_all_answered_alike(house):
    hal, eve, ann = someone("hal"), someone("eve"), someone("ann")
    async with clients(house, hal, eve, ann) as (host, guesser, guest):
        table_id = await opened(host)
        code = (await host.private.create_code(table_id)).code
        for number in range(WRONG_MAX):
            guess = "nonsense" if number % 2 else f"{number}" * 16
            assert await reason_of(guesser.private.join(guess)) == "INVITATION_REQUIRED"
        assert await reason_of(guesser.private.join(code)) == "RATE_LIMITED", "the right one neither"
        assert (await guest.private.join(code)).table_id == table_id, "others are not held up"


async def test_many_guesses_at_once_are_counted_too(house):
    """P12: given one guess less than is allowed, when any number is tried at once, then one more is tried and no other."""
    async with clients(house, someone("eve")) as (guesser,):
        for _ in range(WRONG_MAX - 1):
            assert await reason_of(guesser.private.join("nonsense")) == "INVITATION_REQUIRED"
        tried = await asyncio.gather(*(reason_of(guesser.private.join("nonsense")) for _ in range(8)))
        assert sorted(tried).count("INVITATION_REQUIRED") <= 1
        assert set(tried) <= {"INVITATION_REQUIRED", "RATE_LIMITED"}


@contextlib.asynccontextmanager
async def counting(postgres, database, now_ms):
    """Wrong codes as a process that has just begun counts them."""
    opened = await Database.open(postgres.url("table_rw", PASSWORDS["table_rw"], database))
    try:
        yield Guesses(opened, now_ms)
    finally:
        await opened.close()


async def is_let_try(guesses, player):
    with contextlib.suppress(Rejected):
        async with guesses.trying(player):
            return True
    return False


async def test_neither_a_restart_nor_another_process_forgets_a_wrong_code(postgres, database):
    """P12: given wrong codes named at two processes, when a third begins, then all count, until their time is over."""
    eve, now = someone("eve"), [1_000_000_000]
    async with (
        counting(postgres, database, lambda: now[0]) as one,
        counting(postgres, database, lambda: now[0]) as other,
    ):
        for number in range(WRONG_MAX):
            guesses = (one, other)[number % 2]
            assert await is_let_try(guesses, eve)
            await guesses.was_wrong(eve)
            now[0] += 1000
    async with counting(postgres, database, lambda: now[0]) as third:
        assert not await is_let_try(third, eve)
        assert await is_let_try(third, someone("ann")), "others are not held up"
        now[0] += (WINDOW_SECONDS - WRONG_MAX) * 1000
        assert await is_let_try(third, eve), "the first one counts no more"
        await third.was_wrong(eve)
        assert not await is_let_try(third, eve), "the others do"


async def test_a_right_code_writes_nothing_and_old_guesses_go(house, postgres, database):
    hal, ann, eve = someone("hal"), someone("ann"), someone("eve")
    async with clients(house, hal, ann, eve) as (host, guest, guesser), rows_of(postgres, database) as rows:
        table_id = await opened(host)
        code = (await host.private.create_code(table_id)).code
        assert (await guest.private.join(code)).table_id == table_id
        assert await reason_of(guesser.private.join("nonsense")) == "INVITATION_REQUIRED"
        assert await rows("select cardinality(wrong_at_ms) from join_guess where player = $1", ann) == []
        assert await rows("select cardinality(wrong_at_ms) from join_guess where player = $1", eve) == [(1,)]
        async with counting(postgres, database, lambda: 2**50) as later:
            await later.was_wrong(ann)
        assert await rows("select player from join_guess where player = any($1)", [ann, eve]) == [(ann,)]


@contextlib.asynccontextmanager
async def rows_of(postgres, database):
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))

    async def rows(query, *values):
        return [tuple(row) for row in await connection.fetch(query, *values)]

    try:
        yield rows
    finally:
        await connection.close()


async def test_a_code_is_found_after_a_restart(postgres, database, folder):
    hal, ann = someone("hal"), someone("ann")
    async with a_house(postgres, database, folder) as house, client_of(house, hal) as client:
        table_id = await opened(client.tables)
        code = (await client.tables.private.create_code(table_id)).code
    async with a_house(postgres, database, folder) as house, client_of(house, ann) as client:
        assert (await client.tables.private.join(code)).table_id == table_id


# ---- hosting ------------------------------------------------------------------------------------------------------


async def test_players_open_private_tables_only_and_not_too_many(house):
    hal = someone("hal")
    async with clients(house, hal) as (host,):
        assert await reason_of(host.create(settings(is_private=False))) == "SETTING_INVALID"
        request_id = str(uuid4())
        first = await host.create(settings(), request_id=request_id)
        await opened(host)
        assert await reason_of(host.create(settings())) == "TOO_MANY_TABLES_HOSTED"
        again = await host.create(settings(), request_id=request_id)
        assert again.table_id == first.table_id, "asking twice opens no other"
        await host.close(first.table_id)
        assert await opened(host)


async def test_handing_tables_over_makes_no_room_for_more(postgres, database, folder):
    """P12: or two friends would open tables without end; live tables say so, and the index of all."""
    hal, ann = someone("hal"), someone("ann")
    async with (
        a_house(postgres, database, folder, tables_per_host_max=1) as house,
        clients(house, hal, ann) as (
            host,
            guest,
        ),
    ):
        tables = []
        for _ in range(OPENED_TIMES):
            tables.append(await opened(host))
            await let_in(host, tables[-1], (ann, guest))
            await host.private.hand_over(tables[-1], ann)
        assert await reason_of(host.create(settings())) == "TOO_MANY_TABLES_HOSTED"
        assert await reason_of(guest.create(settings())) == "TOO_MANY_TABLES_HOSTED"
        opened_at = await Database.open(postgres.url("table_rw", PASSWORDS["table_rw"], database))
        try:
            of_ann = dict.fromkeys(map(UUID, tables), True)
            await eventually(lambda: Index(opened_at).tables_hosted_by(ann), lambda found: found == of_ann)
            assert await Index(opened_at).tables_hosted_by(hal) == dict.fromkeys(of_ann, False)
        finally:
            await opened_at.close()
        await guest.close(tables[0])
        assert await opened(host), "one that is over counts no more"


async def test_only_its_host_closes_a_private_table_among_players(house):
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        assert await reason_of(guest.close(table_id)) == "INVITATION_REQUIRED"
        await let_in(host, table_id, (ann, guest))
        assert await reason_of(guest.close(table_id)) == "NOT_HOST"
        await host.close(table_id)
        public = await house.create()
        assert await reason_of(guest.close(public)) == "NOT_HOST"


async def test_no_hand_begins_in_a_pause_and_the_view_says_so(house):
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        await let_in(host, table_id, (ann, guest))
        await host.private.set_paused(table_id, is_paused=True)
        await host.sit_down(table_id, 100)
        await guest.sit_down(table_id, 100)
        view = await host.get(table_id)
        assert view.is_paused
        assert not view.HasField("hand")
        assert await reason_of(guest.private.set_paused(table_id, is_paused=False)) == "NOT_HOST"
        await host.private.set_paused(table_id, is_paused=False)
        await house.until(table_id, has_decision)


async def test_settings_change_from_the_next_hand_on(house, monkeypatch):
    """D2: fixed per hand, shown before."""
    monkeypatch.setattr("services.table.conduct.SETTINGS_NOTICE_MS", 1)
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest):
        table_id = await opened(host)
        await let_in(host, table_id, (ann, guest))
        await host.sit_down(table_id, 200)
        await guest.sit_down(table_id, 200)
        view = await house.until(table_id, has_decision)
        wanted = settings(hand={"small_blind": 3, "big_blind": 6}, name="Higher", buy_in_max=200)
        shown = await host.private.change_settings(table_id, wanted)
        assert (shown.small_blind, shown.big_blind) == (3, 6)
        now = await guest.get(table_id)
        assert now.config.hand.big_blind == 2, "the running hand keeps its own"
        assert now.next_config.hand.big_blind == 6
        assert await guest.conditions(table_id) == shown
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
        view = await house.until(table_id, lambda view: view.hand.hand_no == 2 and has_decision(view))
        assert view.config.hand.big_blind == 6
        assert not view.HasField("next_config")
        assert view.hand.pot == 9

        async def named():
            return [line.name async for line in guest.lobby() if line.table_id == table_id]

        await eventually(named, lambda names: names == ["Higher"])
        assert await reason_of(host.private.change_settings(table_id, settings(seats=1))) == "SETTING_INVALID"
    await verified(house, table_id)


async def test_the_host_hands_over_or_loses_the_role_by_leaving(house):
    hal, ann, ben = (someone(name) for name in ("hal", "ann", "ben"))
    async with clients(house, hal, ann, ben) as (host, a, b):
        table_id = await opened(host, pause_ms=600_000)
        await let_in(host, table_id, (ann, a), (ben, b))
        await host.private.hand_over(table_id, ann)
        assert (await b.get(table_id)).host == ann
        assert await reason_of(host.private.set_paused(table_id, is_paused=True)) == "NOT_HOST"
        await a.private.set_paused(table_id, is_paused=True)
        await a.sit_down(table_id, 100, seat=2)
        await b.sit_down(table_id, 100, seat=4)
        await a.stand_up(table_id)
        assert (await a.get(table_id)).host == ben
        assert (await host.get(table_id)).host == ben, "who was the host is a guest"
    await verified(house, table_id)


async def test_an_operator_acts_in_the_host_s_place(house):
    hal, ann = someone("hal"), someone("ann")
    async with clients(house, hal, ann) as (host, guest), client_of(house, "op", Role.OPERATOR) as staff:
        table_id = await opened(host)
        await staff.tables.private.invite(table_id, ann)
        await guest.private.answer(table_id, is_accepted=True)
        await guest.sit_down(table_id, 100)
        await staff.tables.private.set_paused(table_id, is_paused=True)
        await staff.tables.private.remove_guest(table_id, ann)
        found = [each.player async for each in staff.tables.private.invitations(table_id=table_id)]
        await eventually(lambda: house.view(table_id), lambda view: not view.seats)
        assert found in ([], [ann])
        await staff.tables.close(table_id)


async def test_bots_sit_at_a_private_table_where_the_host_wants_them(house):
    """CL-6."""
    async with clients(house, someone("hal")) as (host,):
        without, wanted = await opened(host), await opened(host, bots_fill=2)
        assert (await house.sit(wanted, "bot:1", role=Role.BOT)).seat == 0
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await house.sit(without, "bot:2", role=Role.BOT)
        assert error_of(refused.value)[0] == "INVITATION_REQUIRED"
