"""Hands of Capsa told step by step: what is whose business, and an auditor's look at all of it (CS-22, CS-83, P10)."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import get_args

import msgspec
import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli.replay import Wanted, tell
from diwan.core.fairness import deal
from diwan.core.games.capsa import events as capsa
from diwan.core.games.capsa import stakes
from diwan.core.games.capsa.state import EndedCapsa
from diwan.core.hand.events import HandEnded
from diwan.history import Entry, Withheld, fold, hand_steps, own_positions
from diwan.history.words import describe
from diwan.verifier.chain import LogReader
from diwan.wire.mapping import write_reveals
from diwan.wire.stored import public_event, stored_message
from tests.golden.wire.writing import filled
from tests.unit.verifier.capsa_logs import played_capsa
from tests.unit.verifier.forging import Insider

KINDS = (*get_args(capsa.CapsaOnlyEvent.__value__), *get_args(stakes.StakeEvent.__value__))


@cache
def drafted():
    """A hand with drafts and a reveal: its insider, and where it lies in the log."""
    for seed in range(100):
        table = played_capsa(seed, 2)
        for number in range(2):
            one = Insider(table, number)
            core = table.core[one.start() : one.end() + 1]
            kinds = {type(event) for event in core}
            if {capsa.DraftSaved, capsa.SetLocked, capsa.SetsShown} <= kinds:
                return one
    raise AssertionError("no such hand")


def entries(*, is_public=False):
    one, reader = drafted(), LogReader()
    events = one.table.events[one.start() : one.end() + 1]
    return [reader.read_entry(public_event(event) if is_public else event) for event in events]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_has_its_words(kind):
    assert describe(filled(msgspec.inspect.type_info(kind)), {}, 0)


def test_the_fold_of_the_log_is_the_hand_that_was_played():
    """H3."""
    state = fold(entries())
    assert isinstance(state, EndedCapsa)
    assert sum(state.ended.payoffs) == 0


def test_without_withheld_bodies_the_hand_is_told_to_the_same_end():
    """CS-83: events that are for others are told as being there; chips and shown sets are the same."""
    whole, public = hand_steps(entries()), hand_steps(entries(is_public=True))
    assert [step.version for step in public] == [step.version for step in whole]
    assert public[-1].seats == whole[-1].seats
    private = [step for step in public if step.event in {"DraftSaved", "SetLocked"}]
    assert private
    assert all("for its seat alone" in step.what for step in private)


def test_drafts_are_told_to_their_own_seat_alone():
    """CS-22: whoever knows no card of a draft is told that there is one; the seat is told its rows."""
    one, told = drafted(), entries()
    draft = next(entry for entry in told if isinstance(entry.event, capsa.DraftSaved))
    seat = draft.event.seat
    deck = redealt(one, one.table.core[one.start()])
    own, other = [
        deck.reveals(own_positions([entry.event for entry in told], number))
        for number in (seat, next(each.seat for each in told[0].event.seats if each.seat != seat))
    ]
    at = told.index(draft)
    assert hand_steps(told)[at].what == "saves a draft"
    assert hand_steps(told, other)[at].what == "saves a draft"
    assert hand_steps(told, own)[at].what.startswith("saves a draft: ")


def test_a_withheld_event_belongs_to_no_hand():
    entry = Entry(1, 0, b"", Withheld("DraftSaved"))
    assert hand_steps([entry])[0].event == "DraftSaved"
    assert fold([entry]) is None


async def test_an_auditor_who_opens_a_hand_is_told_what_was_arranged():
    """CS-83: OpenHand gives the bodies, and the chain proves that they are those of the log."""
    one = drafted()
    events = one.table.events[one.start() : one.end() + 1]
    started = one.table.core[one.start()]
    deck = redealt(one, started)

    def tables_of(role, _subject):
        async def get_hand(_hand_id):
            messages = [stored_message(public_event(event)) for event in events]
            return pb.GetHandResponse(table_id=str(one.table.stream), events=messages, is_ended=True)

        async def open_hand(_hand_id, *, seat, reason, case_id):
            assert role is Role.AUDITOR
            assert (seat, reason, case_id) == (None, "a complaint", "")
            answer = pb.OpenHandResponse(secret=one.table.secrets[one.hand_id])
            for each in started.seats:
                positions = own_positions(one.table.core[one.start() : one.end() + 1], each.seat)
                write_reveals(answer.seats.add(seat=each.seat).reveals, deck.reveals(positions))
            answer.arranged.extend(stored_message(event) for event in events if public_event(event).body_hash)
            return answer

        return SimpleNamespace(get_hand=get_hand, open_hand=open_hand)

    told = await tell(Wanted(one.hand_id, "auditor", "a complaint", ""), tables_of)
    drafts = [step.what for step in told.steps if step.event == "DraftSaved"]
    assert drafts
    assert not any("for its seat alone" in what or "??" in what for what in drafts)
    assert told.steps[-1].event == HandEnded.__name__


def redealt(one, started):
    """The hand's deck, made again from its secret."""
    return deal(one.hand_id, one.table.secrets[one.hand_id], {seed.seat: seed.seed for seed in started.seeds})
