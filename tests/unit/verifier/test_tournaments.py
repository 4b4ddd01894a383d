"""Tournaments are decided again from their bytes, and every draw from the secret that was committed to (F1, F7)."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

import pytest
from msgspec.structs import replace

from diwan.core.tournament import events as e
from diwan.core.transparency.checkpoint import origin_of
from diwan.core.transparency.note import KeyType
from diwan.core.transparency.policy import k_of_n
from diwan.history.bundle import FORMAT, CheckpointRecord, HeaderRecord, bundle_lines
from diwan.verifier import Verdict
from diwan.verifier.bundle import verify_bundle
from diwan.verifier.bundled import Wanted, check_report
from diwan.verifier.hand import check_hand
from diwan.verifier.report import Fault
from diwan.verifier.tournament import TournamentReport, verify_tournament
from tests.unit.verifier.games import played_game
from tests.unit.verifier.registers import HOUSE, WITNESSES, Feed, House, key_of, signed
from tests.unit.verifier.tournaments import STREAM, TOURNAMENT_ID, simulated, stored


@cache
def played(seed, kind="any"):
    return simulated(seed, kind)


def verified(batches):
    return verify_tournament(STREAM.bytes, stored(batches))


@pytest.mark.parametrize(("seed", "kind"), [*((seed, "spin") for seed in range(4)), (1, "sit"), (2, "any")])
def test_honest_tournaments_are_verified(seed, kind):
    report = verified(played(seed, kind).batches)
    assert report.is_verified, (report.at_version, report.rule, report.expected, report.found)
    assert report.draws >= 1
    assert bool(report.multiplier) is (kind == "spin")
    assert report.played


def edited(seed, kind, event_type, change):
    """Verify a log in which an insider changed the first event of a kind and hashed everything anew."""
    batches = [list(batch) for batch in played(seed, kind).batches]
    version = 0
    for batch in batches:
        for at, event in enumerate(batch):
            version += 1
            if isinstance(event, event_type):
                batch[at] = change(event)
                return verified(batches), version
    raise LookupError(event_type.__name__)


@pytest.mark.parametrize(
    ("event_type", "change", "rules"),
    [
        (e.Drawn, lambda one: replace(one, secret=bytes(32)), {"SECRET_DIFFERS"}),
        (e.Drawn, lambda one: replace(one, secret=b""), {"SECRET_DIFFERS"}),
        (e.Drawn, lambda one: replace(one, entrants_digest=sha256(b"others").digest()), {"BATCH_DIFFERS"}),
        (e.MultiplierDrawn, lambda one: replace(one, times=1000), {"BATCH_DIFFERS"}),
        (e.MultiplierDrawn, lambda one: replace(one, line=(one.line + 1) % 8), {"BATCH_DIFFERS"}),
        (e.SeatsDrawn, lambda one: replace(one, seats=one.seats[::-1]), {"BATCH_DIFFERS"}),
        (e.TableOpened, lambda one: replace(one, button=(one.button + 1) % 3), {"BATCH_DIFFERS"}),
        (e.PoolFixed, lambda one: replace(one, prizes=(one.prizes[0] + 1, *one.prizes[1:])), {"BATCH_DIFFERS"}),
        (e.TournamentCreated, lambda one: replace(one, commitment=bytes(32)), {"SECRET_DIFFERS"}),
    ],
)
def test_a_forged_draw_is_caught_at_its_place(event_type, change, rules):
    """F1: another secret, multiplier, seat, button or prize than those that follow from what was committed to."""
    report, version = edited(1, "spin", event_type, change)
    assert report.verdict is Verdict.NOT_VERIFIED
    assert report.rule in rules
    assert report.at_version == version or event_type is e.TournamentCreated


def test_a_forged_result_is_caught():
    """A stack that a hand did not leave: chips neither come nor go."""

    def richer(one):
        first = one.seats[0]
        return replace(one, seats=(replace(first, stack_after=first.stack_after + 100), *one.seats[1:]))

    report, _ = edited(2, "spin", e.HandPlayed, richer)
    assert report.verdict is Verdict.NOT_VERIFIED


def test_a_part_of_a_stream_cannot_be_said_anything_of():
    events = stored(played(1, "spin").batches)
    assert verify_tournament(STREAM.bytes, events[3:]).rule == "VERSION_GAP"
    cut = verify_tournament(STREAM.bytes, events[:-1])
    assert cut.verdict is Verdict.NOT_VERIFIED, "the last command's batch is cut"


# --- in a bundle -----------------------------------------------------------------------------------------------------


def bundle_of(batches, subject=TOURNAMENT_ID, events=None):
    """A bundle of a tournament under a signed checkpoint."""
    feed = Feed(3, stored(batches) if events is None else events)
    key = key_of(origin_of(HOUSE, 3), KeyType.ED25519)
    header = HeaderRecord(FORMAT, HOUSE, "tournament", subject, "public", None)
    checkpoint = CheckpointRecord(3, signed(feed.head(), key), ())
    return list(bundle_lines(header, [checkpoint], {3: len(feed.events)}, [], feed.sources(feed.events)))


def judged(lines):
    logs = [key_of(origin_of(HOUSE, 3), KeyType.ED25519).verifier]
    policy = k_of_n(logs, {name: key.verifier for name, key in WITNESSES.items()}, 2)
    return verify_bundle(lines, policy)[0]


def test_a_spins_bundle_shows_that_its_multiplier_was_drawn():
    """F1: anybody makes the draw again, from a secret that was committed to before anybody entered."""
    report = judged(bundle_of(played(3, "spin").batches))
    assert report.is_verified, [one.text for one in report.findings]
    assert report.multiplier in {2, 4, 6, 10, 25, 100, 200, 1000}
    assert report.draws >= 1


def test_a_forged_multiplier_is_named_in_its_bundle():
    batches = [list(batch) for batch in played(3, "spin").batches]
    for batch in batches:
        for at, event in enumerate(batch):
            if isinstance(event, e.MultiplierDrawn):
                batch[at] = replace(event, times=event.times + 1)
    report = judged(bundle_of(batches))
    assert report.verdict is Verdict.NOT_VERIFIED
    assert report.findings[0].rule == "BATCH_DIFFERS"
    assert report.findings[0].global_seq > 0


def test_a_tournament_that_is_cut_off_is_not_called_verified():
    """P8: what was paid behind the cut would go unseen; so far everything holds."""
    batches = played(3, "spin").batches
    for count in (1, len(batches) // 2, len(batches) - 1):
        report = judged(bundle_of(batches[:count]))
        assert report.verdict is Verdict.CANNOT_SAY
        assert [one.rule.value for one in report.findings] == ["TOURNAMENT_NOT_ENDED"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"button": 1}, "button"),
        ({"small_blind": 1}, "small blind's place"),
        ({"big_blind": 1}, "big blind's place"),
        ({"is_void": True}, "void"),
        ({"started_at_ms": 1}, "beginning"),
        ({"ended_at_ms": 1}, "end"),
        ({"table_version": 1}, "version"),
    ],
)
def test_what_a_tournament_was_told_of_a_hand_is_what_the_hand_says(change, name):
    """Who is moved, and when, follows from more than the stacks: button, places of the blinds and times are held to it too."""
    wanted, report = a_hand_that_was_told()
    check_report(wanted, TOURNAMENT_ID, report({}))
    with pytest.raises(Fault, match=name) as caught:
        check_report(wanted, TOURNAMENT_ID, report(change))
    assert (caught.value.rule, caught.value.version) == ("REPORT_DIFFERS", wanted.report.last_version)


@pytest.mark.parametrize(
    ("phase", "cancelled", "others", "is_caught"),
    [
        ("finished", "", (), True),
        ("finished", "", (2, 3), True),
        ("finished", "operator", (), False),
        ("finished", "operator", (2,), True),
        ("paying", "", (), False),
        ("playing", "", (), False),
    ],
)
def test_a_hand_that_a_finished_tournament_was_never_told_of_is_not_accepted(phase, cancelled, others, is_caught):
    """Its places and prizes would follow from other hands than were played. What is called off listens no more."""
    wanted, report = a_hand_that_was_told()
    tables, told = report({}).tables, next(iter(report({}).played.values()))
    state = replace(tournament_state(), phase=phase, cancelled=cancelled)
    played_there = {(wanted.hand.stream_id, number): replace(told, hand_no=number) for number in others}
    without = TournamentReport(Verdict.VERIFIED, 1, 1, 0, state, tables=tables, played=played_there)
    if not is_caught:
        check_report(wanted, TOURNAMENT_ID, without)
        return
    with pytest.raises(Fault) as caught:
        check_report(wanted, TOURNAMENT_ID, without)
    assert (caught.value.rule, caught.value.version) == ("REPORT_DIFFERS", wanted.report.last_version)


def tournament_state():
    """A tournament as its log leaves it."""
    state = verify_tournament(STREAM.bytes, stored(played(3, "spin").batches)).state
    assert state is not None
    return state


def a_hand_that_was_told():
    """A hand of three, and the report of a tournament that was told of it, with something changed."""
    house = House(played_game("holdem", 3))
    table = next(iter(house.tables.values()))
    hand = house.hand_record(table, table.hand_ids[0], "public", None)
    result, entries = check_hand(table.events, hand.hand_id)
    started, ended = entries[0].event, entries[-1].event
    told = e.HandPlayed(
        table_no=1,
        table_version=hand.last_version,
        hand_no=1,
        is_void=False,
        button=started.button,
        small_blind=started.button,
        big_blind=started.big_blind_seat,
        seats=tuple(
            e.SeatResult(one.seat, one.player, one.stack, stack)
            for one, stack in zip(started.seats, ended.stacks, strict=True)
        ),
        started_at_ms=started.started_at_ms,
        ended_at_ms=ended.ended_at_ms,
        at_ms=ended.ended_at_ms,
    )

    def report(change):
        other = {name: by if isinstance(by, bool) else getattr(told, name) + by for name, by in change.items()}
        played = {(hand.stream_id, 1): replace(told, **other)}
        return TournamentReport(Verdict.VERIFIED, 1, 1, 0, tables={1: hand.stream_id}, played=played)

    return Wanted(hand, result, entries, has_no_chips=True), report


def test_a_bundle_of_another_tournament_is_not_one_of_this():
    report = judged(bundle_of(played(3, "spin").batches, subject="00000000-0000-4000-8000-000000000001"))
    assert report.verdict is Verdict.CANNOT_SAY
    assert report.findings[0].rule == "EARLIER_EVENTS_MISSING"
