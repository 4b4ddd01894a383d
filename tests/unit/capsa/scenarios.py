"""Whole random Capsa hands as scenarios, their ends computed by the second implementation."""

import random  # noqa: TID251  (tests may use chance)
from collections import Counter

from diwan.core.cards import DECK, format_card, parse_cards
from diwan.core.games.capsa.arrangement import server_arrangement
from tests.unit.capsa.second_implementation import RANKS, ROWS, SCORING, is_foul, natural_of, settle


def random_rules(chance):
    scoring = chance.choice(list(SCORING))
    scoop = 3 + sum(SCORING[scoring])
    tables = (
        {"front": {"trips": 3}, "middle": {"full_house": 2, "quads": 8, "straight_flush": 10, "royal_flush": 14},
         "back": {"quads": 4, "straight_flush": 5, "royal_flush": 7}},
        {"back": {"quads": 1, "straight_flush": 2}},
        {"front": {"trips": 1}, "middle": {"trips": 1, "full_house": 1, "quads": 3}, "back": {"full_house": 1, "quads": 2}},
        {},
    )  # fmt: skip
    kinds = ["dragon", "three_flushes", "three_straights", "six_pairs"]
    ordinary = chance.choice((scoop, 3, 6))
    if chance.random() < 0.3:
        kinds[1:] = chance.sample(kinds[1:], 3)
    return {
        "scoring": scoring,
        "royalties": chance.choice(tables),
        "royalty_mode": chance.choice(("winner", "winner", "cancel", "net")),
        "one_royalty_per_player": chance.random() < 0.2,
        "naturals": [{"kind": kind, "units": 13 if kind == "dragon" else ordinary} for kind in kinds],
        "surrender": {"allowed": True, "price": chance.randint(1, scoop)},
        "foul_pays_royalties": chance.random() < 0.7,
        "wheel": chance.choice(("low", "second")),
        "unit": chance.randint(1, 50),
        "pair_units": chance.choice(([], [{"a": 0, "b": 1, "unit": 75}])),
        "loss_cap_units": chance.choice((None, None, 8)),
    }


def special(chance):
    """Thirteen cards that are likely to be a natural of some kind."""
    kind = chance.randrange(5)
    if kind == 0:
        return [rank + chance.choice("cdhs") for rank in RANKS]
    if kind == 1:
        ranks = chance.sample(RANKS, 7)
        return [rank + suit for rank in ranks for suit in chance.sample("cdhs", 2)][:13]
    if kind == 2:
        sizes = chance.choice(((5, 5, 3), (8, 5), (10, 3)))
        suits = chance.sample("cdhs", len(sizes))
        return [r + suit for suit, size in zip(suits, sizes, strict=True) for r in chance.sample(RANKS, size)]
    runs = ["A" + RANKS[: size - 1] for size in (3, 5)]
    ranks = "".join(
        chance.choice([run, *[RANKS[i : i + len(run)] for i in range(14 - len(run))]])
        for run in (runs[0], runs[1], runs[1])
    )
    if max(Counter(ranks).values()) > 4:
        return special(chance)
    suits = {rank: chance.sample("cdhs", 4) for rank in RANKS}
    return [rank + suits[rank].pop() for rank in ranks]


def random_hands(chance, seats):
    deck = [format_card(card) for card in chance.sample(DECK, 52)]
    hands = []
    for _ in range(seats):
        hand = special(chance) if chance.random() < 0.35 else deck[:13]
        if not set(hand) <= set(deck):
            hand = deck[:13]
        hands.append(chance.sample(hand, 13))
        deck = [card for card in deck if card not in hand]
    return hands


def random_rows(chance, hand, wheel):
    """The server's rows, or others at random; by rank they are often legal."""
    style = chance.random()
    if style < 0.5:
        rows = server_arrangement(parse_cards("".join(hand)), wheel)
        return [[format_card(card) for card in row] for row in rows]
    cards = sorted(hand, key=lambda card: RANKS.index(card[0])) if style < 0.75 else hand
    return [cards[:3], cards[3:8], cards[8:]]


def random_answers(chance, asked):
    """Answers in turn; who is left alone is not asked."""
    answers = {}
    for number, seat in enumerate(asked):
        if number == len(asked) - 1 and number and "play" not in answers.values():
            break
        answers[seat] = chance.choice(("play", "play", "surrender"))
    return answers


def scenario(seed):
    """Return a scenario with the end that the second implementation computes."""
    chance = random.Random(seed)
    seats, rules = chance.choice((2, 3, 4)), random_rules(chance)
    button = chance.randrange(seats)
    order = [(button + 1 + number) % seats for number in range(seats)]
    hands = random_hands(chance, seats)
    rows = [random_rows(chance, hand, rules["wheel"]) for hand in hands]
    setters = [seat for seat in order if natural_of(hands[seat], rules) is None]
    steps, answers = [], {}
    if len(setters) > 1:
        answers = random_answers(chance, setters)
        for seat in chance.sample(setters, len(setters)):
            step = {"seat": seat, "set": {row: "".join(cards) for row, cards in zip(ROWS, rows[seat], strict=True)}}
            if is_foul(rows[seat], rules["wheel"]):
                steps.append({**step, "error": "FOULED_SET"})
                step["confirm_foul"] = True
            steps.append(step)
        steps += [{"seat": seat, "declare": answer} for seat, answer in answers.items()]
    return {
        "id": f"random-{seed}",
        "game": "capsa",
        "rules": rules,
        "stacks": [1_000_000] * seats,
        "button": button,
        "deck": "".join(hands[order[number % seats]][number // seats] for number in range(13 * seats)),
        "steps": steps,
        "end": settle(rows, answers, rules),
    }
