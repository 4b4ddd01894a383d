"""S1, P10: what would tell a hidden card is nowhere but with the table service and on the seat's own stream."""

import asyncio
import base64
import secrets
import time
import urllib.request
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import nats
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.database import Database
from diwan.chassis.keyfile import KeyFile
from diwan.chassis.vault import HandVault, day_key_aad, unwrap
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.gather import close_tables, everything_applied, until
from diwan.cli.demo.play import table_settings
from diwan.cli.stack.stack import Stack, superuser_database_url
from diwan.client import DiwanError, connect
from diwan.core.fairness import deal
from diwan.core.fairness.chance import derive_key
from diwan.core.fairness.material import mix
from diwan.core.hand.events import HandEnded, HandStarted, HoleCardsDealt
from diwan.core.hashing import prefixed, uuid_bytes
from diwan.wire.events import decode
from tests.integration.stack.searching import Search

pytestmark = pytest.mark.timeout(240)

HANDS = 12
TABLE = "/diwan.api.table.v1.TableService"
LOUD = {service: {"log_level": "debug"} for service in ("table", "wallet", "bots", "audit")}
SETTINGS = {service: LOUD[service] | DEMO_SETTINGS.get(service, {}) for service in LOUD}


class Ears:
    """Everything that anybody but a bot is sent, as bytes, by who heard it."""

    def __init__(self, stack):
        self.stack = stack
        self.heard = {}

    def note(self, name, raw):
        self.heard.setdefault(name, bytearray()).extend(raw)

    async def streams(self, channel, table_id, name, role, *, plays=False):
        metadata = (("authorization", f"Bearer {self.stack.token(name, role)}"),)
        if plays:
            call = channel.stream_stream(f"{TABLE}/Play", request_serializer=pb.PlayRequest.SerializeToString)(
                metadata=metadata
            )
            await call.write(pb.PlayRequest(attach=pb.Attach(table_id=table_id)))
        else:
            request = pb.WatchRequest(table_id=table_id)
            call = channel.unary_stream(f"{TABLE}/Watch", request_serializer=pb.WatchRequest.SerializeToString)(
                request, metadata=metadata
            )
        try:
            while (raw := await call.read()) is not grpc.aio.EOF:
                self.note(name, raw)
        finally:
            call.cancel()


async def plays(client, table_id):
    """Check, call what is cheap, fold; sit down again when the chips are gone."""
    while True:
        view = await client.tables.get(table_id)
        seats = {seat.seat: seat.player for seat in view.seats}
        decision = view.hand.decision
        try:
            if "amal" not in seats.values():
                await client.tables.sit_down(table_id, 400, post_at_once=True)
            elif seats.get(decision.seat) == "amal" and decision.turn:
                kind = "check" if decision.can_check else "call" if decision.call_amount <= 40 else "fold"
                await client.tables.act(table_id, decision.turn, kind)
        except DiwanError as error:
            if error.reason not in {"STALE_TURN", "NOT_YOUR_TURN", "NO_HAND", "ACTION_NOT_OPEN", "SEAT_TAKEN"}:
                raise
        await asyncio.sleep(0.02)


@asynccontextmanager
async def running(*work):
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
        assert [task.exception() for task in tasks if task.done()] == []
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Hand:
    """One hand of the log with its deck made again from the vault's secret."""

    def __init__(self, started):
        self.started = started
        self.public = set()
        self.holdings = {}
        self.is_ended = False

    def take(self, secret):
        seeds = {each.seat: each.seed for each in self.started.seeds}
        self.deck = deal(self.started.hand_id, secret, seeds)
        assert self.deck.root == self.started.deck_root, "what is looked for is what was dealt"
        context = (uuid_bytes(self.started.hand_id), mix(seeds))
        self.keys = {label: derive_key(secret, prefixed(label, *context)) for label in ("deck/v1", "salt/v1")}

    def salts(self, positions):
        return {("salt", self.started.hand_id, at): self.deck.reveal(at).salt for at in positions}


async def hands_in(database):
    rows = await database.run(
        lambda c: c.fetch("select type_id, schema_v, body from event order by stream_id, version")
    )
    hands = []
    for row in rows:
        decoded = decode(row["type_id"], row["schema_v"], row["body"])
        if isinstance(decoded.event, HandStarted):
            hands.append(Hand(decoded.event))
        elif isinstance(decoded.event, HoleCardsDealt):
            players = [seat.player for seat in hands[-1].started.seats]
            hands[-1].holdings = dict(zip(players, decoded.event.holdings, strict=True))
        elif isinstance(decoded.event, HandEnded):
            hands[-1].is_ended = True
        if hands:
            hands[-1].public |= {reveal.position for reveal in decoded.reveals}
    return hands


async def secrets_of(stack):
    """Return all hands with their decks, and every key and secret there is, by name."""
    database = await Database.open(
        superuser_database_url(stack.places, "diwan_table"), application="test", is_checked=False
    )
    keyfile = KeyFile(stack.layout.master_key)
    try:
        vault = HandVault(database, keyfile, lambda: int(time.time() * 1000))
        hands = await hands_in(database)
        tokens = {}
        for row in await database.run(lambda c: c.fetch("select hand_id from vault.hand_secret")):
            tokens["secret", str(row["hand_id"])] = await vault.get(str(row["hand_id"]))
        for hand in hands:
            hand.take(tokens["secret", hand.started.hand_id])
            tokens |= {(label, hand.started.hand_id): key for label, key in hand.keys.items()}
        for row in await database.run(lambda c: c.fetch("select day, wrapped from vault.day_key")):
            wrapping = keyfile.wrapping_key(row["day"])
            tokens["wrapping key", row["day"]] = wrapping
            tokens["day key", row["day"]] = unwrap(AESGCM(wrapping), row["wrapped"], day_key_aad(row["day"]))
        return hands, tokens
    finally:
        await database.close()


def metrics_of(stack):
    for service, address in stack.places.metrics.items():
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as response:
            yield service, response.read()


async def everything_heard(stack):
    """Let bots and one player play while everybody listens; returns what was heard."""
    ears = Ears(stack)
    bus = await nats.connect(stack.admin_nats_url())

    async def overheard(message):
        ears.note("bus", message.data + repr(message.headers).encode())

    await bus.subscribe(">", cb=overheard)
    async with AsyncExitStack() as opened:
        channel = await opened.enter_async_context(grpc.aio.insecure_channel(stack.places.services["table"]))

        async def as_(name, role):
            return await opened.enter_async_context(connect(stack.places.services, stack.token(name, role)))

        operator, auditor, amal = [
            await as_(name, role)
            for name, role in (("operator", Role.OPERATOR), ("auditor", Role.AUDITOR), ("amal", Role.PLAYER))
        ]
        table_id = (await operator.tables.create(table_settings("Fez") | {"bots_fill": 4})).table_id
        await amal.wallet.open_account()
        listeners = [
            ears.streams(channel, table_id, name, role, plays=plays_)
            for name, role, plays_ in (
                ("amal", Role.PLAYER, True),
                ("stranger", Role.PLAYER, True),
                ("operator", Role.OPERATOR, False),
                ("auditor", Role.AUDITOR, False),
                ("table", Role.SERVICE, False),
            )
        ]
        async with running(*listeners, plays(amal, table_id)):
            await until("hands are played", lambda: has_played(operator, table_id), 90)
        await amal.tables.stand_up(table_id)
        await close_tables(operator, [table_id])
        await everything_applied(operator)
        await look_back(ears, operator, auditor, amal, table_id)
        for service, text in metrics_of(stack):
            ears.note(f"metrics of {service}", text)
    await bus.close()
    return ears


async def has_played(client, table_id):
    return (await client.tables.get(table_id)).hand.hand_no > HANDS


async def look_back(ears, operator, auditor, amal, table_id):
    hands = [hand async for hand in operator.tables.hands(table_id=table_id)]
    for hand in hands:
        ears.note("looking back", (await operator.tables.get_hand(hand.hand_id)).SerializeToString())
    async for fed in operator.feed("table").events():
        ears.note("feed", fed.SerializeToString())
    async for fed in operator.feed("wallet").events():
        ears.note("feed", fed.SerializeToString())
    async for finding in auditor.audit.findings():
        ears.note("audit", finding.SerializeToString())
    # What is opened must not be left lying about by the opening.
    opened = await auditor.tables.open_hand(hands[0].hand_id, reason="the test looks")
    assert opened.secret
    own = next(hand for hand in hands if "amal" in hand.players)
    assert await amal.tables.open_hand(own.hand_id)


def test_what_would_tell_a_hidden_card_is_nowhere_but_on_its_seats_own_stream(tmp_path):
    """S1: secrets, deck keys and unrevealed salts, raw, hexadecimal and base64, in every byte that anybody gets."""
    with Stack(tmp_path, report=lambda *_: None, overrides=SETTINGS) as stack:
        ears = asyncio.run(everything_heard(stack))
        hands, tokens = asyncio.run(secrets_of(stack))
    assert len(hands) >= HANDS
    hidden, shown, own = {}, {}, {}
    for hand in hands:
        hidden |= hand.salts(set(range(52)) - hand.public)
        shown |= hand.salts(hand.public)
        own |= hand.salts(hand.holdings.get("amal", ()))
    search = Search(tokens | hidden | shown)

    at_rest = search.found_under(tmp_path)
    for path, found in at_rest.items():
        assert not found - shown.keys(), f"{path} tells what it must not"
    assert any("postgres" in path.parts for path in at_rest), (
        "shown cards are found in the database, so others would be"
    )
    assert any("jetstream" in path.parts for path in at_rest), "and in the bus's copy"

    assert own
    for name, raw in ears.heard.items():
        found = search.found_in(bytes(raw))
        allowed = shown.keys() | (own.keys() if name == "amal" else set())
        assert not found - allowed, f"{name} hears what it must not"
        if name == "amal":
            assert found >= own.keys() - shown.keys(), "the own cards came by the own stream"
    assert {"stranger", "operator", "auditor", "table", "bus", "feed", "looking back"} <= ears.heard.keys()


def test_the_search_finds_every_spelling_across_the_edge_of_a_chunk():
    """A search that cannot find proves nothing."""
    token = secrets.token_bytes(32)
    search = Search({"token": token, "other": secrets.token_bytes(32)})
    edge = 1 << 22
    for text in (token, token.hex().encode(), token.hex().upper().encode()):
        assert search.found_in(bytes(edge - 10) + text + b"tail") == {"token"}
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            assert search.found_in(b"x" + encode(b"\xff" * offset + token) + b"tail") == {"token"}
    assert search.found_in(token[:12] + bytes(30)) == set()
