"""Back from an act to the command that made it, so that a log can be decided again (DESIGN 3)."""

from __future__ import annotations

from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.games.capsa.stakes import StakeAgreed, StakeEnded, StakeProposed
from diwan.core.games.capsa.stakes import command_of as stake_command_of
from diwan.core.hand.events import HandStarted
from diwan.core.table.commands import (
    ClaimTable,
    CloseTable,
    CommitSecret,
    CommitSeeds,
    CreateTable,
    FundSeat,
    RecordOpening,
    RecordRefusals,
    RefuseBuyIn,
    RequestSeat,
    RequestTopUp,
    SitIn,
    SitOut,
    StandUp,
    StartNextHand,
    TableCommand,
)
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    CarriedPotReturned,
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
from diwan.core.table.games import plan_next_hand
from diwan.core.table.hosting.events import (
    GuestJoined,
    GuestRemoved,
    HostChanged,
    InvitationAnswered,
    InvitationRevoked,
    InvitationSent,
    JoinCodeIssued,
    JoinCodeRevoked,
    SettingsChanged,
    TablePaused,
    TableResumed,
)
from diwan.core.table.hosting.inverse import hosting_command_of
from diwan.core.table.playing import played_command_of
from diwan.core.table.state import TableState
from diwan.core.table.tournament.events import (
    ChipsAdded,
    ClockSet,
    EntrantReleased,
    EntrantReleaseOrdered,
    EntrantSeated,
    HandGranted,
    RunoutHoldSet,
    StartModeSet,
)
from diwan.core.table.tournament.inverse import tournament_command_of
from diwan.core.table.waiting.events import SeatHeld, SeatWanted, WaitEnded
from diwan.core.table.waiting.inverse import waiting_command_of


def command_of(event: TableEvent, state: TableState | None) -> TableCommand | None:
    """Return the command of which an event is the act, or None where it never is one.

    Ask about the first event of a batch (events of one batch share their command id), with the table as it stood
    before: an event that names a seat belongs to a command that names a player.
    """
    match event:
        case TableCreated():
            return CreateTable(event.table_id, event.config, event.created_by, event.created_at_ms, event.host)
        case HandStarted():
            return _start_command(event, state)
        case CapsaStarted():
            return StartNextHand(
                event.hand_id, event.deck_root, event.seeds, event.next_commitment, event.started_at_ms
            )
        case SecretCommitted():
            return CommitSecret(event.commitment, event.committed_at_ms)
        case SeedsCommitted():
            return CommitSeeds(event.hand_no, event.commitments, event.committed_at_ms)
        case RefusalsRecorded():
            return RecordRefusals(event.hand_no, event.counts, event.recorded_at_ms)
        case HandOpened():
            return RecordOpening(
                event.hand_id,
                event.opened_by,
                event.role,
                event.lens,
                event.reason,
                event.case_id,
                event.opened_at_ms,
            )
        case OwnerChanged():
            return ClaimTable(event.epoch, event.owner, event.changed_at_ms)
        case TableClosing():
            return CloseTable(event.closed_by, event.closing_at_ms)
        case SeatReleased() | TableClosed() | CarriedPotReturned() | MatchStarted() | MatchEnded():
            return None
        case EntrantSeated() | EntrantReleaseOrdered() | EntrantReleased() | ChipsAdded():
            return tournament_command_of(event, state)
        case ClockSet() | StartModeSet() | HandGranted() | RunoutHoldSet():
            return tournament_command_of(event, state)
        case SeatWanted() | SeatHeld() | WaitEnded():
            return waiting_command_of(event)
        case InvitationSent() | InvitationAnswered() | InvitationRevoked() | JoinCodeIssued() | JoinCodeRevoked():
            return hosting_command_of(event)
        case GuestJoined() | GuestRemoved() | HostChanged() | TablePaused() | TableResumed() | SettingsChanged():
            return hosting_command_of(event)
        case (
            BuyInRequested()
            | TopUpRequested()
            | SeatFunded()
            | BuyInRefused()
            | SatOut()
            | SatIn()
            | StandUpRequested()
        ):
            return _seat_command(event, state)
        case StakeProposed() | StakeAgreed() | StakeEnded():
            return stake_command_of(event)
        case _:
            return played_command_of(event, 0 if state is None else state.version)


def _start_command(event: HandStarted, state: TableState | None) -> StartNextHand:
    plan = None if state is None else plan_next_hand(state, event.started_at_ms)
    return StartNextHand(
        event.hand_id,
        event.deck_root,
        event.seeds,
        event.next_commitment,
        event.started_at_ms,
        event.button if plan is not None and plan.button is None else None,
        () if event.naiko is None else event.naiko.carousel,
    )


type _SeatAct = BuyInRequested | TopUpRequested | SeatFunded | BuyInRefused | SatOut | SatIn | StandUpRequested


def _seat_command(event: _SeatAct, state: TableState | None) -> TableCommand | None:
    match event:
        case BuyInRequested():
            return RequestSeat(
                event.player,
                event.is_bot,
                event.seat,
                event.amount,
                event.transfer_id,
                event.post_at_once,
                event.requested_at_ms,
            )
        case SeatFunded():
            return FundSeat(event.transfer_id, event.funded_at_ms)
        case BuyInRefused():
            return RefuseBuyIn(event.transfer_id, event.reason, event.refused_at_ms)
    seat = None if state is None else state.seat(event.seat)
    if seat is None:
        return None
    match event:
        case TopUpRequested():
            return RequestTopUp(seat.player, event.amount, event.transfer_id, event.requested_at_ms)
        case SatOut():
            return SitOut(seat.player, event.cause, event.sat_out_at_ms)
        case SatIn():
            return SitIn(seat.player, event.post_at_once, event.sat_in_at_ms)
        case StandUpRequested():
            return StandUp(seat.player, event.cause, event.requested_at_ms, event.requested_by)
