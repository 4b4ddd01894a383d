"""Tables: open, sit, play, watch, look back."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import (
    capsa_pb2,
    exclusions_pb2,
    history_pb2,
    lobby_pb2,
    notices_pb2,
    replay_pb2,
    view_pb2,
    waiting_pb2,
)
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1.table_service_pb2_grpc import TableServiceStub
from diwan.client.connection import Connection, subject_of
from diwan.client.notices import Notices
from diwan.client.private import PrivateTables
from diwan.client.saying import action_of
from diwan.client.seat import SeatStream
from diwan.client.streams import PATIENCE_SECONDS, Watching

type MyHand = history_pb2.MyHand
"""A line of a player's own hands, as the contract has it."""

type Replay = replay_pb2.GetReplayResponse
"""A hand as somebody could have seen it, as the contract has it."""

type Eyes = Literal["", "spectator", "seat", "auditor"]


def new_request_id() -> str:
    """Return an id for a request that may be sent several times and takes effect once."""
    return str(uuid4())


class Tables:
    """The table service. ``player`` is for a back end: the player it acts for. All raise `DiwanError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = TableServiceStub(connection.channel)
        self.private = PrivateTables(connection)

    async def create(
        self, config: table_pb2.TableConfig | Mapping[str, Any], *, host: str = "", request_id: str | None = None
    ) -> view_pb2.TableView:
        """Open a table; ``config`` has the fields of TableConfig, nested ones as mappings.

        ``host`` is for a back end: the player who hosts a private table.
        """
        wanted = config if isinstance(config, table_pb2.TableConfig) else table_pb2.TableConfig(**config)
        request = pb.CreateTableRequest(request_id=request_id or new_request_id(), config=wanted, on_behalf_of=host)
        return (await self._connection.unary(self._stub.CreateTable, request)).table

    async def get(self, table_id: str, *, player: str = "") -> view_pb2.TableView:
        """Return a table as the caller may see it."""
        request = pb.GetTableRequest(table_id=table_id, on_behalf_of=player)
        return (await self._connection.unary(self._stub.GetTable, request)).table

    async def open_tables(self, *, page_size: int = 100) -> AsyncIterator[view_pb2.TableView]:
        """Iterate over all open tables."""
        request = pb.ListTablesRequest(page_size=page_size)
        async for page in self._connection.pages(self._stub.ListTables, request):
            for table in page.tables:
                yield table

    async def lobby(
        self, wanted: lobby_pb2.TableFilter | None = None, *, player: str = "", page_size: int = 100
    ) -> AsyncIterator[lobby_pb2.LobbyEntry]:
        """Iterate over open tables that fit, newest first, each with its conditions."""
        request = pb.ListTablesRequest(
            page_size=page_size, filter=wanted, detail=lobby_pb2.TABLE_DETAIL_ENTRIES, on_behalf_of=player
        )
        async for page in self._connection.pages(self._stub.ListTables, request):
            for entry in page.entries:
                yield entry

    async def conditions(self, table_id: str, *, player: str = "") -> lobby_pb2.TableConditions:
        """Return what a table is like, to look at before sitting down."""
        request = pb.GetTableRequest(table_id=table_id, on_behalf_of=player)
        return (await self._connection.unary(self._stub.GetTable, request)).conditions

    async def close(self, table_id: str, *, host: str = "", request_id: str | None = None) -> pb.CommandResult:
        """End a table after the running hand."""
        request = pb.CloseTableRequest(request_id=request_id or new_request_id(), table_id=table_id, on_behalf_of=host)
        return (await self._connection.unary(self._stub.CloseTable, request)).result

    async def sit_down(
        self,
        table_id: str,
        amount: int,
        *,
        seat: int | None = None,
        post_at_once: bool = False,
        player: str = "",
        request_id: str | None = None,
    ) -> pb.SitDownResponse:
        """Take a seat, the first free one if none is named, and buy in."""
        request = pb.SitDownRequest(
            request_id=request_id or new_request_id(),
            table_id=table_id,
            seat=seat,
            amount=amount,
            post_at_once=post_at_once,
            on_behalf_of=player,
        )
        return await self._connection.unary(self._stub.SitDown, request)

    async def top_up(
        self, table_id: str, amount: int, *, player: str = "", request_id: str | None = None
    ) -> pb.CommandResult:
        """Bring more chips; they play from the next hand."""
        request = pb.TopUpRequest(
            request_id=request_id or new_request_id(), table_id=table_id, amount=amount, on_behalf_of=player
        )
        return (await self._connection.unary(self._stub.TopUp, request)).result

    async def wait_for_seat(
        self, table_id: str, *, player: str = "", request_id: str | None = None
    ) -> waiting_pb2.WaitForSeatResponse:
        """Stand in line for a seat at a full table; a bot makes room after its hand.

        ``seat`` is there where one is kept already. The view tells of the line, `sit_down` takes the kept seat.
        """
        request = waiting_pb2.WaitForSeatRequest(
            request_id=request_id or new_request_id(), table_id=table_id, on_behalf_of=player
        )
        return await self._connection.unary(self._stub.WaitForSeat, request)

    async def stop_waiting(
        self, table_id: str, *, player: str = "", request_id: str | None = None
    ) -> waiting_pb2.StopWaitingResponse:
        """Stand in line no more."""
        request = waiting_pb2.StopWaitingRequest(
            request_id=request_id or new_request_id(), table_id=table_id, on_behalf_of=player
        )
        return await self._connection.unary(self._stub.StopWaiting, request)

    async def set_sitting_out(
        self,
        table_id: str,
        *,
        is_sitting_out: bool,
        post_at_once: bool = False,
        player: str = "",
        request_id: str | None = None,
    ) -> pb.CommandResult:
        """Sit out, or come back."""
        request = pb.SetSittingOutRequest(
            request_id=request_id or new_request_id(),
            table_id=table_id,
            is_sitting_out=is_sitting_out,
            post_at_once=post_at_once,
            on_behalf_of=player,
        )
        return (await self._connection.unary(self._stub.SetSittingOut, request)).result

    async def stand_up(
        self, table_id: str, *, is_yielding: bool = False, player: str = "", request_id: str | None = None
    ) -> pb.CommandResult:
        """Leave, after the running hand where the player is in it; ``is_yielding``: a bot makes room for a person."""
        request = pb.StandUpRequest(
            request_id=request_id or new_request_id(),
            table_id=table_id,
            on_behalf_of=player,
            is_yielding=is_yielding,
        )
        return (await self._connection.unary(self._stub.StandUp, request)).result

    async def act(
        self,
        table_id: str,
        turn: int,
        kind: int | str,
        *,
        to: int = 0,
        is_all_in: bool = False,
        player: str = "",
        request_id: str | None = None,
    ) -> pb.CommandResult:
        """Decide by a unary call; ``kind`` as in `SeatStream.act`. A refusal is raised."""
        request = pb.ActRequest(
            request_id=request_id or new_request_id(),
            table_id=table_id,
            action=action_of(turn, kind, to, is_all_in=is_all_in),
            on_behalf_of=player,
        )
        return (await self._connection.unary(self._stub.Act, request)).result

    async def use_power(
        self,
        table_id: str,
        turn: int,
        power: str,
        *,
        target: int | None = None,
        discard: int | None = None,
        player: str = "",
        request_id: str | None = None,
    ) -> pb.CommandResult:
        """Use a power of Naiko by a unary call; fields as in `SeatStream.use_power`. A refusal is raised."""
        request = pb.UsePowerRequest(
            request_id=request_id or new_request_id(),
            table_id=table_id,
            use=pb.PowerUse(turn=turn, power=power, target=target, discard=discard),
            on_behalf_of=player,
        )
        return (await self._connection.unary(self._stub.UsePower, request)).result

    async def answer_anchor(
        self, table_id: str, turn: int, answer: str, *, player: str = "", request_id: str | None = None
    ) -> pb.CommandResult:
        """Answer a Short Anchor by a unary call; fields as in `SeatStream.answer_anchor`. A refusal is raised."""
        request = pb.AnswerAnchorRequest(
            request_id=request_id or new_request_id(),
            table_id=table_id,
            answer=pb.AnchorAnswer(turn=turn, answer=answer),
            on_behalf_of=player,
        )
        return (await self._connection.unary(self._stub.AnswerAnchor, request)).result

    async def act_capsa(
        self, table_id: str, action: capsa_pb2.CapsaAction, *, player: str = "", request_id: str | None = None
    ) -> pb.CommandResult:
        """Decide in a hand of Capsa by a unary call. A refusal is raised."""
        request = pb.ActCapsaRequest(
            request_id=request_id or new_request_id(), table_id=table_id, action=action, on_behalf_of=player
        )
        return (await self._connection.unary(self._stub.ActCapsa, request)).result

    async def set_pair_stake(
        self, table_id: str, stake: capsa_pb2.PairStakeAction, *, player: str = "", request_id: str | None = None
    ) -> pb.CommandResult:
        """Offer, accept or end a stake with another seat of Capsa by a unary call. A refusal is raised."""
        request = pb.SetPairStakeRequest(
            request_id=request_id or new_request_id(), table_id=table_id, stake=stake, on_behalf_of=player
        )
        return (await self._connection.unary(self._stub.SetPairStake, request)).result

    def watch(
        self, table_id: str, *, after_version: int = 0, player: str = "", patience_seconds: float = PATIENCE_SECONDS
    ) -> Watching:
        """Follow a table from a version on: ``async with tables.watch(...) as messages: async for ...``."""
        request = pb.WatchRequest(table_id=table_id, after_version=after_version, on_behalf_of=player)
        return Watching(self._connection, self._stub.Watch, request, patience_seconds=patience_seconds)

    def notices(
        self,
        *,
        after_cursor: int | None = None,
        players: Sequence[str] = (),
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Notices:
        """Follow what is to be pushed to phones, from a cursor on; for back ends, operators and services.

        Without a cursor it begins with now; without ``players`` it tells of all that the caller may act for.
        """
        request = notices_pb2.WatchNoticesRequest(after_cursor=after_cursor, players=players)
        return Notices(self._connection, self._stub.WatchNotices, request, patience_seconds=patience_seconds)

    def play(
        self,
        table_id: str,
        *,
        after_version: int = 0,
        player: str = "",
        contributes_seeds: bool = True,
        patience_seconds: float = PATIENCE_SECONDS,
        on_line: Callable[[bool], None] | None = None,
    ) -> SeatStream:
        """Open a seat's stream: ``async with tables.play(...) as seat: async for message in seat: ...``.

        ``on_line`` is called with False when the connection is lost, and with True when it is there again.
        """
        return SeatStream(
            self._connection,
            self._stub.Play,
            pb.Attach(table_id=table_id, after_version=after_version, on_behalf_of=player),
            player or subject_of(self._connection.token()),
            contributes_seeds=contributes_seeds,
            patience_seconds=patience_seconds,
            on_line=on_line,
        )

    async def set_exclusion(
        self,
        player: str,
        *,
        reason: str,
        apart_from: str = "",
        note: str = "",
        valid_seconds: int = 0,
        request_id: str | None = None,
    ) -> exclusions_pb2.Exclusion:
        """Keep a player from all tables, or from those where ``apart_from`` sits; for operators."""
        request = exclusions_pb2.SetExclusionRequest(
            request_id=request_id or new_request_id(),
            player=player,
            apart_from=apart_from,
            reason=reason,
            note=note,
            valid_seconds=valid_seconds,
        )
        return (await self._connection.unary(self._stub.SetExclusion, request)).exclusion

    async def lift_exclusion(
        self, exclusion_id: str, *, reason: str, request_id: str | None = None
    ) -> exclusions_pb2.Exclusion:
        """Lift an exclusion; for operators."""
        request = exclusions_pb2.LiftExclusionRequest(
            request_id=request_id or new_request_id(), exclusion_id=exclusion_id, reason=reason
        )
        return (await self._connection.unary(self._stub.LiftExclusion, request)).exclusion

    async def exclusions(
        self, *, player: str = "", includes_past: bool = False, page_size: int = 100
    ) -> AsyncIterator[exclusions_pb2.Exclusion]:
        """Iterate over exclusions, newest first; for operators and auditors."""
        request = exclusions_pb2.ListExclusionsRequest(player=player, includes_past=includes_past, page_size=page_size)
        async for page in self._connection.pages(self._stub.ListExclusions, request):
            for exclusion in page.exclusions:
                yield exclusion

    async def open_hand(
        self, hand_id: str, *, seat: int | None = None, reason: str = "", case_id: str = "", player: str = ""
    ) -> pb.OpenHandResponse:
        """Look at cards that no event shows. Each opening is recorded, so it is never repeated by itself."""
        request = pb.OpenHandRequest(hand_id=hand_id, seat=seat, reason=reason, case_id=case_id, on_behalf_of=player)
        return await self._connection.unary(self._stub.OpenHand, request, is_repeatable=False)

    async def get_hand(self, hand_id: str, *, player: str = "") -> pb.GetHandResponse:
        """Return a hand's events as they are stored."""
        request = pb.GetHandRequest(hand_id=hand_id, on_behalf_of=player)
        return await self._connection.unary(self._stub.GetHand, request)

    async def replay(
        self,
        hand_id: str,
        eyes: Eyes = "",
        *,
        seat: int | None = None,
        reason: str = "",
        case_id: str = "",
        player: str = "",
        after_version: int = 0,
        page_size: int = 100,
    ) -> Replay:
        """Return a hand moment by moment, all pages: through the own seat, or whose eyes are named.

        Whoever of the house sees hidden cards gives a reason, and the look is an event of the table.
        """
        request = replay_pb2.GetReplayRequest(
            hand_id=hand_id,
            eyes=replay_pb2.ReplayEyes.Value(f"REPLAY_EYES_{eyes.upper() or 'UNSPECIFIED'}"),
            seat=seat,
            reason=reason,
            case_id=case_id,
            on_behalf_of=player,
            after_version=after_version,
            page_size=page_size,
        )
        answer = await self._connection.unary(self._stub.GetReplay, request)
        moments = list(answer.moments)
        while answer.next_page_token:
            request.page_token = answer.next_page_token
            answer = await self._connection.unary(self._stub.GetReplay, request)
            moments += answer.moments
        del answer.moments[:]
        answer.moments.extend(moments)
        return answer

    async def hands(
        self, *, table_id: str = "", player: str = "", page_size: int = 100
    ) -> AsyncIterator[pb.HandSummary]:
        """Iterate over hands, newest first."""
        request = pb.ListHandsRequest(table_id=table_id, player=player, page_size=page_size)
        async for page in self._connection.pages(self._stub.ListHands, request):
            for hand in page.hands:
                yield hand

    async def my_hands(self, *, table_id: str = "", player: str = "", page_size: int = 100) -> AsyncIterator[MyHand]:
        """Iterate over the caller's own hands, newest first."""
        request = history_pb2.ListMyHandsRequest(table_id=table_id, on_behalf_of=player, page_size=page_size)
        async for page in self._connection.pages(self._stub.ListMyHands, request):
            for hand in page.hands:
                yield hand

    async def my_hand(self, hand_id: str, *, player: str = "", page_size: int = 100) -> history_pb2.GetMyHandResponse:
        """Return an own hand with all its steps, as the caller's seat saw it."""
        request = history_pb2.GetMyHandRequest(hand_id=hand_id, on_behalf_of=player, page_size=page_size)
        whole = page = await self._connection.unary(self._stub.GetMyHand, request)
        while page.has_more:
            request.after_version = page.steps[-1].event.version
            page = await self._connection.unary(self._stub.GetMyHand, request)
            whole.steps.extend(page.steps)
        whole.has_more = False
        return whole
