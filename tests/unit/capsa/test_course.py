"""Deal, setting, drafts, clocks, answers, reveal: what is accepted when, and what is refused with which reason."""

import pytest

from diwan.core.cards import DECK
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import StartCapsa
from diwan.core.games.capsa.decide import CHANGES_MAX, advance, decide
from diwan.core.games.capsa.events import (
    AnswerAsked,
    Answered,
    Arrangement,
    CapsaStarted,
    DraftSaved,
    PairSettled,
    RoyaltiesDeclared,
    SetLocked,
    SetsShown,
    SettingBegan,
    SettingClosed,
    SetUnlocked,
    ThirteenDealt,
)
from diwan.core.games.capsa.evolve import evolve
from diwan.core.games.capsa.settings import CapsaSettings, SurrenderTerms
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.hand.events import HandEnded, HandSeat, HandVoided
from diwan.core.hand.rules import UnknownRules
from tests.unit.capsa.play import START_MS, Hand

A = "Kd Kc 7h | Js Jh 8d 8c 4s | As Ts 8s 5s 3s"
B = "Ah Qd 9c | Td Tc 6h 6d 2c | Qs Qh Qc 3h 3d"
C = "Ac Kh 4d | 5h 5c 7d 6c 2d | 9h 8h 7s 6s 5d"
FOUL_A = "As Ts 8s | Js Jh 8d 8c 4s | Kd Kc 7h 5s 3s"  # two pair above a pair
OTHER_A = "Kd Kc 4s | Js Jh 8d 8c 7h | As Ts 8s 5s 3s"


def kinds(events):
    return [type(event) for event in events]


def test_cards_go_out_one_by_one_from_the_left_of_the_dealer():
    """CS-1, CS-4: deck[i] goes to the (i mod n)-th seat left of the dealer."""
    hand = Hand(A, B, C, button=1)
    dealt = hand.of_kind(ThirteenDealt)[0].holdings
    assert [holding[:2] for holding in dealt] == [(1, 4), (2, 5), (0, 3)]
    assert {len(holding) for holding in dealt} == {13}
    assert sorted(position for holding in dealt for position in holding) == list(range(39))


def test_a_hand_runs_in_the_order_of_the_page():
    """CS-18: deal, setting, answers, royalties, reveal, settlement."""
    hand = Hand(A, B)
    hand.lock_all()
    hand.play_all()
    assert kinds(hand.events) == [
        CapsaStarted,
        ThirteenDealt,
        SettingBegan,
        SetLocked,
        SetLocked,
        AnswerAsked,
        Answered,
        AnswerAsked,
        Answered,
        RoyaltiesDeclared,
        SetsShown,
        PairSettled,
        HandEnded,
    ]


def test_turns_are_the_versions_of_their_events_and_deadlines_come_from_the_settings():
    """CS-27, CS-31, DESIGN 3."""
    hand = Hand(A, B, version=40, set_seconds=45, declare_seconds=7)
    hand.lock(0)
    hand.now += 1234
    hand.lock(1)
    setting, asked = hand.of_kind(SettingBegan)[0], hand.of_kind(AnswerAsked)[0]
    versions = {id(event): 40 + number for number, event in enumerate(hand.events, 1)}
    assert (setting.turn, asked.turn) == (versions[id(setting)], versions[id(asked)])
    assert setting.deadline_ms == START_MS + 45_000
    assert asked.deadline_ms == hand.now + 7_000


def test_players_are_asked_clockwise_from_the_left_of_the_dealer():
    """CS-30."""
    hand = Hand(A, B, C, button=0)
    hand.lock_all()
    hand.play_all()
    assert [event.seat for event in hand.of_kind(AnswerAsked)] == [1, 2, 0]


@pytest.mark.parametrize(
    "rows",
    [
        "Kd Kc | Js Jh 8d 8c 4s | As Ts 8s 5s 3s",  # twelve
        "Kd Kc 7h 4s | Js Jh 8d 8c | As Ts 8s 5s 3s",  # 4, 4, 5
        "Kd Kc Ah | Js Jh 8d 8c 4s | As Ts 8s 5s 3s",  # another's card
        "Kd Kc 2s | Js Jh 8d 8c 4s | As Ts 8s 5s 3s",  # an undealt card
    ],
)
def test_a_set_is_exactly_the_thirteen_cards(rows):
    """CS-19: refused, and no foul; not even a confirmed one."""
    hand = Hand(A, B)
    assert hand.refused(hand.lock_command(0, rows)) == "BAD_SET"
    assert hand.refused(hand.lock_command(0, rows, is_foul_confirmed=True)) == "BAD_SET"


def test_a_card_cannot_stand_in_two_rows():
    """CS-19."""
    hand = Hand(A, B)
    right = hand.arrangement(A)
    twice = Arrangement(right.front, right.middle, (*right.back[:4], right.front[0]))
    assert hand.refused(hand.lock_command(0, arrangement=twice)) == "BAD_SET"


def test_a_foul_needs_confirmation():
    """CS-26: possible, but never by accident."""
    hand = Hand(A, B)
    assert hand.refused(hand.lock_command(0, FOUL_A)) == "FOULED_SET"
    hand.lock(0, FOUL_A, is_foul_confirmed=True)
    hand.lock(1)
    hand.play_all()
    assert hand.statuses == ["fouled", "set"]
    assert [each.is_fouled for each in hand.live.shown] == [True, False]  # CS-84


def test_a_locked_set_can_be_taken_back_until_the_last_has_locked():
    """CS-20, CS-21."""
    hand = Hand(A, B)
    hand.lock(0)
    assert hand.refused(hand.lock_command(0)) == "ALREADY_LOCKED"
    assert hand.refused(hand.draft_command(0, A)) == "ALREADY_LOCKED"
    assert kinds(hand.when(hand.unlock_command(0))) == [SetUnlocked]
    assert hand.refused(hand.unlock_command(0)) == "ARGUMENT_INVALID"
    hand.lock(0, OTHER_A)
    hand.lock(1)
    assert hand.refused(hand.unlock_command(0)) == "ALREADY_LOCKED"
    assert hand.refused(hand.lock_command(0)) == "ALREADY_LOCKED"
    hand.play_all()
    assert hand.live.shown[0].arrangement == hand.arrangement(OTHER_A)


def test_a_draft_may_be_incomplete_and_only_a_usable_one_counts():
    """CS-28: the last saved complete and legal draft."""
    hand = Hand(A, B)
    saved = [
        hand.when(hand.draft_command(0, rows))[0].is_usable
        for rows in (OTHER_A, FOUL_A, "Kd | Js Jh 8d 8c 4s | As", "||")
    ]
    assert saved == [True, False, False, False]
    hand.lock(1)
    hand.expire()
    locked = hand.of_kind(SetLocked)[-1]
    assert (locked.source, locked.decided_by, locked.arrangement) == ("draft", "clock", hand.arrangement(OTHER_A))


def test_a_draft_of_other_cards_or_too_long_a_row_is_refused():
    """CS-19, CS-20."""
    hand = Hand(A, B)
    assert hand.refused(hand.draft_command(0, "Ah | | ")) == "BAD_SET"
    assert hand.refused(hand.draft_command(0, "Kd Kc 7h 4s | | ")) == "BAD_SET"


@pytest.mark.parametrize(("policy", "source"), [("draft_then_auto", "draft"), ("auto", "server"), ("foul", "none")])
def test_the_timeout_policy_decides_over_late_sets(policy, source):
    """CS-28: draft, the server's own, or a foul; a timeout never surrenders."""
    hand = Hand(A, B, timeout_policy=policy)
    hand.when(hand.draft_command(0, OTHER_A))
    events = hand.expire()
    assert kinds(events) == [SettingClosed, SetLocked, SetLocked, AnswerAsked]
    assert [event.source for event in events[1:3]] == [source, "none" if policy == "foul" else "server"]
    hand.play_all()
    expected = ["fouled", "fouled"] if policy == "foul" else ["set", "set"]
    assert hand.statuses == expected
    assert all(event.answer == "play" for event in hand.of_kind(Answered))


def test_two_who_were_late_and_fouled_have_nothing_to_show():
    """CS-28, CS-52."""
    hand = Hand(A, B, timeout_policy="foul")
    hand.expire()
    hand.play_all()
    assert (hand.live.shown, hand.payoffs, hand.state.ended.result) == ((), [0, 0], "showdown")


def test_the_clock_answers_play():
    """CS-31."""
    hand = Hand(A, B)
    hand.lock_all()
    hand.expire()
    hand.expire()
    assert [(event.answer, event.decided_by) for event in hand.of_kind(Answered)] == [("play", "clock")] * 2


def test_a_clock_that_still_runs_is_left_alone():
    hand = Hand(A, B)
    early = hand.live.deadline_ms - 1
    assert hand.refused(hand.expire_command(now_ms=early)) == "CLOCK_RUNNING"
    hand.lock_all()
    assert hand.refused(hand.expire_command(now_ms=hand.live.deadline_ms - 1)) == "CLOCK_RUNNING"


def test_a_seat_that_leaves_is_served_before_its_time_is_over():
    """The mildest act for who is gone: its set by the policy, then play."""
    hand = Hand(A, B)
    hand.when(hand.expire_command(0, now_ms=START_MS, decided_by="system"))
    assert hand.live.plays[0].locked.source == "server"
    hand.lock(1)
    hand.when(hand.expire_command(0, now_ms=START_MS, decided_by="system"))
    assert hand.of_kind(Answered)[0].decided_by == "system"


def test_refusals_while_setting():
    """CS-30: nobody is asked yet."""
    hand = Hand(A, B)
    assert hand.refused(hand.answer_command(0, "play")) == "NOT_ASKED"
    assert hand.refused(hand.answer_command(0, "surrender")) == "NOT_ASKED"
    assert hand.refused(hand.lock_command(0, seat=7)) == "NOT_ASKED"
    assert hand.refused(hand.expire_command(7)) == "NOT_ASKED"
    hand.lock(0)
    assert hand.refused(hand.expire_command(0)) == "ALREADY_LOCKED"
    late = hand.live.deadline_ms + 1
    assert hand.refused(hand.lock_command(1, now_ms=late)) == "DEADLINE_PASSED"
    assert hand.refused(hand.lock_command(1, turn=99)) == "STALE_TURN"


def test_refusals_while_answering():
    """CS-30: only who is asked."""
    hand = Hand(A, B, C)
    hand.lock_all()
    assert hand.refused(hand.answer_command(1, "play")) == "NOT_ASKED"
    assert hand.refused(hand.expire_command(1)) == "NOT_ASKED"
    assert hand.refused(hand.answer_command(0, "play", turn=1)) == "STALE_TURN"
    assert hand.refused(hand.answer_command(0, "play", now_ms=hand.live.deadline_ms + 1)) == "DEADLINE_PASSED"
    hand.play(0)
    assert hand.refused(hand.answer_command(0, "surrender")) == "NOT_ASKED"


def test_surrender_where_the_table_has_none():
    """Finer point 12: SURRENDER_NOT_ALLOWED comes before NOT_ASKED, after HAND_OVER."""
    hand = Hand(A, B, surrender=SurrenderTerms(allowed=False))
    assert hand.refused(hand.answer_command(0, "surrender")) == "SURRENDER_NOT_ALLOWED"
    assert hand.refused(hand.answer_command(0, "play")) == "NOT_ASKED"
    hand.lock_all()
    assert hand.refused(hand.answer_command(0, "surrender")) == "HAND_OVER"


def test_nothing_is_accepted_after_the_end():
    hand = Hand(A, B)
    hand.lock_all()
    hand.play_all()
    for command in (
        hand.lock_command(0),
        hand.draft_command(0, A),
        hand.unlock_command(0),
        hand.answer_command(0, "play"),
        hand.expire_command(),
        MoveDeadline(1, 2, "outage", hand.version, hand.now),
        VoidHand("operator", hand.version, hand.now),
    ):
        assert hand.refused(command) == "HAND_OVER"


def test_one_seat_cannot_fill_the_log():
    """A limit on everything."""
    hand = Hand(A, B)
    for _ in range(CHANGES_MAX):
        hand.when(hand.draft_command(0, "||"))
    assert hand.refused(hand.draft_command(0, "||")) == "RATE_LIMITED"
    hand.lock(0)
    assert hand.refused(hand.unlock_command(0)) == "RATE_LIMITED"
    assert kinds(hand.when(hand.draft_command(1, "||"))) == [DraftSaved]


def test_an_outage_gives_the_open_decision_its_time_back():
    """A deadline only moves to a later time."""
    hand = Hand(A, B)
    turn, deadline = hand.live.turn, hand.live.deadline_ms
    hand.when(MoveDeadline(turn, deadline + 5000, "outage", hand.version, hand.now))
    assert hand.live.deadline_ms == deadline + 5000
    assert hand.refused(MoveDeadline(turn, deadline, "outage", hand.version, hand.now)) == "ARGUMENT_INVALID"
    assert hand.refused(MoveDeadline(turn + 1, deadline + 9000, "outage", hand.version, hand.now)) == "STALE_TURN"


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_void_hand_moves_nothing(is_locked):
    hand = Hand(A, B)
    if is_locked:
        hand.lock_all()
    assert kinds(hand.when(VoidHand("interrupted", hand.version, hand.now))) == [HandVoided, HandEnded]
    assert (hand.state.ended.result, hand.payoffs, hand.live.is_void) == ("void", [0, 0], True)


def start(**changes):
    fields = Hand(A, B).batches[0][1]
    return StartCapsa(**{name: getattr(fields, name) for name in StartCapsa.__struct_fields__} | changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seats": (HandSeat(0, "p", 5000),)}, "TOO_FEW_PLAYERS"),
        ({"seats": tuple(HandSeat(seat, "p", 5000) for seat in range(5))}, "SETTING_INVALID"),
        ({"seats": (HandSeat(1, "p", 5000), HandSeat(0, "q", 5000))}, "SETTING_INVALID"),
        ({"seats": (HandSeat(0, "p", 0), HandSeat(1, "q", 5000))}, "SETTING_INVALID"),
        ({"button": 12}, "SETTING_INVALID"),
        (
            {"seats": tuple(HandSeat(seat, "p", 5000) for seat in range(3)), "settings": CapsaSettings(players=2)},
            "SETTING_INVALID",
        ),
    ],
)
def test_a_hand_that_cannot_be_played_is_not_dealt(changes, reason):
    with pytest.raises(Rejected) as caught:
        decide(None, start(**changes), dict(enumerate(DECK)))
    assert caught.value.reason == reason


def test_rules_of_an_unknown_version_are_not_guessed():
    with pytest.raises(UnknownRules):
        decide(None, start(rules_version=2), dict(enumerate(DECK)))


def test_a_hand_in_play_is_not_dealt_over():
    hand = Hand(A, B)
    assert hand.refused(start()) == "HAND_IN_PROGRESS"


def test_an_event_without_its_hand_is_a_fault_of_the_log():
    hand = Hand(A, B)
    with pytest.raises(ValueError, match="belongs to no hand"):
        evolve(None, hand.events[1])


def test_what_a_set_reveals_is_read_and_nothing_else():
    """DESIGN 3: after the deal a lock reads its own thirteen cards, the end only sets that play."""
    hand = Hand(A, B, C)
    own = {position: hand.cards[position] for position in hand.live.holdings[0]}
    assert isinstance(advance(hand.state, hand.lock_command(0), own)[1].plays[0].locked, SetLocked)
    hand.lock_all()
    hand.play(0)
    hand.play(1)
    known = {position: hand.cards[position] for place in (0, 1) for position in hand.live.holdings[place]}
    assert isinstance(advance(hand.state, hand.answer_command(2, "surrender"), known)[1], EndedCapsa)
    with pytest.raises(KeyError):
        advance(hand.state, hand.answer_command(2, "play"), known)
