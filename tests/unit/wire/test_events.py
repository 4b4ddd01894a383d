"""Events as stored bytes and back (H2, H4)."""

from __future__ import annotations

from typing import Literal, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.api.event.v1 import capsa_pb2, hand_pb2, hosting_pb2, table_pb2, waiting_pb2
from diwan.api.event.v1.event_pb2 import Event as Envelope
from diwan.core.games.capsa import events as capsa
from diwan.core.games.capsa import stakes
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.hand import events as hand
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.table import events as table
from diwan.core.table.config import ChipSource, StartMode
from diwan.core.table.hosting import events as hosting
from diwan.core.table.tournament import events as tournament
from diwan.core.table.waiting import events as waiting
from diwan.core.tournament import events as floor
from diwan.wire import events as wire
from diwan.wire.mapping import named
from tests.unit.wire.strategies import records, reveal_of

NONCE = bytes(range(16))
FOLDED = hand.Acted(1, "fold", 0, 0, is_all_in=False, turn=7, decided_by="player", received_at_ms=9)
STARTED = capsa.CapsaStarted("h", 1, 1, CapsaSettings(), (), 0, b"", (), (), b"", b"", 9)
HAND_EVENTS = get_args(hand.HandEvent.__value__)
CAPSA_EVENTS = (*get_args(capsa.CapsaOnlyEvent.__value__), *get_args(stakes.StakeEvent.__value__))
HOSTING_EVENTS = get_args(hosting.HostingEvent.__value__)
WAITING_EVENTS = get_args(waiting.WaitingEvent.__value__)
TOURNAMENT_EVENTS = get_args(tournament.TournamentTableEvent.__value__)
TABLE_EVENTS = (*HOSTING_EVENTS, *WAITING_EVENTS, *TOURNAMENT_EVENTS, *get_args(table.TableOnlyEvent.__value__))
FLOOR_EVENTS = get_args(floor.TournamentEvent.__value__)
EVERY_EVENT = (*HAND_EVENTS, *CAPSA_EVENTS, *TABLE_EVENTS, LedgerCommitted, *FLOOR_EVENTS)
PAYLOADS = {field.message_type.name: field for field in Envelope.DESCRIPTOR.oneofs_by_name["payload"].fields}


def encoded(event, nonce=NONCE):
    return wire.encode(event, nonce=nonce, reveal=reveal_of)


def payload_of(kind):
    return PAYLOADS[wire.kind_name(wire.type_id_of(kind))]


def decoded(one):
    return wire.decode(one.type_id, one.schema_v, one.body)


@pytest.mark.parametrize("kind", EVERY_EVENT, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_it_was(kind):
    """P6: nothing of an event is lost or changed on its way through the log."""

    # A tournament's events share one mapping, so that each needs fewer examples.
    @settings(max_examples=15 if kind in FLOOR_EVENTS else 60, deadline=None)
    @given(event=records(kind), nonce=st.binary(min_size=16, max_size=16))
    def comes_back(event, nonce):
        one = encoded(event, nonce)
        back = decoded(one)
        assert back.event == event
        assert type(back.event) is kind
        assert back.nonce == nonce
        assert [reveal.position for reveal in back.reveals] == list(getattr(event, "positions", ()))
        assert list(back.reveals) == [reveal_of(position) for position in getattr(event, "positions", ())]
        assert encoded(back.event, nonce) == one

    comes_back()


def test_every_payload_of_the_contract_is_an_event_of_the_core_and_the_other_way_round():
    assert {payload_of(kind).name for kind in EVERY_EVENT} == {field.name for field in PAYLOADS.values()}
    assert set(wire.SCHEMAS) == {field.number for field in PAYLOADS.values()}


def test_what_happens_to_tables_and_tournaments_under_one_name_are_two_kinds_of_event():
    """Two aggregates may call what happens to each the same; the log never takes one for the other."""
    same = {kind.__name__ for kind in FLOOR_EVENTS} & {kind.__name__ for kind in (*HAND_EVENTS, *TABLE_EVENTS)}
    assert "EntrantSeated" in same
    for name in same:
        ids = {wire.type_id_of(kind) for kind in EVERY_EVENT if kind.__name__ == name}
        assert len(ids) == 2


def test_type_id_is_the_payloads_field_number():
    assert encoded(hand.BettingRoundEnded(5)).type_id == 16
    assert encoded(table.TableClosed(5)).type_id == 55


def struct_of(annotation):
    """The record behind a field's type, through tuples; None for plain values."""
    if isinstance(annotation, msgspec.inspect.VarTupleType):
        return struct_of(annotation.item_type)
    return annotation if isinstance(annotation, msgspec.inspect.StructType) else None


def assert_same_fields(info, descriptor):
    # A field that is reserved, None alone, has nothing to tell.
    names = {field.name for field in info.fields if not isinstance(field.type, msgspec.inspect.NoneType)}
    # Positions of cards that are turned up travel inside their reveals; a seat's holding is a message of its own.
    if isinstance(getattr(info.cls, "positions", None), property):
        names.add("positions")
    expected = {"reveals" if name == "positions" and "reveals" in descriptor.fields_by_name else name for name in names}
    assert expected == set(descriptor.fields_by_name), descriptor.name
    for field in info.fields:
        inner = struct_of(field.type)
        if inner is not None:
            assert_same_fields(inner, descriptor.fields_by_name[field.name].message_type)


@pytest.mark.parametrize("kind", EVERY_EVENT, ids=lambda kind: kind.__name__)
def test_records_and_messages_have_the_same_fields(kind):
    """A field that one side alone has would be lost in the log."""
    assert_same_fields(msgspec.inspect.type_info(kind), payload_of(kind).message_type)


@pytest.mark.parametrize("kind", EVERY_EVENT, ids=lambda kind: kind.__name__)
def test_an_event_of_zeros_still_says_what_it_is(kind):
    """Proto3 leaves zeros out; the payload's presence must not go with them."""

    def zero(annotation):
        match annotation:
            case msgspec.inspect.IntType():
                return 0
            case msgspec.inspect.BoolType():
                return False
            case msgspec.inspect.StrType():
                return ""
            case msgspec.inspect.BytesType():
                return b""
            case msgspec.inspect.LiteralType(values=names):
                return min(names)
            case msgspec.inspect.VarTupleType():
                return ()
            case msgspec.inspect.UnionType():
                return None
            case msgspec.inspect.StructType(cls=cls):
                return cls(**{one.name: zero(one.type) for one in annotation.fields})

    event = zero(msgspec.inspect.type_info(kind))
    assert decoded(encoded(event)).event == event


@pytest.mark.parametrize(
    ("names", "enum"),
    [
        (hand.ActionKind, hand_pb2.ActionKind),
        (hand.DecidedBy, hand_pb2.DecidedBy),
        (hand.PostKind, hand_pb2.PostKind),
        (hand.HandResult, hand_pb2.HandResult),
        (get_type_hints(hand.HandVoided)["reason"], hand_pb2.VoidReason),
        (table.SeatCause, table_pb2.SeatCause),
        (hosting.HostCause, hosting_pb2.HostCause),
        (waiting.WaitCause, waiting_pb2.WaitCause),
        (ChipSource, table_pb2.ChipSource),
        (StartMode, table_pb2.StartMode),
        (capsa.Status, capsa_pb2.CapsaStatus),
        (capsa.Answer, capsa_pb2.CapsaAnswer),
        (capsa.SetSource, capsa_pb2.SetSource),
        (Literal["preflop", "flop", "turn", "river", "over"], hand_pb2.Street),
    ],
    ids=lambda one: getattr(one, "DESCRIPTOR", None) and one.DESCRIPTOR.name,
)
def test_names_and_numbers_are_total_in_both_directions(names, enum):
    numbers, back = named(names, enum)
    assert set(numbers.values()) == set(enum.values()) - {0}
    assert {name: back[number] for name, number in numbers.items()} == {name: name for name in numbers}


def test_a_name_without_a_number_stops_the_import():
    with pytest.raises(ValueError, match="no value defined"):
        named(Literal["player", "cat"], hand_pb2.DecidedBy)


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (hand.Posted(1, "ante", 5), "kind"),
        (FOLDED, "kind"),
        (FOLDED, "decided_by"),
        (hand.BoardDealt("flop", (4, 5, 6)), "street"),
        (hand.HandVoided("operator", (), 9), "reason"),
        (hand.HandEnded("void", (), (), (), (), b"", 9), "result"),
        (table.SatOut(1, "player", 9), "cause"),
        (capsa.Answered(1, "play", 7, "player", 9), "answer"),
        (capsa.SettingClosed(1, 7, "clock", 9), "decided_by"),
        (capsa.SetLocked(1, None, False, "none", 7, "clock", 9), "source"),  # noqa: FBT003  (an event's field)
    ],
)
@pytest.mark.parametrize("number", [0, 1000])
def test_an_enumeration_without_a_name_is_malformed(event, field, number):
    """A number that newer code wrote, or none at all, never becomes some default."""
    one = encoded(event)
    envelope = Envelope.FromString(one.body)
    setattr(getattr(envelope, envelope.WhichOneof("payload")), field, number)
    with pytest.raises(wire.MalformedEvent, match=str(number)):
        wire.decode(one.type_id, one.schema_v, envelope.SerializeToString())


@pytest.mark.parametrize(
    ("event", "spoil"),
    [
        (capsa.NaturalShown(1, "dragon", 13, (), None), lambda one: setattr(one.natural_shown, "kind", "six_kings")),
        (stakes.StakeEnded(0, 1, "left", 9), lambda one: setattr(one.stake_ended, "reason", "tired")),
        (STARTED, lambda one: setattr(one.capsa_started.settings, "wheel", "")),
    ],
)
def test_a_text_that_is_no_name_is_malformed(event, spoil):
    """As a number without a name."""
    one = encoded(event)
    envelope = Envelope.FromString(one.body)
    spoil(envelope)
    with pytest.raises(wire.MalformedEvent):
        wire.decode(one.type_id, one.schema_v, envelope.SerializeToString())


def test_an_empty_table_of_naturals_is_not_a_table_left_out():
    """CS-80: none at all and the usual ones are two things."""
    for naturals in ((), None):
        kept = replace(STARTED, settings=replace(STARTED.settings, naturals=naturals))
        assert decoded(encoded(kept)).event.settings.naturals == naturals


def test_unknown_types_and_schemas_stop_the_reader():
    """H4: an unknown type is a hard stop, never a skip."""
    one = encoded(hand.BettingRoundEnded(5))
    for type_id, schema_v in ((9999, 1), (0, 1), (-1, 1), (one.type_id, 0), (one.type_id, 2), (one.type_id, -1)):
        with pytest.raises(wire.UnknownEvent):
            wire.decode(type_id, schema_v, one.body)


def test_content_that_would_be_dropped_stops_the_reader():
    """H4: a field of newer code is not skipped, wherever it stands."""
    one = encoded(hand.PotAwarded(0, 5, (1,), (hand.Share(1, 5),)))
    unknown_field = b"\xf8\x3f\x01"
    with pytest.raises(wire.UnknownEvent):
        wire.decode(one.type_id, one.schema_v, one.body + unknown_field)
    envelope = Envelope.FromString(one.body)
    envelope.pot_awarded.shares[0].MergeFromString(unknown_field)
    with pytest.raises(wire.UnknownEvent):
        wire.decode(one.type_id, one.schema_v, envelope.SerializeToString())


def test_bytes_that_are_no_envelope_are_malformed():
    for body in (b"\xff\xff\xff", b"", NONCE):
        with pytest.raises(wire.WireError):
            wire.decode(14, 1, body)


def test_a_body_of_another_type_is_malformed():
    with pytest.raises(wire.MalformedEvent):
        wire.decode(14, 1, encoded(hand.BettingRoundEnded(5)).body)


@settings(max_examples=300, deadline=None)
@given(body=st.binary(max_size=200), type_id=st.sampled_from(sorted(wire.SCHEMAS)))
def test_garbage_is_refused_or_read_never_anything_else(body, type_id):
    try:
        event = wire.decode(type_id, 1, body).event
    except wire.WireError:
        return
    assert PAYLOADS[type(event).__name__].number == type_id


def test_cards_are_not_written_without_their_proof():
    """F3: an event that turns cards up carries a reveal for every position."""
    shown = capsa.ShownSet(1, capsa.Arrangement((0, 1, 2)), "", "", "", is_fouled=True)
    for event in (
        hand.BoardDealt("flop", (4, 5, 6)),
        hand.CardsShown(1, (0, 1), "", 0),
        capsa.NaturalShown(1, "dragon", 13, tuple(range(13)), None),
        capsa.SetsShown((shown,)),
    ):
        with pytest.raises(ValueError, match="reveals"):
            wire.encode(event, nonce=NONCE, reveal=None)


def test_a_nonce_of_another_size_is_refused():
    for nonce in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError, match="16 bytes"):
            encoded(hand.BettingRoundEnded(5), nonce)


def test_numbers_that_the_contract_cannot_hold_are_refused():
    for total in (2**63, -(2**63) - 1):
        with pytest.raises(ValueError, match="range"):
            encoded(hand.BettingRoundEnded(total))


def test_an_older_schema_is_raised_step_by_step():
    """H4: two releases later, version 1 is read through both upcasters, version 2 through the second."""
    one = encoded(table.TableClosed(5))
    seen = []

    def to_second(envelope):
        seen.append(1)
        envelope.table_closed.closed_at_ms += 100

    def to_third(envelope):
        seen.append(2)
        envelope.table_closed.closed_at_ms *= 2

    newer = {"schemas": {one.type_id: 3}, "upcasters": {(one.type_id, 1): to_second, (one.type_id, 2): to_third}}
    assert wire.decode(one.type_id, 1, one.body, **newer).event == table.TableClosed(210)
    assert wire.decode(one.type_id, 2, one.body, **newer).event == table.TableClosed(10)
    assert wire.decode(one.type_id, 3, one.body, **newer).event == table.TableClosed(5)
    assert seen == [1, 2, 2]


def test_every_older_schema_has_its_upcaster():
    missing = [
        (type_id, version)
        for type_id, newest in wire.SCHEMAS.items()
        for version in range(1, newest)
        if (type_id, version) not in wire.UPCASTERS
    ]
    assert missing == []
