"""Notices: what a table's events tell players, and never a card (P10, CL-3, NK-34)."""

from typing import get_args, get_type_hints

import pytest

from diwan.api.table.v1 import notices_pb2
from diwan.core.games.capsa.events import AnswerAsked, SettingBegan
from diwan.core.hand.events import TurnBegan, WindowOpened
from diwan.core.table.commands import RefuseBuyIn, RequestTopUp
from diwan.core.table.events import SatOut, SeatReleased
from diwan.core.table.evolve import evolve
from diwan.core.table.hosting.events import HostChanged, InvitationRevoked, InvitationSent
from diwan.core.table.notices import NOTICES_AN_EVENT_MAX, Notice, NoticeKind, Sitter, notices_of
from diwan.core.table.waiting.events import SeatHeld, WaitEnded
from services.table.notices import _TOLD_BY, KIND_NUMBER
from tests.property.test_hosting import Story
from tests.unit.table.play import Table, asking
from tests.unit.table.test_hosting import Private
from tests.unit.wire.test_events import EVERY_EVENT, PAYLOADS

ANN, BOT = Sitter("ann", is_bot=False), Sitter("bot.1", is_bot=True)
SITTERS = {2: ANN, 3: BOT, 5: Sitter("ben", is_bot=False)}


def kinds(events, sitters=SITTERS):
    return [(notice.player, notice.kind) for event in events for notice in notices_of(event, sitters)]


def test_a_player_is_told_that_a_decision_waits_and_until_when():
    assert notices_of(TurnBegan(2, 17, 9_000), SITTERS) == (
        Notice(player="ann", kind="your_turn", seat=2, turn=17, deadline_ms=9_000),
    )


def test_a_player_under_an_anchor_is_told_of_its_window():
    """NK-34: 8 s to answer."""
    assert notices_of(WindowOpened(2, 18, 8_000, 5_000), SITTERS) == (
        Notice(player="ann", kind="anchored", seat=2, turn=18, deadline_ms=8_000),
    )


def test_everybody_who_must_lay_out_cards_is_told_and_who_is_asked_to_play():
    assert kinds([SettingBegan((5, 2, 3), 4, 60_000)]) == [("ann", "set_cards"), ("ben", "set_cards")]
    assert kinds([AnswerAsked(5, 7, 10_000)]) == [("ben", "answer_asked")]


def test_bots_and_empty_seats_are_told_nothing():
    """F10: bots have their streams."""
    for event in (TurnBegan(3, 1, 1), TurnBegan(8, 1, 1), SatOut(3, "clock", 1)):
        assert notices_of(event, SITTERS) == ()


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("operator", "removed"),
        ("host", "removed"),
        ("disconnected", "seat_given_up"),
        ("table_closed", "table_closed"),
        ("player", None),
        ("yielded", None),
    ],
)
def test_who_loses_a_seat_without_asking_is_told_why_and_how_much_went_home(cause, kind):
    told = notices_of(SeatReleased(2, "ann", "sitting", 340, cause, 1), SITTERS)
    expected = () if kind is None else (Notice(player="ann", kind=kind, seat=2, amount=340),)
    assert told == expected


@pytest.mark.parametrize("cause", ["clock", "busted", "disconnected", "player"])
def test_who_sits_out_without_asking_is_told_why(cause):
    told = notices_of(SatOut(2, cause, 1), SITTERS)
    assert told == (() if cause == "player" else (Notice(player="ann", kind="sat_out", seat=2, cause=cause),))


def test_guests_are_told_of_invitations_and_of_the_host_s_role():
    assert notices_of(InvitationSent("cid", "hal", False, 77, 1), SITTERS) == (  # noqa: FBT003
        Notice(player="cid", kind="invited", deadline_ms=77),
    )
    assert kinds([InvitationRevoked("cid", "hal", False, 1)]) == [("cid", "invitation_revoked")]  # noqa: FBT003
    assert kinds([HostChanged("ann", "left", "hal", False, 1)]) == [("ann", "became_host")]  # noqa: FBT003


def test_who_waits_is_told_of_the_seat_that_is_kept_and_that_the_wait_is_over_unasked():
    """CL-6."""
    assert notices_of(SeatHeld(4, "eve", 60_000, 1), SITTERS) == (
        Notice(player="eve", kind="seat_ready", seat=4, deadline_ms=60_000),
    )
    for cause in ("expired", "closed", "not_invited"):
        assert notices_of(WaitEnded("eve", cause, 1), {}) == (Notice(player="eve", kind="wait_ended", cause=cause),)
    for cause in ("seated", "left"):
        assert notices_of(WaitEnded("eve", cause, 1), {}) == ()


def test_a_removed_guest_is_told_once():
    """Who sits is told when the seat is left, everybody else at once."""
    table = Private()
    table.let_in("ann", "ben")
    table.seat("ann")
    told = []
    for player in ("ann", "ben"):
        before = sitters_of(table.state)
        told += kinds(table.remove(player), before)
    assert told == [("ann", "removed"), ("ben", "removed")]


def sitters_of(state):
    return {seat.seat: Sitter(seat.player, seat.is_bot) for seat in state.seats}


def test_chips_that_come_or_are_refused_are_told_of():
    table = Table()
    table.when(asking("ann", "t1", table.now))
    refused = table.when(RefuseBuyIn("t1", "EXCEEDS_BALANCE", table.now))
    assert notices_of(refused[0], {0: ANN}) == (
        Notice(player="ann", kind="seat_refused", seat=0, cause="EXCEEDS_BALANCE"),
    )
    table.seat("ann", amount=50)
    funded = next(event for event in table.batches[-1] if type(event).__name__ == "SeatFunded")
    assert notices_of(funded, {0: ANN}) == (Notice(player="ann", kind="seat_funded", seat=0, amount=50),)
    requested = table.when(RequestTopUp("ann", 20, "t2", table.now))
    assert notices_of(requested[0], {0: ANN}) == ()


def test_the_kinds_are_those_of_the_contract_and_every_event_that_tells_is_read():
    assert set(get_args(NoticeKind.__value__)) == set(KIND_NUMBER)
    assert len(set(KIND_NUMBER.values())) == len(KIND_NUMBER)
    telling = {"TurnBegan", "WindowOpened", "SettingBegan", "AnswerAsked", "SeatFunded", "BuyInRefused", "SatOut"}
    telling |= {"SeatReleased", "InvitationSent", "InvitationRevoked", "GuestRemoved", "HostChanged"}
    telling |= {"SeatHeld", "WaitEnded", "EntrantSeated", "EntrantReleased"}
    assert {PAYLOADS[name].number for name in telling} == _TOLD_BY
    assert telling <= {kind.__name__ for kind in EVERY_EVENT}


def test_a_notice_has_no_place_for_a_card():
    """P10: its fields are texts, numbers of chips and times, a seat and a turn; nothing of bytes, positions or reveals."""
    hints = get_type_hints(Notice)
    assert set(hints) == {"player", "kind", "seat", "turn", "deadline_ms", "amount", "cause"}
    descriptor = notices_pb2.Notice.DESCRIPTOR
    assert {field.name for field in descriptor.fields} == {*hints, "cursor", "table_id", "at_ms"}
    assert all(field.message_type is None and field.type != field.TYPE_BYTES for field in descriptor.fields)
    assert not any(field.is_repeated for field in descriptor.fields)


def test_whatever_happens_only_people_are_told_and_few_things_at_once():
    """Over random tables: a notice is for a person that the event is about, and a fold of the log gives them again."""
    assert sum(told_in(Story(seed, 100).table.batches) for seed in range(40)) > 100


def told_in(batches):
    state, told = None, 0
    for batch in batches:
        for event in batch:
            sitters = {} if state is None else sitters_of(state)
            state = evolve(state, event)
            sitters |= sitters_of(state)
            notices = notices_of(event, sitters)
            assert notices == notices_of(event, dict(sitters))
            assert len(notices) <= NOTICES_AN_EVENT_MAX
            assert not any(notice.player.startswith("bot.") for notice in notices)
            told += len(notices)
            if isinstance(event, TurnBegan) and not sitters[event.seat].is_bot:
                assert [notice.player for notice in notices] == [sitters[event.seat].player]
    return told
