"""Hands written as Poker Hand Histories, and what these cannot say."""

import datetime as dt
import tomllib

import pytest

from diwan.core.hand.commands import VoidHand
from diwan.core.hand.decide import advance
from diwan.history.phh import NotCovered, PhhError, Verdict, check_hand, export_hand, read_documents, toml_text
from tests.property.naiko_hands import played_naiko
from tests.property.random_hands import Played
from tests.property.sarab_hands import played_sarab


def found_in(text):
    (document,) = read_documents(text)
    return document.fields


def played(wanted, game="holdem", limit="no_limit"):
    """The first random hand that is as wanted."""
    hands = (Played(seed, version=2, game=game, limit=limit) for seed in range(10_000))
    return next(hand for hand in hands if wanted(hand))


def test_a_hand_is_told_with_its_end_and_its_digest():
    hand = played(lambda hand: len(hand.start.seats) > 2 and hand.ended.result == "showdown")

    fields = found_in(export_hand(hand.events, hand.cards, {"table": "Lobby 7", "year": 2026}).text)

    assert fields["variant"] == "NT"
    assert sum(fields["finishing_stacks"]) == sum(fields["starting_stacks"])
    assert sorted(fields["winnings"]) == sorted(hand.ended.won)
    assert (fields["table"], fields["year"], fields["hand"]) == ("Lobby 7", 2026, hand.start.hand_no)
    assert fields["_digest"] == hand.ended.digest.hex()
    assert fields["_hand_id"] == hand.start.hand_id
    assert check_hand(fields).verdict is Verdict.AGREES


def test_players_begin_left_of_the_button():
    hand = played(lambda hand: len(hand.start.seats) > 3 and hand.start.button in {2, 3, 4})

    seats = found_in(export_hand(hand.events, hand.cards).text)["seats"]

    left_of_button = [seat for seat in seats if seat - 1 > hand.start.button]
    assert seats == left_of_button + sorted(set(seats) - set(left_of_button))


def test_cards_that_were_not_shown_stay_hidden():
    hand = played(lambda hand: hand.ended.result == "uncontested")

    made = export_hand(hand.events, {})

    assert all(action.endswith("????") for action in found_in(made.text)["actions"] if action.startswith("d dh"))
    assert "cards that were not shown" in made.cannot_say


def test_an_all_in_is_turned_up_once_and_before_the_board():
    """HD-19 with ``show_all_in: at_once``: the events show it twice, once without its strength."""
    hand = played(lambda hand: hand.start.settings.show_all_in == "at_once" and not hand.last.actor + 1
                  and sum(type(event).__name__ == "CardsShown" for event in hand.events) == 4)  # fmt: skip

    actions = found_in(export_hand(hand.events, hand.cards).text)["actions"]

    assert sum(" sm " in action for action in actions) == 2
    assert check_hand(found_in(export_hand(hand.events, hand.cards).text)).verdict is Verdict.AGREES


def test_a_decision_by_the_clock_is_a_comment():
    hand = played(lambda hand: any(getattr(event, "decided_by", "") == "clock" for event in hand.events))

    assert "# decided by the clock" in export_hand(hand.events, hand.cards).text


def test_dead_blinds_are_written_as_antes_and_said_to_be():
    hand = played(lambda hand: any(due.kind == "dead_blind" for due in hand.start.dues))

    made = export_hand(hand.events, hand.cards)

    assert "which of the antes were dead blinds of players who came back" in made.cannot_say


@pytest.mark.parametrize(("hand", "name"), [
    (Played(1, limit="pot_limit"), "pot-limit holdem"),
    (played_naiko(1), "naiko"),
    (played_sarab(1), "sarab"),
])  # fmt: skip
def test_games_without_a_code_are_not_covered(hand, name):
    with pytest.raises(NotCovered, match=name):
        export_hand(hand.events, hand.cards)


def test_void_and_running_hands_have_no_history():
    hand = played(lambda hand: len(hand.batches) > 3)
    running = [event for batch in hand.batches[:2] for event in batch]
    voided, _ = advance(hand.states[2], VoidHand("operator", 99, hand.start.now_ms), hand.cards)

    with pytest.raises(PhhError, match="not over"):
        export_hand(running, hand.cards)
    with pytest.raises(NotCovered, match="void"):
        export_hand([*running, *voided], hand.cards)


def test_texts_are_read_back_as_they_were():
    """Whatever a name holds: quotes, line ends, Arabic, DEL."""
    fields = {
        "players": ["a'b\"c\\", "سراب\n\t\x00\x7f", ""],
        "seats": [1, 2],
        "flag": True,
        "time": dt.time(1, 2, 3),
        "two words": "x",
    }

    assert tomllib.loads(toml_text(fields)) == fields


def test_what_histories_do_not_hold_is_refused():
    with pytest.raises(TypeError):
        toml_text({"x": {"y": 1}})
