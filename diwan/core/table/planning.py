"""Who plays the next hand, and who posts what: with blinds (B5, RULES.md "joining"), or with forced bets (SB-6, SB-28)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.naiko.carousel import gained
from diwan.core.games.sarab import following_deal, forced_dues
from diwan.core.hand.events import Chips, Due, HandSeat, Power, Seat, TournamentDeal
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings, NaikoSettings
from diwan.core.hand.state import EndedHand
from diwan.core.table.button import Contender, Positions, first_hand_positions, next_hand_positions
from diwan.core.table.state import SeatState, TableState


class NextHand(Struct, frozen=True):
    """The next hand as far as the table decides it; the deck comes from the shell.

    ``button`` None is to be drawn among the seats, ``draws_carousel`` the powers on show, both from the hand's secret.
    """

    settings: HandSettings
    seats: tuple[HandSeat, ...]
    button: Seat | None
    big_blind_seat: Seat | None
    dues: tuple[Due, ...]
    rules_version: int = CURRENT_RULES_VERSION
    deal_no: int = 0
    carried: Chips = 0
    destellos: tuple[int, ...] = ()
    draws_carousel: bool = False
    capsa: CapsaSettings | None = None  # of that game only, which takes nothing of ``settings``
    small_blind_place: Seat | None = None  # of games with blinds
    tournament: TournamentDeal | None = None  # of a tournament's table only


class Drawn(Struct, frozen=True):
    """What chance decided beside the deck, where the plan left it open."""

    button: Seat | None = None
    carousel: tuple[Power, ...] = ()


def plan_with_blinds(state: TableState, able: Sequence[SeatState]) -> NextHand | None:
    """Return the next hand of a game with blinds: who waits for the big blind is not dealt in."""
    positions = _positions(state, able)
    if positions is None:
        return None
    seats = _dealt([seat for seat in able if seat.seat in positions.dealt_in])
    spots = positions.spots
    return NextHand(
        state.config.hand,
        seats,
        spots.button,
        spots.big_blind,
        positions.dues,
        small_blind_place=spots.small_blind,
    )


def plan_with_powers(state: TableState, able: Sequence[SeatState]) -> NextHand | None:
    """Return the next hand of Naiko: one with blinds, in which every seat dealt in has gained its destellos (NK-1)."""
    plan = plan_with_blinds(state, able)
    if plan is None:
        return None
    settings = state.config.hand.naiko or NaikoSettings()
    before = {seat.seat: seat.destellos for seat in able}
    destellos = tuple([gained(settings, before[seat.seat]) for seat in plan.seats])
    return replace(plan, destellos=destellos, draws_carousel=True)


def plan_with_forced_bets(state: TableState, able: Sequence[SeatState]) -> NextHand:
    """Return the next deal of Sarab: everybody is dealt in and pays the forced bet of its level; the first dealer is drawn.

    What the table counts from deal to deal stands in its last hand (A1, A6, A7).
    """
    numbers = [seat.seat for seat in able]
    last = state.hand if isinstance(state.hand, EndedHand) else None
    deal = following_deal(state.config.hand, last, numbers)
    return NextHand(
        settings=deal.settings,
        seats=_dealt(able),
        button=deal.button,
        big_blind_seat=None,
        dues=forced_dues(numbers, deal.settings.big_blind),
        deal_no=deal.deal_no,
        carried=state.carried,
    )


def _dealt(seats: Sequence[SeatState]) -> tuple[HandSeat, ...]:
    return tuple([HandSeat(seat.seat, seat.player, seat.stack, seat.is_bot, seat.sitting) for seat in seats])


def _positions(state: TableState, able: Sequence[SeatState]) -> Positions | None:
    small, big = state.config.hand.small_blind, state.config.hand.big_blind
    if state.spots is None:
        terms = state.config.tournament
        drawn = None if terms is None else terms.first_button
        return first_hand_positions(able[0].seat if drawn is None else drawn, [seat.seat for seat in able], small, big)
    return next_hand_positions(state.spots, [_contender(state, seat) for seat in able], small, big)


def _contender(state: TableState, seat: SeatState) -> Contender:
    if seat.is_new and state.config.tournament is not None:
        return Contender(seat.seat, "arrival")
    if seat.is_new:
        return Contender(seat.seat, "newcomer", seat.post_at_once)
    return Contender(seat.seat, "returner" if seat.hands_missed else "playing", seat.post_at_once)
