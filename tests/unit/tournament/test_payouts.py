"""Who is paid what: the published bands, exact in chips, ties share the places they cover (page e3, E-TR-2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.tournament.payouts import band, bands, prizes_of, shared, shares_of
from diwan.core.tournament.settings import SHARE_UNIT, Payout

PUBLISHED = {
    # smallest and largest field of a band: places paid, and its first shares in percent
    (1, 3): (1, [100]),
    (4, 9): (2, [70, 30]),
    (10, 30): (3, [50, 30, 20]),
    (31, 60): (6, [37, 22, 15, 11, 8, 7]),
    (61, 70): (9, [30, 20, 12, 10, 8, 6.5, 5.5, 4.5, 3.5]),
    (71, 90): (10, [29, 18.5, 12, 10, 8, 6.5, 5.5, 4.5, 3.5, 2.5]),
    (91, 100): (13, [28.5, 17.25, 11, 9.1, 7.6, 6.4, 5.4, 4.3, 3.3, 2.35]),
    (101, 130): (16, [28, 17, 10.5, 8.25, 7.1, 6, 5, 4.1, 2.8, 2.25]),
    (131, 200): (20, [27.5, 16.6, 10.15, 7.9, 6.8, 5.8, 4.7, 3.7, 2.6, 2]),
    (201, 270): (30, [27, 16.3, 9, 7.25, 6.25, 5.25, 4.25, 3.25, 2.25, 1.6]),
    (271, 400): (40, [26, 15.45, 8.75, 7, 6, 5, 4, 3, 2, 1.5]),
    (401, 530): (60, [25, 14, 8.26, 6.35, 5.3, 4.25, 3.25, 2.25, 1.7, 1.3]),
    (531, 650): (80, [24, 13.15, 7.75, 6.1, 5.1, 4.1, 3.1, 2.2, 1.6, 1.2]),
    (651, 1000): (100, [23.5, 13, 7.5, 6, 5, 4, 3, 2, 1.5, 1.1]),
    (1001, 1350): (150, [21, 12, 7.25, 5.75, 4.75, 3.75, 2.85, 1.9, 1.45, 1]),
    (1351, 10_000): (200, [20, 11, 6.9, 5.45, 4.6, 3.45, 2.65, 1.75, 1.35, 0.95]),
}
fields = st.integers(1, 10_000)


@pytest.mark.parametrize("limits", sorted(PUBLISHED))
def test_a_band_is_the_published_one_from_its_smallest_field_to_its_largest(limits):
    paid, first = PUBLISHED[limits]

    for entries in limits:
        assert len(band(entries)) == paid
        assert [share / 1000 for share in band(entries)[:10]] == first


def test_there_are_sixteen_bands_and_they_leave_no_field_out():
    smallest = [entries for entries, _ in bands()]

    assert smallest == [low for low, _ in sorted(PUBLISHED)]
    assert len(smallest) == 16


@given(fields)
def test_a_band_sums_to_the_pool_and_no_place_gets_less_than_the_next(entries):
    shares = band(entries)

    assert sum(shares) == SHARE_UNIT
    assert list(shares) == sorted(shares, reverse=True)
    assert len(shares) <= entries


@given(fields)
def test_the_last_place_paid_gets_an_entry_at_least(entries):
    assert band(entries)[-1] * entries >= SHARE_UNIT


@given(st.integers(0, 10**12), fields)
def test_prizes_are_the_pool_to_the_chip_and_what_rounding_leaves_goes_to_the_first(pool, entries):
    shares = band(entries)
    prizes = prizes_of(pool, shares)

    assert sum(prizes) == pool
    assert all(amount == pool * share // SHARE_UNIT for amount, share in zip(prizes[1:], shares[1:], strict=False))
    assert list(prizes) == sorted(prizes, reverse=True)
    assert 0 not in prizes


def test_a_pool_of_nothing_pays_no_place():
    assert prizes_of(0, band(500)) == ()


def test_a_pool_smaller_than_the_places_goes_to_the_first():
    assert prizes_of(1, (70_000, 30_000)) == (1,)


def test_six_entries_of_a_hundred_at_65_35():
    """E-TR-2."""
    assert prizes_of(600, (65_000, 35_000)) == (390, 210)


@given(st.integers(0, 10**9), fields, st.data())
def test_who_shares_places_shares_exactly_what_they_cover(pool, entries, data):
    prizes = prizes_of(pool, band(entries))
    first = data.draw(st.integers(1, entries))
    last = data.draw(st.integers(first, min(entries, first + 8)))
    parts = shared(prizes, first, last)

    assert len(parts) == last - first + 1
    assert sum(parts) == sum(prizes[first - 1 : last])
    assert max(parts) - min(parts) <= 1
    assert list(parts) == sorted(parts, reverse=True)


def test_own_shares_pay_no_more_places_than_entries():
    assert shares_of(Payout(table="shares", shares=(60_000, 40_000)), 1) == (60_000,)
    assert prizes_of(100, (60_000,)) == (100,)
