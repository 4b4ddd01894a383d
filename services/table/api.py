"""The servicer of the contract: looks at fields, finds the table, says the answer. What may happen the core decides."""

from collections.abc import Callable
from typing import Final

from diwan.api.table.v1 import history_pb2, view_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.store import Conflict, EventStore
from diwan.core.decider import Rejected
from diwan.core.table.commands import CreateTable
from diwan.core.table.decide import decide
from diwan.core.table.events import TableCreated
from services.table import fields
from services.table.actor import Actor
from services.table.hands import Hands
from services.table.ids import command_id_of, table_id_of
from services.table.opening import Openings
from services.table.play import TableStreams, result_message
from services.table.projections import Projections, after_token, page_token
from services.table.seats import Seats
from services.table.stream import creation
from services.table.tables import Tables

TABLES_A_PAGE_MAX: Final = 100


class TableServicer(TableStreams):
    """Answers for ``TableService``."""

    def __init__(
        self,
        tables: Tables,
        seats: Seats,
        openings: Openings,
        hands: Hands,
        store: EventStore,
        projections: Projections,
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__(tables)
        self._seats = seats
        self._openings = openings
        self._hands = hands
        self._store = store
        self._projections = projections
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
        return pb.CreateTableResponse(table=_view(await self._tables.get(table_id)))

    async def GetTable(self, request: pb.GetTableRequest, _call: Call) -> pb.GetTableResponse:
        """Return a table as everybody sees it."""
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        return pb.GetTableResponse(table=_view(actor))

    async def ListTables(self, request: pb.ListTablesRequest, _call: Call) -> pb.ListTablesResponse:
        """Return open tables, newest first."""
        size = fields.page_size(request.page_size, TABLES_A_PAGE_MAX)
        found = await self._projections.open_tables(after_token(request.page_token), size + 1)
        response = pb.ListTablesResponse()
        for table_id, _ in found[:size]:
            try:
                response.tables.append(_view(await self._tables.get(table_id)))
            except Rejected:
                # It is held back or on its way to another server; the page goes on without it.
                continue
        if len(found) > size:
            last_id, created_at_ms = found[size - 1]
            response.next_page_token = page_token(created_at_ms, last_id)
        return response

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


def _view(actor: Actor) -> view_pb2.TableView:
    return view_pb2.TableView.FromString(actor.hub.view_bytes())
