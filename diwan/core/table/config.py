"""Everything that is set for a table (RULES.md 'table defaults'); whether it makes sense is said in `checking`."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.coins import STARTING_COINS, Coins
from diwan.core.hand.settings import HandSettings
from diwan.core.table.tournament.terms import TournamentTerms

TIME_BANK_SECONDS = 30
TIME_BANK_GAIN_SECONDS = 1
"""What a table of poker is opened with where nothing else is said (RULES.md 'table defaults')."""

HOLD_SECONDS: Final = 60
"""How long a free seat is kept for who waits in line, where the table does not say."""

type ChipSource = Literal["wallet", "match", "tournament"]
type StartMode = Literal["automatic", "on_grant"]
"""Hands start by themselves, or each by a grant of the tournament."""


class MatchTerms(Struct, frozen=True, kw_only=True):
    """What is settled for a match before anybody enters (RULES.md "Sarab's economy"); its players are the table's seats.

    Coins are the match's own, ``entry_fee`` is chips of the wallet, ``prizes`` are percent of the entries by place.
    """

    starting_coins: Coins = STARTING_COINS
    entry_fee: int = 0
    prizes: tuple[int, ...] = (100,)  # the winner takes the entries


class TableConfig(Struct, frozen=True, kw_only=True):
    """Settings of a cash table. Chips are whole numbers; 0 in a buy-in bound means the default.

    That is 20 and 100 big blinds, in Capsa one and five reserves (CS-65). At a table of Capsa ``capsa`` says everything
    about its hands, and ``hand`` stays as it is by default.
    """

    name: str
    hand: HandSettings = HandSettings()
    seats: int = 9
    buy_in_min: int = 0
    buy_in_max: int = 0
    pause_ms: int = 3000
    reserve_seconds: int = 60
    sit_out_after: int = 2
    return_minutes: int = 30
    bots_fill: int = 0
    chips: ChipSource = "wallet"
    start: StartMode = "automatic"
    time_bank_seconds: int = 0  # of a sitting; 0 for none. Poker only
    time_bank_gain_seconds: int = 0  # back with every hand dealt in, up to the whole
    spectator_delay_events: int = 0  # who holds no seat sees a running hand so many events late
    hold_seconds: int = 0  # a free seat is kept so long for who waits in line (CL-6); default 60
    is_private: bool = False  # only who is invited sees it and sits there (TB-3)
    capsa: CapsaSettings | None = None
    match: MatchTerms | None = None  # of a match's table only
    tournament: TournamentTerms | None = None  # of a tournament's table only

    @property
    def game(self) -> str:
        """The game of the table, by its name."""
        return self.hand.game if self.capsa is None else self.capsa.game
