"""Every method of the wallet with what it was not made for: a clear reason, and nothing changes (L11)."""

import asyncio
import random  # noqa: TID251  (attacks may use chance)
from uuid import uuid4

import asyncpg
import grpc
import pytest
import pytest_asyncio

from diwan.api.options.v1 import access_pb2
from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.reasons import CATALOGUE
from services.wallet.fields import CASE_CHARACTERS_MAX, REASON_CHARACTERS_MAX, RECEIPT_CHARACTERS_MAX
from tests.integration.wallet.conftest import faults, make
from tests.integration.wallet.room import Refused, a_room, refused

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVICE = pb.DESCRIPTOR.services_by_name["WalletService"]
METHODS = {method.name: method for method in SERVICE.methods}
TABLES = ("account", "transfer", "hold", "tally", "shortfall", "refused", "answered", "event", "stream")
ROLES = {access_pb2.Role.Value(f"ROLE_{role.name}"): role for role in Role}

BAD_IDS = ("", "x", "é" * 40, "A" * 36, str(uuid4()).upper(), "\0" * 36, str(uuid4()) + "0")
BAD_AMOUNTS = (0, -1, -(2**63), 2**53, 2**63 - 1)
BAD_NAMES = ("", "x" * 129, "line\nbreak", "nul\0")
BAD_REASONS = ("", "  ", "a\0", "r" * (REASON_CHARACTERS_MAX + 1))


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_fuzz", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(postgres, prepared, tmp_path_factory):
    async with a_room(postgres, prepared, tmp_path_factory.mktemp("fuzz")) as room:
        for player in ("amal", "dina"):
            await room.open_account(player)
        yield room


@pytest_asyncio.fixture(loop_scope="module")
async def superuser(prepared):
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    await connection.close()


async def dump(connection):
    return {table: await connection.fetch(f"select * from {table} order by 1, 2, 3") for table in TABLES}


def roles_of(method: str) -> set[Role]:
    return {ROLES[role] for role in METHODS[method].GetOptions().Extensions[access_pb2.access].roles}


def new_id() -> str:
    return str(uuid4())


def movement(**fields) -> pb.Movement:
    player, pool = pb.AccountName(kind="player", owner="amal"), pb.AccountName(kind="pool", owner=new_id())
    good = {"transfer_id": new_id(), "debit": player, "credit": pool, "amount": 5, "code": "entry", "cause": "cup"}
    return pb.Movement(**{**good, **fields})


def bad_movements():
    """Yield movements of which one thing is wrong."""
    for bad in BAD_IDS:
        yield movement(transfer_id=bad)
    for bad in BAD_AMOUNTS:
        yield movement(amount=bad)
    for bad in ("", "Entry", "entry ", "withdrawal", "é", "x" * 1000):
        yield movement(code=bad)
    for bad in ("", "operator/ops: x", "table/1", "a\0", "c" * 201):
        yield movement(cause=bad)
    for side in ("debit", "credit"):
        yield movement(**{side: None})
        for kind, owner in (
            ("", "amal"), ("wallet", "amal"), ("Player", "amal"), ("player", ""), ("player", "x" * 129),
            ("player", "a\0"), ("house", "amal"), ("bots", "x"), ("pool", "cup"), ("pool", ""), ("pot", "x"),
            ("escrow", "x"), ("issuance", "gold"), ("issuance", ""),
        ):  # fmt: skip
            yield movement(**{side: pb.AccountName(kind=kind, owner=owner)})
    yield movement(credit=pb.AccountName(kind="player", owner="amal"))


OPERATOR, SERVICE_ROLE, BACKEND = (Role.OPERATOR, "ops"), (Role.SERVICE, "cup"), (Role.BACKEND, "app")
PLAYER = (Role.PLAYER, "amal")

GOOD = {
    "OpenAccount": (PLAYER, {"request_id": new_id()}),
    "GetAccount": (OPERATOR, {"on_behalf_of": "amal"}),
    "ListEntries": (OPERATOR, {"on_behalf_of": "amal"}),
    "GetBalanceAt": (OPERATOR, {"on_behalf_of": "amal", "at_ms": 1}),
    "Issue": (OPERATOR, {"transfer_id": new_id(), "player": "amal", "amount": 5, "reason": "r"}),
    "PostHold": (SERVICE_ROLE, {"transfer_id": new_id(), "hold_id": new_id(), "cause": "c"}),
    "VoidHold": (SERVICE_ROLE, {"request_id": new_id(), "hold_id": new_id(), "cause": "c"}),
    "TopUp": (PLAYER, {"transfer_id": new_id()}),
    "SetTopUpConsent": (PLAYER, {"request_id": new_id(), "is_given": True}),
    "CreditPurchase": (BACKEND, {"provider": "store", "receipt_id": "r", "player": "amal", "amount": 5}),
    "RefundPurchase": (BACKEND, {"provider": "store", "receipt_id": "r", "reason": "r"}),
    "CreditAdReward": (BACKEND, {"provider": "ads", "receipt_id": "r", "player": "amal"}),
    "FreezeAccount": (OPERATOR, {"request_id": new_id(), "player": "amal", "reason": "r", "case_id": "c"}),
    "UnfreezeAccount": (OPERATOR, {"request_id": new_id(), "player": "amal", "reason": "r", "case_id": "c"}),
    "ReverseTransfer": (
        OPERATOR,
        {"transfer_id": new_id(), "reverses": new_id(), "reason": "r", "case_id": "c"},
    ),
    "GetTransfer": (OPERATOR, {"transfer_id": new_id()}),
    "GetHold": (OPERATOR, {"hold_id": new_id()}),
}
"""One request a method that is as it should be, and who asks."""

BAD = {
    "request_id": BAD_IDS,
    "transfer_id": BAD_IDS,
    "hold_id": BAD_IDS,
    "reverses": BAD_IDS,
    "amount": BAD_AMOUNTS,
    "player": BAD_NAMES,
    "on_behalf_of": (*BAD_NAMES[1:], "dina\n"),
    "reason": BAD_REASONS,
    "case_id": ("", "a\0", "c" * (CASE_CHARACTERS_MAX + 1)),
    "cause": ("", "operator/x", "a\0", "c" * 201),
    "provider": ("", "Store", "a/b", "é", "-x", "s" * 33),
    "receipt_id": ("", "a\nb", "a b", "\N{LATIN SMALL LETTER E WITH ACUTE}", "r" * (RECEIPT_CHARACTERS_MAX + 1)),
    "at_ms": (-1, 2**53, 2**63 - 1),
    "is_given": (),
}


def bad_requests():
    """Yield every method with one thing wrong at a time, by whom, and whether nothing at all may be said about it."""
    for method, (caller, fields) in GOOD.items():
        kind = getattr(pb, f"{method}Request")
        for field in fields:
            for bad in BAD[field]:
                yield method, kind(**{**fields, field: bad}), caller
    for bad in bad_movements():
        yield "Transfer", pb.TransferRequest(movement=bad), SERVICE_ROLE
        yield "TransferLinked", pb.TransferLinkedRequest(movements=[movement(), bad]), SERVICE_ROLE
        yield "PlaceHold", pb.PlaceHoldRequest(movement=bad), SERVICE_ROLE
    for lasts_ms in (-1, 30 * 24 * 3_600_000 + 1, 2**63 - 1):
        yield "PlaceHold", pb.PlaceHoldRequest(movement=movement(), lasts_ms=lasts_ms), SERVICE_ROLE
    yield "TransferLinked", pb.TransferLinkedRequest(), SERVICE_ROLE
    yield "TransferLinked", pb.TransferLinkedRequest(movements=[movement() for _ in range(101)]), SERVICE_ROLE
    yield "Transfer", pb.TransferRequest(), SERVICE_ROLE
    yield "PlaceHold", pb.PlaceHoldRequest(), SERVICE_ROLE
    issue = {"transfer_id": new_id(), "amount": 5, "reason": "r"}
    yield "Issue", pb.IssueRequest(**issue, player="amal", purpose="purchase"), OPERATOR
    yield "Issue", pb.IssueRequest(**issue, player="amal", is_to_house=True), OPERATOR
    derived = "6f1c8f0e-2f6b-5d5a-9a52-3b0f4c1d7e90"
    # An id that follows from something is nobody's to choose who is not the house.
    yield "Issue", pb.IssueRequest(**{**issue, "transfer_id": derived}, player="amal"), OPERATOR
    adjustment = movement(credit=pb.AccountName(kind="house"), code="adjustment", transfer_id=derived)
    yield "Transfer", pb.TransferRequest(movement=adjustment), OPERATOR
    for method, described in METHODS.items():
        if not described.server_streaming:
            for role in set(Role) - roles_of(method):
                yield method, getattr(pb, f"{method}Request")(), (role, "amal")


SAYS_NOTHING_OF_IT = {"ACCOUNT_NOT_FOUND", "TRANSFER_NOT_FOUND", "HOLD_NOT_FOUND", "EXCEEDS_BALANCE"}
"""Reasons by which a request was understood as a good one that cannot be granted."""


async def test_every_method_of_the_contract_is_attacked():
    attacked = {method for method, _, _ in bad_requests()}

    assert attacked == {name for name, method in METHODS.items() if not method.server_streaming}


async def test_what_is_wrong_is_refused_with_its_reason_and_leaves_no_trace(room, superuser):
    """L11: no row, no event, no balance changes; and the service goes on."""
    before = await dump(superuser)
    told = set()

    for method, request, (role, subject) in bad_requests():
        with pytest.raises(Refused) as caught:
            await room.call(method, request, role, subject)
        reason = caught.value.reason
        told.add(reason)
        assert reason in CATALOGUE.keys() - {"INTERNAL"}, (method, request, caught.value)
        assert reason not in SAYS_NOTHING_OF_IT, (method, request)

    assert await dump(superuser) == before
    assert {"FIELD_INVALID", "ID_INVALID", "AMOUNT_INVALID", "MOVE_NOT_ALLOWED", "PERMISSION_DENIED"} <= told


async def test_bytes_that_are_no_request_are_refused_by_every_method(room, superuser):
    before = await dump(superuser)
    rng = random.Random(1)
    reasons = set()

    async def raw(method: str, payload: bytes) -> None:
        role = min(roles_of(method))
        token = [("authorization", f"Bearer {room.key.mint('amal', role, 'wallet')}")]
        call = room.channel.unary_unary(f"/{SERVICE.full_name}/{method}")
        try:
            await call(payload, timeout=5, metadata=token)
        except grpc.aio.AioRpcError as error:
            reasons.add(refused(error).reason)

    for name, method in METHODS.items():
        if method.server_streaming:
            continue
        for _ in range(15):
            await raw(name, rng.randbytes(rng.randrange(1, 200)))
        await raw(name, b"\x00" * (64 * 1024 + 1))

    assert await dump(superuser) == before
    assert reasons <= CATALOGUE.keys() - {"INTERNAL"}


async def test_random_requests_never_break_the_books(room, superuser):
    """Whatever is said, by whoever may say it: answered or refused by a reason, and everything adds up."""
    rng = random.Random(7)
    ids = [new_id() for _ in range(6)]
    texts = ["amal", "dina", "", "cup", "player", "pool", "house", "store", "entry", "gift", "adjustment", *ids]
    numbers = [0, 1, 5, 300, 9_999, -1, 2**53 - 1, 2**53, 2**62]

    def fill(message) -> None:
        for field in message.DESCRIPTOR.fields:
            if rng.random() < 0.2:
                continue
            if field.type == field.TYPE_MESSAGE:
                if field.is_repeated:
                    for _ in range(rng.randrange(4)):
                        fill(getattr(message, field.name).add())
                else:
                    fill(getattr(message, field.name))
            elif field.type == field.TYPE_STRING:
                is_id = field.name.endswith("_id") and field.name not in {"receipt_id", "case_id"}
                setattr(message, field.name, rng.choice(ids if is_id and rng.random() < 0.9 else texts))
            elif field.type == field.TYPE_BOOL:
                setattr(message, field.name, rng.random() < 0.5)
            elif field.type == field.TYPE_INT32:
                setattr(message, field.name, rng.choice([0, 1, 7, -1]))
            else:
                setattr(message, field.name, rng.choice(numbers))

    answered, reasons = 0, set()
    for _ in range(600):
        name = rng.choice([name for name, method in METHODS.items() if not method.server_streaming])
        request = getattr(pb, f"{name}Request")()
        fill(request)
        try:
            await room.call(name, request, rng.choice(sorted(roles_of(name))), rng.choice(["amal", "dina"]))
            answered += 1
        except Refused as refusal:
            reasons.add(refusal.reason)

    assert answered > 20
    assert reasons <= CATALOGUE.keys() - {"INTERNAL"}
    assert await faults(superuser) == []
