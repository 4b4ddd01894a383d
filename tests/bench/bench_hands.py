"""Whole hands beside PokerKit, its peer in Python: playing random hands, and checking recorded ones.

Both contestants take turns in every round of one run, so that a ratio compares like with like; absolute rates depend on
the machine and its mood. Run: ``python tests/bench/bench_hands.py [rounds] [hands]``.
"""

import random  # noqa: TID251  (tests may use chance)
import statistics
import sys
import time
from collections.abc import Callable

from pokerkit import Automation, HandHistory, NoLimitTexasHoldem

from diwan.core.cards import format_card, format_cards
from diwan.core.evaluation import evaluate, evaluate_omaha, prepare_omaha
from diwan.core.games import GAMES
from diwan.core.hand.betting import legal_actions, price_of
from diwan.core.hand.commands import Act, StartHand
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Acted, BoardDealt, CardsShown, Due, HandSeat
from diwan.core.hand.evolve import evolve
from diwan.core.hand.inverse import command_of
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand

SEATS, STACK, SMALL, BIG = 6, 200, 1, 2
BARS = {"play": (8, 12), "check": (6, 10), "fold": (20, 30)}
START = StartHand(
    hand_id="",
    hand_no=1,
    rules_version=CURRENT_RULES_VERSION,
    settings=HandSettings(small_blind=SMALL, big_blind=BIG),
    seats=tuple(HandSeat(seat, str(seat), STACK) for seat in range(SEATS)),
    button=SEATS - 1,
    big_blind_seat=1,
    dues=(Due(0, "small_blind", SMALL), Due(1, "big_blind", BIG)),
    secret_commitment=b"",
    seeds=(),
    absent=(),
    deck_root=b"",
    next_commitment=b"",
    version=0,
    now_ms=0,
)
AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.CARD_BURNING,
    Automation.HOLE_DEALING,
    Automation.BOARD_DEALING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)


def play_ours(seeds):
    """Uniform fold, call, smallest raise; a fold only where there is something to call. Returns the hands' events."""
    hands = []
    game = GAMES["holdem"]
    for seed in seeds:
        chance = random.Random(seed)
        cards = dict(enumerate(chance.sample(range(52), 2 * SEATS + 5)))
        events, state = advance(None, START, cards)
        log = list(events)
        while not isinstance(state, EndedHand):
            kind, to = choose(game, state, chance.randrange(3))
            command = Act(state.deal.seats[state.actor], kind, to, state.turn, len(log), 0)
            events, state = advance(state, command, cards)
            log += events
        hands.append((cards, tuple(log)))
    return hands


def choose(game, state, choice):
    """Fold, call or raise; what is not possible becomes a check or a call."""
    if choice == 2:
        legal = legal_actions(game, state)
        if legal.lift:
            return ("bet" if legal.bet else "raise"), legal.lift[0]
    if price_of(state) > state.bets[state.actor]:
        return ("call" if choice else "fold"), 0
    return "check", 0


def play_pokerkit(seeds):
    """The same policy."""
    for seed in seeds:
        chance = random.Random(seed)
        state = NoLimitTexasHoldem.create_state(AUTOMATIONS, True, 0, (SMALL, BIG), BIG, STACK, SEATS)  # noqa: FBT003  (its way)
        while state.status:
            choice = chance.randrange(3)
            if choice == 0 and state.can_fold():
                state.fold()
            elif choice == 2 and state.can_complete_bet_or_raise_to():
                state.complete_bet_or_raise_to()
            else:
                state.check_or_call()


def check_ours(hands):
    """Fold each hand and decide each of its acts again; every batch must come out as it was recorded."""
    for cards, log in hands:
        state = None
        at = 0
        while at < len(log):
            events, state = advance(state, command_of(log[at], at), cards)
            after = at + len(events)
            if events != log[at:after]:
                raise RuntimeError("a recorded hand does not come out again")
            at = after


def fold_ours(hands):
    """Fold each hand without deciding anything."""
    for _, log in hands:
        state = None
        for event in log:
            state = evolve(state, event)


def check_pokerkit(texts):
    """Parse and replay Poker Hand History texts."""
    for text in texts:
        for _ in HandHistory.loads(text):
            pass


def phh_of(cards, log):
    """Write one of our hands as a Poker Hand History, for PokerKit to read."""
    seats = log[0].seats
    lines = [f"d dh p{seat + 1} {format_cards([cards[seat], cards[seat + SEATS]], '')}" for seat in range(SEATS)]
    for event in log:
        match event:
            case Acted(kind="fold"):
                lines.append(f"p{event.seat + 1} f")
            case Acted(kind="check" | "call"):
                lines.append(f"p{event.seat + 1} cc")
            case Acted():
                lines.append(f"p{event.seat + 1} cbr {event.to}")
            case BoardDealt():
                lines.append("d db " + "".join(format_card(cards[position]) for position in event.positions))
            case CardsShown():
                lines.append(f"p{event.seat + 1} sm " + format_cards([cards[p] for p in event.positions], ""))
    return "\n".join(
        [
            "variant = 'NT'",
            f"antes = {[0] * SEATS}",
            f"blinds_or_straddles = {[SMALL, BIG] + [0] * (SEATS - 2)}",
            f"min_bet = {BIG}",
            f"starting_stacks = {[each.stack for each in seats]}",
            f"actions = {lines}",
        ]
    )


def rate(work: Callable, *args) -> float:
    started = time.perf_counter()
    work(*args)
    return 1 / (time.perf_counter() - started)


def report(name, ours, peer, unit):
    ratios = sorted(one / other for one, other in zip(ours, peer, strict=True))
    bar, aim = BARS[name]
    print(
        f"{name:6} ours {statistics.median(ours):>10,.0f} {unit}/s   PokerKit {statistics.median(peer):>8,.0f}   "
        f"ratio {statistics.median(ratios):5.1f} ({ratios[0]:.1f}-{ratios[-1]:.1f})   bar {bar}, aim {aim}"
    )


def evaluator_rate(count=200_000) -> float:
    chance = random.Random(7)
    hands = [tuple(chance.sample(range(52), 7)) for _ in range(count)]
    evaluate(hands[0])
    started = time.perf_counter()
    for hand in hands:
        evaluate(hand)
    return count / (time.perf_counter() - started)


def omaha_rate(count=100_000) -> float:
    chance = random.Random(8)
    hands = [chance.sample(range(52), 9) for _ in range(count)]
    halves = [(hand[:4], hand[4:]) for hand in hands]
    prepare_omaha()
    started = time.perf_counter()
    for hole, board in halves:
        evaluate_omaha(hole, board)
    return count / (time.perf_counter() - started)


def main(rounds: int = 5, count: int = 400) -> None:
    """Print medians and ratios of ``rounds`` rounds of ``count`` hands."""
    seeds = list(range(count))
    hands = play_ours(seeds)
    few = seeds[: max(1, count // 8)]
    texts = [phh_of(*hand) for hand in hands[: len(few)]]
    check_pokerkit(texts)
    figures: dict[str, list[float]] = {
        key: [] for key in ("play", "play peer", "check", "fold", "check peer", "seven cards", "Omaha")
    }
    for _ in range(rounds):
        figures["play"].append(count * rate(play_ours, seeds))
        figures["play peer"].append(len(few) * rate(play_pokerkit, few))
        figures["check"].append(count * rate(check_ours, hands))
        figures["check peer"].append(len(few) * rate(check_pokerkit, texts))
        figures["fold"].append(count * rate(fold_ours, hands))
        figures["seven cards"].append(evaluator_rate())
        figures["Omaha"].append(omaha_rate())
    actions = sum(isinstance(event, Acted) for _, log in hands for event in log) / count
    print(f"{count} hands of {SEATS} seats, {actions:.1f} actions a hand, {rounds} rounds; median (lowest-highest)")
    report("play", figures["play"], figures["play peer"], "hands")
    report("check", figures["check"], figures["check peer"], "hands")
    report("fold", figures["fold"], figures["check peer"], "hands")
    print(f"seven cards, one call: {statistics.median(figures['seven cards']):,.0f} a second")
    print(f"Omaha, one call: {statistics.median(figures['Omaha']):,.0f} a second")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
