"""The wallet's operations over real gRPC: who may ask for what, what is answered, and what the books then say."""

import asyncio
from uuid import uuid4

import asyncpg
import grpc
import pytest
import pytest_asyncio

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.api.wallet.v1.wallet_service_pb2_grpc import WalletServiceStub
from diwan.chassis.access import Role
from diwan.chassis.pace import BURST
from tests.integration.wallet.conftest import faults, make
from tests.integration.wallet.room import Refused, a_room, refused

GRANT = 10_000
pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICIES = {
    "top_up_below": 20_000,
    "top_up_amount": 300,
    "top_up_count_a_day": 2,
    "top_up_cool_down_seconds": 0,
    "ad_reward_amount": 25,
    "ad_reward_count_a_day": 1,
    "ad_reward_cool_down_seconds": 0,
    "purchase_count_a_day": 3,
    "gift_a_day": 500,
    "issued_a_day": {"promotion": 1_000},
}


@pytest.fixture(scope="module")
def prepared(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_operations", template))
    yield prepared
    postgres.drop_database(prepared.name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(postgres, prepared, tmp_path_factory):
    async with a_room(postgres, prepared, tmp_path_factory.mktemp("operations"), **POLICIES) as room:
        yield room


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def superuser(prepared):
    """After every test the books add up."""
    connection = await asyncpg.connect(prepared.superuser_url)
    yield connection
    assert await faults(connection) == []
    await connection.close()


@pytest_asyncio.fixture(loop_scope="module")
async def amal(room):
    return await player(room, "amal")


@pytest_asyncio.fixture(loop_scope="module")
async def dina(room):
    return await player(room, "dina")


async def player(room, name: str) -> str:
    unique = f"{name}-{uuid4().hex[:8]}"
    await room.open_account(unique)
    return unique


def new_id() -> str:
    return str(uuid4())


SOMEWHERE = "11111111-2222-4333-8444-555555555555"


def name(kind: str, owner: str = "") -> pb.AccountName:
    return pb.AccountName(kind=kind, owner=owner)


def movement(debit: pb.AccountName, credit: pb.AccountName, amount: int, code: str, **other) -> pb.Movement:
    fields = {"transfer_id": new_id(), "cause": "tournament/1", **other}
    return pb.Movement(debit=debit, credit=credit, amount=amount, code=code, **fields)


def entry(player: str, pool: str, amount: int, **other) -> pb.Movement:
    return movement(name("player", player), name("pool", pool), amount, "entry", **other)


async def service(room, method: str, request):
    return await room.call(method, request, Role.SERVICE, "tournament")


async def operator(room, method: str, request):
    return await room.call(method, request, Role.OPERATOR, "ops")


async def backend(room, method: str, request, **options):
    return await room.call(method, request, Role.BACKEND, "app", **options)


async def reason_of(awaitable) -> str:
    with pytest.raises(Refused) as caught:
        await awaitable
    return caught.value.reason


async def account(room, kind: str, owner: str = "") -> pb.Account:
    request = pb.GetAccountRequest(name=name(kind, owner))
    return (await room.call("GetAccount", request, Role.AUDITOR, "auditor")).account


# Movements


async def test_an_entry_opens_its_pool_and_is_made_once(room, amal):
    """L3, L4."""
    cup = new_id()
    asked = entry(amal, cup, 400)

    first = await service(room, "Transfer", pb.TransferRequest(movement=asked))
    again = await service(room, "Transfer", pb.TransferRequest(movement=asked))
    asked.amount = 401

    assert (first.result, again.result) == ("created", "exists")
    assert (first.debit.balance, first.credit.balance, first.credit.kind) == (GRANT - 400, 400, "pool")
    assert await reason_of(service(room, "Transfer", pb.TransferRequest(movement=asked))) == (
        "EXISTS_WITH_DIFFERENT_AMOUNT"
    )
    assert (await account(room, "pool", cup)).balance == 400


async def test_a_tournament_takes_entries_and_pays_prizes_and_its_pool_is_empty(room, amal, dina):
    cup = new_id()
    linked = pb.TransferLinkedRequest(movements=[entry(amal, cup, 100), entry(dina, cup, 100)])
    prizes = pb.TransferLinkedRequest(
        movements=[
            movement(name("pool", cup), name("house"), 10, "fee"),
            movement(name("pool", cup), name("player", amal), 150, "prize"),
            movement(name("pool", cup), name("player", dina), 40, "bounty"),
        ]
    )

    assert list((await service(room, "TransferLinked", linked)).results) == ["created", "created"]
    assert list((await service(room, "TransferLinked", linked)).results) == ["exists", "exists"]
    await service(room, "TransferLinked", prizes)

    assert (await account(room, "pool", cup)).balance == 0
    assert (await room.balance(amal), await room.balance(dina)) == (GRANT + 50, GRANT - 60)


async def test_of_linked_movements_all_happen_or_none_and_the_refusal_names_the_one(room, amal, dina):
    """L5."""
    cup = new_id()
    bad = entry(dina, cup, GRANT + 1)
    linked = pb.TransferLinkedRequest(movements=[entry(amal, cup, 100), bad])

    with pytest.raises(Refused) as caught:
        await service(room, "TransferLinked", linked)

    assert (caught.value.reason, caught.value.metadata["transfer_id"]) == ("EXCEEDS_BALANCE", bad.transfer_id)
    assert await room.balance(amal) == GRANT
    assert await reason_of(service(room, "TransferLinked", linked)) == "ID_ALREADY_FAILED"
    assert await reason_of(account(room, "pool", cup)) == "ACCOUNT_NOT_FOUND"


@pytest.mark.parametrize(
    ("debit", "credit", "code"),
    [
        (name("issuance", "operator"), name("player", "amal"), "issue"),
        (name("issuance", "promotion"), name("player", "amal"), "prize"),
        (name("player", "amal"), name("issuance", "purchase"), "purchase_refunded"),
        (name("player", "amal"), name("escrow", SOMEWHERE), "buy_in"),
        (name("escrow", SOMEWHERE), name("player", "amal"), "cash_out"),
        (name("escrow", SOMEWHERE), name("pot", SOMEWHERE), "carried"),
        (name("pot", SOMEWHERE), name("escrow", SOMEWHERE), "carried_won"),
        (name("player", "amal"), name("pool", SOMEWHERE), "prize"),
        (name("player", "amal"), name("bots"), "gift"),
        (name("house"), name("player", "amal"), "withdrawal"),
        (name("player", "amal"), name("house"), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("role", [Role.SERVICE, Role.OPERATOR])
async def test_chips_move_only_as_the_table_of_moves_says(room, debit, credit, code, role):
    """Never out of or into an escrow, a pot or an issuance account by naming it; there is no way out of the house."""
    request = pb.TransferRequest(movement=movement(debit, credit, 5, code))

    assert await reason_of(room.call("Transfer", request, role, "somebody")) == "MOVE_NOT_ALLOWED"
    assert await reason_of(
        room.call("TransferLinked", pb.TransferLinkedRequest(movements=[request.movement]), role, "somebody")
    ) == ("MOVE_NOT_ALLOWED")


async def test_each_role_has_its_own_moves(room, amal):
    adjustment = pb.TransferRequest(movement=movement(name("player", amal), name("house"), 5, "adjustment"))
    cup_entry = pb.TransferRequest(movement=entry(amal, new_id(), 5))

    assert await reason_of(service(room, "Transfer", adjustment)) == "MOVE_NOT_ALLOWED"
    assert await reason_of(operator(room, "Transfer", cup_entry)) == "MOVE_NOT_ALLOWED"
    assert (await operator(room, "Transfer", adjustment)).result == "created"
    page = await room.call("ListEntries", pb.ListEntriesRequest(), Role.PLAYER, amal)
    assert page.entries[0].cause == "operator/ops: tournament/1"


async def test_a_service_does_not_speak_in_an_operators_or_a_tables_name(room, amal):
    for cause in ("operator/ops: I was told", "table/x/1", "", "x" * 201, "a\nb"):
        request = pb.TransferRequest(movement=entry(amal, new_id(), 5, cause=cause))
        assert await reason_of(service(room, "Transfer", request)) == "FIELD_INVALID"


async def test_gifts_go_as_far_as_the_setting_lets_them(room, amal, dina):
    def gift(amount: int) -> pb.TransferRequest:
        return pb.TransferRequest(movement=movement(name("player", amal), name("player", dina), amount, "gift"))

    assert (await service(room, "Transfer", gift(500))).result == "created"
    assert await reason_of(service(room, "Transfer", gift(1))) == "DAILY_LIMIT"


# Holds


async def test_a_hold_is_placed_posted_in_part_and_the_rest_is_free(room, amal):
    cup, hold = new_id(), entry(amal, new_id(), 600)
    hold.credit.owner = cup
    placed = await service(room, "PlaceHold", pb.PlaceHoldRequest(movement=hold, lasts_ms=60_000))
    again = await service(room, "PlaceHold", pb.PlaceHoldRequest(movement=hold, lasts_ms=60_000))
    post = pb.PostHoldRequest(transfer_id=new_id(), hold_id=hold.transfer_id, amount=200, cause="seat 3")

    assert (placed.result, placed.debit.held, placed.debit.available) == ("created", 600, GRANT - 600)
    assert (again.result, again.expires_at_ms) == ("exists", placed.expires_at_ms)
    assert ((await service(room, "PostHold", post)).amount, (await service(room, "PostHold", post)).result) == (
        200,
        "exists",
    )
    mine = (await room.call("GetAccount", pb.GetAccountRequest(), Role.PLAYER, amal)).account
    assert (mine.balance, mine.held, mine.available) == (GRANT - 200, 0, GRANT - 200)
    posted = await service(room, "GetTransfer", pb.GetTransferRequest(transfer_id=post.transfer_id))
    assert (posted.transfer.hold_id, posted.transfer.code, posted.transfer.amount) == (hold.transfer_id, "entry", 200)


async def test_a_hold_is_voided_once_and_the_same_request_is_told_so(room, amal):
    hold = entry(amal, new_id(), 600)
    await service(room, "PlaceHold", pb.PlaceHoldRequest(movement=hold))
    void = pb.VoidHoldRequest(request_id=new_id(), hold_id=hold.transfer_id, cause="left")
    other = pb.VoidHoldRequest(request_id=void.request_id, hold_id=new_id(), cause="left")

    assert (await service(room, "VoidHold", void)).result == "created"
    assert (await service(room, "VoidHold", void)).result == "exists"
    assert await reason_of(service(room, "VoidHold", other)) == "REQUEST_ID_CONFLICT"
    void.request_id = new_id()
    assert await reason_of(operator(room, "VoidHold", void)) == "HOLD_ALREADY_VOIDED"
    post = pb.PostHoldRequest(transfer_id=new_id(), hold_id=hold.transfer_id, cause="c")
    assert await reason_of(service(room, "PostHold", post)) == "HOLD_ALREADY_VOIDED"


async def test_a_hold_expires_by_itself_and_its_end_is_an_event(room, amal, superuser):
    """L6: seen as expired at once by whoever looks, written soon by the wallet itself."""
    hold = entry(amal, new_id(), 600)
    await service(room, "PlaceHold", pb.PlaceHoldRequest(movement=hold, lasts_ms=1))
    await asyncio.sleep(0.01)
    mine = (await room.call("GetAccount", pb.GetAccountRequest(), Role.PLAYER, amal)).account
    post = pb.PostHoldRequest(transfer_id=new_id(), hold_id=hold.transfer_id, cause="c")

    assert (mine.held, mine.available) == (0, GRANT)
    assert await reason_of(service(room, "PostHold", post)) == "HOLD_ALREADY_EXPIRED"
    lonely = entry(amal, new_id(), 600)
    await service(room, "PlaceHold", pb.PlaceHoldRequest(movement=lonely, lasts_ms=1))
    query = "select resolution from hold where hold_id = $1::uuid"
    ended = ""
    for _ in range(200):
        ended = ended or await superuser.fetchval(query, lonely.transfer_id)
        await asyncio.sleep(0 if ended else 0.05)
    assert ended == "expired"


# What the house gives


async def test_the_free_top_up_comes_as_the_policy_has_it(room, amal):
    async def top_up(**fields):
        request = pb.TopUpRequest(transfer_id=new_id(), **fields)
        return await room.call("TopUp", request, Role.PLAYER, amal)

    assert await reason_of(top_up(is_automatic=True)) == "CONSENT_REQUIRED"
    consent = pb.SetTopUpConsentRequest(request_id=new_id(), is_given=True)
    assert (await room.call("SetTopUpConsent", consent, Role.PLAYER, amal)).account.has_top_up_consent
    assert (await room.call("SetTopUpConsent", consent, Role.PLAYER, amal)).account.has_top_up_consent
    first = await top_up(is_automatic=True)
    await top_up()

    assert (first.result, first.amount, first.account.balance) == ("created", 300, GRANT + 300)
    with pytest.raises(Refused) as caught:
        await top_up()
    assert caught.value.reason == "DAILY_LIMIT"
    assert int(caught.value.metadata["next_at_ms"]) % 86_400_000 == 0


async def test_who_has_enough_is_told_how_much_is_enough(room, amal):
    issue = pb.IssueRequest(transfer_id=new_id(), player=amal, amount=10_000, reason="r")
    await operator(room, "Issue", issue)
    with pytest.raises(Refused) as caught:
        await room.call("TopUp", pb.TopUpRequest(transfer_id=new_id()), Role.PLAYER, amal)

    assert (caught.value.reason, caught.value.metadata["below"]) == ("TOP_UP_NOT_BELOW", "20000")


async def test_asking_without_end_fills_no_ledger(room, amal):
    """P12: a refused id is kept for ever, so nobody may make them at will."""
    reasons = []
    for _ in range(BURST + 20):
        try:
            await room.call("TopUp", pb.TopUpRequest(transfer_id=new_id()), Role.PLAYER, amal)
        except Refused as refused:
            reasons.append(refused.reason)

    assert "RATE_LIMITED" in reasons


async def test_a_purchase_is_credited_once_by_its_receipt_and_refunded_once(room, amal):
    """L3, L4."""
    receipt = new_id()
    bought = pb.CreditPurchaseRequest(provider="store", receipt_id=receipt, player=amal, amount=700)
    back = pb.RefundPurchaseRequest(provider="store", receipt_id=receipt, reason="changed their mind")

    first = await backend(room, "CreditPurchase", bought)
    again = await backend(room, "CreditPurchase", bought)
    bought.amount = 701
    refunded = await backend(room, "RefundPurchase", back)
    refunded_again = await backend(room, "RefundPurchase", back)

    assert (first.result, again.result, first.account.balance) == ("created", "exists", GRANT + 700)
    assert await reason_of(backend(room, "CreditPurchase", bought)) == "EXISTS_WITH_DIFFERENT_AMOUNT"
    assert (refunded.result, refunded.amount, refunded.shortfall) == ("created", 700, 0)
    assert (refunded_again.result, refunded_again.amount, refunded_again.account.balance) == ("exists", 700, GRANT)
    was = await operator(room, "GetTransfer", pb.GetTransferRequest(transfer_id=first.transfer_id))
    assert was.transfer.reversed_by
    assert was.transfer.cause == "purchase/store"


async def test_a_refund_of_what_is_spent_freezes_the_account(room, amal):
    receipt = new_id()
    bought = pb.CreditPurchaseRequest(provider="store", receipt_id=receipt, player=amal, amount=700)
    await backend(room, "CreditPurchase", bought)
    spend = pb.TransferRequest(movement=entry(amal, new_id(), GRANT + 500))
    await service(room, "Transfer", spend)

    answer = await backend(
        room, "RefundPurchase", pb.RefundPurchaseRequest(provider="store", receipt_id=receipt, reason="r")
    )

    assert (answer.amount, answer.shortfall, answer.account.is_frozen, answer.account.balance) == (200, 500, True, 0)


async def test_a_refund_that_comes_before_its_purchase_prevents_it(room, amal):
    receipt = new_id()
    back = pb.RefundPurchaseRequest(provider="store", receipt_id=receipt, reason="r")

    answer = await backend(room, "RefundPurchase", back)

    assert (answer.result, answer.amount, answer.HasField("account")) == ("created", 0, False)
    with pytest.raises(Refused) as caught:
        await backend(
            room,
            "CreditPurchase",
            pb.CreditPurchaseRequest(provider="store", receipt_id=receipt, player=amal, amount=7),
        )
    assert (caught.value.reason, caught.value.metadata["first_reason"]) == ("ID_ALREADY_FAILED", "PURCHASE_REFUNDED")


async def test_a_back_end_credits_and_refunds_only_its_own_players(room, amal):
    receipt = new_id()
    await backend(
        room, "CreditPurchase", pb.CreditPurchaseRequest(provider="store", receipt_id=receipt, player=amal, amount=7)
    )
    other = {"players": "app/"}

    for method, request in (
        ("CreditPurchase", pb.CreditPurchaseRequest(provider="store", receipt_id=new_id(), player=amal, amount=7)),
        ("CreditAdReward", pb.CreditAdRewardRequest(provider="ads", receipt_id=new_id(), player=amal)),
        ("RefundPurchase", pb.RefundPurchaseRequest(provider="store", receipt_id=receipt, reason="r")),
        ("TopUp", pb.TopUpRequest(transfer_id=new_id(), on_behalf_of=amal)),
        ("SetTopUpConsent", pb.SetTopUpConsentRequest(request_id=new_id(), on_behalf_of=amal, is_given=True)),
    ):
        assert await reason_of(backend(room, method, request, **other)) == "ON_BEHALF_OF_NOT_ALLOWED"


async def test_an_advertisement_is_rewarded_once_and_a_capped_view_is_not_lost(room, amal):
    view = pb.CreditAdRewardRequest(provider="ads", receipt_id=new_id(), player=amal)
    other = pb.CreditAdRewardRequest(provider="ads", receipt_id=new_id(), player=amal)

    first = await backend(room, "CreditAdReward", view)

    assert (first.result, first.amount) == ("created", 25)
    assert (await backend(room, "CreditAdReward", view)).result == "exists"
    assert await reason_of(backend(room, "CreditAdReward", other)) == "DAILY_LIMIT"
    assert await reason_of(backend(room, "CreditAdReward", other)) == "DAILY_LIMIT"


async def test_twenty_presentations_of_one_receipt_at_once_credit_it_once(room, amal):
    """L3."""
    bought = pb.CreditPurchaseRequest(provider="store", receipt_id=new_id(), player=amal, amount=700)

    answers = await asyncio.gather(*(backend(room, "CreditPurchase", bought) for _ in range(20)))

    assert sorted(answer.result for answer in answers) == ["created"] + ["exists"] * 19
    assert await room.balance(amal) == GRANT + 700


async def test_promotions_reach_the_house_and_players_up_to_their_limit(room, amal):
    def issue(amount: int, **to) -> pb.IssueRequest:
        return pb.IssueRequest(transfer_id=new_id(), amount=amount, reason="a feast", purpose="promotion", **to)

    before = (await account(room, "issuance", "promotion")).available
    assert (await operator(room, "Issue", issue(600, is_to_house=True))).account.kind == "house"
    assert (await operator(room, "Issue", issue(300, player=amal))).account.balance == GRANT + 300

    assert before - (await account(room, "issuance", "promotion")).available == 900
    assert await reason_of(operator(room, "Issue", issue(101, player=amal))) == "ISSUANCE_LIMIT"


# Freezing and taking back


async def test_a_frozen_account_keeps_its_hands_off_and_is_set_free(room, amal):
    def freeze(kind: str, **fields):
        request = {"request_id": new_id(), "player": amal, "reason": "chip dumping", "case_id": "C-7", **fields}
        return operator(room, f"{kind}Account", getattr(pb, f"{kind}AccountRequest")(**request))

    assert (await freeze("Freeze")).account.is_frozen
    asked = pb.TransferRequest(movement=entry(amal, new_id(), 5))
    table, sitting = await room.new_table(), new_id()

    assert await reason_of(service(room, "Transfer", asked)) == "ACCOUNT_FROZEN"
    assert await reason_of(service(room, "PlaceHold", pb.PlaceHoldRequest(movement=asked.movement))) == (
        "ID_ALREADY_FAILED"
    )
    assert await reason_of(room.fund(table, sitting, amal, 50)) == "ACCOUNT_FROZEN"
    assert await reason_of(room.call("TopUp", pb.TopUpRequest(transfer_id=new_id()), Role.PLAYER, amal)) == (
        "ACCOUNT_FROZEN"
    )
    assert not (await freeze("Unfreeze")).account.is_frozen
    assert await reason_of(service(room, "Transfer", asked)) == "ID_ALREADY_FAILED"
    assert await room.fund(table, new_id(), amal, 50) == "created"


async def test_a_frozen_players_hand_is_settled_and_the_stack_goes_home(room, amal, dina):
    """Settlement never fails because somebody was frozen."""
    table = await room.new_table()
    seats = [await room.sit(table, number, who, 1_000) for number, who in enumerate([amal, dina])]
    freeze = {"request_id": new_id(), "player": amal, "reason": "r", "case_id": "C-8"}
    await operator(room, "FreezeAccount", pb.FreezeAccountRequest(**freeze))
    await table.play()
    stack = seats[0].stack
    await table.leave(seats[0])
    await room.caught_up()

    assert await room.balance(amal) == GRANT - 1_000 + stack
    assert list((await room.totals()).quarantined_tables) == []


async def test_a_transfer_is_taken_back_once_by_an_operator_with_reason_and_case(room, amal):
    prize = pb.IssueRequest(transfer_id=new_id(), player=amal, amount=90, reason="typed one 0 too many")
    await operator(room, "Issue", prize)
    back = pb.ReverseTransferRequest(transfer_id=new_id(), reverses=prize.transfer_id, reason="mistaken", case_id="C-9")

    first = await operator(room, "ReverseTransfer", back)
    again = await operator(room, "ReverseTransfer", back)

    assert (first.result, again.result, first.transfer.reverses) == ("created", "exists", prize.transfer_id)
    assert first.transfer.cause == "operator/ops: mistaken (case C-9)"
    back.transfer_id = new_id()
    assert await reason_of(operator(room, "ReverseTransfer", back)) == "ALREADY_REVERSED"
    assert await room.balance(amal) == GRANT
    lines = (await room.call("ListEntries", pb.ListEntriesRequest(), Role.PLAYER, amal)).entries
    assert (lines[0].code, lines[0].reverses, lines[0].other_account_id) == (
        "reversal",
        prize.transfer_id,
        (await account(room, "issuance", "operator")).account_id,
    )


async def test_a_buy_in_and_a_hand_are_not_taken_back(room, amal, dina):
    table = await room.new_table()
    for number, who in enumerate([amal, dina]):
        await room.sit(table, number, who, 1_000)
    await table.play()
    await room.caught_up()
    page = await room.call("ListEntries", pb.ListEntriesRequest(), Role.PLAYER, amal)
    escrow = pb.ListEntriesRequest(name=name("escrow", table.seats[0].sitting))
    hand = (await operator(room, "ListEntries", escrow)).entries

    for line in (page.entries[0], *hand):
        back = pb.ReverseTransferRequest(transfer_id=new_id(), reverses=line.transfer_id, reason="r", case_id="c")
        assert await reason_of(operator(room, "ReverseTransfer", back)) == "NOT_REVERSIBLE"
    assert room.escrows(await room.totals())[table.seats[0].sitting] == table.seats[0].stack


# Reading


async def test_staff_name_any_account_and_others_only_their_own(room, amal):
    for role in (Role.OPERATOR, Role.AUDITOR):
        seen = await room.call("GetAccount", pb.GetAccountRequest(name=name("player", amal)), role, "staff")
        assert seen.account.owner == amal
        assert (await room.call("ListEntries", pb.ListEntriesRequest(name=name("bots")), role, "staff")) is not None
    for role in (Role.PLAYER, Role.BACKEND):
        request = pb.GetAccountRequest(name=name("player", amal))
        assert await reason_of(room.call("GetAccount", request, role, "dina")) == "ACCOUNT_NAME_NOT_ALLOWED"
    both = pb.GetAccountRequest(name=name("player", amal), on_behalf_of=amal)
    assert await reason_of(operator(room, "GetAccount", both)) == "FIELD_INVALID"


async def test_the_balance_at_a_moment_is_what_the_entries_say(room, amal):
    for amount in (5, 6, 7):
        await operator(room, "Issue", pb.IssueRequest(transfer_id=new_id(), player=amal, amount=amount, reason="r"))
    lines = (await room.call("ListEntries", pb.ListEntriesRequest(), Role.PLAYER, amal)).entries

    for at_ms in {at for line in lines for at in (line.posted_at_ms - 1, line.posted_at_ms, line.posted_at_ms + 1)}:
        then = await room.call("GetBalanceAt", pb.GetBalanceAtRequest(at_ms=at_ms), Role.PLAYER, amal)
        last = next((line for line in lines if line.posted_at_ms <= at_ms), pb.Entry())
        assert (then.balance, then.version) == (last.balance, last.version)
    assert await reason_of(room.call("GetBalanceAt", pb.GetBalanceAtRequest(at_ms=5), Role.PLAYER, "nobody")) == (
        "ACCOUNT_NOT_FOUND"
    )


async def test_a_transfer_that_is_not_there_is_not_found(room):
    assert await reason_of(operator(room, "GetTransfer", pb.GetTransferRequest(transfer_id=new_id()))) == (
        "TRANSFER_NOT_FOUND"
    )


async def test_a_player_watches_its_own_balance(room, amal, dina):
    token = [("authorization", f"Bearer {room.key.mint(amal, Role.PLAYER, 'wallet')}")]
    stub = WalletServiceStub(room.channel)
    call = stub.WatchBalance(pb.WatchBalanceRequest(), metadata=token)
    first = await call.read()
    await operator(room, "Issue", pb.IssueRequest(transfer_id=new_id(), player=amal, amount=5, reason="r"))
    async with asyncio.timeout(10):
        while not (told := await call.read()).HasField("account"):
            continue
    call.cancel()
    foreign = stub.WatchBalance(pb.WatchBalanceRequest(on_behalf_of=dina), metadata=token)

    assert (first.account.balance, told.account.balance) == (GRANT, GRANT + 5)
    assert told.server_time_ms > 0
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await foreign.read()
    assert refused(caught.value).reason == "ON_BEHALF_OF_NOT_ALLOWED"
