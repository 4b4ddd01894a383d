"""The ledger's events folded again, each held against the rows that its commit left in the books (L1, L2, L4, L5, L7).

A full pass begins at the first event and ends with every balance. A pass that goes on behind a version begins with what
the books said there, which an earlier pass has checked: by induction both say the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import asyncpg
from msgspec import Struct

from diwan.core.hashing import ChainHead, StoredEvent, verify_chain
from diwan.core.ledger.accounts import MAY_OWE
from diwan.core.ledger.books import DAY_MS, TALLIED
from diwan.core.ledger.events import HoldResolved, LedgerCommitted, LedgerTransfer
from diwan.wire.events import WireError, decode
from services.wallet.loading import SHARD
from services.wallet.reconcile.findings import Check, Findings


class Known(Struct):
    """An account as its events make it; ``touched`` is the last commit that moved it. None: no event has said so."""

    kind: str
    owner: str
    currency: str
    balance: int = 0
    version: int = 0
    touched: int = 0
    is_closed: bool | None = None
    is_frozen: bool | None = None
    has_consent: bool | None = None


type Row = Mapping[str, Any]
"""A transfer as the books hold it, by the names of its columns."""

_TOLD: Final = ("debit_account", "credit_account", "amount", "code", "cause", "hold_id", "reverses")
_PLACED: Final = ("debit_account", "credit_account", "amount", "code", "cause", "expires_at_ms")
_SIDES: Final = (("debit", "gives"), ("credit", "takes"))


def stored_event(record: asyncpg.Record) -> StoredEvent:
    """Return an event as the store has it."""
    return StoredEvent(
        record["version"],
        record["type_id"],
        record["schema_v"],
        record["recorded_at_ms"],
        record["command_id"].bytes,
        record["body"],
        record["prev_hash"],
        record["hash"],
    )


def read(event: StoredEvent) -> LedgerCommitted | str:
    """Return what an event says, or why it cannot be read."""
    try:
        found = decode(event.type_id, event.schema_v, event.body).event
    except (WireError, ValueError) as error:
        return f"cannot be read: {error}"
    return found if isinstance(found, LedgerCommitted) else f"is a {type(found).__name__}"


def named_in(commit: LedgerCommitted) -> Iterable[str]:
    """Yield the accounts that a commit moves or changes."""
    yield from commit.closings
    for freeze in commit.freezes:
        yield freeze.account_id
    for consent in commit.consents:
        yield consent.account_id
    for transfer in commit.transfers:
        yield transfer.debit_account
        yield transfer.credit_account


class History:
    """Takes events in order with the rows of each, and knows afterwards what every account must hold."""

    def __init__(self, findings: Findings, head: ChainHead) -> None:
        self._findings = findings
        self._head = head
        self._odd: set[tuple[str, Check]] = set()
        self.accounts: dict[str, Known] = {}
        self.open_holds: dict[str, Row] = {}
        self.shortfalls: dict[str, tuple[str, int, int]] = {}
        self.issued: dict[tuple[str, str, int], tuple[int, int]] = {}

    @property
    def version(self) -> int:
        """The newest event that was taken."""
        return self._head.version

    def begin(self, account_id: str, known: Known) -> None:
        """Start with an account as an earlier pass has left it."""
        self.accounts.setdefault(account_id, known)

    def take(
        self,
        stored: StoredEvent,
        commit: LedgerCommitted | str,
        rows: Mapping[str, Row],
        refused: Mapping[str, str],
        holds: Mapping[str, Row],
    ) -> None:
        """Hold one event against the transfers and refusals of its commit, and the holds that it places or ends."""
        version = stored.version
        self._findings.checked["events"] += 1
        fault = verify_chain(SHARD.bytes, self._head, (stored,)).fault
        if fault is not None:
            self._findings.add("events", f"event {version} does not continue the chain: {fault}", version)
        self._head = ChainHead(version, stored.hash, stored.recorded_at_ms)
        if isinstance(commit, str):
            self._findings.add("events", f"event {version} {commit}", version)
            return
        self._open(commit, version)
        for transfer in commit.transfers:
            self._post(transfer, rows.get(transfer.transfer_id), version)
        self._close(commit, version)
        self._leftovers(commit, rows.values(), refused, version)
        self._holds(commit, holds, version)
        self._count(commit, version)

    def _open(self, commit: LedgerCommitted, version: int) -> None:
        for opened in commit.accounts:
            if opened.account_id in self.accounts:
                text = f"account {opened.account_id} of {opened.owner} is opened twice"
                self._findings.add("events", text, version, opened.account_id)
                continue
            self.accounts[opened.account_id] = Known(
                opened.kind,
                opened.owner,
                opened.currency,
                touched=version,
                is_closed=False,
                is_frozen=False,
                has_consent=False,
            )

    def _post(self, transfer: LedgerTransfer, row: Row | None, version: int) -> None:
        debit, credit = self.accounts.get(transfer.debit_account), self.accounts.get(transfer.credit_account)
        if debit is None or credit is None or debit is credit:
            text = f"transfer {transfer.transfer_id} is not between two accounts that were opened"
            self._findings.add("events", text, version)
            return
        for account_id, known in ((transfer.debit_account, debit), (transfer.credit_account, credit)):
            if known.is_closed:
                text = f"transfer {transfer.transfer_id} moves chips of the closed account of {known.owner}"
                self._findings.add("events", text, version, account_id)
        if row is None:
            text = f"transfer {transfer.transfer_id} of {transfer.amount} is in the event and not in the books"
            self._findings.add("events", text, version, transfer.debit_account)
            self._findings.add("versions", f"entry {debit.version + 1} of the account is not there", version,
                               transfer.debit_account)  # fmt: skip
        else:
            self._compare(transfer, row, version)
            for (side, verb), known in zip(_SIDES, (debit, credit), strict=True):
                self._compare_leg(
                    known, row[f"{side}_account"], (row[f"{side}_version"], row[f"{side}_previous"]), verb, version
                )
        self._move(transfer.debit_account, debit, -transfer.amount, version)
        self._move(transfer.credit_account, credit, transfer.amount, version)

    def _compare(self, transfer: LedgerTransfer, row: Row, version: int) -> None:
        differing = [
            f"{name} {row[name]} instead of {getattr(transfer, name)}"
            for name in _TOLD
            if row[name] != getattr(transfer, name)
        ]
        if differing:
            text = f"transfer {transfer.transfer_id} stands in the books with {', '.join(differing)}"
            self._findings.add("events", text, version, transfer.debit_account)

    def _compare_leg(self, known: Known, account_id: str, leg: tuple[int, int], verb: str, version: int) -> None:
        number, previous = leg
        self._findings.checked["versions"] += 1
        self._findings.checked["balances"] += 1
        if number != known.version + 1:
            text = f"an entry of {known.owner} that {verb} is number {number}, must be {known.version + 1}"
            self._at_odds(account_id, "versions", text, version)
        if previous != known.balance:
            text = f"an entry of {known.owner} that {verb} begins at {previous}, must be {known.balance}"
            self._at_odds(account_id, "balances", text, version)

    def _move(self, account_id: str, known: Known, amount: int, version: int) -> None:
        known.balance += amount
        known.version += 1
        known.touched = version
        if known.balance < 0 and known.kind not in MAY_OWE:
            text = f"the {known.kind} account of {known.owner} owes {-known.balance}"
            self._at_odds(account_id, "balances", text, version)

    def _close(self, commit: LedgerCommitted, version: int) -> None:
        for account_id in commit.closings:
            known = self.accounts.get(account_id)
            if known is None or known.is_closed:
                self._findings.add("events", f"account {account_id} closes and is not open", version, account_id)
                continue
            known.is_closed = True
            known.touched = version
            if known.balance:
                text = f"the {known.kind} account of {known.owner} closes with {known.balance}"
                self._findings.add("pools", text, version, account_id)

    def _leftovers(
        self, commit: LedgerCommitted, rows: Collection[Row], refused: Mapping[str, str], version: int
    ) -> None:
        posted = {transfer.transfer_id for transfer in commit.transfers}
        for row in rows:
            if row["transfer_id"] not in posted:
                text = f"transfer {row['transfer_id']} of {row['amount']} is in the books and not in the event"
                self._findings.add("events", text, version, row["debit_account"])
        said = {refusal.transfer_id: refusal.reason for refusal in commit.refusals}
        for transfer_id in sorted(said.keys() | refused.keys()):
            if said.get(transfer_id) != refused.get(transfer_id):
                text = (
                    f"the refusal of {transfer_id}: the event says {said.get(transfer_id, 'nothing')}, "
                    f"the books say {refused.get(transfer_id, 'nothing')}"
                )
                self._findings.add("events", text, version)

    def _holds(self, commit: LedgerCommitted, holds: Mapping[str, Row], version: int) -> None:
        """Hold what was set aside and what became of it against the books (L6)."""
        placed = {hold.hold_id for hold in commit.holds}
        for hold in commit.holds:
            self._findings.checked["held"] += 1
            row = holds.get(hold.hold_id)
            if row is None or row["placed_version"] != version:
                self._findings.add("held", f"hold {hold.hold_id} of {hold.amount} is not in the books", version,
                                   hold.debit_account)  # fmt: skip
                continue
            self.open_holds[hold.hold_id] = row
            differing = [f"{n} {row[n]} instead of {getattr(hold, n)}" for n in _PLACED if row[n] != getattr(hold, n)]
            if differing:
                text = f"hold {hold.hold_id} stands in the books with {', '.join(differing)}"
                self._findings.add("held", text, version, hold.debit_account)
        for row in holds.values():
            if row["placed_version"] == version and row["hold_id"] not in placed:
                text = f"hold {row['hold_id']} of {row['amount']} is in the books and not in the event"
                self._findings.add("held", text, version, row["debit_account"])
        for end in commit.resolutions:
            self._resolve(end, self.open_holds.pop(end.hold_id, None) or holds.get(end.hold_id), version)

    def _resolve(self, end: HoldResolved, row: Row | None, version: int) -> None:
        if row is None:
            self._findings.add("held", f"hold {end.hold_id} ends and was not open", version)
            return
        wanted = (end.resolution, end.amount, end.transfer_id, version)
        found = (row["resolution"], row["posted"], row["resolved_by"], row["resolved_version"])
        if found != wanted:
            told = row["resolution"] or "still open"
            text = f"hold {end.hold_id} was {end.resolution} with {end.amount}, in the books it is {told}"
            text += f" with {row['posted']}" if row["resolution"] else ""
            self._findings.add("held", text, version, row["debit_account"])

    def end_holds(self) -> None:
        """Look at the holds that no event has ended."""
        for row in self.open_holds.values():
            if row["resolution"]:
                text = f"hold {row['hold_id']} is {row['resolution']} in the books, and no event ended it"
                self._findings.add("held", text, row["resolved_version"] or 0, row["debit_account"])

    def _count(self, commit: LedgerCommitted, version: int) -> None:
        for freeze in commit.freezes:
            if (known := self.accounts.get(freeze.account_id)) is not None:
                known.is_frozen = freeze.is_frozen
        for consent in commit.consents:
            if (known := self.accounts.get(consent.account_id)) is not None:
                known.has_consent = consent.is_given
        for shortfall in commit.shortfalls:
            self.shortfalls[shortfall.transfer_id] = (shortfall.account_id, shortfall.amount, version)
        for transfer in commit.transfers:
            known = self.accounts.get(transfer.debit_account)
            if known is not None and known.kind == "issuance" and transfer.code in TALLIED:
                key = (transfer.debit_account, transfer.code, commit.committed_at_ms // DAY_MS)
                count, amount = self.issued.get(key, (0, 0))
                self.issued[key] = (count + 1, amount + transfer.amount)

    def compare_account(self, record: asyncpg.Record) -> None:
        """Hold an account of the books against what its events make of it."""
        account_id = record["account_id"]
        known = self.accounts.get(account_id)
        if known is None:
            self._findings.add("events", f"account {account_id} was opened by no event", 0, account_id)
            return
        self._findings.checked["balances"] += 1
        self._findings.checked["versions"] += 1
        if (record["kind"], record["owner"], record["currency"]) != (known.kind, known.owner, known.currency):
            self._findings.add("events", f"account {account_id} was opened as {known.kind} of {known.owner}", 0,
                               account_id)  # fmt: skip
        if record["balance"] != known.balance:
            text = (
                f"the {known.kind} account of {known.owner} holds {record['balance']}, its entries make {known.balance}"
            )
            self._at_odds(account_id, "balances", text, known.touched)
        if record["version"] != known.version:
            text = f"the {known.kind} account of {known.owner} counts {record['version']} entries, there are {known.version}"
            self._at_odds(account_id, "versions", text, known.touched)
        for name, wanted in (
            ("is_closed", known.is_closed),
            ("is_frozen", known.is_frozen),
            ("has_top_up_consent", known.has_consent),
        ):
            if wanted is not None and record[name] != wanted:
                text = f"the account of {known.owner} has {name} {record[name]}, its events say {wanted}"
                self._findings.add("events", text, known.touched, account_id)
        if known.kind == "issuance":
            self._findings.checked["issuance"] += 1
            if record["balance"] != known.balance:
                text = f"{known.owner} issued {-known.balance}, its account says {-record['balance']}"
                self._findings.add("issuance", text, known.touched, account_id)

    def _at_odds(self, account_id: str, check: Check, text: str, version: int) -> None:
        """Add an account's first fault of a kind: what follows on it follows from it."""
        if (account_id, check) not in self._odd:
            self._odd.add((account_id, check))
            self._findings.add(check, text, version, account_id)
