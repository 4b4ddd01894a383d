"""What the writer of the ledger remembers between two commits.

It holds exactly as long as nobody else moves the ledger: every write compares and sets the stream's version, and whoever
finds that it has moved forgets everything and reads again.
"""

from typing import Final
from uuid import UUID

from diwan.chassis.database import Connection
from diwan.core.ledger.books import TALLIED, Account
from diwan.core.ledger.requests import Float, LinkedSet, Request
from services.wallet.books import Draft, Head, drafted
from services.wallet.loading import load_in
from services.wallet.works import Work

ACCOUNTS_MAX: Final = 100_000
"""Accounts that are remembered, about 50 MB; beyond it memory begins anew."""


class Memory:
    """Where the ledger stands and what accounts hold there, with all that was drafted on top of it."""

    def __init__(self) -> None:
        self._head: Head | None = None
        self._accounts: dict[str, Account] = {}

    def forget(self) -> None:
        """Remember nothing: somebody else moved the ledger, or it is not certain where it stands."""
        self._head = None
        self._accounts = {}

    def keep(self, draft: Draft) -> None:
        """Remember what a draft leaves; what was remembered of another version of the ledger is forgotten first."""
        if self._head != draft.base or len(self._accounts) > ACCOUNTS_MAX:
            self._accounts = {}
        self._head = draft.head
        self._accounts.update(draft.accounts)

    async def draft(
        self,
        connection: Connection,
        works: list[Work],
        *,
        bots_float: Float | None,
        event_id: UUID,
        in_flight: int = 0,
    ) -> Draft | None:
        """Decide requests on what is remembered; None if the ledger has moved, or for what needs its lock.

        ``in_flight`` commits, at most one, may or may not be there yet when the requests' ids are looked up.
        """
        head = self._head
        if head is None:
            return None
        loaded = await load_in(connection, works, self._accounts, not_before_ms=head.recorded_at_ms)
        if self._head is not head or not head.version - in_flight <= loaded.version <= head.version:
            self.forget()
            return None
        if loaded.is_crowded or (in_flight and any(account.held for account in loaded.books.accounts.values())):
            # Holds end first, or may be ending in the commit in flight: decided in its own turn.
            return None
        draft = drafted(head, works, loaded, bots_float=bots_float, event_id=event_id)
        self.keep(draft)
        return draft

    def may_go_ahead(self, request: Request) -> bool:
        """Tell whether a request can be decided while a commit is in flight that shares none of its ids.

        Only if all that it reads besides is accounts: those are remembered as the commit leaves them. What is read from
        the database (tallies, holds that are due) may be older than the commit.
        """
        if not isinstance(request, LinkedSet) or request != LinkedSet(request.transfers, request.opens):
            return False
        return not any(
            transfer.code in TALLIED or transfer.hold_id or transfer.reverses or self._holds(transfer.debit_account)
            for transfer in request.transfers
        )

    def _holds(self, account_id: str) -> bool:
        account = self._accounts.get(account_id)
        return account is not None and account.held != 0
