"""Capsa at a table: its settings, who can cover the reserve, where the dealer goes (CS-3, CS-62, CS-65)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from diwan.core.games.capsa.reserve import Shortage, dealt_in, reserve_of
from diwan.core.games.capsa.rules import CAPSA_RULES_VERSION
from diwan.core.games.capsa.settings import CapsaSettings, most_units, setting_rules
from diwan.core.games.capsa.settings import completed as completed_settings
from diwan.core.hand.events import Chips, HandSeat, Seat
from diwan.core.hand.settings import HandSettings
from diwan.core.limits import PLAYERS_MIN
from diwan.core.table.config import TableConfig
from diwan.core.table.planning import NextHand
from diwan.core.table.state import SeatState, TableState

BUY_IN_RESERVES = 5
"""The most to sit down with, where nothing else is set, in reserves of a full table; as 100 big blinds to 20."""


def settings_of(config: TableConfig) -> CapsaSettings:
    """Return a Capsa table's settings; a table of another game has none, which is a ValueError."""
    if config.capsa is None:
        raise ValueError("no table of Capsa")
    return config.capsa


def completed(config: TableConfig) -> TableConfig:
    """Return settings with what follows from the scoring. Its clocks know no time bank."""
    return replace(config, capsa=completed_settings(settings_of(config)), time_bank_seconds=0, time_bank_gain_seconds=0)


def capsa_rules(config: TableConfig) -> Iterator[tuple[str, bool, str]]:
    """Yield what must hold of the settings of a Capsa table."""
    settings = settings_of(config)
    yield "hand", config.hand == HandSettings(), "settings of another game"
    yield "capsa.players", settings.players == config.seats, "as many as the table has seats"
    yield "capsa.pair_units", not settings.pair_units, "pairs agree upon their stakes at the table (CS-62)"
    for setting, is_right, why in setting_rules(settings):
        yield f"capsa.{setting}", is_right, why


def buy_in_bounds(config: TableConfig) -> tuple[Chips, Chips]:
    """Return the usual bounds: the reserve of a full table, and five of them."""
    low = reserve_of(settings_of(config), 0, range(config.seats))
    return low, low * BUY_IN_RESERVES


def least_buy_in(config: TableConfig) -> Chips:
    """Return the reserve against one opponent: with less nobody is ever dealt in."""
    settings = settings_of(config)
    return most_units(settings) * settings.unit


def plan_capsa(state: TableState, able: Sequence[SeatState]) -> NextHand | None:
    """Return the next hand of those who cover the reserve, None where fewer than two do."""
    settings = hand_settings(state)
    seats, _ = dealt_in(settings, {seat.seat: seat.stack for seat in able}, _dealer(state, able))
    if len(seats) < PLAYERS_MIN:
        return None
    return NextHand(
        settings=state.config.hand,
        seats=tuple(
            [
                HandSeat(seat.seat, seat.player, seat.stack, seat.is_bot, seat.sitting)
                for seat in able
                if seat.seat in seats
            ]
        ),
        # A dealer who is dealt out is no dealer: nobody is first twice running for want of one (CS-3).
        button=_dealer(state, [seat for seat in able if seat.seat in seats]),
        big_blind_seat=None,
        dues=(),
        rules_version=CAPSA_RULES_VERSION,
        capsa=settings,
    )


def hand_settings(state: TableState) -> CapsaSettings:
    """Return the settings of the next hand: the table's, with the stakes that pairs have agreed upon (CS-61)."""
    return replace(settings_of(state.config), pair_units=state.stakes.pair_units)


def shortages(state: TableState, able: Sequence[SeatState]) -> tuple[Shortage, ...]:
    """Return who would be dealt out for want of the reserve, with what would be needed (RESERVE_TOO_SMALL)."""
    if not able:
        return ()
    return dealt_in(hand_settings(state), {seat.seat: seat.stack for seat in able}, _dealer(state, able))[1]


def _dealer(state: TableState, seats: Sequence[SeatState]) -> Seat:
    numbers = [seat.seat for seat in seats]
    if state.spots is None:
        return numbers[0]
    last = state.spots.button
    return min([number for number in numbers if number > last], default=numbers[0])
