"""Carries what tournaments want to tables and wallet: again and again, until an event of theirs says that it is done.

What is wanted follows from the tournament's state, so nothing of this needs to be remembered: a process that starts
anew asks for what is still wanted, under the same ids. A table gets one order at a time, in the tournament's order, and
the next only after a definite answer, so that none can overtake another; tables and payments do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from prometheus_client import Counter, Gauge, Histogram

from diwan.chassis.alarms import raise_alarm
from diwan.core.decider import Rejected
from diwan.core.tournament.commands import ReportPayment
from diwan.core.tournament.events import PaymentOverdue, TournamentEvent
from diwan.core.tournament.orders import Order, Pay, TableOrder, payment_orders, table_orders, touched_tables
from diwan.core.tournament.settings import TournamentConfig
from services.tournament.actor import Actor
from services.tournament.tables import order_id_of
from services.tournament.wallet import Unanswered

LOOK_SECONDS: Final = 0.02
"""How soon after an event orders are looked for: what happens together is looked at once."""

AGAIN_SECONDS: Final = 5.0
"""An order that was taken and is not confirmed by the table's feed is sent again after so long."""

RETRY_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0)

REFUSED_SECONDS: Final = (1.0, 5.0, 30.0, 60.0, 300.0)
"""How long after each refusal what is owed is asked for again: an attempt is a transfer and an event for ever."""

_SENT: Final = Counter("diwan_tournament_orders_total", "Orders sent to tables and the wallet.", ["kind"])
_UNANSWERED: Final = Counter(
    "diwan_tournament_orders_unanswered_total", "Orders that nobody answered, or not for good.", ["kind"]
)
_REFUSED: Final = Counter("diwan_tournament_orders_refused_total", "Orders that a table refused.", ["kind", "reason"])
_PENDING: Final = Gauge("diwan_tournament_orders_pending", "Orders that are not confirmed yet.")
_SECONDS: Final = Histogram("diwan_tournament_order_seconds", "From the wish to the answer.", ["kind"])

_log = structlog.get_logger(__name__)

type SendOrder = Callable[[str, TournamentConfig, TableOrder], Awaitable[None]]
type SendPayment = Callable[[UUID, Pay], Awaitable[str]]


def _kind(order: Order) -> str:
    return type(order).__name__


def _key(order: Order) -> str:
    """Return what makes an order the same one: its kind and the id that it goes by."""
    if isinstance(order, Pay):
        return f"Pay/{order.name}"
    return f"{_kind(order)}/{order.table_id}/{order_id_of(order)}"


class Couriers:
    """One courier a tournament; ``at_once`` bounds what is under way to tables, and as much again to the wallet."""

    def __init__(self, send_order: SendOrder, send_payment: SendPayment, *, at_once: int, alarm_seconds: float) -> None:
        self.send_order = send_order
        self.send_payment = send_payment
        self.alarm_seconds = alarm_seconds
        self.to_tables = asyncio.Semaphore(at_once)
        self.to_wallet = asyncio.Semaphore(at_once)
        self._couriers: dict[UUID, Courier] = {}

    def happened(self, actor: Actor, events: Sequence[TournamentEvent]) -> None:
        """Look at what a tournament wants now."""
        for event in events:
            if isinstance(event, PaymentOverdue):
                raise_alarm("payment", f"tournament {actor.tournament_id}: {event.key} is not settled yet")
        courier = self._couriers.get(actor.tournament_id)
        if courier is None or courier.actor is not actor:
            if courier is not None:
                courier.stop()
            courier = self._couriers[actor.tournament_id] = Courier(actor, self)
        courier.touch(events)

    async def keep_looking(self) -> None:
        """Look after what waits for a confirmation, and forget tournaments that are gone."""
        while True:
            await asyncio.sleep(1.0)
            for tournament_id, courier in list(self._couriers.items()):
                if courier.actor.is_gone or courier.actor.state.is_over:
                    courier.stop()
                    del self._couriers[tournament_id]
                else:
                    courier.look_again()
            _PENDING.set(sum(courier.pending for courier in self._couriers.values()))

    async def close(self) -> None:
        """Stop carrying; whoever takes the tournaments over goes on."""
        tasks = [task for courier in self._couriers.values() for task in courier.stop()]
        if tasks:
            await asyncio.wait(tasks)


class _Wanted:
    """An order that is wanted: since when, when it was answered last, and how often it failed in a row."""

    __slots__ = ("failures", "is_alarmed", "not_before", "order", "since")

    def __init__(self, order: Order, now: float) -> None:
        self.order = order
        self.since = now
        self.not_before = 0.0
        self.failures = 0
        self.is_alarmed = False


class Courier:
    """Carries the orders of one tournament."""

    def __init__(self, actor: Actor, all_of_them: Couriers) -> None:
        self.actor = actor
        self._all = all_of_them
        self._loop = asyncio.get_running_loop()
        self._lines_of: dict[int, list[_Wanted]] = {}  # by table
        self._payments: dict[str, _Wanted] = {}
        self._touched: set[int] = set(actor.state.tables.keys())
        self._lines: dict[str, asyncio.Task[None]] = {}  # by table, or payment
        self._looking: asyncio.TimerHandle | None = None
        self._is_stopped = False

    @property
    def pending(self) -> int:
        """How many orders are not confirmed yet."""
        return len(self._payments) + sum(map(len, self._lines_of.values()))

    def stop(self) -> list[asyncio.Task[None]]:
        """Carry nothing more; returns what is still ending."""
        self._is_stopped = True
        if self._looking is not None:
            self._looking.cancel()
        tasks = list(self._lines.values())
        for task in tasks:
            task.cancel()
        return tasks

    def touch(self, events: Sequence[TournamentEvent]) -> None:
        """Take note that some tables may want something else now; without events, all of them."""
        state = self.actor.state
        self._touched |= touched_tables(state, events) if events else set(state.tables.keys())
        self.look_soon()

    def look_soon(self) -> None:
        """Look at what is wanted when the loop has done what it is doing."""
        if self._looking is None and not self._is_stopped:
            self._looking = self._loop.call_later(LOOK_SECONDS, self.look)

    def look_again(self) -> None:
        """Look at everything, also where nothing has happened: what is not confirmed is sent again."""
        self._touched |= set(self.actor.state.tables.keys())
        self.look()

    def look(self) -> None:
        """See what is wanted now, and that every table and payment that is due has somebody on the way."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if self._is_stopped:
            return
        now, state = self._loop.time(), self.actor.state
        touched, self._touched = self._touched, set()
        for number in touched:
            table = state.tables.get(number)
            wanted = [] if table is None else list(table_orders(state, table))
            known = {_key(each.order): each for each in self._lines_of.pop(number, ())}
            if wanted:
                self._lines_of[number] = [_kept(known, order, now) for order in wanted]
                self._see_to(f"table/{number}", self._lines_of[number], now)
        asked = {_key(each.order): each for each in self._payments.values()}
        self._payments = {}
        for payment in payment_orders(state):
            wanted_payment = _kept(asked, payment, now)
            if payment.attempt_no and _key(payment) not in asked:
                self._wait_after_refusal(wanted_payment, now)
            self._payments[payment.payment.key] = wanted_payment
            self._see_to(f"pay/{payment.payment.key}", [wanted_payment], now)

    def _wait_after_refusal(self, wanted: _Wanted, now: float) -> None:
        attempt_no = wanted.order.attempt_no if isinstance(wanted.order, Pay) else 0
        wait = REFUSED_SECONDS[min(attempt_no, len(REFUSED_SECONDS)) - 1]
        wanted.not_before = now + wait
        self._loop.call_later(wait, self.look_soon)

    def _see_to(self, line: str, waiting: Sequence[_Wanted], now: float) -> None:
        if line not in self._lines and any(each.not_before <= now for each in waiting):
            task = asyncio.create_task(self._serve(line), name=f"courier-{line}")
            self._lines[line] = task
            task.add_done_callback(partial(self._ended, line))

    def _ended(self, line: str, task: asyncio.Task[None]) -> None:
        self._lines.pop(line, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("courier_failed", tournament=str(self.actor.tournament_id), line=line, exc_info=error)
        self.look_soon()

    async def _serve(self, line: str) -> None:
        """Carry the orders of one table, or one payment, one after the other, until none is due."""
        while (wanted := self._next(line)) is not None:
            await self._carry(wanted)

    def _next(self, line: str) -> _Wanted | None:
        """Return the first order of a line that is due; one that waits for another try holds up those behind it."""
        now = self._loop.time()
        kind, _, name = line.partition("/")
        if kind == "pay":
            waiting = [self._payments[name]] if name in self._payments else []
        else:
            waiting = self._lines_of.get(int(name), [])
        for wanted in waiting:
            if wanted.not_before <= now:
                return wanted
            if wanted.failures:
                return None
        return None

    async def _carry(self, wanted: _Wanted) -> None:
        order, kind = wanted.order, _kind(wanted.order)
        _SENT.labels(kind).inc()
        try:
            if isinstance(order, Pay):
                async with self._all.to_wallet:
                    reason = await self._all.send_payment(self.actor.tournament_id, order)
                await self._paid(order, reason)
            else:
                async with self._all.to_tables:
                    state = self.actor.state
                    await self._all.send_order(state.tournament_id, state.config, order)
        except Unanswered as error:
            _UNANSWERED.labels(kind).inc()
            self._failed(wanted, str(error))
        except Rejected as refusal:
            # It may be of the past already, and what made it so is on its way to us; or we come too soon.
            _REFUSED.labels(kind, refusal.reason).inc()
            self._failed(wanted, str(refusal))
        except Exception as error:
            # A fault of ours about one order must not end the others' way; it is an alarm if it stays.
            _log.exception("order_fault", tournament=str(self.actor.tournament_id), order=_key(order))
            self._failed(wanted, repr(error))
        else:
            wanted.failures = 0
            wanted.not_before = self._loop.time() + AGAIN_SECONDS
            _SECONDS.labels(kind).observe(self._loop.time() - wanted.since)

    def _failed(self, wanted: _Wanted, why: str) -> None:
        now = self._loop.time()
        _log.info("order_failed", tournament=str(self.actor.tournament_id), order=_key(wanted.order), why=why)
        wait = RETRY_SECONDS[min(wanted.failures, len(RETRY_SECONDS) - 1)]
        wanted.not_before = now + wait
        wanted.failures += 1
        if not wanted.is_alarmed and now - wanted.since >= self._all.alarm_seconds:
            wanted.is_alarmed = True
            raise_alarm("order", f"tournament {self.actor.tournament_id}: {_key(wanted.order)} fails: {why}")
        self._loop.call_later(wait, self._try_again, wanted.order)

    def _try_again(self, order: Order) -> None:
        if not isinstance(order, Pay):
            self._touched.add(order.table_no)
        self.look_soon()

    async def _paid(self, order: Pay, reason: str) -> None:
        """Report the wallet's answer; the order goes away with it."""
        key, attempt_no, is_refused = order.payment.key, order.attempt_no, bool(reason)
        await self.actor.ask(lambda _: ReportPayment(key, attempt_no, is_refused, reason, self.actor.clock.now_ms()))


def _kept(known: dict[str, _Wanted], order: Order, now: float) -> _Wanted:
    """Return what is known of an order that is still wanted, or begin to want it."""
    kept = known.get(_key(order))
    if kept is None:
        return _Wanted(order, now)
    kept.order = order
    return kept
