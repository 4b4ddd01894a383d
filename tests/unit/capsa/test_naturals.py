"""Naturals: what they are, which one counts, and how two of a kind compare (CS-67 to CS-82)."""

import random  # noqa: TID251  (tests may use chance)
from collections import Counter
from itertools import combinations
from math import comb, prod

import pytest

from diwan.core.cards import DECK, format_cards, parse_cards
from diwan.core.games.capsa.events import NaturalShown, SettingBegan
from diwan.core.games.capsa.naturals import _is_three_flushes, _three_straights_keys, find_natural
from diwan.core.games.capsa.settings import CapsaSettings, NaturalAward, naturals_of
from tests.unit.capsa.play import Hand

PLAIN = "Ks Kc 5h | Kh 9c Jd 7h 2s | 9s 9h Ts 3c 3d"


def kind_of(text, *kinds):
    awards = [NaturalAward(kind, 4) for kind in kinds] or naturals_of(CapsaSettings())
    natural = find_natural(parse_cards(text), awards, "low")
    return natural and natural.award.kind


@pytest.mark.parametrize(
    ("cards", "kind"),
    [
        ("Ac Kd Qh Js Tc 9d 8h 7s 6c 5d 4h 3s 2c", "dragon"),
        ("Ac Kc Qc Jc 9c 9d 8d 7d 6d 4d 2s 5s 7s", "three_flushes"),
        ("Ac Kc Qc Jc 9c 8c 6c 4c 3h 9h 8h 7h 6h", "three_flushes"),  # 8-5
        ("Ac Kc Qc Jc 9c 8c 6c 4c 3c 2c 8h 7h 6h", "three_flushes"),  # 10-3
        ("Ac 2d 3h 5c 6d 7h 8s 9c 9d Th Js Qc Kd", "three_straights"),
        ("Qc Kd Ah 2c 3d 4h 5s Ac 6d 7h 8s 9c Td", "three_straights"),
        ("2c 2d 4c 4d 6c 6d 8c 8d Tc Td Qc Qd Ah", "six_pairs"),
        ("2c 2d 2h 2s 6c 6d 8c 8d Tc Td Qc Qd Qh", "six_pairs"),  # quads two, trips one (CS-74)
        ("2c 2d 2h 6c 6d 6h 8c 8d 8h Tc Td Th Qc", None),
        ("Ac Kc Qc Jc 9c 8c 6d 4d 3d 2d 8h 7h 6s", None),  # suits 6-4-2-1
    ],
)
def test_the_kinds_of_the_default_table(cards, kind):
    """CS-71 to CS-74."""
    assert kind_of(cards) == kind


@pytest.mark.parametrize(
    ("kind", "fits", "fails"),
    [
        ("suited_dragon", "AcKcQcJcTc9c8c7c6c5c4c3c2c", "AcKcQcJcTc9c8c7c6c5c4c3c2d"),
        ("one_colour_13", "AcKcQcJcTc9c8c7c6c5s4s3s2s", "AcKcQcJcTc9c8c7c6c5s4s3s2d"),
        ("one_colour_12", "AcKcQcJcTc9c8c7c6c5s4s3s2d", "AcKcQcJcTc9c8c7c6c5s4s3s2s"),
        ("five_pairs_trips", "2c2d4c4d6c6d8c8dTcTdQcQdQh", "2c2d4c4d6c6d8c8dTcTdQcQdAh"),
        ("three_straight_flushes", "AcKcQcJcTc9d8d7d6d5d4s3s2s", "AcKcQcJcTc9d8d7d6d5d4s3s2h"),
        ("four_trips", "2c2d2h6c6d6h8c8d8hTcTdThTs", "2c2d2h6c6d6h8c8d8hTcTdQhQs"),
        ("twelve_royals", "AcAdAhAsKcKdKhKsQcQdJhJs2c", "AcAdAhAsKcKdKhKsQcQdJh3s2c"),
        ("all_high", "AcAdAhTsKc9dKh8sQc8dJh8c9c", "AcAdAhTsKc9dKh8sQc8dJh7c9c"),
        ("all_low", "2c2d2h3s4c5d6h7s8c8d8h3c4d", "2c2d2h3s4c5d6h7s8c8d9h3c4d"),
        ("no_faces", "AcAdAhTs9c9d8h8s7c6d5h4c3c", "AcAdAhTs9c9d8h8s7c6d5h4cJc"),
    ],
)
def test_the_further_kinds_that_a_table_may_list(kind, fits, fails):
    """CS-80."""
    assert kind_of(fits, kind) == kind
    assert kind_of(fails, kind) is None
    assert kind_of(fits) != kind  # off by default


def is_divisible(cards, is_part):
    """Say by trying everything whether 13 cards divide into three parts of a sort."""
    return any(
        is_part(front) and is_part(middle) and is_part([c for c in cards if c not in front and c not in middle])
        for front in combinations(cards, 3)
        if is_part(front)
        for middle in combinations([c for c in cards if c not in front], 5)
        if is_part(middle)
    )


def is_suited(cards):
    return len({card % 4 for card in cards}) == 1


def is_run(cards):
    ranks = {card // 4 for card in cards}
    low = {-1 if rank == 12 else rank for rank in ranks}
    return len(ranks) == len(cards) and any(max(r) - min(r) == len(cards) - 1 for r in (ranks, low))


def test_divisions_are_found_as_by_trying_all():
    """CS-72, CS-73: hands near the border, against an independent search over all divisions."""
    chance = random.Random(22)
    runs = [[12, 0, 1], *[[low, low + 1, low + 2] for low in range(11)]]
    fives = [[12, 0, 1, 2, 3], *[list(range(low, low + 5)) for low in range(9)]]
    found = set()
    for _ in range(60):
        ranks = chance.choice(runs) + chance.choice(fives) + chance.choice(fives)
        if any(ranks.count(rank) > 4 for rank in ranks):
            continue
        pool = list(DECK)
        chance.shuffle(pool)
        cards = []
        for rank in ranks:
            cards.append(next(card for card in pool if card // 4 == rank and card not in cards))
        if chance.random() < 0.5:
            cards[0] = next(card for card in pool if card not in cards)
        for kind, is_part in (("three_straights", is_run), ("three_flushes", is_suited)):
            expected = is_divisible(cards, is_part)
            assert (kind_of(format_cards(cards), kind) == kind) is expected
            found.add((kind, expected))
    assert ("three_straights", True) in found
    assert ("three_straights", False) in found


def test_naturals_are_shown_at_the_deal_and_their_holders_do_not_set():
    """CS-69, CS-81, CS-82."""
    hand = Hand("Ac Kd Qh Js Tc 9d 8h 7s 6c 5d 4h 3s 2c", PLAIN, "As Qs Qd | 8d 8c 4c 4d 2d | Ah Jh Th 6h 3h")

    shown = hand.of_kind(NaturalShown)
    assert [(event.seat, event.kind, event.units) for event in shown] == [(0, "dragon", 13)]
    assert shown[0].positions == hand.live.holdings[0]
    assert hand.of_kind(SettingBegan)[0].seats == (1, 2)
    assert hand.refused(hand.lock_command(0)) == "NOT_ASKED"


def test_a_lone_player_among_naturals_has_nothing_to_do():
    """CS-82, CS-57, finer point 12: status set, no royalties, pays the natural, shows nothing."""
    hand = Hand("Ac Kd Qh Js Tc 9d 8h 7s 6c 5d 4h 3s 2c", "Ts Th Td | 9s 9h 9c 8s 8c | 7c 7d 7h 6s 6d")

    assert hand.is_over
    assert hand.statuses == ["natural", "set"]
    assert hand.royalties == [(0, 0, 0), (0, 0, 0)]
    assert (hand.payoffs, hand.state.ended.result, hand.live.shown) == ([130, -130], "uncontested", ())


def test_a_natural_collects_from_fouled_and_surrendered_players_alike():
    """CS-70: and nothing else is exchanged with its holder."""
    hand = Hand(
        "Ac Kd Qh Js Tc 9d 8h 7s 6c 5d 4h 3s 2c",
        "Ks Kc 5h | 9s 9h 7d 3c 3d | Kh 8d Jd 7h 2s",
        "As Qs Qd | 8s 8c 4c 4d 2d | Ah Jh Th 6h 3h",
    )
    hand.lock_all()
    hand.play(1)
    hand.surrender(2)
    assert hand.statuses == ["natural", "fouled", "surrendered"]
    assert [hand.units(0, 1), hand.units(0, 2), hand.units(1, 2)] == [13, 13, 0]


def test_two_dragons_tie():
    """CS-79."""
    hand = Hand("Ac Kd Qh Js Tc 9d 8h 7s 6c 5d 4h 3s 2c", "Ad Kc Qs Jh Td 9c 8s 7h 6d 5c 4s 3h 2d")
    assert (hand.units(0, 1), hand.statuses) == (0, ["natural", "natural"])


def test_the_division_that_compares_has_the_highest_back():
    """CS-77: 5-4-3-2-A and T-J-Q-K-A can both end with the ace; a straight flush back beats any other."""
    cards = parse_cards("9c 8c 7c 6c 5c 9d 8d 7h 6h 5h 3s 2s Ah")
    natural = find_natural(cards, [NaturalAward("three_straights", 4)], "low")
    front, middle, back = natural.rows

    assert format_cards(back) == "5c 6c 7c 8c 9c"
    assert format_cards(sorted(middle)) == "5h 6h 7h 8d 9d"
    assert format_cards(sorted(front)) == "2s 3s Ah"


def test_fronts_of_three_straights_compare_by_the_table_s_wheel():
    """CS-16, CS-73: A-2-3 under the wheel second beats K-Q-J, but not A-K-Q."""
    rows = "9c 8d 7h 6s 5c 9d 8h 7s 6c 5d {}"
    keys = {
        (front, wheel): find_natural(
            parse_cards(rows.format(front)), [NaturalAward("three_straights", 4)], wheel
        ).tie_key
        for front in ("As 2d 3c", "Ks Qd Jc", "As Kd Qc")
        for wheel in ("low", "second")
    }
    assert keys["As 2d 3c", "low"] < keys["Ks Qd Jc", "low"] < keys["As Kd Qc", "low"]
    assert keys["Ks Qd Jc", "second"] < keys["As 2d 3c", "second"] < keys["As Kd Qc", "second"]


def test_the_table_s_order_decides_between_kinds():
    """CS-78: the house may put six pairs above three flushes."""
    six = "As Ac Qs Qc Td Tc 8h 8c 7s 7d 5s 2d 2c"
    both = "Ah Ad Kc Jd Jc 9h 9c 6h 6d 5h 5c 3h 3c"
    assert Hand(six, both).units(0, 1) == -4
    awards = (NaturalAward("six_pairs", 6), NaturalAward("three_flushes", 5))
    assert Hand(six, both, naturals=awards).units(0, 1) == 6
    assert Hand(six, both, naturals=()).live.turn > 0  # none listed: everybody sets


def test_five_pairs_and_trips_compare_by_their_pairs():
    """CS-80, CS-75."""
    awards = (NaturalAward("five_pairs_trips", 9), NaturalAward("six_pairs", 4))
    hand = Hand(
        "As Ah Ad Kc Kd 9c 9d 7c 7d 5c 5d 3c 3d",
        "Qs Qh Qd Ks Kh 9s 9h 7s 7h 5s 5h 3s 3h",
        "Jc Jd Tc Td 8c 8d 6c 6d 4c 4d 2c 2d Js",
        naturals=awards,
    )
    assert [hand.units(0, 1), hand.units(0, 2), hand.units(1, 2)] == [9, 9, 9]


def hands_by_pairs():
    """Count the hands of 13 cards by their number of pairs (CS-74)."""
    states = {(0, 0): 1}  # cards, pairs
    for _ in range(13):
        following = Counter()
        for (cards, pairs), ways in states.items():
            for held in range(5):
                following[cards + held, pairs + held // 2] += ways * comb(4, held)
        states = following
    return {pairs: ways for (cards, pairs), ways in states.items() if cards == 13}


def test_naturals_are_as_frequent_as_the_page_says():
    """CS-78: exact counts; dragon 0.0106 %, three straights 0.320 %, six pairs 0.450 %, three flushes 0.898 %."""
    hands = comb(52, 13)
    straights = [[key >> (3 * rank) & 7 for rank in range(13)] for key in _three_straights_keys()]
    possible = [counts for counts in straights if max(counts) <= 4]
    suits = [
        (a, b, c, 13 - a - b - c)
        for a in range(14)
        for b in range(14 - a)
        for c in range(14 - a - b)
        if _is_three_flushes([4 * rank + suit for suit, n in enumerate((a, b, c, 13 - a - b - c)) for rank in range(n)])
    ]
    shares = {
        "dragon": 4**13 / hands,
        "three straights": sum(prod(comb(4, held) for held in counts) for counts in possible) / hands,
        "six pairs": hands_by_pairs()[6] / hands,
        "three flushes": sum(prod(comb(13, held) for held in counts) for counts in suits) / hands,
    }
    assert {name: round(100 * share, 3 + (name == "dragon")) for name, share in shares.items()} == {
        "dragon": 0.0106,
        "three straights": 0.320,
        "six pairs": 0.450,
        "three flushes": 0.898,
    }
