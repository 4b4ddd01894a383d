"""Reconciles all the time, and whenever somebody asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog
from prometheus_client import Gauge

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.database import DATABASE_TROUBLE, Connection, is_own_fault
from diwan.core.decider import Rejected
from services.wallet.reconcile.findings import CHECKS, Check, Finding, Report
from services.wallet.reconcile.passing import Pass

SHARE: Final = 0.2
"""How much of one processor a pass in the background may take, the database's part of the work included."""

DEMAND_SECONDS: Final = 4.0
"""So long a caller is kept waiting; a call may take 5 s. A pass that takes longer goes on, and its result waits."""

KEPT_SECONDS: Final = 60.0
"""So long the result of a pass waits for the caller who was told to ask again."""

TOLD_MAX: Final = 1_000

_HOLDS: Final = Gauge("diwan_wallet_reconcile_holds", "1 while nothing was found, by what must hold.", ["check"])
_VERSION: Final = Gauge("diwan_wallet_reconciled_version", "The ledger version up to which the books were added up.")
_SECONDS: Final = Gauge("diwan_wallet_reconcile_seconds", "How long the last pass took.", ["kind"])

_log = structlog.get_logger(__name__)


class Reconciler:
    """Adds the books up.

    Every ``every_seconds`` what is new is checked, every ``full_seconds`` all of it from the first event on. A finding
    is an alarm of kind ``reconcile``, once. `run` is the service's background task. ``limits`` is what each purpose may
    issue on a UTC day.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        consumer: str,
        *,
        every_seconds: float,
        full_seconds: float,
        limits: Mapping[str, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._consumer = consumer
        self._every_seconds = every_seconds
        self._full_seconds = full_seconds
        self._limits = limits or {}
        self._clock = clock
        self._version = 0
        self._full_at: float | None = None
        self._told: dict[tuple[Check, int, str], None] = {}
        self._asked: asyncio.Task[Report] | None = None
        self._ended_at = 0.0
        for check in CHECKS:
            _HOLDS.labels(check).set(1)

    async def run(self) -> None:
        """Reconcile for as long as the service runs."""
        try:
            while True:
                await asyncio.sleep(self._every_seconds)
                try:
                    await self.look()
                except DATABASE_TROUBLE as error:
                    # Nothing is concluded from a database that does not answer; a statement of ours that fails is a fault.
                    if is_own_fault(error):
                        raise
                    _log.warning("not_reconciled", error=repr(error))
        finally:
            if self._asked is not None:
                self._asked.cancel()

    async def look(self) -> Report:
        """Make the pass that is due: over what is new, or over everything."""
        now = self._clock()
        is_full = self._full_at is None or now - self._full_at >= self._full_seconds
        known = len(self._told)
        report = await self._pass(0 if is_full else self._version, SHARE)
        if is_full:
            self._full_at = now
        elif len(self._told) > known:
            # The sums tell that something is wrong, and not always what: the next pass looks at everything.
            self._full_at = None
        self._version = report.ledger_version
        return report

    async def on_demand(self) -> Report:
        """Make a full pass now, or share the one that is under way; raises `Rejected` where it takes too long."""
        task = self._asked
        if task is None or (task.done() and self._clock() - self._ended_at > KEPT_SECONDS):
            task = self._asked = asyncio.create_task(self._pass(0, 1.0))
            task.add_done_callback(self._ended)
        done, _ = await asyncio.wait({task}, timeout=DEMAND_SECONDS)
        if not done:
            raise Rejected("RECONCILE_RUNNING")
        if self._asked is task:
            self._asked = None
        try:
            return task.result()
        except DATABASE_TROUBLE as error:
            if is_own_fault(error):
                raise
            raise Rejected("SERVICE_UNAVAILABLE") from None

    def _ended(self, task: asyncio.Task[Report]) -> None:
        self._ended_at = self._clock()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("not_reconciled", error=repr(error))

    async def _pass(self, after: int, share: float) -> Report:
        began = time.monotonic()
        connection = await self._connect()
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                report = await Pass(connection, self._consumer, self._limits, share=share).run(after)
        finally:
            connection.terminate()
        _SECONDS.labels("full" if report.is_full else "new").set(time.monotonic() - began)
        self._tell(report)
        return report

    def _tell(self, report: Report) -> None:
        _VERSION.set(report.ledger_version)
        for check in CHECKS:
            if (first := report.first(check)) is not None:
                _HOLDS.labels(check).set(0)
                self._alarm(first)
            elif report.is_full:
                _HOLDS.labels(check).set(1)

    def _alarm(self, finding: Finding) -> None:
        name = (finding.check, finding.ledger_version, finding.account_id)
        if name in self._told or len(self._told) >= TOLD_MAX:
            return
        self._told[name] = None
        where = f" (ledger version {finding.ledger_version})" if finding.ledger_version else ""
        raise_alarm("reconcile", f"{finding.check}: {finding.text}{where}")
