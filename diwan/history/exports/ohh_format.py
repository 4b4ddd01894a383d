"""The objects of Open Hand History (hh-specs.handhistory.org, 1.4.7), as far as they are used here.

Reading accepts others' hands with fields that we do not know. Amounts are decimal numbers there; here they are whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

SPEC_VERSION: Final = "1.4.7"
INTERNAL_VERSION: Final = "1.0.0"
"""Of what this program writes."""

SITE: Final = "Diwan"
PLAY_MONEY: Final = "XPM"
TABLE_SEATS_MAX: Final = 9

GAMES: Final[Mapping[str, str]] = {"holdem": "Holdem", "omaha": "Omaha"}
BET_LIMITS: Final[Mapping[str, str]] = {"no_limit": "NL", "pot_limit": "PL"}
HOLE_CARDS: Final = {"holdem": 2, "omaha": 4}
STREETS: Final = {"flop": "Flop", "turn": "Turn", "river": "River"}
BOARD_CARDS: Final = {"flop": 3, "turn": 1, "river": 1}


class BetLimit(msgspec.Struct, frozen=True):
    """How bets are limited."""

    bet_type: str
    bet_cap: float = 0


class Player(msgspec.Struct, frozen=True):
    """A seat that was dealt in."""

    id: int
    seat: int
    name: str
    starting_stack: float
    display: str | None = None


class Action(msgspec.Struct, frozen=True):
    """A forced bet, a decision, or cards; ``amount`` is what goes in with it."""

    action_number: int
    player_id: int
    action: str
    amount: float = 0
    is_allin: bool = False
    cards: tuple[str, ...] | msgspec.UnsetType | None = msgspec.UNSET


class Round(msgspec.Struct, frozen=True):
    """A betting round, or the showdown."""

    id: int
    street: str
    actions: tuple[Action, ...]
    cards: tuple[str, ...] | str | None = None


class PlayerWins(msgspec.Struct, frozen=True):
    """What a player took from a pot."""

    player_id: int
    win_amount: float


class OhhPot(msgspec.Struct, frozen=True):
    """A pot; the main one is number 0."""

    number: int
    amount: float
    player_wins: tuple[PlayerWins, ...]
    rake: float = 0


class TournamentInfo(msgspec.Struct, frozen=True):
    """Where a tournament's hand was played; what the hand's log does not hold is null."""

    tournament_number: str
    name: str | None = None
    start_date_utc: str | None = None
    currency: str | None = PLAY_MONEY
    buyin_amount: float | None = None
    fee_amount: float | None = None
    bounty_fee_amount: float | None = None
    initial_stack: float | None = None
    type: str | None = None


class Ohh(msgspec.Struct, frozen=True):
    """One hand."""

    spec_version: str
    site_name: str
    network_name: str
    internal_version: str
    game_number: str
    start_date_utc: str
    table_name: str
    game_type: str
    bet_limit: BetLimit
    table_size: int
    currency: str
    dealer_seat: int
    small_blind_amount: float
    big_blind_amount: float
    ante_amount: float
    players: tuple[Player, ...]
    rounds: tuple[Round, ...]
    pots: tuple[OhhPot, ...]
    tournament: bool = False
    tournament_info: TournamentInfo | None = None
    hero_player_id: int | None = None
    flags: tuple[str, ...] = ()


class File(msgspec.Struct, frozen=True):
    """What stands between two blank lines of a file."""

    ohh: Ohh
