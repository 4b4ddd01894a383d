"""What a table makes of a command. It composes the hand: a hand's batch first, then what follows from it at the table.

Rules: RULES.md "table defaults" and "joining", TB-1, TB-2, CL-2, CL-4, B5, H9.
"""

from __future__ import annotations

from collections.abc import Mapping

from diwan.core.cards import Card
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import (
    AnswerCall,
    ExpireCapsaClock,
    LockSet,
    SaveDraft,
    StartCapsa,
    Unlock,
)
from diwan.core.games.capsa.decide import advance as advance_capsa
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.capsa.stakes import AcceptStake, EndStake, LeaveStakes, ProposeStake, StakeCommand
from diwan.core.hand.commands import (
    Act,
    AllIn,
    AnswerAnchor,
    ExpireClock,
    MoveDeadline,
    ReleaseRunout,
    StartHand,
    UsePower,
    VoidHand,
)
from diwan.core.hand.decide import advance as advance_hand
from diwan.core.hand.events import NaikoDeal, Position, Seat
from diwan.core.reasons import Reason
from diwan.core.table import exchange, joining, pairs, seating
from diwan.core.table.banks import time_banks
from diwan.core.table.batch import Batch
from diwan.core.table.checking import checked
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
    HandOpened,
    OwnerChanged,
    RefusalsRecorded,
    SecretCommitted,
    SeedsCommitted,
    TableClosing,
    TableCreated,
    TableEvent,
)
from diwan.core.table.evolve import evolve
from diwan.core.table.games import plan_next_hand
from diwan.core.table.hosting.commands import HostingCommand, JoinByCode
from diwan.core.table.hosting.decide import accepted_by_sitting, decide_hosting
from diwan.core.table.planning import NextHand
from diwan.core.table.playing import advance_played
from diwan.core.table.state import TableState
from diwan.core.table.tournament.commands import (
    AddChips,
    GrantHand,
    HoldRunouts,
    ReleaseEntrant,
    SeatEntrant,
    SetClock,
    SetStartMode,
    TournamentTableCommand,
)
from diwan.core.table.tournament.decide import decide_tournament
from diwan.core.table.waiting.commands import ExpireHold, StopWaiting, WaitForSeat, WaitingCommand
from diwan.core.table.waiting.decide import decide_waiting

type Cards = Mapping[Position, Card]
type Batched = tuple[TableEvent, ...]
type Step = tuple[Batched, TableState]


def decide(state: TableState | None, command: TableCommand, cards: Cards) -> Batched:
    """Return the events of a command, the act first; raises `Rejected` and then nothing has happened.

    ``cards`` are those of the running hand, or of the hand that ``StartNextHand`` begins.
    """
    return advance(state, command, cards)[0]


def advance(state: TableState | None, command: TableCommand, cards: Cards) -> Step:
    """Return the events of `decide` together with the table after them, which is that of folding them."""
    if state is None:
        if isinstance(command, CreateTable):
            config = checked(command.config)
            if config.is_private != bool(command.host):
                why = "a private table has a host, and no other"
                raise Rejected("SETTING_INVALID", setting="is_private", why=why)
            created = TableCreated(command.table_id, config, command.created_by, command.now_ms, command.host)
            return (created,), evolve(None, created)
        raise Rejected("TABLE_NOT_FOUND")
    match command:
        case Act() | AllIn() | ExpireClock() | UsePower() | AnswerAnchor() | MoveDeadline() | VoidHand():
            return _in_hand(state, command, cards)
        case ReleaseRunout():
            return _in_hand(state, command, cards)
        case SaveDraft() | LockSet() | Unlock() | AnswerCall() | ExpireCapsaClock():
            return _in_hand(state, command, cards)
        case ProposeStake() | AcceptStake() | EndStake() | LeaveStakes():
            return _stakes(state, command)
        case StartNextHand():
            return _start(state, command, cards)
        case StartHand() | StartCapsa():
            raise Rejected("UNEXPECTED", why="a table plans its own hands")
        case CommitSeeds():
            exchange.check_seeds(state, command)
            return _one(state, SeedsCommitted(command.hand_no, command.commitments, command.now_ms))
        case CommitSecret():
            exchange.check_secret(state, command)
            return _one(state, SecretCommitted(state.hand_no + 1, command.commitment, command.now_ms))
        case RecordRefusals():
            return _refusals(state, command)
        case RecordOpening():
            return _one(state, _opening(command))
        case ClaimTable():
            return _claim(state, command)
        case SeatEntrant() | ReleaseEntrant() | AddChips() | SetClock() | SetStartMode() | GrantHand() | HoldRunouts():
            return _directed(state, command, cards)
        case CreateTable():
            raise Rejected("UNEXPECTED", why="a table is created once")
        case CloseTable():
            return _close(state, command, cards)
        case _:
            return _seats(state, command, cards)


type _SeatCommand = (
    RequestSeat | FundSeat | RefuseBuyIn | RequestTopUp | SitOut | SitIn | StandUp | HostingCommand | WaitingCommand
)


def _seats(state: TableState, command: _SeatCommand, cards: Cards) -> Step:
    # Who guesses a code is not told that there was a table.
    if state.is_closed and not isinstance(command, JoinByCode):
        raise Rejected("TABLE_CLOSED", table_id=state.table_id)
    if state.config.tournament is not None:
        raise Rejected(Reason.TOURNAMENT_TABLE, table_id=state.table_id)
    batch = Batch(state, cards)
    match command:
        case RequestSeat():
            batch.add(joining.request_seat(state, command))
            if command.amount == 0:  # A match without entry: there is nothing to ask the wallet for.
                batch.add(joining.fund(batch.state, FundSeat(command.transfer_id, command.now_ms)))
            batch.add(*accepted_by_sitting(state, command.player, command.now_ms))
        case RequestTopUp():
            batch.add(joining.request_top_up(state, command))
        case FundSeat():
            batch.add(joining.fund(state, command))
        case RefuseBuyIn():
            batch.add(joining.refuse(state, command))
        case SitOut():
            batch.add(seating.sit_out(state, command))
        case SitIn():
            batch.add(seating.sit_in(state, command))
        case StandUp():
            batch.add(seating.stand_up(state, command))
        case WaitForSeat() | StopWaiting() | ExpireHold():
            batch.add(decide_waiting(state, command))
        case _:
            batch.add(*decide_hosting(state, command))
    batch.settle(command.now_ms)
    return batch.events, batch.state


def _directed(state: TableState, command: TournamentTableCommand, cards: Cards) -> Step:
    if state.is_closed:
        raise Rejected(Reason.TABLE_CLOSED, table_id=state.table_id)
    batch = Batch(state, cards)
    batch.add(decide_tournament(state, command))
    batch.settle(command.now_ms)
    return batch.events, batch.state


type _InPoker = Act | AllIn | ExpireClock | UsePower | AnswerAnchor | MoveDeadline | ReleaseRunout | VoidHand
type _InCapsa = SaveDraft | LockSet | Unlock | AnswerCall | ExpireCapsaClock


def _in_hand(state: TableState, command: _InPoker | _InCapsa, cards: Cards) -> Step:
    batch = Batch(state, cards)
    batch.add_hand(*advance_played(state.hand, command, cards))
    batch.settle(command.now_ms)
    return batch.events, batch.state


def _stakes(state: TableState, command: StakeCommand) -> Step:
    events = pairs.decide_stake(state, command)
    batch = Batch(state, {})
    batch.add(*events)
    return batch.events, batch.state


def _start(state: TableState, command: StartNextHand, cards: Cards) -> Step:
    plan = plan_next_hand(state, command.now_ms)
    if plan is None:
        raise Rejected("UNEXPECTED", why="a hand is running, the table closes or fewer than two can play")
    batch = Batch(state, cards)
    if plan.capsa is None:
        batch.add_hand(*advance_hand(None, _poker_start(state, plan, command), cards))
    else:
        batch.add_hand(*advance_capsa(None, _capsa_start(state, plan, plan.capsa, command), cards))
    batch.settle(command.now_ms)
    return batch.events, batch.state


def _poker_start(state: TableState, plan: NextHand, command: StartNextHand) -> StartHand:
    opened = exchange.checked_seeds(state, command, plan.seats)
    return StartHand(
        hand_id=command.hand_id,
        hand_no=state.hand_no + 1,
        rules_version=plan.rules_version,
        settings=plan.settings,
        seats=plan.seats,
        button=_button(plan, command),
        big_blind_seat=plan.big_blind_seat,
        dues=plan.dues,
        secret_commitment=exchange.open_exchange(state).secret_commitment,
        seeds=command.seeds,
        absent=tuple(seat.seat for seat in plan.seats if seat.seat not in opened),
        deck_root=command.deck_root,
        next_commitment=command.next_commitment,
        version=state.version,
        now_ms=command.now_ms,
        deal_no=plan.deal_no,
        carried=plan.carried,
        naiko=NaikoDeal(command.carousel, plan.destellos) if plan.draws_carousel else None,
        time_banks_ms=time_banks(state, plan.seats),
        tournament=plan.tournament,
    )


def _capsa_start(state: TableState, plan: NextHand, settings: CapsaSettings, command: StartNextHand) -> StartCapsa:
    opened = exchange.checked_seeds(state, command, plan.seats)
    return StartCapsa(
        hand_id=command.hand_id,
        hand_no=state.hand_no + 1,
        rules_version=plan.rules_version,
        settings=settings,
        seats=plan.seats,
        button=_button(plan, command),
        secret_commitment=exchange.open_exchange(state).secret_commitment,
        seeds=command.seeds,
        absent=tuple(seat.seat for seat in plan.seats if seat.seat not in opened),
        deck_root=command.deck_root,
        next_commitment=command.next_commitment,
        version=state.version,
        now_ms=command.now_ms,
    )


def _button(plan: NextHand, command: StartNextHand) -> Seat:
    """Return the planned button, or the one that was drawn; what the plan did not leave open may not be drawn."""
    if bool(command.carousel) != plan.draws_carousel or (command.button is None) != (plan.button is not None):
        raise Rejected("UNEXPECTED", why="just what the plan leaves open is drawn")
    if plan.button is not None:
        return plan.button
    if command.button not in [seat.seat for seat in plan.seats]:
        raise Rejected("FIELD_INVALID", field="button", why="a seat that is dealt in")
    return command.button


def _refusals(state: TableState, command: RecordRefusals) -> Step:
    if command.hand_no > state.hand_no or not command.counts or any(each.count < 1 for each in command.counts):
        raise Rejected("UNEXPECTED", why="no refusal to record")
    return _one(state, RefusalsRecorded(command.hand_no, command.counts, command.now_ms))


def _opening(command: RecordOpening) -> HandOpened:
    return HandOpened(
        command.hand_id,
        command.opened_by,
        command.role,
        command.lens,
        command.reason,
        command.case_id,
        command.now_ms,
    )


def _one(state: TableState, event: TableEvent) -> Step:
    return (event,), evolve(state, event)


def _claim(state: TableState, command: ClaimTable) -> Step:
    if command.epoch <= state.epoch:
        raise Rejected("UNEXPECTED", why=f"epoch {state.epoch} is not older")
    return _one(state, OwnerChanged(command.epoch, command.owner, command.now_ms))


def _close(state: TableState, command: CloseTable, cards: Cards) -> Step:
    if state.is_closing or state.is_closed:
        raise Rejected("TABLE_CLOSED", table_id=state.table_id)
    if command.closed_by == state.hosting.host and state.match is not None:
        # Entries come back where a match is called off: not for its host, who may be losing it, to decide.
        raise Rejected("MATCH_STARTED", table_id=state.table_id)
    batch = Batch(state, cards)
    batch.add(TableClosing(command.closed_by, command.now_ms))
    batch.settle(command.now_ms)
    return batch.events, batch.state
