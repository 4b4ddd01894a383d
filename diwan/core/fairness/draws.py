"""Labelled draws from a committed secret: carousels, multipliers, seats, buttons (F7)."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from diwan.core.fairness.chance import derive_key, words_below
from diwan.core.fairness.material import NO_SEEDS, Seeds, check_secret, mix
from diwan.core.hashing import prefixed, uuid_bytes


def draw(
    secret: bytes, label: str, subject_id: str, weights: Sequence[int], *, seeds: Seeds = NO_SEEDS, ordinal: int = 0
) -> int:
    """Return an index, each as likely as its integer weight says.

    ``label`` names what is drawn and its version (``carousel/v1``), ``subject_id`` the hand, table or tournament it is
    drawn for, ``ordinal`` tells apart draws of one label. Weights are 0 or more and have a positive sum below 2^64.
    """
    if any(weight < 0 for weight in weights) or not sum(weights):
        raise ValueError("weights are 0 or more, one at least is positive")
    ceilings = list(accumulate(weights))
    drawn = words_below(_draw_key(secret, label, subject_id, ordinal, seeds))(ceilings[-1])
    return bisect_right(ceilings, drawn)


def draw_order(
    secret: bytes, label: str, subject_id: str, count: int, *, seeds: Seeds = NO_SEEDS, ordinal: int = 0
) -> tuple[int, ...]:
    """Return 0..count-1 in an order drawn evenly from all, by Fisher-Yates from the top (seat draws)."""
    below = words_below(_draw_key(secret, label, subject_id, ordinal, seeds))
    order = list(range(count))
    for top in range(count - 1, 0, -1):
        chosen = below(top + 1)
        order[top], order[chosen] = order[chosen], order[top]
    return tuple(order)


def _draw_key(secret: bytes, label: str, subject_id: str, ordinal: int, seeds: Seeds) -> bytes:
    check_secret(secret)
    if not label:
        raise ValueError("a draw is labelled")
    return derive_key(secret, prefixed("draw/v1", label, uuid_bytes(subject_id), ordinal, mix(seeds)))
