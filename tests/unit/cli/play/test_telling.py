"""What has happened, told in a line, in both languages; and what is no player's business, not told."""

import pytest

from diwan.api.event.v1 import event_pb2, hand_pb2, table_pb2
from diwan.cli.play.telling import Teller, newly_locked, own_result
from diwan.cli.play.words import Words, without_marks
from tests.unit.cli.play.views import NOW, look, reveals, scene, stored


def told(kind, /, *, game="holdem", language="en", **fields):
    table = scene(game).table
    return Teller(table.seats, 0, look(game, language)).lines(stored(kind, **fields))


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        ("acted", {"seat": 2, "kind": "ACTION_KIND_FOLD"}, "rami-01 (BOT): fold"),
        ("acted", {"seat": 0, "kind": "ACTION_KIND_CALL", "to": 40, "added": 20}, "you: call 20"),
        ("acted", {"seat": 4, "kind": "ACTION_KIND_BET", "to": 60, "added": 60}, "layla: bet 60"),
        ("acted", {"seat": 2, "kind": "ACTION_KIND_RAISE", "to": 900, "is_all_in": True}, "rami-01 (BOT): raise to 900, all-in"),
        ("acted", {"seat": 0, "kind": "ACTION_KIND_CHECK", "decided_by": "DECIDED_BY_CLOCK"}, "you: check (the clock decided)"),
        ("posted", {"seat": 0, "kind": "POST_KIND_SMALL_BLIND", "amount": 5}, "you: small blind 5"),
        ("board_dealt", {"street": "STREET_FLOP", "reveals": reveals("Ah 7d 2c")}, "flop: A♥ 7♦ 2♣"),
        ("cards_shown", {"seat": 2, "reveals": reveals("Qs Qh"), "category": "pair"}, "rami-01 (BOT): Q♠ Q♥ = pair"),
        ("bet_returned", {"seat": 0, "amount": 30}, "30 that nobody matched go back to you"),
        ("pot_awarded", {"amount": 140, "shares": [{"seat": 0, "amount": 140}]}, "you: wins 140"),
        ("time_bank_began", {"seat": 0, "deadline_ms": NOW + 30_000}, "you: the time bank runs, 30 s"),
        ("deadline_moved", {"deadline_ms": NOW + 5_000}, "After an outage of the house, whoever is asked has 5 s again."),
        ("sat_out", {"seat": 2, "cause": "SEAT_CAUSE_CLOCK"}, "rami-01 (BOT): sitting out"),
        ("sat_out", {"seat": 0, "cause": "SEAT_CAUSE_PLAYER"}, "you: sitting out"),
        ("sat_out", {"seat": 0, "cause": "SEAT_CAUSE_CLOCK"},
         "Your time ran out, so you sit out from the next hand on. back brings you in again."),
        ("seat_released", {"seat": 6, "player": "bot:jana-02"}, "jana-02: gone"),
        ("buy_in_requested", {"seat": 6, "player": "x", "amount": 500}, "seat 6: sits down at seat 6 with 500"),
        ("table_closing", {}, "The table closes after this hand."),
        ("stake_proposed", {"seat": 2, "other": 0, "unit": 50}, None),
    ],
)  # fmt: skip
def test_an_event_is_a_line(kind, fields, line):
    game = "capsa" if kind.startswith("stake") else "holdem"
    lines = told(kind, game=game, **fields)
    assert lines == [line] if line is not None else "50" in lines[0]


def test_a_hand_begins_with_its_button_and_in_sarab_with_what_everybody_pays():
    seats = [hand_pb2.HandSeat(seat=seat) for seat in (0, 2)]
    dues = [hand_pb2.Due(seat=seat, kind="POST_KIND_ANTE", amount=20) for seat in (0, 2)]
    lines = told("hand_started", game="sarab", hand_no=4, button=2, seats=seats, dues=dues)
    assert lines == ["", "Hand 4 begins; dealer: rami-01 (BOT)", "everybody pays the forced bet of 20"]


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        ("card_glanced", {"seat": 2, "cost": 1}, "rami-01 (BOT): Hidden Glance, price 1"),
        ("card_swapped", {"seat": 0, "cost": 2}, "you: Sleeve Trick, price 2"),
        ("anchor_declared", {"seat": 2, "target": 0, "cost": 2}, "rami-01 (BOT): Short Anchor at you, price 2"),
        ("window_opened", {"seat": 0, "deadline_ms": NOW + 8_000}, "you: 8 s to answer"),
        ("anchor_answered", {"seat": 0, "answer": "seal_shield", "cost": 1}, "you: Seal Shield, price 1"),
        ("anchor_answered", {"seat": 0, "answer": "pass"}, "you: lets it pass"),
        ("anchor_settled", {"target": 0}, "the Anchor holds you for this round"),
        ("anchor_settled", {"target": 0, "is_blocked": True}, "the Anchor on you is blocked"),
    ],
)
def test_powers_of_naiko_are_told(kind, fields, line):
    assert told(kind, game="naiko", **fields) == [line]


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("VOID_REASON_NO_VOLUNTARY_BET", "The hand is void: nobody bet."),
        ("VOID_REASON_INTERRUPTED", "The hand is void: it was interrupted. All chips go back."),
    ],
)
def test_a_void_hand_says_why_and_what_stays(reason, line):
    """SB-23, SB-33, A6."""
    assert told("hand_voided", game="sarab", reason=reason) == [line]
    assert told("hand_voided", game="sarab", reason=reason, carried=40)[1] == "40 stay in the pot for the next hand"


def test_a_match_tells_its_beginning_its_places_and_prizes():
    entrants = [table_pb2.Entrant(seat=0, player="amal"), table_pb2.Entrant(seat=2, player="bot:rami-01")]
    begins = told("match_started", game="sarab", entrants=entrants, coins=1000)
    assert begins == ["The match begins: 2 players, 1,000 in coins each. The last one wins."]
    places = [{"place": 1, "seat": 0, "player": "amal", "prize": 100}, {"place": 2, "seat": 2, "player": "bot:rami-01"}]
    assert told("match_ended", game="sarab", places=places) == ["The match is over.", "1. you, prize 100", "2. rami-01"]


@pytest.mark.parametrize(
    "kind", ["turn_began", "hole_cards_dealt", "secret_committed", "owner_changed", "refusals_recorded"]
)
def test_what_is_seen_otherwise_or_is_the_rooms_business_is_not_told(kind):
    assert told(kind) == []


def test_a_withheld_body_and_an_event_of_a_later_release_are_passed_over():
    teller = Teller(scene("capsa").table.seats, 0, look("capsa"))
    assert teller.lines(event_pb2.StoredEvent(type_id=105, body_hash=b"x")) == []
    later = event_pb2.StoredEvent(body=b"\xfa\x3f\x02\x08\x01")  # field 1023
    assert teller.lines(later) == []


def test_the_same_action_has_the_word_of_its_game_in_arabic():
    action = {"seat": 2, "kind": "ACTION_KIND_RAISE", "to": 80}
    assert without_marks(told("acted", language="ar", **action)[0]) == "rami-01 (بوت): رفع إلى 80"
    assert without_marks(told("acted", game="sarab", language="ar", **action)[0]) == "rami-01 (بوت): المزايدة إلى 80"
    assert "\u2066A♥ 7♦ 2♣\u2069" in told("board_dealt", language="ar", street=2, reveals=reveals("Ah 7d 2c"))[0]


@pytest.mark.parametrize(
    ("payoff", "line"), [(140, "You won 140 in this hand."), (-60, "You lost 60 in this hand."), (0, "You neither won nor lost in this hand.")]
)  # fmt: skip
def test_the_own_result_of_a_hand_is_told(payoff, line):
    seats = [hand_pb2.HandSeat(seat=2, player="x"), hand_pb2.HandSeat(seat=0, player="amal")]
    events = [
        ("hand_started", hand_pb2.HandStarted(seats=seats)),
        ("hand_ended", hand_pb2.HandEnded(payoffs=[-payoff, payoff])),
    ]
    assert own_result(events, "amal", Words("en", "holdem")) == line
    assert own_result(events, "somebody", Words("en", "holdem")) is None
    assert own_result(events[1:], "amal", Words("en", "holdem")) is None


def test_who_has_locked_a_set_is_told_from_the_views_as_the_event_is_withheld():
    seats = [{"seat": 0, "has_locked": True}, {"seat": 2}]
    before = scene("capsa", capsa={"seats": seats}).table
    now = scene("capsa", capsa={"seats": [{"seat": 0, "has_locked": True}, {"seat": 2, "has_locked": True}]}).table
    assert newly_locked(before, now) == [2]
    assert newly_locked(None, now) == []
    now.hand.hand_id = "another"
    assert newly_locked(before, now) == []
    assert Teller(before.seats, 0, look("capsa")).locked([0, 2]) == ["rami-01 (BOT): locked"]


def test_who_has_left_within_the_same_events_is_still_named_and_so_are_you():
    gone = Teller([], 3, look())
    assert gone.lines(stored("acted", seat=3, kind="ACTION_KIND_FOLD")) == ["you: fold"]
    assert gone.lines(stored("acted", seat=5, kind="ACTION_KIND_FOLD")) == ["seat 5: fold"]
