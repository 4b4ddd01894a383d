"""The wallet's methods: who may mean what, which request to the ledger that is, and what its answer is called."""

import time
from collections.abc import AsyncGenerator
from typing import Final

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import Caller, Role
from diwan.chassis.calls import Call
from diwan.chassis.pace import Pace
from diwan.core.decider import Rejected
from diwan.core.ledger import books
from diwan.core.ledger.accounts import BOTS, HOUSE, escrow_account, player_account
from diwan.core.ledger.events import AccountOpened
from diwan.core.ledger.policies import Policies, receipt_named
from diwan.core.ledger.requests import (
    ConsentChange,
    FreezeChange,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    LinkedSet,
    Refund,
    Result,
    Reversal,
)
from services.wallet import fields
from services.wallet.asking import Asking, remembered
from services.wallet.books import Done
from services.wallet.messages import account_message, entry_message, hold_message, transfer_message, write_account
from services.wallet.projections import (
    ACCOUNT_KINDS,
    PostedTransfer,
    Wanted,
    account_in,
    accounts_in,
    balance_at_in,
    entries_in,
    hold_in,
    issued_today_in,
    totals_in,
    transfer_in,
)
from services.wallet.reconcile.reconciler import Reconciler
from services.wallet.reconcile.telling import reconcile_response
from services.wallet.watching import Balances

CODES: Final = frozenset({"buy_in", "top_up"})
MOVEMENTS_MAX: Final = 100
HOLD_MS: Final = 10 * 60 * 1000
HOLD_MS_MAX: Final = 30 * 24 * 3600 * 1000
AT_MS_MAX: Final = 2**53 - 1


class WalletServicer:
    """Answers for ``WalletService``. ``consumer`` is the name under which the table feed is followed."""

    def __init__(
        self, asking: Asking, reconciler: Reconciler, balances: Balances, policies: Policies, *, consumer: str
    ) -> None:
        self._asking = asking
        self._reconciler = reconciler
        self._balances = balances
        self._policies = policies
        self._consumer = consumer
        self._pace = Pace()

    # Accounts

    async def OpenAccount(self, request: pb.OpenAccountRequest, call: Call) -> pb.OpenAccountResponse:
        """Open a player's account with the starting grant; the same request gets the same answer for ever."""
        player = call.caller.acting_player(request.on_behalf_of)
        account = player_account(player)
        again = remembered(call, request, fields.request_id(request.request_id))
        self._pace.take(player)
        done = await self._asking.ask(self._policies.opening(account), again)
        return pb.OpenAccountResponse(
            account=account_message(done.accounts[account.account_id]), existed=not done.outcome.has_opened
        )

    async def GetAccount(self, request: pb.GetAccountRequest, call: Call) -> pb.GetAccountResponse:
        """Return an account as it stands."""
        account_id = _whose(request, call.caller)
        account = await self._account(account_id)
        issued = await self._asking.read(lambda c: issued_today_in(c, [account]))
        return pb.GetAccountResponse(account=self._told(account, issued.get(account_id, 0)))

    async def ListAccounts(self, request: pb.ListAccountsRequest, _call: Call) -> pb.ListAccountsResponse:
        """Return a page of accounts by id, of one kind or of all."""
        if request.kind and request.kind not in ACCOUNT_KINDS:
            raise Rejected("FIELD_INVALID", field="kind", why=f"one of {', '.join(ACCOUNT_KINDS)}")
        wanted = Wanted(request.kind, with_closed=request.with_closed)
        page = await self._asking.read(lambda c: accounts_in(c, wanted, request.page_size, request.page_token))
        issued = await self._asking.read(lambda c: issued_today_in(c, page.accounts))
        told = [self._told(account, issued.get(account.account_id, 0)) for account in page.accounts]
        return pb.ListAccountsResponse(accounts=told, next_page_token=page.next_token)

    async def ListEntries(self, request: pb.ListEntriesRequest, call: Call) -> pb.ListEntriesResponse:
        """Return a page of an account's statement, newest first."""
        account_id = _whose(request, call.caller)
        page = await self._asking.read(lambda c: entries_in(c, account_id, request.page_size, request.page_token))
        if not page.lines:
            await self._account(account_id)
        return pb.ListEntriesResponse(entries=map(entry_message, page.lines), next_page_token=page.next_token)

    async def GetBalanceAt(self, request: pb.GetBalanceAtRequest, call: Call) -> pb.GetBalanceAtResponse:
        """Return what an account held at a moment."""
        account_id = _whose(request, call.caller)
        if not 0 <= request.at_ms <= AT_MS_MAX:
            raise Rejected("FIELD_INVALID", field="at_ms", why=f"0 to {AT_MS_MAX}")
        found = await self._asking.read(lambda c: balance_at_in(c, account_id, request.at_ms))
        if found is None:
            raise Rejected("ACCOUNT_NOT_FOUND")
        return pb.GetBalanceAtResponse(balance=found.balance, version=found.version)

    async def WatchBalance(
        self, request: pb.WatchBalanceRequest, call: Call
    ) -> AsyncGenerator[pb.WatchBalanceResponse, None]:
        """Tell a player's account at once and after every change, until the caller has enough."""
        account_id = player_account(call.caller.acting_player(request.on_behalf_of)).account_id
        async for account in self._balances.watch(account_id):
            now_ms = time.time_ns() // 1_000_000
            yield pb.WatchBalanceResponse(
                account=None if account is None else account_message(account), server_time_ms=now_ms
            )

    async def FreezeAccount(self, request: pb.FreezeAccountRequest, call: Call) -> pb.FreezeAccountResponse:
        """Freeze a player's account: it gives nothing, and gets nothing but what is due to it."""
        return pb.FreezeAccountResponse(account=await self._frozen(request, call, is_frozen=True))

    async def UnfreezeAccount(self, request: pb.UnfreezeAccountRequest, call: Call) -> pb.UnfreezeAccountResponse:
        """Set a frozen account free."""
        return pb.UnfreezeAccountResponse(account=await self._frozen(request, call, is_frozen=False))

    # Movements

    async def FundSeat(self, request: pb.FundSeatRequest, _call: Call) -> pb.FundSeatResponse:
        """Move a buy-in or a top-up into a sitting's escrow, once by its id."""
        for field in ("transfer_id", "sitting", "table_id"):
            fields.any_id(getattr(request, field), field)
        if request.code not in CODES:
            raise Rejected("FIELD_INVALID", field="code", why="buy_in or top_up")
        is_buy_in = request.code == "buy_in"
        if is_buy_in and request.sitting != request.transfer_id:
            raise Rejected("FIELD_INVALID", field="sitting", why="a sitting has the id of its buy-in")
        source = BOTS if request.is_bot else player_account(fields.player(request.player))
        escrow = escrow_account(request.sitting)
        transfer = books.Transfer(
            request.transfer_id,
            source.account_id,
            escrow.account_id,
            fields.amount(request.amount),
            request.code,
            f"table/{request.table_id}",
        )
        linked = (
            LinkedSet((transfer,), opens=(escrow,)) if is_buy_in else LinkedSet((transfer,), tops_up=request.sitting)
        )
        return pb.FundSeatResponse(result=_result(await self._asking.ask(linked)))

    async def Transfer(self, request: pb.TransferRequest, call: Call) -> pb.TransferResponse:
        """Move chips between two accounts, as the table of moves lets the caller."""
        transfer, opens = self._movement(request.movement, call.caller)
        done = await self._asking.ask(self._policies.moving((transfer,), opens))
        response = pb.TransferResponse(result=_result(done))
        write_account(response.debit, done.accounts[transfer.debit_account])
        write_account(response.credit, done.accounts[transfer.credit_account])
        return response

    async def TransferLinked(self, request: pb.TransferLinkedRequest, call: Call) -> pb.TransferLinkedResponse:
        """Move chips by several transfers, all or none."""
        if not 1 <= len(request.movements) <= MOVEMENTS_MAX:
            raise Rejected("FIELD_INVALID", field="movements", why=f"1 to {MOVEMENTS_MAX}")
        asked = [self._movement(movement, call.caller) for movement in request.movements]
        transfers = tuple([transfer for transfer, _ in asked])
        opens = tuple([account for _, accounts in asked for account in accounts])
        done = await self._asking.ask(self._policies.moving(transfers, opens))
        return pb.TransferLinkedResponse(results=[verdict.result.value for verdict in done.outcome.verdicts])

    async def ReverseTransfer(self, request: pb.ReverseTransferRequest, call: Call) -> pb.ReverseTransferResponse:
        """Take a transfer back by a new one that names it."""
        key, old = fields.random_id(request.transfer_id), fields.any_id(request.reverses, "reverses")
        cause = fields.reason(request.reason, call.caller, request.case_id)
        done = await self._asking.ask(Reversal(key, old, cause))
        return pb.ReverseTransferResponse(result=_result(done), transfer=transfer_message(await self._posted(key)))

    async def GetTransfer(self, request: pb.GetTransferRequest, _call: Call) -> pb.GetTransferResponse:
        """Return a transfer by its id."""
        key = fields.any_id(request.transfer_id, "transfer_id")
        return pb.GetTransferResponse(transfer=transfer_message(await self._posted(key)))

    # Holds

    async def PlaceHold(self, request: pb.PlaceHoldRequest, call: Call) -> pb.PlaceHoldResponse:
        """Set chips aside for a movement to come."""
        if not 0 <= request.lasts_ms <= HOLD_MS_MAX:
            raise Rejected("FIELD_INVALID", field="lasts_ms", why=f"0 to {HOLD_MS_MAX}")
        # What is limited by the day is counted when it is posted, and then nobody asks about limits any more.
        transfer, opens = fields.movement(request.movement, call.caller, has_gifts=False)
        done = await self._asking.ask(HoldPlacement(transfer, request.lasts_ms or HOLD_MS, opens))
        return pb.PlaceHoldResponse(
            result=_result(done),
            debit=account_message(done.accounts[transfer.debit_account]),
            expires_at_ms=done.outcome.expires_at_ms,
        )

    async def PostHold(self, request: pb.PostHoldRequest, call: Call) -> pb.PostHoldResponse:
        """Turn a hold, or a part of it, into a transfer."""
        key, hold = fields.any_id(request.transfer_id, "transfer_id"), fields.any_id(request.hold_id, "hold_id")
        chips = fields.amount(request.amount) if request.amount else 0
        done = await self._asking.ask(HoldPosting(key, hold, chips, fields.cause(request.cause, call.caller)))
        return pb.PostHoldResponse(result=_result(done), amount=done.outcome.verdicts[0].amount)

    async def VoidHold(self, request: pb.VoidHoldRequest, call: Call) -> pb.VoidHoldResponse:
        """Give a hold up."""
        again = remembered(call, request, fields.request_id(request.request_id))
        hold, cause = fields.any_id(request.hold_id, "hold_id"), fields.cause(request.cause, call.caller)
        done = await self._asking.ask(HoldVoiding(again.command_id, hold, cause), again)
        return pb.VoidHoldResponse(result=_result(done))

    async def GetHold(self, request: pb.GetHoldRequest, _call: Call) -> pb.GetHoldResponse:
        """Return a hold by its id."""
        key = fields.any_id(request.hold_id, "hold_id")
        hold = await self._asking.read(lambda c: hold_in(c, key))
        if hold is None:
            raise Rejected("HOLD_NOT_FOUND")
        return pb.GetHoldResponse(hold=hold_message(hold))

    # What the house gives

    async def Issue(self, request: pb.IssueRequest, call: Call) -> pb.IssueResponse:
        """Issue chips to a player or the house, with an operator's name and reason kept for ever."""
        key = fields.random_id(request.transfer_id)
        cause = fields.reason(request.reason, call.caller)
        purpose = request.purpose or "operator"
        if purpose not in {"operator", "promotion"}:
            raise Rejected("FIELD_INVALID", field="purpose", why="operator or promotion")
        if request.is_to_house and request.player:
            raise Rejected("FIELD_INVALID", field="player", why="empty for the house")
        to = HOUSE if request.is_to_house else player_account(fields.player(request.player))
        done = await self._asking.ask(self._policies.issue(key, purpose, to, fields.amount(request.amount), cause))
        return pb.IssueResponse(result=_result(done), account=account_message(done.accounts[to.account_id]))

    async def TopUp(self, request: pb.TopUpRequest, call: Call) -> pb.TopUpResponse:
        """Give a player the free top-up, as the policy has it."""
        player = call.caller.acting_player(request.on_behalf_of)
        key = fields.random_id(request.transfer_id)
        self._pace.take(player)
        grant = self._policies.free_top_up(key, player, is_automatic=request.is_automatic)
        done = await self._asking.ask(grant, below=self._policies.top_up.below)
        account = done.accounts[grant.transfer.credit_account]
        return pb.TopUpResponse(result=_result(done), account=account_message(account), amount=_amount(done))

    async def SetTopUpConsent(self, request: pb.SetTopUpConsentRequest, call: Call) -> pb.SetTopUpConsentResponse:
        """Record a player's standing consent to automatic top-ups, or that it is withdrawn."""
        player = call.caller.acting_player(request.on_behalf_of)
        again = remembered(call, request, fields.request_id(request.request_id))
        self._pace.take(player)
        account_id = player_account(player).account_id
        change = ConsentChange(
            again.command_id, account_id, is_given=request.is_given, cause=f"{call.caller.role}/{call.caller.subject}"
        )
        done = await self._asking.ask(change, again)
        return pb.SetTopUpConsentResponse(account=account_message(done.accounts[account_id]))

    async def CreditPurchase(self, request: pb.CreditPurchaseRequest, call: Call) -> pb.CreditPurchaseResponse:
        """Credit a purchase that its provider has confirmed, once by its receipt."""
        provider, receipt = fields.provider(request.provider), fields.receipt(request.receipt_id)
        player = call.caller.acting_player(fields.player(request.player))
        grant = self._policies.bought(provider, receipt, player, fields.amount(request.amount))
        done = await self._asking.ask(grant)
        account = account_message(done.accounts[grant.transfer.credit_account])
        return pb.CreditPurchaseResponse(result=_result(done), account=account, transfer_id=grant.transfer.transfer_id)

    async def RefundPurchase(self, request: pb.RefundPurchaseRequest, call: Call) -> pb.RefundPurchaseResponse:
        """Take a refunded purchase back, as far as its chips are still there."""
        provider, receipt = fields.provider(request.provider), fields.receipt(request.receipt_id)
        cause = fields.reason(request.reason, call.caller)
        purchase_id = receipt_named("purchase", provider, receipt)
        # Another back end's receipt is nobody's business here.
        players = call.caller.players if call.caller.role is Role.BACKEND else ""
        done = await self._asking.ask(Refund(purchase_id, cause, players))
        answer = pb.RefundPurchaseResponse(result=_result(done), amount=_amount(done), shortfall=done.outcome.shortfall)
        purchase = await self._asking.read(lambda c: transfer_in(c, purchase_id))
        if purchase is not None:
            answer.account.CopyFrom(account_message(await self._account(purchase.credit_account)))
        return answer

    async def CreditAdReward(self, request: pb.CreditAdRewardRequest, call: Call) -> pb.CreditAdRewardResponse:
        """Credit the reward for an advertisement that its provider has confirmed, once by its receipt."""
        provider, receipt = fields.provider(request.provider), fields.receipt(request.receipt_id)
        player = call.caller.acting_player(fields.player(request.player))
        grant = self._policies.watched(provider, receipt, player)
        done = await self._asking.ask(grant)
        account = account_message(done.accounts[grant.transfer.credit_account])
        return pb.CreditAdRewardResponse(result=_result(done), account=account, amount=_amount(done))

    # What must add up

    async def GetTotals(self, _request: pb.GetTotalsRequest, _call: Call) -> pb.GetTotalsResponse:
        """Return the sums that must hold, all of one moment."""
        totals = await self._asking.read(lambda c: totals_in(c, self._consumer))
        return pb.GetTotalsResponse(
            totals=[pb.Total(kind=t.kind, accounts=t.accounts, balance=t.balance) for t in totals.kinds],
            sum=totals.sum,
            sittings=[
                pb.SittingBalance(sitting=s.sitting, table_id=s.table_id, balance=s.balance) for s in totals.sittings
            ],
            table_feed_cursor=totals.cursor,
            quarantined_tables=totals.quarantined,
        )

    async def Reconcile(self, _request: pb.ReconcileRequest, _call: Call) -> pb.ReconcileResponse:
        """Add everything up now, in one snapshot."""
        return reconcile_response(await self._reconciler.on_demand())

    # Helpers

    def _movement(self, asked: pb.Movement, caller: Caller) -> tuple[books.Transfer, tuple[AccountOpened, ...]]:
        return fields.movement(asked, caller, has_gifts=self._policies.gift_a_day > 0)

    async def _frozen(
        self, request: pb.FreezeAccountRequest | pb.UnfreezeAccountRequest, call: Call, *, is_frozen: bool
    ) -> pb.Account:
        again = remembered(call, request, fields.request_id(request.request_id))
        account_id = player_account(fields.player(request.player)).account_id
        cause = fields.reason(request.reason, call.caller, request.case_id)
        change = FreezeChange(again.command_id, account_id, is_frozen=is_frozen, cause=cause)
        done = await self._asking.ask(change, again)
        return account_message(done.accounts[account_id])

    async def _account(self, account_id: str) -> books.Account:
        account = await self._asking.read(lambda c: account_in(c, account_id))
        if account is None:
            raise Rejected("ACCOUNT_NOT_FOUND")
        return account

    async def _posted(self, transfer_id: str) -> PostedTransfer:
        posted = await self._asking.read(lambda c: transfer_in(c, transfer_id))
        if posted is None:
            raise Rejected("TRANSFER_NOT_FOUND")
        return posted

    def _told(self, account: books.Account, issued_today: int) -> pb.Account:
        return account_message(account, self._policies.issuable(account, issued_today))


def _whose(request: pb.GetAccountRequest | pb.ListEntriesRequest | pb.GetBalanceAtRequest, caller: Caller) -> str:
    """Return the account that is asked about: the caller's own, its player's, or for staff and services any by name."""
    if not request.HasField("name"):
        return player_account(caller.acting_player(request.on_behalf_of)).account_id
    if caller.role not in {Role.OPERATOR, Role.AUDITOR, Role.SERVICE}:
        raise Rejected("ACCOUNT_NAME_NOT_ALLOWED")
    if request.on_behalf_of:
        raise Rejected("FIELD_INVALID", field="name", why="excludes on_behalf_of")
    return fields.account_name(request.name, "name").account_id


def _result(done: Done) -> str:
    """Return the one result; a request that was answered before by its request id is there."""
    verdicts = done.outcome.verdicts
    return verdicts[0].result.value if verdicts else Result.EXISTS.value


def _amount(done: Done) -> int:
    return done.outcome.verdicts[0].amount
