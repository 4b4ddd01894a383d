"""`GetReplay`: a hand as somebody could have seen it, from the log alone (P10, S1, S4, S8).

A spectator's eyes need no secret: what is shown comes from the events. Whoever sees more opens cards, and of the house
nobody does so without an event that says who and why, stored before anything is answered.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

import msgspec

from diwan.api.table.v1 import replay_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.pace import Pace
from diwan.chassis.paging import after_numbers, numbers_token
from diwan.chassis.store import EventStore, StoredEvent
from diwan.core.decider import Rejected
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted, Seat
from diwan.core.table.events import HandOpened, RefusalsRecorded
from diwan.history import hand_moments
from diwan.wire.events import decode, type_id_of
from diwan.wire.hand import RESULT_NUMBER
from diwan.wire.replays import Eyes, MomentWriter
from services.table import fields
from services.table.entry import STAFF, Viewer, viewer_of
from services.table.hands import Hands
from services.table.ids import hand_id_of
from services.table.loaded import HandPlace
from services.table.names import Names
from services.table.opening import EVENTS_OF_A_RUNNING_HAND, Look, OpenedHand, Openings, looking
from services.table.standing import Around, Standing

MOMENTS_A_PAGE_MAX: Final = 200
MOMENTS_IN_A_ROW: Final = 8
"""Written before live tables have their turn again: a millisecond or two."""

LOOK_SECONDS: Final = 600
"""The pages of one question are one look; for so long, so that an old token opens nothing unseen."""

EVENTS_BEHIND: Final = 16
"""Read with a hand: mostly what its last command caused behind its end, and what was refused during it."""

EVENTS_A_READ: Final = 200
"""Read at once where those do not reach."""

EVENTS_BEHIND_MAX: Final = 2_000
"""How far behind a hand its refused requests are looked for."""

_HAND_ENDED: Final = type_id_of(HandEnded)
_TOLD_BEHIND: Final = frozenset({type_id_of(RefusalsRecorded), type_id_of(HandStarted), type_id_of(CapsaStarted)})


class Asked(msgspec.Struct, frozen=True):
    """A question that makes sense: whose eyes, who looks, and what names the question in tokens of its pages."""

    eyes: int
    seat: Seat | None
    player: str
    """Whose own seat it is; empty where it is not the caller's to look into without a reason."""
    scope: bytes

    @property
    def is_own(self) -> bool:
        """Whether the caller holds the seat, or speaks for who does."""
        return bool(self.player)


class Read(msgspec.Struct, frozen=True):
    """A hand's events, whole commands of them, and what was read with them of what lies behind."""

    events: list[StoredEvent]
    behind: list[StoredEvent]
    around: Around
    is_ended: bool


class Replays:
    """Answers `GetReplay`."""

    def __init__(
        self,
        hands: Hands,
        openings: Openings,
        store: EventStore,
        standing: Standing,
        names: Names,
        now_ms: Callable[[], int],
        pace: Pace,
    ) -> None:
        self._hands = hands
        self._openings = openings
        self._store = store
        self._standing = standing
        self._names = names
        self._now_ms = now_ms
        self._pace = pace

    async def answer(self, request: pb.GetReplayRequest, call: Call) -> pb.GetReplayResponse:
        """Return a page of a hand's moments; raises `Rejected`."""
        viewer = viewer_of(call, request.on_behalf_of)
        if call.caller.role in {Role.PLAYER, Role.BOT}:
            # It costs some milliseconds of the process in which tables live.
            self._pace.take(call.caller.subject)
        size = fields.page_size(request.page_size, MOMENTS_A_PAGE_MAX)
        place = await self._hands.place(fields.an_id(request.hand_id, "hand_id"))
        read = await self._events(place, viewer)
        hand = OpenedHand(read.events)
        if hand.started is None:
            raise Rejected("HAND_NOT_FOUND")
        asked = _asked(request, call, viewer, hand)
        if request.after_version < 0:
            raise Rejected("FIELD_INVALID", field="after_version", why="a version, or 0")
        after, opened = request.after_version, 0
        if request.page_token:
            after, opened = after_numbers(request.page_token, 2, asked.scope)
        response = pb.GetReplayResponse(
            hand_id=request.hand_id,
            table_id=str(place.table_id),
            hand_no=hand.started.hand_no,
            eyes=asked.eyes,  # type: ignore[arg-type]  # a number of the contract
            seat=asked.seat,
            is_ended=hand.is_ended,
        )
        eyes = await self._opened(request, call, asked, hand, place, opened, response)
        await self._tell(response, asked, place, read, hand, eyes, after, size)
        return response

    # ---- what may be read -------------------------------------------------------------------------------------------

    async def _events(self, place: HandPlace, viewer: Viewer) -> Read:
        """Return the events of a hand whole commands long, as far as the viewer may see them at all."""
        last = place.last_version
        limit = last - place.first_version + 1 + EVENTS_BEHIND if last else EVENTS_OF_A_RUNNING_HAND
        around = await self._standing.around(place.table_id, place.first_version, limit)
        found = around.events
        read = _of_the_hand(found, around)
        while read.is_ended and not read.behind and len(found) == limit:
            # Its last command caused more than was read.
            limit = EVENTS_A_READ
            found = await self._store.read(place.table_id, read.events[-1].version, limit)
            read = _of_the_hand(read.events + found, around)
        if not viewer.is_staff and await self._hands.is_private(place.table_id):
            self._hands.check_known(place, read.events, viewer)
        if not read.is_ended:
            events = await self._hands.as_far_as_shown(place.table_id, read.events, viewer)
            return Read(events, [], around, is_ended=False)
        return read

    # ---- opening ----------------------------------------------------------------------------------------------------

    async def _opened(
        self,
        request: pb.GetReplayRequest,
        call: Call,
        asked: Asked,
        hand: OpenedHand,
        place: HandPlace,
        opened_version: int,
        response: pb.GetReplayResponse,
    ) -> Eyes:
        """Open the cards that the eyes see beyond the public, recorded first; says so in the response."""
        if asked.eyes == pb.REPLAY_EYES_SPECTATOR:
            return Eyes()
        seats = frozenset(hand.holdings) if asked.seat is None else frozenset({asked.seat})
        try:
            if asked.is_own:
                look = await self._openings.own_look(hand, asked.player, str(call.caller.role), place)
            else:
                look = await self._look(request, call, asked, hand, place, seats, opened_version)
        except Rejected as refusal:
            if refusal.reason != "SECRET_DESTROYED":
                raise
            response.is_secret_destroyed = True
            # What the seat itself arranged is its own for ever; the house has opened nothing and sees what all see.
            return Eyes(seats if asked.is_own else frozenset())
        response.opened_version = look.version
        return Eyes(seats, {reveal.position: reveal for reveal in look.reveals})

    async def _look(
        self,
        request: pb.GetReplayRequest,
        call: Call,
        asked: Asked,
        hand: OpenedHand,
        place: HandPlace,
        seats: Iterable[Seat],
        opened_version: int,
    ) -> Look:
        lens = "auditor" if asked.seat is None else f"seat:{asked.seat}"
        who = looking(call.caller.subject, str(call.caller.role), lens, request.reason, request.case_id)
        if not opened_version:
            return await self._openings.look(who, hand, seats, place)
        found = await self._store.read(place.table_id, opened_version - 1, 1)
        event = decode(found[0].type_id, found[0].schema_v, found[0].body).event if found else None
        if (
            not isinstance(event, HandOpened)
            or (event.hand_id, event.opened_by, event.role, event.lens)
            != (request.hand_id, who.opened_by, who.role, who.lens)
            or self._now_ms() - event.opened_at_ms > LOOK_SECONDS * 1000
        ):
            raise Rejected("PAGE_TOKEN_INVALID")
        return Look(await self._openings.shown_before(hand, seats), opened_version)

    # ---- telling ----------------------------------------------------------------------------------------------------

    async def _tell(
        self,
        response: pb.GetReplayResponse,
        asked: Asked,
        place: HandPlace,
        read: Read,
        hand: OpenedHand,
        eyes: Eyes,
        after: int,
        size: int,
    ) -> None:
        before = await self._standing.before_hand(read.around)
        moments = hand_moments(before, hand.entries)
        logged = {event.version: event.logged() for event in read.events}
        names = await self._names.of({seat.player for moment in moments for seat in moment.state.seats})
        writer = MomentWriter(eyes, names, lambda state: hand_id_of(place.table_id, state.hand_no + 1))
        following = [moment for moment in moments if moment.version > after]
        for number, moment in enumerate(following[:size], 1):
            stored = [logged[happened.entry.version] for happened in moment.happened]
            response.moments.append(writer.message(moment, stored))
            if number % MOMENTS_IN_A_ROW == 0:
                await asyncio.sleep(0)
        ended = next((entry.event for entry in hand.entries if isinstance(entry.event, HandEnded)), None)
        if isinstance(ended, HandEnded):
            response.result = RESULT_NUMBER[ended.result]
        if len(following) > size:
            at = following[size - 1].version, response.opened_version
            response.next_page_token = numbers_token(*at, scope=asked.scope)
        elif read.is_ended:
            await self._add_refusals(response, place.table_id, read)

    async def _add_refusals(self, response: pb.GetReplayResponse, table_id: UUID, read: Read) -> None:
        """Add what was refused during the hand, which its table tells before the next one begins."""
        page, after = read.behind, read.events[-1].version
        until = after + EVENTS_BEHIND_MAX
        while after < until:
            for stored in page:
                if stored.type_id not in _TOLD_BEHIND:
                    continue
                event = decode(stored.type_id, stored.schema_v, stored.body).event
                if isinstance(event, RefusalsRecorded) and event.hand_no == response.hand_no:
                    response.refusals_version = stored.version
                    for each in event.counts:
                        response.refusals.add(seat=each.seat, reason=each.reason, count=each.count)
                    return
                if isinstance(event, HandStarted | CapsaStarted):
                    return
            after = page[-1].version if page else after
            page = await self._store.read(table_id, after, EVENTS_A_READ)
            if not page:
                return


def _asked(request: pb.GetReplayRequest, call: Call, viewer: Viewer, hand: OpenedHand) -> Asked:
    """Return what is asked; raises `Rejected` where the caller has no such eyes."""
    role, own = call.caller.role, None if viewer.player is None else hand.seat_of(viewer.player)
    eyes = request.eyes or (pb.REPLAY_EYES_SPECTATOR if own is None else pb.REPLAY_EYES_SEAT)
    if role is Role.AUDITOR and not hand.is_ended:
        raise Rejected("HAND_NOT_SETTLED")
    seat: Seat | None = request.seat if request.HasField("seat") else None
    match eyes:
        case pb.REPLAY_EYES_SPECTATOR:
            if seat is not None:
                raise Rejected("FIELD_INVALID", field="seat", why="a spectator has none")
        case pb.REPLAY_EYES_SEAT:
            seat = _seat(seat, own, role, viewer, hand)
        case pb.REPLAY_EYES_AUDITOR:
            if role is not Role.AUDITOR:
                raise Rejected("PERMISSION_DENIED", role=role)
            if seat is not None:
                raise Rejected("FIELD_INVALID", field="seat", why="an auditor's eyes see all of them")
        case _:
            raise Rejected("FIELD_INVALID", field="eyes", why="a spectator's, a seat's or an auditor's")
    named = pb.GetReplayRequest()
    named.CopyFrom(request)
    named.ClearField("page_token")
    named.ClearField("page_size")
    scope = f"replay/{role}/{call.caller.subject}/".encode() + named.SerializeToString(deterministic=True)
    player = viewer.player if own is not None and viewer.player is not None else ""
    return Asked(eyes, seat, player, scope)


def _seat(seat: Seat | None, own: Seat | None, role: Role, viewer: Viewer, hand: OpenedHand) -> Seat:
    """Return the seat whose eyes are meant; of a player the own one and no other."""
    if role in STAFF:
        if seat is None:
            raise Rejected("FIELD_REQUIRED", field="seat")
        if seat not in hand.holdings:
            raise Rejected("SEAT_NOT_FOUND", seat=seat)
        return seat
    if viewer.player is None:
        raise Rejected("ON_BEHALF_OF_REQUIRED")
    if own is None:
        raise Rejected("NOT_IN_HAND")
    if seat not in {None, own}:
        raise Rejected("NOT_YOUR_SEAT")
    return own


def _of_the_hand(found: list[StoredEvent], around: Around) -> Read:
    """Return the events up to the end of the command that ended the hand, and apart from them what lies behind."""
    for at, event in enumerate(found):
        if event.type_id == _HAND_ENDED:
            ends = (n for n in range(at, len(found)) if found[n].command_id != event.command_id)
            behind = next(ends, len(found))
            return Read(found[:behind], found[behind:], around, is_ended=True)
    return Read(found, [], around, is_ended=False)
