"""`OpenHand`: the only door to cards that are in no event (DESIGN 6, S5)."""

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID, uuid4

import msgspec

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import EventStore, StoredEvent
from diwan.chassis.vault import HandVault
from diwan.core.decider import Rejected
from diwan.core.fairness import CommittedDeck, Reveal, Secret, deal
from diwan.core.games.capsa.events import CapsaStarted, DraftSaved, SetLocked
from diwan.core.hand.events import HandEnded, HandStarted, Seat
from diwan.core.hashing import request_hash
from diwan.core.table.commands import RecordOpening
from diwan.core.table.events import TableEvent
from diwan.core.table.playing import StartedEvent
from diwan.history import Entry, own_positions
from diwan.wire.events import decode
from diwan.wire.mapping import write_reveals
from diwan.wire.stored import stored_message
from services.table import fields
from services.table.cards import DeckLost
from services.table.ids import opening_id_of
from services.table.loaded import HandPlace
from services.table.tables import Tables

EVENTS_OF_A_RUNNING_HAND: Final = 10_000
"""More than any hand has."""


class OpenedHand:
    """A hand as its log tells it, with what is needed to make its deck again."""

    def __init__(self, events: Iterable[StoredEvent]) -> None:
        self.arranged: list[tuple[int, StoredEvent]] = []
        self.entries: list[Entry] = []
        decoded: list[TableEvent] = []
        for stored in events:
            found = decode(stored.type_id, stored.schema_v, stored.body)
            event: TableEvent = found.event  # type: ignore[assignment]  # a table's stream
            decoded.append(event)
            command_id = stored.command_id.bytes
            self.entries.append(Entry(stored.version, stored.recorded_at_ms, command_id, event, found.reveals))
            if isinstance(event, DraftSaved | SetLocked):
                self.arranged.append((event.seat, stored))
        self.started = next((event for event in decoded if isinstance(event, HandStarted | CapsaStarted)), None)
        self.is_ended = any(isinstance(event, HandEnded) for event in decoded)
        dealt = () if self.started is None else self.started.seats
        self.holdings = {each.seat: own_positions(decoded, each.seat) for each in dealt}

    @property
    def players(self) -> tuple[str, ...]:
        """Everybody who was dealt in."""
        return () if self.started is None else tuple(seat.player for seat in self.started.seats)

    def seat_of(self, player: str) -> int | None:
        """Return where a player sat in the hand."""
        for seat in () if self.started is None else self.started.seats:
            if seat.player == player:
                return seat.seat
        return None


class Looking(msgspec.Struct, frozen=True):
    """Who looks, in which role, through whose eyes ("seat:3" or "auditor"), and why."""

    opened_by: str
    role: str
    lens: str
    reason: str = ""
    case_id: str = ""


class Look(msgspec.Struct, frozen=True):
    """Cards that were opened, and the version of the event that says so; 0 where none had to."""

    reveals: tuple[Reveal, ...]
    version: int

    def __repr__(self) -> str:
        return f"Look({len(self.reveals)} cards withheld, version={self.version})"


def looking(opened_by: str, role: str, lens: str, reason: str, case_id: str) -> Looking:
    """Return who looks and why; raises FIELD_INVALID for a reason or case that is none."""
    return Looking(
        opened_by,
        role,
        lens,
        fields.short_text(reason, "reason", fields.REASON_CHARACTERS_MAX),
        fields.short_text(case_id, "case_id", fields.CASE_CHARACTERS_MAX),
    )


class Openings:
    """Answers `OpenHand`. Whatever is opened after a hand's end is an event before it is answered."""

    def __init__(self, tables: Tables, store: EventStore, vault: HandVault) -> None:
        self._tables = tables
        self._store = store
        self._vault = vault

    async def open_hand(self, request: pb.OpenHandRequest, call: Call, place: HandPlace) -> pb.OpenHandResponse:
        """Open a hand; raises HAND_NOT_SETTLED, REASON_REQUIRED, NOT_IN_HAND, NOT_YOUR_SEAT or SECRET_DESTROYED."""
        hand = OpenedHand(await self.events(place))
        if hand.started is None:
            raise Rejected("HAND_NOT_FOUND")
        if call.caller.role is Role.AUDITOR:
            return await self._for_auditor(request, call, place, hand, hand.started)
        player = call.caller.seat_holder(request.on_behalf_of)
        return await self._for_player(request, player, call, place, hand, hand.started)

    async def events(self, place: HandPlace) -> list[StoredEvent]:
        """Return a hand's events with what lay between them, as far as it has come."""
        limit = place.last_version - place.first_version + 1 if place.last_version else EVENTS_OF_A_RUNNING_HAND
        return await self._store.read(place.table_id, place.first_version - 1, limit)

    async def _for_player(
        self,
        request: pb.OpenHandRequest,
        player: str,
        call: Call,
        place: HandPlace,
        hand: OpenedHand,
        started: StartedEvent,
    ) -> pb.OpenHandResponse:
        seat = hand.seat_of(player)
        if seat is None:
            raise Rejected("NOT_IN_HAND")
        if request.HasField("seat") and request.seat != seat:
            raise Rejected("NOT_YOUR_SEAT")
        deck = await self._opened_for_player(request, player, call, place, hand, started, seat)
        return _response(deck, hand, [seat])

    async def own_reveals(self, hand: OpenedHand, player: str, call: Call, place: HandPlace) -> tuple[Reveal, ...]:
        """Return the proofs of a player's own cards, recorded as by `open_hand`; raises as it does."""
        return (await self.own_look(hand, player, str(call.caller.role), place)).reveals

    async def own_look(self, hand: OpenedHand, player: str, role: str, place: HandPlace) -> "Look":
        """Show a player the own seat's cards, recorded once a hand that has ended; raises as `open_hand` does."""
        seat = hand.seat_of(player)
        if hand.started is None or seat is None:
            raise Rejected("NOT_IN_HAND")
        secret = await self._secret(hand.started.hand_id)
        version = 0
        if hand.is_ended:
            # The seat's own stream tells these cards while the hand runs; later looks are recorded, once a hand.
            command_id = opening_id_of(secret, hand.started.hand_id, player)
            who = Looking(player, role, f"seat:{seat}")
            version = await self.recorded(who, hand.started.hand_id, command_id, place.table_id)
        return Look(tuple(_deck(hand.started, secret).reveals(hand.holdings[seat])), version)

    async def look(self, who: "Looking", hand: OpenedHand, seats: Iterable[Seat], place: HandPlace) -> "Look":
        """Show somebody of the house the cards of seats, after the look itself was recorded.

        Raises HAND_NOT_SETTLED, REASON_REQUIRED or SECRET_DESTROYED.
        """
        if hand.started is None:
            raise Rejected("HAND_NOT_FOUND")
        if not hand.is_ended:
            raise Rejected("HAND_NOT_SETTLED")
        if not who.reason:
            raise Rejected("REASON_REQUIRED")
        deck = _deck(hand.started, await self._secret(hand.started.hand_id))
        # An auditor's every look is an event of its own.
        version = await self.recorded(who, hand.started.hand_id, uuid4(), place.table_id)
        return Look(tuple([reveal for seat in seats for reveal in deck.reveals(hand.holdings[seat])]), version)

    async def shown_before(self, hand: OpenedHand, seats: Iterable[Seat]) -> tuple[Reveal, ...]:
        """Return the cards of seats for a look that is recorded already; raises SECRET_DESTROYED."""
        if hand.started is None:
            raise Rejected("HAND_NOT_FOUND")
        deck = _deck(hand.started, await self._secret(hand.started.hand_id))
        return tuple([reveal for seat in seats for reveal in deck.reveals(hand.holdings[seat])])

    async def _opened_for_player(
        self,
        request: pb.OpenHandRequest,
        player: str,
        call: Call,
        place: HandPlace,
        hand: OpenedHand,
        started: StartedEvent,
        seat: int,
    ) -> CommittedDeck:
        secret = await self._secret(started.hand_id)
        if hand.is_ended:
            # The seat's own stream tells these cards while the hand runs; later looks are recorded, once a hand.
            who = looking(player, str(call.caller.role), f"seat:{seat}", request.reason, request.case_id)
            command_id = opening_id_of(secret, started.hand_id, player)
            await self.recorded(who, started.hand_id, command_id, place.table_id)
        return _deck(started, secret)

    async def _for_auditor(
        self, request: pb.OpenHandRequest, call: Call, place: HandPlace, hand: OpenedHand, started: StartedEvent
    ) -> pb.OpenHandResponse:
        reason = fields.short_text(request.reason, "reason", fields.REASON_CHARACTERS_MAX)
        if not reason:
            raise Rejected("REASON_REQUIRED")
        if not hand.is_ended:
            raise Rejected("HAND_NOT_SETTLED")
        if request.HasField("seat") and request.seat not in hand.holdings:
            raise Rejected("SEAT_NOT_FOUND", seat=request.seat)
        secret = await self._secret(started.hand_id)
        lens = f"seat:{request.seat}" if request.HasField("seat") else "auditor"
        # An auditor's every look is an event of its own.
        who = looking(call.caller.subject, "auditor", lens, request.reason, request.case_id)
        await self.recorded(who, started.hand_id, uuid4(), place.table_id)
        if request.HasField("seat"):
            return _response(_deck(started, secret), hand, [request.seat])
        response = _response(_deck(started, secret), hand, sorted(hand.holdings))
        response.secret = bytes(secret)
        return response

    async def recorded(self, who: "Looking", hand_id: str, command_id: UUID, table_id: UUID) -> int:
        """Record a look as an event; returns its version."""
        actor = await self._tables.get(table_id)
        answer = await actor.ask(
            lambda _: RecordOpening(
                hand_id, who.opened_by, who.role, who.lens, who.reason, who.case_id, actor.clock.now_ms()
            ),
            command_id=command_id,
            caller=who.opened_by,
            asker=who.opened_by,
            # Later looks of the same kind are the first one again, whatever reason they give.
            request_hash=request_hash("OpenHand", f"{hand_id}/{who.opened_by}/{who.lens}".encode()),
        )
        return answer.first_version

    async def _secret(self, hand_id: str) -> Secret:
        try:
            return await self._vault.get(hand_id)
        except VaultError as error:
            if error.reason == "DAY_DESTROYED":
                raise Rejected("SECRET_DESTROYED", hand_id=hand_id) from None
            raise


def _deck(started: StartedEvent, secret: Secret) -> CommittedDeck:
    """Return the deck of a hand; raises `DeckLost` rather than show a card that was not dealt."""
    deck = deal(started.hand_id, secret, {each.seat: each.seed for each in started.seeds})
    if deck.root != started.deck_root:
        raise DeckLost(f"the secret of hand {started.hand_id} gives another deck than the log's")
    return deck


def _response(deck: CommittedDeck, hand: OpenedHand, seats: Sequence[int]) -> pb.OpenHandResponse:
    response = pb.OpenHandResponse()
    for seat in seats:
        opened = response.seats.add(seat=seat)
        write_reveals(opened.reveals, deck.reveals(hand.holdings[seat]))
    response.arranged.extend(stored_message(stored.logged()) for seat, stored in hand.arranged if seat in seats)
    return response
