"""Capsa settled a second time, from the text of capsa.md alone and without the core: for comparison in tests.

Works on card texts ("As") and plain dictionaries as scenarios have them. Rows of five are ranked by pokerkit where the
wheel is low, fronts and the other wheel by letters; naturals by trying all divisions.
"""

from collections import Counter
from itertools import combinations

from pokerkit import StandardHighHand

RANKS = "23456789TJQKA"
ROWS = ("front", "middle", "back")
SCORING = {"2-4": (1, 0), "1-6": (0, 3), "1-4": (0, 1), "rows": (0, 0)}
RUNS = {size: [set("A" + RANKS[: size - 1])] + [set(RANKS[i : i + size]) for i in range(14 - size)] for size in (3, 5)}


def is_run(cards):
    return {card[0] for card in cards} in RUNS[len(cards)] if len(cards) in RUNS else False


def is_suited(cards):
    return len({card[1] for card in cards}) == 1


def groups(cards):
    """Ranks as indices, most frequent first, then highest."""
    counts = Counter(RANKS.index(card[0]) for card in cards)
    return sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)


def category(cards):
    shape = "".join(str(count) for _, count in groups(cards))
    names = {
        "41": "quads",
        "32": "full_house",
        "311": "trips",
        "3": "trips",
        "221": "two_pair",
        "2111": "pair",
        "21": "pair",
    }
    if shape in names:
        return names[shape]
    if len(cards) == 3:
        return "high"
    run, suit = is_run(cards), is_suited(cards)
    if run and suit:
        return "royal_flush" if {card[0] for card in cards} == set("TJQKA") else "straight_flush"
    return "straight" if run else "flush" if suit else "high"


ORDER = [
    "high",
    "pair",
    "two_pair",
    "trips",
    "straight",
    "flush",
    "full_house",
    "quads",
    "straight_flush",
    "royal_flush",
]


def run_top(cards, wheel):
    ranks = {card[0] for card in cards}
    if ranks in (set("A23"), set("A2345")):
        return 11.5 if wheel == "second" else len(ranks) - 2
    return max(map(RANKS.index, ranks))


def strength(cards, wheel):
    kind = category(cards)
    if "straight" in kind or kind == "royal_flush":
        return ORDER.index(kind), [run_top(cards, wheel)]
    return ORDER.index(kind), [rank for rank, _ in groups(cards)]


def compare(mine, theirs, wheel):
    """Return 1, 0 or -1 for two rows of the same length."""
    if len(mine) == 5 and wheel == "low":
        a, b = StandardHighHand("".join(mine)), StandardHighHand("".join(theirs))
    else:
        a, b = strength(mine, wheel), strength(theirs, wheel)
    return (a > b) - (a < b)


def is_foul(rows, wheel):
    front, middle, back = rows
    if compare(middle, back, wheel) > 0:
        return True
    (front_kind, front_ranks), (middle_kind, middle_ranks) = strength(front, wheel), strength(middle, wheel)
    if front_kind != middle_kind:
        return front_kind > middle_kind
    for mine, theirs in zip(front_ranks, middle_ranks, strict=False):
        if mine != theirs:
            return mine > theirs
    return False


def divisions(cards, is_part):
    cards = sorted(cards)
    for back in filter(is_part, combinations(cards, 5)):
        rest = [card for card in cards if card not in back]
        for middle in filter(is_part, combinations(rest, 5)):
            front = [card for card in rest if card not in middle]
            if is_part(front):
                yield front, middle, back


def pairs_of(cards):
    counts = Counter(card[0] for card in cards)
    return [rank for rank in reversed(RANKS) for _ in range(counts[rank] // 2)]


def fits(kind, cards):
    if kind == "dragon":
        return len({card[0] for card in cards}) == 13
    if kind == "six_pairs":
        return len(pairs_of(cards)) == 6
    if kind == "three_flushes":
        counts = Counter(card[1] for card in cards).values()
        reachable = {0, 3, 5, 8, 10, 13}
        return all(count in reachable for count in counts)
    # Whoever holds no run of five has no three straights; most hands are sorted out here.
    return next(divisions(cards, is_run), None) is not None


def natural_of(cards, rules):
    return next((entry for entry in rules["naturals"] if fits(entry["kind"], cards)), None)


def compare_naturals(kind, mine, theirs, wheel):
    if kind == "dragon":
        return 0
    if kind == "six_pairs":
        a, b = ([RANKS.index(rank) for rank in pairs_of(cards)] for cards in (mine, theirs))
        return (a > b) - (a < b)
    is_part = is_run if kind == "three_straights" else is_suited
    a, b = (max(division_key(kind, rows, wheel) for rows in divisions(cards, is_part)) for cards in (mine, theirs))
    return (a > b) - (a < b)


def division_key(kind, rows, wheel):
    front, middle, back = rows
    falling = sorted((RANKS.index(card[0]) for card in front), reverse=True)
    last = [run_top(front, wheel)] if kind == "three_straights" else falling
    return strength(back, wheel), strength(middle, wheel), last


def royalties(rows, rules):
    units = []
    for name, row in zip(ROWS, rows, strict=True):
        table = rules["royalties"].get(name, {})
        kind = category(row)
        units.append(table.get(kind, table.get("straight_flush", 0) if kind == "royal_flush" else 0))
    if rules["one_royalty_per_player"]:
        best = max(reversed(range(3)), key=lambda row: units[row])
        units = [value if row == best else 0 for row, value in enumerate(units)]
    return units


def status_of(seat, hands, naturals, answers, rules):
    """Return what became of a seat; whoever is alone with an arrangement cannot foul."""
    if seat in naturals:
        return "natural"
    if answers.get(seat) == "surrender":
        return "surrendered"
    is_lone = len(hands) - len(naturals) < 2
    return "fouled" if not is_lone and is_foul(hands[seat], rules["wheel"]) else "set"


def settle(hands, answers, rules):
    """Return what ``end`` of a scenario would say. ``hands`` are rows by seat, or thirteen cards of a natural's holder."""
    wheel = rules["wheel"]
    overall_bonus, scoop_bonus = SCORING[rules["scoring"]]
    scoop_value = 3 + overall_bonus + scoop_bonus
    seats = range(len(hands))
    cards = [[card for row in rows for card in row] for rows in hands]
    naturals = {seat: natural for seat in seats if (natural := natural_of(cards[seat], rules))}
    is_lone = len(hands) - len(naturals) < 2
    status = {seat: status_of(seat, hands, naturals, answers, rules) for seat in seats}
    paid = {seat: [0, 0, 0] if is_lone else royalties(hands[seat], rules) for seat in seats if status[seat] == "set"}
    kinds = [entry["kind"] for entry in rules["naturals"]]

    def parts(p, q):
        line = {"rows": None, "row_units": 0, "overall": 0, "scoop": 0, "royalty": 0, "other": 0}
        if p in naturals or q in naturals:
            if p in naturals and q in naturals:
                a, b = naturals[p], naturals[q]
                if a["kind"] != b["kind"]:
                    line["other"] = a["units"] if kinds.index(a["kind"]) < kinds.index(b["kind"]) else -b["units"]
                else:
                    line["other"] = compare_naturals(a["kind"], cards[p], cards[q], wheel) * a["units"]
            else:
                line["other"] = naturals[p]["units"] if p in naturals else -naturals[q]["units"]
        elif status[p] == status[q] == "set":
            rows = [compare(mine, theirs, wheel) for mine, theirs in zip(hands[p], hands[q], strict=True)]
            line["rows"] = dict(zip(ROWS, rows, strict=True))
            line["row_units"] = sum(rows)
            won, lost = rows.count(1), rows.count(-1)
            line["overall"] = overall_bonus if won > 1 else -overall_bonus if lost > 1 else 0
            line["scoop"] = scoop_bonus if won == 3 else -scoop_bonus if lost == 3 else 0
            for result, mine, theirs in zip(rows, paid[p], paid[q], strict=True):
                if rules["royalty_mode"] == "net":
                    line["royalty"] += mine - theirs
                elif rules["royalty_mode"] == "winner" or not (mine and theirs):
                    line["royalty"] += mine if result > 0 else -theirs if result < 0 else 0
        elif "set" in (status[p], status[q]):
            winner, loser, sign = (p, q, 1) if status[p] == "set" else (q, p, -1)
            if status[loser] == "surrendered":
                line["other"] = sign * rules["surrender"]["price"]
            else:
                line["other"] = sign * scoop_value
                line["royalty"] = sign * sum(paid[winner]) if rules["foul_pays_royalties"] else 0
        units = sum(value for key, value in line.items() if key != "rows")
        cap = rules["loss_cap_units"]
        if cap is not None:
            units = max(-cap, min(cap, units))
        stake = next((pair["unit"] for pair in rules["pair_units"] if {pair["a"], pair["b"]} == {p, q}), rules["unit"])
        return {"a": p, "b": q, **line, "units": units, "chips": units * stake}

    lines = [parts(p, q) for p, q in combinations(seats, 2)]

    def net(key):
        return [
            sum(line[key] for line in lines if line["a"] == seat)
            - sum(line[key] for line in lines if line["b"] == seat)
            for seat in seats
        ]

    return {
        "status": {str(seat): each for seat, each in status.items()},
        "naturals": {str(seat): natural["kind"] for seat, natural in naturals.items()},
        "royalties": {str(seat): dict(zip(ROWS, units, strict=True)) for seat, units in paid.items()},
        "pairs": lines,
        "units": net("units"),
        "payoffs": net("chips"),
    }
