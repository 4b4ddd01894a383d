"""Which five cards make a shown hand."""

import pytest

from diwan.cli.play.five import best_five
from diwan.core.cards import format_card, parse_cards


@pytest.mark.parametrize(
    ("held", "board", "category", "five"),
    [
        ("Ah 5h", "2s 8c Th Td As", "two_pair", "As Ah Th Td 8c"),
        ("4h 8d", "2s 8c Th Td As", "two_pair", "Th Td 8d 8c As"),
        ("Ah 2d", "3s 4c 5h Kd Ks", "straight", "5h 4c 3s 2d Ah"),
        ("Ah 6d", "3s 4c 5h 2d Ks", "straight", "6d 5h 4c 3s 2d"),
        ("Kh 9h", "2h 5h Qh Kd Ks", "flush", "Kh Qh 9h 5h 2h"),
        ("Th 9h", "Qh Kh Ah Jh 2c", "royal_flush", "Ah Kh Qh Jh Th"),
        ("Ks Kd", "Kh 7c 7d 2s 2c", "full_house", "Ks Kh Kd 7d 7c"),
        ("As 9d", "Kh 7c 5d 3s 2c", "high_card", "As Kh 9d 7c 5d"),
    ],
)
def test_the_best_five_are_named_as_one_reads_them(held, board, category, five):
    found = best_five(parse_cards(held), parse_cards(board), category)

    assert " ".join(map(format_card, found)) == five


def test_in_omaha_exactly_two_of_the_held_count():
    """OM: four hearts in the hand are no flush without three on the board."""
    found = best_five(parse_cards("Ah Kh Qh Jh"), parse_cards("Th 9h 2c 2d 3s"), "pair", is_omaha=True)

    assert " ".join(map(format_card, found)) == "2d 2c Ah Kh Th"


def test_a_category_that_no_five_make_names_none():
    assert best_five(parse_cards("Ah Kh"), parse_cards("2c 3d"), "flush") == []
