"""Streams: a seat's `Play`, and `Watch` for everybody."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Final

from diwan.api.table.v1 import capsa_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.actors import Answer
from diwan.chassis.calls import Call
from diwan.chassis.errors import refusal_of
from diwan.chassis.ids import command_id_of
from diwan.chassis.pace import Pace
from diwan.core.decider import Rejected
from diwan.core.table.state import SeatState
from services.table import fields
from services.table.acting import acting, answering, play_hash, using
from services.table.actor import Actor
from services.table.arranging import arranging, staking
from services.table.asking import ASKS_A_PLAYER_MAX, Ask, Build
from services.table.entry import let_in, viewer_of
from services.table.ids import hand_id_of
from services.table.pace import paced
from services.table.tables import Tables
from services.table.watchers import Watcher

UNANSWERED_MAX: Final = ASKS_A_PLAYER_MAX // 3
"""Decisions of one stream under way; the next one is read when one of them is answered."""

REFUSED_SECONDS: Final = 0.02
"""After what is refused at once the stream is read on a little later: nonsense costs its sender time, not others."""

ECHO_CHARACTERS_MAX: Final = 64
"""A request id longer than that is none, and is not kept to be sent back."""


class TableStreams:
    """The streams of ``TableService``: each lets a watcher in, hands it to be written from, and lets it go."""

    def __init__(self, tables: Tables, pace: Pace) -> None:
        self._tables = tables
        self._pace = pace

    async def Watch(self, request: pb.WatchRequest, call: Call) -> AsyncGenerator[Watcher, None]:
        """Follow a table; a seat's holder also gets the seat's own cards."""
        holds = call.caller.role in {Role.PLAYER, Role.BOT} or bool(request.on_behalf_of)
        player = call.caller.seat_holder(request.on_behalf_of) if holds else None
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        viewer = viewer_of(call, request.on_behalf_of)
        let_in(actor, viewer)
        watcher = Watcher(actor.hub.snapshot, player, is_seat=False, is_bot=viewer.is_bot)
        actor.hub.attach(watcher, request.after_version)
        try:
            yield watcher
        finally:
            actor.hub.detach(watcher)

    async def Play(self, requests: AsyncIterator[pb.PlayRequest], call: Call) -> AsyncGenerator[Watcher, None]:
        """Hold a seat: updates and answers down, decisions and seeds up."""
        attach = await anext(requests, None)
        if attach is None or attach.WhichOneof("message") != "attach":
            raise Rejected("STREAM_OUT_OF_ORDER")
        player = call.caller.seat_holder(attach.attach.on_behalf_of)
        actor = await self._tables.get(fields.an_id(attach.attach.table_id, "table_id"))
        viewer = viewer_of(call, attach.attach.on_behalf_of)
        let_in(actor, viewer)
        watcher = Watcher(actor.hub.snapshot, player, is_bot=viewer.is_bot)
        actor.hub.attach(watcher, attach.attach.after_version)
        actor.came(player)
        reader = _Reader(actor, watcher, player, call.caller.subject, self._pace)
        reading = asyncio.create_task(reader.read(requests), name=f"play-{player}")
        try:
            yield watcher
        finally:
            actor.hub.detach(watcher)
            actor.left(player)
            reading.cancel()


class _Reader:
    """Takes what one seat says. Nothing waits here for the table: answers come as frames of the stream."""

    def __init__(self, actor: Actor, watcher: Watcher, player: str, subject: str, pace: Pace) -> None:
        self._actor = actor
        self._watcher = watcher
        self._player = player
        self._subject = subject
        self._pace = pace
        self._unanswered = 0
        self._has_room: asyncio.Future[None] | None = None

    async def read(self, requests: AsyncIterator[pb.PlayRequest]) -> None:
        """Take messages until the caller has said everything, then end the stream when all is answered."""
        try:
            async for request in requests:
                self._watcher.heard()
                if not self._take(request):
                    await asyncio.sleep(REFUSED_SECONDS)
                while self._unanswered >= UNANSWERED_MAX:
                    await self._answered_one()
            while self._unanswered:
                await self._answered_one()
            self._watcher.end()
        except Rejected as refusal:
            self._watcher.end(refusal)

    async def _answered_one(self) -> None:
        self._has_room = asyncio.get_running_loop().create_future()
        await self._has_room

    def _take(self, request: pb.PlayRequest) -> bool:
        """Begin what a message asks for; False where it was refused at once."""
        kind = request.WhichOneof("message")
        if kind is None:
            raise Rejected("REQUEST_MALFORMED")
        if kind == "attach":
            raise Rejected("STREAM_OUT_OF_ORDER")
        try:
            if kind == "action":
                self._ask(request.request_id, "Act", acting, request.action)
            elif kind == "use_power":
                self._ask(request.request_id, "UsePower", using, request.use_power)
            elif kind == "answer_anchor":
                self._ask(request.request_id, "AnswerAnchor", answering, request.answer_anchor)
            elif kind == "capsa":
                self._ask(request.request_id, "ActCapsa", arranging(self._actor.cards), request.capsa)
            elif kind == "pair_stake":
                self._ask(request.request_id, "SetPairStake", paced(self._pace, staking), request.pair_stake)
            elif kind == "commit_seed":
                self._commit_seed(request.commit_seed)
            elif kind == "open_seed":
                self._open_seed(request.open_seed)
        except Rejected as refusal:
            self._tell(request.request_id if len(request.request_id) <= ECHO_CHARACTERS_MAX else "", refusal)
            return False
        return True

    def _ask[S: (pb.Action, pb.PowerUse, pb.AnchorAnswer, capsa_pb2.CapsaAction, capsa_pb2.PairStakeAction)](
        self, request_id: str, method: str, building: Callable[[S, str, int], Build], said: S
    ) -> None:
        """Ask the table for what was said; ``building`` makes the command of it."""
        fields.request_id(request_id)

        ask = Ask(
            building(said, self._player, self._actor.clock.now_ms()),
            partial(self._answered, request_id),
            command_id=command_id_of(self._subject, request_id),
            caller=self._subject,
            request_hash=play_hash(method, self._actor.table_id, self._player, said),
            asker=self._player,
            refusals_of=self._player,
        )
        self._unanswered += 1
        try:
            self._actor.post(ask)
        except Rejected:
            self._unanswered -= 1
            raise

    def _answered(self, request_id: str, outcome: Answer | Rejected) -> None:
        self._unanswered -= 1
        if self._has_room is not None and not self._has_room.done():
            self._has_room.set_result(None)
        self._tell(request_id, outcome)

    def _commit_seed(self, message: pb.CommitSeed) -> None:
        actor = self._actor
        actor.seeds.commit(actor.state, self._seat(), message.hand_no, message.commitment)
        actor.wake()

    def _open_seed(self, message: pb.OpenSeed) -> None:
        actor = self._actor
        hand_id = hand_id_of(actor.table_id, actor.state.hand_no + 1)
        actor.seeds.open(actor.state, self._seat(), message.hand_no, message.seed, hand_id)
        actor.wake()

    def _seat(self) -> SeatState:
        seat = self._actor.state.seat_of(self._player)
        if seat is None:
            raise Rejected("NOT_SEATED")
        return seat

    def _tell(self, request_id: str, outcome: Answer | Rejected) -> None:
        result = result_message(request_id, outcome).SerializeToString()
        if isinstance(outcome, Rejected) or outcome.is_replayed:
            self._watcher.tell(result)
        else:
            self._watcher.tell_with_update(result)


def result_message(request_id: str, outcome: Answer | Rejected) -> pb.CommandResult:
    """Return what became of a request as the contract says it."""
    if isinstance(outcome, Rejected):
        return pb.CommandResult(request_id=request_id, refusal=refusal_of(outcome))
    return pb.CommandResult(
        request_id=request_id,
        first_version=outcome.first_version,
        last_version=outcome.last_version,
        is_replayed=outcome.is_replayed,
    )
