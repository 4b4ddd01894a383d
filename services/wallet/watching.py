"""Accounts as they change, for whoever watches: one look at the database for all of them, however many commits there were."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import structlog

from diwan.chassis.database import DATABASE_TROUBLE, Database, is_own_fault
from diwan.core.decider import Rejected
from diwan.core.ledger.books import Account
from services.wallet.projections import accounts_now_in

LOOK_SECONDS: Final = 1.0
"""How often it is looked without being woken: another process may have written, and holds expire by themselves."""

PAUSE_SECONDS: Final = 0.05
"""At least so long between two looks: what changes more often is told as one."""

HEARTBEAT_SECONDS: Final = 5.0
WATCHERS_MAX: Final = 10_000
ACCOUNTS_A_LOOK: Final = 1000

_log = structlog.get_logger(__name__)


class _Watcher:
    """One stream: what it was told last, and what it is to be told next."""

    __slots__ = ("changed", "news", "told")

    def __init__(self) -> None:
        self.told: Account | None = None
        self.news: Account | None = None
        self.changed = asyncio.Event()

    def hear(self, account: Account) -> None:
        if account != self.told:
            self.news = account
            self.changed.set()
        else:
            # What came is gone again before it was told: a freeze or a hold leaves no entry behind.
            self.news = None
            self.changed.clear()

    def take(self) -> Account | None:
        self.changed.clear()
        self.told, news = self.news or self.told, self.news
        self.news = None
        return news


class Balances:
    """Watches accounts for many. A reader who is slow misses what lies between, never what there is at last."""

    def __init__(self, database: Database, *, heartbeat_seconds: float = HEARTBEAT_SECONDS) -> None:
        self._database = database
        self._heartbeat_seconds = heartbeat_seconds
        self._watchers: dict[str, set[_Watcher]] = {}
        self._count = 0
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Something was committed: look soon."""
        self._woken.set()

    async def watch(self, account_id: str) -> AsyncGenerator[Account | None, None]:
        """Yield the account at once and after every change; None where nothing changed for a while.

        Raises `Rejected` with SERVER_BUSY, SERVICE_UNAVAILABLE or ACCOUNT_NOT_FOUND.
        """
        with self._watching(account_id) as watcher:
            # First on the list, then the look: no change falls between.
            try:
                accounts = await self._database.run(lambda c: accounts_now_in(c, [account_id]))
            except DATABASE_TROUBLE as error:
                if is_own_fault(error):
                    raise
                raise Rejected("SERVICE_UNAVAILABLE") from None
            if account_id not in accounts:
                raise Rejected("ACCOUNT_NOT_FOUND")
            watcher.hear(accounts[account_id])
            while True:
                try:
                    async with asyncio.timeout(self._heartbeat_seconds):
                        await watcher.changed.wait()
                except TimeoutError:
                    yield None
                    continue
                yield watcher.take()

    async def run(self) -> None:
        """Look for as long as the service runs."""
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()
            try:
                await self.look()
            except DATABASE_TROUBLE as error:
                _log.warning("balances_not_read", error=repr(error))
            await asyncio.sleep(PAUSE_SECONDS)

    async def look(self) -> None:
        """Look now at every account that somebody watches."""
        watched = list(self._watchers)
        for start in range(0, len(watched), ACCOUNTS_A_LOOK):
            await self._look_at(watched[start : start + ACCOUNTS_A_LOOK])

    async def _look_at(self, account_ids: Sequence[str]) -> None:
        accounts = await self._database.run(lambda c: accounts_now_in(c, account_ids))
        for account_id, account in accounts.items():
            for watcher in self._watchers.get(account_id, ()):
                watcher.hear(account)

    @contextmanager
    def _watching(self, account_id: str) -> Iterator[_Watcher]:
        if self._count >= WATCHERS_MAX:
            raise Rejected("SERVER_BUSY")
        watcher = _Watcher()
        self._count += 1
        self._watchers.setdefault(account_id, set()).add(watcher)
        try:
            yield watcher
        finally:
            self._count -= 1
            watchers = self._watchers[account_id]
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[account_id]
