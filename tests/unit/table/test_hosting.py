"""Private tables: host, invitations, codes, pause, settings (TB-3, RULES.md D2)."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.table.commands import CloseTable, CreateTable
from diwan.core.table.decide import decide
from diwan.core.table.events import SeatReleased
from diwan.core.table.games import plan_next_hand
from diwan.core.table.hosting.commands import (
    AnswerInvitation,
    ChangeSettings,
    HandOver,
    Invite,
    IssueJoinCode,
    JoinByCode,
    RemoveGuest,
    RevokeInvitation,
    RevokeJoinCode,
    SetPaused,
)
from diwan.core.table.hosting.entry import may_see
from diwan.core.table.hosting.events import GuestJoined, HostChanged, InvitationAnswered, SettingsChanged
from diwan.core.table.waiting.commands import WaitForSeat
from diwan.core.table.waiting.events import SeatHeld
from tests.unit.table.play import TABLE_ID, Table, asking, config, kinds, transfer_of

HOUR = 3_600_000
CODE, OTHER_CODE = b"c" * 32, b"d" * 32
AS_HOST, AS_OPERATOR = False, True
ACCEPTS, DECLINES = True, False
PAUSED, GOING_ON = True, False


class Private(Table):
    """A table of the host "hal"; ``op`` asks as an operator."""

    def __init__(self, **changes):
        super().__init__(is_private=True, host="hal", **changes)

    def invite(self, player, *, by="hal", hours=1, op=False):
        return self.when(Invite(player, by, op, self.now + hours * HOUR, self.now))

    def answer(self, player, *, accept=True):
        return self.when(AnswerInvitation(player, accept, self.now))

    def let_in(self, *players):
        for player in players:
            self.invite(player)
            self.answer(player)

    def code(self, code=CODE, *, hours=1):
        return self.when(IssueJoinCode(code, "hal", AS_HOST, self.now + hours * HOUR, self.now))

    def join(self, player, code=CODE):
        return self.when(JoinByCode(player, code, self.now))

    def remove(self, player, *, by="hal", op=False):
        return self.when(RemoveGuest(player, by, op, self.now))

    def pause(self, is_paused=True, *, by="hal", op=False):
        return self.when(SetPaused(is_paused, by, op, self.now))

    def change(self, *, by="hal", op=False, **changes):
        wanted = replace(self.state.config, **changes)
        return ChangeSettings(wanted, by, op, self.now)

    def sees(self, player, **options):
        return may_see(self.state, player, self.now, **options)

    def may_sit(self, player, *, is_bot=False):
        """Return None, or the reason why a player is not let in."""
        try:
            decide(self.state, asking(player, transfer_of(player), self.now, is_bot=is_bot), {})
        except Rejected as refusal:
            return refusal.reason
        return None


# ---- opening ------------------------------------------------------------------------------------------------------


def test_a_private_table_has_a_host_and_a_public_one_has_none():
    for is_private, host in ((True, ""), (False, "hal")):
        with pytest.raises(Rejected) as refused:
            decide(None, CreateTable(TABLE_ID, config(is_private=is_private), "hal", 1, host), {})
        assert refused.value.facts["setting"] == "is_private"


def test_a_public_table_is_everybody_s():
    table = Table()
    assert may_see(table.state, "anybody", table.now)
    assert table.refused(Invite("ann", "host", AS_HOST, table.now + HOUR, table.now))[0] == "NOT_HOST"
    assert table.refused(Invite("ann", "op", AS_OPERATOR, table.now + HOUR, table.now))[0] == "TABLE_NOT_PRIVATE"


# ---- invitations --------------------------------------------------------------------------------------------------


def test_who_is_not_invited_neither_sees_the_table_nor_sits():
    table = Private()
    assert not table.sees("ann")
    assert table.may_sit("ann") == "INVITATION_REQUIRED"
    assert table.sees("hal")
    assert table.may_sit("hal") is None


def test_an_invited_player_sees_the_table_and_accepts_by_sitting_down():
    table = Private()
    table.invite("ann")
    assert table.sees("ann")
    events = table.when(asking("ann", transfer_of("a"), table.now))
    assert kinds(events) == ["BuyInRequested", "InvitationAnswered"]
    assert events[1] == InvitationAnswered("ann", is_accepted=True, answered_at_ms=table.now)


def test_an_invitation_that_was_not_answered_in_time_has_expired():
    table = Private()
    table.invite("ann", hours=1)
    table.now += HOUR
    assert not table.sees("ann")
    assert table.may_sit("ann") == "INVITATION_EXPIRED"
    assert table.refused(AnswerInvitation("ann", ACCEPTS, table.now))[0] == "INVITATION_EXPIRED"
    table.invite("ann")
    assert table.sees("ann"), "inviting again begins anew"


def test_an_accepted_invitation_does_not_expire():
    table = Private()
    table.let_in("ann")
    table.now += 1000 * HOUR
    assert table.may_sit("ann") is None


def test_a_declined_or_revoked_invitation_counts_no_more():
    table = Private()
    table.invite("ann")
    table.answer("ann", accept=False)
    table.let_in("ben")
    table.when(RevokeInvitation("ben", "hal", AS_HOST, table.now))
    for player in ("ann", "ben"):
        assert not table.sees(player)
        assert table.may_sit(player) == "INVITATION_REQUIRED"
    assert table.refused(AnswerInvitation("ann", ACCEPTS, table.now))[0] == "INVITATION_ANSWERED"
    assert table.refused(AnswerInvitation("ben", ACCEPTS, table.now))[0] == "INVITATION_REQUIRED"
    assert table.refused(AnswerInvitation("cid", ACCEPTS, table.now))[0] == "INVITATION_REQUIRED"


def test_a_guest_may_give_the_invitation_back_but_not_while_seated():
    table = Private()
    table.let_in("ann", "ben")
    table.seat("ann")
    assert table.refused(AnswerInvitation("ann", DECLINES, table.now))[0] == "INVITATION_ANSWERED"
    table.answer("ben", accept=False)
    assert not table.sees("ben")


def test_who_sits_stays_when_the_invitation_is_revoked_and_does_not_come_back():
    table = Private()
    table.let_in("ann")
    table.seat("ann")
    table.when(RevokeInvitation("ann", "hal", AS_HOST, table.now))
    assert table.sees("ann")
    table.stand_up("ann")
    assert not table.sees("ann")
    assert table.may_sit("ann") == "INVITATION_REQUIRED"


@pytest.mark.parametrize(
    "command",
    [
        lambda by, op, now: Invite("ann", by, op, now + HOUR, now),
        lambda by, op, now: RevokeInvitation("gus", by, op, now),
        lambda by, op, now: IssueJoinCode(CODE, by, op, now + HOUR, now),
        RevokeJoinCode,
        lambda by, op, now: RemoveGuest("gus", by, op, now),
        lambda by, op, now: HandOver("gus", by, op, now),
        lambda by, op, now: SetPaused(PAUSED, by, op, now),
        lambda by, op, now: ChangeSettings(config(is_private=True, name="other"), by, op, now),
    ],
)
def test_only_the_host_or_an_operator_may(command):
    table = Private()
    table.let_in("gus")
    table.code()
    for player in ("gus", "stranger", ""):
        assert table.refused(command(player, AS_HOST, table.now))[0] == "NOT_HOST"
    decide(table.state, command("hal", AS_HOST, table.now), {})
    decide(table.state, command("operator 7", AS_OPERATOR, table.now), {})
    table.when(CloseTable("hal", table.now))
    with pytest.raises(Rejected) as refused:
        decide(table.state, command("hal", AS_HOST, table.now), {})
    assert refused.value.reason == "TABLE_CLOSED"


def test_who_is_a_guest_already_is_not_invited_again():
    table = Private()
    table.let_in("ann")
    for player in ("ann", "hal"):
        assert table.refused(Invite(player, "hal", AS_HOST, table.now + HOUR, table.now))[0] == "GUEST_ALREADY"


@pytest.mark.parametrize("after_ms", [0, -1, 31 * 24 * HOUR])
def test_an_invitation_or_code_lasts_a_moment_at_least_and_a_month_at_most(after_ms):
    table = Private()
    until = table.now + after_ms
    assert table.refused(Invite("ann", "hal", AS_HOST, until, table.now))[0] == "FIELD_INVALID"
    assert table.refused(IssueJoinCode(CODE, "hal", AS_HOST, until, table.now))[0] == "FIELD_INVALID"


# ---- codes --------------------------------------------------------------------------------------------------------


def test_who_names_the_code_becomes_a_guest():
    table = Private()
    table.code()
    assert table.join("ann") == (GuestJoined("ann", CODE, table.now),)
    assert table.may_sit("ann") is None
    assert table.refused(JoinByCode("ann", CODE, table.now))[0] == "GUEST_ALREADY"


def test_whatever_is_wrong_with_a_code_is_answered_alike():
    """A guess learns nothing: no code, another one, an old one, a revoked one, a closed table, a removed player."""
    answers = []

    def guess(table, player="ann", code=CODE):
        answers.append(table.refused(JoinByCode(player, code, table.now)))

    table = Private()
    guess(table)
    table.code()
    guess(table, code=OTHER_CODE)
    table.code(OTHER_CODE)
    guess(table)
    table.now += HOUR
    guess(table, code=OTHER_CODE)
    table.code()
    table.let_in("bad")
    table.remove("bad")
    guess(table, "bad")
    table.when(RevokeJoinCode("hal", AS_HOST, table.now))
    guess(table)
    table.code()
    table.when(CloseTable("hal", table.now))
    guess(table)
    assert answers == [("INVITATION_REQUIRED", {})] * 7


def test_a_code_does_not_give_back_what_was_revoked_by_name_but_may_be_used_by_who_declined():
    table = Private()
    table.code()
    table.invite("ann")
    table.answer("ann", accept=False)
    table.join("ann")
    assert table.sees("ann")


# ---- removing -----------------------------------------------------------------------------------------------------


def test_a_removed_guest_plays_the_hand_to_its_end_goes_with_the_chips_and_comes_back_only_invited():
    table = Private()
    table.let_in("ann", "ben")
    for player in ("hal", "ann", "ben"):
        table.seat(player)
    table.start()
    events = table.remove("ann")
    assert kinds(events)[:2] == ["GuestRemoved", "StandUpRequested"]
    assert (events[1].cause, events[1].requested_by) == ("host", "hal")
    assert table.sees("ann"), "the hand is still played"
    last = table.fold_out()
    released = next(event for event in last if type(event).__name__ == "SeatReleased")
    assert (released.player, released.cause) == ("ann", "host")
    assert not table.sees("ann")
    assert table.may_sit("ann") == "INVITATION_REQUIRED"
    table.invite("ann")
    assert table.may_sit("ann") is None


def test_whom_the_host_sends_away_decides_its_hand_to_the_end():
    """TB-3: given a guest who faces the host's bet, when the host sends it away, then nobody folds for it."""
    table = Private()
    table.let_in("ann")
    table.seat("hal", seat=0)
    table.seat("ann", seat=1)
    table.start()
    if table.to_act == 1:
        table.act("call")
    table.act("raise", 40)
    assert table.to_act == 1
    assert kinds(table.remove("ann")) == ["GuestRemoved", "StandUpRequested"]
    assert table.to_act == 1
    table.act("call")
    while table.state.is_running:
        last = table.act("check")
    assert "ann" in [event.player for event in last if isinstance(event, SeatReleased)]


def test_the_clock_decides_for_who_was_sent_away_and_does_not():
    """CL-2."""
    table = Private()
    table.let_in("ann")
    table.seat("hal", seat=0)
    table.seat("ann", seat=1)
    table.start()
    while table.to_act != 1:
        table.act("call")
    table.remove("ann")
    acted = table.time_out()[0]
    assert (acted.seat, acted.decided_by) == (1, "clock")


def test_bots_that_are_not_wanted_any_more_play_their_hand_to_the_end_too():
    """CL-6: or a host who has bet would take the pot by changing settings."""
    table = Private(bots_fill=1)
    table.seat("hal", seat=0)
    table.seat("bot.1", seat=1, is_bot=True)
    table.start()
    if table.to_act == 1:
        table.act("call")
    table.act("raise", 40)
    assert kinds(table.when(table.change(bots_fill=0))) == ["SettingsChanged", "StandUpRequested"]
    assert (table.to_act, table.state.is_running) == (1, True)
    assert kinds(table.act("fold"))[-1] == "SeatReleased"


def test_an_operator_removes_in_the_host_s_place():
    table = Private()
    table.let_in("ann")
    table.seat("ann")
    events = table.remove("ann", by="operator 7", op=True)
    assert (events[1].cause, events[1].requested_by) == ("operator", "operator 7")


def test_a_stranger_and_the_host_cannot_be_removed():
    table = Private()
    assert table.refused(RemoveGuest("ann", "hal", AS_HOST, table.now))[0] == "INVITATION_NOT_FOUND"
    assert table.refused(RemoveGuest("hal", "hal", AS_HOST, table.now))[0] == "FIELD_INVALID"


# ---- the host -----------------------------------------------------------------------------------------------------


def test_the_host_hands_over_to_a_guest_and_is_one_from_then_on():
    table = Private()
    table.let_in("ann")
    assert table.when(HandOver("ann", "hal", AS_HOST, table.now)) == (
        HostChanged("ann", "handed_over", "hal", is_operator=False, changed_at_ms=table.now),
    )
    assert table.refused(SetPaused(PAUSED, "hal", AS_HOST, table.now))[0] == "NOT_HOST"
    assert table.may_sit("hal") is None
    table.pause(by="ann")


@pytest.mark.parametrize("player", ["stranger", "hal", "bot.1", "gone", "invited"])
def test_the_host_hands_over_to_no_stranger_no_bot_and_to_nobody_who_leaves(player):
    table = Private(bots_fill=2)
    table.seat("bot.1", is_bot=True)
    table.let_in("gone", "ann")
    table.invite("invited")
    for each in ("gone", "ann"):
        table.seat(each)
    table.start()
    table.stand_up("gone")
    assert table.state.seat_of("gone") is not None
    assert table.refused(HandOver(player, "hal", AS_HOST, table.now))[0] == "FIELD_INVALID"


def test_a_host_who_leaves_loses_the_role_to_the_next_person_clockwise():
    table = Private(bots_fill=3)
    table.let_in("ann", "ben")
    table.seat("ann", seat=0)
    table.seat("hal", seat=2)
    table.seat("bot.1", seat=3, is_bot=True)
    table.seat("ben", seat=4)
    events = table.stand_up("hal")
    assert kinds(events) == ["StandUpRequested", "SeatReleased", "HostChanged"]
    assert (events[-1].host, events[-1].cause) == ("ben", "left")
    assert table.may_sit("hal") is None, "who was the host is a guest"


def test_a_host_who_leaves_a_table_where_nobody_else_sits_stays_the_host():
    table = Private(bots_fill=3)
    table.seat("hal")
    table.seat("bot.1", is_bot=True)
    assert kinds(table.stand_up("hal")) == ["StandUpRequested", "SeatReleased"]
    assert table.state.hosting.host == "hal"


def test_closing_the_table_makes_nobody_the_host():
    table = Private()
    table.let_in("ann")
    table.seat("hal")
    table.seat("ann")
    assert kinds(table.when(CloseTable("hal", table.now))) == [
        "TableClosing",
        "SeatReleased",
        "SeatReleased",
        "TableClosed",
    ]


# ---- pause --------------------------------------------------------------------------------------------------------


def test_a_pause_lets_the_hand_end_and_no_other_begin():
    table = Private()
    table.let_in("ann")
    table.seat("hal")
    table.seat("ann")
    table.start()
    table.pause()
    table.fold_out()
    assert plan_next_hand(table.state, table.now) is None
    assert table.refused(SetPaused(PAUSED, "hal", AS_HOST, table.now))[0] == "PAUSED_ALREADY"
    table.pause(is_paused=False)
    assert plan_next_hand(table.state, table.now) is not None
    assert table.refused(SetPaused(GOING_ON, "hal", AS_HOST, table.now))[0] == "NOT_PAUSED"


def test_an_operator_pauses_a_public_table():
    table = Table()
    table.seat("ann")
    table.seat("ben")
    table.when(SetPaused(PAUSED, "operator 7", AS_OPERATOR, table.now))
    assert plan_next_hand(table.state, table.now) is None


# ---- settings -----------------------------------------------------------------------------------------------------


def test_settings_change_from_the_next_hand_on_and_a_running_hand_keeps_its_own():
    """D2: fixed per hand."""
    table = Private()
    table.let_in("ann")
    table.seat("hal")
    table.seat("ann")
    (started,) = [event for event in table.start() if isinstance(event, HandStarted)]
    table.when(table.change(hand=replace(table.state.config.hand, small_blind=5, big_blind=10), buy_in_max=1000))
    assert table.state.config.hand.big_blind == started.settings.big_blind == 2
    assert any(isinstance(event, HandEnded) for event in table.fold_out())
    assert table.state.config.hand.big_blind == 10
    (started,) = [event for event in table.start() if isinstance(event, HandStarted)]
    assert started.settings.big_blind == 10


def test_no_seat_is_taken_or_kept_that_the_table_will_not_have_any_more():
    """D2: given settings with fewer seats from the next hand on, when players come meanwhile, then they get none beyond."""
    table = Private(seats=6)
    table.let_in("ann", "ben", "cid")
    table.seat("hal", seat=0)
    table.seat("ann", seat=1)
    table.start()
    table.when(table.change(seats=3))
    assert table.refused(asking("ben", transfer_of("b"), table.now, seat=5))[0] == "SEAT_NOT_FOUND"
    held = [event for event in table.when(WaitForSeat("ben", table.now)) if isinstance(event, SeatHeld)]
    assert [event.seat for event in held] == [2]
    assert table.refused(asking("cid", transfer_of("c"), table.now))[0] == "TABLE_FULL"
    assert table.seat("ben").seat == 2
    table.fold_out()
    assert table.state.config.seats == 3
    table.start()
    assert table.live.deal.seats[-1] < 3


def test_between_hands_settings_change_at_once_and_the_last_change_counts():
    table = Private()
    (changed,) = table.when(table.change(name="Friday", seats=4))
    assert isinstance(changed, SettingsChanged)
    assert (table.state.config.name, table.state.config.seats) == ("Friday", 4)
    table.let_in("ann")
    table.seat("hal")
    table.seat("ann")
    table.start()
    table.when(table.change(name="Saturday"))
    table.when(table.change(name="Sunday"))
    table.fold_out()
    assert table.state.config.name == "Sunday"
    assert table.state.hosting.settings_next is None


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"is_private": False}, "is_private"),
        ({"seats": 2}, "seats"),
        ({}, "name"),
        ({"seats": 12}, "seats"),
        ({"name": " "}, "name"),
    ],
)
def test_what_is_promised_to_who_sits_there_does_not_change(changes, setting):
    table = Private()
    table.let_in("ann")
    table.seat("ann", seat=3)
    reason, facts = table.refused(table.change(**changes))
    assert (reason, facts["setting"]) == ("SETTING_INVALID", setting)


def test_the_game_does_not_change():
    table = Private()
    hand = replace(table.state.config.hand, game="omaha", limit="pot_limit")
    assert table.refused(table.change(hand=hand))[1]["setting"] == "hand.game"


def test_bots_leave_after_the_hand_where_none_are_wanted_any_more():
    table = Private(bots_fill=3)
    table.seat("hal")
    table.seat("bot.1", is_bot=True)
    assert kinds(table.when(table.change(bots_fill=0))) == ["SettingsChanged", "StandUpRequested", "SeatReleased"]
    assert table.may_sit("bot.2", is_bot=True) == "INVITATION_REQUIRED"


def test_bots_sit_at_a_private_table_where_its_host_wants_them():
    """CL-6."""
    table = Private(bots_fill=2)
    assert table.sees("bot.1", is_bot=True)
    assert not table.sees("bot.1")
    assert table.may_sit("bot.1", is_bot=True) is None
    table.seat("bot.1", is_bot=True)
    table.remove("bot.1")
    assert table.may_sit("bot.1", is_bot=True) == "INVITATION_REQUIRED"
