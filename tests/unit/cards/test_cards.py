import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.cards import (
    DECK,
    CardTextError,
    format_card,
    format_cards,
    is_card,
    make_card,
    parse_card,
    parse_cards,
    rank_of,
    suit_of,
)


def test_the_deck_has_52_cards_with_52_texts_and_each_text_names_its_card():
    texts = {format_card(card) for card in DECK}

    assert len(texts) == 52
    assert tuple(parse_card(format_card(card)) for card in DECK) == DECK
    assert tuple(make_card(rank_of(card), suit_of(card)) for card in DECK) == DECK


@pytest.mark.parametrize(("text", "card"), [("2c", 0), ("2s", 3), ("3c", 4), ("Td", 33), ("Ah", 50), ("As", 51)])
def test_known_texts_name_known_cards(text, card):
    assert card == parse_card(text)


@given(st.lists(st.sampled_from(DECK), unique=True), st.sampled_from(["", " "]))
def test_rows_of_cards_survive_being_written_and_read(cards, separator):
    assert tuple(cards) == parse_cards(format_cards(cards, separator))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("as", "did you mean As"),
        ("10s", "a ten is written T, as in Ts"),
        ("1s", "its rank is none of"),
        ("Ax", "its suit is none of"),
        ("A", "a rank and a suit letter"),
        ("", "a rank and a suit letter"),
        ("A" * 1000, "a rank and a suit letter"),
    ],
)
def test_a_text_that_is_no_card_is_refused_with_what_is_wrong(text, why):
    with pytest.raises(CardTextError, match=why) as caught:
        parse_card(text)

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "why"),
    [("AsKd As", "As is named twice"), ("As Kdx", "'Kdx' is no row of cards"), ("As,Kd", "row of cards")],
)
def test_a_row_that_no_deck_can_hold_is_refused(text, why):
    with pytest.raises(CardTextError, match=why):
        parse_cards(text)


@pytest.mark.parametrize("value", [-1, 52, True, 3.0, "As", None])
def test_what_is_no_card_is_neither_accepted_nor_formatted(value):
    assert not is_card(value)
    with pytest.raises(ValueError, match=r"0\.\.51"):
        format_card(value)


@pytest.mark.parametrize(("rank", "suit"), [(-1, 0), (13, 0), (0, 4), (0, -1)])
def test_no_card_is_made_outside_the_deck(rank, suit):
    with pytest.raises(ValueError, match="no card has rank"):
        make_card(rank, suit)
