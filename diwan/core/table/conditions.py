"""A table's conditions as everybody is shown them before sitting down (TB-3, TR-1): computed from its settings alone.

What a game adds is entered in `GAME_CONDITIONS`, one function a game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import fields

from diwan.core.games.capsa.settings import CapsaSettings, completed, naturals_of
from diwan.core.hand.events import Chips
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.table.config import ChipSource, TableConfig
from diwan.core.table.tournament.terms import TournamentTerms

_CAPSA_ELSEWHERE: Final = (
    *("game", "players", "unit", "set_seconds", "declare_seconds"),  # have fields of their own
    *("scoring", "naturals", "pair_units"),  # told as rules by themselves
    "suit_order",  # reserved (CS-14)
)


class SpecialRule(Struct, frozen=True):
    """A setting of a game's rules as it holds at a table; ``value`` is a number, a word, ``true`` or ``false``."""

    name: str
    value: str
    is_default: bool


class Level(Struct, frozen=True):
    """A step of a schedule of forced bets; ``deals`` 0 for all that follow."""

    forced_bet: Chips
    deals: int


class Clocks(Struct, frozen=True, kw_only=True):
    """What runs by the clock: seconds, but for the pause. What a game does not have is 0."""

    decision_seconds: int
    response_seconds: int
    reserve_seconds: int
    pause_ms: int
    sit_out_after: int
    return_minutes: int
    setting_seconds: int
    declaring_seconds: int
    time_bank_seconds: int
    time_bank_gain_seconds: int


class GameConditions(Struct, frozen=True, kw_only=True):
    """What a game adds to its tables' conditions. ``prizes`` are percent of the entries, the winner's first."""

    special_rules: tuple[SpecialRule, ...] = ()
    ladder: tuple[Level, ...] = ()
    response_seconds: int = 0
    setting_seconds: int = 0
    declaring_seconds: int = 0
    unit: Chips = 0
    entry_fee: Chips = 0
    starting_stack: Chips = 0
    prizes: tuple[int, ...] = ()


class Conditions(Struct, frozen=True, kw_only=True):
    """The conditions object of a table. Chips are whole numbers."""

    game: str
    limit: str
    small_blind: Chips
    big_blind: Chips
    seats: int
    chips: ChipSource
    buy_in_min: Chips
    buy_in_max: Chips
    clocks: Clocks
    bots_fill: int
    spectator_delay_events: int
    is_private: bool
    added: GameConditions
    tournament: TournamentTerms | None = None


def conditions_of(config: TableConfig) -> Conditions:
    """Return a table's conditions; its settings must have their defaults filled in."""
    hand, added = config.hand, GAME_CONDITIONS[config.game](config)
    bets = config.capsa is None
    return Conditions(
        game=config.game,
        limit=hand.limit if bets else "",
        small_blind=hand.small_blind if bets else 0,
        big_blind=hand.big_blind if bets else 0,
        seats=config.seats,
        chips=config.chips,
        buy_in_min=config.buy_in_min if config.chips == "wallet" else 0,
        buy_in_max=config.buy_in_max if config.chips == "wallet" else 0,
        clocks=Clocks(
            decision_seconds=hand.decision_seconds if bets else 0,
            response_seconds=added.response_seconds,
            reserve_seconds=config.reserve_seconds,
            pause_ms=config.pause_ms,
            sit_out_after=config.sit_out_after,
            return_minutes=config.return_minutes,
            setting_seconds=added.setting_seconds,
            declaring_seconds=added.declaring_seconds,
            time_bank_seconds=config.time_bank_seconds,
            time_bank_gain_seconds=config.time_bank_gain_seconds,
        ),
        bots_fill=config.bots_fill,
        spectator_delay_events=config.spectator_delay_events,
        is_private=config.is_private,
        added=added,
        tournament=config.tournament,
    )


def special_rules(given: Struct, usual: Struct, prefix: str, *, but: tuple[str, ...] = ()) -> Iterator[SpecialRule]:
    """Yield every setting of a game's record as a rule; records within it by their names with a dot between."""
    for field in fields(given):
        if field.name in but:
            continue
        value, default, name = getattr(given, field.name), getattr(usual, field.name), f"{prefix}.{field.name}"
        if isinstance(value, Struct):
            yield from special_rules(value, default, name)
        elif value is None:
            yield SpecialRule(name, "none", value == default)
        else:
            yield SpecialRule(name, _text(value), value == default)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_betting(hand: HandSettings) -> tuple[SpecialRule, ...]:
    """Return what every game with betting rounds may set (B2, HD-19)."""
    usual = HandSettings()
    return tuple(
        SpecialRule(name, _text(getattr(hand, name)), getattr(hand, name) == getattr(usual, name))
        for name in ("short_allins_add_up", "show_all_in")
    )


def _with_blinds(config: TableConfig) -> GameConditions:
    return GameConditions(special_rules=_of_betting(config.hand))


def _naiko(config: TableConfig) -> GameConditions:
    usual = NaikoSettings()
    naiko = config.hand.naiko or usual
    return GameConditions(
        special_rules=(*_of_betting(config.hand), *special_rules(naiko, usual, "naiko", but=("response_seconds",))),
        response_seconds=naiko.response_seconds,
    )


def _sarab(config: TableConfig) -> GameConditions:
    usual = SarabSettings()
    sarab = config.hand.sarab or usual
    own = special_rules(sarab, usual, "sarab", but=("forced_bets", "deals_per_level"))
    *rising, last = sarab.forced_bets
    terms = config.match
    return GameConditions(
        special_rules=(*_of_betting(config.hand), *own),
        entry_fee=0 if terms is None else terms.entry_fee,
        starting_stack=0 if terms is None else terms.starting_coins.value,
        prizes=() if terms is None else terms.prizes,
        ladder=(*[Level(forced_bet, sarab.deals_per_level) for forced_bet in rising], Level(last, 0)),
    )


def _capsa(config: TableConfig) -> GameConditions:
    capsa = config.capsa or CapsaSettings()
    # What follows from the scoring is as usual where the scoring says so.
    usual = completed(CapsaSettings(scoring=capsa.scoring))
    own = special_rules(capsa, usual, "capsa", but=_CAPSA_ELSEWHERE)
    awards, usual_awards = naturals_of(capsa), naturals_of(usual)
    naturals = [SpecialRule(f"capsa.naturals.{each.kind}", str(each.units), each in usual_awards) for each in awards]
    return GameConditions(
        special_rules=(
            SpecialRule("capsa.scoring", capsa.scoring, capsa.scoring == CapsaSettings().scoring),
            *own,
            *naturals,
            # Any pair may agree on a stake of its own (CS-62).
            SpecialRule("capsa.pair_stakes", "true", is_default=True),
        ),
        setting_seconds=capsa.set_seconds,
        declaring_seconds=capsa.declare_seconds,
        unit=capsa.unit,
    )


GAME_CONDITIONS: Final[Mapping[str, Callable[[TableConfig], GameConditions]]] = {
    "holdem": _with_blinds,
    "omaha": _with_blinds,
    "naiko": _naiko,
    "sarab": _sarab,
    "capsa": _capsa,
}
"""By game; a game that tables may play must stand here."""
