"""The other services: wallet, audit, bots, and every service's feed. All methods raise `DiwanError`."""

from collections.abc import AsyncIterator

from diwan.api.audit.v1 import audit_service_pb2
from diwan.api.audit.v1.audit_service_pb2_grpc import AuditServiceStub
from diwan.api.bots.v1 import bots_service_pb2
from diwan.api.bots.v1.bots_service_pb2_grpc import BotsServiceStub
from diwan.api.feed.v1 import feed_service_pb2
from diwan.api.feed.v1.feed_service_pb2_grpc import FeedServiceStub
from diwan.api.wallet.v1 import wallet_service_pb2
from diwan.api.wallet.v1.wallet_service_pb2_grpc import WalletServiceStub
from diwan.client.connection import Connection
from diwan.client.tables import new_request_id


class Wallet:
    """The ledger. ``player`` is for callers who are not the player."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = WalletServiceStub(connection.channel)

    async def open_account(
        self, *, player: str = "", request_id: str | None = None
    ) -> wallet_service_pb2.OpenAccountResponse:
        """Open a player's account; the first time with the starting grant."""
        request = wallet_service_pb2.OpenAccountRequest(request_id=request_id or new_request_id(), on_behalf_of=player)
        return await self._connection.unary(self._stub.OpenAccount, request)

    async def get_account(self, *, player: str = "") -> wallet_service_pb2.Account:
        """Return a player's account."""
        request = wallet_service_pb2.GetAccountRequest(on_behalf_of=player)
        return (await self._connection.unary(self._stub.GetAccount, request)).account

    async def entries(self, *, player: str = "", page_size: int = 100) -> AsyncIterator[wallet_service_pb2.Entry]:
        """Iterate over a player's statement, newest first."""
        request = wallet_service_pb2.ListEntriesRequest(on_behalf_of=player, page_size=page_size)
        while True:
            page = await self._connection.unary(self._stub.ListEntries, request)
            for entry in page.entries:
                yield entry
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def fund_seat(self, request: wallet_service_pb2.FundSeatRequest) -> str:
        """Put chips into a sitting's escrow; returns "created" or "exists". For the table service."""
        return (await self._connection.unary(self._stub.FundSeat, request)).result

    async def issue(
        self, player: str, amount: int, *, reason: str, transfer_id: str | None = None
    ) -> wallet_service_pb2.IssueResponse:
        """Issue chips to a player, for a reason that is kept for ever."""
        request = wallet_service_pb2.IssueRequest(
            transfer_id=transfer_id or new_request_id(), player=player, amount=amount, reason=reason
        )
        return await self._connection.unary(self._stub.Issue, request)

    async def get_totals(self) -> wallet_service_pb2.GetTotalsResponse:
        """Return the sums that must hold."""
        return await self._connection.unary(self._stub.GetTotals, wallet_service_pb2.GetTotalsRequest())

    async def accounts(
        self, *, kind: str = "", with_closed: bool = False, page_size: int = 500
    ) -> AsyncIterator[wallet_service_pb2.Account]:
        """Iterate over accounts by id. For operators and auditors."""
        request = wallet_service_pb2.ListAccountsRequest(kind=kind, with_closed=with_closed, page_size=page_size)
        while True:
            page = await self._connection.unary(self._stub.ListAccounts, request)
            for account in page.accounts:
                yield account
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def reconcile(self) -> wallet_service_pb2.ReconcileResponse:
        """Have everything added up now. RECONCILE_RUNNING: it takes longer; ask again for the result."""
        return await self._connection.unary(self._stub.Reconcile, wallet_service_pb2.ReconcileRequest())


class Audit:
    """The independent audit."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = AuditServiceStub(connection.channel)

    async def get_status(self) -> audit_service_pb2.GetStatusResponse:
        """Return how far the audit is."""
        return await self._connection.unary(self._stub.GetStatus, audit_service_pb2.GetStatusRequest())

    async def findings(self, *, page_size: int = 100) -> AsyncIterator[audit_service_pb2.Finding]:
        """Iterate over what does not hold, oldest first."""
        request = audit_service_pb2.ListFindingsRequest(page_size=page_size)
        while True:
            page = await self._connection.unary(self._stub.ListFindings, request)
            for finding in page.findings:
                yield finding
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def get_hand_verdict(self, hand_id: str) -> audit_service_pb2.GetHandVerdictResponse:
        """Return what was found about a hand."""
        request = audit_service_pb2.GetHandVerdictRequest(hand_id=hand_id)
        return await self._connection.unary(self._stub.GetHandVerdict, request)


class Bots:
    """The bots."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = BotsServiceStub(connection.channel)

    async def get_status(self) -> bots_service_pb2.GetStatusResponse:
        """Return what the bots do."""
        return await self._connection.unary(self._stub.GetStatus, bots_service_pb2.GetStatusRequest())


class Feed:
    """The feed of one service: its events in one gap-free order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = FeedServiceStub(connection.channel)

    async def read(self, after: int, *, limit: int = 500) -> feed_service_pb2.ReadResponse:
        """Return events after a number, in order, without gap."""
        request = feed_service_pb2.ReadRequest(after=after, limit=limit)
        return await self._connection.unary(self._stub.Read, request)

    async def events(self, after: int = 0) -> AsyncIterator[feed_service_pb2.FeedEvent]:
        """Iterate over every event from a number up to the head of now."""
        while (page := await self.read(after)).events:
            for event in page.events:
                yield event
            after = page.events[-1].global_seq
