"""What must hold, and what was found not to."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, get_args

import msgspec

type Check = Literal["sum", "balances", "versions", "held", "escrows", "pools", "issuance", "events"]

CHECKS: Final[tuple[Check, ...]] = get_args(Check.__value__)
"""``sum``: all balances of a currency are 0 together (L1). ``balances``: an account holds what its entries make, and
owes only where it may (L2, L7). ``versions``: entries are counted without gap (L7). ``held``: what is set aside is what
open holds say (L6). ``escrows``: a seat's escrow is its stack at the same place of the table feed. ``pools``: what is
closed is empty. ``issuance``: what each purpose owes is what it issued. ``events``: the books are what the events say,
and the events are one chain."""

FINDINGS_MAX: Final = 100
"""So many findings of one pass are kept: one fault can make many, and the first is the one to look at."""


class Finding(msgspec.Struct, frozen=True):
    """Something that does not hold; ``ledger_version`` is the first event that breaks it, 0 where none does."""

    check: Check
    text: str
    ledger_version: int = 0
    account_id: str = ""


class Report(msgspec.Struct, frozen=True):
    """One pass: how much was looked at by check, what was found, and which moment it was."""

    checked: dict[Check, int]
    findings: tuple[Finding, ...]
    ledger_version: int
    cursor: int
    is_full: bool

    def first(self, check: Check) -> Finding | None:
        """Return a check's finding at the earliest event; those that no event shows come last."""
        found = [finding for finding in self.findings if finding.check == check]
        return min(found, key=_place, default=None)


class Findings:
    """Collects what one pass looks at and finds."""

    def __init__(self) -> None:
        self.checked: Counter[Check] = Counter()
        self.found: list[Finding] = []

    def add(self, check: Check, text: str, ledger_version: int = 0, account_id: str = "") -> None:
        """Add what does not hold."""
        if len(self.found) < FINDINGS_MAX:
            self.found.append(Finding(check, text, ledger_version, account_id))

    def report(self, ledger_version: int, cursor: int, *, is_full: bool) -> Report:
        """Return the pass."""
        checked = {check: self.checked[check] for check in CHECKS}
        return Report(checked, tuple(self.found), ledger_version, cursor, is_full)


def _place(finding: Finding) -> tuple[bool, int]:
    return finding.ledger_version == 0, finding.ledger_version
