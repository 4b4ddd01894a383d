"""What a person reads when a call was refused."""

import pytest

from diwan.cli.running import refusal_text
from diwan.client import DiwanError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            DiwanError("BUY_IN_OUT_OF_RANGE", {"min": "200"}, "The buy-in is out of range: 200 to 1000."),
            "The buy-in is out of range: 200 to 1000. (BUY_IN_OUT_OF_RANGE)",
        ),
        (DiwanError("UNAVAILABLE", {"peer": "x"}), "UNAVAILABLE peer=x"),
    ],
)
def test_the_sentence_comes_first_and_says_each_fact_once(error, text):
    assert refusal_text(error) == text
