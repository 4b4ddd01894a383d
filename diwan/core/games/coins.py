"""Coins of Sarab, for display: the books know whole numbers only (SB-3, SB-4, SB-39)."""

from __future__ import annotations

from functools import cache
from typing import Final

from msgspec import Struct

from diwan.core.hand.events import Chips

DINAR, DIRHAM, FILS, STONE = 100, 50, 25, 10
VALUES: Final = (DINAR, DIRHAM, FILS, STONE)


class Coins(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of coins of each kind."""

    dinars: int = 0
    dirhams: int = 0
    fils: int = 0
    stones: int = 0

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Return how many there are of each kind, the most valuable first."""
        return self.dinars, self.dirhams, self.fils, self.stones

    @property
    def value(self) -> Chips:
        """Return what they are worth."""
        return sum([count * value for count, value in zip(self.counts, VALUES, strict=True)])


class Breakdown(Struct, frozen=True):
    """An amount in coins, and what of it no coins can pay."""

    coins: Coins
    rest: Chips


STARTING_COINS: Final = Coins(dinars=4, dirhams=5, fils=10, stones=10)
"""What everybody begins with: 1,000 (SB-4)."""


def coins_of(amount: Chips) -> Breakdown:
    """Return as much of an amount as coins can pay, with the fewest coins, and the rest.

    30 are three stones, not a fils and a rest of 5. Raises ValueError for a negative amount.
    """
    if amount < 0:
        raise ValueError(f"{amount} is no amount of chips")
    # Whatever two dinars and more can pay is paid best with dinars; what lies below is looked up.
    dinars = max(amount // DINAR - 1, 0)
    small = _fewest_below(amount - dinars * DINAR)
    coins = Coins(dinars=small.dinars + dinars, dirhams=small.dirhams, fils=small.fils, stones=small.stones)
    return Breakdown(coins, amount - coins.value)


@cache
def _fewest_below(amount: Chips) -> Coins:
    """Return the best coins for an amount below two dinars: the most value, then the fewest coins."""
    found = [
        Coins(dinars=dinars, dirhams=dirhams, fils=fils, stones=stones)
        for dinars in range(amount // DINAR + 1)
        for dirhams in range((amount - dinars * DINAR) // DIRHAM + 1)
        for fils in range((amount - dinars * DINAR - dirhams * DIRHAM) // FILS + 1)
        for stones in (((amount - dinars * DINAR - dirhams * DIRHAM - fils * FILS) // STONE),)
    ]
    return max(found, key=lambda coins: (coins.value, -sum(coins.counts)))
