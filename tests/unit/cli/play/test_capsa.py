"""A hand of Capsa at the keyboard: rows, what is typed at them, and what is drawn."""

import pytest

from diwan.api.event.v1 import capsa_pb2 as event_capsa
from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import capsa_pb2, view_pb2
from diwan.cli.play.commands import Arrange, Call, Simple, Stake, Unclear
from diwan.cli.play.drawing import table_lines
from diwan.cli.play.drawing_capsa import arranged_lines, capsa_question_lines
from diwan.cli.play.parsing import help_lines, parse
from diwan.cli.play.rows import arranged_as, dealt, grouped
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words, without_marks
from diwan.client.arranging import suggested_set
from diwan.core.cards import format_card, parse_cards
from tests.unit.cli.play.views import HAND, NOW, look, plain, reveals

THIRTEEN = "As Ah Kd Ks Qc Qd 9h 8h 7h 5h 3h 4c 2d"
CARDS = parse_cards(THIRTEEN)
EN = Words("en", "capsa")


def capsa_scene(kind="set", *, own=None, phase="setting", seats=(), offers=(), lines=(), asked=(0, 1), **decision):
    said = capsa_pb2.CapsaDecision(kind=kind, seats=asked, turn=5, deadline_ms=NOW + 60_000, **decision)
    hand = capsa_pb2.CapsaView(phase=phase, seats=seats, lines=lines)
    if kind:
        hand.decision.CopyFrom(said)
    table = view_pb2.TableView(
        config=table_pb2.TableConfig(capsa={"unit": 10}),
        seats=[
            view_pb2.SeatView(seat=0, player="amal", stack=4000, status="SEAT_STATUS_PLAYING"),
            view_pb2.SeatView(seat=1, player="bot:rami", is_bot=True, stack=2500, status="SEAT_STATUS_PLAYING"),
        ],
        hand=view_pb2.HandView(hand_id=HAND, hand_no=3, button=1, game="capsa", capsa=hand),
        capsa=capsa_pb2.CapsaTableView(offers=offers),
    )
    private = view_pb2.PrivateView(seat=0, hand_id=HAND, reveals=reveals(THIRTEEN), capsa=own or {})
    return Scene(table, 0, private, NOW)


def read(line, at=None, arranged=None, words=EN):
    return parse(line, at or capsa_scene(), words, arranged or dealt(CARDS))


def texts(cards):
    return " ".join(format_card(card) for card in cards)


def arranged_by(*lines):
    arranged = dealt(CARDS)
    for line in lines:
        command = read(line, arranged=arranged)
        assert isinstance(command, Arrange), command
        arranged = command.arranged
    return arranged


def test_a_row_is_typed_by_its_cards_and_the_last_row_fills_itself():
    arranged = arranged_by("f Kd Ks 2d", "b 9h 8h 7h 5h 3h")

    assert texts(arranged.front) == "Kd Ks 2d"
    assert texts(arranged.back) == "9h 8h 7h 5h 3h"
    assert set(arranged.middle) == set(parse_cards("As Ah Qc Qd 4c"))
    assert arranged.is_complete


def test_a_card_that_lies_elsewhere_moves_and_what_lay_in_the_row_is_free():
    arranged = arranged_by("f Kd Ks 2d", "m Kd As Ah Qc Qd")

    assert texts(arranged.front) == "Ks 2d"
    assert not arranged.is_complete
    assert sorted(arranged.cards) == sorted(CARDS)
    again = read("f 4c 5h 3h", arranged=arranged).arranged
    assert set(parse_cards("Ks 2d")) <= {*again.tray, *again.back}


def test_two_cards_change_places_wherever_they_lie():
    arranged = arranged_by("f Kd Ks 2d", "swap 2d As")
    assert texts(arranged.front) == "Kd Ks As"
    assert parse_cards("2d")[0] in arranged.tray


def test_free_cards_lie_by_rank_or_by_suit_and_all_can_be_taken_apart():
    assert texts(dealt(CARDS).tray) == "As Ah Ks Kd Qd Qc 9h 8h 7h 5h 4c 3h 2d"
    assert texts(arranged_by("sort suit").tray) == "As Ks Ah 9h 8h 7h 5h 3h Kd Qd 2d Qc 4c"
    assert arranged_by("f Kd Ks 2d", "clear") == dealt(CARDS)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("f As Kd", "The front takes 3 cards, you named 2."),
        ("m As Kd", "The middle takes 5 cards, you named 2."),
        ("f As Kd Jc", "J♣ is not among your cards."),
        ("f As As Kd", "A♠ is named twice."),
        ("f As Kd 1x", '"1x" is no card: a rank and a suit, such as As, Td or 7h.'),
        ("swap As", "swap takes two cards that lie somewhere: swap As 7h."),
        ("l", "Place all thirteen cards first: 13 are left. auto makes a whole set."),
        ("p", "Nobody asks you whether you play now."),
        ("hm", '"hm" is not understood. ? lists what can be typed.'),
    ],
)
def test_what_is_not_clear_is_explained(line, message):
    assert read(line) == Unclear(message)


@pytest.mark.parametrize(
    ("line", "meant"),
    [("auto", Simple("suggest")), ("u", Simple("unlock")), ("?", Simple("help")), ("q", Simple("leave")), ("back", Simple("come_back"))],
)  # fmt: skip
def test_other_commands_of_a_set(line, meant):
    assert read(line) == meant


def test_a_whole_set_is_locked_and_a_locked_one_is_not_changed():
    whole = arranged_by("f Kd Ks 2d", "b 9h 8h 7h 5h 3h")
    assert read("l", arranged=whole) == Simple("lock")
    locked = capsa_scene(own={"locked": {"rows": {"front": whole.front}}})
    assert read("f Kd Ks 2d", locked, whole) == Unclear("Your set is locked: u takes it back first.")
    assert read("u", locked, whole) == Simple("unlock")


def test_asked_whether_it_plays_a_seat_plays_or_surrenders_where_it_may():
    """CS-31: p is no pass and s no shield here."""
    asked = capsa_scene("answer", phase="declaring", asked=(0,), can_surrender=True)
    assert read("p", asked) == Call("play")
    assert read("s", asked) == Call("surrender")
    assert read("l", asked) == Unclear("p plays, s surrenders.")
    bound = capsa_scene("answer", phase="declaring", asked=(0,))
    assert read("s", bound) == Unclear("You cannot surrender here.")


def test_stakes_of_pairs_are_offered_accepted_and_ended():
    """CS-62."""
    at = capsa_scene(offers=[capsa_pb2.StakeOffer(seat=1, other=0, unit=50)])
    assert read("stake 1 50", at) == Stake("propose", 1, 50)
    assert read("accept 1", at) == Stake("accept", 1, 50)
    assert read("end 1", at) == Stake("end", 1)
    assert read("end 2", at) == Unclear("There is no stake of your own with seat 2.")
    agreed = capsa_scene()
    agreed.table.capsa.pair_units.add(a=0, b=2, unit=50)
    assert read("end 2", agreed) == Stake("end", 2)
    assert read("accept 0", at) == Unclear("Seat 0 offers you no stake.")
    assert read("stake 1", at).message.startswith("stake SEAT CHIPS offers")


def test_rows_come_with_the_names_that_the_server_gives_them():
    arranged = arranged_by("f Kd Ks 2d", "b 9h 8h 7h 5h 3h")
    rows = {"front": arranged.front, "middle": arranged.middle, "back": arranged.back}
    named = {"rows": rows, "front_category": "pair", "middle_category": "two_pair", "back_category": "flush"}
    drawn = plain(arranged_lines(capsa_scene(own={"draft": named | {"is_complete": True}}), arranged, look("capsa")))

    assert drawn.splitlines() == [
        "   front: K♠ K♦ 2♦  (pair)",
        "   middle: A♠ A♥ Q♦ Q♣ 4♣  (two pair)",
        "   back: 9♥ 8♥ 7♥ 5♥ 3♥  (flush)",
        "   Rows are in order. They count if your time runs out; l locks them.",
    ]
    fouled = capsa_scene(own={"draft": named | {"is_complete": True, "is_fouled": True}})
    assert "These rows FOUL" in plain(arranged_lines(fouled, arranged, look("capsa")))
    assert "(pair)" not in plain(arranged_lines(fouled, arranged.swapped(*parse_cards("2d As")), look("capsa")))


def test_what_is_asked_has_its_time_and_its_keys():
    assert plain(capsa_question_lines(capsa_scene(), look("capsa"))).startswith("Set your thirteen cards. 60 s.")
    asked = capsa_scene("answer", asked=(0,), can_surrender=True, surrender_price=3)
    assert "s  surrender (costs 3 units for each who plays on)" in plain(capsa_question_lines(asked, look("capsa")))


def test_seats_show_who_has_locked_and_no_card_of_others():
    seats = [capsa_pb2.CapsaSeatView(seat=0), capsa_pb2.CapsaSeatView(seat=1, has_locked=True, hidden_cards=13)]
    assert plain(table_lines(capsa_scene(seats=seats), look("capsa"))).splitlines() == [
        "== Capsa Susun · 10 a unit · hand 3 · setting ==",
        ">  0  you                   4,000  sets",
        ">  1  rami (BOT)  (dealer)  2,500  locked",
    ]


def settled():
    shown = capsa_pb2.CapsaSetView(
        rows={"front": parse_cards("Kd Ks 2d"), "middle": parse_cards("Qc As Qd Ah 4c"), "back": parse_cards("9h 8h 7h 5h 3h")},
        front_category="pair", middle_category="two_pair", back_category="flush",
    )  # fmt: skip
    playing, natural = event_capsa.CAPSA_STATUS_SET, event_capsa.CAPSA_STATUS_NATURAL
    royalty = capsa_pb2.CapsaRoyaltyView(row="back", category="flush", units=4)
    seats = [
        capsa_pb2.CapsaSeatView(seat=0, status=playing, set=shown, royalties=[royalty], units=7, payoff=70),
        capsa_pb2.CapsaSeatView(
            seat=1, status=natural, natural={"kind": "dragon", "units": 13, "cards": range(0, 52, 4)}, units=-7, payoff=-70
        ),
    ]  # fmt: skip
    rows = event_capsa.RowResults(front=1, middle=0, back=-1)
    line = capsa_pb2.CapsaLineView(a=0, b=1, rows=rows, row_units=0, overall=3, scoop=0, royalty=4, units=7, chips=70)
    return capsa_scene("", phase="over", seats=seats, lines=[line])


def test_the_end_shows_sets_royalties_naturals_and_every_pair():
    drawn = plain(table_lines(settled(), look("capsa"))).splitlines()[3:]

    assert drawn == [
        "you  +7 units  +70",
        "      front: K♠ K♦ 2♦  (pair)",
        "      middle: A♠ A♥ Q♦ Q♣ 4♣  (two pair)",
        "      back: 9♥ 8♥ 7♥ 5♥ 3♥  (flush)",
        "      royalty: back flush, 4 units",
        "rami (BOT)  -7 units  -70  natural: dragon, 13 units",
        "      A♣ K♣ Q♣ J♣ T♣ 9♣ 8♣ 7♣ 6♣ 5♣ 4♣ 3♣ 2♣",
        "Pair by pair:",
        "   you - rami (BOT): +7 units, +70 chips, rows +1/0/-1, overall +3, royalties +4",
    ]


def test_capsa_in_arabic_names_its_rows_and_keeps_cards_left_to_right():
    drawn = plain(table_lines(settled(), look("capsa", "ar")))
    assert "\u2066K♠ K♦ 2♦\u2069" in drawn
    for word in ("الأمامية", "الوسط", "الخلف", "التنين", "كابسا سوسون"):
        assert word in without_marks(drawn)
    assert read("الأمامية Kd Ks 2d", words=Words("ar", "capsa")).arranged.front == parse_cards("Kd Ks 2d")


def test_what_was_arranged_on_another_device_is_taken_up():
    rows = capsa_pb2.CapsaRows(front=parse_cards("Kd Ks 2d"))
    arranged = arranged_as(CARDS, rows)
    assert texts(arranged.front) == "Kd Ks 2d"
    assert len(arranged.tray) == 10


def test_a_row_is_read_by_what_it_has_more_of():
    assert texts(grouped(parse_cards("4d Ah As 4s Ac"))) == "As Ah Ac 4s 4d"


def test_the_suggestion_is_a_legal_set_of_the_same_cards():
    front, middle, back = suggested_set(CARDS, event_capsa.CapsaSettings(
        game="capsa", players=4, scoring="2-4", royalty_mode="winner", royalty_declaration="auto", wheel="low",
        timeout_policy="draft_then_auto",
    ))  # fmt: skip
    assert [len(front), len(middle), len(back)] == [3, 5, 5]
    assert sorted((*front, *middle, *back)) == sorted(CARDS)


def test_help_explains_rows():
    assert any("three in the front" in line for line in help_lines(capsa_scene(), EN))
