"""A seat's stream as a player's program sees it: messages down, decisions up, seeds and proofs by themselves."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Self
from uuid import uuid4

import grpc

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import capsa_pb2, view_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.client.connection import Connection
from diwan.client.errors import DiwanError, error_of_refusal
from diwan.client.fair import ProofKeeper, SeedKeeper
from diwan.client.saying import Rows, action_of, capsa_answer, rows_message
from diwan.client.streams import (
    PATIENCE_SECONDS,
    Backoff,
    is_unknown_version,
    read_message,
    version_after,
    write_message,
)

ANSWER_SECONDS_MAX: Final = 10.0
UNREAD_MESSAGES_MAX: Final = 1024


class SeatStream:
    """A seat's `Play` stream that survives its connections.

    Use it as ``async with tables.play(...) as seat: async for message in seat``. Decisions are sent with `act`, also
    from inside the loop; one that is unanswered when a connection breaks is sent again under the same request id.
    ``table`` and ``private`` are the newest views, ``presence`` tells who is there. Iteration raises `DiwanError` when the stream cannot be had again
    and `ProofFailed` when the house broke a commitment. REPLACED says that the player has opened the seat elsewhere: it is
    not opened again by itself, or two devices would take it from each other for ever.
    """

    def __init__(
        self,
        connection: Connection,
        method: Any,
        attach: pb.Attach,
        player: str,
        *,
        contributes_seeds: bool = True,
        patience_seconds: float = PATIENCE_SECONDS,
        on_line: Callable[[bool], None] | None = None,
    ) -> None:
        self.player = player
        self.table: view_pb2.TableView | None = None
        self.private: view_pb2.PrivateView | None = None
        self.presence: view_pb2.Presence | None = None
        self.proofs = ProofKeeper()
        self._connection = connection
        self._method = method
        self._attach = attach
        self._contributes_seeds = contributes_seeds
        self._seeds = SeedKeeper()
        self._backoff = Backoff(patience_seconds)
        self._on_line = on_line
        self._is_off_line = False
        self._messages: asyncio.Queue[pb.PlayResponse | BaseException | None] = asyncio.Queue()
        self._has_room = asyncio.Event()
        self._unanswered: dict[str, tuple[pb.PlayRequest, asyncio.Future[pb.CommandResult]]] = {}
        self._writing = asyncio.Lock()
        self._call: Any = None
        self._is_resumed = False
        self._decided_turn = 0
        self._used_version = 0  # a power's own: views before it are of the past
        self._task: asyncio.Task[None] | None = None

    @property
    def version(self) -> int:
        """The newest version that has arrived."""
        return self._attach.after_version

    @property
    def seat(self) -> int | None:
        """Our seat, if we have one."""
        seats = () if self.table is None else self.table.seats
        return next((seat.seat for seat in seats if seat.player == self.player), None)

    @property
    def held(self) -> Sequence[hand_pb2.Reveal]:
        """Our own cards of the hand in view; empty until they have come, which is right behind the view."""
        private, table = self.private, self.table
        if private is None or table is None or private.hand_id != table.hand.hand_id:
            return ()
        return private.reveals

    @property
    def window(self) -> view_pb2.ResponseWindow | None:
        """The open response window of a Short Anchor, if it is ours to answer and we have not."""
        table = self.table
        if table is None or not table.hand.naiko.HasField("window"):
            return None
        window = table.hand.naiko.window
        return window if window.seat == self.seat and window.turn > self._decided_turn else None

    @property
    def powers(self) -> Sequence[view_pb2.PowerOffer]:
        """The powers that we may use now, before we act or, with the Seal Shield, to answer."""
        table, seat = self.table, self.seat
        if table is None or seat is None or table.version < self._used_version:
            return ()
        return [offer for offer in table.hand.naiko.powers if offer.seat == seat and not offer.why_not]

    @property
    def decision(self) -> view_pb2.Decision | None:
        """The open decision, if it is ours and we have not made it: the view may be older than our answer."""
        table = self.table
        if table is None or not table.HasField("hand") or not table.hand.HasField("decision"):
            return None
        if table.version < self._used_version:
            return None
        decision = table.hand.decision
        return decision if decision.seat == self.seat and decision.turn > self._decided_turn else None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name=f"seat of {self.player}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the stream; decisions without an answer fail with UNKNOWN_OUTCOME."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._fail_unanswered()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pb.PlayResponse:
        """Return the next message; answers to decisions are left out, `act` returns those."""
        message = await self._messages.get()
        self._has_room.set()
        if isinstance(message, pb.PlayResponse):
            return message
        # Whoever asks again is told the same again.
        self._messages.put_nowait(message)
        if message is None:
            raise StopAsyncIteration
        raise message

    async def act(
        self,
        turn: int,
        kind: int | str,
        *,
        to: int = 0,
        is_all_in: bool = False,
        request_id: str | None = None,
        seconds: float = ANSWER_SECONDS_MAX,
    ) -> pb.CommandResult:
        """Decide. ``kind`` is an ActionKind or "fold", "check", "call", "bet", "raise", "sarab"; ``to`` a total.

        All chips, in Sarab the sarab: ``is_all_in``, or "sarab" for ``kind``.

        Raises `DiwanError`: the refusal, or UNKNOWN_OUTCOME when no answer came; ask again with the same id then.
        """
        action = action_of(turn, kind, to, is_all_in=is_all_in)
        result = await self._ask(pb.PlayRequest(request_id=_id(request_id), action=action), seconds)
        self._decided_turn = max(self._decided_turn, turn)
        return result

    async def use_power(
        self,
        turn: int,
        power: str,
        *,
        target: int | None = None,
        discard: int | None = None,
        request_id: str | None = None,
        seconds: float = ANSWER_SECONDS_MAX,
    ) -> pb.CommandResult:
        """Use a power of Naiko before acting: "hidden_glance", "sleeve_trick" or "short_anchor". Raises as `act` does.

        ``target`` is the seat of the Anchor; ``discard`` the position of the own card that the Trick throws away.
        """
        use = pb.PowerUse(turn=turn, power=power, target=target, discard=discard)
        result = await self._ask(pb.PlayRequest(request_id=_id(request_id), use_power=use), seconds)
        self._used_version = max(self._used_version, result.last_version)
        return result

    async def answer_anchor(
        self, turn: int, answer: str, *, request_id: str | None = None, seconds: float = ANSWER_SECONDS_MAX
    ) -> pb.CommandResult:
        """Answer a Short Anchor: "seal_shield" or "pass"; ``turn`` is the window's. Raises as `act` does."""
        said = pb.AnchorAnswer(turn=turn, answer=answer)
        result = await self._ask(pb.PlayRequest(request_id=_id(request_id), answer_anchor=said), seconds)
        self._decided_turn = max(self._decided_turn, turn)
        return result

    @property
    def capsa_decision(self) -> capsa_pb2.CapsaDecision | None:
        """The open decision of a hand of Capsa, if we are asked; who has locked may still unlock until all have."""
        table = self.table
        if table is None or not table.hand.capsa.HasField("decision") or table.version < self._used_version:
            return None
        decision = table.hand.capsa.decision
        return decision if self.seat in decision.seats and decision.turn > self._decided_turn else None

    async def save_draft(
        self, turn: int, rows: Rows, *, request_id: str | None = None, seconds: float = ANSWER_SECONDS_MAX
    ) -> pb.CommandResult:
        """Keep front, middle and back as cards, complete or not, for when time runs out. Raises as `act` does."""
        action = capsa_pb2.CapsaAction(turn=turn, save_draft=rows_message(rows))
        return await self._ask(pb.PlayRequest(request_id=_id(request_id), capsa=action), seconds)

    async def lock_set(
        self,
        turn: int,
        rows: Rows,
        *,
        is_foul_confirmed: bool = False,
        request_id: str | None = None,
        seconds: float = ANSWER_SECONDS_MAX,
    ) -> pb.CommandResult:
        """Lock front, middle and back; one that fouls only if that is meant (FOULED_SET). Raises as `act` does."""
        lock = capsa_pb2.CapsaLock(rows=rows_message(rows), is_foul_confirmed=is_foul_confirmed)
        action = capsa_pb2.CapsaAction(turn=turn, lock=lock)
        result = await self._ask(pb.PlayRequest(request_id=_id(request_id), capsa=action), seconds)
        self._used_version = max(self._used_version, result.last_version)
        return result

    async def unlock(
        self, turn: int, *, request_id: str | None = None, seconds: float = ANSWER_SECONDS_MAX
    ) -> pb.CommandResult:
        """Take a locked set back while others still set. Raises as `act` does."""
        action = capsa_pb2.CapsaAction(turn=turn, unlock=capsa_pb2.CapsaUnlock())
        result = await self._ask(pb.PlayRequest(request_id=_id(request_id), capsa=action), seconds)
        self._used_version = max(self._used_version, result.last_version)
        return result

    async def answer_call(
        self, turn: int, answer: str, *, request_id: str | None = None, seconds: float = ANSWER_SECONDS_MAX
    ) -> pb.CommandResult:
        """Say "play" or "surrender". Raises as `act` does."""
        action = capsa_pb2.CapsaAction(turn=turn, answer=capsa_answer(answer))
        result = await self._ask(pb.PlayRequest(request_id=_id(request_id), capsa=action), seconds)
        self._decided_turn = max(self._decided_turn, turn)
        return result

    async def say_stake(
        self,
        stake: capsa_pb2.PairStakeAction,
        *,
        request_id: str | None = None,
        seconds: float = ANSWER_SECONDS_MAX,
    ) -> pb.CommandResult:
        """Offer, accept or end a stake with another seat of Capsa. Raises as `act` does."""
        return await self._ask(pb.PlayRequest(request_id=_id(request_id), pair_stake=stake), seconds)

    async def _ask(self, request: pb.PlayRequest, seconds: float) -> pb.CommandResult:
        if self._task is None or self._task.done():
            raise _unknown_outcome()
        request_id = request.request_id
        answer: asyncio.Future[pb.CommandResult] = asyncio.get_running_loop().create_future()
        self._unanswered[request_id] = (request, answer)
        try:
            async with asyncio.timeout(seconds):
                await self._say(request)
                result = await answer
        except TimeoutError:
            raise _unknown_outcome() from None
        finally:
            self._unanswered.pop(request_id, None)
        if result.HasField("refusal"):
            raise error_of_refusal(result.refusal)
        return result

    async def _say(self, request: pb.PlayRequest) -> None:
        async with self._writing:
            if self._call is not None:
                # What is lost with the connection is said again by the next one.
                await write_message(self._call, request)

    async def _run(self) -> None:
        end: BaseException | None = None
        try:
            while not await self._connected():
                self._is_resumed = True
        except Exception as error:
            # Raised where the messages are read.
            end = error
        finally:
            self._fail_unanswered()
            # The end stands behind everything that was received.
            self._messages.put_nowait(end)

    async def _connected(self) -> bool:
        """Hold one connection for as long as it lives; returns True when the table's story is over."""
        call = self._method(metadata=self._connection.metadata)
        try:
            async with self._writing:
                await write_message(call, pb.PlayRequest(attach=self._attach))
                self._call = call
                for request, _ in list(self._unanswered.values()):
                    await write_message(call, request)
            while isinstance(message := await read_message(call), pb.PlayResponse):
                self._backoff.reset()
                self._tell_line(is_off=False)
                await self._take(message)
            return True
        except DiwanError as error:
            if is_unknown_version(error, self._attach.after_version):
                self._attach.after_version = 0
                return False
            if error.can_be_retried:
                self._tell_line(is_off=True)
            await self._backoff.wait(error)
            return False
        finally:
            self._call = None
            call.cancel()

    def _tell_line(self, *, is_off: bool) -> None:
        if is_off != self._is_off_line:
            self._is_off_line = is_off
            if self._on_line is not None:
                self._on_line(not is_off)

    async def _take(self, message: pb.PlayResponse) -> None:
        match message.WhichOneof("message"):
            case "result":
                self._answer(message.result)
                return
            case "update":
                self._attach.after_version = version_after(message, self._attach.after_version)
                if message.update.HasField("view"):
                    await self._take_view(message.update.view)
                if message.update.HasField("result"):
                    self._answer(message.update.result)
            case "private":
                self.private = message.private
                self.proofs.take_private(message.private)
            case "presence":
                self.presence = message.presence
            case "heartbeat":
                await self._say(pb.PlayRequest(acknowledge=pb.Acknowledge(version=self.version)))
        self._messages.put_nowait(message)
        if self._messages.qsize() >= UNREAD_MESSAGES_MAX:
            # Who does not read holds up the server's writing, which knows what to do with a slow reader.
            self._has_room.clear()
            await self._has_room.wait()

    async def _take_view(self, view: view_pb2.TableView) -> None:
        self.table = view
        if view.HasField("hand") and view.hand.deck_root:
            self.proofs.take_hand(view.hand)
        seat = self.seat
        if not self._contributes_seeds or seat is None or not view.HasField("seed_exchange"):
            return
        exchange = view.seed_exchange
        if self._is_resumed and (again := self._seeds.again(exchange, seat)) is not None:
            await self._say(again)
        self._is_resumed = False
        if (said := self._seeds.answers(exchange, seat)) is not None:
            await self._say(said)

    def _answer(self, result: pb.CommandResult) -> None:
        _, answer = self._unanswered.get(result.request_id, (None, None))
        if answer is not None and not answer.done():
            answer.set_result(result)

    def _fail_unanswered(self) -> None:
        for _, answer in self._unanswered.values():
            if not answer.done():
                answer.set_exception(_unknown_outcome())


def _id(request_id: str | None) -> str:
    return request_id or str(uuid4())


def _unknown_outcome() -> DiwanError:
    return DiwanError("UNKNOWN_OUTCOME", code=grpc.StatusCode.UNAVAILABLE, is_from_server=False)
