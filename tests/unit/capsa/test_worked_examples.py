"""The 27 worked examples of capsa.md section 9, each under its number, read from that page's own notation."""

import re
from pathlib import Path

import pytest

from diwan.core.games.capsa.events import NaturalShown
from diwan.core.games.capsa.settings import PairUnit, Royalties, SurrenderTerms
from tests.unit.capsa.play import Hand

RULES = (
    (Path(__file__).parents[3] / "docs/reference/rules/capsa.md")
    .read_text(encoding="utf-8")
    .replace("\N{MINUS SIGN}", "-")
)
EXAMPLES = RULES[RULES.index("## 9. Worked examples") : RULES.index("## 10. Example files")]
SIGN = {"+": 1, "=": 0, "-": -1}
NUMBERS = [f"CSX-{number:02}" for number in range(1, 28)]


def example(name):
    """Return the part of the page about an example: title, settings, table."""
    return re.search(rf"\*\*{name}\*\*(.*?)(?=\*\*CSX|\Z)", EXAMPLES, re.DOTALL).group(1)


def settings_of(text):
    """Translate the settings in words; what is not named has its default, royalties named nowhere are off."""
    line = re.search(r"Settings: (.*)\.", text).group(1)
    settings = {"scoring": re.search(r"scoring (\S+?)(,|$)", line).group(1)}
    settings["unit"] = int(re.search(r"unit (\d+)", line).group(1))
    mode = re.search(r"royalties (winner|cancel|net)", line)
    if mode:
        settings["royalty_mode"] = mode.group(1)
    else:
        settings["royalties"] = Royalties()
    settings["foul_pays_royalties"] = "foul pays royalties: no" not in line
    price = re.search(r"surrender price (\d+)", line)
    settings["surrender"] = SurrenderTerms(price=int(price.group(1)) if price else 3)
    settings["one_royalty_per_player"] = "one royalty per player" in line
    settings["wheel"] = "second" if "wheel second" in line else "low"
    cap = re.search(r"loss cap (\d+)", line)
    settings["loss_cap_units"] = int(cap.group(1)) if cap else None
    if "pair A-B at 100" in line:
        settings["pair_units"] = (PairUnit(0, 1, 100),)
    return settings


def hands_of(text):
    """Return each player's rows, natural kind or None, and mark."""
    hands = []
    for line in re.findall(r"^[A-D]  .*$", text, re.MULTILINE):
        cards = re.findall(r"(?:[2-9TJQKA][cdhs]|\|)(?= |$)", line)
        natural = re.search(r"natural: (\w+)", line)
        mark = next((mark for mark in ("FOULED", "SURRENDERED") if mark in line), "")
        hands.append((" ".join(cards), natural and natural.group(1), mark))
    return hands


def played(name, **changes):
    text = example(name)
    hands = hands_of(text)
    hand = Hand(*[cards for cards, _, _ in hands], **settings_of(text) | changes)
    if not hand.is_over:
        hand.lock_all()
    while not hand.is_over:
        seat = hand.live.deal.seats[hand.live.asked]
        hand.surrender(seat) if hands[seat][2] == "SURRENDERED" else hand.play(seat)
    return hand


def line_of(hand, a, b):
    return next(line for line in hand.live.lines if {line.a, line.b} == {a, b})


@pytest.mark.parametrize("name", NUMBERS)
def test_a_worked_example_gives_its_numbers(name):
    """Every pair with its parts, and the totals, as the page has them."""
    text, hand = example(name), played(name)

    pairs = re.findall(
        r"^([A-D])-([A-D]): (.*?) *=> ([+-]?\d+) units.*? x (\d+) = ([+-]?\d+) chips$", text, re.MULTILINE
    )
    assert len(pairs) == len(hand.live.lines)
    for a, b, parts, units, stake, chips in pairs:
        line = line_of(hand, ord(a) - ord("A"), ord(b) - ord("A"))
        assert line.a < line.b  # with the last seat as dealer
        assert (line.units, line.chips) == (int(units), int(chips))
        assert line.units * int(stake) == line.chips
        rows = re.search(r"rows ([+=-]{3})", parts)
        found = None if line.rows is None else [line.rows.front, line.rows.middle, line.rows.back]
        assert found == (rows and [SIGN[sign] for sign in rows.group(1)])
        for word, part in (
            ("overall", line.overall),
            ("scoop bonus", line.scoop),
            ("royalties", line.royalty),
            ("surrender", line.other),
        ):
            named = re.search(rf"{word} ([+-]\d+)", parts)
            assert part == (int(named.group(1)) if named else 0)

    chips = re.search(r"net chips: (.*?) *\(sum 0\)", text).group(1)
    assert hand.payoffs == [int(total) for total in re.findall(r"[A-D] ([+-]?\d+)", chips)]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_worked_example_gives_its_statuses_and_royalties(name):
    """Fouls, surrenders, naturals and declared royalties are those that the page marks."""
    text, hand = example(name), played(name)
    hands = hands_of(text)

    expected = ["natural" if natural else mark.lower() or "set" for _, natural, mark in hands]
    assert hand.statuses == expected
    naturals = {event.seat: event.kind for event in hand.of_kind(NaturalShown)}
    assert naturals == {seat: natural for seat, (_, natural, _) in enumerate(hands) if natural}
    for seat, line in enumerate(re.findall(r"^[A-D]  .*$", text, re.MULTILINE)):
        declared = dict(re.findall(r"(front|middle|back) (\d+)", line))
        assert hand.royalties[seat] == tuple(int(declared.get(row, 0)) for row in ("front", "middle", "back"))


def test_the_server_sets_for_a_late_player_as_in_csx_26():
    """CSX-26, CS-28, CS-29: A runs out of time without a draft; strongest back, then strongest middle."""
    text = example("CSX-26")
    hand = Hand(*[cards for cards, _, _ in hands_of(text)], **settings_of(text))
    hand.lock(1)
    hand.expire()

    late = hand.live.plays[0].locked
    assert late.source == "server"
    assert [{hand.cards[position] for position in row} for row in late.arrangement.rows] == list(map(set, hand.rows[0]))
    hand.play_all()
    assert hand.payoffs == [20, -20]
