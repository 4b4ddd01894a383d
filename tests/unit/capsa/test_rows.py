"""Ranking of rows, fouls, and the server's arrangement (CS-6 to CS-29)."""

import random  # noqa: TID251  (tests may use chance)
from itertools import combinations

import pytest
from pokerkit import StandardHighHand

from diwan.core.cards import DECK, format_cards, parse_cards
from diwan.core.evaluation import evaluate
from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.games.capsa.rows import category_name, is_fouled, row_value, straight_top


def value(text, wheel="low"):
    return row_value(parse_cards(text), wheel)


FALLING = [
    ("AsKsQsJsTs", "royal_flush"),
    ("KdQdJdTd9d", "straight_flush"),
    ("6d5d4d3d2d", "straight_flush"),
    ("5d4d3d2dAd", "straight_flush"),
    ("7c7d7h7sAc", "four_of_a_kind"),
    ("7c7d7h7s2c", "four_of_a_kind"),
    ("6c6d6h6sAc", "four_of_a_kind"),
    ("3c3d3hAsAd", "full_house"),
    ("2c2d2hAsAd", "full_house"),
    ("Ac9c8c5c2c", "flush"),
    ("Ac9c8c4c3c", "flush"),
    ("AcKdQhJsTc", "straight"),
    ("KcQdJhTs9c", "straight"),
    ("6c5d4h3s2c", "straight"),
    ("5c4d3h2sAc", "straight"),
    ("KcKdKh9s3c", "three_of_a_kind"),
    ("KcKdKh8s7c", "three_of_a_kind"),
    ("AcAd3h3s2c", "two_pair"),
    ("KcKdQhQs2c", "two_pair"),
    ("KcKdJhJsAc", "two_pair"),
    ("KcKdJhJsQc", "two_pair"),
    ("3c3dAh9s8c", "pair"),
    ("3c3dAh9s7c", "pair"),
    ("AcQdTh8s6c", "high_card"),
    ("KdAc2h3s4c", "high_card"),  # CS-15: the ace does not wrap
]


def test_five_card_rows_rank_as_listed():
    """CS-11, CS-12, CS-15: strictly falling, by category and within it."""
    values = [value(text) for text, _ in FALLING[:-1]]

    assert values == sorted(set(values), reverse=True)
    assert [category_name(value(text)) for text, _ in FALLING] == [name for _, name in FALLING]


def test_ranks_only_decide_and_suits_never():
    """CS-14: equal ranks are equal rows, whatever the suits."""
    assert value("AcKdQhJs9c") == value("AsKhQdJc9s")
    assert value("Ac9c8c5c2c") == value("As9s8s5s2s")


def test_the_second_wheel_stands_below_the_highest_straight():
    """CS-16: A-2-3-4-5 between A-K-Q-J-T and K-Q-J-T-9, in straights and straight flushes."""
    for wheel_row, high, below in (
        ("5c4d3h2sAc", "AcKdQhJsTc", "KcQdJhTs9c"),
        ("5d4d3d2dAd", "AsKsQsJsTs", "KdQdJdTd9d"),
    ):
        assert value(below, "second") < value(wheel_row, "second") < value(high, "second")
        assert value(wheel_row, "low") < value(below, "low")


def test_three_card_straights_run_from_the_ace_to_the_ace():
    """CS-73, CS-16: A-2-3 lowest, or second highest."""
    ace, two, three, king, queen = 12, 0, 1, 11, 10
    assert straight_top([ace, king, queen], "low") == 2 * ace
    assert straight_top([ace, three, two], "low") == 2 * three
    assert straight_top([king, queen, 9], "second") < straight_top([ace, three, two], "second") < 2 * ace
    assert straight_top([ace, king, two], "low") == 0


def test_straights_and_flushes_do_not_count_in_the_front():
    """CS-9, CS-13."""
    assert category_name(value("AsKsQs")) == "high_card"
    assert value("2c2d2h") > value("AcAdKh") > value("AcAdQh") > value("KcKdAh") > value("AcKdQh")


@pytest.mark.parametrize(
    ("front", "middle", "is_foul"),
    [
        ("9c9dAh", "9h9sKc3d2c", True),  # CS-17: the examples of the page
        ("KcQdJh", "KdQhJs5c2d", False),
        ("QcQd7s", "QhQs6c5d4h", True),
        ("QcQd7s", "QhQs9c8d2h", False),
        ("AcAdAh", "KcKd3h3s2c", True),
        ("2c2d2h", "3c3d3h5s4c", False),
        ("7c7d2h", "7h7s2d2cAc", False),  # another category
        ("7c7d5h", "7h7s5d3c2c", False),  # all equal as far as the front goes
    ],
)
def test_a_front_is_compared_with_a_middle_list_by_list(front, middle, is_foul):
    """CS-17, CS-23, CS-24."""
    assert is_fouled(value(front), value(middle), value("AsKsQsJsTs")) is is_foul


def test_equal_middle_and_back_are_legal():
    """CS-25."""
    assert not is_fouled(value("2c3d4h"), value("9c8d7h6s5c"), value("9d8h7s6c5d"))


def test_five_card_rows_agree_with_pokerkit_and_with_our_evaluator():
    """CS-11, CS-12: 3,000 random pairs."""
    chance = random.Random(20)
    for _ in range(3000):
        cards = chance.sample(DECK, 10)
        rows = cards[:5], cards[5:]
        ours = [row_value(row, "low") for row in rows]
        peers = [StandardHighHand(format_cards(row, "")) for row in rows]
        assert (ours[0] < ours[1]) == (peers[0] < peers[1])
        assert (ours[0] == ours[1]) == (peers[0] == peers[1]) == (evaluate(rows[0]) == evaluate(rows[1]))


@pytest.mark.parametrize("wheel", ["low", "second"])
def test_the_server_never_fouls(wheel):
    """CS-29, invariant 3: back and middle are the strongest there are; 60 random hands."""
    chance = random.Random(21)
    for _ in range(60):
        cards = chance.sample(DECK, 13)
        rows = server_arrangement(cards, wheel)
        assert sorted(card for row in rows for card in row) == sorted(cards)
        strongest = max(combinations(sorted(cards), 5), key=lambda five: row_value(five, wheel))
        assert rows[2] == strongest
        assert not is_fouled(*[row_value(row, wheel) for row in rows])
        assert server_arrangement(cards[::-1], wheel) == rows


def test_the_server_knows_the_second_wheel():
    """CS-16, CS-29: A-2-3-4-5 goes before 9-high, and the other way round where it is the lowest."""
    cards = parse_cards("Ac2d3h4s5c9d8h7s6d6cKdQhQs")
    assert format_cards(server_arrangement(cards, "second")[2]) == "2d 3h 4s 5c Ac"
    assert format_cards(server_arrangement(cards, "low")[2]) == "5c 6c 7s 8h 9d"


def test_the_server_takes_the_first_of_equally_strong_rows():
    """CS-29: four aces with either king are as good; Kc comes before Kd."""
    front, middle, back = server_arrangement(parse_cards("KdKcAcAdAhAs2c3d5h7h9hJhTd"), "low")

    assert format_cards(back) == "Kc Ac Ad Ah As"
    assert (format_cards(middle), format_cards(front)) == ("7h 9h Td Jh Kd", "2c 3d 5h")


def test_the_server_prefers_the_lower_card_where_the_rank_ties():
    """CS-29: the pair of twos in a full house is taken with its lowest suits."""
    _, _, back = server_arrangement(parse_cards("AcAdAh2c2d2h3c5d6h8s9cJdQh"), "low")
    assert format_cards(back) == "2c 2d Ac Ad Ah"
