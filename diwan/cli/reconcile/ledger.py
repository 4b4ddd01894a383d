"""The ledger folded from its feed alone, by double entry and nothing else, beside what the wallet says of its accounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from diwan.cli.reconcile.faults import Faults
from diwan.core.hashing import ChainHead, chain_start, verify_chain
from diwan.core.ledger.accounts import AMOUNT_MAX, MAY_OWE
from diwan.core.ledger.events import HoldPlaced, HoldResolved, LedgerCommitted, LedgerTransfer
from diwan.core.log import LoggedEvent, StreamKind
from diwan.wire.events import WireError, decode

FUNDING: Final = frozenset({"buy_in", "top_up"})


class Claimed(Struct, frozen=True):
    """What the wallet said of an account: so many entries, so many chips."""

    balance: int
    version: int


class Balance(Struct):
    """An account as its events make it."""

    kind: str
    owner: str
    chips: int = 0
    entries: int = 0
    held: int = 0
    is_closed: bool = False


class Posted(Struct, frozen=True):
    """A transfer that has to do with a table, and the ledger's version that posted it."""

    debit: str
    credit: str
    amount: int
    code: str
    version: int


class LedgerFold:
    """Takes the wallet's feed from its first event on.

    ``claimed`` is what the wallet said of its accounts before the feed was read: an account is compared when it has as
    many entries as it had then, so both are of the same moment.
    """

    def __init__(self, claimed: Mapping[str, Claimed]) -> None:
        self.faults = Faults()
        self.account_faults = Faults()
        self.accounts: dict[str, Balance] = {}
        self.by_cause: defaultdict[str, list[Posted]] = defaultdict(list)
        self.fundings: dict[str, Posted] = {}
        self.transfers = 0
        self.compared = 0
        self._claimed = dict(claimed)
        self._heads: dict[bytes, ChainHead] = {}
        self._holds: dict[str, HoldPlaced] = {}
        self._ids: set[str] = set()
        self._refused: set[str] = set()
        self._number = 0

    @property
    def version(self) -> int:
        """The newest commit that was taken."""
        return max((head.version for head in self._heads.values()), default=0)

    @property
    def has_all(self) -> bool:
        """Every account that the wallet told of was reached."""
        return not self._claimed

    def take(self, number: int, event: LoggedEvent) -> None:
        """Take the next event of the feed."""
        where = f"ledger version {event.version} (number {number} of the wallet's feed)"
        if number != self._number + 1:
            self.faults.add(where, f"the feed goes on after number {self._number}")
        self._number = number
        head = self._heads.get(event.stream_id) or chain_start(event.stream_id, StreamKind.LEDGER)
        after = verify_chain(event.stream_id, head, (event,))
        if after.fault is not None:
            self.faults.add(where, f"the event does not continue the chain: {after.fault}")
        self._heads[event.stream_id] = ChainHead(event.version, event.hash, event.recorded_at_ms)
        try:
            commit = decode(event.type_id, event.schema_v, event.body).event
        except (WireError, ValueError) as error:
            self.faults.add(where, f"the event cannot be read: {error}")
            return
        if not isinstance(commit, LedgerCommitted):
            self.faults.add(where, f"a {type(commit).__name__} in the ledger")
            return
        self._commit(commit, event.version, where)

    def _commit(self, commit: LedgerCommitted, version: int, where: str) -> None:
        for opened in commit.accounts:
            if opened.account_id in self.accounts:
                self.faults.add(where, f"account {opened.account_id} of {opened.owner} is opened twice")
                continue
            self.accounts[opened.account_id] = Balance(opened.kind, opened.owner)
            self._compare(opened.account_id, where)
        for transfer in commit.transfers:
            self._post(transfer, version, where)
        for hold in commit.holds:
            self._place(hold, where)
        posted = {transfer.transfer_id: transfer for transfer in commit.transfers}
        for end in commit.resolutions:
            self._resolve(end, posted.get(end.transfer_id), where)
        for refusal in commit.refusals:
            if refusal.transfer_id in self._ids:
                self.faults.add(where, f"transfer {refusal.transfer_id} was posted and is refused")
            self._refused.add(refusal.transfer_id)
        self._check_held(commit, where)
        for account_id in commit.closings:
            self._close(account_id, where)

    def _close(self, account_id: str, where: str) -> None:
        account = self.accounts.get(account_id)
        if account is None or account.is_closed:
            self.faults.add(where, f"account {account_id} closes and is not open")
            return
        account.is_closed = True
        if account.chips or account.held:
            self.faults.add(where, f"the {account.kind} account of {account.owner} closes with {account.chips}")

    def _post(self, transfer: LedgerTransfer, version: int, where: str) -> None:
        name = f"transfer {transfer.transfer_id} of {transfer.amount}"
        if transfer.transfer_id in self._ids:
            self.faults.add(where, f"{name} was posted before")
        if transfer.transfer_id in self._refused:
            self.faults.add(where, f"{name} was refused before")
        self._ids.add(transfer.transfer_id)
        self.transfers += 1
        debit, credit = self.accounts.get(transfer.debit_account), self.accounts.get(transfer.credit_account)
        if debit is None or credit is None or debit is credit or not 1 <= transfer.amount <= AMOUNT_MAX:
            self.faults.add(where, f"{name} is not between two accounts that were opened")
            return
        for account_id, account, change in (
            (transfer.debit_account, debit, -transfer.amount),
            (transfer.credit_account, credit, transfer.amount),
        ):
            if account.is_closed:
                self.faults.add(where, f"{name} moves chips of the closed account of {account.owner}")
            account.chips += change
            account.entries += 1
            self._compare(account_id, where)
        if debit.chips < 0 and debit.kind not in MAY_OWE:
            self.faults.add(where, f"{name}: the {debit.kind} account of {debit.owner} owes {-debit.chips}")
        self._keep(transfer, version)

    def _place(self, hold: HoldPlaced, where: str) -> None:
        if hold.hold_id in self._ids or hold.debit_account not in self.accounts:
            self.faults.add(
                where, f"hold {hold.hold_id} of {hold.amount} has an id or an account that it must not have"
            )
            return
        self._ids.add(hold.hold_id)
        self._holds[hold.hold_id] = hold
        self.accounts[hold.debit_account].held += hold.amount

    def _resolve(self, end: HoldResolved, posted: LedgerTransfer | None, where: str) -> None:
        """A hold ends once: its chips are given or free, never both (L6)."""
        hold = self._holds.pop(end.hold_id, None)
        if hold is None:
            self.faults.add(where, f"hold {end.hold_id} is {end.resolution} and was not open")
            return
        self.accounts[hold.debit_account].held -= hold.amount
        moved = 0 if posted is None or posted.hold_id != hold.hold_id else posted.amount
        if moved != end.amount or end.amount > hold.amount or (end.amount > 0) != (end.resolution == "posted"):
            self.faults.add(where, f"hold {end.hold_id} of {hold.amount} is {end.resolution} with {end.amount}, "
                            f"{moved} were moved")  # fmt: skip

    def _check_held(self, commit: LedgerCommitted, where: str) -> None:
        """What is set aside is there, after each commit (L2)."""
        for account_id in {hold.debit_account for hold in commit.holds} | {t.debit_account for t in commit.transfers}:
            account = self.accounts.get(account_id)
            if account is not None and account.held and account.chips < account.held:
                self.faults.add(where, f"the {account.kind} account of {account.owner} holds {account.chips}, "
                                f"{account.held} are set aside")  # fmt: skip

    def _keep(self, transfer: LedgerTransfer, version: int) -> None:
        posted = Posted(transfer.debit_account, transfer.credit_account, transfer.amount, transfer.code, version)
        if transfer.code in FUNDING:
            self.fundings[transfer.transfer_id] = posted
        elif transfer.cause.startswith("table/"):
            self.by_cause[transfer.cause].append(posted)

    def _compare(self, account_id: str, where: str) -> None:
        account, claimed = self.accounts[account_id], self._claimed.get(account_id)
        if claimed is None or claimed.version != account.entries:
            return
        del self._claimed[account_id]
        self.compared += 1
        if claimed.balance != account.chips:
            self.account_faults.add(
                where,
                f"the {account.kind} account of {account.owner} holds {account.chips} after its entry "
                f"{account.entries}, the wallet says {claimed.balance} (account {account_id})",
            )

    def end(self) -> None:
        """Say which accounts of the wallet the events do not explain."""
        for account_id, claimed in self._claimed.items():
            account = self.accounts.get(account_id)
            if account is None:
                self.account_faults.add(
                    f"account {account_id}", f"no event opened it; the wallet says {claimed.balance} chips"
                )
            else:
                self.account_faults.add(
                    f"account {account_id} of {account.owner}",
                    f"the wallet counts {claimed.version} entries, its events make {account.entries}",
                )
        if (total := sum(account.chips for account in self.accounts.values())) != 0:
            self.faults.add("the ledger", f"its accounts sum to {total}")
