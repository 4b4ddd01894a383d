"""Attacks on the wallet by those who may call it: sets too large to be told, caps by a back door, receipts of others."""

import asyncio
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.bus import MESSAGE_BYTES_MAX
from diwan.chassis.pace import BURST
from tests.integration.wallet.conftest import faults, make
from tests.integration.wallet.room import Refused, a_room

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_attacks", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(postgres, prepared, tmp_path_factory):
    async with a_room(postgres, prepared, tmp_path_factory.mktemp("attacks"), gift_a_day=500) as room:
        yield room


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def superuser(prepared):
    """After every attack the books add up."""
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    assert await faults(connection) == []
    await connection.close()


def new_id() -> str:
    return str(uuid4())


async def player(room, name: str) -> str:
    unique = f"{name}-{uuid4().hex[:8]}"
    await room.open_account(unique)
    return unique


def name(kind: str, owner: str = "") -> pb.AccountName:
    return pb.AccountName(kind=kind, owner=owner)


def movement(debit: pb.AccountName, credit: pb.AccountName, amount: int, code: str, **other) -> pb.Movement:
    fields = {"transfer_id": new_id(), "cause": "tournament/1", **other}
    return pb.Movement(debit=debit, credit=credit, amount=amount, code=code, **fields)


async def refused(awaitable) -> Refused:
    with pytest.raises(Refused) as caught:
        await awaitable
    return caught.value


@pytest.mark.parametrize(
    ("role", "subject", "code", "cause"),
    [
        (Role.OPERATOR, "o" * 128, "adjustment", "r" * 400),
        (Role.OPERATOR, "ops", "adjustment", "r" * 495),
        (Role.OPERATOR, "ops", "adjustment", "\N{SLICE OF PIZZA}" * 120),
    ],
)
async def test_a_set_that_no_event_can_tell_is_refused_and_leaves_nothing(room, superuser, role, subject, code, cause):
    """A commit goes over the bus in one message; one that is too large would hold the wallet's feed up for ever."""
    amal = await player(room, "amal")
    house = name("house")
    movements = [movement(name("player", amal), house, 1, code, cause=cause) for _ in range(100)]
    request = pb.TransferLinkedRequest(movements=movements)
    assert request.ByteSize() <= 64 * 1024, "it gets through the door"

    answer = await refused(room.call("TransferLinked", request, role, subject))

    assert answer.reason == "MESSAGE_TOO_LARGE"
    assert await room.balance(amal) == 10_000
    assert await superuser.fetchval("select max(length(body)) from event") < MESSAGE_BYTES_MAX
    few = pb.TransferLinkedRequest(movements=movements[:40])
    assert set((await room.call("TransferLinked", few, role, subject)).results) == {"created"}


async def test_no_gift_is_set_aside_beside_the_days_limit(room):
    """A hold that is posted is not asked about the limit any more, so what is limited by the day is not held."""
    amal, dina = await player(room, "amal"), await player(room, "dina")
    hold = pb.PlaceHoldRequest(movement=movement(name("player", amal), name("player", dina), 5_000, "gift"))

    assert (await refused(room.call("PlaceHold", hold, Role.SERVICE, "social"))).reason == "MOVE_NOT_ALLOWED"

    assert await room.balance(amal) == 10_000


async def test_a_back_end_that_asks_in_time_does_not_refund_what_another_credits(room):
    """Whose purchase it is, is decided with the refund and not before."""
    amal = f"red/{uuid4().hex}"
    await room.open_account(amal)
    receipt = new_id()
    credit = pb.CreditPurchaseRequest(provider="shop", receipt_id=receipt, player=amal, amount=700)
    refund = pb.RefundPurchaseRequest(provider="shop", receipt_id=receipt, reason="chargeback")
    # Both at once, many times: whatever comes first, blue never takes back what red has credited.
    for _ in range(30):
        receipt = new_id()
        credit.receipt_id = refund.receipt_id = receipt
        before = await room.balance(amal)
        answers = await asyncio.gather(
            room.call("RefundPurchase", refund, Role.BACKEND, "blue", players="blue/"),
            room.call("CreditPurchase", credit, Role.BACKEND, "red", players="red/"),
            return_exceptions=True,
        )
        credited = not isinstance(answers[1], Refused)
        assert await room.balance(amal) == before + 700 * credited, answers


@pytest.mark.parametrize(
    "dressed",
    ["{} ", " {}", "{}\N{NO-BREAK SPACE}", "{}\N{COMBINING ACUTE ACCENT}", "\N{CYRILLIC CAPITAL LETTER ER}{}"],
)
async def test_one_receipt_has_one_name(room, dressed):
    """What a provider reads as the same receipt must not be another one here: it would be credited twice."""
    amal = await player(room, "amal")
    receipt = new_id()
    credit = pb.CreditPurchaseRequest(provider="shop", receipt_id=receipt, player=amal, amount=700)
    await room.call("CreditPurchase", credit, Role.BACKEND, "app")
    credit.receipt_id = dressed.format(receipt)

    assert (await refused(room.call("CreditPurchase", credit, Role.BACKEND, "app"))).reason == "FIELD_INVALID"

    assert await room.balance(amal) == 10_700


async def test_a_player_who_opens_an_account_without_end_is_slowed_down(room):
    """Each request is remembered for ever: P12."""
    who = await player(room, "amal")

    async def ask():
        try:
            await room.call("OpenAccount", pb.OpenAccountRequest(request_id=new_id()), Role.PLAYER, who)
        except Refused as error:
            return error.reason
        return "answered"

    answers = [await ask() for _ in range(3 * BURST)]

    assert "RATE_LIMITED" in answers
    assert answers[: BURST - 1] == ["answered"] * (BURST - 1)


async def test_a_page_token_of_anothers_statement_opens_nothing(room):
    amal, dina = await player(room, "amal"), await player(room, "dina")
    for who in (amal, dina):
        issued = pb.IssueRequest(transfer_id=new_id(), player=who, amount=5, reason="a second entry")
        await room.call("Issue", issued, Role.OPERATOR, "ops")
    first = await room.call("ListEntries", pb.ListEntriesRequest(page_size=1), Role.PLAYER, amal)
    assert first.next_page_token
    on = pb.ListEntriesRequest(page_size=1, page_token=first.next_page_token)

    assert len((await room.call("ListEntries", on, Role.PLAYER, amal)).entries) == 1
    assert (await refused(room.call("ListEntries", on, Role.PLAYER, dina))).reason == "PAGE_TOKEN_INVALID"
