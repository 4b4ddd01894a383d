"""Hands of Capsa are decided again from their log, and what is not is said (P6, P8, CS-85)."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from diwan.core.fairness import Reveal
from diwan.core.games.capsa import events as capsa
from diwan.core.games.capsa import stakes
from diwan.core.hand.events import HandEnded
from diwan.verifier import Verdict, open_hand, verify_hand, verify_stream
from diwan.wire.events import decode
from diwan.wire.stored import withheld
from tests.unit.verifier.capsa_logs import played_capsa
from tests.unit.verifier.forging import Insider

SEEDS = range(24)


@cache
def table_of(seed):
    return played_capsa(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_honest_log_verifies(seed):
    table = table_of(seed)
    report = verify_stream(table.stream.bytes, 1, table.events)
    assert report.is_verified, (report.at_version, report.rule, report.expected, report.found)
    assert [hand.hand_id for hand in report.hands] == table.hand_ids
    for hand_id in table.hand_ids:
        hand = verify_hand(table.events, hand_id)
        assert hand.is_verified, hand.detail


@pytest.mark.parametrize("seed", SEEDS)
def test_with_the_secret_no_card_is_unseen(seed):
    table = table_of(seed)
    for hand_id in table.hand_ids:
        opening = open_hand(table.events, hand_id, table.secrets[hand_id])
        assert not opening.faults
        hand = verify_hand(table.events, hand_id, opening.deck.cards)
        assert hand.is_verified, hand.detail
        assert hand.unseen == ()


def test_seats_that_showed_nothing_are_named():
    """CS-57, CS-84: who surrendered, and who was left alone."""
    named = set()
    for seed in SEEDS:
        table = table_of(seed)
        events = dict(zip([event.version for event in table.events], table.core, strict=True))
        for report in verify_stream(table.stream.bytes, 1, table.events).hands:
            of_hand = [events[at] for at in range(report.first_version, report.last_version + 1)]
            dealt = {seat.seat for seat in of_hand[0].seats}
            shown = {event.seat for event in of_hand if isinstance(event, capsa.NaturalShown)}
            shown |= {each.seat for event in of_hand if isinstance(event, capsa.SetsShown) for each in event.sets}
            assert set(report.unseen) == dealt - shown
            named |= {len(report.unseen)}
    assert {0, 1} < named


def test_a_hand_that_still_runs_is_no_fault():
    table = table_of(0)
    last = next(at for at in reversed(range(len(table.core))) if isinstance(table.core[at], capsa.SettingBegan))
    report = verify_stream(table.stream.bytes, 1, table.events[: last + 1])
    assert report.is_verified, report.found


def test_withheld_bodies_leave_the_chain_whole_and_nothing_else_to_say():
    """CS-83: who may not see a draft still sees that the log goes on where it should."""
    table = next(table_of(seed) for seed in SEEDS if any(isinstance(e, capsa.DraftSaved) for e in table_of(seed).core))
    kept = [
        withheld(event) if isinstance(core, capsa.DraftSaved | capsa.SetLocked) else event
        for event, core in zip(table.events, table.core, strict=True)
    ]
    report = verify_stream(table.stream.bytes, 1, kept)
    assert (report.verdict, report.rule) == (Verdict.CANNOT_SAY, "BODY_WITHHELD")
    at = next(index for index, event in enumerate(kept) if event.body_hash)
    kept[at] = replace(kept[at], body_hash=bytes(32))
    report = verify_stream(table.stream.bytes, 1, kept)
    assert (report.verdict, report.rule, report.at_version) == (Verdict.NOT_VERIFIED, "HASH_DIFFERS", kept[at].version)


def changed(event):
    """What somebody might change in a log, each with the rules that may catch it."""
    match event:
        case capsa.SetLocked(arrangement=rows, source="player") if rows is not None:
            yield replace(event, arrangement=replace(rows, front=rows.back[:3]))
        case capsa.SetLocked(source="server"):
            yield replace(event, source="draft")
        case capsa.Answered():
            yield replace(event, answer="surrender" if event.answer == "play" else "play")
        case capsa.NaturalShown():
            yield replace(event, units=event.units + 1)
        case capsa.RoyaltiesDeclared():
            yield replace(event, standings=event.standings[::-1])
        case capsa.PairSettled():
            yield replace(event, units=event.units + 1)
            yield replace(event, chips=event.chips + 1)
        case capsa.SettingBegan():
            yield replace(event, deadline_ms=event.deadline_ms + 1)
        case capsa.ThirteenDealt():
            yield replace(event, holdings=event.holdings[::-1])
        case stakes.StakeAgreed():
            yield replace(event, unit=event.unit + 1)
        case HandEnded():
            yield replace(event, digest=bytes(32))


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_event_is_caught_though_every_hash_was_made_anew(seed):
    """P8: an insider rewrites the log; the rules find it."""
    table = table_of(seed)
    caught = 0
    for at, event in enumerate(table.core):
        for forged in changed(event):
            insider = Insider(table)
            proofs = decode(table.events[at].type_id, 1, table.events[at].body).reveals
            insider.put(at, forged, reveals=proofs) if proofs else insider.put(at, forged)
            report = verify_stream(table.stream.bytes, 1, insider.rehash())
            assert report.verdict is Verdict.NOT_VERIFIED, forged
            caught += 1
    assert caught > 10


def test_a_shown_card_that_is_another_is_caught():
    """F3."""
    table = next(table_of(seed) for seed in SEEDS if any(isinstance(e, capsa.SetsShown) for e in table_of(seed).core))
    at = next(at for at, event in enumerate(table.core) if isinstance(event, capsa.SetsShown))
    first, *rest = decode(table.events[at].type_id, 1, table.events[at].body).reveals
    other = Reveal(first.position, (first.card + 1) % 52, first.salt, first.path)
    insider = Insider(table)
    insider.put(at, table.core[at], reveals=(other, *rest))
    report = verify_stream(table.stream.bytes, 1, insider.rehash())
    assert (report.verdict, report.rule) == (Verdict.NOT_VERIFIED, "REVEAL_FALSE")
