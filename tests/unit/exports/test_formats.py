"""One hand in two formats, beside files that were checked line by line by a person's arithmetic; what the formats refuse; what they name as unsaid."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from diwan.core.hand.events import BoardDealt, CardsShown
from diwan.history.exports import native, ohh, ohh_read, pokerstars, pokerstars_read, rows
from diwan.history.exports.record import Act, NotWritable, Post, poker_hand
from diwan.history.phh import CANNOT_SAY
from tests.golden.record import HERE
from tests.golden.stored import golden_hand
from tests.property.random_hands import Played
from tests.unit.exports.hands import ABOUT, played

GOLDEN = HERE / "exports"


def shown(log, cards):
    return {at: cards[at] for e in log if isinstance(e, CardsShown | BoardDealt) for at in e.positions}


@pytest.fixture
def hand():
    log, cards = played()
    return poker_hand(log, shown(log, cards), ABOUT)


def test_the_text_is_the_one_that_was_checked_by_hand(hand):
    assert pokerstars.write(hand) == (GOLDEN / "side_pot.txt").read_text()


def test_the_json_is_the_one_that_was_checked_by_hand(hand):
    text = ohh.write(hand)
    assert json.loads(text) == json.loads((GOLDEN / "side_pot.ohh").read_text())
    assert text.endswith("}\n\n"), "a blank line ends a hand, so that files can be put together"
    assert text.isascii()


def test_files_of_several_hands_are_read_hand_by_hand(hand):
    other = poker_hand(*_uncontested(), ABOUT)
    text = pokerstars.write(hand) + "\n\n" + pokerstars.write(other) + "\n\n"
    assert list(pokerstars_read.read_many(text)) == [pokerstars_read.told(hand), pokerstars_read.told(other)]
    assert list(ohh_read.read_many(ohh.write(hand) + ohh.write(other))) == [ohh_read.told(hand), ohh_read.told(other)]


def _uncontested():
    hand = next(one for one in map(Played, range(100)) if one.ended.result == "uncontested")
    return hand.events, shown(hand.events, hand.cards)


def test_an_own_hand_names_its_hero_and_an_observed_one_says_so(hand):
    log, cards = played()
    own = shown(log, cards) | {at: cards[at] for at in (0, 4)}  # of the small blind, who folded
    mine = poker_hand(log, own, ABOUT, heroes=(5,))
    assert "Dealt to zaid___x_ [7d 2c]" in pokerstars.write(mine)
    assert "Dealt to" not in pokerstars.write(hand)
    made = json.loads(ohh.write(mine))["ohh"]
    assert made["hero_player_id"] == next(one["id"] for one in made["players"] if one["name"] == "zaid: [x]")
    assert made["flags"] == []
    made = json.loads(ohh.write(hand))["ohh"]
    assert (made["hero_player_id"], made["flags"]) == (None, ["Observed"])


def test_a_tournaments_hand_says_so():
    log, cards = played()
    tournament = golden_tournament(log[0])
    hand = poker_hand([tournament, *log[1:]], shown(log, cards), ABOUT)
    text = pokerstars.write(hand)
    assert "Tournament #" in text.split("\n")[0]
    assert "Level IV (10/20)" in text
    assert pokerstars_read.read(text) == pokerstars_read.told(hand)
    made = json.loads(ohh.write(hand))["ohh"]
    assert made["tournament"] is True
    assert made["tournament_info"]["tournament_number"] == TOURNAMENT
    assert made["tournament_info"]["buyin_amount"] is None
    assert ohh_read.read(ohh.write(hand)) == ohh_read.told(hand)


TOURNAMENT = "4d0c9a52-7a0c-4e6e-8b57-0f60c2b1c001"


def golden_tournament(started):
    from diwan.core.hand.events import TournamentDeal

    return replace(started, tournament=TournamentDeal(TOURNAMENT, 4))


@pytest.mark.parametrize("name", [path.stem for path in sorted((HERE / "hands").glob("*.json"))])
def test_every_recorded_hand_goes_round_or_is_refused_with_a_reason(name):
    one = golden_hand(name)
    cards = {int(at): card for at, card in one.cards.items()}
    log = [replace(event, hand_id=ABOUT.table_id) if hasattr(event, "hand_id") else event for event in one.events]
    hand = poker_hand(log, cards, ABOUT)
    for writer, reader in ((pokerstars, pokerstars_read), (ohh, ohh_read)):
        if hand.game not in {"holdem", "omaha"}:
            with pytest.raises(NotWritable, match=hand.game):
                writer.write(hand)
        elif writer is ohh and hand.result == "void":
            with pytest.raises(NotWritable, match="void"):
                writer.write(hand)
        else:
            assert reader.read(writer.write(hand)) == reader.told(hand)


def test_a_cancelled_hand_is_told_as_cancelled():
    one = golden_hand("v2_interrupted")
    log = [replace(event, hand_id=ABOUT.table_id) if hasattr(event, "hand_id") else event for event in one.events]
    text = pokerstars.write(poker_hand(log, {int(at): card for at, card in one.cards.items()}, ABOUT))
    assert "\n*** SUMMARY ***\nHand cancelled\nTotal pot 0 | Rake 0\n" in text
    assert pokerstars_read.read(text).result == "void"


def test_a_hand_that_is_not_over_is_no_file():
    log, cards = played()
    for events in ([], log[:-1], log[1:]):
        with pytest.raises(NotWritable):
            poker_hand(events, cards, ABOUT)


NAMES = (
    "a: b",
    "a_ b",
    "a__b",
    "",
    "Seat 1: x (5 in chips)",
    "*** SUMMARY ***",
    "دينا",
    "x\ny",
    "z" * 200,
    "collected 5 from pot",
)


def test_names_that_would_be_taken_for_lines_are_made_harmless_and_stay_different():
    log, cards = played()
    for at in range(len(NAMES) - 3):
        seats = tuple(replace(s, player=name) for s, name in zip(log[0].seats, NAMES[at:], strict=False))
        hand = poker_hand(
            [replace(log[0], seats=seats), *log[1:]], shown(log, cards), replace(ABOUT, table_name="it's")
        )
        found = pokerstars_read.read(pokerstars.write(hand))
        assert found == pokerstars_read.told(hand)
        assert len({seat.player for seat in found.seats}) == 4
        assert ohh_read.read(ohh.write(hand)) == ohh_read.told(hand)


def test_the_number_of_a_hand_follows_from_its_id_and_fits_what_trackers_take():
    assert pokerstars.number_of("ffffffff-ffff-ffff-ffff-ffffffffffff") == 2**63 - 1
    assert pokerstars.number_of("00000000-0000-0000-0000-000000000000") == 0
    assert pokerstars.number_of("") == 0


def test_what_others_write_is_read_also_with_fields_that_we_do_not_know(hand):
    made = json.loads(ohh.write(hand))
    made["_profits"] = {"0": 5}
    made["ohh"]["table_skin"] = "blue"
    made["ohh"]["rounds"][0]["cards"] = ""
    assert ohh_read.read(json.dumps(made)) == ohh_read.told(hand)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("game_type",), "Stud"),
        (("bet_limit", "bet_type"), "FL"),
        (("small_blind_amount",), 0.5),
        (("players", 0, "seat"), 10),
        (("players", 0, "seat"), 3),
        (("players", 0, "starting_stack"), -1),
        (("players", 0, "starting_stack"), 1e300),
        (("rounds", 0, "actions", 2, "player_id"), 77),
        (("rounds", 0, "actions", 2, "action"), "Cashes Out"),
        (("rounds", 1, "street"), "Third Street"),
        (("rounds", 1, "cards"), ["As"]),
        (("rounds", 1, "cards"), ["As", "Ah", "1c"]),
        (("start_date_utc",), "yesterday"),
        (("pots", 0, "player_wins", 0, "player_id"), 9),
    ],
)
def test_what_is_not_played_here_is_refused(hand, path, value):
    made = json.loads(ohh.write(hand))
    at = made["ohh"]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises(ohh_read.OhhError):
        ohh_read.read(json.dumps(made))


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("zaid___x_: folds", "nobody: folds"),
        ("zaid___x_: folds", "zaid___x_: sings"),
        ("Total pot 2110", "Total pot 2111"),
        ("*** FLOP *** [2d 7c Kh]", "*** FLOP *** [2d 7c]"),
        ("*** SUMMARY ***", "*** SUMMERY ***"),
        ("Seat 3: bot_rami", "Seat 1: bot_rami"),
        ("(three of a kind)", "(four of a kind and a half)"),
        ("2026/01/02", "2026/13/02"),
        ("PokerStars Hand", "PokerMoons Hand"),
    ],
)
def test_a_text_that_is_wrong_says_in_which_line(hand, line, instead):
    with pytest.raises(pokerstars_read.TextError):
        pokerstars_read.read(pokerstars.write(hand).replace(line, instead))


def test_every_format_says_what_it_cannot_say():
    for limits in (ohh.LIMITS, pokerstars.LIMITS, rows.LIMITS, native.LIMITS, CANNOT_SAY):
        assert limits
        assert all((text and text[0].islower()) or text[0].isalpha() for text in limits)


def test_the_records_have_a_schema_that_others_can_check_with():
    """JSON Schema of what we write; the format has published none."""
    from diwan.history.exports.ohh_format import File

    schema = msgspec.json.schema(File)
    assert {"ohh"} <= set(schema["$defs"]["File"]["required"])


def test_lines_of_a_record_sum_up(hand):
    put_in = sum(line.added for line in hand.lines if isinstance(line, Act))
    put_in += sum(line.amount for line in hand.lines if isinstance(line, Post))
    assert put_in == sum(pot.amount for pot in hand.pots) + 200
    assert hand.won == {1: 1200, 3: 910}
