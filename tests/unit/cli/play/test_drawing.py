"""Tables of games with betting, drawn: everything that a player needs, in both languages, also without colour."""

import pytest
from rich.console import Console

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import lobby_pb2, view_pb2
from diwan.cli.play.commands import Act
from diwan.cli.play.drawing import question_lines, table_lines
from diwan.cli.play.look import card_boxes, columns, width
from diwan.cli.play.parsing import parse
from diwan.cli.play.terms import terms_lines
from diwan.cli.play.words import Words, without_marks
from diwan.core.cards import parse_cards
from tests.unit.cli.play.views import FACING_BET, NOW, OPEN, decision, look, own, plain, scene, seat


def test_a_table_shows_seats_stacks_button_bets_board_pot_and_own_cards():
    drawn = plain(table_lines(scene(board="Ah 7d 2c", decision=decision(**FACING_BET)), look()))

    assert drawn.splitlines() == [
        "== Hold'em · 5/10 · hand 12 · flop · pot 140 ==",
        "   board: A♥ 7♦ 2♣",
        ">  0  you                      960  in 20",
        "   2  rami-01 (BOT)  (button)  900  in 40",
        "   4  layla                      0         folded",
        "   your cards: A♠ K♦",
    ]


def test_without_symbols_suits_are_letters():
    assert "Ah 7d 2c" in plain(table_lines(scene(board="Ah 7d 2c"), look(has_symbols=False)))


def test_side_pots_say_who_can_win_them():
    pots = [view_pb2.PotView(amount=100, eligible=[0, 2, 4]), view_pb2.PotView(amount=40, eligible=[0, 2])]
    assert "main pot 100 · side pot 40 (seats 0, 2)" in plain(table_lines(scene(board="Ah 7d 2c", pots=pots), look()))


def test_in_a_terminal_cards_are_boxes_and_suits_differ_by_symbol_and_by_colour():
    boxes = card_boxes(parse_cards("As Kd"), look(is_drawn=True))
    assert [str(line) for line in boxes] == ["┌──┐┌──┐", "│A♠││K♦│", "└──┘└──┘"]
    console = Console(force_terminal=True, color_system="standard", width=40)
    with console.capture() as coloured:
        console.print(boxes[1])
    assert "\x1b[" in coloured.get()


def test_who_decides_sees_time_time_bank_choices_and_amounts():
    asked = plain(question_lines(scene(decision=decision(**FACING_BET)), look()))

    assert asked.splitlines() == [
        "Your turn. 20 s, then your time bank of 30 s.",
        "   f  fold     c  call 20     r N  raise to 80 up to 980     p  raise by the pot: 240     a  all-in     ?  help",
    ]


@pytest.mark.parametrize(
    ("said", "shown", "hidden"),
    [
        (OPEN, "b N  bet 10 to 980", "call"),
        ({"can_check": True}, "x  check", "all-in"),
        ({"can_call": True, "call_amount": 5}, "c  call 5", "raise"),
        (FACING_BET | {"min_to": 980}, "r 980  raise 980", "up to"),
    ],
)
def test_only_what_is_legal_is_offered(said, shown, hidden):
    asked = plain(question_lines(scene(decision=decision(**said)), look()))
    assert shown in asked
    assert hidden not in asked


def test_a_running_time_bank_is_told():
    asked = plain(question_lines(scene(decision=decision(is_time_bank_running=True, **OPEN)), look()))
    assert asked.startswith("Your turn. Your time bank runs: 20 s.")


def test_nobody_else_is_asked():
    assert question_lines(scene(decision=decision(seat=2, **OPEN)), look()) == []


def test_between_hands_there_is_no_street_and_no_pot():
    over = scene(board="Ah 7d 2c 3c 4c", street=hand_pb2.STREET_OVER, pot=0)
    assert plain(table_lines(over, look())).splitlines()[0] == "== Hold'em · 5/10 · hand 12 =="


def test_cards_that_others_have_shown_stand_at_their_seats():
    seats = (seat(0, "amal", 1), seat(2, "rami", 2, shown_cards=parse_cards("Qs Qh")))
    assert "Q♠ Q♥" in plain(table_lines(scene(seats=seats), look()))


# ---- Sarab -----------------------------------------------------------------------------------------------------------


def sarab_scene(own_stack=45, **sarab):
    told = {"forced_bet": 20, "next_forced_bet": 20, "deals_to_next_step": 2, "deal_no": 3} | sarab
    coins = {"coins": table_pb2.Coins(dirhams=0, stones=4), "coins_rest": 5}
    seats = (seat(0, "amal", own_stack, **coins), seat(2, "rami", 900))
    said = decision(can_fold=own_stack > 50, can_sarab=True, **OPEN)
    found = scene("sarab", seats=seats, decision=said, sarab=view_pb2.SarabView(**told))
    found.table.config.hand.sarab.no_fold_at_or_below = 50
    return found


@pytest.mark.parametrize(
    ("sarab", "line"),
    [
        ({}, "Forced bet 20, for 2 more deals, this one included; then it rises"),
        ({"deals_to_next_step": 1, "next_forced_bet": 30}, "Forced bet 20; it is 30 from the next deal on"),
        ({"deals_to_next_step": 0}, "Forced bet 20; it stays"),
        ({"carried": 60}, "60 carried over from void hands lie in the pot"),
    ],
)
def test_sarab_tells_its_level(sarab, line):
    """SB-28, A6."""
    assert line in plain(table_lines(sarab_scene(**sarab), look("sarab")))


def test_sarab_tells_of_the_50_flag_the_void_hand_and_coins():
    """SB-26, SB-23, SB-39: 45 are four stones and a rest."""
    found = sarab_scene(is_void_unless_bet=True, cannot_fold=[0])
    asked = plain(question_lines(found, look("sarab")))

    assert "If nobody has bet by the end of the turn (the fourth board card), this hand is void." in asked
    assert "With 50 or less in front of you, you may not fold." in asked
    assert "Your 45 in coins: stones (10): 4, rest 5" in asked
    assert "a  sarab" in asked
    assert "f  fold" not in asked
    assert "no fold" in plain(table_lines(found, look("sarab")))


def test_a_match_that_waits_says_for_how_many():
    """SB-38: it begins with its last seat."""
    found = sarab_scene()
    found.table.config.seats = 4
    found.table.match.is_started = False
    assert "The match begins when every seat is taken: 2 free." in plain(table_lines(found, look("sarab")))


def test_with_more_than_50_nothing_is_said_of_it():
    assert "may not fold" not in plain(question_lines(sarab_scene(own_stack=51), look("sarab")))


# ---- Naiko -----------------------------------------------------------------------------------------------------------


def naiko(**said):
    return view_pb2.NaikoView(
        carousel=["hidden_glance", "short_anchor", "seal_shield"],
        activations_left=2,
        seats=[
            view_pb2.SeatPowers(seat=0, destellos=2),
            view_pb2.SeatPowers(seat=2, destellos=1, is_anchored=True),
        ],
        **said,
    )


@pytest.mark.parametrize(
    ("said", "is_offered"),
    [
        ({"can_raise": True, "min_to": 80, "max_to": 980}, True),
        ({"can_raise": True, "min_to": 80, "max_to": 240}, False),
        ({"can_call": True, "call_amount": 20, "can_raise": True, "min_to": 80, "max_to": 240}, False),
        ({"can_call": True, "call_amount": 960}, True),
        ({"can_check": True}, False),
        ({"can_check": True, "can_sarab": True}, True),
    ],
)
def test_all_in_is_offered_only_where_all_chips_can_go_in(said, is_offered):
    """HD-16: pot-limit may forbid it; 960 are in front of us and 20 are in already."""
    asked = plain(question_lines(scene(decision=decision(**said)), look()))
    answer = parse("a", scene(decision=decision(**said)), look().words)

    assert ("a  all-in" in asked) is is_offered
    assert (answer == Act("all_in")) is is_offered


OFFERS = [
    view_pb2.PowerOffer(power="hidden_glance", seat=0, cost=1),
    view_pb2.PowerOffer(power="short_anchor", seat=0, cost=2, targets=[2, 4]),
    view_pb2.PowerOffer(power="seal_shield", seat=0, cost=1, why_not="NO_RESPONSE_WINDOW"),
]


def test_naiko_shows_every_power_with_key_cost_targets_or_why_not():
    """NK-40 and C5: the shield answers only; the table has two activations left."""
    asked = plain(question_lines(scene("naiko", decision=decision(**OPEN), naiko=naiko(powers=OFFERS)), look("naiko")))

    assert "Your destellos: 2; the table may use 2 more powers" in asked
    glance, anchor, shield = [line.split("  ") for line in asked.splitlines() if line.startswith("      ")]
    assert [part.strip() for part in glance if part.strip()][:4] == [
        "g",
        "Hidden Glance",
        "1",
        "see the next card of the deck",
    ]
    assert [part.strip() for part in anchor if part.strip()][:4] == [
        "n SEAT",
        "Short Anchor",
        "2",
        "hold a seat's raises to the pot; SEAT: 2, 4",
    ]
    assert "not now: only when an Anchor is aimed at you" in [part.strip() for part in shield]


def test_naiko_marks_who_is_anchored_and_shows_the_glanced_card():
    glanced = own(glanced=hand_pb2.Reveal(position=20, card=parse_cards("7c")[0]))
    drawn = plain(table_lines(scene("naiko", private=glanced, naiko=naiko()), look("naiko")))

    assert "anchored, destellos: 1" in drawn
    assert "You saw the next card of the deck: 7♣" in drawn


def test_the_target_of_an_anchor_is_asked_for_its_eight_seconds():
    """C9: nobody else's clock runs."""
    window = view_pb2.ResponseWindow(seat=0, declared_by=2, turn=9, deadline_ms=NOW + 8_000)
    offers = [view_pb2.PowerOffer(power="seal_shield", seat=0, cost=1)]
    asked = plain(question_lines(scene("naiko", naiko=naiko(window=window, powers=offers)), look("naiko")))

    assert "rami-01 (BOT): Short Anchor at you. 8 s to answer" in asked
    assert "s  answer with the Seal Shield, price 1     p  let it pass" in asked


def test_without_the_means_for_a_shield_only_a_pass_is_offered():
    window = view_pb2.ResponseWindow(seat=0, declared_by=2, turn=9, deadline_ms=NOW + 8_000)
    offers = [view_pb2.PowerOffer(power="seal_shield", seat=0, cost=1, why_not="NOT_ENOUGH_DESTELLOS")]
    asked = plain(question_lines(scene("naiko", naiko=naiko(window=window, powers=offers)), look("naiko")))
    assert "shield" not in asked.lower()


# ---- Arabic ----------------------------------------------------------------------------------------------------------


def test_arabic_lines_begin_at_the_right_and_cards_stay_left_to_right():
    drawn = table_lines(scene(board="Ah 7d 2c", decision=decision(**FACING_BET)), look(language="ar"))

    assert all(str(line).startswith("\u200f") for line in drawn)
    assert "\u2066A♥ 7♦ 2♣\u2069" in plain(drawn)
    assert "الفلوب" in plain(drawn)
    assert without_marks(plain(drawn)).splitlines()[0] == "== هولدم · 5/10 · اليد 12 · الفلوب · الوعاء 140 =="


def test_sarab_has_its_own_words():
    drawn = without_marks(plain(table_lines(sarab_scene(), look("sarab", "ar"))))
    assert drawn.splitlines()[0] == "== سراب · اليد 12 · الكشف · الغنيمة 140 =="
    assert "(الموزّع)" in drawn
    assert "المراهنة" in plain(question_lines(sarab_scene(), look("sarab", "ar")))


def test_columns_are_straight_by_what_is_seen_not_by_letters():
    words = Words("ar", "holdem")
    lines = columns([["أنت", words.piece(5)], ["محمد علي", words.piece(1000)]], aligned_right=(1,))
    assert len({width(line) for line in lines}) == 1


# ---- Conditions --------------------------------------------------------------------------------------------------------


def test_conditions_say_what_matters_before_sitting_down():
    clocks = lobby_pb2.TableClocks(decision_seconds=20, time_bank_seconds=30)
    terms = lobby_pb2.TableConditions(
        game="holdem", limit="pot_limit", small_blind=5, big_blind=10, seats=6, buy_in_min=200, buy_in_max=1000,
        clocks=clocks, has_bots=True,
    )  # fmt: skip
    assert terms_lines(terms, Words("en", "holdem")) == [
        "Conditions: Hold'em, pot-limit, blinds 5/10, buy-in 200 to 1,000, 6 seats, bots may sit here",
        "   20 s a decision, time bank 30 s",
    ]


def test_conditions_of_a_match_name_entry_prizes_and_coins():
    terms = lobby_pb2.TableConditions(
        game="sarab", ladder=[lobby_pb2.ForcedBetLevel(forced_bet=bet, deals=2) for bet in (10, 20)], seats=4,
        chips=table_pb2.CHIP_SOURCE_MATCH, entry_fee=50, prizes=[70, 30], starting_stack=1000,
    )  # fmt: skip
    line = terms_lines(terms, Words("en", "sarab"))[0]
    assert (
        "forced bets rising 10 20, 1,000 in coins for everybody, entry 50, prizes in % of the entries: 70/30, 4 seats"
        in line
    )


def test_a_tournaments_table_is_headed_by_its_level_and_not_by_its_settings():
    found = scene()
    found.table.tournament.level.small_blind, found.table.tournament.level.big_blind = 500, 1000
    assert "== Hold'em · 500/1,000 · hand 12" in plain(table_lines(found, look()))

    found.table.hand.Clear()
    assert plain(table_lines(found, look())).startswith("== Hold'em ==")
