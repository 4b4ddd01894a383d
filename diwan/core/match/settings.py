"""What is settled for a match before anybody enters (RULES.md "Sarab's economy"), and whether it makes sense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.coins import STARTING_COINS, Coins
from diwan.core.games.sarab import forced_bet_of, setting_rules
from diwan.core.hand.events import Chips
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.limits import DECISION_SECONDS_MAX, PLAYERS_MIN, SEATS_MAX, STACK_MAX
from diwan.core.reasons import Reason

PERCENT: Final = 100


class MatchSettings(Struct, frozen=True, kw_only=True):
    """Settings of a Sarab match. Coins and chips are whole numbers; ``prizes`` are percent of the entries by place.

    Entry and prizes go through the wallet; the coins of the match never do.
    """

    hand: HandSettings = HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=SarabSettings())
    players: int = SEATS_MAX
    starting_coins: Coins = STARTING_COINS
    entry_fee: Chips = 0
    prizes: tuple[int, ...] = (PERCENT,)  # the winner takes the entries


def checked(settings: MatchSettings) -> MatchSettings:
    """Return settings that make a match; raises SETTING_INVALID, which says which one is wrong and why."""
    for setting, is_right, why in match_rules(settings):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    return settings


def hand_settings(settings: HandSettings, deal_no: int) -> HandSettings:
    """Return the settings of one deal of a match: its forced bet is also the smallest bet (SB-31)."""
    return replace(settings, small_blind=0, big_blind=forced_bet_of(sarab_of(settings), deal_no))


def sarab_of(settings: HandSettings) -> SarabSettings:
    """Return what a table set for Sarab, else the defaults."""
    return settings.sarab or SarabSettings()


def match_rules(settings: MatchSettings) -> Iterator[tuple[str, bool, str]]:
    """Yield every setting with whether it makes sense and what would."""
    hand = settings.hand
    yield "game", hand.game == "sarab", "matches are played in sarab"
    yield "limit", hand.limit == "no_limit", "sizes are no-limit in every round (A4)"
    yield "decision_seconds", 1 <= hand.decision_seconds <= DECISION_SECONDS_MAX, "1 second to an hour"
    yield "show_all_in", hand.show_all_in in {"at_showdown", "at_once"}, "at_showdown or at_once"
    sarab = sarab_of(hand)
    yield from setting_rules(sarab)
    is_idle = sarab.void_antes == "carry" and sarab.void_rule == "off"
    yield "void_antes", not is_idle, "nothing is ever carried where no hand is void (void_rule off)"
    yield "players", PLAYERS_MIN <= settings.players <= SEATS_MAX, "2 to 9"
    yield from _coin_rules(settings, sarab)
    yield from _prize_rules(settings)


def _coin_rules(settings: MatchSettings, sarab: SarabSettings) -> Iterator[tuple[str, bool, str]]:
    coins = settings.starting_coins
    yield "starting_coins", all(count >= 0 for count in coins.counts), "no count below zero"
    yield (
        "starting_coins",
        1 <= coins.value * SEATS_MAX <= STACK_MAX,
        "something, and a number that clients read exactly",
    )
    first = sarab.forced_bets[0]
    yield "starting_coins", coins.value > first, f"the first forced bet of {first} would put everybody all in"


def _prize_rules(settings: MatchSettings) -> Iterator[tuple[str, bool, str]]:
    prizes = settings.prizes
    yield "entry_fee", 0 <= settings.entry_fee <= STACK_MAX // SEATS_MAX, "chips"
    yield "prizes", 1 <= len(prizes) <= settings.players, "one share a place, not more places than players"
    yield "prizes", all(0 < share <= PERCENT for share in prizes), "percent, 1 at least"
    yield "prizes", sum(prizes) == PERCENT, "shares that sum to 100 percent of the entries"
    yield "prizes", list(prizes) == sorted(prizes, reverse=True), "no place gets less than the one after it"
