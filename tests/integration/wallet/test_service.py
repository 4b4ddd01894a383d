"""Every method of the wallet over real gRPC: what it does, what it refuses and why, and that refusing changes nothing."""

import asyncio
import itertools
import random  # noqa: TID251  (attacks may use chance)
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest
import pytest_asyncio

from diwan.api.feed.v1 import feed_service_pb2, feed_service_pb2_grpc
from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.auth import service_tokens
from diwan.chassis.feed.remote import RemoteFeed
from diwan.chassis.pace import BURST
from diwan.chassis.reasons import CATALOGUE
from diwan.core.ledger.books import EMPTY, fold, sums
from diwan.wire.events import decode
from services.wallet.fields import REASON_CHARACTERS_MAX
from tests.integration.wallet.conftest import faults, make
from tests.integration.wallet.room import Refused, a_room, refused

GRANT = 10_000
TABLES = ("account", "transfer", "entry", "refused", "answered", "event", "stream")


# One wallet for all of these tests: nothing here is about starting it, and none minds what the others did.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_service", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(postgres, prepared, tmp_path_factory):
    async with a_room(postgres, prepared, tmp_path_factory.mktemp("service")) as room:
        yield room


@pytest_asyncio.fixture(loop_scope="module")
async def superuser(prepared):
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    await connection.close()


def people(*names: str) -> list[str]:
    """Return players whom no other test knows."""
    return [f"{name}-{uuid4().hex[:8]}" for name in names]


def new_id() -> str:
    return str(uuid4())


async def dump(connection):
    return {table: await connection.fetch(f"select * from {table} order by 1, 2") for table in TABLES}


async def reason_of(awaitable) -> str:
    with pytest.raises(Refused) as caught:
        await awaitable
    return caught.value.reason


async def test_an_account_comes_with_the_starting_grant_once(room, superuser):
    (amal,) = people("amal")
    request = pb.OpenAccountRequest(request_id=new_id())

    first = await room.call("OpenAccount", request, Role.PLAYER, amal)
    again = await room.call("OpenAccount", request, Role.PLAYER, amal)
    other = await room.open_account(amal)

    assert (first.existed, again.existed, other.existed) == (False, False, True)
    assert (first.account.balance, first.account.kind, first.account.owner) == (GRANT, "player", amal)
    assert other.account == first.account
    assert await faults(superuser) == []


async def test_a_request_id_of_one_caller_is_not_anothers(room):
    """DESIGN 4: ids are scoped to their caller, and other content under the same id is a conflict."""
    (omar,) = people("omar")
    request_id = new_id()
    backend = {"role": Role.BACKEND, "subject": "app", "players": "app/"}

    async def open_for(player, **caller):
        return await room.call(
            "OpenAccount", pb.OpenAccountRequest(request_id=request_id, on_behalf_of=player), **caller
        )

    assert not (await open_for("app/amal", **backend)).existed
    assert not (await open_for("app/amal", **backend)).existed
    assert await reason_of(open_for("app/dina", **backend)) == "REQUEST_ID_CONFLICT"
    assert not (await open_for("", role=Role.PLAYER, subject=omar)).existed
    assert await reason_of(open_for("other/lina", **backend)) == "ON_BEHALF_OF_NOT_ALLOWED"


async def test_many_openings_at_once_open_one_account(room, superuser):
    """L8."""
    (amal,) = people("amal")
    answers = await asyncio.gather(*(room.open_account(amal) for _ in range(BURST)))

    assert [answer.existed for answer in answers].count(False) == 1
    assert (
        await superuser.fetchval(
            "select count(*) from entry where account_id = $1", UUID(answers[0].account.account_id)
        )
        == 1
    )


async def test_a_player_sees_only_its_own(room):
    amal, dina = people("amal", "dina")
    await room.open_account(amal)
    await room.open_account(dina)

    for method, request in (
        ("GetAccount", pb.GetAccountRequest(on_behalf_of=dina)),
        ("ListEntries", pb.ListEntriesRequest(on_behalf_of=dina)),
        ("OpenAccount", pb.OpenAccountRequest(request_id=new_id(), on_behalf_of=dina)),
    ):
        assert await reason_of(room.call(method, request, Role.PLAYER, amal)) == "ON_BEHALF_OF_NOT_ALLOWED"
    mine = await room.call("GetAccount", pb.GetAccountRequest(), Role.PLAYER, amal)
    assert mine.account.owner == amal
    seen = await room.call("GetAccount", pb.GetAccountRequest(on_behalf_of=dina), Role.OPERATOR, "ops")
    assert seen.account.owner == dina


async def test_the_statement_pages_through_every_entry_newest_first(room):
    (amal,) = people("amal")
    await room.open_account(amal)
    for amount in range(1, 12):
        await room.call(
            "Issue",
            pb.IssueRequest(transfer_id=new_id(), player=amal, amount=amount, reason="r"),
            Role.OPERATOR,
            "ops",
        )
    entries, token, pages = [], "", 0
    while True:
        page = await room.call("ListEntries", pb.ListEntriesRequest(page_size=5, page_token=token), Role.PLAYER, amal)
        entries += page.entries
        token, pages = page.next_page_token, pages + 1
        if not token:
            break

    assert pages == 3
    assert [entry.version for entry in entries] == list(range(12, 0, -1))
    assert [entry.amount for entry in entries] == [*range(11, 0, -1), GRANT]
    for newer, older in itertools.pairwise(entries):
        assert newer.previous_balance == older.balance
    assert (entries[-1].code, entries[0].cause) == ("starting_grant", "operator/ops: r")


async def test_a_page_token_opens_nobody_elses_statement(room):
    amal, dina = people("amal", "dina")
    await room.open_account(amal)
    await room.open_account(dina)
    for player in (amal, dina):
        for _ in range(3):
            request = pb.IssueRequest(transfer_id=new_id(), player=player, amount=1, reason="r")
            await room.call("Issue", request, Role.OPERATOR, "ops")
    token = (await room.call("ListEntries", pb.ListEntriesRequest(page_size=1), Role.PLAYER, amal)).next_page_token

    for bad in (token, token[:-4], token + "AAAA", "é", "x" * 5000, "AAAA", "////"):
        request = pb.ListEntriesRequest(page_token=bad)
        assert await reason_of(room.call("ListEntries", request, Role.PLAYER, dina)) == "PAGE_TOKEN_INVALID"
    request = pb.ListEntriesRequest(page_size=-1)
    assert await reason_of(room.call("ListEntries", request, Role.PLAYER, dina)) == "PAGE_SIZE_INVALID"


async def test_who_has_no_account_is_told_so(room):
    assert await reason_of(room.balance("nobody")) == "ACCOUNT_NOT_FOUND"
    request = pb.ListEntriesRequest()
    assert await reason_of(room.call("ListEntries", request, Role.PLAYER, "nobody")) == "ACCOUNT_NOT_FOUND"
    table = await room.new_table()
    assert await reason_of(room.fund(table, new_id(), "nobody", 5)) == "ACCOUNT_NOT_FOUND"


async def test_twenty_buy_ins_of_the_whole_balance_over_grpc_leave_one(room, superuser):
    """L2."""
    (amal,) = people("amal")
    await room.open_account(amal)
    table = await room.new_table()

    async def buy_in() -> str:
        try:
            return await room.fund(table, new_id(), amal, GRANT)
        except Refused as error:
            return error.reason

    answers = await asyncio.gather(*(buy_in() for _ in range(20)))

    assert sorted(answers) == ["EXCEEDS_BALANCE"] * 19 + ["created"]
    assert await faults(superuser) == []


async def test_a_buy_in_is_applied_once_and_a_refused_one_stays_refused(room):
    """L3, L4, L5."""
    (amal,) = people("amal")
    await room.open_account(amal)
    table, sitting, refused_id = await room.new_table(), new_id(), new_id()

    results = await asyncio.gather(*(room.fund(table, sitting, amal, 400) for _ in range(20)))
    first = await reason_of(room.fund(table, refused_id, amal, 9_601))
    await room.call(
        "Issue", pb.IssueRequest(transfer_id=new_id(), player=amal, amount=50, reason="r"), Role.OPERATOR, "ops"
    )
    again = await reason_of(room.fund(table, refused_id, amal, 9_601))

    assert sorted(results) == ["created"] + ["exists"] * 19
    assert (first, again) == ("EXCEEDS_BALANCE", "ID_ALREADY_FAILED")
    assert await reason_of(room.fund(table, sitting, amal, 401)) == "EXISTS_WITH_DIFFERENT_AMOUNT"
    assert await reason_of(room.fund(await room.new_table(), sitting, amal, 400)) == "EXISTS_WITH_DIFFERENT_CAUSE"
    assert await room.balance(amal) == GRANT - 400 + 50


async def test_a_top_up_goes_to_the_players_own_sitting_only(room):
    amal, dina = people("amal", "dina")
    await room.open_account(amal)
    await room.open_account(dina)
    table, sitting = await room.new_table(), new_id()
    await room.fund(table, sitting, amal, 400)
    top_up = {"sitting": sitting, "code": "top_up"}

    assert await room.fund(table, new_id(), amal, 10, **top_up) == "created"
    assert await reason_of(room.fund(table, new_id(), dina, 10, **top_up)) == "SITTING_NOT_FOUND"
    assert await reason_of(room.fund(await room.new_table(), new_id(), amal, 10, **top_up)) == "SITTING_NOT_FOUND"
    top_up["sitting"] = new_id()
    assert await reason_of(room.fund(table, new_id(), amal, 10, **top_up)) == "SITTING_NOT_FOUND"


async def test_issuing_names_who_and_why_and_is_done_once(room):
    (amal,) = people("amal")
    await room.open_account(amal)
    request = pb.IssueRequest(transfer_id=new_id(), player=amal, amount=77, reason="a table crashed")

    first = await room.call("Issue", request, Role.OPERATOR, "ops-1")
    again = await room.call("Issue", request, Role.OPERATOR, "ops-1")

    assert (first.result, again.result, again.account.balance) == ("created", "exists", GRANT + 77)
    assert await reason_of(room.call("Issue", request, Role.OPERATOR, "ops-2")) == "EXISTS_WITH_DIFFERENT_CAUSE"
    page = await room.call("ListEntries", pb.ListEntriesRequest(), Role.PLAYER, amal)
    assert page.entries[0].cause == "operator/ops-1: a table crashed"


def bad_requests():
    """Yield every method with what it must refuse, and the reasons that it may give."""
    player, operator, service = (Role.PLAYER, "amal"), (Role.OPERATOR, "ops"), (Role.SERVICE, "table")
    for bad_id in ("", "x", "é" * 40, "A" * 36, str(uuid4()).upper(), "00000000-0000-0000-0000-000000000000", "\0"):
        yield "OpenAccount", pb.OpenAccountRequest(request_id=bad_id), player, {"REQUEST_ID_INVALID"}
        issue = pb.IssueRequest(transfer_id=bad_id, player="amal", amount=1, reason="r")
        yield "Issue", issue, operator, {"ID_INVALID"}
    good = {"transfer_id": str(uuid4()), "player": "amal", "table_id": str(uuid4()), "amount": 5, "code": "buy_in"}
    good["sitting"] = good["transfer_id"]
    for field in ("transfer_id", "sitting", "table_id"):
        for bad in ("", "x", str(uuid4()).upper(), "\0" * 36):
            yield "FundSeat", pb.FundSeatRequest(**{**good, field: bad}), service, {"ID_INVALID"}
    for amount in (0, -1, -(2**63), 2**53, 2**63 - 1):
        yield "FundSeat", pb.FundSeatRequest(**{**good, "amount": amount}), service, {"AMOUNT_INVALID"}
        issue = pb.IssueRequest(transfer_id=str(uuid4()), player="amal", amount=amount, reason="r")
        yield "Issue", issue, operator, {"AMOUNT_INVALID"}
    for change in ({"sitting": str(uuid4())}, {"code": "gift"}, {"code": ""}, {"player": ""}, {"player": "a\0"}):
        yield "FundSeat", pb.FundSeatRequest(**{**good, **change}), service, {"FIELD_INVALID"}
    for name in ("x" * 129, "line\nbreak", "nul\0"):
        yield "FundSeat", pb.FundSeatRequest(**{**good, "player": name}), service, {"FIELD_INVALID"}
        yield "GetAccount", pb.GetAccountRequest(on_behalf_of=name), operator, {"FIELD_INVALID"}
        yield "ListEntries", pb.ListEntriesRequest(on_behalf_of=name), operator, {"FIELD_INVALID"}
        issue = pb.IssueRequest(transfer_id=str(uuid4()), player=name, amount=5, reason="r")
        yield "Issue", issue, operator, {"FIELD_INVALID"}
    for reason, expected in (("", "REASON_REQUIRED"), ("  ", "REASON_REQUIRED"), ("a\0", "FIELD_INVALID")):
        issue = pb.IssueRequest(transfer_id=str(uuid4()), player="amal", amount=5, reason=reason)
        yield "Issue", issue, operator, {expected}
    long = pb.IssueRequest(transfer_id=str(uuid4()), player="amal", amount=5, reason="r" * (REASON_CHARACTERS_MAX + 1))
    yield "Issue", long, operator, {"FIELD_INVALID"}
    for method in ("GetAccount", "ListEntries"):
        yield method, getattr(pb, f"{method}Request")(), operator, {"ON_BEHALF_OF_REQUIRED"}
    yield "OpenAccount", pb.OpenAccountRequest(request_id=str(uuid4())), service, {"ON_BEHALF_OF_REQUIRED"}
    allowed = {
        "OpenAccount": {Role.PLAYER, Role.BACKEND, Role.SERVICE},
        "GetAccount": {Role.PLAYER, Role.BACKEND, Role.OPERATOR, Role.AUDITOR, Role.SERVICE},
        "ListEntries": {Role.PLAYER, Role.BACKEND, Role.OPERATOR, Role.AUDITOR},
        "FundSeat": {Role.SERVICE},
        "Issue": {Role.OPERATOR},
        "GetTotals": {Role.OPERATOR, Role.AUDITOR, Role.SERVICE},
    }
    for method, roles in allowed.items():
        for role in set(Role) - roles:
            name = "bot:amal" if role is Role.BOT else "amal"
            yield method, getattr(pb, f"{method}Request")(), (role, name), {"PERMISSION_DENIED"}


async def test_what_is_wrong_is_refused_with_its_reason_and_leaves_no_trace(room, superuser):
    """L11: no row, no event, no balance changes; and the service goes on."""
    await room.open_account("amal")
    before = await dump(superuser)

    for method, request, (role, subject), reasons in bad_requests():
        with pytest.raises(Refused) as caught:
            await room.call(method, request, role, subject)
        assert caught.value.reason in reasons, (method, request, caught.value)

    assert await dump(superuser) == before
    assert await room.balance("amal") == GRANT


async def test_bytes_that_are_no_request_are_refused_and_the_service_lives(room, superuser):
    """64 KiB + 1, garbage, no token, a wrong token: a clear reason, no change."""
    (amal,) = people("amal")
    await room.open_account(amal)
    before = await dump(superuser)
    rng = random.Random(1)
    token = [("authorization", f"Bearer {room.key.mint('table', Role.SERVICE, 'wallet')}")]
    methods = ("OpenAccount", "GetAccount", "ListEntries", "FundSeat", "Issue", "GetTotals")
    reasons = set()

    async def raw(method, payload, metadata=token):
        call = room.channel.unary_unary(f"/diwan.api.wallet.v1.WalletService/{method}")
        try:
            await call(payload, timeout=5, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            reasons.add(refused(error).reason)
        else:
            assert method == "GetTotals", "only an empty question is answered whatever it carries"

    for method in methods:
        for _ in range(30):
            await raw(method, rng.randbytes(rng.randrange(1, 200)))
        await raw(method, b"\x00" * (64 * 1024 + 1))
        await raw(method, b"", metadata=())
        await raw(method, b"", metadata=[("authorization", "Bearer nonsense")])

    assert await dump(superuser) == before
    assert await room.balance(amal) == GRANT
    assert {"MESSAGE_TOO_LARGE", "REQUEST_MALFORMED", "UNAUTHENTICATED"} <= reasons
    assert reasons <= CATALOGUE.keys() - {"INTERNAL"}


async def test_the_wallets_own_feed_is_served_without_a_hole(room, superuser):
    for name in people(*(f"p{i}" for i in range(20))):
        await room.open_account(name)
    committed = await superuser.fetchval("select version from stream")
    feed = RemoteFeed(room.address, service_tokens(room.settings, "wallet"))
    found = []
    async with asyncio.timeout(10):
        while len(found) < committed:
            found = await feed.read(0, 1_000)
    page = await feed.read(1, 2)
    await feed.close()

    books = fold(EMPTY, [decode(e.event.type_id, e.event.schema_v, e.event.body).event for e in found])
    assert [event.global_seq for event in page] == [2, 3]
    assert sums(books) == {"CHIP": 0}
    balances = dict(await superuser.fetch("select account_id::text, balance from account"))
    assert {key: account.balance for key, account in books.accounts.items()} == balances


async def test_a_feed_request_that_means_nothing_is_refused(room):
    stub = feed_service_pb2_grpc.FeedServiceStub(room.channel)
    token = [("authorization", f"Bearer {room.key.mint('audit', Role.SERVICE, 'wallet')}")]

    for request in ({"after": -1}, {"limit": -1}, {"limit": 1_001}, {"after": -(2**63)}):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Read(feed_service_pb2.ReadRequest(**request), timeout=5, metadata=token)
        assert refused(caught.value).reason == "FIELD_INVALID"
