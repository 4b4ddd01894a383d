"""Sitting down, bringing chips, sitting out, leaving, deciding: requests of a seat's holder as asks of its table."""

from functools import partial
from uuid import UUID

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import waiting_pb2
from diwan.chassis.access import Role
from diwan.chassis.actors import Answer
from diwan.chassis.calls import Call
from diwan.chassis.errors import rejected_of
from diwan.chassis.ids import command_id_of
from diwan.chassis.pace import Pace
from diwan.chassis.store import EventStore
from diwan.core.decider import Rejected
from diwan.core.table.commands import CloseTable, RequestSeat, RequestTopUp, SitIn, SitOut, StandUp, TableCommand
from diwan.core.table.events import BuyInRequested, SeatCause, TableEvent
from diwan.core.table.hosting.entry import check_entry
from diwan.core.table.state import TableState
from diwan.core.table.waiting.commands import StopWaiting, WaitForSeat
from diwan.core.table.waiting.events import SeatHeld
from services.table import fields
from services.table.acting import acting, answering, play_hash, using
from services.table.actor import Actor
from services.table.arranging import arranging, staking
from services.table.asking import Build, Reply, no_reply
from services.table.entry import let_in, viewer_of
from services.table.exclusions import Exclusions
from services.table.ids import resolution_id_of, transfer_id_of
from services.table.index import Index
from services.table.pace import paced
from services.table.saga import BuyIns
from services.table.tables import Tables

type SeatRequest = (
    pb.SitDownRequest
    | pb.TopUpRequest
    | pb.SetSittingOutRequest
    | pb.StandUpRequest
    | waiting_pb2.WaitForSeatRequest
    | waiting_pb2.StopWaitingRequest
)
type PlayedRequest = (
    pb.ActRequest | pb.UsePowerRequest | pb.AnswerAnchorRequest | pb.ActCapsaRequest | pb.SetPairStakeRequest
)


class Seats:
    """What a player, or a back end for one, asks of a table. All raise `Rejected`."""

    def __init__(
        self,
        tables: Tables,
        store: EventStore,
        index: Index,
        buy_ins: BuyIns,
        pace: Pace,
        exclusions: Exclusions,
        *,
        tables_per_player_max: int,
    ) -> None:
        self._tables = tables
        self._store = store
        self._index = index
        self._buy_ins = buy_ins
        self._tables_max = tables_per_player_max
        self._pace = pace
        self._exclusions = exclusions
        self._sitting: set[tuple[str, UUID]] = set()

    async def sit_down(self, request: pb.SitDownRequest, call: Call) -> tuple[Answer, int]:
        """Reserve a seat and wait for the wallet's answer; returns the seat too."""
        player, actor = await self._asked(request, call)
        is_free = not request.amount and actor.state.config.match is not None
        if not is_free:
            fields.amount(request.amount)
        elsewhere = await self._index.tables_of(player)
        kept = await self._exclusions.of(player)
        transfer = transfer_id_of(actor.table_id, command_id_of(call.caller.subject, request.request_id))

        def build(state: TableState) -> RequestSeat:
            # First the door: who is not invited learns nothing of who sits inside.
            check_entry(state, player, actor.clock.now_ms(), is_bot=call.caller.role is Role.BOT)
            kept.check(state, player)
            if state.seat_of(player) is None:
                self._check_tables(self._other_tables(player, actor, elsewhere))
            self._sitting.add((player, actor.table_id))
            return RequestSeat(
                player,
                call.caller.role is Role.BOT,
                request.seat if request.HasField("seat") else None,
                request.amount,
                str(transfer),
                request.post_at_once,
                actor.clock.now_ms(),
            )

        try:
            answer = await self._ask(actor, request, call, build, reply=_seat_reply, changes_of=player)
        finally:
            self._sitting.discard((player, actor.table_id))
        if not is_free:
            await self._wait_for_wallet(actor, str(transfer))
        return answer, pb.SitDownResponse.FromString(answer.reply).seat

    def _other_tables(self, player: str, actor: Actor, elsewhere: set[UUID]) -> set[UUID]:
        """Return where else a player sits: in this process for certain, elsewhere as far as the index has come."""
        here = {each.table_id for each in self._tables.live()}
        # Several tables may be asked at once: who has been let in is counted before the table has said so.
        sitting = {table_id for asking, table_id in self._sitting if asking == player}
        elsewhere = {each for each in elsewhere if each not in here}
        return (self._tables.tables_of(player) | sitting | elsewhere) - {actor.table_id}

    def _check_tables(self, others: set[UUID]) -> None:
        if len(others) >= self._tables_max:
            raise Rejected("TOO_MANY_TABLES", max=self._tables_max)

    def _waits_at(self, player: str) -> set[UUID]:
        """Return at which tables of this process a player stands in line: each may keep a seat for it."""
        return {each.table_id for each in self._tables.live() if each.state.line.of(player) is not None}

    async def top_up(self, request: pb.TopUpRequest, call: Call) -> Answer:
        """Ask for more chips and wait for the wallet's answer."""
        player, actor = await self._asked(request, call)
        fields.amount(request.amount)
        transfer = transfer_id_of(actor.table_id, command_id_of(call.caller.subject, request.request_id))

        def build(_state: TableState) -> RequestTopUp:
            return RequestTopUp(player, request.amount, str(transfer), actor.clock.now_ms())

        answer = await self._ask(actor, request, call, build, changes_of=player)
        await self._wait_for_wallet(actor, str(transfer))
        return answer

    async def _wait_for_wallet(self, actor: Actor, transfer_id: str) -> None:
        """Return when the chips have come; raises the wallet's refusal, or WALLET_UNAVAILABLE while it is not known."""
        await self._buy_ins.settled(transfer_id)
        recorded = await self._store.outcome(actor.table_id, resolution_id_of(actor.table_id, transfer_id))
        if recorded is None:
            raise Rejected("WALLET_UNAVAILABLE")
        if recorded.reply:
            raise rejected_of(pb.Refusal.FromString(recorded.reply))

    async def set_sitting_out(self, request: pb.SetSittingOutRequest, call: Call) -> Answer:
        """Sit out, or come back."""
        player, actor = await self._asked(request, call)

        def build(_state: TableState) -> SitOut | SitIn:
            now = actor.clock.now_ms()
            if request.is_sitting_out:
                return SitOut(player, "player", now)
            return SitIn(player, request.post_at_once, now)

        return await self._ask(actor, request, call, build, changes_of=player)

    async def stand_up(self, request: pb.StandUpRequest, call: Call) -> Answer:
        """Leave, or be removed by an operator; a bot says whether it makes room (CL-6)."""
        player, actor = await self._asked(request, call)
        cause: SeatCause = "player"
        by = ""
        if call.caller.role is Role.OPERATOR:
            cause, by = "operator", call.caller.subject
        if request.is_yielding:
            if call.caller.role is not Role.BOT:
                raise Rejected("FIELD_INVALID", field="is_yielding", why="only a bot makes room")
            cause = "yielded"
        return await self._ask(actor, request, call, lambda _: StandUp(player, cause, actor.clock.now_ms(), by))

    async def wait_for_seat(
        self, request: waiting_pb2.WaitForSeatRequest, call: Call
    ) -> waiting_pb2.WaitForSeatResponse:
        """Stand in line for a seat; says so where one is kept already (CL-6)."""
        player, actor = await self._asked(request, call)
        elsewhere = await self._index.tables_of(player)
        kept = await self._exclusions.of(player)

        def build(state: TableState) -> WaitForSeat:
            check_entry(state, player, actor.clock.now_ms())
            kept.check(state, player)
            # Nobody has seats kept at more tables than may be sat at: a kept seat is refused to everybody else.
            self._check_tables(
                (self._other_tables(player, actor, elsewhere) | self._waits_at(player)) - {actor.table_id}
            )
            self._sitting.add((player, actor.table_id))
            return WaitForSeat(player, actor.clock.now_ms())

        try:
            answer = await self._ask(actor, request, call, build, reply=partial(_wait_reply, player), changes_of=player)
        finally:
            self._sitting.discard((player, actor.table_id))
        response = waiting_pb2.WaitForSeatResponse.FromString(answer.reply)
        response.version = answer.first_version
        return response

    async def stop_waiting(
        self, request: waiting_pb2.StopWaitingRequest, call: Call
    ) -> waiting_pb2.StopWaitingResponse:
        """Stand in line no more."""
        player, actor = await self._asked(request, call)
        answer = await self._ask(
            actor, request, call, lambda _: StopWaiting(player, actor.clock.now_ms()), changes_of=player
        )
        return waiting_pb2.StopWaitingResponse(version=answer.first_version)

    async def act(self, request: pb.ActRequest, call: Call) -> Answer:
        """Decide; the same request id by stream is the same request."""
        player, actor = await self._asked(request, call)
        if not request.HasField("action"):
            raise Rejected("FIELD_REQUIRED", field="action")
        build = acting(request.action, player, actor.clock.now_ms())
        return await self._say(
            actor, request, call, player, build, play_hash("Act", actor.table_id, player, request.action)
        )

    async def use_power(self, request: pb.UsePowerRequest, call: Call) -> Answer:
        """Use a power of Naiko; the same request id by stream is the same request."""
        player, actor = await self._asked(request, call)
        if not request.HasField("use"):
            raise Rejected("FIELD_REQUIRED", field="use")
        build = using(request.use, player, actor.clock.now_ms())
        hashed = play_hash("UsePower", actor.table_id, player, request.use)
        return await self._say(actor, request, call, player, build, hashed)

    async def answer_anchor(self, request: pb.AnswerAnchorRequest, call: Call) -> Answer:
        """Answer an Anchor; the same request id by stream is the same request."""
        player, actor = await self._asked(request, call)
        if not request.HasField("answer"):
            raise Rejected("FIELD_REQUIRED", field="answer")
        build = answering(request.answer, player, actor.clock.now_ms())
        hashed = play_hash("AnswerAnchor", actor.table_id, player, request.answer)
        return await self._say(actor, request, call, player, build, hashed)

    async def act_capsa(self, request: pb.ActCapsaRequest, call: Call) -> Answer:
        """Decide in a hand of Capsa; the same request id by stream is the same request."""
        player, actor = await self._asked(request, call)
        if not request.HasField("action"):
            raise Rejected("FIELD_REQUIRED", field="action")
        build = arranging(actor.cards)(request.action, player, actor.clock.now_ms())
        hashed = play_hash("ActCapsa", actor.table_id, player, request.action)
        return await self._say(actor, request, call, player, build, hashed)

    async def set_pair_stake(self, request: pb.SetPairStakeRequest, call: Call) -> Answer:
        """Say something about a stake of a pair's own; the same request id by stream is the same request."""
        player, actor = await self._asked(request, call)
        if not request.HasField("stake"):
            raise Rejected("FIELD_REQUIRED", field="stake")
        build = paced(self._pace, staking)(request.stake, player, actor.clock.now_ms())
        hashed = play_hash("SetPairStake", actor.table_id, player, request.stake)
        return await self._say(actor, request, call, player, build, hashed)

    async def _say(
        self, actor: Actor, request: PlayedRequest, call: Call, player: str, build: Build, hashed: bytes
    ) -> Answer:
        return await actor.ask(
            build,
            command_id=command_id_of(call.caller.subject, request.request_id),
            caller=call.caller.subject,
            request_hash=hashed,
            asker=player,
            refusals_of=player,
        )

    async def close_table(self, request: pb.CloseTableRequest, call: Call) -> Answer:
        """End a table after the running hand."""
        fields.request_id(request.request_id)
        by = call.caller.subject
        is_host = call.caller.role is Role.PLAYER or bool(request.on_behalf_of)
        if is_host:
            by = call.caller.acting_player(request.on_behalf_of)
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        viewer = viewer_of(call, request.on_behalf_of)

        def build(state: TableState) -> CloseTable:
            # Looked at here, where what took effect before never comes: its first answer is given again (H6).
            let_in(actor, viewer)
            if state.config.tournament is not None:
                raise Rejected("TOURNAMENT_TABLE", table_id=str(actor.table_id))
            if is_host and by != state.hosting.host:
                raise Rejected("NOT_HOST")
            return CloseTable(by, actor.clock.now_ms())

        return await self._ask(actor, request, call, build)

    async def _asked(
        self,
        request: SeatRequest | PlayedRequest,
        call: Call,
    ) -> tuple[str, Actor]:
        # Who may ask at all stands in the contract; an operator removes whom it names.
        player = call.caller.acting_player(request.on_behalf_of)
        fields.request_id(request.request_id)
        return player, await self._tables.get(fields.an_id(request.table_id, "table_id"))

    async def _ask(
        self,
        actor: Actor,
        request: SeatRequest | pb.CloseTableRequest,
        call: Call,
        build: Build,
        reply: Reply = no_reply,
        *,
        changes_of: str | None = None,
    ) -> Answer:
        """Ask a table; ``changes_of`` names the player who may change only so much in a time."""

        def paced(state: TableState) -> TableCommand:
            # Counted here, where what took effect before never comes: a retry is free.
            if changes_of is not None:
                self._pace.take(changes_of)
            return build(state)

        return await actor.ask(
            paced,
            command_id=command_id_of(call.caller.subject, request.request_id),
            caller=call.caller.subject,
            request_hash=call.request_hash(request),
            reply=reply,
            asker=changes_of or call.caller.subject,
        )


def _seat_reply(events: tuple[TableEvent, ...]) -> bytes:
    """Record which seat it was: a later asker is told the same."""
    assert isinstance(events[0], BuyInRequested), "sitting down begins with the request"  # noqa: S101
    return pb.SitDownResponse(seat=events[0].seat).SerializeToString()


def _wait_reply(player: str, events: tuple[TableEvent, ...]) -> bytes:
    """Record the seat that is kept for who has just come into the line, where there is one."""
    held = next((each for each in events if isinstance(each, SeatHeld) and each.player == player), None)
    if held is None:
        return waiting_pb2.WaitForSeatResponse().SerializeToString()
    return waiting_pb2.WaitForSeatResponse(seat=held.seat, until_ms=held.until_ms).SerializeToString()
