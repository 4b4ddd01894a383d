"""No false alarm on ten thousand honest hands of all five games, as everybody and as an auditor sees them (P6, P7).

The suite takes a slice; ``./run soak tests/property/test_bundles_soak.py`` takes them all.
"""

from __future__ import annotations

from collections import Counter

import pytest

from diwan.verifier import Verdict
from tests.unit.verifier.games import GAMES, played_game, stream_of
from tests.unit.verifier.registers import House, verified

HANDS = 10_000
HANDS_A_TABLE = 8


def checked(game: str, seed: int, hands: int) -> Counter[str]:
    """Verdicts on every hand of a table, by lens; nothing honest is ever called false."""
    house = House(played_game(game, seed, hands), played_game("holdem", seed, 1, stream_of(1)))
    counts: Counter[str] = Counter()
    for hand_id in next(iter(house.tables.values())).hand_ids:
        for lens in ("public", "auditor"):
            report = verified(house.bundle(hand_id, lens=lens))
            told = [one.text for one in report.findings]
            assert report.verdict is not Verdict.NOT_VERIFIED, told
            if report.verdict is Verdict.CANNOT_SAY:
                # A seat of Capsa that surrendered behind a locked set keeps what it had arranged (CS-83).
                assert (game, lens) == ("capsa", "public"), told
                assert {one.rule.value for one in report.findings} == {"BODY_WITHHELD"}, told
            counts[f"{game} {lens} {report.verdict}"] += 1
            counts["postings"] += report.postings
            counts["acts"] += sum(hand.acts for hand in report.hands)
            counts["cards"] += sum(hand.reveals for hand in report.hands)
    return counts


@pytest.mark.parametrize("game", GAMES)
def test_honest_hands_raise_no_alarm(game):
    counts = checked(game, 1000, HANDS_A_TABLE)
    assert counts[f"{game} auditor verified"] >= 2


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("game", GAMES)
def test_ten_thousand_honest_hands_raise_no_alarm(game, capsys):
    counts: Counter[str] = Counter()
    seed = 0
    while counts[f"{game} auditor verified"] < HANDS // len(GAMES):
        counts += checked(game, seed, HANDS_A_TABLE)
        seed += 1
    with capsys.disabled():
        print(f"\n{dict(counts)}")
