"""Poker Hand Histories through the rules: they agree, differ, or are not covered."""

import pytest

from diwan.history.phh import PhhError, Verdict, check_hand, read_documents, read_hand
from tests.unit.phh.histories import HEADS_UP, OMAHA, SHOWDOWN, with_field


def check(text):
    (document,) = read_documents(text)
    return check_hand(document.fields)


@pytest.mark.parametrize("text", [SHOWDOWN, HEADS_UP, OMAHA])
def test_a_history_that_tells_what_the_rules_make_agrees(text):
    assert check(text).verdict is Verdict.AGREES, check(text)


@pytest.mark.parametrize("stacks", ["[237, 198, 64]", "[238, 198, 65]", "[64, 198, 238]", "[238, 198, 64.5]"])
def test_a_history_with_other_stacks_differs_and_says_where(stacks):
    found = check(with_field(SHOWDOWN, "finishing_stacks", stacks))

    assert found.verdict is Verdict.DIFFERS
    assert found.where.startswith("finishing_stacks of p")
    assert found.expected == stacks
    assert found.found == "[238, 198, 64]"


@pytest.mark.parametrize(("old", "new", "where", "what"), [
    ("'p1 cbr 20'", "'p1 cbr 1'", "action 15, 'p1 cbr 1'", "AMOUNT_TOO_SMALL"),
    ("'p1 cbr 20'", "'p1 cbr 200'", "action 15, 'p1 cbr 200'", "AMOUNT_OVER_STACK"),
    ("'p3 cbr 6'", "'p1 cbr 6'", "action 4, 'p1 cbr 6'", "turn of p3"),
    ("'p2 f',", "", "action 6, 'd db 2s9sTh'", "not due yet"),
    ("'d db 3d', ", "", "action 11, 'p1 cc'", "cards of the turn"),
    ("'p1 cbr 20', 'p3 cc',", "'p1 cbr 20',", "after the last action", "p3 is still to act"),
    ("'p1 sm AsKs'", "'p1 cbr 40'", "action 17, 'p1 cbr 40'", "is over"),
])  # fmt: skip
def test_what_the_rules_refuse_differs_at_its_action(old, new, where, what):
    """HD-6, HD-12, HD-15: an action that is none ends the comparison."""
    assert old in SHOWDOWN

    found = check(SHOWDOWN.replace(old, new))

    assert found.verdict is Verdict.DIFFERS
    assert found.where == where
    assert what in found.what


def test_pot_limit_is_kept_in_omaha():
    """OM-3: after blinds of 0.5 and 1 the highest raise is to 3."""
    found = check(OMAHA.replace("'p2 cbr 3'", "'p2 cbr 3.5'"))

    assert found.verdict is Verdict.DIFFERS
    assert "AMOUNT_TOO_LARGE" in found.what


def test_heads_up_blinds_and_antes_stand_the_other_way_round():
    """HD-4: the button has the small blind, although the history lists the small blind of p1."""
    (document,) = read_documents(HEADS_UP)

    hand = read_hand(document.fields)

    assert hand.blinds == (10, 5)
    assert hand.antes == (1, 0)


def test_fractions_of_chips_are_multiplied_until_all_are_whole():
    (document,) = read_documents(OMAHA)

    hand = read_hand(document.fields)

    assert hand.scale == 4
    assert hand.stacks == (161, 122)
    assert [action.to for action in hand.actions if action.word == "to"] == [12, 36, 72, 86]


@pytest.mark.parametrize("variant", ["FT", "FO/8", "F7S", "FB", "NS", "something else"])
def test_other_games_are_not_covered(variant):
    assert check(with_field(SHOWDOWN, "variant", f"'{variant}'")).verdict is Verdict.NOT_COVERED


def test_a_mucked_hand_that_nobody_saw_lost():
    """A showing of unknown cards, or none, is a muck; the pot went to who showed."""
    for muck in ("p3 sm", "p3 sm ????"):
        text = SHOWDOWN.replace("d dh p3 QcQd", "d dh p3 ????").replace("'p3 sm'", f"'{muck}'")

        assert check(text).verdict is Verdict.AGREES


def test_hidden_cards_that_must_have_won_are_not_covered():
    text = SHOWDOWN.replace("AsKs", "????").replace("QcQd", "????")

    assert check(text).verdict is Verdict.NOT_COVERED


def test_a_winner_who_mucked_is_not_covered_since_all_hands_are_shown_here():
    """HD-19."""
    text = SHOWDOWN.replace("'p1 sm AsKs', 'p3 sm'", "'p1 sm', 'p3 sm QcQd'")

    assert check(with_field(text, "finishing_stacks", "[164, 198, 138]")).verdict is Verdict.NOT_COVERED


def test_cards_that_are_told_at_the_showdown_only_count():
    text = SHOWDOWN.replace("d dh p1 AsKs", "d dh p1 ????")

    assert check(text).verdict is Verdict.AGREES


def test_straddles_and_posts_out_of_place_are_played():
    """The largest blind that is no post sets who begins; a negative one is a post of a player who comes in."""
    text = """
variant = 'NT'
antes = [0, 0, 0, 0, 0]
blinds_or_straddles = [1, 2, 4, 0, -2]
min_bet = 2
starting_stacks = [100, 100, 100, 100, 100]
actions = ['p4 f', 'p5 cc', 'p1 f', 'p2 f', 'p3 cbr 12', 'p5 f']
winnings = [0, 0, 11, 0, 0]
"""

    assert check(text).verdict is Verdict.AGREES


@pytest.mark.parametrize(("winnings", "verdict"), [
    ("[74, 0, 0]", Verdict.AGREES),  # all that was in the pot
    ("[70.5, 0, 0]", Verdict.AGREES),  # less a rake
    ("[60, 0, 0]", Verdict.DIFFERS),  # more than a tenth is no rake
    ("[75, 0, 0]", Verdict.DIFFERS),
    ("[0, 0, 74]", Verdict.DIFFERS),
    ("[37, 0, 37]", Verdict.DIFFERS),
])  # fmt: skip
def test_winnings_name_the_winners_and_may_lack_a_rake(winnings, verdict):
    """HD-18: what came back is no win."""
    found = check(with_field(with_field(SHOWDOWN, "finishing_stacks", None), "winnings", winnings))

    assert found.verdict is verdict, found


def test_odd_chips_of_a_divided_pot_are_whole_chips_here():
    """B4: a history that divides into halves is counted in halves; ours has the same then."""
    text = SHOWDOWN.replace("AsKs", "AsKd").replace("QcQd", "AcKh").replace("[200, 200, 100]", "[200, 200, 101]")
    text = text.replace("'p3 sm'", "'p3 sm AcKh'").replace("2s9sTh", "2d9sTh").replace("[1, 2, 0]", "[1, 3, 0]")

    assert check(with_field(text, "finishing_stacks", "[201.5, 197, 102.5]")).verdict is Verdict.AGREES
    assert check(with_field(text, "finishing_stacks", "[202, 197, 102]")).verdict is Verdict.AGREES
    assert check(with_field(text, "finishing_stacks", "[201, 197, 103]")).verdict is Verdict.DIFFERS


@pytest.mark.parametrize(("name", "value"), [
    ("starting_stacks", "[200, 200]"),
    ("starting_stacks", "[200, 0, 100]"),
    ("starting_stacks", "[200, true, 100]"),
    ("starting_stacks", "'200'"),
    ("antes", "[0, 0]"),
    ("min_bet", "'much'"),
    ("min_bet", "nan"),
    ("min_bet", "0"),
    ("actions", "['p9 f']"),
    ("actions", "['p1 xx']"),
    ("actions", "['d dh p1 As1s']"),
    ("actions", "['d dh p1 AsAs']"),
    ("actions", "['d dh p1 AsKsQs']"),
    ("actions", "['d dh p1 AsKs', 'p1 sm QsJs']"),
    ("actions", "[7]"),
    ("players", "['Amal']"),
    ("variant", "7"),
])  # fmt: skip
def test_what_is_no_history_differs_and_says_why(name, value):
    found = check(with_field(SHOWDOWN, name, value))

    assert found.verdict is Verdict.DIFFERS
    assert found.what or found.where


@pytest.mark.parametrize("text", ["", "x = 1", "variant = ", "[1]\nvariant = 'NT'\n[1]\n"])
def test_a_text_without_hands_is_refused(text):
    with pytest.raises(PhhError):
        read_documents(text)


def test_a_file_of_many_hands_keeps_their_labels():
    documents = read_documents(f"[1]{SHOWDOWN}\n[two]{OMAHA}")

    assert [document.label for document in documents] == ["1", "two"]
    assert [check_hand(document.fields).verdict for document in documents] == [Verdict.AGREES] * 2


def test_two_boards_and_stacks_without_end_are_not_covered():
    twice = SHOWDOWN.replace("'d db 4s'", "'d db 4s', 'd db 5s'")

    assert check(twice).verdict is Verdict.NOT_COVERED
    assert check(with_field(SHOWDOWN, "starting_stacks", "[inf, 200, 100]")).verdict is Verdict.NOT_COVERED
