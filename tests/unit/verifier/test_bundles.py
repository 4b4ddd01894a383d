"""Bundles of honest hands are verified, whatever the game and the lens; no bytes that are none do any harm (P7, P8)."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.hand.commands import ExpireClock
from diwan.core.hand.events import Acted
from diwan.core.hand.inverse import command_of
from diwan.core.table.events import SeatFunded
from diwan.core.transparency.note import KeyType
from diwan.history.bundle import FORMAT, BundleError, KnownTree, PathWriter, read_bundle
from diwan.signing.notekey import NoteKey
from diwan.verifier import Verdict
from diwan.verifier.many import verify_bundles
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.games import GAMES, played_game, stream_of
from tests.unit.verifier.registers import House, policy, verified

VERIFIED, FALSE, OPEN = Verdict.VERIFIED, Verdict.NOT_VERIFIED, Verdict.CANNOT_SAY


@cache
def house_of(game, seed=1):
    return House(played_game(game, seed), played_game("holdem", seed, stream=stream_of(1)))


def hands_of(house):
    return next(iter(house.tables.values())).hand_ids


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seed", range(6))
def test_an_auditors_bundle_of_every_honest_hand_is_verified(game, seed):
    """P6, P7: chain, commitments, decisions, the whole deck, the wallet's postings, the register."""
    house = house_of(game, seed)
    for hand_id in hands_of(house):
        report = verified(house.bundle(hand_id, lens="auditor"))
        assert report.is_verified, [one.text for one in report.findings]
        assert report.hands[0].unseen == ()
        assert report.events > 5


@pytest.mark.parametrize("game", [game for game in GAMES if game != "capsa"])
@pytest.mark.parametrize("seed", range(6))
def test_a_public_bundle_of_every_honest_hand_of_poker_is_verified(game, seed):
    """P7: without a single card that was not shown."""
    house = house_of(game, seed)
    for hand_id in hands_of(house):
        report = verified(house.bundle(hand_id))
        assert report.is_verified, [one.text for one in report.findings]


@pytest.mark.parametrize("seed", range(20))
def test_a_public_bundle_of_capsa_is_verified_or_names_what_is_withheld(seed):
    """CS-83: what a seat arranged and never turned up is not told; nothing honest is called false."""
    house = house_of("capsa", seed)
    for hand_id in hands_of(house):
        report = verified(house.bundle(hand_id))
        rules = {one.rule.value for one in report.findings}
        assert rules <= {"BODY_WITHHELD"}, [one.text for one in report.findings]
        if not rules:
            assert report.is_verified


def test_public_bundles_of_capsa_are_verified_where_all_sets_are_shown():
    reports = [
        verified(house_of("capsa", seed).bundle(hand))
        for seed in range(20)
        for hand in hands_of(house_of("capsa", seed))
    ]
    assert sum(report.is_verified for report in reports) >= 10


@pytest.mark.parametrize("game", GAMES)
def test_a_seats_bundle_shows_just_its_own_cards(game):
    """S1: every own card is proved, and there is no other beside those of the log."""
    house = house_of(game)
    table = next(iter(house.tables.values()))
    started = next(event for event in table.core if getattr(event, "hand_id", "") == table.hand_ids[0])
    for one in started.seats:
        report = verified(house.bundle(table.hand_ids[0], lens="seat", seat=one.seat))
        assert report.verdict is not FALSE, [finding.text for finding in report.findings]
        assert report.own_cards >= 2 or not report.is_verified


def test_the_same_hand_is_the_same_file():
    house = house_of("naiko")
    assert house.bundle(hands_of(house)[0]) == house.bundle(hands_of(house)[0])


def test_many_hands_of_a_day_share_one_file():
    house = House(*(played_game(game, 3, stream=stream_of(n)) for n, game in enumerate(GAMES)))
    hands = [hand for table in house.tables.values() for hand in table.hand_ids]
    report = verified(house.bundle(*hands, lens="auditor", about="day", subject="2027-01-15"))
    assert report.is_verified, [one.text for one in report.findings]
    assert len(report.hands) == len(hands)
    other = verified(house.bundle(*hands, lens="auditor", about="day", subject="2027-01-16"))
    assert [one.rule.value for one in other.findings] == ["SUBJECT_DIFFERS"]


def whole_table(house, told=lambda hands: hands):
    """A bundle of a table with all its events, as `diwan export --table` makes it."""
    table = next(iter(house.tables.values()))
    table_id = str(table.stream)
    last = house.hand_record(table, table.hand_ids[-1], "auditor", None).last_version

    def with_all_events(parts):
        feed = house.feeds()[1]
        header, checkpoints, hands, sources = parts
        return (header, checkpoints, told(hands), [*sources, *feed.sources(house.streams[table_id][:last])])

    return house.bundle(*table.hand_ids, lens="auditor", about="table", subject=table_id, change=with_all_events)


@pytest.mark.parametrize("game", GAMES)
def test_a_table_is_decided_again_between_its_hands_too(game):
    """Who is dealt in with how much, who has the button and who pays which blind: what a hand alone does not show."""
    report = verified(whole_table(house_of(game, 2)))
    assert report.is_verified, [one.text for one in report.findings]
    assert report.commands > 10
    assert len(report.hands) >= 2


def test_a_hand_of_a_table_that_has_no_line_is_missed():
    """P7: else nothing would hold the wallet to it, and its bundle would still be verified."""
    house = house_of("holdem", 2)
    table = next(iter(house.tables.values()))
    hidden = house.hand_record(table, table.hand_ids[1], "auditor", None)
    lines = whole_table(house, lambda hands: [one for one in hands if one.hand_id != hidden.hand_id])
    report = verified(lines)
    assert report.verdict is OPEN
    assert [(one.rule.value, one.version) for one in report.findings] == [("HAND_NOT_TOLD", hidden.last_version)]


def test_chips_that_were_never_bought_are_found_in_a_tables_bundle_alone():
    """Each hand holds by itself; from the table's beginning on it does not follow."""
    house = house_of("holdem", 4).copy()
    table = next(iter(house.tables.values()))
    insider = Insider(table, 1)
    at = next(i for i, event in enumerate(table.core) if isinstance(event, SeatFunded))
    insider.change(at, amount=table.core[at].amount + 1)
    house.streams[str(table.stream)] = insider.rehash()
    report = verified(whole_table(house))
    assert report.verdict is FALSE
    assert report.findings[0].version == table.events[at].version
    assert verified(house.bundle(table.hand_ids[1])).is_verified


@pytest.mark.parametrize("decider", ["clock", "system"])
def test_whatever_is_said_of_the_clock_or_the_room_is_held_against_what_they_do(decider):
    """A11: for who leaves the room does what the clock would; a bet that is called the room's is no bet of anybody."""
    acted = Acted(seat=2, kind="raise", to=60, added=60, is_all_in=False, turn=7, decided_by=decider, received_at_ms=5)
    assert command_of(acted, 9) == ExpireClock(2, 7, 9, 5, decider)


def test_without_keys_nobody_vouches_for_the_register():
    from diwan.verifier.bundle import verify_bundle

    house = house_of("holdem")
    report, _ = verify_bundle(house.bundle(hands_of(house)[0]), None)
    assert {one.rule.value for one in report.findings} == {"KEYS_MISSING"}
    assert report.verdict is OPEN


def forked_houses():
    """Two houses of one log that differ in the last event of another table: the same sizes, other roots."""
    one, other = (House(played_game("holdem", 2), played_game("holdem", 9, stream=stream_of(1))) for _ in range(2))
    table_id = str(stream_of(1))
    last = other.streams[table_id][-1]
    other.streams[table_id][-1] = replace(last, recorded_at_ms=last.recorded_at_ms + 1)
    other.rehash(table_id)
    return one, other


def test_two_bundles_that_show_two_roots_of_one_size_prove_a_fork():
    """P8: each is signed by the log and the witnesses asked for, and together they convict."""
    bundles = [(name, house.bundle(hands_of(house)[0])) for name, house in zip("ab", forked_houses(), strict=True)]
    assert all(verified(lines).is_verified for _, lines in bundles)
    reports = verify_bundles(bundles, policy())
    assert [[one.rule.value for one in report.findings] for report in reports] == [["CHECKPOINT_FORKED"]] * 2


def test_a_file_that_nobody_signed_convicts_no_honest_one():
    """Whoever has no key could otherwise make an honest bundle look forked, by a file beside it."""
    honest, other = forked_houses()
    other.log_keys = {n: NoteKey(f"house.test/feed/{n}", KeyType.ED25519, bytes(32)) for n in (1, 2)}
    bundles = [(name, house.bundle(hands_of(house)[0])) for name, house in (("true", honest), ("false", other))]
    for order in (bundles, bundles[::-1]):
        reports = {report.name: report for report in verify_bundles(order, policy())}
        assert reports["true"].is_verified, [one.text for one in reports["true"].findings]
        assert {one.rule.value for one in reports["false"].findings} == {"LOG_SIGNATURE_MISSING"}
    assert {one.rule.value for one in verified(bundles[1][1], seen=[honest.feeds()[1].head()]).findings} == {
        "LOG_SIGNATURE_MISSING"
    }


def test_a_checkpoint_from_elsewhere_convicts_a_fork_and_asks_for_what_lies_between():
    one, other = forked_houses()
    lines = one.bundle(hands_of(one)[0])
    seen = other.feeds()[1].head()
    assert [each.rule.value for each in verified(lines, seen=[seen]).findings] == ["CHECKPOINT_FORKED"]
    assert verified(lines, seen=[one.feeds()[1].head()]).is_verified
    older = one.feeds()[1].head(3)
    assert [each.rule.value for each in verified(lines, seen=[older]).findings] == ["CONSISTENCY_MISSING"]


# --- hostile bytes ---------------------------------------------------------------------------------------------------


@given(st.binary(max_size=400))
@settings(max_examples=150, deadline=None)
def test_garbage_is_no_bundle(raw):
    report = verified([raw])
    assert report.verdict is FALSE
    assert report.findings[0].rule.value == "BUNDLE_MALFORMED"


@cache
def small_bundle():
    house = House(played_game("holdem", 5, hands=1))
    return tuple(house.bundle(hands_of(house)[0], lens="auditor"))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_lines_of_a_bundle_in_any_order_are_no_other_bundle(data):
    whole = small_bundle()
    lines = data.draw(st.permutations(whole) | st.lists(st.sampled_from(whole), max_size=40))
    assert verified(lines).is_verified is (tuple(lines) == whole)


def flips(step):
    whole = b"".join(small_bundle())
    assert verified(whole.splitlines(keepends=True)).is_verified
    for number, offset in enumerate(range(0, len(whole), step)):
        flipped = bytearray(whole)
        flipped[offset] ^= (0x01, 0x20, 0x02, 0x08)[number % 4]
        report = verified(bytes(flipped).splitlines(keepends=True))
        assert not report.is_verified, (offset, whole[max(0, offset - 40) : offset + 20])
        assert report.findings


def test_a_flip_anywhere_is_never_verified():
    """P8: nothing stands in a bundle that is not held against something. A flip is found, and never a traceback."""
    flips(step=len(b"".join(small_bundle())) // 400)


@pytest.mark.soak
def test_a_flip_at_every_offset_is_never_verified():
    """P8: as above, at each byte."""
    flips(step=1)


def test_a_bundle_cut_anywhere_is_none():
    lines = small_bundle()
    for count in range(len(lines)):
        assert verified(lines[:count]).findings[0].rule.value == "BUNDLE_MALFORMED"


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000 + b"\n",
        b'{"is":' * 50_000 + b"\n",
        b'{"is":"end","lines":1}\n',
        b'{"is":"end","lines":1e9}\n',
        b'{"is":"bundle","format":"' + FORMAT.encode() + b'","house":"\\ud800"}\n',
        b"\xff\xfe\n",
        b"9" * 1_200_000 + b"\n",
        b"null\n",
        b"\n",
    ],
)
def test_hostile_first_lines_are_refused(line):
    with pytest.raises(BundleError):
        list(read_bundle([line]))


def test_a_newer_format_is_not_called_false():
    lines = small_bundle()
    newer = [lines[0].replace(b"diwan-bundle/v1", b"diwan-bundle/v9"), *lines[1:]]
    report = verified(newer)
    assert (report.verdict, report.findings[0].rule.value) == (OPEN, "BUNDLE_UNKNOWN")


# --- paths -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 70), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_cut_paths_prove_each_leaf_and_no_other(size, rng):
    """P8: whatever the order; a leaf of another place or content is proved by none of them."""
    from hashlib import sha256

    from diwan.core.merkle import path, tree

    levels = tree([sha256(bytes((number,))).digest() for number in range(size)])
    order = rng.sample(range(size), rng.randint(1, size))
    known, writer = KnownTree(size, levels[-1][0]), PathWriter(size)
    for index in order:
        cut = writer.cut(index, path(levels, index))
        assert not known.prove(index, bytes(32), cut)
        assert not known.prove(index, levels[0][index], (*cut, bytes(32)))
        assert not known.prove(size, levels[0][index], cut)
        if size > 1:
            assert not known.prove((index + 1) % size, levels[0][index], cut)
        assert known.prove(index, levels[0][index], cut)
