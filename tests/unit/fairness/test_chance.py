"""Rejection at its exact edges, and HMAC against the standard library's (F6)."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.fairness import chance


@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1))
def test_the_fast_hmac_is_hmac_of_the_number_in_8_bytes(key, number):
    assert chance.keyed(key)(number) == hmac.digest(key, number.to_bytes(8), "sha256")


@pytest.mark.parametrize("choices", [3, 10, 52, 2**63 + 1])
def test_a_word_is_taken_below_the_limit_and_dropped_at_it(monkeypatch, choices):
    limit = 2**64 - 2**64 % choices
    words = [limit, 2**64 - 1, limit - 1, 0]
    monkeypatch.setattr(chance, "blocks", lambda _key: iter([b"".join(word.to_bytes(8) for word in words)]))
    below = chance.words_below(bytes(32))

    assert [below(choices), below(choices)] == [choices - 1, 0]


def test_a_word_that_divides_evenly_is_never_dropped(monkeypatch):
    monkeypatch.setattr(chance, "blocks", lambda _key: iter([b"\xff" * 32]))
    below = chance.words_below(bytes(32))

    assert [below(2**64), below(2**32), below(1), below(4)] == [2**64 - 1, 2**32 - 1, 0, 3]


def test_a_byte_is_taken_below_the_limit_and_dropped_at_it(monkeypatch):
    """Three things: of 3, bytes 0 to 254 count; of 2, all."""
    monkeypatch.setattr(chance, "blocks", lambda _key: iter([bytes([255, 254, 255])]))
    items = [0, 1, 2]
    chance.shuffle_bytes(bytes(32), items)

    assert items == [0, 1, 2]


def test_a_byte_cannot_draw_among_more_than_256():
    with pytest.raises(ValueError, match="256"):
        chance.shuffle_bytes(bytes(32), list(range(257)))


@pytest.mark.parametrize("choices", [0, -1, 2**64 + 1])
def test_a_draw_among_nothing_or_too_much_is_refused(choices):
    with pytest.raises(ValueError, match="choices"):
        chance.words_below(bytes(32))(choices)
