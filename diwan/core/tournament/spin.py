"""A Spin's multiplier (F1): drawn by integer weights whose mean is exactly 3, so that entries pay for prizes in the long run.

What one tournament's entries lack or leave is the house's, one line in its account either way.
"""

from __future__ import annotations

from typing import Final

from diwan.core.fairness import draw
from diwan.core.hand.events import Chips
from diwan.core.tournament.settings import SHARE_UNIT, Multiplier

SPIN_SEATS: Final = 3
MEAN: Final = 3
LABEL: Final = "multiplier/v1"

_TOP: Final = (80_000, 10_000, 10_000)

MULTIPLIERS: Final = (
    Multiplier(times=2, weight=66_030, level_ms=120_000),
    Multiplier(times=4, weight=24_860, level_ms=180_000),
    Multiplier(times=6, weight=8_000, level_ms=180_000),
    Multiplier(times=10, weight=1_000, shares=(80_000, 20_000), level_ms=240_000),
    Multiplier(times=25, weight=80, shares=(80_000, 12_000, 8_000), level_ms=240_000),
    Multiplier(times=100, weight=15, shares=_TOP, level_ms=300_000),
    Multiplier(times=200, weight=10, shares=_TOP, level_ms=300_000),
    Multiplier(times=1000, weight=5, shares=_TOP, level_ms=300_000),
)
"""The table that ships: the rare lines and splits as rooms have them (page e4), the common ones so that the mean is 3."""


def weights_of(lines: tuple[Multiplier, ...]) -> tuple[int, ...]:
    """Return the weights by line."""
    return tuple([line.weight for line in lines])


def has_mean(lines: tuple[Multiplier, ...]) -> bool:
    """Say whether the mean multiplier is exactly 3, in whole numbers."""
    return sum([line.times * line.weight for line in lines]) == MEAN * sum(weights_of(lines)) > 0


def splits(line: Multiplier) -> bool:
    """Say whether a line's shares are a split of the whole among at most three places, none above the one before."""
    shares = line.shares
    is_falling = list(shares) == sorted(shares, reverse=True)
    return 1 <= len(shares) <= SPIN_SEATS and is_falling and min(shares) > 0 and sum(shares) == SHARE_UNIT


def largest_difference(lines: tuple[Multiplier, ...], entry: Chips) -> Chips:
    """Return what the house has to be able to add, whatever is drawn: reserved before registration opens."""
    return (max([line.times for line in lines]) - SPIN_SEATS) * entry


def draw_line(secret: bytes, tournament_id: str, lines: tuple[Multiplier, ...], entrants_digest: bytes) -> int:
    """Return the line drawn: by the committed secret, with the list of who entered mixed in as the seed of seat 0.

    So the house, which knows the secret, cannot know the multiplier before the three have entered.
    """
    return draw(secret, LABEL, tournament_id, weights_of(lines), seeds={0: entrants_digest})
