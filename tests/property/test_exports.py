"""What goes out comes in again: PokerStars-style text and Open Hand History by our readers, by PokerKit and by the rules."""

import contextlib
import datetime as dt
import random  # noqa: TID251  (tests may use chance)
import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pokerkit import HandHistory

from diwan.core.cards import format_card
from diwan.history.exports import ohh, ohh_read, pokerstars, pokerstars_read
from diwan.history.exports.times import iso, milliseconds, moment
from diwan.history.phh import Verdict, check_hand
from tests.property import exported
from tests.property.random_hands import Played, seeds
from tests.property.test_phh import is_for_pokerkit

pytestmark = pytest.mark.timeout(3600)
FORMATS = ((pokerstars, pokerstars_read), (ohh, ohh_read))
LENSES = st.sampled_from([exported.public, exported.own, exported.opened])
CARD = re.compile(r"\b[2-9TJQKA][cdhs]\b")


def goes_round(seed, game, lens):
    hand = lens(Played(seed, game=game))
    for writer, reader in FORMATS:
        assert reader.read(writer.write(hand)) == reader.told(hand)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, lens=LENSES)
def test_hands_of_holdem_are_read_back_as_the_format_tells_them(seed, lens):
    """No-limit and pot-limit, antes, posts out of turn, side pots, every lens."""
    goes_round(seed, "holdem", lens)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, lens=LENSES)
def test_hands_of_omaha_are_read_back_as_the_format_tells_them(seed, lens):
    goes_round(seed, "omaha", lens)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, game=st.sampled_from(["holdem", "omaha"]))
def test_what_was_read_back_comes_to_the_same_end_by_the_rules(seed, game):
    """Every act lawful, the same stacks. Beginnings are plain: what somebody owed and could not post no format tells (B1)."""
    limit = "no_limit" if game == "holdem" else "pot_limit"
    hand = exported.opened(Played(seed, start=exported.plain_start, game=game, limit=limit))
    for writer, reader in FORMATS:
        found = check_hand(exported.phh_of(reader.read(writer.write(hand))))
        assert found.verdict is Verdict.AGREES, (found, writer.write(hand))


def read_by_pokerkit(seed, lens=exported.opened):
    """PokerKit's own reader of this text: it knows hold'em at no limit, without antes. Says whether it could follow."""
    played = Played(seed, start=exported.plain_start, game="holdem", limit="no_limit", antes=False)
    if not is_for_pokerkit(played):
        return False
    text = pokerstars.write(lens(played))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns of folds that cost nothing
        (history,) = HandHistory.from_pokerstars(text, error_status=True)
        *_, last = history
    stacks = dict(zip(history.seats, last.stacks, strict=True))
    assert not last.status
    assert stacks == {
        seat.seat + 1: stack for seat, stack in zip(played.start.seats, played.ended.stacks, strict=True)
    }, text
    assert history.hand == pokerstars.number_of(played.start.hand_id)
    assert (history.year, history.month, history.day) == moment(1_700_000_000_000)[:3]
    return True


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_holdem_is_read_by_pokerkit_as_it_was_written(seed):
    read_by_pokerkit(seed)


def test_many_of_the_random_hands_are_for_pokerkit():
    """Or the comparison would be empty."""
    assert sum(read_by_pokerkit(seed) for seed in range(60)) > 20


@settings(max_examples=40, deadline=None)
@given(seed=seeds, game=st.sampled_from(["holdem", "omaha"]), lens=LENSES)
def test_no_card_stands_in_a_text_that_the_reader_may_not_know(seed, game, lens):
    """P10: mucked cards are nowhere but in an auditor's texts, own cards in the player's."""
    played = Played(seed, game=game)
    known = {
        exported.public: exported.shown_cards(played),
        exported.own: exported.own_cards(played, 0),
        exported.opened: played.cards,
    }[lens]
    for writer, _ in FORMATS:
        assert set(CARD.findall(writer.write(lens(played)))) <= set(map(format_card, known.values()))


def spoiled(chance, text):
    """A text with something wrong about it, or nothing."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                del lines[at : at + chance.randint(1, 3)]
            case 1:
                lines.insert(at, chance.choice(lines))
            case 2:
                lines[at] = "".join(chance.sample(lines[at], len(lines[at])))
            case 3:
                cut = chance.randrange(len(lines[at]) + 1)
                lines[at] = (
                    lines[at][:cut] + chance.choice("0{}[]\",:'\\é\ud800\0 99999999999999999999") + lines[at][cut + 1 :]
                )
            case 4:
                lines[at] = re.sub(r"\d+", lambda _: str(chance.choice([0, -1, 10, 10**20, 1.5])), lines[at])
            case _:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
        lines = lines or [""]
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(seed=seeds, game=st.sampled_from(["holdem", "omaha"]))
def test_whatever_is_wrong_with_a_text_is_said_and_nothing_else_happens(seed, game):
    chance = random.Random(seed)
    hand = exported.opened(Played(chance.randrange(300), game=game))
    for writer, reader, error in (
        (pokerstars, pokerstars_read, pokerstars_read.TextError),
        (ohh, ohh_read, ohh_read.OhhError),
    ):
        text = spoiled(chance, writer.write(hand))
        with contextlib.suppress(error):
            assert all(one.game in {"holdem", "omaha"} for one in reader.read_many(text))


@settings(max_examples=200, deadline=None)
@given(at_s=st.integers(0, 250_000_000_000))
def test_moments_are_those_of_the_calendar(at_s):
    """An independent calendar: the standard library's."""
    at = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=at_s)
    assert iso(at_s * 1000 + 999) == at.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    assert milliseconds(moment(at_s * 1000)) == at_s * 1000


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(seed=seeds)
def test_a_great_many_hands_go_round(seed):
    for game in ("holdem", "omaha"):
        for lens in (exported.public, exported.own, exported.opened):
            goes_round(seed, game, lens)
        test_what_was_read_back_comes_to_the_same_end_by_the_rules.hypothesis.inner_test(seed, game)
    read_by_pokerkit(seed)
    test_whatever_is_wrong_with_a_text_is_said_and_nothing_else_happens.hypothesis.inner_test(seed, "holdem")
