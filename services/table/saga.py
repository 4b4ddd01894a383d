"""Chips come to a seat by asking the wallet with one id until it has answered (DESIGN 8, L3, L6, D9).

What is pending stands in the log, so a restart goes on asking. An unknown outcome is resolved only by asking again.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from diwan.chassis.errors import refusal_of
from diwan.core.decider import Rejected
from diwan.core.hashing import request_hash
from diwan.core.table.commands import FundSeat, RefuseBuyIn
from diwan.core.table.state import SeatState, TableState
from services.table.actor import Actor
from services.table.ids import resolution_id_of

RETRY_SECONDS: Final = (0.2, 0.5, 1.0, 2.0)
"""Waits between attempts; the last one goes on for ever."""

_log = structlog.get_logger(__name__)


class WalletUnknown(Exception):  # noqa: N818  (not an error: the answer is not known yet)
    """The wallet did not answer, or nothing that is final: the transfer may have been made or not."""


class Wallet(Protocol):
    """The wallet as tables need it."""

    async def fund_seat(
        self, *, transfer_id: str, player: str, is_bot: bool, sitting: str, table_id: str, amount: int, code: str
    ) -> None:
        """Move chips into a sitting's escrow, once an id; raises `Rejected` for ever, or `WalletUnknown`."""
        ...


class BuyIns:
    """Follows every pending transfer of this process's tables until its answer is an event."""

    def __init__(self, wallet: Wallet) -> None:
        self._wallet = wallet
        self._following: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    def follow(self, actor: Actor, seat: SeatState) -> None:
        """Begin to ask for a seat's pending chips, unless that is under way."""
        pending = seat.pending
        if pending is None or pending.transfer_id in self._following:
            return
        task = asyncio.create_task(self._resolve(actor, seat), name=f"buy-in-{pending.transfer_id}")
        self._following[pending.transfer_id] = task

    async def settled(self, transfer_id: str) -> None:
        """Wait until a transfer is answered; raises WALLET_UNAVAILABLE at the first attempt that was not.

        Returns at once where nothing is under way.
        """
        if transfer_id not in self._following:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(transfer_id, []).append(waiting)
        await waiting

    async def close(self) -> None:
        """Stop asking; whoever takes the tables over goes on."""
        tasks = list(self._following.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _resolve(self, actor: Actor, seat: SeatState) -> None:
        assert seat.pending is not None, "only pending transfers are followed"  # noqa: S101
        transfer_id = seat.pending.transfer_id
        try:
            await self._ask_until_answered(actor, seat, transfer_id)
        finally:
            # In one step: whoever asks from now on finds nothing under way, and everybody who waits is told.
            self._following.pop(transfer_id, None)
            self._tell(transfer_id, lambda waiting: waiting.set_result(None))

    async def _ask_until_answered(self, actor: Actor, seat: SeatState, transfer_id: str) -> None:
        attempt = 0
        while True:
            try:
                refusal = await self._asked(actor, seat)
                await self._record(actor, transfer_id, refusal)
            except (WalletUnknown, Rejected) as error:
                _log.warning("buy_in_unresolved", transfer=transfer_id, attempt=attempt, why=str(error))
                self._tell(transfer_id, lambda waiting: waiting.set_exception(Rejected("WALLET_UNAVAILABLE")))
                if isinstance(error, Rejected) and error.reason in {"TABLE_MOVED", "SERVICE_DRAINING"}:
                    return
            else:
                return
            await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
            attempt += 1

    async def _asked(self, actor: Actor, seat: SeatState) -> Rejected | None:
        """Ask the wallet; return its refusal, None where the chips have moved."""
        assert seat.pending is not None, "only pending transfers are followed"  # noqa: S101
        try:
            await self._wallet.fund_seat(
                transfer_id=seat.pending.transfer_id,
                player=seat.player,
                is_bot=seat.is_bot,
                sitting=seat.sitting,
                table_id=str(actor.table_id),
                amount=seat.pending.amount,
                code="top_up" if seat.pending.is_top_up else "buy_in",
            )
        except Rejected as refusal:
            return refusal
        return None

    async def _record(self, actor: Actor, transfer_id: str, refusal: Rejected | None) -> None:
        def build(_state: TableState) -> FundSeat | RefuseBuyIn:
            now = actor.clock.now_ms()
            if refusal is None:
                return FundSeat(transfer_id, now)
            return RefuseBuyIn(transfer_id, refusal.reason, now)

        recorded = b"" if refusal is None else refusal_of(refusal).SerializeToString()
        await actor.ask(
            build,
            command_id=resolution_id_of(actor.table_id, transfer_id),
            caller="wallet",
            request_hash=request_hash("FundSeat", transfer_id.encode()),
            reply=lambda _: recorded,
        )

    def _tell(self, transfer_id: str, outcome: Callable[[asyncio.Future[None]], None]) -> None:
        for waiting in self._waiting.pop(transfer_id, ()):
            if not waiting.done():
                outcome(waiting)
