"""outcome/v1 against a second implementation, written from its description alone (DESIGN 3)."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings

from diwan.core.hand.outcome import outcome_bytes
from tests.property.random_hands import Played, seeds
from tests.unit.hand.hands import Hand, deck, start

PAGE = Path(__file__).parents[3] / "docs/reference/hashing.md"


def field(raw):
    return len(raw).to_bytes(4, "big") + raw


def numbers(values):
    return field(b"".join(value.to_bytes(8, "big", signed=True) for value in values))


def second_implementation(played):
    ended, last = played.ended, played.last
    pots = []
    for pot in last.pots:
        pots += [pot.amount, len(pot.eligible), *pot.eligible, len(pot.shares)]
        pots += [number for share in pot.shares for number in (share.seat, share.amount)]
    shown = b""
    for showing in sorted({each.seat: each for each in last.shown}.values(), key=lambda each: each.seat):
        cards = [played.cards[position] for position in showing.positions]
        shown += bytes([showing.seat, len(cards), *cards])
    return b"".join(
        [
            field(b"outcome/v1"),
            field(ended.result.encode()),
            field(played.start.button.to_bytes(8, "big")),
            numbers([seat.seat for seat in played.start.seats]),
            numbers(ended.stacks),
            numbers(ended.payoffs),
            field(bytes(played.cards[position] for position in last.board)),
            numbers(pots),
            field(shown),
        ]
    )


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_the_bytes_are_those_of_the_description(seed):
    played = Played(seed)
    expected = second_implementation(played)
    assert outcome_bytes(played.last, played.ended.result, played.cards) == expected
    assert played.ended.digest == hashlib.sha256(expected).digest()


def test_a_known_hand_has_a_known_digest():
    """Also the test vector of ``docs/reference/hashing.md``."""
    hand = Hand(start([100, 60]), deck("AsKsAhKh 2c7d9hJs3s")).do("all_in", "call")
    raw = outcome_bytes(hand.live, "showdown", hand.cards)
    assert (raw.hex(), hand.ended.digest.hex()) == (RAW, DIGEST)
    page = PAGE.read_text(encoding="utf-8")
    assert f"outcome  = {RAW}\nsha256   = {DIGEST}\n" in page


@pytest.mark.parametrize("card", range(9))
def test_every_card_that_was_shown_matters(card):
    """Another card in any shown place is another outcome."""
    hand = Hand(start([100, 60]), deck("AsKsAhKh 2c7d9hJs3s")).do("all_in", "call")
    other = hand.cards | {card: (hand.cards[card] + 1) % 52}
    assert outcome_bytes(hand.live, "showdown", other) != outcome_bytes(hand.live, "showdown", hand.cards)


RAW = (
    "0000000a6f7574636f6d652f76310000000873686f77646f776e00000008000000000000000000000010000000000000"
    "00000000000000000001000000100000000000000028000000000000007800000010ffffffffffffffc4000000000000"
    "003c0000000500151e270700000038000000000000007800000000000000020000000000000000000000000000000100"
    "00000000000001000000000000000100000000000000780000000800022f2e01023332"
)
DIGEST = "e9f81e6a2f804c85b50b564c908cffbc3fb7a247a14ecffec7a71ff848a36f85"
