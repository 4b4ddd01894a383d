"""What two own cards are worth (HD-2)."""

from __future__ import annotations

from typing import Final

from diwan.core.cards import Card
from diwan.core.policy.betting import Reading
from diwan.core.policy.equity import sampled_equity
from diwan.core.policy.starting import percent_better


def _percent(cards: tuple[Card, ...]) -> float:
    if len(cards) != 2:
        raise ValueError("this policy plays two own cards")
    return percent_better(*cards)


HOLDEM: Final = Reading(percent=_percent, equity=sampled_equity, raising_equity=0.74)
