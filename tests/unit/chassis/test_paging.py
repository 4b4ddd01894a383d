"""Tokens of pages: what was given out is taken back, of its own list alone (AIP-158)."""

import base64
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.chassis.fields import page_size, page_size_up_to
from diwan.chassis.paging import NUMBER_MAX, after_numbers, after_token, numbers_token, page_token
from diwan.core.decider import Rejected

numbers = st.integers(0, NUMBER_MAX)


def forged(text):
    return base64.urlsafe_b64encode(text.encode()).decode()


@given(numbers, st.uuids(), st.binary(max_size=20))
def test_a_place_comes_back_as_it_was(time_ms, last_id, scope):
    assert after_token(page_token(time_ms, last_id, scope), scope) == (time_ms, last_id)


@given(st.lists(numbers, min_size=1, max_size=3), st.binary(max_size=20))
def test_numbers_come_back_as_they_were(found, scope):
    assert after_numbers(numbers_token(*found, scope=scope), len(found), scope) == tuple(found)


def test_without_a_token_the_first_page_is_asked_for():
    assert after_token("") is None


@pytest.mark.parametrize("wrong", ["x", "é", "😀", "AAAA", "!", "a b", forged("1/2"), forged("1/2/3"), forged("/")])
def test_what_nobody_gave_out_is_refused(wrong):
    for ask in (lambda: after_token(wrong), lambda: after_numbers(wrong, 1, b""), lambda: after_numbers(wrong, 2, b"")):
        with pytest.raises(Rejected, match="PAGE_TOKEN_INVALID"):
            ask()


@pytest.mark.parametrize("digits", ["-1", str(NUMBER_MAX + 1), "9" * 40, "1.5", "٣", " 1", ""])
def test_a_number_that_is_none_is_refused_whatever_it_is_bound_to(digits):
    scope = base64.urlsafe_b64decode(numbers_token(1, scope=b"list") + "==").decode().partition("/")[2]
    assert after_numbers(forged(f"1/{scope}"), 1, b"list") == (1,)

    with pytest.raises(Rejected, match="PAGE_TOKEN_INVALID"):
        after_numbers(forged(f"{digits}/{scope}"), 1, b"list")


def test_the_token_of_another_question_is_refused():
    for token, ask in (
        (page_token(1, uuid4(), b"one"), lambda token: after_token(token, b"another")),
        (numbers_token(1, scope=b"one"), lambda token: after_numbers(token, 1, b"another")),
        (numbers_token(1, 2, scope=b"one"), lambda token: after_numbers(token, 1, b"one")),
    ):
        with pytest.raises(Rejected, match="PAGE_TOKEN_INVALID"):
            ask(token)


def test_sizes_of_pages():
    assert (page_size(0, 500), page_size(7, 500), page_size_up_to(500, 0), page_size_up_to(500, 501)) == (
        50,
        7,
        50,
        500,
    )
    for ask in (lambda: page_size(-1, 500), lambda: page_size(501, 500), lambda: page_size_up_to(500, -1)):
        with pytest.raises(Rejected, match="PAGE_SIZE_INVALID"):
            ask()
