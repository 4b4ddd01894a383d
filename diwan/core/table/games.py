"""What a table has to know of its game: which settings it takes, and how its next hand is planned.

The one place where a game is entered that tables are to play; how a hand of it is played is said in `diwan.core.games`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from msgspec.structs import replace

from diwan.core.fairness.material import NO_SEEDS, Seeds
from diwan.core.games import GAMES
from diwan.core.games.naiko.carousel import draw_carousel
from diwan.core.games.naiko.game import setting_rules as naiko_rules
from diwan.core.games.sarab import draw_button
from diwan.core.games.sarab import setting_rules as sarab_rules
from diwan.core.hand.events import Chips
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.limits import PLAYERS_MIN
from diwan.core.match.settings import match_rules
from diwan.core.table import capsa
from diwan.core.table.config import MatchTerms, TableConfig
from diwan.core.table.matches import match_settings
from diwan.core.table.planning import (
    Drawn,
    NextHand,
    plan_with_blinds,
    plan_with_forced_bets,
    plan_with_powers,
)
from diwan.core.table.state import SeatState, TableState
from diwan.core.table.tournament.planning import at_level, in_tournament, opens_at_ms

BUY_IN_MIN_BLINDS: Final = 20
BUY_IN_MAX_BLINDS: Final = 100

type Rules = Iterator[tuple[str, bool, str]]
"""Settings by their names, whether each makes sense, and what would."""


class TableGame:
    """A game with blinds, and the base of every other game at a table."""

    has_blinds: ClassVar[bool] = True
    """Whether a newcomer or returner waits for the big blind or posts (RULES.md 'joining')."""

    is_for_tournaments: ClassVar[bool] = True
    """Whether tournaments are played in it."""

    def completed(self, hand: HandSettings) -> HandSettings:
        """Return a table's settings of its hands with the defaults of this game in them."""
        return hand

    def completed_table(self, config: TableConfig) -> TableConfig:
        """Return a table's settings with the defaults of this game in those of its hands."""
        return replace(config, hand=self.completed(config.hand))

    def buy_in_bounds(self, config: TableConfig) -> tuple[Chips, Chips]:
        """Return the least and the most to sit down with, where nothing else is set."""
        blind = config.hand.big_blind
        return BUY_IN_MIN_BLINDS * blind, BUY_IN_MAX_BLINDS * blind

    def least_buy_in(self, config: TableConfig) -> Chips:
        """Return what a table may not let anybody sit down with less than."""
        return config.hand.big_blind

    def setting_rules(self, config: TableConfig) -> Rules:
        """Yield what must hold of a table's settings beyond what holds for every game."""
        hand = config.hand
        limits = GAMES[hand.game].limits
        yield "hand.limit", hand.limit in limits, f"{hand.game} is played {' or '.join(limits)}"
        yield "hand.small_blind", 1 <= hand.small_blind <= hand.big_blind, "1 at least, not above the big blind"
        yield "hand.sarab", hand.sarab is None, "settings of another game"
        yield "hand.naiko", hand.naiko is None, "settings of another game"

    def plan(self, state: TableState, able: Sequence[SeatState]) -> NextHand | None:
        """Return the hand of two or more seats that could play, None where too few of them may be dealt in."""
        return plan_with_blinds(state, able)


class NaikoTable(TableGame):
    """Naiko: blinds, and destellos that stay with the sitting."""

    def completed(self, hand: HandSettings) -> HandSettings:
        """Return the settings with those of the powers."""
        return hand if hand.naiko is not None else replace(hand, naiko=NaikoSettings())

    def setting_rules(self, config: TableConfig) -> Rules:
        """Yield also the rules of the powers' settings."""
        hand = config.hand
        yield from super().setting_rules(replace(config, hand=replace(hand, naiko=None)))
        for setting, is_right, why in naiko_rules(hand.naiko or NaikoSettings()):
            yield f"hand.naiko.{setting}", is_right, why

    def plan(self, state: TableState, able: Sequence[SeatState]) -> NextHand | None:
        """Return the next hand, for which the carousel is drawn."""
        return plan_with_powers(state, able)


class SarabTable(TableGame):
    """Sarab: no blinds, so everybody is dealt in at once; the first dealer is drawn."""

    has_blinds: ClassVar[bool] = False

    def completed(self, hand: HandSettings) -> HandSettings:
        """Return the settings with those of Sarab; without them the forced bet is the smallest bet and stays there."""
        return hand if hand.sarab is not None else replace(hand, sarab=SarabSettings(forced_bets=(hand.big_blind,)))

    def completed_table(self, config: TableConfig) -> TableConfig:
        """Return the settings with the usual terms of a match, where the table is one's."""
        config = super().completed_table(config)
        return replace(config, match=MatchTerms()) if config.chips == "match" and config.match is None else config

    def buy_in_bounds(self, config: TableConfig) -> tuple[Chips, Chips]:
        """Return the usual bounds; a match costs its entry."""
        terms = config.match
        return super().buy_in_bounds(config) if terms is None else (terms.entry_fee, terms.entry_fee)

    def least_buy_in(self, config: TableConfig) -> Chips:
        """Return the forced bet; of a match the entry."""
        return super().least_buy_in(config) if config.match is None else config.match.entry_fee

    def setting_rules(self, config: TableConfig) -> Rules:
        """Yield the rules of Sarab's settings; the smallest bet of the table is the first forced bet."""
        hand = config.hand
        sarab = hand.sarab or SarabSettings()
        limits = GAMES[hand.game].limits
        yield "hand.limit", hand.limit == "no_limit", f"{hand.game} is played {limits[0]} (A4)"
        yield "hand.naiko", hand.naiko is None, "settings of another game"
        for setting, is_right, why in sarab_rules(sarab):
            yield f"hand.sarab.{setting}", is_right, why
        yield "hand.small_blind", hand.small_blind == 0, "this game has no blinds"
        yield (
            "hand.big_blind",
            hand.big_blind == sarab.forced_bets[0],
            "the smallest bet is the first forced bet (SB-31)",
        )
        if config.match is not None:
            fee = config.match.entry_fee
            yield "buy_in_min", config.buy_in_min in {0, fee}, "a match costs its entry"
            yield "buy_in_max", config.buy_in_max in {0, fee}, "a match costs its entry"
            for setting, is_right, why in match_rules(match_settings(config)):
                yield f"match.{setting}", is_right, why

    def plan(self, state: TableState, able: Sequence[SeatState]) -> NextHand | None:
        """Return the next deal of the schedule."""
        return plan_with_forced_bets(state, able)


class CapsaTable(TableGame):
    """Capsa: no betting; settings of its own, and a reserve that everybody dealt in must cover."""

    has_blinds: ClassVar[bool] = False
    is_for_tournaments: ClassVar[bool] = False

    def completed_table(self, config: TableConfig) -> TableConfig:
        """Return the settings with what follows from the scoring."""
        return capsa.completed(config)

    def buy_in_bounds(self, config: TableConfig) -> tuple[Chips, Chips]:
        """Return one and five reserves of a full table (CS-65)."""
        return capsa.buy_in_bounds(config)

    def least_buy_in(self, config: TableConfig) -> Chips:
        """Return the reserve against one opponent."""
        return capsa.least_buy_in(config)

    def setting_rules(self, config: TableConfig) -> Rules:
        """Yield the rules of Capsa's settings."""
        return capsa.capsa_rules(config)

    def plan(self, state: TableState, able: Sequence[SeatState]) -> NextHand | None:
        """Return the next hand of those who cover the reserve."""
        return capsa.plan_capsa(state, able)


TABLE_GAMES: Final[Mapping[str, TableGame]] = {
    "holdem": TableGame(),
    "omaha": TableGame(),
    "naiko": NaikoTable(),
    "sarab": SarabTable(),
    "capsa": CapsaTable(),
}


def plan_next_hand(state: TableState, now_ms: int) -> NextHand | None:
    """Return the hand that would begin now, or None: one runs, the table pauses or closes, or too few can play.

    A tournament's table also waits for its clock and for grants.
    """
    if state.is_running or state.is_closing or state.is_closed or state.hosting.is_paused:
        return None
    able = able_seats(state)
    if len(able) < PLAYERS_MIN:
        return None
    game, terms = TABLE_GAMES[state.config.game], state.config.tournament
    if terms is None:
        return game.plan(state, able)
    opens = opens_at_ms(state, now_ms)
    if opens is None or now_ms < opens:
        return None
    plan = game.plan(at_level(state, terms, now_ms), able)
    return None if plan is None else in_tournament(state, terms, plan, now_ms)


def able_seats(state: TableState) -> list[SeatState]:
    """Return who wants the next hand and has chips; in a match everybody who is still in, also who is away (SB-4)."""
    if state.config.match is not None:
        is_on = state.match is not None and not state.match.is_ended
        return [seat for seat in state.seats if is_on and seat.stack > 0]
    return [seat for seat in state.seats if _is_able(seat)]


def draw_for(plan: NextHand, secret: bytes, hand_id: str, seeds: Seeds = NO_SEEDS) -> Drawn:
    """Return what chance decides beside the deck, from the hand's committed secret and the seats' seeds (A1, C3)."""
    button = None
    if plan.button is None:
        button = draw_button(secret, hand_id, [seat.seat for seat in plan.seats], seeds)
    return Drawn(button, draw_carousel(secret, hand_id, seeds) if plan.draws_carousel else ())


def _is_able(seat: SeatState) -> bool:
    return seat.is_funded and seat.stack > 0 and not seat.is_sitting_out and seat.leaving is None
