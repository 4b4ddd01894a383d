"""Whole random hands as scenarios, their ends computed by a second implementation of capsa.md."""

import json
from collections import Counter

import pytest

from diwan.scenarios.runner import run_line
from tests.unit.capsa.scenarios import scenario

HANDS = 600


@pytest.mark.parametrize("block", range(6))
def test_random_hands_end_as_a_second_implementation_says(block):
    """CS-1 to CS-87: fouls, surrenders, naturals and all settings of the settlement among them."""
    seen = Counter()
    for seed in range(block * HANDS // 6, (block + 1) * HANDS // 6):
        case = scenario(seed)
        seen.update(case["end"]["status"].values())
        seen.update(case["end"]["naturals"].values())
        assert [str(failure) for failure in run_line(json.dumps(case)).failures] == [], json.dumps(case)
    assert min(seen[each] for each in ("set", "fouled", "surrendered", "natural", "six_pairs", "three_flushes")) > 0


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_hands_end_as_a_second_implementation_says():
    """The same on 20,000 hands."""
    for seed in range(10_000, 30_000):
        case = scenario(seed)
        assert [str(failure) for failure in run_line(json.dumps(case)).failures] == [], json.dumps(case)
