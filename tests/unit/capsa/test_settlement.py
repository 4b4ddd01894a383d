"""Royalties, fouls, surrender and stakes in the settlement, beyond the worked examples (CS-32 to CS-66)."""

import pytest
from msgspec.structs import replace

from diwan.core.cards import parse_cards
from diwan.core.games.capsa.royalties import royalties_of
from diwan.core.games.capsa.settings import (
    DEFAULT_ROYALTIES,
    CapsaSettings,
    PairUnit,
    RowRoyalties,
    Royalties,
    SurrenderTerms,
)
from tests.unit.capsa.play import Hand

A = "Kd Kc 7h | Js Jh 8d 8c 4s | As Ts 8s 5s 3s"
B = "Ah Qd 9c | Td Tc 6h 6d 2c | Qs Qh Qc 3h 3d"
C = "Ac Kh 4d | 5h 5c 7d 6c 2d | 9h 8h 7s 6s 5d"
QUADS_A = "Qh Js 9d | Tc Td 5c 4d 2h | 7c 7d 7h 7s Kd"
QUADS_B = "Ah 8c 3d | 9c 9h Jc 8d 2c | 6c 6d 6h 6s Ac"


def royalties(rows, **changes):
    parts = tuple(parse_cards(part) for part in rows.split("|"))
    return tuple(royalty.units for royalty in royalties_of(parts, CapsaSettings(**changes)))


def finished(*rows, answers=None, **settings):
    hand = Hand(*rows, **settings)
    hand.lock_all()
    while not hand.is_over:
        seat = hand.live.deal.seats[hand.live.asked]
        hand.surrender(seat) if (answers or {}).get(seat) == "surrender" else hand.play(seat)
    return hand


@pytest.mark.parametrize(
    ("rows", "units"),
    [
        ("7c7d7h|KdTd8d5d2d|JcJhJs4c4s", (3, 0, 0)),
        ("AcKhQd|TcThTs3c3h|9c9d9h9s2c", (0, 2, 4)),
        ("AcKhQd|9c9d9h9s2c|TcTdThTs3c", (0, 8, 4)),
        ("AcKhQd|6c5c4c3c2c|9s8s7s6s5s", (0, 10, 5)),
        ("2c3h4d|AcKcQcJcTc|AsKsQsJsTs", (0, 14, 7)),
        ("2c3h4d|9c8d7h6s5c|AsKsQsJs2s", (0, 0, 0)),
    ],
)
def test_the_default_table(rows, units):
    """CS-46."""
    assert royalties(rows) == units


def test_a_royal_flush_without_its_own_entry_is_paid_as_a_straight_flush():
    """Finer point 12; an entry of 0 is an entry."""
    table = Royalties(back=RowRoyalties(straight_flush=2))
    assert royalties("2c3h4d|9c8d7h6s5c|AsKsQsJsTs", royalties=table) == (0, 0, 2)
    table = Royalties(back=RowRoyalties(straight_flush=2, royal_flush=0))
    assert royalties("2c3h4d|9c8d7h6s5c|AsKsQsJsTs", royalties=table) == (0, 0, 0)


def test_a_table_may_pay_trips_in_long_rows():
    """CS-47: row, category, units; missing is 0."""
    flat = RowRoyalties(trips=1, full_house=1, quads=1, straight_flush=1)
    table = Royalties(front=RowRoyalties(trips=1), middle=flat, back=flat)
    assert royalties("2c3h4d|9c9d9h6s5c|AsKsQsJsTs", royalties=table) == (0, 1, 1)


@pytest.mark.parametrize(
    ("rows", "units"),
    [
        ("7c7d7h|KcKdThTs2c|9s8c7s6d5h", (3, 0, 4)),  # the seed's four sevens, three of them in front
        ("2c3h4d|7c7d9h9s2d|7h7sAcAdAh", (0, 0, 4)),
        ("2c3h4d|7c7d7h7s2d|AcAdAhAs5c", (0, 8, 4)),  # nothing is broken
        ("2c9s4d|8s7s6s5sAh|KcQdJhTs9c", (0, 0, 5)),  # a straight flush dealt, its nine in front
        ("Ts2c3d|4h4d5c5h8h|AsKsQsJs7s", (0, 0, 7)),  # a royal flush without its ten
        ("9s2c3d|8d8h5c5hTc|8s7s6s5s4s", (0, 0, 5)),  # six in a row, five of them kept: not broken
        ("9s2c3d|8s7s6s5s4s|AsAcAdAhKd", (0, 10, 4)),  # kept in the middle: not broken
        ("As2s3d|9h9d5c5hTc|3s4s5sKsJs", (0, 0, 5)),  # the wheel
        ("7c7d9h|9s9c9dKhQd|8h8d7h7sAc", (0, 0, 4)),  # two quads broken, one of them paid
    ],
)
def test_broken_royalties_pay_the_back_value_once(rows, units):
    """CS-48."""
    assert royalties(rows, broken_royalties=True) == units


def test_broken_royalties_are_off_by_default_and_give_way_to_a_higher_back():
    """CS-48: a royalty of the back row that is higher goes first."""
    rows = "7c2d3h|7d7h7sKcQd|AsKsQsJsTs"
    assert royalties(rows) == (0, 0, 7)
    assert royalties(rows, broken_royalties=True) == (0, 0, 7)
    assert royalties("7c7d7h|KcKdThTs2c|9s8c7s6d5h") == (3, 0, 0)


def test_a_broken_royalty_counts_for_one_royalty_per_player():
    """CS-42, CS-48: of three in front and four for the broken quads only the quads."""
    rows = "7c7d7h|KcKdThTs2c|9s8c7s6d5h"
    assert royalties(rows, broken_royalties=True, one_royalty_per_player=True) == (0, 0, 4)


def test_one_royalty_per_player_prefers_back_then_middle():
    """CS-42: equal values."""
    flat = RowRoyalties(trips=2, full_house=2, quads=2)
    table = Royalties(front=RowRoyalties(trips=2), middle=flat, back=flat)
    changes = {"royalties": table, "one_royalty_per_player": True}
    assert royalties("4c4d4h|9c9d9hJcJd|KcKdKhKs2c", **changes) == (0, 0, 2)
    assert royalties("4c4d4h|9c9d9hJcJd|AcJh8c5c2c", **changes) == (0, 2, 0)


def test_the_net_mode_pays_royalties_without_winning_the_row():
    """CS-45: equal ones cancel by themselves."""
    assert finished(QUADS_A, QUADS_B, royalty_mode="net").units(0, 1) == 2
    back = RowRoyalties(quads=4, straight_flush=5)
    table = replace(DEFAULT_ROYALTIES, back=back)
    assert finished(QUADS_A, QUADS_B, royalty_mode="net", royalties=table).units(0, 1) == 2


FOUL = "Qc Qd 7s | Qh Qs 6c 5d 4h | Ah Jh 9h 8h 2h"
TRIPS = "3c 3d 3h | 9c 8d 7c 6d 5s | Ac Kc Jc Tc 4c"
THIRD = "Ad Js Jd | Kh 9s 2s 2d 2c | Ts Th Td 7d 6h"


def test_a_fouled_player_pays_royalties_only_where_the_table_says_so():
    """CS-50, CS-51: scoop value, with the winner's declared royalties."""
    assert finished(FOUL, TRIPS).units(0, 1) == -7
    assert finished(FOUL, TRIPS, foul_pays_royalties=False).units(0, 1) == -4
    assert finished(FOUL, TRIPS, scoring="1-6").units(0, 1) == -9


def test_a_fouled_player_may_surrender_and_then_pays_the_price():
    """CS-53: who surrendered has the status surrendered, whatever was set."""
    hand = finished(FOUL, TRIPS, THIRD, answers={0: "surrender"})
    assert hand.statuses == ["surrendered", "set", "set"]
    assert [hand.units(0, 1), hand.units(0, 2)] == [-3, -3]


def test_who_is_left_alone_by_surrenders_is_not_asked_and_shows_nothing():
    """CS-57: collects the price from each."""
    hand = finished(A, B, C, answers={0: "surrender", 1: "surrender"})
    assert hand.statuses == ["surrendered", "surrendered", "set"]
    assert (hand.payoffs, hand.live.shown, hand.state.ended.result) == ([-30, -30, 60], (), "uncontested")
    assert len(hand.of_kind(type(hand.batches[-1][2][0]))) == 2  # two answers, no third


def test_a_lone_player_who_fouled_collects_nothing():
    """CS-52: a fouled and a surrendered player exchange nothing."""
    hand = finished("7d 6c 2d | Qs Qh Qc 3h 3d | Ah Qd 9c Td Tc", A, answers={1: "surrender"}, button=0)
    assert hand.statuses == ["fouled", "surrendered"]
    assert hand.payoffs == [0, 0]


def test_one_who_played_before_all_others_surrendered_shows_nothing_either():
    """CS-57: the last to answer is asked here, since the one before plays."""
    hand = finished(A, B, C, answers={1: "surrender", 2: "surrender"})
    assert hand.payoffs == [60, -30, -30]
    assert hand.live.shown == ()


def test_without_surrender_nobody_is_asked():
    """CS-31: the settlement follows the last lock."""
    hand = Hand(A, B, surrender=SurrenderTerms(allowed=False))
    hand.lock_all()
    assert hand.is_over
    assert hand.statuses == ["set", "set"]


def test_a_pair_stake_is_found_whoever_of_the_two_is_named_first():
    """CS-62."""
    hand = finished(A, B, C, pair_units=(PairUnit(2, 0, 100),))
    assert hand.payoffs == [20 + 400, -20 + 20, -400 - 20]


def test_a_cap_cuts_naturals_too():
    """CS-64."""
    hand = Hand(
        "Ac Kd Qh Js Tc 9d 8h 7s 6c 5d 4h 3s 2c", "Ts Th Td | 9s 9h 9c 8s 8c | 7c 7d 7h 6s 6d", loss_cap_units=5
    )
    assert hand.payoffs == [50, -50]


def test_lines_run_in_seat_order_from_the_left_of_the_dealer():
    """CS-66, CS-4."""
    hand = finished(A, B, C, button=0)
    assert [(line.a, line.b) for line in hand.live.lines] == [(1, 2), (1, 0), (2, 0)]
    assert hand.payoffs == [60, 0, -60]


def test_two_wins_and_a_tie_are_no_scoop():
    """CS-38: 1-6 pays 2 for them."""
    a = "Ah Kd 9c | 8c 8d Jc Tc 2d | 7c 6c 5d 4h 3s"
    b = "As Kc 9d | 6d 6h Qd Jd 4d | Td Th Ts 4c 2c"
    assert finished(a, b, scoring="1-6").units(0, 1) == 2
    assert finished(a, b, scoring="custom", overall_bonus=5, scoop_bonus=9).units(0, 1) == 7
