"""Whether a table's settings make sense (RULES.md 'table defaults'); those of its game are the game's to judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.limits import DECISION_SECONDS_MAX, PLAYERS_MIN, SEATS_MAX, STACK_MAX
from diwan.core.reasons import Reason
from diwan.core.table.config import TableConfig
from diwan.core.table.games import BUY_IN_MAX_BLINDS, TABLE_GAMES
from diwan.core.table.tournament.levels import of_tournament, terms_rules
from diwan.core.table.tournament.terms import TournamentTerms

NAME_CHARACTERS_MAX: Final = 80
PAUSE_MS_MAX: Final = 600_000
RESERVE_SECONDS_MAX: Final = 3600
RETURN_MINUTES_MAX: Final = 24 * 60
SIT_OUT_AFTER_MAX: Final = 100
TIME_BANK_SECONDS_MAX: Final = 3600
SPECTATOR_DELAY_MAX: Final = 256


def checked(config: TableConfig) -> TableConfig:
    """Return settings with their defaults filled in; raises SETTING_INVALID, which says which one and why."""
    game = TABLE_GAMES.get(config.game)
    if game is None:
        raise Rejected(Reason.SETTING_INVALID, setting="hand.game", why=" or ".join(TABLE_GAMES))
    config = of_tournament(game.completed_table(config))
    for setting, is_right, why in (*_rules(config), *game.setting_rules(config)):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    if config.tournament is not None:  # Nobody buys in.
        return config
    usual_low, usual_high = game.buy_in_bounds(config)
    low = config.buy_in_min or usual_low
    high = config.buy_in_max or max(low, usual_high)
    least = game.least_buy_in(config)
    if not least <= low <= high <= STACK_MAX:
        why = f"{least} at least (one big blind, forced bet or reserve), and not above buy_in_max"
        raise Rejected(Reason.SETTING_INVALID, setting="buy_in_min", why=why)
    return replace(config, buy_in_min=low, buy_in_max=high)


def _rules(config: TableConfig) -> Iterator[tuple[str, bool, str]]:
    hand = config.hand
    yield "name", len(config.name.strip()) > 0 and len(config.name) <= NAME_CHARACTERS_MAX, "1 to 80 characters"
    yield "name", config.name.isprintable(), "printable characters only"
    yield "hand.show_all_in", hand.show_all_in in {"at_showdown", "at_once"}, "at_showdown or at_once"
    # The default buy-in of 100 big blinds must stay a number that every client reads exactly.
    yield "hand.big_blind", 1 <= hand.big_blind <= STACK_MAX // BUY_IN_MAX_BLINDS, "1 at least, and not too large"
    yield "hand.decision_seconds", 1 <= hand.decision_seconds <= DECISION_SECONDS_MAX, "1 second to an hour"
    yield "seats", PLAYERS_MIN <= config.seats <= SEATS_MAX, "2 to 9"
    yield "buy_in_min", 0 <= config.buy_in_min <= STACK_MAX, "0 (the default) or chips"
    yield "buy_in_max", 0 <= config.buy_in_max <= STACK_MAX, "0 (the default) or chips"
    yield "pause_ms", 0 <= config.pause_ms <= PAUSE_MS_MAX, "0 to 10 minutes"
    yield "reserve_seconds", 0 <= config.reserve_seconds <= RESERVE_SECONDS_MAX, "0 to an hour"
    yield "sit_out_after", 0 <= config.sit_out_after <= SIT_OUT_AFTER_MAX, "0 (never) to 100"
    yield "hold_seconds", 0 <= config.hold_seconds <= RESERVE_SECONDS_MAX, "0 (the default) to an hour"
    yield "return_minutes", 0 <= config.return_minutes <= RETURN_MINUTES_MAX, "0 to a day"
    yield "time_bank_seconds", 0 <= config.time_bank_seconds <= TIME_BANK_SECONDS_MAX, "0 (none) to an hour"
    gain = config.time_bank_gain_seconds
    yield "time_bank_gain_seconds", 0 <= gain <= TIME_BANK_SECONDS_MAX, "0 (none) to an hour"
    delay = config.spectator_delay_events
    yield "spectator_delay_events", 0 <= delay <= SPECTATOR_DELAY_MAX, f"0 (none) to {SPECTATOR_DELAY_MAX}"
    yield "bots_fill", 0 <= config.bots_fill <= config.seats, "0 to the number of seats"
    is_match = config.match is not None
    yield "chips", config.chips != "match" or config.game == "sarab", "matches are played in sarab"
    yield "match", is_match == (config.chips == "match"), "of a table whose chips are a match's, and no other"
    is_tournament = config.tournament is not None
    yield "tournament", is_tournament == (config.chips == "tournament"), "of a tournament's table, and no other"
    is_start = config.start == "automatic" or (is_tournament and config.start == "on_grant")
    yield "start", is_start, "tables that wait for a grant are opened by tournaments"
    if config.tournament is not None:
        yield from _tournament_rules(config, config.tournament)


def _tournament_rules(config: TableConfig, terms: TournamentTerms) -> Iterator[tuple[str, bool, str]]:
    """Yield what must hold of a tournament's table: who sits there, and with what, is the tournament's alone to say."""
    game = TABLE_GAMES[config.game]
    yield "hand.game", game.is_for_tournaments, "a game of tournaments"
    for setting, is_right, why in terms_rules(terms, has_blinds=game.has_blinds):
        yield f"tournament.{setting}", is_right, why
    yield "is_private", not config.is_private, "players come by the tournament"
    yield "bots_fill", config.bots_fill == 0, "bots come by the tournament"
    yield "buy_in_min", config.buy_in_min == 0, "nobody buys in"
    yield "buy_in_max", config.buy_in_max == 0, "nobody buys in"
    sarab = config.hand.sarab
    # What void hands carry over would belong to nobody once its players are moved.
    yield "hand.sarab.void_antes", sarab is None or sarab.void_antes == "refund", "refund"
