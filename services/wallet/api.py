"""The wallet's methods: who may mean what, which request to the ledger that is, and what its answer is called."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX
from diwan.chassis.calls import Call
from diwan.chassis.database import Connection, Database
from diwan.chassis.store import Overloaded, UnknownOutcome
from diwan.core.decider import Rejected
from diwan.core.ledger.accounts import (
    AMOUNT_MAX,
    BOTS,
    NAMESPACE,
    OPERATOR,
    STARTING_GRANT,
    escrow_account,
    named_id,
    player_account,
)
from diwan.core.ledger.books import Account, Transfer
from diwan.core.ledger.requests import LinkedSet, Result
from services.wallet.books import Done, Remembered
from services.wallet.ledger import DATABASE_TROUBLE, Ledger, Unavailable, is_own_fault
from services.wallet.projections import (
    ACCOUNT_KINDS,
    StatementLine,
    Wanted,
    account_in,
    accounts_in,
    entries_in,
    totals_in,
)
from services.wallet.reconcile.reconciler import Reconciler
from services.wallet.reconcile.telling import reconcile_response

REASON_CHARACTERS_MAX: Final = 500
CODES: Final = frozenset({"buy_in", "top_up"})

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}").fullmatch


class WalletServicer:
    """Answers for ``WalletService``. ``consumer`` is the name under which the table feed is followed."""

    def __init__(
        self, ledger: Ledger, database: Database, reconciler: Reconciler, *, starting_grant: int, consumer: str
    ) -> None:
        self._ledger = ledger
        self._database = database
        self._reconciler = reconciler
        self._starting_grant = starting_grant
        self._consumer = consumer

    async def OpenAccount(self, request: pb.OpenAccountRequest, call: Call) -> pb.OpenAccountResponse:
        """Open a player's account with the starting grant; the same request gets the same answer for ever."""
        account = player_account(call.caller.acting_player(request.on_behalf_of))
        if not _UUID4(request.request_id):
            raise Rejected("REQUEST_ID_INVALID")
        caller = f"{call.caller.role}/{call.caller.subject}"
        command_id = named_id(NAMESPACE, f"request/{caller}/{request.request_id}")
        remembered = Remembered(command_id, caller, call.request_hash(request))
        grant = Transfer(
            named_id(account.account_id, "starting_grant"),
            STARTING_GRANT.account_id,
            account.account_id,
            self._starting_grant,
            "starting_grant",
            f"account/{account.account_id}",
        )
        transfers = (grant,) if self._starting_grant else ()
        done = await self._asked(LinkedSet(transfers, opens=(account,), is_opening=True), remembered)
        return pb.OpenAccountResponse(
            account=_account(done.accounts[account.account_id]), existed=not done.outcome.has_opened
        )

    async def GetAccount(self, request: pb.GetAccountRequest, call: Call) -> pb.GetAccountResponse:
        """Return a player's account as it stands."""
        account_id = player_account(call.caller.acting_player(request.on_behalf_of)).account_id
        account = await self._read(lambda c: account_in(c, account_id))
        if account is None:
            raise Rejected("ACCOUNT_NOT_FOUND")
        return pb.GetAccountResponse(account=_account(account))

    async def ListEntries(self, request: pb.ListEntriesRequest, call: Call) -> pb.ListEntriesResponse:
        """Return a page of a player's statement, newest first."""
        account_id = player_account(call.caller.acting_player(request.on_behalf_of)).account_id
        page = await self._read(lambda c: entries_in(c, account_id, request.page_size, request.page_token))
        if not page.lines and await self._read(lambda c: account_in(c, account_id)) is None:
            raise Rejected("ACCOUNT_NOT_FOUND")
        return pb.ListEntriesResponse(entries=map(_entry, page.lines), next_page_token=page.next_token)

    async def FundSeat(self, request: pb.FundSeatRequest, _call: Call) -> pb.FundSeatResponse:
        """Move a buy-in or a top-up into a sitting's escrow, once by its id."""
        for field in ("transfer_id", "sitting", "table_id"):
            if not _UUID(getattr(request, field)):
                raise Rejected("ID_INVALID", field=field)
        if request.code not in CODES:
            raise Rejected("FIELD_INVALID", field="code", why="buy_in or top_up")
        is_buy_in = request.code == "buy_in"
        if is_buy_in and request.sitting != request.transfer_id:
            raise Rejected("FIELD_INVALID", field="sitting", why="a sitting has the id of its buy-in")
        source = BOTS if request.is_bot else player_account(_player(request.player))
        escrow = escrow_account(request.sitting)
        transfer = Transfer(
            request.transfer_id,
            source.account_id,
            escrow.account_id,
            _amount(request.amount),
            request.code,
            f"table/{request.table_id}",
        )
        linked = (
            LinkedSet((transfer,), opens=(escrow,)) if is_buy_in else LinkedSet((transfer,), tops_up=request.sitting)
        )
        return pb.FundSeatResponse(result=_posted(await self._asked(linked)))

    async def Issue(self, request: pb.IssueRequest, call: Call) -> pb.IssueResponse:
        """Issue chips to a player, with an operator's name and reason kept for ever."""
        if not _UUID4(request.transfer_id):
            raise Rejected("ID_INVALID", field="transfer_id")
        reason = request.reason.strip()
        if not reason:
            raise Rejected("REASON_REQUIRED")
        if len(reason) > REASON_CHARACTERS_MAX or not reason.isprintable():
            raise Rejected("FIELD_INVALID", field="reason", why=f"at most {REASON_CHARACTERS_MAX} printable characters")
        account_id = player_account(_player(request.player)).account_id
        cause = f"operator/{call.caller.subject}: {reason}"
        transfer = Transfer(
            request.transfer_id, OPERATOR.account_id, account_id, _amount(request.amount), "issue", cause
        )
        done = await self._asked(LinkedSet((transfer,)))
        return pb.IssueResponse(result=_posted(done), account=_account(done.accounts[account_id]))

    async def GetTotals(self, _request: pb.GetTotalsRequest, _call: Call) -> pb.GetTotalsResponse:
        """Return the sums that must hold, all of one moment."""
        totals = await self._read(lambda c: totals_in(c, self._consumer))
        return pb.GetTotalsResponse(
            totals=[pb.Total(kind=t.kind, accounts=t.accounts, balance=t.balance) for t in totals.kinds],
            sum=totals.sum,
            sittings=[
                pb.SittingBalance(sitting=s.sitting, table_id=s.table_id, balance=s.balance) for s in totals.sittings
            ],
            table_feed_cursor=totals.cursor,
            quarantined_tables=totals.quarantined,
        )

    async def ListAccounts(self, request: pb.ListAccountsRequest, _call: Call) -> pb.ListAccountsResponse:
        """Return a page of accounts by id, of one kind or of all."""
        if request.kind and request.kind not in ACCOUNT_KINDS:
            raise Rejected("FIELD_INVALID", field="kind", why=f"one of {', '.join(ACCOUNT_KINDS)}")
        wanted = Wanted(request.kind, with_closed=request.with_closed)
        page = await self._read(lambda c: accounts_in(c, wanted, request.page_size, request.page_token))
        return pb.ListAccountsResponse(accounts=map(_account, page.accounts), next_page_token=page.next_token)

    async def Reconcile(self, _request: pb.ReconcileRequest, _call: Call) -> pb.ReconcileResponse:
        """Add everything up now, in one snapshot."""
        return reconcile_response(await self._reconciler.on_demand())

    async def _asked(self, request: LinkedSet, remembered: Remembered | None = None) -> Done:
        try:
            done = await self._ledger.ask(request, remembered)
        except Overloaded:
            raise Rejected("SERVER_BUSY") from None
        except Unavailable:
            raise Rejected("SERVICE_UNAVAILABLE") from None
        except UnknownOutcome:
            raise Rejected("UNKNOWN_OUTCOME") from None
        if done.is_conflict:
            raise Rejected("REQUEST_ID_CONFLICT")
        for verdict in done.outcome.verdicts:
            if not verdict.result.is_posted:
                first = {"first_reason": verdict.first_reason} if verdict.first_reason else {}
                raise Rejected(verdict.result.name, transfer_id=verdict.transfer_id, **first)
        return done

    async def _read[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await self._database.run(work)
        except DATABASE_TROUBLE as error:
            if is_own_fault(error):
                raise
            raise Rejected("SERVICE_UNAVAILABLE") from None


def _posted(done: Done) -> str:
    (verdict,) = done.outcome.verdicts
    return verdict.result.value


def _player(player: str) -> str:
    if not 0 < len(player) <= PLAYER_ID_CHARACTERS_MAX or not player.isprintable():
        raise Rejected("FIELD_INVALID", field="player", why="not a player id")
    return player


def _amount(amount: int) -> int:
    if not 1 <= amount <= AMOUNT_MAX:
        raise Rejected("AMOUNT_INVALID", field="amount")
    return amount


def _account(account: Account) -> pb.Account:
    return pb.Account(
        account_id=account.account_id,
        kind=account.kind,
        owner=account.owner,
        balance=account.balance,
        version=account.version,
        currency=account.currency,
        is_closed=account.is_closed,
    )


def _entry(line: StatementLine) -> pb.Entry:
    return pb.Entry(
        version=line.version,
        transfer_id=line.transfer_id,
        amount=line.amount,
        previous_balance=line.previous_balance,
        balance=line.balance,
        code=line.code,
        cause=line.cause,
        posted_at_ms=line.posted_at_ms,
    )


REASONS: Final = frozenset(result.name for result in Result if not result.is_posted)
"""Every reason with which a transfer is refused."""
