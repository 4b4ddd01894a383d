"""Looking back: hands and their events for everybody, and a player's own hands as the seat saw them (P10, S4)."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from diwan.api.table.v1 import history_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.paging import after_token, page_token
from diwan.chassis.store import EventStore, StoredEvent
from diwan.core.decider import Rejected
from diwan.core.games.capsa.events import DraftSaved, SetLocked
from diwan.core.hand.events import Seat
from diwan.core.log import LoggedEvent
from diwan.core.table.events import HandOpened
from diwan.history import Entry, Withheld, hand_steps
from diwan.wire.events import decode, kind_name
from diwan.wire.mapping import write_reveals
from diwan.wire.steps import step_message
from diwan.wire.stored import FOR_AUDITORS, FOR_ONE_SEAT, withheld
from services.table import fields
from services.table.entry import Viewer, let_in, viewer_of
from services.table.frames import stored_event_message
from services.table.index import HandLine, Index, OwnHandLine
from services.table.loaded import HandPlace
from services.table.opening import EVENTS_OF_A_RUNNING_HAND, OpenedHand, Openings
from services.table.tables import Tables

HANDS_A_PAGE_MAX: Final = 500
STEPS_A_PAGE_MAX: Final = 200


class Hands:
    """Answers what is asked about hands that were dealt. All raise `Rejected`."""

    def __init__(self, tables: Tables, openings: Openings, store: EventStore, index: Index) -> None:
        self._tables = tables
        self._openings = openings
        self._store = store
        self._index = index

    async def place(self, hand_id: UUID) -> HandPlace:
        """Return where a hand lies; raises HAND_NOT_FOUND."""
        recent = self._tables.hand(str(hand_id))
        if recent is not None:
            return recent
        line = await self._index.hand(hand_id)
        if line is None:
            raise Rejected("HAND_NOT_FOUND")
        return HandPlace(line.table_id, line.first_version, line.last_version)

    async def events(self, request: pb.GetHandRequest, call: Call) -> pb.GetHandResponse:
        """Return a hand's events as stored; those of a private table's hand only to its players (TB-3)."""
        viewer = viewer_of(call, request.on_behalf_of)
        place = await self.place(fields.an_id(request.hand_id, "hand_id"))
        last = place.last_version
        limit = last - place.first_version + 1 if last else EVENTS_OF_A_RUNNING_HAND
        events = await self._store.read(place.table_id, place.first_version - 1, limit)
        if not viewer.is_staff and await self.is_private(place.table_id):
            self.check_known(place, events, viewer)
        if not last:
            events = await self.as_far_as_shown(place.table_id, events, viewer)
        return pb.GetHandResponse(
            table_id=str(place.table_id), events=map(stored_event_message, events), is_ended=bool(last)
        )

    async def as_far_as_shown(self, table_id: UUID, events: list[StoredEvent], viewer: Viewer) -> list[StoredEvent]:
        """Return of a running hand what the viewer may see of its table; raises HAND_NOT_FOUND where that is nothing."""
        newest = (await self._tables.get(table_id)).hub.version_for(viewer.player)
        seen = [event for event in events if event.version <= newest]
        if not seen:
            raise Rejected("HAND_NOT_FOUND")
        return seen

    def check_known(self, place: HandPlace, events: Iterable[StoredEvent], viewer: Viewer) -> None:
        """Raise INVITATION_REQUIRED unless the viewer was dealt in, or may see the table where it is alive."""
        try:
            _check_played(events, viewer)
        except Rejected:
            actor = self._tables.find(place.table_id)
            if actor is None:
                raise
            let_in(actor, viewer)

    async def is_private(self, table_id: UUID) -> bool:
        """Say whether a table is private."""
        actor = self._tables.find(table_id)
        return await self._index.is_private(table_id) if actor is None else actor.state.config.is_private

    async def listed(self, request: pb.ListHandsRequest, call: Call) -> pb.ListHandsResponse:
        """Return hands, newest first; a player's own, or any for staff and services."""
        size = fields.page_size(request.page_size, HANDS_A_PAGE_MAX)
        table_id = fields.an_id(request.table_id, "table_id") if request.table_id else None
        player = _whose(call, fields.player(request.player))
        scope = f"hands/{request.table_id}/{player}".encode()
        after = after_token(request.page_token, scope)
        found: list[HandLine] = []
        if player:
            found += await self._index.hands_of(player, table_id=table_id, after=after, limit=size + 1)
        else:
            found += await self._index.hands(table_id=table_id, after=after, limit=size + 1)
        response = pb.ListHandsResponse(hands=map(_summary, found[:size]))
        if len(found) > size:
            response.next_page_token = page_token(found[size - 1].started_at_ms, found[size - 1].hand_id, scope)
        return response

    async def own(self, request: history_pb2.ListMyHandsRequest, call: Call) -> history_pb2.ListMyHandsResponse:
        """Return a player's own hands, newest first."""
        player = call.caller.seat_holder(request.on_behalf_of)
        size = fields.page_size(request.page_size, HANDS_A_PAGE_MAX)
        table_id = fields.an_id(request.table_id, "table_id") if request.table_id else None
        scope = f"own/{request.table_id}/{player}".encode()
        after = after_token(request.page_token, scope)
        found = await self._index.hands_of(player, table_id=table_id, after=after, limit=size + 1)
        response = history_pb2.ListMyHandsResponse(hands=map(_own, found[:size]))
        if len(found) > size:
            response.next_page_token = page_token(found[size - 1].started_at_ms, found[size - 1].hand_id, scope)
        return response

    async def told(self, request: history_pb2.GetMyHandRequest, call: Call) -> history_pb2.GetMyHandResponse:
        """Tell an own hand through the seat's eyes; the look is recorded as one by `OpenHand` is."""
        player = call.caller.seat_holder(request.on_behalf_of)
        size = fields.page_size(request.page_size, STEPS_A_PAGE_MAX)
        place = await self.place(fields.an_id(request.hand_id, "hand_id"))
        stored = await self._openings.events(place)
        hand = OpenedHand(stored)
        seat = hand.seat_of(player)
        if seat is None:
            raise Rejected("NOT_IN_HAND")
        response = history_pb2.GetMyHandResponse(
            hand_id=request.hand_id, table_id=str(place.table_id), seat=seat, is_ended=hand.is_ended
        )
        try:
            reveals = await self._openings.own_reveals(hand, player, call, place)
        except Rejected as refusal:
            if refusal.reason != "SECRET_DESTROYED":
                raise
            reveals, response.is_secret_destroyed = (), True
        write_reveals(response.reveals, reveals)
        following = [
            (step, event)
            for step, event in zip(hand_steps(_entries(stored, seat), reveals), stored, strict=True)
            if event.version > request.after_version
        ]
        response.steps.extend(step_message(step, _seen_by(seat, event)) for step, event in following[:size])
        response.has_more = len(following) > size
        return response


def _check_played(events: Iterable[StoredEvent], viewer: Viewer) -> None:
    """Raise INVITATION_REQUIRED unless the viewer, or one of a back end's players, was dealt in."""
    players = OpenedHand(events).players
    known = viewer.player in players if viewer.player is not None else _has_one_of(players, viewer.players)
    if not known:
        raise Rejected("INVITATION_REQUIRED")


def _has_one_of(players: Iterable[str], prefix: str) -> bool:
    return any(player.startswith(prefix) for player in players)


def _entries(stored: Iterable[StoredEvent], seat: Seat) -> list[Entry]:
    entries: list[Entry] = []
    for each in stored:
        decoded = decode(each.type_id, each.schema_v, each.body)
        command_id = each.command_id.bytes
        event: object = decoded.event
        if _is_for_another(event, seat):
            event = Withheld(kind_name(each.type_id))
        entries.append(Entry(each.version, each.recorded_at_ms, command_id, event, decoded.reveals))  # type: ignore[arg-type]  # a table's
    return entries


def _is_for_another(event: object, seat: Seat) -> bool:
    """Say whether an event tells what another seat of Capsa arranged (CS-83), or who looked at some hand and why."""
    return isinstance(event, HandOpened) or (isinstance(event, DraftSaved | SetLocked) and event.seat != seat)


def _seen_by(seat: Seat, stored: StoredEvent) -> LoggedEvent:
    logged = stored.logged()
    if stored.type_id not in FOR_ONE_SEAT | FOR_AUDITORS:
        return logged
    event = decode(stored.type_id, stored.schema_v, stored.body).event
    return withheld(logged) if _is_for_another(event, seat) else logged


def _whose(call: Call, player: str) -> str:
    """Return whose hands a caller may list; a back end names one of its own players."""
    if call.caller.role in {Role.PLAYER, Role.BOT}:
        if player not in {"", call.caller.subject}:
            raise Rejected("PERMISSION_DENIED")
        return call.caller.subject
    if call.caller.role is Role.BACKEND:
        return call.caller.acting_player(player)
    return player


def _summary(line: HandLine) -> pb.HandSummary:
    return pb.HandSummary(
        hand_id=str(line.hand_id),
        table_id=str(line.table_id),
        hand_no=line.hand_no,
        first_version=line.first_version,
        last_version=line.last_version,
        result=line.result,  # type: ignore[arg-type]  # a number of the contract
        started_at_ms=line.started_at_ms,
        pot=line.pot,
        players=line.players,
    )


def _own(line: OwnHandLine) -> history_pb2.MyHand:
    return history_pb2.MyHand(
        hand_id=str(line.hand_id),
        table_id=str(line.table_id),
        hand_no=line.hand_no,
        game=line.game,
        started_at_ms=line.started_at_ms,
        seat=line.seat,
        stack=line.stack,
        net=line.net,
        is_ended=bool(line.last_version),
        result=line.result,  # type: ignore[arg-type]  # a number of the contract
        pot=line.pot,
        players=line.players,
    )
