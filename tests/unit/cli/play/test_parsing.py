"""What a typed line means at a table with betting: a decision, or what could have been typed instead."""

import pytest

from diwan.api.table.v1 import view_pb2
from diwan.cli.play.commands import Act, Answer, Power, Reload, Simple, Unclear
from diwan.cli.play.parsing import help_lines, is_risky, number, parse
from diwan.cli.play.parsing_cards import read_cards
from diwan.cli.play.words import BETTING_GAMES, Words
from diwan.core.cards import parse_cards
from tests.unit.cli.play.views import FACING_BET, NOW, OPEN, decision, scene

BET, FREE = scene(decision=decision(**FACING_BET)), scene(decision=decision(**OPEN))
IDLE = scene()


def read(line, at=BET, game="holdem", language="en"):
    return parse(line, at, Words(language, game))


@pytest.mark.parametrize(
    ("line", "at", "meant"),
    [
        ("f", BET, Act("fold")), ("FOLD", BET, Act("fold")), ("c", BET, Act("call")), ("x", FREE, Act("check")),
        ("r 80", BET, Act("raise", 80)), ("raise 1,0", BET, None), ("b 60", FREE, Act("bet", 60)),
        ("r 100", BET, Act("raise", 100)), ("b 100", BET, Act("raise", 100)), ("r 60", FREE, Act("bet", 60)),
        ("p", BET, Act("raise", 240)), ("r pot", BET, Act("raise", 240)), ("min", BET, Act("raise", 80)),
        ("r max", BET, Act("raise", 980)), ("a", BET, Act("all_in")), ("all", FREE, Act("all_in")),
        ("انسحاب", BET, Act("fold")), ("مساواة", BET, Act("call")), ("رفع \u0661\u0660\u0660", BET, Act("raise", 100)),
    ],
)  # fmt: skip
def test_a_line_is_a_decision(line, at, meant):
    found = read(line, at)
    assert found == meant if meant is not None else isinstance(found, Unclear)


@pytest.mark.parametrize(
    ("line", "at", "message"),
    [
        ("x", BET, "You cannot check now: f  fold     c  call 20"),
        ("c", FREE, "You cannot call now: f  fold     x  check"),
        ("r", BET, "How much? r takes a total from 80 to 980, for example r 80."),
        ("r lots", BET, '"lots" is no amount: whole chips, such as 80.'),
        ("r -5", BET, '"-5" is no amount'),
        ("r 79", BET, "79 is too small: from 80 on, up to 980."),
        ("r 981", BET, "981 is too much: 980 at most."),
        ("r 50", scene(decision=decision(can_call=True, call_amount=5)), "You cannot raise now: f  fold     c  call 5"),
        ("hello", BET, '"hello" is not understood. ? lists what can be typed.'),
        ("c", IDLE, "It is not your turn."),
        ("hello", IDLE, '"hello" is not understood'),
        ("g", BET, '"g" is not understood'),
        ("sarab", BET, '"sarab" is not understood'),
    ],
)
def test_what_cannot_be_done_is_answered_with_what_can(line, at, message):
    found = read(line, at)
    assert isinstance(found, Unclear)
    assert found.message.startswith(message)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("?", Simple("help")), ("q", Simple("leave")), ("t", Simple("table")), ("i", Simple("conditions")),
        ("reload 500", Reload(500)), ("reload", Reload(None)), ("reload x", Reload(None)), ("out", Simple("sit_out")),
        ("back", Simple("come_back")), ("yes", Simple("yes")), ("خروج", Simple("leave")), ("؟", Simple("help")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", [BET, IDLE])
def test_what_is_always_possible_is_understood_at_any_time(line, meant, at):
    assert read(line, at) == meant


def test_an_empty_line_means_nothing():
    assert read("   ") is None


def test_folding_for_nothing_is_asked_about_once_more():
    assert is_risky(Act("fold"), FREE)
    assert not is_risky(Act("fold"), BET)
    assert not is_risky(Act("check"), FREE)


def test_sarab_is_played_by_its_name_also_where_raising_is_closed():
    """A5."""
    closed = scene("sarab", decision=decision(can_call=True, call_amount=20, can_sarab=True))
    for line in ("a", "s", "sarab", "سراب"):
        assert read(line, closed, "sarab") == Act("all_in")


def test_with_50_or_less_a_fold_is_answered_with_the_choices():
    """SB-26."""
    bound = scene("sarab", decision=decision(can_fold=False, can_call=True, call_amount=20, can_sarab=True))
    assert read("f", bound, "sarab").message == "You cannot fold now: c  call 20     a  sarab"


OFFERS = [
    view_pb2.PowerOffer(power="hidden_glance", seat=0, cost=1),
    view_pb2.PowerOffer(power="sleeve_trick", seat=0, cost=2),
    view_pb2.PowerOffer(power="short_anchor", seat=0, cost=2, targets=[2, 4]),
]


def naiko(powers=OFFERS, **said):
    return scene("naiko", decision=decision(**OPEN), naiko=view_pb2.NaikoView(powers=powers, **said))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("g", Power("hidden_glance")), ("look", Power("hidden_glance")),
        ("d 2", Power("sleeve_trick", discard=1)), ("d as", Power("sleeve_trick", discard=0)),
        ("trick K♦", Power("sleeve_trick", discard=1)),
        ("n 4", Power("short_anchor", target=4)), ("مرساة 2", Power("short_anchor", target=2)),
        ("x", Act("check")),
    ],
)  # fmt: skip
def test_powers_are_used_before_acting(line, meant):
    """A discard is named by its number or its card, and sent as its position in the deck."""
    assert read(line, naiko(), "naiko") == meant


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("d", "Say which card goes: d 1 for the first, or d As."),
        ("d 3", "Say which card goes"),
        ("d 7c", "You do not hold 7c."),
        ("n", "Say which seat: n SEAT, one of 2, 4."),
        ("n 3", "Say which seat"),
    ],
)
def test_a_power_that_is_not_said_in_full_is_explained(line, message):
    assert read(line, naiko(), "naiko").message.startswith(message)


def test_a_power_out_of_reach_says_why():
    tired = [view_pb2.PowerOffer(power="hidden_glance", seat=0, cost=1, why_not="NOT_ENOUGH_DESTELLOS")]
    assert read("g", naiko(tired), "naiko").message == "Hidden Glance: not enough destellos."
    assert read("d 1", naiko(tired), "naiko").message == "Sleeve Trick: it is not on the carousel in this hand."


def test_in_a_response_window_a_line_answers_the_anchor():
    """C9: nothing else can be decided meanwhile; p is no pot-sized raise here."""
    window = view_pb2.ResponseWindow(seat=0, declared_by=2, turn=9, deadline_ms=NOW + 8_000)
    at = scene("naiko", naiko=view_pb2.NaikoView(window=window))
    assert read("s", at, "naiko") == Answer("seal_shield")
    assert read("p", at, "naiko") == Answer("pass")
    assert read("c", at, "naiko") == Unclear("An Anchor is aimed at you: s for the shield, or p to let it pass.")
    assert read("q", at, "naiko") == Simple("leave")


@pytest.mark.parametrize(
    ("typed", "cards"),
    [("As Kd", "As Kd"), ("askd", "As Kd"), ("10h th", "Th Th"), ("A♠,2♣", "As 2c"), ("Q♥\ufe0f", "Qh"), ("", "")],
)
def test_cards_are_read_as_people_write_them(typed, cards):
    read_ = read_cards(typed.split())
    assert read_ == tuple(card for text in cards.split() for card in parse_cards(text))


@pytest.mark.parametrize(("typed", "piece"), [("1s", "1s"), ("As Xd", "Xd"), ("AsK", "K")])
def test_a_piece_that_is_no_card_is_named(typed, piece):
    assert read_cards(typed.split()) == piece


@pytest.mark.parametrize(
    ("text", "amount"), [("1,000", 1000), ("\u0662\u0660\u0660", 200), ("1.5", None), ("", None), ("-3", None)]
)
def test_amounts_are_whole_numbers_as_people_write_them(text, amount):
    assert number(text) == amount


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("game", BETTING_GAMES)
def test_help_lists_what_can_be_typed(game, language):
    words = Words(language, game)
    told = "\n".join(help_lines(scene(game), words))
    assert "reload" in told
    assert words("raise") in told
    assert ("short" in told.lower() or "المرساة القصيرة" in told) == (game == "naiko")
