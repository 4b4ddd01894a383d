import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from diwan.core.fairness import draw, draw_order

HAND = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
SECRET = bytes(range(32))
SEEDS = {0: b"\x10" * 32}
ROOT = Path(__file__).parents[3]

# Each bound stands at about 5.5 standard deviations above the mean of its chi-square, so chance fails none of them in a
# lifetime of runs; the secrets are fixed besides.
DRAWS = 6000


def _secret(n):
    return hashlib.sha256(b"secret %d" % n).digest()


def _z(counts, weights):
    total, weight = sum(counts), sum(weights)
    expected = [total * w / weight for w in weights]
    chi_square = sum((count - e) ** 2 / e for count, e in zip(counts, expected, strict=True) if e)
    freedom = sum(1 for w in weights if w) - 1
    return (chi_square - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize(
    ("label", "weights"),
    [
        ("carousel/v1", [1, 1, 1]),
        ("button/v1", [1] * 9),
        ("multiplier/v1", [500_000, 300_000, 150_000, 0, 49_000, 1_000]),
        ("wide/v1", [2**62, 2**62, 2**61]),
    ],
)
def test_draws_follow_their_published_weights(label, weights):
    """F7: chi-square per draw type."""
    counts = [0] * len(weights)
    for n in range(DRAWS):
        counts[draw(_secret(n), label, HAND, weights)] += 1

    assert abs(_z(counts, weights)) < 5.5
    assert all(count == 0 for count, weight in zip(counts, weights, strict=True) if weight == 0)


def test_the_bar_would_see_a_draw_that_favours_one_choice():
    counts = [DRAWS // 3 + 150, DRAWS // 3 - 75, DRAWS // 3 - 75]

    assert _z(counts, [1, 1, 1]) > 5.5


def test_orders_are_even_over_all_permutations():
    counts = {}
    for n in range(DRAWS):
        order = draw_order(_secret(n), "seats/v1", HAND, 4)
        counts[order] = counts.get(order, 0) + 1

    assert len(counts) == 24
    assert all(sorted(order) == [0, 1, 2, 3] for order in counts)
    assert abs(_z(list(counts.values()), [1] * 24)) < 5.5


def test_label_subject_ordinal_secret_and_seeds_each_make_another_draw():
    wide = [1] * 100_000
    draws = {
        draw(SECRET, "carousel/v1", HAND, wide),
        draw(SECRET, "carousel/v2", HAND, wide),
        draw(SECRET, "carousel/v1", HAND.replace("6ba7b810", "6ba7b811"), wide),
        draw(SECRET, "carousel/v1", HAND, wide, ordinal=1),
        draw(SECRET, "carousel/v1", HAND, wide, seeds=SEEDS),
        draw(bytes(32), "carousel/v1", HAND, wide),
    }

    assert len(draws) == 6
    assert draw(SECRET, "carousel/v1", HAND, wide) == draw(SECRET, "carousel/v1", HAND, wide)


def test_small_orders_need_no_chance():
    assert draw_order(SECRET, "seats/v1", HAND, 0) == ()
    assert draw_order(SECRET, "seats/v1", HAND, 1) == (0,)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1, 2], [2**64, 1]])
def test_weights_that_say_nothing_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights|choices"):
        draw(SECRET, "carousel/v1", HAND, weights)


def test_a_draw_needs_a_label_and_a_whole_secret():
    with pytest.raises(ValueError, match="labelled"):
        draw(SECRET, "", HAND, [1])
    with pytest.raises(ValueError, match="32 bytes"):
        draw(b"short", "carousel/v1", HAND, [1])


def _lint(folder, text):
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", f"{folder}/planted.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("folder", ["diwan/core/fairness", "diwan/chassis", "diwan/cli", "services/table"])
@pytest.mark.parametrize("planted", ["import random\n\nrandom.seed(1)\n", "from random import choice\n\nchoice([1])\n"])
def test_the_lint_refuses_the_random_module_outside_tests(folder, planted):
    """F7: ``random`` is banned by configuration, so a draw that is not committed cannot come in unseen."""
    outcome = _lint(folder, f'"""Planted."""\n\n{planted}')

    assert outcome.returncode == 1, outcome.stderr
    assert "TID251" in outcome.stdout


def test_the_lint_accepts_the_same_file_without_random():
    outcome = _lint("diwan/core", '"""Planted."""\n')

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_no_file_of_the_product_lifts_the_ban():
    """F7: an exception would be written as a comment, and there is none."""
    product = [path for folder in ("diwan", "services") for path in (ROOT / folder).rglob("*.py")]

    assert len(product) > 5
    assert [path for path in product if "noqa: TID251" in path.read_text(encoding="utf-8")] == []
