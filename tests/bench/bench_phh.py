"""Poker Hand Histories beside PokerKit, on the same random hands that we wrote.

PokerKit parses and replays a text. Ours is measured as a whole (parse by the same TOML of the standard library, ask the rules
at every action, compare stacks and winners) and without the parsing, which takes half of it. Contestants take turns in
every round; time is the processor's. Run: ``python -m tests.bench phh``.
"""

import statistics
import time
import warnings

from pokerkit import HandHistory

from diwan.history.phh import Verdict, check_hand, export_hand, read_documents, read_hand, replay_hand
from tests.bench.bench_hands import play_ours

BAR, AIM = 6, 10
HANDS = 200


def check(texts):
    for text in texts:
        if check_hand(read_documents(text)[0].fields).verdict is not Verdict.AGREES:
            raise RuntimeError("a hand that we wrote differs")


def replay(hands):
    for hand in hands:
        replay_hand(hand)


def export(hands):
    for cards, log in hands:
        export_hand(log, cards)


def check_pokerkit(texts):
    for text in texts:
        for _ in HandHistory.loads(text):
            pass


def rate(work, hands) -> float:
    started = time.thread_time()
    work(hands)
    return len(hands) / (time.thread_time() - started)


def report(name, ours, peers, goal=""):
    ratios = sorted(one / other for one, other in zip(ours, peers, strict=True))
    found = f"ratio {statistics.median(ratios):4.1f} ({ratios[0]:.1f}-{ratios[-1]:.1f})"
    print(f"{name:38} {statistics.median(ours):>7,.0f} hands/s   {found}   {goal}".rstrip())


def main(rounds: int = 5) -> None:
    """Print medians and ratios."""
    hands = play_ours(range(HANDS))
    texts = [export_hand(log, cards).text for cards, log in hands]
    parsed = [read_hand(read_documents(text)[0].fields) for text in texts]
    few = texts[: HANDS // 8]
    warnings.simplefilter("ignore", UserWarning)  # PokerKit warns of fields that only we have
    check_pokerkit(few[:2])
    works = ((check_pokerkit, few), (replay, parsed), (check, texts), (export, hands))
    peers, replayed, checked, exported = zip(
        *[[rate(work, given) for work, given in works] for _ in range(rounds)], strict=True
    )
    print(f"PokerKit, parse and replay: {statistics.median(peers):,.0f} hands/s")
    report("replayed, rules asked at every action", replayed, peers, f"bar {BAR}, aim {AIM}")
    report("text to verdict", checked, peers)
    report("export, text checked", exported, peers)


if __name__ == "__main__":
    main()
