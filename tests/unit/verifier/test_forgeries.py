"""Every kind of forgery is caught, at the version of the event at fault (P8, F1 to F5, H1, H2, H8)."""

from __future__ import annotations

from functools import cache
from typing import get_args

import pytest
from msgspec.structs import replace

from diwan.core.fairness import Reveal
from diwan.core.hand import events as hand
from diwan.core.table import events as table
from diwan.verifier import Verdict, verify_hand
from diwan.wire.events import decode
from tests.unit.verifier.forging import Insider, stored_fields
from tests.unit.verifier.logs import LoggedEvent, played

VERIFIED, FALSE, OPEN = Verdict.VERIFIED, Verdict.NOT_VERIFIED, Verdict.CANNOT_SAY
FORGERIES = {}
SEEDS = range(40)
HANDS = 3


@cache
def table_of(seed):
    return played(seed, HANDS)


def forgery(*rules, verdict=FALSE):
    """Register a forgery: it edits the log and returns (events, version at fault); LookupError where it cannot."""

    def register(function):
        FORGERIES[function.__name__] = (function, rules, verdict)
        return function

    return register


def version(insider, index):
    return insider.table.events[index].version


# --- the chain ------------------------------------------------------------------------------------------------------


@forgery("HASH_DIFFERS")
def a_byte_of_a_body_is_flipped(one):
    at = one.find(hand.Acted)
    body = bytearray(one.events[at].body)
    body[-1] ^= 1
    one.change_stored(at, body=bytes(body))
    return one.events, version(one, at)


@forgery("PREV_HASH_DIFFERS")
def an_event_is_edited_and_only_its_own_hash_made_anew(one):
    """Even where it says the same: another nonce is another event."""
    at = one.find(hand.PotAwarded)
    one.put(at, one.table.core[at], nonce=bytes(16))
    one.change_stored(at, hash=one.rehash()[at].hash)
    return one.events, version(one, at) + 1


@forgery("VERSION_GAP")
def an_event_is_taken_out(one):
    at = one.find(hand.TurnBegan)
    del one.events[at]
    return one.events, version(one, at)


@forgery("VERSION_GAP")
def two_events_change_places(one):
    at = one.find(hand.TurnBegan)
    one.events[at], one.events[at + 1] = one.events[at + 1], one.events[at]
    return one.events, version(one, at)


@forgery("HAND_NOT_ENDED", verdict=OPEN)
def the_end_is_cut_off(one):
    at = one.find(hand.Acted)
    last = max(i for i in range(at) if isinstance(one.table.core[i], get_args(hand.HandEvent.__value__)))
    return one.events[:at], version(one, last)


@forgery("TIME_RUNS_BACKWARDS")
def an_event_is_recorded_before_the_one_before(one):
    at = one.find(hand.HandEnded)
    one.change_stored(at, recorded_at_ms=one.events[at].recorded_at_ms - 1)
    return one.rehash(), version(one, at)


@forgery("HASH_DIFFERS")
def the_time_of_recording_is_moved(one):
    at = one.find(hand.Acted)
    one.change_stored(at, recorded_at_ms=one.events[at].recorded_at_ms + 1)
    return one.events, version(one, at)


@forgery("MALFORMED")
def a_body_stands_under_another_type(one):
    at = one.find(hand.TurnBegan)
    one.change_stored(at, type_id=16)
    return one.rehash(), version(one, at)


@forgery("UNKNOWN_EVENT", verdict=OPEN)
def a_type_of_newer_code_appears(one):
    at = one.find(hand.TurnBegan)
    one.change_stored(at, type_id=777)
    return one.rehash(), version(one, at)


@forgery("UNKNOWN_EVENT", verdict=OPEN)
def a_body_holds_more_than_it_says(one):
    at = one.find(hand.Acted)
    one.change_stored(at, body=one.events[at].body + b"\xf8\x3f\x01")
    return one.rehash(), version(one, at)


@forgery("NONCE_MISSING")
def the_nonce_is_left_out(one):
    at = one.find(hand.Acted)
    body = one.events[at].body
    assert body[:2] == b"\x0a\x10"
    one.change_stored(at, body=body[18:])
    return one.rehash(), version(one, at)


@forgery("STREAM_DIFFERS")
def an_event_of_another_table_is_put_in(one):
    at = one.find(hand.Acted)
    one.change_stored(at, stream_id=bytes(16))
    return one.rehash(), version(one, at)


@forgery("EPOCH_RUNS_BACKWARDS")
def a_former_owner_writes(one):
    at = one.find(hand.Acted)
    one.change_stored(at, epoch=0)
    return one.rehash(), version(one, at)


# --- the deck -------------------------------------------------------------------------------------------------------


@forgery("SECRET_DIFFERS")
def another_secret_was_used_than_the_one_committed_to(one):
    at = one.start()
    one.change(at, secret_commitment=bytes(32))
    return one.rehash(), version(one, at)


@forgery("SECRET_DIFFERS")
def a_secret_is_committed_to_anew_behind_the_seeds(one):
    at = one.start()
    if not one.table.core[at].seeds:
        raise LookupError
    seeds = one.find_before(table.SeedsCommitted, at)
    one.insert(seeds + 1, table.SecretCommitted(one.table.core[at].hand_no, bytes(32), 0))
    return one.rehash(), version(one, at) + 1


@forgery("SECRET_COMMITTED_LATE")
def the_first_secret_is_committed_to_behind_the_seeds(one):
    """F1: whoever has seen the seats' commitments could choose the secret by them."""
    secret = one.find_anywhere(table.SecretCommitted)
    seeds = one.find_anywhere(table.SeedsCommitted)
    if not one.table.core[secret].hand_no == one.table.core[seeds].hand_no == 1:
        raise LookupError
    one.events.insert(seeds, one.events.pop(secret))
    return one.rehash(), version(one, seeds) - 1


@forgery("SEEDS_NOT_COMMITTED")
def the_commitments_are_left_out(one):
    at = one.start()
    if not one.table.core[at].seeds:
        raise LookupError
    del one.events[one.find_before(table.SeedsCommitted, at)]
    return one.rehash(), version(one, at) - 1


@forgery("SEEDS_NOT_COMMITTED")
def the_same_secret_is_committed_to_again_behind_the_seeds(one):
    at = one.start()
    if not one.table.core[at].seeds:
        raise LookupError
    seeds = one.find_before(table.SeedsCommitted, at)
    again = table.SecretCommitted(one.table.core[at].hand_no, one.table.core[at].secret_commitment, 0)
    one.insert(seeds + 1, again)
    return one.rehash(), version(one, at) + 1


@forgery("SEED_DIFFERS")
def a_seed_is_exchanged(one):
    at = one.start()
    seeds = one.table.core[at].seeds
    if not seeds:
        raise LookupError
    one.change(at, seeds=(replace(seeds[0], seed=bytes(32)), *seeds[1:]))
    return one.rehash(), version(one, at)


@forgery("ABSENT_DIFFER")
def a_contributor_is_called_absent(one):
    at = one.start()
    seeds = one.table.core[at].seeds
    if not seeds:
        raise LookupError
    one.change(at, seeds=seeds[1:])
    return one.rehash(), version(one, at)


@forgery("REVEAL_FALSE")
def another_deck_is_committed_to(one):
    """The cards are proved against the root: a root of another deck proves none of them."""
    board = one.first(hand.BoardDealt)
    one.change(one.start(), deck_root=bytes(32))
    return one.rehash(), version(one, board)


def changed_reveal(one, kind, change):
    at = one.find(kind)
    reveals = list(one.reveals(at))
    reveals[-1] = change(reveals[-1])
    one.put(at, one.table.core[at], tuple(reveals))
    return one.rehash(), version(one, at)


@forgery("REVEAL_FALSE")
def another_card_is_turned_up(one):
    return changed_reveal(one, hand.BoardDealt, lambda reveal: replace(reveal, card=(reveal.card + 1) % 52))


@forgery("REVEAL_FALSE")
def another_card_is_shown(one):
    return changed_reveal(one, hand.CardsShown, lambda reveal: replace(reveal, card=(reveal.card + 1) % 52))


@forgery("REVEAL_FALSE")
def a_salt_is_changed(one):
    return changed_reveal(one, hand.BoardDealt, lambda reveal: replace(reveal, salt=bytes(32)))


@forgery("REVEAL_FALSE")
def a_path_is_cut(one):
    return changed_reveal(one, hand.BoardDealt, lambda reveal: replace(reveal, path=reveal.path[:-1]))


@forgery("REVEAL_FALSE")
def a_card_is_no_card(one):
    return changed_reveal(one, hand.BoardDealt, lambda reveal: replace(reveal, card=52))


@forgery("BATCH_DIFFERS")
def a_card_is_dealt_from_the_bottom(one):
    """F4: the reveal is true, the position is not the next one."""
    at = one.find(hand.BoardDealt)
    if one.hand_id != one.table.hand_ids[-1]:
        raise LookupError("the table's deck is that of its last hand")
    bottom = one.table.deck.reveal(51)
    event = one.table.core[at]
    one.put(at, replace(event, positions=(*event.positions[:-1], 51)), (*one.reveals(at)[:-1], bottom))
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def hidden_cards_change_hands(one):
    at = one.find(hand.HoleCardsDealt)
    holdings = one.table.core[at].holdings
    one.change(at, holdings=(holdings[1], holdings[0], *holdings[2:]))
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def two_faults_in_one_batch_and_the_first_is_named(one):
    """The edit has hashes that hold; the flipped byte behind it breaks the chain."""
    at = one.find(hand.PotAwarded)
    pot = one.table.core[at]
    if not isinstance(one.table.core[at - 1], hand.BettingRoundEnded):
        raise LookupError  # noqa: TRY004  (the hand has no such place)
    one.change(at - 1, total=one.table.core[at - 1].total + 1)
    one.change(at, amount=pot.amount)
    events = one.rehash()
    body = bytearray(events[at].body)
    body[-1] ^= 1
    events[at] = LoggedEvent(**{**stored_fields(events[at]), "body": bytes(body)})
    return events, version(one, at - 1)


# --- the play -------------------------------------------------------------------------------------------------------


@forgery("ACT_REFUSED")
def somebody_else_acts(one):
    at = one.find(hand.Acted, lambda event: event.decided_by == "player")
    seats = [seat.seat for seat in one.table.core[one.start()].seats]
    other = next(seat for seat in seats if seat != one.table.core[at].seat)
    one.change(at, seat=other)
    return one.rehash(), version(one, at)


@forgery("ACT_REFUSED")
def a_decision_answers_another_turn(one):
    at = one.find(hand.Acted)
    one.change(at, turn=one.table.core[at].turn + 1)
    return one.rehash(), version(one, at)


@forgery("ACT_REFUSED", "BATCH_DIFFERS")
def a_call_becomes_a_fold(one):
    at = one.find(hand.Acted, lambda event: event.kind == "call")
    one.change(at, kind="fold")
    return one.rehash(), version(one, at)


@forgery("ACT_REFUSED")
def a_check_is_made_against_a_bet(one):
    at = one.find(hand.Acted, lambda event: event.kind == "call")
    one.change(at, kind="check", added=0)
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_call_costs_less(one):
    at = one.find(hand.Acted, lambda event: event.kind == "call" and event.added > 1)
    one.change(at, added=one.table.core[at].added - 1)
    return one.rehash(), version(one, at)


@forgery("ACT_REFUSED")
def a_player_decides_after_the_deadline(one):
    at = one.find(hand.Acted, lambda event: event.decided_by == "player")
    one.change(at, received_at_ms=one.table.core[at].received_at_ms + 10**9)
    return one.rehash(), version(one, at)


@forgery("ACT_REFUSED")
def the_clock_decides_before_the_deadline(one):
    at = one.find(hand.Acted, lambda event: event.decided_by == "clock")
    one.change(at, received_at_ms=one.table.core[at].received_at_ms - 10**6)
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def the_clock_folds_where_it_could_check(one):
    at = one.find(hand.Acted, lambda event: event.decided_by == "clock" and event.kind == "check")
    one.change(at, kind="fold")
    return one.rehash(), version(one, at)


@forgery("NOBODY_LEFT")
def the_room_decides_for_somebody_who_stays(one):
    at = one.find(hand.Acted, lambda event: event.decided_by == "player")
    one.change(at, decided_by="system")
    return one.rehash(), version(one, at)


@forgery("NOBODY_LEFT")
def the_room_decides_for_somebody_whom_the_host_sent_away(one):
    """TB-3: such a player decides the hand to its end; a host folds nobody."""
    events = one.table.core
    seat = events[one.find(hand.Acted, lambda event: event.decided_by == "system")].seat
    left = [at for at, event in enumerate(events) if isinstance(event, table.StandUpRequested) and event.seat == seat]
    for at in left:
        one.change(at, cause="host", requested_by="hal")
    acted = next(
        at
        for at, event in enumerate(events)
        if at > left[0] and isinstance(event, hand.Acted) and (event.seat, event.decided_by) == (seat, "system")
    )
    return one.rehash(), version(one, acted)


@forgery("BATCH_DIFFERS")
def a_deadline_is_shortened(one):
    at = one.find(hand.TurnBegan)
    one.change(at, deadline_ms=one.table.core[at].deadline_ms - 1000)
    return one.rehash(), version(one, at)


@forgery("ACT_REFUSED")
def an_outage_takes_time_away(one):
    at = one.find(hand.DeadlineMoved)
    one.change(at, deadline_ms=one.table.core[at].deadline_ms - 10**6)
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_blind_is_halved(one):
    at = one.find(hand.Posted, lambda event: event.kind == "big_blind" and event.amount > 1)
    one.change(at, amount=one.table.core[at].amount // 2)
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_pot_goes_to_somebody_else(one):
    at = one.find(hand.PotAwarded)
    seats = [seat.seat for seat in one.table.core[one.start()].seats]
    shares = one.table.core[at].shares
    other = next(seat for seat in seats if seat != shares[0].seat)
    one.change(at, shares=(replace(shares[0], seat=other), *shares[1:]))
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_hand_is_ranked_higher(one):
    at = one.find(hand.CardsShown)
    one.change(at, rank=one.table.core[at].rank + 1)
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_showing_is_left_out(one):
    at = one.find(hand.CardsShown)
    del one.events[at]
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_return_is_left_out(one):
    at = one.find(hand.BetReturned)
    del one.events[at]
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def an_outcome_is_slipped_in(one):
    at = one.find(hand.HandEnded)
    one.insert(at, hand.BetReturned(one.table.core[one.start()].seats[0].seat, 5))
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def final_stacks_are_raised(one):
    at = one.find(hand.HandEnded)
    stacks = one.table.core[at].stacks
    one.change(at, stacks=(stacks[0] + 1, *stacks[1:]))
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def payoffs_are_shifted(one):
    at = one.find(hand.HandEnded)
    payoffs = one.table.core[at].payoffs
    one.change(at, payoffs=(payoffs[0] + 1, payoffs[1] - 1, *payoffs[2:]))
    return one.rehash(), version(one, at)


@forgery("DIGEST_DIFFERS")
def the_digest_is_of_another_outcome(one):
    at = one.find(hand.HandEnded)
    one.change(at, digest=bytes(32))
    return one.rehash(), version(one, at)


@forgery("BATCH_DIFFERS")
def a_void_gives_back_too_much(one):
    at = one.find(hand.HandVoided, lambda event: event.refunds)
    refunds = one.table.core[at].refunds
    one.change(at, refunds=(replace(refunds[0], amount=refunds[0].amount + 1), *refunds[1:]))
    return one.rehash(), version(one, at)


@forgery("BATCH_SPLIT")
def a_batch_is_split_over_two_commands(one):
    at = one.find(hand.HandEnded)
    one.change_stored(at, command_id=bytes(16))
    return one.rehash(), version(one, at)


@forgery("RULES_UNKNOWN", verdict=OPEN)
def rules_are_named_that_nobody_knows(one):
    at = one.start()
    one.change(at, rules_version=99)
    return one.rehash(), version(one, at)


@forgery("OUT_OF_PLACE")
def a_hand_begins_twice(one):
    at = one.find(hand.HandEnded)
    one.insert(at, one.table.core[one.start()])
    return one.rehash(), version(one, at)


@forgery("HAND_NOT_FOUND", verdict=OPEN)
def a_hand_is_taken_out(one):
    at = one.start()
    del one.events[at:]
    return one.rehash(), 0


# --------------------------------------------------------------------------------------------------------------------


def attempts(function):
    """The forgery on every table where it can be made."""
    for seed in SEEDS:
        for number in range(HANDS):
            one = Insider(table_of(seed), number)
            try:
                events, at = function(one)
            except LookupError:
                continue
            yield seed, one.hand_id, events, at


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_caught_at_its_event(name):
    function, rules, verdict = FORGERIES[name]
    tried = 0
    for seed, hand_id, events, at in attempts(function):
        report = verify_hand(events, hand_id)
        assert (report.verdict, report.at_version) == (verdict, at), (seed, report.detail)
        assert report.rule in rules, (seed, report.detail)
        assert report.expected != report.found
        tried += 1
    assert tried >= 2, f"only {tried} tables allowed this forgery"


def test_at_least_twenty_kinds_are_tried():
    assert len(FORGERIES) >= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_honest_hands_raise_no_alarm(seed):
    """P6: every hand of every table, clocks, leavers, outages and voids included."""
    one = table_of(seed)
    for number, hand_id in enumerate(one.hand_ids, 1):
        report = verify_hand(one.events, hand_id)
        assert report.verdict is VERIFIED, report.detail
        assert report.hand_no == number
        assert report.secrets == 1
        assert report.acts >= 2
        assert report.at_version is None
        assert report.detail == ""


def test_who_contributed_and_who_was_absent_is_listed():
    one = table_of(3)
    started = next(event for event in one.core if getattr(event, "hand_id", "") == one.hand_ids[-1])
    report = verify_hand(one.events, one.hand_ids[-1])
    assert report.contributed == tuple(seed.seat for seed in started.seeds)
    assert report.absent == started.absent


def test_every_reveal_is_counted():
    one = table_of(5)
    shown = [decode(event.type_id, event.schema_v, event.body).reveals for event in one.events]
    reports = [verify_hand(one.events, hand_id) for hand_id in one.hand_ids]
    assert sum(report.reveals for report in reports) == sum(map(len, shown)) > 0


@pytest.mark.parametrize("seed", range(10))
def test_a_part_of_the_stream_is_enough_from_the_secrets_commitment_on(seed):
    """F1: the second hand's secret stands in the first hand's beginning."""
    one = table_of(seed)
    first = next(i for i, event in enumerate(one.core) if isinstance(event, hand.HandStarted))
    assert verify_hand(one.events[first:], one.hand_ids[1]).verdict is VERIFIED


def test_without_the_secrets_commitment_it_cannot_be_said():
    one = table_of(4)
    insider = Insider(one)
    report = verify_hand(one.events[insider.start() :], insider.hand_id)
    assert (report.verdict, report.rule) == (OPEN, "EARLIER_EVENTS_MISSING")
    assert report.at_version == version(insider, insider.start())


def test_a_deck_with_a_card_twice_is_caught(monkeypatch):
    """F5: both reveals hold against the root, and still it is no deck."""
    from diwan.core import fairness
    from tests.unit.verifier import logs

    def marked_deal(hand_id, secret, seeds):
        from hashlib import sha256

        from diwan.core.fairness.deck import _LEAF, CommittedDeck
        from diwan.core.hashing import uuid_bytes
        from diwan.core.merkle import tree

        honest = fairness.deal(hand_id, secret, seeds)
        cards = [honest.cards[0]] * 52
        salts = tuple(honest.reveal(position).salt for position in range(52))
        leaves = [
            sha256(_LEAF.pack(0, 7, b"card/v1", 16, uuid_bytes(hand_id), 8, i, 8, cards[i], 32, salts[i])).digest()
            for i in range(52)
        ]
        return CommittedDeck(tuple(cards), salts, tree(leaves))

    monkeypatch.setattr(logs, "deal", marked_deal)
    one = logs.PlayedTable(logs.Random(1))
    one.sit(3)
    one.start_hand()
    while one.state.is_running and not any(isinstance(event, hand.BoardDealt) for event in one.core):
        try:
            one.do(
                logs.Act(
                    one.state.hand.deal.seats[one.state.hand.actor], "call", 0, None, one.state.version, one.now_ms
                )
            )
        except logs.Rejected:
            one.do(
                logs.Act(
                    one.state.hand.deal.seats[one.state.hand.actor], "check", 0, None, one.state.version, one.now_ms
                )
            )
    report = verify_hand(one.events, one.hand_ids[-1])
    at = next(i for i, event in enumerate(one.core) if isinstance(event, hand.BoardDealt))
    assert (report.verdict, report.rule, report.at_version) == (FALSE, "CARD_TWICE", one.events[at].version)


def test_every_single_byte_of_a_stored_hand_counts():
    """H2: flip any byte of any body of a hand, and it is caught at that event."""
    one = table_of(2)
    insider = Insider(one)
    for at in range(insider.start(), len(one.events)):
        event = one.events[at]
        for place in range(0, len(event.body), 7):
            body = bytearray(event.body)
            body[place] ^= 0x10
            events = list(one.events)
            events[at] = LoggedEvent(**{**stored_fields(event), "body": bytes(body)})
            report = verify_hand(events, insider.hand_id)
            assert (report.verdict, report.at_version) == (FALSE, event.version)
            if isinstance(one.core[at], hand.HandEnded):
                return


def test_a_reveal_prints_without_its_card():
    """S6: what verification finds goes into logs."""
    assert "card withheld" in repr(Reveal(3, 17, bytes(32), ()))
