"""What every event means for the table: a record without rules. ``version`` counts every event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, get_args

from msgspec.structs import replace

from diwan.core.games.capsa.events import (
    Answered,
    CapsaStarted,
    SetLocked,
)
from diwan.core.games.capsa.stakes import StakeEvent
from diwan.core.games.capsa.stakes import evolve as evolve_stakes
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    CardGlanced,
    CardSwapped,
    DecidedBy,
    DestellosReturned,
    HandEnded,
    HandStarted,
    Seat,
)
from diwan.core.match.course import ranked_out
from diwan.core.table.button import Spots
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    CarriedPotReturned,
    CarriedShare,
    HandOpened,
    MatchEnded,
    MatchStarted,
    OwnerChanged,
    RefusalsRecorded,
    SatIn,
    SatOut,
    SeatFunded,
    SeatReleased,
    SecretCommitted,
    SeedsCommitted,
    StandUpRequested,
    TableClosed,
    TableClosing,
    TableCreated,
    TableEvent,
    TopUpRequested,
)
from diwan.core.table.hosting.events import HostingEvent, SettingsChanged
from diwan.core.table.hosting.evolve import evolve as evolve_hosting
from diwan.core.table.hosting.state import Hosting
from diwan.core.table.playing import PLAYED_EVENTS, PlayedEvent, evolve_played
from diwan.core.table.state import Departure, Entry, MatchState, Pending, SeatState, SeedExchange, TableState
from diwan.core.table.tournament.seats import EntrantEvent, seats_after
from diwan.core.table.tournament.state import SettingEvent, after_hand
from diwan.core.table.tournament.state import evolve as evolve_directed
from diwan.core.table.tournament.state import opened as directed_at_first
from diwan.core.table.waiting.events import WaitingEvent
from diwan.core.table.waiting.state import evolve as evolve_line

_MINUTE_MS: Final = 60_000


type _SeatEvent = (
    SeatFunded | BuyInRequested | TopUpRequested | BuyInRefused | SatOut | SatIn | StandUpRequested | SeatReleased
)
type _Evolver = Callable[[TableState, Any], TableState]
type _CourseEvent = TableClosing | TableClosed | CarriedPotReturned | MatchStarted | MatchEnded | TableCreated


def evolve(state: TableState | None, event: TableEvent) -> TableState:
    """Return the table after one more event; the first must be ``TableCreated``."""
    if state is None:
        assert isinstance(event, TableCreated), "a table's stream begins with TableCreated"  # noqa: S101
        directed = directed_at_first(event.config.tournament, event.config.start)
        return TableState(
            event.table_id,
            event.config,
            1,
            left_at_ms=event.created_at_ms,
            hosting=Hosting(event.host, first_host=event.host),
            directed=directed,
        )
    return _EVOLVERS[type(event)](state, event)


def _in_hand(state: TableState, event: PlayedEvent) -> TableState:
    return replace(state, version=state.version + 1, hand=evolve_played(state.hand, event))


def _in_hand_and_at_table(state: TableState, event: PlayedEvent) -> TableState:
    return replace(at_table(state, event), version=state.version + 1, hand=evolve_played(state.hand, event))


def _at_seats(state: TableState, event: _SeatEvent) -> TableState:
    return replace(_seats_changed(state, event), version=state.version + 1)


def _at_directed_seats(state: TableState, event: EntrantEvent) -> TableState:
    return replace(state, version=state.version + 1, seats=seats_after(state.seats, event))


def _directed(state: TableState, event: SettingEvent) -> TableState:
    return replace(state, version=state.version + 1, directed=evolve_directed(state.directed, event))


def _at_stakes(state: TableState, event: StakeEvent) -> TableState:
    return replace(state, version=state.version + 1, stakes=evolve_stakes(state.stakes, event))


def _in_line(state: TableState, event: WaitingEvent) -> TableState:
    return replace(state, version=state.version + 1, line=evolve_line(state.line, event))


def _hosted(state: TableState, event: HostingEvent) -> TableState:
    version = state.version + 1
    hosting = evolve_hosting(state.hosting, event)
    if isinstance(event, SettingsChanged) and not state.is_running:
        return replace(state, version=version, config=event.config, hosting=replace(hosting, settings_next=None))
    return replace(state, version=version, hosting=hosting)


def _exchanged(state: TableState, event: SecretCommitted | SeedsCommitted) -> TableState:
    if isinstance(event, SecretCommitted):
        exchange = SeedExchange(event.hand_no, event.commitment, event.committed_at_ms)
    else:
        assert state.exchange is not None, "seeds are committed in an exchange"  # noqa: S101
        exchange = replace(state.exchange, commitments=event.commitments)
    return replace(state, version=state.version + 1, exchange=exchange)


def _owned(state: TableState, event: OwnerChanged) -> TableState:
    return replace(state, version=state.version + 1, epoch=event.epoch, owner=event.owner)


def _recorded(state: TableState, _event: RefusalsRecorded | HandOpened) -> TableState:
    return replace(state, version=state.version + 1)


def _ran(state: TableState, event: _CourseEvent) -> TableState:
    version = state.version + 1
    match event:
        case TableClosing():
            return replace(state, version=version, is_closing=True)
        case TableClosed():
            return replace(state, version=version, is_closed=True)
        case CarriedPotReturned():
            return replace(state, version=version, carried_from=())
        case MatchStarted():
            seats = tuple(replace(seat, stack=event.coins) for seat in state.seats)
            return replace(state, version=version, seats=seats, match=MatchState(event.entrants))
        case MatchEnded():
            assert state.match is not None, "a match ends that has started"  # noqa: S101
            ended = replace(state.match, places=event.places, result=event.result)
            return replace(state, version=version, match=ended)
        case TableCreated():
            raise AssertionError("a table is created once")


def at_table(state: TableState, event: PlayedEvent) -> TableState:
    """Return what a hand's event changes at the table around it; its version and its hand are the caller's to set."""
    match event:
        case Acted():
            return _decided(_bank_spent(state, event), event.seat, event.decided_by)
        case SetLocked() | Answered():
            return _decided(state, event.seat, event.decided_by)
        case HandStarted() | CapsaStarted():
            return _hand_started(state, event)
        case HandEnded():
            return _hand_ended(state, event)
        case CardGlanced() | CardSwapped() | AnchorDeclared() | AnchorAnswered():
            return _paid(state, event.seat, event.cost) if event.cost else state
        case DestellosReturned():
            return _with_destellos(state, event.destellos)
        case _:
            return state


def _seats_changed(state: TableState, event: _SeatEvent) -> TableState:
    if isinstance(event, BuyInRequested):
        pending = Pending(event.transfer_id, event.amount, is_top_up=False)
        seat = SeatState(event.seat, event.player, event.is_bot, event.transfer_id, event.post_at_once, pending=pending)
        return replace(state, seats=tuple(sorted((*state.seats, seat), key=lambda each: each.seat)))
    seat = _seat(state, event.seat)
    match event:
        case SeatFunded(amount=amount):
            return _with(state, replace(seat, stack=seat.stack + amount, is_funded=True, pending=None))
        case TopUpRequested(transfer_id=transfer_id, amount=amount):
            return _with(state, replace(seat, pending=Pending(transfer_id, amount, is_top_up=True)))
        case BuyInRefused():
            return _with(state, replace(seat, pending=None)) if seat.is_funded else _without(state, event.seat)
        case SatOut():
            return _with(state, replace(seat, is_sitting_out=True))
        case SatIn(post_at_once=post_at_once):
            back = replace(seat, is_sitting_out=False, post_at_once=post_at_once, clock_decisions=0)
            return _with(state, back)
        case StandUpRequested(cause=cause):
            return _with(state, replace(seat, leaving=cause))
        case SeatReleased():
            return _departed(_without(state, event.seat), event)


def _departed(state: TableState, event: SeatReleased) -> TableState:
    oldest = event.released_at_ms - state.config.return_minutes * _MINUTE_MS
    kept = (each for each in state.departures if each.at_ms >= oldest and each.player != event.player)
    departures = (*kept, Departure(event.player, event.amount, event.released_at_ms))
    return replace(state, departures=departures, left_at_ms=event.released_at_ms)


def _decided(state: TableState, number: Seat, decided_by: DecidedBy) -> TableState:
    seat = _seat(state, number)
    match = state.match
    if match is not None:  # The clock plays on for whoever is away (SB-4).
        is_played = match.is_played or decided_by == "player"
        return state if is_played == match.is_played else replace(state, match=replace(match, is_played=is_played))
    if state.config.tournament is not None and decided_by == "player" and not state.directed.is_played:
        state = replace(state, directed=replace(state.directed, is_played=True))
    if decided_by == "clock":
        return _with(state, replace(seat, clock_decisions=seat.clock_decisions + 1))
    if decided_by == "player" and seat.clock_decisions:
        return _with(state, replace(seat, clock_decisions=0))
    return state


def _hand_started(state: TableState, event: HandStarted | CapsaStarted) -> TableState:
    dealt = tuple(each.seat for each in event.seats)
    started = replace(
        state,
        is_running=True,
        hand_no=event.hand_no,
        hand_id=event.hand_id,
        dealt=dealt,
        spots=_spots(state, event),
        spots_before=state.spots,
        entries_before=tuple(Entry(seat.sitting, seat.is_new, seat.hands_missed) for seat in state.seats),
        seats=tuple(_dealt(seat) if seat.seat in dealt else _passed(seat) for seat in state.seats),
        exchange=SeedExchange(event.hand_no + 1, event.next_commitment, event.started_at_ms),
    )
    if isinstance(event, CapsaStarted):
        return started
    if event.tournament is not None and event.tournament.round_no:
        started = replace(started, directed=replace(started.directed, used_no=event.tournament.round_no))
    started = _with_banks(started, event.time_banks_ms)
    return started if event.naiko is None else _with_destellos(started, event.naiko.destellos)


def _with_banks(state: TableState, banks: Sequence[int]) -> TableState:
    """Return the table with the time banks of the seats dealt in, as their hand began."""
    if not banks:
        return state
    begun = dict(zip(state.dealt, banks, strict=True))
    seats = tuple(replace(seat, time_bank_ms=begun.get(seat.seat, seat.time_bank_ms)) for seat in state.seats)
    return replace(state, seats=seats)


def _bank_spent(state: TableState, event: Acted) -> TableState:
    if not event.bank_spent_ms:
        return state
    seat = _seat(state, event.seat)
    return _with(state, replace(seat, time_bank_ms=(seat.time_bank_ms or 0) - event.bank_spent_ms))


def _with_destellos(state: TableState, destellos: Sequence[int]) -> TableState:
    """Return the table with the balances of the seats dealt in."""
    balances = dict(zip(state.dealt, destellos, strict=True))
    seats = tuple(replace(seat, destellos=balances.get(seat.seat, seat.destellos)) for seat in state.seats)
    return replace(state, seats=seats)


def _paid(state: TableState, number: Seat, cost: int) -> TableState:
    seat = _seat(state, number)
    return _with(state, replace(seat, destellos=seat.destellos - cost))


def _spots(state: TableState, event: HandStarted | CapsaStarted) -> Spots | None:
    if isinstance(event, CapsaStarted):  # Only the dealer has a place (CS-3).
        return Spots(event.button, event.button, event.button)
    if event.big_blind_seat is None:
        return None
    small_blinds = [due.seat for due in event.dues if due.kind == "small_blind"]
    # A small blind that nobody owes stands where the big blind was (B5).
    dead = event.button if state.spots is None else state.spots.big_blind
    return Spots(event.button, small_blinds[0] if small_blinds else dead, event.big_blind_seat)


def _dealt(seat: SeatState) -> SeatState:
    return replace(seat, is_new=False, hands_missed=0)


def _passed(seat: SeatState) -> SeatState:
    return replace(seat, hands_missed=seat.hands_missed + 1) if seat.is_funded else seat


def _hand_ended(state: TableState, event: HandEnded) -> TableState:
    payoffs = dict(zip(state.dealt, event.payoffs, strict=True))
    seats = tuple(replace(seat, stack=seat.stack + payoffs.get(seat.seat, 0)) for seat in state.seats)
    spots = state.spots
    if event.result == "void":
        spots = state.spots_before
        before = {entry.sitting: entry for entry in state.entries_before}
        seats = tuple(_as_before(seat, before.get(seat.sitting)) for seat in seats)
    following = state.hosting.settings_next
    return replace(
        state,
        config=state.config if following is None else following,
        hosting=state.hosting if following is None else replace(state.hosting, settings_next=None),
        is_running=False,
        seats=seats,
        spots=spots,
        carried_from=_carried_from(state, event),
        match=None if state.match is None else _after_deal(state.match, state, seats),
        directed=state.directed if state.config.tournament is None else after_hand(state.directed),
        spots_before=None,
        entries_before=(),
        hand_ended_at_ms=event.ended_at_ms,
    )


def _after_deal(match: MatchState, state: TableState, seats: Sequence[SeatState]) -> MatchState:
    """Return a match after a deal: who has nothing left is out (finer point 2), and whether anybody played."""
    before = {seat.seat: seat.stack for seat in state.seats if seat.stack}
    after = {seat.seat: seat.stack for seat in seats if seat.stack}
    idle = 0 if match.is_played else match.idle_deals + 1
    return replace(match, out=ranked_out(before, after) + match.out, idle_deals=idle, is_played=False)


def _carried_from(state: TableState, event: HandEnded) -> tuple[CarriedShare, ...]:
    """Return whose chips stay in the middle: nobody gains in a void hand, and what a seat lost is carried over (A6)."""
    if event.result != "void":
        return ()
    if not any(event.payoffs):
        return state.carried_from
    shares = {share.player: share for share in state.carried_from}
    for number, payoff in zip(state.dealt, event.payoffs, strict=True):
        seat = _seat(state, number)
        before = shares.get(seat.player, CarriedShare(seat.player, seat.is_bot, 0))
        shares[seat.player] = replace(before, amount=before.amount - payoff)
    return tuple([shares[player] for player in sorted(shares) if shares[player].amount])


def _as_before(seat: SeatState, before: Entry | None) -> SeatState:
    if before is None:
        return seat
    return replace(seat, is_new=before.is_new, hands_missed=before.hands_missed)


def _seat(state: TableState, number: Seat) -> SeatState:
    seat = state.seat(number)
    assert seat is not None, f"seat {number} is taken"  # noqa: S101
    return seat


def _with(state: TableState, changed: SeatState) -> TableState:
    return replace(state, seats=tuple(changed if seat.seat == changed.seat else seat for seat in state.seats))


def _without(state: TableState, number: Seat) -> TableState:
    return replace(state, seats=tuple(seat for seat in state.seats if seat.seat != number))


_AROUND_HANDS: Final = (
    *(Acted, HandStarted, HandEnded, CardGlanced, CardSwapped, AnchorDeclared, AnchorAnswered, DestellosReturned),
    *(CapsaStarted, SetLocked, Answered),
)
"""What happens in a hand and changes the table around it."""


def _by_kind(evolver: _Evolver, kinds: Iterable[type]) -> dict[type, _Evolver]:
    return dict.fromkeys(kinds, evolver)


_EVOLVERS: Final[Mapping[type, _Evolver]] = MappingProxyType(
    _by_kind(_in_hand, PLAYED_EVENTS)
    | _by_kind(_in_hand_and_at_table, _AROUND_HANDS)
    | _by_kind(_at_seats, get_args(_SeatEvent.__value__))
    | _by_kind(_at_directed_seats, get_args(EntrantEvent.__value__))
    | _by_kind(_directed, get_args(SettingEvent.__value__))
    | _by_kind(_at_stakes, get_args(StakeEvent.__value__))
    | _by_kind(_in_line, get_args(WaitingEvent.__value__))
    | _by_kind(_hosted, get_args(HostingEvent.__value__))
    | _by_kind(_exchanged, (SecretCommitted, SeedsCommitted))
    | _by_kind(_owned, (OwnerChanged,))
    | _by_kind(_recorded, (RefusalsRecorded, HandOpened))
    | _by_kind(_ran, get_args(_CourseEvent.__value__))
)
"""Every kind of event with what it does. Looked up, as asking a record for its kind, kind by kind, costs more than all
that follows: a table's log is folded in the time that a restart takes."""
