"""The ledger: accounts, statements, transfers, corrections. All methods raise `DiwanError`.

Whatever moves chips has an id of its caller's: asked again with the same id it takes effect once, whatever became of the
answer. Where none is given one is made, which is good for the retries inside a call and no longer.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.api.wallet.v1.wallet_service_pb2_grpc import WalletServiceStub
from diwan.client.connection import Connection
from diwan.client.streams import Lasting
from diwan.client.tables import new_request_id


class AccountName(NamedTuple):
    """An account by what it is for: "player", "escrow", "issuance", "pool" or "pot" and whose, or "house" or "bots"."""

    kind: str
    owner: str = ""


class Wallet:
    """The ledger. ``player`` is for back ends and services; ``name`` is for staff and services, and names any account."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = WalletServiceStub(connection.channel)

    async def open_account(self, *, player: str = "", request_id: str | None = None) -> pb.OpenAccountResponse:
        """Open a player's account; the first time with the starting grant."""
        request = pb.OpenAccountRequest(request_id=request_id or new_request_id(), on_behalf_of=player)
        return await self._connection.unary(self._stub.OpenAccount, request)

    async def get_account(self, *, player: str = "", name: AccountName | None = None) -> pb.Account:
        """Return an account."""
        request = pb.GetAccountRequest(on_behalf_of=player, name=_name(name))
        return (await self._connection.unary(self._stub.GetAccount, request)).account

    async def entries(
        self, *, player: str = "", name: AccountName | None = None, page_size: int = 100
    ) -> AsyncIterator[pb.Entry]:
        """Iterate over an account's statement, newest first."""
        request = pb.ListEntriesRequest(on_behalf_of=player, name=_name(name), page_size=page_size)
        async for page in self._connection.pages(self._stub.ListEntries, request):
            for entry in page.entries:
                yield entry

    async def balance_at(
        self, at_ms: int, *, player: str = "", name: AccountName | None = None
    ) -> pb.GetBalanceAtResponse:
        """Return what an account held at a moment; ``at_ms`` is in milliseconds since the epoch."""
        request = pb.GetBalanceAtRequest(on_behalf_of=player, name=_name(name), at_ms=at_ms)
        return await self._connection.unary(self._stub.GetBalanceAt, request)

    def watch_balance(self, *, player: str = "") -> "Balance":
        """Follow an account: as it stands at once, and after every change."""
        return Balance(self._connection, self._stub.WatchBalance, pb.WatchBalanceRequest(on_behalf_of=player))

    async def accounts(
        self, *, kind: str = "", with_closed: bool = False, page_size: int = 500
    ) -> AsyncIterator[pb.Account]:
        """Iterate over accounts by id. For operators and auditors."""
        request = pb.ListAccountsRequest(kind=kind, with_closed=with_closed, page_size=page_size)
        async for page in self._connection.pages(self._stub.ListAccounts, request):
            for account in page.accounts:
                yield account

    async def fund_seat(self, request: pb.FundSeatRequest) -> str:
        """Put chips into a sitting's escrow; returns "created" or "exists". For the table service."""
        return (await self._connection.unary(self._stub.FundSeat, request)).result

    async def transfer(
        self,
        debit: AccountName,
        credit: AccountName,
        amount: int,
        *,
        code: str,
        cause: str,
        transfer_id: str | None = None,
    ) -> pb.TransferResponse:
        """Move chips between two accounts; ``code`` says what for, and which accounts it may join is fixed."""
        asked = movement(debit, credit, amount, code=code, cause=cause, transfer_id=transfer_id)
        return await self._connection.unary(self._stub.Transfer, pb.TransferRequest(movement=asked))

    async def transfer_linked(self, movements: Sequence[pb.Movement]) -> list[str]:
        """Move chips by several transfers (`movement`), all or none; returns "created" or "exists" for each."""
        request = pb.TransferLinkedRequest(movements=movements)
        return list((await self._connection.unary(self._stub.TransferLinked, request)).results)

    async def place_hold(self, asked: pb.Movement, *, lasts_ms: int = 0) -> pb.PlaceHoldResponse:
        """Set chips aside for a movement (`movement`), whose id names the hold; 0 ms: for 10 minutes. For services."""
        request = pb.PlaceHoldRequest(movement=asked, lasts_ms=lasts_ms)
        return await self._connection.unary(self._stub.PlaceHold, request)

    async def post_hold(
        self, hold_id: str, *, cause: str, amount: int = 0, transfer_id: str | None = None
    ) -> pb.PostHoldResponse:
        """Turn a hold, or ``amount`` chips of it, into a transfer; the rest is free again. For services."""
        request = pb.PostHoldRequest(
            transfer_id=transfer_id or new_request_id(), hold_id=hold_id, amount=amount, cause=cause
        )
        return await self._connection.unary(self._stub.PostHold, request)

    async def get_hold(self, hold_id: str) -> pb.Hold:
        """Return a hold: what it is for, and whether it is open or how it ended. For operators, auditors and services."""
        request = pb.GetHoldRequest(hold_id=hold_id)
        return (await self._connection.unary(self._stub.GetHold, request)).hold

    async def get_transfer(self, transfer_id: str) -> pb.Transfer:
        """Return a transfer. For operators, auditors and services."""
        request = pb.GetTransferRequest(transfer_id=transfer_id)
        return (await self._connection.unary(self._stub.GetTransfer, request)).transfer

    async def reverse(
        self, reverses: str, *, reason: str, case_id: str, transfer_id: str | None = None
    ) -> pb.ReverseTransferResponse:
        """Take a transfer back by a new one that names it. For operators."""
        request = pb.ReverseTransferRequest(
            transfer_id=transfer_id or new_request_id(), reverses=reverses, reason=reason, case_id=case_id
        )
        return await self._connection.unary(self._stub.ReverseTransfer, request)

    async def void_hold(self, hold_id: str, *, cause: str, request_id: str | None = None) -> str:
        """Give a hold up; returns "created" or "exists"."""
        request = pb.VoidHoldRequest(request_id=request_id or new_request_id(), hold_id=hold_id, cause=cause)
        return (await self._connection.unary(self._stub.VoidHold, request)).result

    async def issue_to_house(self, amount: int, *, reason: str, transfer_id: str | None = None) -> pb.IssueResponse:
        """Issue chips to the house, out of which guarantees and multipliers of tournaments are paid. For operators."""
        request = pb.IssueRequest(
            transfer_id=transfer_id or new_request_id(), amount=amount, reason=reason, is_to_house=True
        )
        return await self._connection.unary(self._stub.Issue, request)

    async def issue(self, player: str, amount: int, *, reason: str, transfer_id: str | None = None) -> pb.IssueResponse:
        """Issue chips to a player, for a reason that is kept for ever. For operators."""
        request = pb.IssueRequest(
            transfer_id=transfer_id or new_request_id(), player=player, amount=amount, reason=reason
        )
        return await self._connection.unary(self._stub.Issue, request)

    async def top_up(
        self, *, player: str = "", is_automatic: bool = False, transfer_id: str | None = None
    ) -> pb.TopUpResponse:
        """Ask for the free top-up, as the house's policy has it; an automatic one needs the player's consent."""
        request = pb.TopUpRequest(
            transfer_id=transfer_id or new_request_id(), on_behalf_of=player, is_automatic=is_automatic
        )
        return await self._connection.unary(self._stub.TopUp, request)

    async def set_top_up_consent(
        self, *, is_given: bool, player: str = "", request_id: str | None = None
    ) -> pb.Account:
        """Record that the player consents to automatic top-ups, or no longer does."""
        request = pb.SetTopUpConsentRequest(
            request_id=request_id or new_request_id(), on_behalf_of=player, is_given=is_given
        )
        return (await self._connection.unary(self._stub.SetTopUpConsent, request)).account

    async def credit_purchase(
        self, provider: str, receipt_id: str, player: str, amount: int
    ) -> pb.CreditPurchaseResponse:
        """Credit a purchase that its provider has confirmed, once by its receipt. For back ends."""
        request = pb.CreditPurchaseRequest(provider=provider, receipt_id=receipt_id, player=player, amount=amount)
        return await self._connection.unary(self._stub.CreditPurchase, request)

    async def refund_purchase(self, provider: str, receipt_id: str, *, reason: str) -> pb.RefundPurchaseResponse:
        """Take a purchase back that its provider has refunded. For back ends and operators."""
        request = pb.RefundPurchaseRequest(provider=provider, receipt_id=receipt_id, reason=reason)
        return await self._connection.unary(self._stub.RefundPurchase, request)

    async def credit_ad_reward(self, provider: str, receipt_id: str, player: str) -> pb.CreditAdRewardResponse:
        """Credit the reward for an advertisement that its provider has confirmed, once by its receipt. For back ends."""
        request = pb.CreditAdRewardRequest(provider=provider, receipt_id=receipt_id, player=player)
        return await self._connection.unary(self._stub.CreditAdReward, request)

    async def freeze(self, player: str, *, reason: str, case_id: str, request_id: str | None = None) -> pb.Account:
        """Freeze a player's account. For operators."""
        request = pb.FreezeAccountRequest(
            request_id=request_id or new_request_id(), player=player, reason=reason, case_id=case_id
        )
        return (await self._connection.unary(self._stub.FreezeAccount, request)).account

    async def unfreeze(self, player: str, *, reason: str, case_id: str, request_id: str | None = None) -> pb.Account:
        """Set a frozen account free. For operators."""
        request = pb.UnfreezeAccountRequest(
            request_id=request_id or new_request_id(), player=player, reason=reason, case_id=case_id
        )
        return (await self._connection.unary(self._stub.UnfreezeAccount, request)).account

    async def get_totals(self) -> pb.GetTotalsResponse:
        """Return the sums that must hold."""
        return await self._connection.unary(self._stub.GetTotals, pb.GetTotalsRequest())

    async def reconcile(self) -> pb.ReconcileResponse:
        """Have everything added up now. RECONCILE_RUNNING: it takes longer; ask again for the result."""
        return await self._connection.unary(self._stub.Reconcile, pb.ReconcileRequest())


class Balance(Lasting):
    """An account as it changes, as one unbroken iteration, whatever becomes of connections and servers.

    Use it as ``async with wallet.watch_balance() as balance: async for account in balance``. Changes that follow each
    other closely come as one; behind a lost line the account is told only where it differs from what was told last.
    """

    _told: pb.Account | None = None

    async def __anext__(self) -> pb.Account:
        """Return the account when it has changed; raises `DiwanError` where the stream cannot be had again."""
        while True:
            message: pb.WatchBalanceResponse | None = await self._read()
            if message is None or not message.HasField("account"):
                continue  # It has no end of its own; a message without the account says that the line works.
            if message.account != self._told:
                self._told = message.account
                return message.account


def movement(
    debit: AccountName, credit: AccountName, amount: int, *, code: str, cause: str, transfer_id: str | None = None
) -> pb.Movement:
    """Return a movement of chips; ``code`` says what for, and which accounts it may join is fixed."""
    return pb.Movement(
        transfer_id=transfer_id or new_request_id(),
        debit=_name(debit),
        credit=_name(credit),
        amount=amount,
        code=code,
        cause=cause,
    )


def _name(name: AccountName | None) -> pb.AccountName | None:
    return None if name is None else pb.AccountName(kind=name.kind, owner=name.owner)
