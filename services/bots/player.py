"""One bot at one table: takes its seat, decides when it is asked, rebuys, makes room, and ends when its seat is gone.

It holds a token of its own in the role bot and calls what any player may call. It knows what its seat is sent and
nothing else; what it decides is the policy's, when it says so is drawn before its cards are looked at (S7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, Literal

import grpc
import stamina
import structlog

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import view_pb2
from diwan.client import DiwanError, ProofFailed, SeatStream, new_request_id
from diwan.client.tables import Tables
from diwan.core.policy import (
    AnchorAnswer,
    CapsaSeen,
    Choice,
    Move,
    PowerUse,
    ReserveMove,
    SetRows,
    StakeAnswer,
    choose,
    style_of,
)
from diwan.core.view import SeatedView
from diwan.wire.views import read_table_view
from services.bots import capsa
from services.bots.roster import Assignment

ACT_ATTEMPTS_MAX: Final = 6
ASK_AGAIN_SECONDS: Final = 2.0
"""A wish that was not granted is not asked for again sooner."""

OUTAGE_WAIT_SECONDS_MAX: Final = 5.0

_GONE: Final = frozenset({
    "NOT_SEATED",
    "TABLE_CLOSED",
    "TABLE_NOT_FOUND",
    "LEAVING",
    "INVITATION_REQUIRED",
    "MOVED_TO_ANOTHER_TABLE",
})  # fmt: skip
"""Reasons that say that there is no seat to play on."""

_TOO_LATE: Final = frozenset({"STALE_TURN", "DEADLINE_PASSED", "NOT_YOUR_TURN", "HAND_OVER", "REQUEST_ID_CONFLICT"})
"""Reasons that say that the decision was taken without us."""

_log = structlog.get_logger(__name__)


_NO_CHIPS: Final = frozenset({"BUY_IN_REFUSED", "EXCEEDS_BALANCE"})

type _Wish = Literal["stand_up", "top_up", "come_back"]


class End(StrEnum):
    """How a bot's time at a table ended."""

    SEAT_GONE = "seat_gone"
    REFUSED = "refused"
    """It never got a seat."""
    DISTRUSTS = "distrusts"
    """The house broke a commitment: the bot does not play on, and stands up."""


class BotPlayer:
    """Plays one assignment. ``think`` gives seconds, ``secret`` the policy's chance; both know no card."""

    def __init__(
        self,
        tables: Tables,
        assignment: Assignment,
        *,
        think: Callable[[], float],
        secret: bytes,
        decided: Callable[[], None] = lambda: None,
    ) -> None:
        self.assignment = assignment
        self.seat: int | None = None
        self.decisions = 0
        self._tables = tables
        self._think = think
        self._secret = secret
        self._decided = decided
        self._style = style_of(assignment.player)
        self._is_leaving = assignment.is_leaving
        self._is_yielding = assignment.is_leaving  # to a person; else it has no chips or no trust
        self._last_hand_no: int | None = None  # that a leaving bot plays to its end
        self._answered_turn = 0
        self._drafted_turn = 0
        self._reached = 0  # the version that an answered wish led to: views before it are of the past
        self._not_before: dict[_Wish, float] = {}

    def leave(self) -> None:
        """Make room for a person: stand up after the hand (CL-6)."""
        self._is_leaving = self._is_yielding = True

    async def run(self) -> End:
        """Sit down and play until the seat is gone. Raises `DiwanError` where asking again is useless."""
        if not self.assignment.is_entrant and not await self._take_seat():
            return End.REFUSED
        try:
            await self._through_outages(self._play)
        except ProofFailed as failure:
            _log.critical("proof_failed", player=self.assignment.player, hand_id=failure.hand_id, what=failure.what)
            if not self.assignment.is_entrant:  # Nobody stands up in a tournament: the clock plays for it from now on.
                await self._through_outages(self._stand_up)
            return End.DISTRUSTS
        return End.SEAT_GONE

    async def _take_seat(self) -> bool:
        async def sit() -> None:
            answer = await self._tables.sit_down(
                self.assignment.table_id,
                self.assignment.buy_in,
                post_at_once=True,
                request_id=self.assignment.request_id,
            )
            self.seat = answer.seat

        try:
            await self._through_outages(sit)
        except DiwanError as refusal:
            if refusal.reason == "ALREADY_SEATED":
                return True
            _log.info("seat_refused", player=self.assignment.player, reason=refusal.reason)
            return False
        return True

    async def _through_outages(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something as often as it takes until the table service answers; the ids make that safe."""
        async for attempt in stamina.retry_context(
            on=_is_outage, attempts=None, timeout=None, wait_initial=0.1, wait_max=OUTAGE_WAIT_SECONDS_MAX
        ):
            with attempt:
                await work()

    async def _play(self) -> None:
        try:
            async with self._tables.play(self.assignment.table_id) as stream:
                async for _ in stream:
                    if stream.table is not None and not await self._turn(stream, stream.table):
                        return
        except DiwanError as refusal:
            if refusal.reason not in _GONE:
                raise

    async def _turn(self, stream: SeatStream, table: view_pb2.TableView) -> bool:
        """Do what the newest view asks for; returns False when the seat is gone."""
        own = next((seat for seat in table.seats if seat.player == self.assignment.player), None)
        if own is None or table.is_closed:
            return False
        self.seat = own.seat
        if not _is_in_play(table, own) or self._has_played_last_hand(table):
            await self._between_hands(stream, table, own)
        else:
            await self._decide(stream)
        return True

    def _has_played_last_hand(self, table: view_pb2.TableView) -> bool:
        """Whether a leaving bot has been dealt into another hand before it could go: somebody waits for its seat."""
        if not self._is_leaving:
            return False
        if self._last_hand_no is None:
            self._last_hand_no = table.hand.hand_no
        return table.hand.hand_no > self._last_hand_no

    async def _decide(self, stream: SeatStream) -> None:
        turn = _asked_turn(stream)
        if turn is None or turn == self._answered_turn or stream.table is None or self.seat is None:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + min(self._think(), _seconds_to_answer(stream.table) / 2)
        seen = _seen(stream, stream.table, self.seat)
        if seen is None or (self._drafted_turn == turn and not _has_draft(stream)):
            return  # Its cards are on their way, and their message brings us here again.
        move = choose(seen, self.seat, self._secret, self._style)
        if move is None or isinstance(move, ReserveMove | StakeAnswer):
            return
        can_check = stream.decision is not None and stream.decision.can_check
        await asyncio.sleep(until - loop.time())
        try:
            await self._make(stream, turn, move)
        except DiwanError as refusal:
            await self._after_refusal(stream, turn, refusal, can_check=can_check)

    async def _make(self, stream: SeatStream, turn: int, move: Move) -> None:
        request_id = new_request_id()
        async for attempt in stamina.retry_context(
            on=_is_outage, attempts=ACT_ATTEMPTS_MAX, timeout=None, wait_initial=0.05, wait_max=1.0
        ):
            with attempt:
                if _asked_turn(stream) != turn:
                    return
                await _say(stream, turn, move, request_id)
        if isinstance(move, SetRows) and not move.is_final:
            self._drafted_turn = turn
        elif not isinstance(move, PowerUse):  # After a power the turn goes on, and after a draft.
            self._answered_turn = turn
        self.decisions += 1
        self._decided()

    async def _after_refusal(self, stream: SeatStream, turn: int, refusal: DiwanError, *, can_check: bool) -> None:
        if _is_outage(refusal):
            return  # The decision is still open, and the next message brings us here again.
        self._answered_turn = turn
        if refusal.reason in _TOO_LATE:
            _log.info("decision_late", player=self.assignment.player, reason=refusal.reason)
            return
        # The table never waits for a bot's mistake.
        _log.error("decision_refused", player=self.assignment.player, reason=refusal.reason, facts=refusal.metadata)
        if stream.table is not None and capsa.is_capsa(stream.table):
            return  # The clock sets for it (CS-28) and plays (CS-31).
        try:
            await self._make(stream, turn, Choice("check" if can_check else "fold"))
        except DiwanError as again:
            _log.error("decision_refused", player=self.assignment.player, reason=again.reason, facts=again.metadata)

    async def _has_answered_stake(self, stream: SeatStream, table: view_pb2.TableView) -> bool:
        """Answer an offer of Capsa (CS-62), and say so; a refusal is no more than an offer that has changed."""
        if (
            self.seat is None
            or table.version < self._reached
            or not any(o.other == self.seat for o in table.capsa.offers)
        ):
            return False
        move = choose(capsa.seen_by(stream, table, self.seat), self.seat, self._secret, self._style)
        if not isinstance(move, StakeAnswer):
            return False
        try:
            result = await stream.say_stake(capsa.stake_message(move))
            self._reached = result.last_version
        except DiwanError as refusal:
            _log.info("not_granted", player=self.assignment.player, wish="stake", reason=refusal.reason)
            return False
        return True

    async def _between_hands(self, stream: SeatStream, table: view_pb2.TableView, own: view_pb2.SeatView) -> None:
        """Stand up where asked to, else see to chips and to being dealt in."""
        if self.assignment.is_entrant:
            return  # Its tournament sees to its seat and its chips.
        if capsa.is_capsa(table) and not self._is_leaving and await self._has_answered_stake(stream, table):
            return
        wish = self._wish(table, own)
        now = asyncio.get_running_loop().time()
        if wish is None or table.version < self._reached or now < self._not_before.get(wish, 0.0):
            return
        try:
            await self._ask(wish, _amount(table, own, self.assignment.buy_in))
        except DiwanError as refusal:
            self._not_before[wish] = now + ASK_AGAIN_SECONDS
            # Without chips a bot makes room; what is under way already, or nobody answered, comes up again by itself.
            self._is_leaving = self._is_leaving or refusal.reason in _NO_CHIPS
            _log.info("not_granted", player=self.assignment.player, wish=wish, reason=refusal.reason)

    def _wish(self, table: view_pb2.TableView, own: view_pb2.SeatView) -> _Wish | None:
        if own.status == view_pb2.SEAT_STATUS_LEAVING or table.is_closing:
            return None
        if self._is_leaving:
            return "stand_up"
        if any(short.seat == own.seat for short in table.capsa.shortages):
            return "top_up" if own.stack < table.config.buy_in_max else "stand_up"
        if own.status != view_pb2.SEAT_STATUS_SITTING_OUT:
            return None
        return "top_up" if own.stack == 0 else "come_back"

    async def _ask(self, wish: _Wish, amount: int) -> None:
        table_id = self.assignment.table_id
        match wish:
            case "stand_up":
                await self._stand_up()
            case "top_up":
                result = await self._tables.top_up(table_id, amount)
                self._reached = result.last_version
            case "come_back":
                result = await self._tables.set_sitting_out(table_id, is_sitting_out=False, post_at_once=True)
                self._reached = result.last_version

    async def _stand_up(self) -> None:
        try:
            result = await self._tables.stand_up(self.assignment.table_id, is_yielding=self._is_yielding)
            self._reached = result.last_version
        except DiwanError as refusal:
            if refusal.reason not in _GONE:
                raise


def _is_in_play(table: view_pb2.TableView, own: view_pb2.SeatView) -> bool:
    """Whether the seat has chips at stake in a running hand."""
    is_running = table.HasField("hand") and table.hand.street != hand_pb2.STREET_OVER
    return is_running and own.in_hand and not own.has_folded


def _asked_turn(stream: SeatStream) -> int | None:
    """Return what an answer of the seat must name, None where nothing is asked of it."""
    if stream.table is not None and capsa.is_capsa(stream.table):
        return capsa.asked_turn(stream)
    if stream.window is not None:
        return stream.window.turn
    return None if stream.decision is None else stream.decision.turn


def _seconds_to_answer(table: view_pb2.TableView) -> float:
    if capsa.is_capsa(table):
        return capsa.seconds_to_answer(table)
    hand = table.config.hand
    return hand.naiko.response_seconds if table.hand.naiko.HasField("window") else hand.decision_seconds


def _seen(stream: SeatStream, table: view_pb2.TableView, seat: int) -> SeatedView | CapsaSeen | None:
    """Return what the seat is sent, None while cards that its view speaks of have not come yet."""
    private = stream.private
    if private is None or private.hand_id != table.hand.hand_id:
        return None
    if capsa.is_capsa(table):
        return capsa.seen_by(stream, table, seat)
    used = next((each.used for each in table.hand.naiko.seats if each.seat == seat), ())
    has_glanced, has_discarded = private.HasField("glanced"), private.HasField("discarded")
    if ("hidden_glance" in used and not has_glanced) or ("sleeve_trick" in used and not has_discarded):
        return None
    return SeatedView(
        read_table_view(table),
        {seat: tuple(reveal.card for reveal in private.reveals)},
        {seat: private.glanced.card} if has_glanced else {},
        {seat: private.discarded.card} if has_discarded else {},
    )


def _has_draft(stream: SeatStream) -> bool:
    return stream.private is not None and stream.private.capsa.HasField("draft")


def _amount(table: view_pb2.TableView, own: view_pb2.SeatView, buy_in: int) -> int:
    """Return what to bring: a buy-in, and in Capsa what is missing to one, since a stack may be there already."""
    return max(1, buy_in - own.stack) if capsa.is_capsa(table) else buy_in


async def _say(stream: SeatStream, turn: int, move: Move, request_id: str) -> None:
    """Send a move; raises `DiwanError`."""
    match move:
        case Choice():
            await stream.act(turn, move.kind, to=move.to, request_id=request_id)
        case PowerUse():
            held = stream.held if move.discard is not None else ()
            discard = next((reveal.position for reveal in held if reveal.card == move.discard), None)
            await stream.use_power(turn, move.power, target=move.target, discard=discard, request_id=request_id)
        case AnchorAnswer():
            await stream.answer_anchor(turn, move.answer, request_id=request_id)
        case _:
            await capsa.say(stream, turn, move, request_id)


def _is_outage(error: Exception) -> bool:
    """Whether nobody answered, or not yet: the same request under the same id may be answered later."""
    if not isinstance(error, DiwanError):
        return False
    return error.can_be_retried or error.code is grpc.StatusCode.UNAVAILABLE
