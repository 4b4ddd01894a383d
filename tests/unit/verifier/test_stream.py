"""A table's whole stream is decided again: what no single hand shows is caught here (P8, L10, O3)."""

from __future__ import annotations

from uuid import UUID

import pytest
from msgspec.structs import replace

from diwan.core.hand import events as hand
from diwan.core.table import events as table
from diwan.verifier import Verdict, open_hand, verify_hand, verify_stream
from diwan.verifier.hand import HandCheck, Rule
from diwan.verifier.report import Fault
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.logs import STREAM, TABLE_KIND, played


def verified(events):
    return verify_stream(STREAM.bytes, TABLE_KIND, events)


@pytest.mark.parametrize("seed", range(100, 125))
def test_honest_tables_raise_no_alarm(seed):
    one = played(seed, 4)
    report = verified(one.events)
    assert report.verdict is Verdict.VERIFIED, (report.at_version, report.rule, report.expected, report.found)
    assert report.events == len(one.events)
    assert report.commands == len({event.command_id for event in one.events})
    assert [each.hand_id for each in report.hands] == one.hand_ids
    assert {each.verdict for each in report.hands} == {Verdict.VERIFIED}


@pytest.mark.parametrize("cut", [0.02, 0.1, 0.3, 0.55, 0.8, 0.99])
def test_a_stream_that_goes_on_is_verified_as_far_as_it_has_come(cut):
    one = played(101, 4)
    whole_batches = [
        at for at in range(1, len(one.events)) if one.events[at].command_id != one.events[at - 1].command_id
    ]
    report = verified(one.events[: whole_batches[int(cut * len(whole_batches))]])
    assert report.verdict is Verdict.VERIFIED


FORGERIES = {}


def forgery(*rules):
    def register(function):
        FORGERIES[function.__name__] = (function, rules)
        return function

    return register


@forgery("BATCH_DIFFERS")
def a_player_begins_a_hand_with_more_than_is_in_escrow(one):
    at = one.start()
    seats = one.table.core[at].seats
    one.change(at, seats=(replace(seats[0], stack=seats[0].stack + 100), *seats[1:]))
    return at


@forgery("BATCH_DIFFERS")
def the_button_stays_away_from_somebody(one):
    at = one.start()
    seats = [seat.seat for seat in one.table.core[at].seats]
    other = next(seat for seat in seats if seat != one.table.core[at].button)
    one.change(at, button=other)
    return at


@forgery("HAND_ID_DIFFERS")
def a_hand_takes_an_id_of_its_own(one):
    at = one.start()
    one.change(at, hand_id=str(UUID(int=7)))
    return at


@forgery("BATCH_DIFFERS", "ACT_REFUSED")
def more_chips_arrive_than_were_asked_for(one):
    at = one.find_before(table.SeatFunded, one.start())
    one.change(at, amount=one.table.core[at].amount + 1)
    return at


@forgery("ACT_REFUSED")
def chips_arrive_twice(one):
    at = one.find_before(table.SeatFunded, one.start())
    one.insert(at + 1, one.table.core[at])
    one.change_stored(at + 1, command_id=bytes(16))
    return at + 1


@forgery("BATCH_DIFFERS")
def somebody_goes_home_with_more(one):
    at = one.find_anywhere(table.SeatReleased)
    one.change(at, amount=one.table.core[at].amount + 1)
    return at


@forgery("OUT_OF_PLACE")
def chips_go_home_by_themselves(one):
    at = one.start()
    seat = one.table.core[at].seats[0]
    one.insert(at, table.SeatReleased(seat.seat, seat.player, seat.sitting, seat.stack, "player", 0))
    one.change_stored(at, command_id=bytes(16))
    return at


@forgery("ACT_REFUSED")
def an_older_epoch_is_claimed(one):
    at = one.start()
    one.insert(at, table.OwnerChanged(1, "zombie", 0))
    one.change_stored(at, command_id=bytes(16))
    return at


@forgery("OUT_OF_PLACE")
def a_pot_is_paid_after_the_hand(one):
    at = one.end()
    seat = one.table.core[one.start()].seats[0].seat
    one.insert(at + 1, hand.PotAwarded(0, 5, (seat,), (hand.Share(seat, 5),)), like=at)
    return at + 1


@forgery("OUT_OF_PLACE")
def commitments_are_closed_twice(one):
    at = one.find_before(table.SeedsCommitted, one.start())
    one.insert(at + 1, one.table.core[at])
    one.change_stored(at + 1, command_id=bytes(16))
    return at + 1


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_caught_at_its_event(name):
    function, rules = FORGERIES[name]
    tried = 0
    for seed in range(100, 115):
        one = Insider(played(seed, 3), 1)
        try:
            at = function(one)
        except LookupError:
            continue
        report = verified(one.rehash())
        assert (report.verdict, report.at_version) == (Verdict.NOT_VERIFIED, at + 1), (seed, report)
        assert report.rule in rules, report
        tried += 1
    assert tried >= 2


def test_a_stream_of_another_table_is_another_chain():
    one = played(100, 1)
    report = verify_stream(bytes(16), TABLE_KIND, one.events)
    assert (report.rule, report.at_version) == ("PREV_HASH_DIFFERS", 1)
    report = verify_stream(STREAM.bytes, 2, one.events)
    assert (report.rule, report.at_version) == ("PREV_HASH_DIFFERS", 1)


def test_a_card_that_was_never_turned_up_leaves_it_open():
    """DESIGN 3: whoever has only revealed cards cannot say what an unrevealed one would have decided."""
    one = played(100, 1)
    from diwan.verifier.chain import LogReader

    reader, check = LogReader(), HandCheck()
    entries = [reader.read_entry(event) for event in one.events]
    first = Insider(one, 0).start()
    assert any(entry.reveals for entry in entries)
    hidden = [replace(entry, reveals=()) for entry in entries[first:]]
    with pytest.raises(Fault) as caught:
        any(check.take(entry) for entry in hidden)
    assert caught.value.rule is Rule.CARD_NOT_REVEALED
    assert caught.value.verdict is Verdict.CANNOT_SAY


# --- openings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(100, 106))
def test_with_the_secret_the_whole_deck_is_borne_out(seed):
    """F5: 52 cards, equal to the shuffle of secret and seeds, equal to everything that was shown."""
    one = played(seed, 2)
    for hand_id in one.hand_ids:
        opening = open_hand(one.events, hand_id, one.secrets[hand_id])
        assert opening.is_verified, opening.faults
    assert opening.deck.cards == one.deck.cards


def test_another_secret_bears_nothing_out():
    one = played(100, 1)
    opening = open_hand(one.events, one.hand_ids[0], bytes(32))
    assert {fault.check for fault in opening.faults} >= {"SECRET_DIFFERS", "ROOT_DIFFERS"}


def test_an_opening_of_a_hand_that_is_not_there_is_a_fault():
    one = played(100, 1)
    with pytest.raises(Fault, match="HAND_NOT_FOUND"):
        open_hand(one.events, str(UUID(int=7)), bytes(32))


def test_a_verdict_names_its_reason_in_one_line():
    one = Insider(played(100, 1))
    at = one.find(hand.HandEnded)
    one.change(at, digest=bytes(32))
    report = verify_hand(one.rehash(), one.hand_id)
    assert report.detail.startswith(f"DIGEST_DIFFERS at version {at + 1}: expected HandEnded(")
