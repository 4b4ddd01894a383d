"""The servicer of the contract: looks at fields, finds the table, says the answer. What may happen the core decides."""

from collections.abc import Callable

from diwan.api.table.v1 import history_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.store import Conflict, EventStore
from diwan.core.decider import Rejected
from diwan.core.table.commands import CreateTable
from diwan.core.table.decide import decide
from diwan.core.table.events import TableCreated
from services.table import fields
from services.table.hands import Hands
from services.table.ids import command_id_of, table_id_of
from services.table.lobby import Lobby, conditions_for, view_of
from services.table.opening import Openings
from services.table.play import TableStreams, result_message
from services.table.seats import Seats
from services.table.stream import creation
from services.table.tables import Tables


class TableServicer(TableStreams):
    """Answers for ``TableService``."""

    def __init__(
        self,
        tables: Tables,
        seats: Seats,
        openings: Openings,
        hands: Hands,
        lobby: Lobby,
        store: EventStore,
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__(tables)
        self._seats = seats
        self._openings = openings
        self._hands = hands
        self._lobby = lobby
        self._store = store
        self._now_ms = now_ms

    # ---- tables -----------------------------------------------------------------------------------------------------

    async def CreateTable(self, request: pb.CreateTableRequest, call: Call) -> pb.CreateTableResponse:
        """Open a table."""
        fields.request_id(request.request_id)
        subject = call.caller.subject
        table_id = table_id_of(subject, request.request_id)
        command_id = command_id_of(subject, request.request_id)
        events = decide(None, CreateTable(str(table_id), fields.config(request.config), subject, self._now_ms()), {})
        assert isinstance(events[0], TableCreated), "a table begins with its creation"  # noqa: S101
        try:
            await self._store.append(creation(table_id, command_id, subject, call.request_hash(request), events[0]))
        except Conflict:
            recorded = await self._store.outcome(table_id, command_id)
            if recorded is None:
                raise Rejected("UNKNOWN_OUTCOME") from None
            if recorded.request_hash != call.request_hash(request):
                raise Rejected("REQUEST_ID_CONFLICT") from None
        actor = await self._tables.get(table_id)
        return pb.CreateTableResponse(table=view_of(actor), conditions=conditions_for(actor.state.config))

    async def GetTable(self, request: pb.GetTableRequest, _call: Call) -> pb.GetTableResponse:
        """Return a table as everybody sees it."""
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        return pb.GetTableResponse(table=view_of(actor), conditions=conditions_for(actor.state.config))

    async def ListTables(self, request: pb.ListTablesRequest, call: Call) -> pb.ListTablesResponse:
        """Return open tables, newest first."""
        return await self._lobby.listed(request, call)

    async def CloseTable(self, request: pb.CloseTableRequest, call: Call) -> pb.CloseTableResponse:
        """End a table after the running hand."""
        answer = await self._seats.close_table(request, call)
        return pb.CloseTableResponse(result=result_message(request.request_id, answer))

    # ---- seats ------------------------------------------------------------------------------------------------------

    async def SitDown(self, request: pb.SitDownRequest, call: Call) -> pb.SitDownResponse:
        """Take a seat; answered when the wallet has answered."""
        answer, seat = await self._seats.sit_down(request, call)
        return pb.SitDownResponse(result=result_message(request.request_id, answer), seat=seat)

    async def TopUp(self, request: pb.TopUpRequest, call: Call) -> pb.TopUpResponse:
        """Bring more chips."""
        answer = await self._seats.top_up(request, call)
        return pb.TopUpResponse(result=result_message(request.request_id, answer))

    async def SetSittingOut(self, request: pb.SetSittingOutRequest, call: Call) -> pb.SetSittingOutResponse:
        """Sit out, or come back."""
        answer = await self._seats.set_sitting_out(request, call)
        return pb.SetSittingOutResponse(result=result_message(request.request_id, answer))

    async def StandUp(self, request: pb.StandUpRequest, call: Call) -> pb.StandUpResponse:
        """Leave."""
        answer = await self._seats.stand_up(request, call)
        return pb.StandUpResponse(result=result_message(request.request_id, answer))

    async def Act(self, request: pb.ActRequest, call: Call) -> pb.ActResponse:
        """Decide."""
        answer = await self._seats.act(request, call)
        return pb.ActResponse(result=result_message(request.request_id, answer))

    async def UsePower(self, request: pb.UsePowerRequest, call: Call) -> pb.UsePowerResponse:
        """Use a power of Naiko."""
        answer = await self._seats.use_power(request, call)
        return pb.UsePowerResponse(result=result_message(request.request_id, answer))

    async def AnswerAnchor(self, request: pb.AnswerAnchorRequest, call: Call) -> pb.AnswerAnchorResponse:
        """Answer a Short Anchor."""
        answer = await self._seats.answer_anchor(request, call)
        return pb.AnswerAnchorResponse(result=result_message(request.request_id, answer))

    # ---- looking back -----------------------------------------------------------------------------------------------

    async def OpenHand(self, request: pb.OpenHandRequest, call: Call) -> pb.OpenHandResponse:
        """Show cards that no event shows, to whom they are for."""
        place = await self._hands.place(fields.an_id(request.hand_id, "hand_id"))
        return await self._openings.open_hand(request, call, place)

    async def GetHand(self, request: pb.GetHandRequest, _call: Call) -> pb.GetHandResponse:
        """Return a hand's events as stored, with what lay between them."""
        return await self._hands.events(request)

    async def ListHands(self, request: pb.ListHandsRequest, call: Call) -> pb.ListHandsResponse:
        """Return hands, newest first; a player's own, or any for staff and services."""
        return await self._hands.listed(request, call)

    async def ListMyHands(self, request: history_pb2.ListMyHandsRequest, call: Call) -> history_pb2.ListMyHandsResponse:
        """Return a player's own hands, newest first."""
        return await self._hands.own(request, call)

    async def GetMyHand(self, request: history_pb2.GetMyHandRequest, call: Call) -> history_pb2.GetMyHandResponse:
        """Tell a player's own hand step by step, as the seat saw it."""
        return await self._hands.told(request, call)
