"""Who is paid what: shares by the size of the field, exact in chips (the remainder goes to the first place), ties share.

The bands, the numbers of places and their first ten shares are those of rules/tournaments.md e3; how the rest of a band
falls off from the eleventh place on is ours. Every band sums to the whole pool, and its last place gets more than an
entry even in the smallest field of its band.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from diwan.core.hand.events import Chips
from diwan.core.tournament.settings import SHARE_UNIT, Payout

type _Tiers = tuple[tuple[int, int], ...]

_NONE: Final[_Tiers] = ()
_BANDS: Final[tuple[tuple[int | None, tuple[int, ...], _Tiers], ...]] = (
    # the band's largest field, its first ten shares, then (places, share of each)
    (3, (100_000,), _NONE),
    (9, (70_000, 30_000), _NONE),
    (30, (50_000, 30_000, 20_000), _NONE),
    (60, (37_000, 22_000, 15_000, 11_000, 8_000, 7_000), _NONE),
    (70, (30_000, 20_000, 12_000, 10_000, 8_000, 6_500, 5_500, 4_500, 3_500), _NONE),
    (90, (29_000, 18_500, 12_000, 10_000, 8_000, 6_500, 5_500, 4_500, 3_500, 2_500), _NONE),
    (100, (28_500, 17_250, 11_000, 9_100, 7_600, 6_400, 5_400, 4_300, 3_300, 2_350), ((3, 1_600),)),
    (130, (28_000, 17_000, 10_500, 8_250, 7_100, 6_000, 5_000, 4_100, 2_800, 2_250), ((3, 1_920), (3, 1_080))),
    (200, (27_500, 16_600, 10_150, 7_900, 6_800, 5_800, 4_700, 3_700, 2_600, 2_000), ((5, 1_570), (5, 880))),
    (270, (27_000, 16_300, 9_000, 7_250, 6_250, 5_250, 4_250, 3_250, 2_250, 1_600), ((10, 1_125), (10, 635))),
    (
        400,
        (26_000, 15_450, 8_750, 7_000, 6_000, 5_000, 4_000, 3_000, 2_000, 1_500),
        ((10, 910), (10, 710), (10, 510)),
    ),
    (
        530,
        (25_000, 14_000, 8_260, 6_350, 5_300, 4_250, 3_250, 2_250, 1_700, 1_300),
        ((10, 726), (10, 646), (10, 566), (10, 486), (10, 410)),
    ),
    (
        650,
        (24_000, 13_150, 7_750, 6_100, 5_100, 4_100, 3_100, 2_200, 1_600, 1_200),
        ((10, 580), (10, 535), (10, 495), (10, 455), (10, 410), (10, 370), (10, 325)),
    ),
    (
        1000,
        (23_500, 13_000, 7_500, 6_000, 5_000, 4_000, 3_000, 2_000, 1_500, 1_100),
        ((10, 475), (10, 445), (10, 415), (10, 380), (20, 349), (20, 319), (10, 289)),
    ),
    (
        1350,
        (21_000, 12_000, 7_250, 5_750, 4_750, 3_750, 2_850, 1_900, 1_450, 1_000),
        (
            *((10, each) for each in (350, 335, 320, 300)),
            (20, 285),
            (20, 270),
            (10, 255),
            (10, 254),
            (20, 234),
            (20, 219),
        ),
    ),
    (
        None,
        (20_000, 11_000, 6_900, 5_450, 4_600, 3_450, 2_650, 1_750, 1_350, 950),
        (
            *((10, each) for each in (281, 271, 261, 251, 236)),
            (15, 235),
            *((25, each) for each in (225, 215, 205, 190, 180)),
        ),
    ),
)
_TOPS: Final = tuple(top for top, _, _ in _BANDS if top is not None)


def band(entries: int) -> tuple[int, ...]:
    """Return the shares of `SHARE_UNIT` by place for a field of so many entries."""
    _, first, tiers = _BANDS[bisect_left(_TOPS, entries)]
    return (*first, *[share for places, share in tiers for _ in range(places)])


def bands() -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return every band by its smallest field, for the conditions."""
    return tuple([(smallest, band(smallest)) for smallest in (1, *[top + 1 for top in _TOPS])])


def shares_of(payout: Payout, entries: int) -> tuple[int, ...]:
    """Return the shares that a tournament pays by; with own shares never more places than entries."""
    return band(entries) if payout.table == "field" else payout.shares[:entries]


def prizes_of(pool: Chips, shares: Sequence[int]) -> tuple[Chips, ...]:
    """Return the prizes by place. They sum to the pool; places that would get nothing are no prizes."""
    prizes = [pool * share // SHARE_UNIT for share in shares]
    while prizes and not prizes[-1]:
        prizes.pop()
    if not prizes:
        return (pool,) if pool else ()
    prizes[0] += pool - sum(prizes)
    return tuple(prizes)


def shared(prizes: Sequence[Chips], place_first: int, place_last: int) -> tuple[Chips, ...]:
    """Return what each of those gets who share places: the sum of the places, a chip that does not divide to the first.

    Places count from 1. The order of the result is that of the players, by the number of their entry.
    """
    count = place_last - place_first + 1
    each, odd = divmod(sum(prizes[place_first - 1 : place_last]), count)
    return tuple([each + (number < odd) for number in range(count)])
