"""A match at a table: it starts when every seat is taken and paid for, and ends with the last player (SB-4, SB-38).

Coins never leave the table. Entries are gathered when it starts and paid out when it ends, by what was settled before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.core.hand.events import Seat
from diwan.core.limits import PLAYERS_MIN
from diwan.core.match.prizes import prizes_of
from diwan.core.match.settings import MatchSettings
from diwan.core.table.config import MatchTerms, TableConfig
from diwan.core.table.events import Entrant, MatchEnded, MatchPlace, MatchResult, MatchStarted
from diwan.core.table.state import MatchState, TableState

IDLE_DEALS_MAX: Final = 5
"""After so many deals running in which nobody decided anything themselves a match is over: nobody plays it any more.

With everybody away all hands are void, so no coin would ever change hands again.
"""


def match_settings(config: TableConfig) -> MatchSettings:
    """Return a table's settings as those of its match."""
    terms = config.match or MatchTerms()
    return MatchSettings(
        hand=config.hand,
        players=config.seats,
        starting_coins=terms.starting_coins,
        entry_fee=terms.entry_fee,
        prizes=terms.prizes,
    )


def begun_match(state: TableState, now_ms: int) -> MatchStarted | None:
    """Return the start of a match where every seat is paid for and nobody is about to leave."""
    terms = state.config.match
    if terms is None or state.match is not None or state.is_closing or len(state.seats) < state.config.seats:
        return None
    if any(not seat.is_funded or seat.leaving is not None for seat in state.seats):
        return None
    entrants = tuple([Entrant(seat.seat, seat.player, seat.is_bot, seat.sitting) for seat in state.seats])
    return MatchStarted(entrants, terms.starting_coins.value, terms.entry_fee, now_ms)


def ended_match(state: TableState, now_ms: int) -> MatchEnded | None:
    """Return the end of a match between two hands: won, given up by everybody, or cancelled with its table (entries back)."""
    match = state.match
    if match is None or match.is_ended or state.is_running:
        return None
    stacks = {seat.seat: seat.stack for seat in state.seats if seat.stack}
    if len(stacks) < PLAYERS_MIN:
        return _ended(state, "won", (tuple(stacks), *match.out), now_ms)
    if state.is_closing:
        return _ended(state, "cancelled", (), now_ms)
    if match.idle_deals < IDLE_DEALS_MAX:
        return None
    ranked = sorted(set(stacks.values()), reverse=True)
    places = [tuple([seat for seat, stack in stacks.items() if stack == each]) for each in ranked]
    return _ended(state, "abandoned", (*places, *match.out), now_ms)


def match_places(match: MatchState) -> tuple[MatchPlace, ...]:
    """Return who came where: when the match is over everybody, until then who is out, without prizes."""
    if match.is_ended:
        return match.places
    by_seat = {each.seat: each for each in match.entrants}
    place, found = len(match.entrants) - sum(map(len, match.out)) + 1, []
    for seats in match.out:
        found += [MatchPlace(place, each, by_seat[each].player, by_seat[each].is_bot, 0) for each in seats]
        place += len(seats)
    return tuple(found)


def _ended(state: TableState, result: MatchResult, places: Sequence[Sequence[Seat]], now_ms: int) -> MatchEnded:
    """Return the end with everybody's place, 0 where the match was cancelled, and what each is paid."""
    settings = match_settings(state.config)
    entrants = () if state.match is None else state.match.entrants
    prizes = prizes_of(settings, places) if places else {each.seat: settings.entry_fee for each in entrants}
    place_of: dict[Seat, int] = {}
    for seats in places:
        place_of |= dict.fromkeys(seats, len(place_of) + 1)
    ranked = sorted(entrants, key=lambda each: (place_of.get(each.seat, 0), each.seat))
    return MatchEnded(
        result,
        tuple(
            [
                MatchPlace(place_of.get(each.seat, 0), each.seat, each.player, each.is_bot, prizes.get(each.seat, 0))
                for each in ranked
            ]
        ),
        now_ms,
    )
