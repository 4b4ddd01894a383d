"""`OpenHand`, and secrets that never leave: S1, S5, S6, P10."""

import asyncio
import base64
import contextlib
import os
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest

from diwan.api.event.v1 import event_pb2
from diwan.api.table.v1 import history_pb2, replay_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.bus import FEEDS, Bus, services, set_up, users
from diwan.chassis.database import Database
from diwan.chassis.embedded import EmbeddedNats
from diwan.chassis.feed import Feed
from diwan.core.fairness import Reveal, Secret, deal, verify_reveal
from diwan.core.fairness.chance import derive_key, keyed
from diwan.core.fairness.material import mix
from diwan.core.hashing import prefixed
from diwan.core.table.events import HandOpened
from diwan.verifier.chain import LogReader
from diwan.wire.events import type_id_of
from diwan.wire.stored import logged_event
from services.table.ids import opening_id_of
from tests.integration.table.house import PASSWORDS, Seat, error_of, has_decision, named, player_of
from tests.integration.table.test_crash import a_process, a_wallet, keys_in


async def ended_hand(house, *, showdown=True):
    """Play one hand to its end; returns the table's and the hand's id."""
    table_id = await house.create(pause_ms=600_000)
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    view = await house.until(table_id, has_decision)
    while has_decision(view):
        decision = view.hand.decision
        kind = "fold" if not showdown else "check" if decision.can_check else "call"
        await house.act(table_id, player_of(view, decision.seat), decision.turn, kind)
        view = await house.view(table_id)
    return table_id, view.hand.hand_id


LOOK = type_id_of(HandOpened)
WHO, WHY, CASE = "inspector-noor", "complaint of zoe against ann", "case-4711"
"""Of a look: who looked, and why, which is for auditors alone."""


def auditor(house):
    return house.metadata("auditor", Role.AUDITOR)


async def opened(house, request, metadata):
    return await house.stub.OpenHand(request, timeout=5, metadata=metadata)


async def refusal(house, request, metadata):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await opened(house, request, metadata)
    return error_of(refused.value)[0]


async def openings_in_log(postgres, database, table_id):
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    rows = await connection.fetch(
        "select body from event where stream_id = $1 and type_id = 53 order by version", UUID(table_id)
    )
    await connection.close()
    return [event_pb2.Event.FromString(row["body"]).hand_opened for row in rows]


async def test_a_player_opens_the_own_seat_freely_and_gets_proved_cards(house):
    table_id = await house.create()
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    async with Seat(house, table_id, "ann") as ann:
        await ann.until(lambda seat: seat.private is not None)
    request = pb.OpenHandRequest(hand_id=ann.private.hand_id)
    response = await opened(house, request, house.metadata("ann"))
    assert [seat.seat for seat in response.seats] == [ann.private.seat]
    assert list(response.seats[0].reveals) == list(ann.private.reveals)
    assert not response.secret
    root = (await house.view(table_id)).hand.deck_root
    for one in response.seats[0].reveals:
        reveal = Reveal(one.position, one.card, one.salt, tuple(one.path))
        assert verify_reveal(request.hand_id, root, reveal)


async def test_nobody_opens_another_players_seat(house):
    _, hand_id = await ended_hand(house)
    ann, zoe = house.metadata("ann"), house.metadata("zoe")
    seat_of_ben = 1
    assert await refusal(house, pb.OpenHandRequest(hand_id=hand_id, seat=seat_of_ben), ann) == "NOT_YOUR_SEAT"
    assert await refusal(house, pb.OpenHandRequest(hand_id=hand_id), zoe) == "NOT_IN_HAND"
    bot = house.metadata("bot:ann", Role.BOT)
    assert await refusal(house, pb.OpenHandRequest(hand_id=hand_id), bot) == "NOT_IN_HAND"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.SERVICE, Role.PLAYER, Role.BOT])
async def test_nobody_watches_a_running_hand_through_another_players_eyes(house, role):
    """P10, S4: naming a player lets a back end alone see that player's cards."""
    table_id = await house.create()
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    await house.until(table_id, has_decision)
    request = pb.WatchRequest(table_id=table_id, on_behalf_of="ann")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await house.stub.Watch(request, metadata=house.metadata(named("zoe", role), role)).read()
    assert error_of(refused.value)[0] == "ON_BEHALF_OF_NOT_ALLOWED"
    of_a_back_end = house.stub.Watch(request, metadata=house.metadata("phones", Role.BACKEND))
    kinds = {(await of_a_back_end.read()).WhichOneof("message") for _ in range(2)}
    of_a_back_end.cancel()
    assert kinds == {"update", "private"}


async def test_an_auditor_is_refused_while_the_hand_runs_and_without_a_reason(house, postgres, database):
    """S5: the auditor's role cannot read a hand in play."""
    table_id = await house.create()
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    hand_id = (await house.until(table_id, has_decision)).hand.hand_id
    request = pb.OpenHandRequest(hand_id=hand_id, reason="a complaint")
    assert await refusal(house, request, auditor(house)) == "HAND_NOT_SETTLED"
    _, ended = await ended_hand(house)
    for reason in ("", "   "):
        assert (
            await refusal(house, pb.OpenHandRequest(hand_id=ended, reason=reason), auditor(house)) == "REASON_REQUIRED"
        )
    assert await openings_in_log(postgres, database, table_id) == []


async def test_an_auditors_look_is_an_event_before_it_is_answered_and_gives_the_secret(house, postgres, database):
    table_id, hand_id = await ended_hand(house, showdown=False)
    request = pb.OpenHandRequest(hand_id=hand_id, reason="collusion?", case_id="C-7")
    response = await opened(house, request, auditor(house))
    assert [seat.seat for seat in response.seats] == [0, 1]
    recorded = await openings_in_log(postgres, database, table_id)
    assert [(each.opened_by, each.role, each.lens, each.reason, each.case_id) for each in recorded] == [
        ("auditor", "auditor", "auditor", "collusion?", "C-7")
    ]
    deck = deal(hand_id, response.secret, {})
    assert deck.root == (await house.view(table_id)).hand.deck_root
    for seat in response.seats:
        for reveal in seat.reveals:
            assert deck.cards[reveal.position] == reveal.card
    await opened(house, request, auditor(house))
    assert len(await openings_in_log(postgres, database, table_id)) == 2


async def test_a_players_look_at_an_ended_hand_is_recorded_once(house, postgres, database):
    """DESIGN 6: each opening is an event; asking again tells nothing new."""
    table_id, hand_id = await ended_hand(house, showdown=False)
    for _ in range(3):
        await opened(house, pb.OpenHandRequest(hand_id=hand_id), house.metadata("ann"))
    recorded = await openings_in_log(postgres, database, table_id)
    assert [(each.opened_by, each.lens) for each in recorded] == [("ann", "seat:0")]


async def a_look_during_a_hand(house):
    """Play a hand, and look at it in every way while the next one runs; returns the table's id and both hands'."""
    table_id = await house.create()
    for player in ("ann", "ben"):
        await house.sit(table_id, player)
    view = await house.until(table_id, has_decision)
    looked_at = view.hand.hand_id
    await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn, "fold")
    view = await house.until(table_id, lambda view: has_decision(view) and view.hand.hand_id != looked_at)
    request = pb.OpenHandRequest(hand_id=looked_at, reason=WHY, case_id=CASE)
    await opened(house, request, house.metadata(WHO, Role.AUDITOR))
    replayed = replay_pb2.GetReplayRequest(hand_id=looked_at, eyes=2, seat=0, reason=WHY, case_id=CASE)
    await house.call("GetReplay", replayed, WHO, Role.OPERATOR)
    await opened(house, pb.OpenHandRequest(hand_id=looked_at), house.metadata("ann"))
    return table_id, looked_at, view.hand.hand_id


async def test_nobody_at_the_table_is_told_who_looked_at_which_hand_or_why(house, postgres, database):
    """DESIGN 6: a suspect is not warned; the chain is whole all the same. Searched raw, as hex and as base64."""
    table_id, looked_at, running = await a_look_during_a_hand(house)
    recorded = await openings_in_log(postgres, database, table_id)
    assert [each.opened_by for each in recorded] == [WHO, WHO, "ann"]
    told = []
    for player, role in (("ann", Role.PLAYER), ("ben", Role.PLAYER), ("zoe", Role.PLAYER), ("bot:zoe", Role.BOT)):
        call = house.stub.Watch(
            pb.WatchRequest(table_id=table_id, after_version=1), metadata=house.metadata(player, role)
        )
        message = await call.read()
        told.append(message.update)
        call.cancel()
        looks = [event for event in message.update.events if event.type_id == LOOK]
        assert len(looks) == 3
        assert all(event.body_hash and not event.body for event in looks)
        assert len(verified_chain(message.update.events)) == len(message.update.events)
    asked = replay_pb2.GetReplayRequest
    told += [
        await house.call("GetHand", pb.GetHandRequest(hand_id=running), "ben"),
        await house.call("GetHand", pb.GetHandRequest(hand_id=running), "chief", Role.OPERATOR),
        await house.call("GetMyHand", history_pb2.GetMyHandRequest(hand_id=running), "ben"),
        await house.call("GetMyHand", history_pb2.GetMyHandRequest(hand_id=running), "ann"),
        await house.call("GetReplay", asked(hand_id=running), "ben"),
        await house.call("GetReplay", asked(hand_id=running), "zoe"),
        await house.call("GetReplay", asked(hand_id=running), "chief", Role.OPERATOR),
        await house.call("ListMyHands", history_pb2.ListMyHandsRequest(), "ann"),
        await house.call("ListHands", pb.ListHandsRequest(table_id=table_id), "chief", Role.OPERATOR),
        await house.call("GetTable", pb.GetTableRequest(table_id=table_id), "ben"),
    ]
    refused = [
        await house.refused("OpenHand", pb.OpenHandRequest(hand_id=looked_at, seat=1), "ann"),
        await house.refused("OpenHand", pb.OpenHandRequest(hand_id=looked_at), "zoe"),
        await house.refused("GetReplay", asked(hand_id=looked_at, eyes=2, seat=0), "chief", Role.OPERATOR),
    ]
    said = b"".join([*(message.SerializeToString() for message in told), repr(refused).encode()])
    for token in (WHO, WHY, CASE):
        assert not any(text in said for text in spellings(token.encode())), token
    for update in told[:4]:
        for event in update.events:
            if event.type_id == LOOK:
                assert looked_at.encode() not in event.SerializeToString()


async def test_the_id_of_a_players_look_tells_neither_the_player_nor_the_hand(house, postgres, database):
    """Ids of commands are told to everybody: who knows the players and the hands could else try them all."""
    table_id, looked_at, _ = await a_look_during_a_hand(house)
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    rows = await connection.fetch(
        "select command_id from event where stream_id = $1 and type_id = $2 order by version", UUID(table_id), LOOK
    )
    await connection.close()
    ids = [row["command_id"] for row in rows]
    assert len(set(ids)) == 3
    assert [one.version for one in ids] == [4, 4, 4], "an own look looks as any other"
    secret = (await opened(house, pb.OpenHandRequest(hand_id=looked_at, reason="x"), auditor(house))).secret
    keyed_by = [opening_id_of(Secret(key), looked_at, "ann") for key in (secret, bytes(32))]
    assert ids[2] == keyed_by[0] != keyed_by[1]


def verified_chain(events):
    """Follow stored events as anybody can who was sent them; returns what was followed."""
    reader = LogReader()
    return [reader.read_entry(logged_event(event)) for event in events]


async def test_a_hand_that_does_not_exist_and_one_whose_day_is_destroyed_say_so(house, postgres, database):
    assert await refusal(house, pb.OpenHandRequest(hand_id=str(uuid4())), house.metadata("ann")) == "HAND_NOT_FOUND"
    _, hand_id = await ended_hand(house)
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    await connection.execute("update vault.hand_secret set wrapped = null where hand_id = $1", UUID(hand_id))
    await connection.close()
    assert await refusal(house, pb.OpenHandRequest(hand_id=hand_id), house.metadata("ann")) == "SECRET_DESTROYED"


def spellings(token):
    """A token raw, as hexadecimal in both cases, and as the middle of its base64 at each offset."""
    yield token
    yield token.hex().encode()
    yield token.hex().upper().encode()
    for offset in range(3):
        yield base64.b64encode(bytes(offset) + token)[4:-4]


@pytest.fixture
def bus_server(tmp_path):
    """A NATS with a user a service, which the table service copies its feed to."""
    with EmbeddedNats(tmp_path / "bus", users({service: f"password-of-{service}" for service in services()})) as server:
        asyncio.run(set_up(server.admin_url))
        yield server


async def copied_to_the_bus(server, postgres, database):
    """Wait until all that the table service has told stands on the bus, and return how many messages that are."""
    feed = await Database.open(postgres.url("table_rw", PASSWORDS["table_rw"], database))
    bus = Bus.start(server.admin_url, "admin")
    try:
        await bus.ready(10)
        async with asyncio.timeout(20):
            while (await bus.stream_state("table")).last_seq < await Feed(feed, FEEDS["table"]).head():  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.05)
        return (await bus.stream_state("table")).messages
    finally:
        await bus.close()
        await feed.close()


async def test_no_secret_no_key_and_no_unrevealed_salt_is_anywhere_but_in_its_seats_stream(
    postgres, database, folder, bus_server
):
    """S1, P10: grepped raw, hex and base64 in database files, WAL, bus store, logs and every stream but the seat's own."""
    key = keys_in(folder)
    streams = {"ann": [], "ben": [], "watcher": []}
    bus = {"nats_url": bus_server.url("table"), "log_level": "debug"}
    async with (
        a_wallet(folder) as wallet,
        a_process(postgres, database, folder, wallet, key, **bus) as house,
    ):
        table_id = await house.create(pause_ms=600_000)
        for player in ("ann", "ben"):
            await house.sit(table_id, player)
        watching = [
            house.channel.unary_stream(
                "/diwan.api.table.v1.TableService/Watch", request_serializer=pb.WatchRequest.SerializeToString
            )(pb.WatchRequest(table_id=table_id), metadata=house.metadata("w", Role.SERVICE))
        ]
        for player in ("ann", "ben"):
            call = house.channel.stream_stream(
                "/diwan.api.table.v1.TableService/Play", request_serializer=pb.PlayRequest.SerializeToString
            )(metadata=house.metadata(player))
            await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id)))
            watching.append(call)
        view = await house.until(table_id, has_decision)
        for kind in ("call", "check", "bet"):
            decision = view.hand.decision
            await house.act(table_id, player_of(view, decision.seat), decision.turn, kind, to=4)
            view = await house.view(table_id)
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn, "fold")
        view = await house.view(table_id)
        for name, call in zip(("watcher", "ann", "ben"), watching, strict=True):
            while True:
                raw = await call.read()
                streams[name].append(raw)
                update = pb.WatchResponse.FromString(raw).update
                if update.view.version >= view.version:
                    break
            call.cancel()
        looked = pb.OpenHandRequest(hand_id=view.hand.hand_id, reason=WHY, case_id=CASE)
        response = await opened(house, looked, house.metadata(WHO, Role.AUDITOR))
        assert await copied_to_the_bus(bus_server, postgres, database) > 20
    deck = deal(view.hand.hand_id, response.secret, {})
    hand = UUID(view.hand.hand_id).bytes
    keys = [derive_key(response.secret, prefixed(label, hand, mix({}))) for label in ("deck/v1", "salt/v1")]
    # The keys that were derived are those of this deck, or looking for them would prove nothing.
    assert keyed(keys[1])(0) == deck.reveal(0).salt
    own = {"ann": set(), "ben": set()}
    for seat in response.seats:
        own["ann" if seat.seat == 0 else "ben"] = {reveal.position for reveal in seat.reveals}
    shown = set(range(4, 7))
    hidden = set(range(52)) - shown
    everywhere = [bytes(response.secret), *keys, *(deck.reveal(position).salt for position in sorted(hidden))]
    for name, frames in streams.items():
        raw = b"".join(frames)
        allowed = own.get(name, set())
        assert all(deck.reveal(position).salt in raw for position in allowed | shown), "the search would find them"
        for position in hidden - allowed:
            assert not any(text in raw for text in spellings(deck.reveal(position).salt)), (name, position)
        for token in (response.secret, *keys):
            assert not any(text in raw for text in spellings(token)), name
    assert any(path.suffix == ".log" and path.stat().st_size for path in folder.iterdir()), "there is a log to search"
    told, bus_store = deck.reveal(min(shown)).salt, b""
    for path in _files(Path(postgres._directory), folder, bus_server.log_path.parent):
        content = path.read_bytes()
        bus_store += content if path.suffix == ".blk" else b""
        for token in everywhere:
            assert not any(text in content for text in spellings(token)), path
    assert told in bus_store, "the bus store is searched as it lies on disk"
    looks = [path.read_bytes() for path in _files(folder, bus_server.log_path.parent)]
    for token in (WHO, WHY, CASE):
        assert not any(text in content for content in looks for text in spellings(token.encode())), token


def _files(*folders):
    for root in folders:
        for parent, _, names in os.walk(root):
            for name in names:
                path = Path(parent) / name
                with contextlib.suppress(OSError):
                    if path.is_file():
                        yield path


def test_the_search_finds_what_it_looks_for():
    """A grep that cannot fail proves nothing."""
    token = bytes(range(32))
    for offset in range(3):
        haystack = base64.b64encode(b"x" * offset + token + b"yy")
        assert any(text in haystack for text in spellings(token))
