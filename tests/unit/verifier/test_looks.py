"""Looks at hidden cards in what everybody gets: the chain stays whole, and nothing says who looked at which hand, or why."""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Callable
from functools import cache
from random import Random  # noqa: TID251  (tests may use chance)

import pytest
from msgspec.structs import replace

from diwan.api.event.v1.event_pb2 import Event
from diwan.core.decider import Rejected
from diwan.core.hand.events import Acted, HandEnded, PotAwarded, TurnBegan
from diwan.core.table.commands import RecordOpening
from diwan.core.table.events import HandOpened, SecretCommitted, SeedsCommitted, StandUpRequested
from diwan.verifier import Verdict, verify_hand
from diwan.verifier.stream import verify_stream
from diwan.wire.events import encode, type_id_of
from diwan.wire.stored import FOR_AUDITORS, audited_event, public_event, settled_events, unaddressed_event, withheld
from tests.unit.verifier.forging import Insider, stored_fields
from tests.unit.verifier.games import GAMES, KINDS
from tests.unit.verifier.logs import STREAM, TABLE_KIND, LoggedEvent
from tests.unit.verifier.registers import TABLE_FEED, House, hand_range, verified
from tests.unit.verifier.test_independent_check import LOGS, SCRIPT, WITNESS_KEYS

LOOK = type_id_of(HandOpened)
WHO, WHY, CASE = "operator-amal", "complaint of player-2 against player-1", "case-4711"
FALSE, OPEN = Verdict.NOT_VERIFIED, Verdict.CANNOT_SAY
POKER = [game for game in GAMES if game != "capsa"]


@cache
def looked_at(game: str, seed: int = 1, seats: int = 3):
    """A table of which hands are looked at while it plays on."""

    class LookedAt(KINDS[game]):
        looks = Random(seed)

        def do(self, command: object) -> None:
            super().do(command)
            if not isinstance(command, RecordOpening) and self.hand_ids and self.looks.random() < 0.2:
                looked = RecordOpening(
                    self.looks.choice(self.hand_ids), WHO, "operator", "seat:1", WHY, CASE, self.now_ms
                )
                super().do(looked)

    table = LookedAt(Random(f"{game}/{seed}"), STREAM)
    table.sit(seats)
    for _ in range(3):
        try:
            while table.able() < 2:
                table.sit(1)
        except Rejected:
            break
        table.play_hand()
    return table


def in_a_hand(table) -> tuple[str, int]:
    """A hand during which somebody looked, and the index of that look."""
    for hand_id in table.hand_ids:
        _, first, last = hand_range(table.events, hand_id)
        for index in range(first, last + 1):
            if isinstance(table.core[index], HandOpened):
                return hand_id, index
    raise LookupError("nobody looked during a hand")


def house_of(table) -> House:
    return House(table)


def lines_of(house: House, hand_id: str, lens: str = "public", change: Callable = lambda parts: parts) -> list[bytes]:
    table = next(iter(house.tables.values()))
    started = next(one for one in table.core if getattr(one, "hand_id", "") == hand_id and hasattr(one, "seeds"))
    seat = started.seats[0].seat if lens == "seat" else None
    return house.bundle(hand_id, lens=lens, seat=seat, change=change)


def table_lines(table, lens: str) -> list[bytes]:
    """A bundle of a table as `diwan export --table` makes it."""
    house = house_of(table)
    told = audited_event if lens == "auditor" else public_event

    def with_all_events(parts):
        feed = house.feeds()[TABLE_FEED]
        header, checkpoints, hands, sources = parts
        events = house.streams[str(table.stream)][: hands[-1].last_version]
        return header, checkpoints, hands, [*sources, *feed.sources(events, told)]

    return house.bundle(*table.hand_ids, lens=lens, about="table", subject=str(table.stream), change=with_all_events)


def tells(lines: list[bytes]) -> set[str]:
    """Who and why, as far as a bundle tells it: in its text, or in any of its fields, plain, as hex or as base64."""
    haystacks = [b"".join(lines)]
    for line in lines:
        for value in json.loads(line).values():
            if isinstance(value, str):
                try:
                    haystacks.append(base64.b64decode(value, validate=True))
                except ValueError:
                    continue
    found = set()
    for word in (WHO, WHY, CASE):
        raw = word.encode()
        spelled = [raw, raw.hex().encode(), *(base64.b64encode(bytes(at) + raw)[4:-4] for at in range(3))]
        if any(one in haystack for haystack in haystacks for one in spelled):
            found.add(word)
    return found


# --- honest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("lens", ["public", "seat", "auditor"])
def test_a_hand_during_which_somebody_looked_is_verified_and_tells_who_to_auditors_alone(game, lens):
    table = looked_at(game)
    house = house_of(table)
    hand_id, _ = in_a_hand(table)
    lines = lines_of(house, hand_id, lens)
    report = verified(lines)
    missing = {one.rule.value for one in report.findings}
    assert report.is_verified or (game == "capsa" and missing == {"BODY_WITHHELD"}), report.findings
    assert tells(lines) == ({WHO, WHY, CASE} if lens == "auditor" else set())


@pytest.mark.parametrize("game", POKER)
def test_a_public_bundle_of_a_whole_table_is_verified_command_by_command_without_who_looked(game):
    table = looked_at(game)
    reports = {lens: verified(table_lines(table, lens)) for lens in ("public", "auditor")}
    for report in reports.values():
        assert report.is_verified, [one.text for one in report.findings]
    assert reports["public"].commands == reports["auditor"].commands > 10
    assert tells(table_lines(table, "public")) == set()
    assert tells(table_lines(table, "auditor")) == {WHO, WHY, CASE}


@pytest.mark.parametrize("game", POKER)
def test_a_public_stream_is_verified_as_the_whole_one_is(game):
    table = looked_at(game)
    told = [public_event(event) for event in table.events]
    assert sum(bool(event.body_hash) for event in told) > 1
    whole, public = (verify_stream(STREAM.bytes, TABLE_KIND, events) for events in (table.events, told))
    assert whole.is_verified
    assert public == whole


def test_the_second_implementation_agrees():
    spec = importlib.util.spec_from_file_location("independent_check", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    table = looked_at("holdem")
    house = house_of(table)
    hand_id, at = in_a_hand(table)
    for lens in ("public", "seat", "auditor"):
        script.check(lines_of(house, hand_id, lens), LOGS, WITNESS_KEYS, 2)

    def leaking(parts):
        return (*parts[:3], [_with(one, table.events[at]) for one in parts[3]])

    def hiding(parts):
        return (*parts[:3], [_with(one, withheld(table.events[at])) for one in parts[3]])

    for lens, change in (("public", leaking), ("auditor", hiding)):
        with pytest.raises(script.Wrong):
            script.check(lines_of(house, hand_id, lens, change), LOGS, WITNESS_KEYS, 2)


def _with(source, event: LoggedEvent):
    is_it = source.feed_id == TABLE_FEED and source.event.version == event.version
    return replace(source, event=event) if is_it else source


def test_who_is_told_what_of_each_kind():
    """Looks: auditors alone, not even the bus. What a seat arranges: nobody by this way, but our own services."""
    capsa = looked_at("capsa")
    for event in capsa.events:
        is_look = event.type_id in FOR_AUDITORS
        assert bool(unaddressed_event(event).body_hash) == is_look
        assert not audited_event(event).body_hash or not is_look
        assert bool(public_event(event).body_hash) == (is_look or bool(audited_event(event).body_hash))
        assert public_event(public_event(event)).hash == event.hash
    told = settled_events(capsa.events)
    assert all(event.body_hash for event in told if event.type_id == LOOK)
    assert not any(
        event.body_hash for event in settled_events(capsa.events, is_for_auditor=True) if event.type_id == LOOK
    )


# --- forged: by an insider who makes every hash, tree and signature anew --------------------------------------------


class Forged:
    """One table with looks, to be forged once."""

    def __init__(self, game: str, lens: str) -> None:
        self.table = looked_at(game)
        self.house = house_of(self.table).copy()
        self.hand_id, self.look = in_a_hand(self.table)
        self.insider = Insider(self.table, self.table.hand_ids.index(self.hand_id))
        self.lens = lens

    def report(self, change: Callable = lambda parts: parts):
        self.house.streams[str(STREAM)] = self.insider.rehash()
        return verified(lines_of(self.house, self.hand_id, self.lens, change))

    def rules(self, change: Callable = lambda parts: parts) -> tuple[Verdict, set[str]]:
        report = self.report(change)
        return report.verdict, {one.rule.value for one in report.findings}

    def call_it_a_look(self, index: int) -> None:
        """Say of another kind of event that it is a look, so that its body need not be shown."""
        self.insider.change_stored(index, type_id=LOOK)


HIDDEN = (Acted, TurnBegan, PotAwarded, HandEnded)


@pytest.mark.parametrize("lens", ["public", "seat", "auditor"])
@pytest.mark.parametrize("kind", HIDDEN, ids=lambda kind: kind.__name__)
def test_an_event_of_a_hand_that_is_called_a_look_is_missed(kind, lens):
    case = Forged("holdem", lens)
    case.call_it_a_look(case.insider.find(kind))
    verdict, rules = case.rules()
    assert verdict is not Verdict.VERIFIED, rules
    if lens == "auditor":
        assert "MALFORMED" in rules  # The body is there, and it is of another kind.


@pytest.mark.parametrize("game", GAMES)
def test_a_hand_whose_beginning_is_called_a_look_is_no_hand(game):
    table = looked_at(game)
    hand_id, _ = in_a_hand(table)
    insider = Insider(table, table.hand_ids.index(hand_id))
    insider.change_stored(insider.start(), type_id=LOOK)
    report = verify_hand([public_event(event) for event in insider.rehash()], hand_id)
    assert not report.is_verified
    assert report.rule.value in {"HAND_NOT_FOUND", "SECRET_NOT_COMMITTED", "SECRET_COMMITTED_LATE"}


@pytest.mark.parametrize("kind", [SecretCommitted, SeedsCommitted], ids=lambda kind: kind.__name__)
def test_a_commitment_that_is_called_a_look_commits_to_nothing(kind):
    """F1, F2: before a hand no bodies are shown but those that commit; whoever hides one has committed to nothing."""
    for seed in range(6):
        table = looked_at("holdem", seed)
        for number, hand_id in enumerate(table.hand_ids):
            needs, first, _ = hand_range(table.events, hand_id)
            at = next((i for i in range(needs, first) if isinstance(table.core[i], kind)), None)
            seeds = table.core[first].seeds
            if at is None or (kind is SeedsCommitted and not seeds):
                continue
            insider, house = Insider(table, number), house_of(table).copy()
            insider.change_stored(at, type_id=LOOK)
            house.streams[str(STREAM)] = insider.rehash()
            report = verified(lines_of(house, hand_id))
            assert not report.is_verified
            assert report.verdict is FALSE or kind is SecretCommitted
            return
    pytest.fail("no hand has such an event")


def test_a_part_of_a_command_that_is_called_a_look_splits_it():
    """A look is a command of its own: it takes no other's id, before, within or behind."""
    for lens in ("public", "seat"):
        case = Forged("holdem", lens)
        events, look = case.insider.events, case.look
        for neighbour in (look - 1, look + 1):
            case.insider.events = list(events)
            case.insider.change_stored(look, command_id=events[neighbour].command_id)
            verdict, rules = case.rules()
            assert verdict is FALSE
            assert "BATCH_SPLIT" in rules


def test_in_a_tables_stream_too_a_look_is_a_command_of_its_own():
    table = looked_at("holdem")
    _, look = in_a_hand(table)
    for neighbour in (look - 1, look + 1):
        insider = Insider(table)
        insider.change_stored(look, command_id=table.events[neighbour].command_id)
        report = verify_stream(STREAM.bytes, TABLE_KIND, [public_event(event) for event in insider.rehash()])
        assert (report.verdict, report.rule.value) == (FALSE, "BATCH_SPLIT")


def test_whatever_changes_a_table_and_is_called_a_look_is_missed_by_what_follows():
    """Each event of the table in turn: what says something that play, chips or seats hang on cannot be hidden so."""
    table = looked_at("holdem", 3)
    harmless = set()
    for at, event in enumerate(table.core[:-40]):
        if isinstance(event, HandOpened):
            continue
        insider = Insider(table)
        insider.change_stored(at, type_id=LOOK)
        report = verify_stream(STREAM.bytes, TABLE_KIND, [public_event(one) for one in insider.rehash()])
        if report.is_verified:
            harmless.add(type(event).__name__)
    assert harmless <= {"SatOut", "SatIn", "StandUpRequested", "DeadlineMoved", "OwnerChanged"}, harmless


def test_a_leaving_that_is_called_a_look_does_not_let_the_room_decide():
    """A11: the room decides only for who leaves, and the hand itself has to say so."""
    for seed in range(40):
        table = looked_at("holdem", seed, 5)
        for number, hand_id in enumerate(table.hand_ids):
            _, first, last = hand_range(table.events, hand_id)
            inside = range(first, last + 1)
            leaving = [i for i in inside if isinstance(table.core[i], StandUpRequested)]
            decided = [i for i in inside if getattr(table.core[i], "decided_by", "") == "system"]
            if not leaving or not any(
                table.core[i].seat == table.core[leaving[0]].seat for i in decided if hasattr(table.core[i], "seat")
            ):
                continue
            insider, house = Insider(table, number), house_of(table).copy()
            insider.change_stored(leaving[0], type_id=LOOK)
            house.streams[str(STREAM)] = insider.rehash()
            report = verified(lines_of(house, hand_id))
            assert report.verdict is FALSE
            assert {one.rule.value for one in report.findings} & {"NOBODY_LEFT", "BATCH_SPLIT"}
            return
    pytest.fail("nobody left in the middle of a hand")


def test_a_look_that_is_left_out_is_missed():
    for lens in ("public", "seat", "auditor"):
        case = Forged("holdem", lens)
        version = case.table.events[case.look].version

        def without(parts, version=version):
            kept = [one for one in parts[3] if one.feed_id != TABLE_FEED or one.event.version != version]
            return (*parts[:3], kept)

        assert case.rules(without) == (FALSE, {"VERSION_GAP"})


def test_a_look_that_is_told_otherwise_is_not_what_was_hashed():
    """In an auditor's file, and in a public one by another hash in its body's place."""
    case = Forged("holdem", "auditor")
    event = case.table.events[case.look]
    other = encode(replace(case.table.core[case.look], opened_by="nobody"), nonce=bytes(16)).body
    for lens, fields in (("auditor", {"body": other}), ("public", {"body": b"", "body_hash": bytes(32)})):
        case.lens = lens
        forged = LoggedEvent(**(stored_fields(event) | fields))

        def changed(parts, forged=forged):
            return (*parts[:3], [_with(one, forged) for one in parts[3]])

        verdict, rules = case.rules(changed)
        assert verdict is FALSE
        assert "HASH_DIFFERS" in rules


def test_a_file_for_everybody_that_tells_who_looked_is_not_one():
    for lens in ("public", "seat"):
        case = Forged("holdem", lens)

        def leaking(parts, event=case.table.events[case.look]):
            return (*parts[:3], [_with(one, event) for one in parts[3]])

        assert case.rules(leaking) == (FALSE, {"LENS_DIFFERS"})


def test_an_auditors_file_that_does_not_tell_who_looked_cannot_be_said_anything_of():
    """Whatever is hidden behind a look, an auditor sees that it is hidden."""
    case = Forged("holdem", "auditor")

    def hiding(parts):
        return (*parts[:3], [_with(one, withheld(case.table.events[case.look])) for one in parts[3]])

    assert case.rules(hiding) == (OPEN, {"BODY_WITHHELD"})


def test_a_look_without_random_bytes_is_no_event():
    """Its hash would confirm a guess of who looked."""
    case = Forged("holdem", "auditor")
    event = Event.FromString(case.table.events[case.look].body)
    event.nonce = b""
    case.insider.change_stored(case.look, body=event.SerializeToString())
    verdict, rules = case.rules()
    assert verdict is FALSE
    assert "NONCE_MISSING" in rules
