import hashlib
import uuid

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.hashing import (
    ChainFault,
    StoredEvent,
    chain_hashes,
    chain_start,
    event_hash,
    feed_entry,
    feed_leaf,
    first_prev_hash,
    hashed,
    prefixed,
    request_hash,
    uuid_bytes,
    uuid_text,
    verify_chain,
)

STREAM = bytes(range(16))
COMMAND = bytes(range(16, 32))
FIELDS = st.lists(st.one_of(st.binary(max_size=20), st.integers(0, 2**64 - 1), st.text(max_size=10)))


def _stream(length=5, kind=1):
    events, prev = [], first_prev_hash(STREAM, kind)
    for version in range(1, length + 1):
        body = b"body %d" % version
        digest = event_hash(prev, STREAM, version, 7, 1, 1000 + version, COMMAND, body)
        events.append(StoredEvent(version, 7, 1, 1000 + version, COMMAND, body, prev, digest))
        prev = digest
    return events


def _raw(field):
    if isinstance(field, int):
        return field.to_bytes(8, "big")
    return field.encode() if isinstance(field, str) else field


@given(FIELDS)
def test_prefixed_fields_can_be_read_back_so_no_two_inputs_collide(fields):
    raw, read = prefixed("label/v1", *fields), []
    while raw:
        size = int.from_bytes(raw[:4], "big")
        read.append(raw[4 : 4 + size])
        raw = raw[4 + size :]

    assert [b"label/v1", *map(_raw, fields)] == read


def test_moving_a_byte_from_one_field_to_the_next_changes_the_hash():
    assert hashed("a/v1", b"xy", b"z") != hashed("a/v1", b"x", b"yz")
    assert hashed("a/v1", b"") != hashed("a/v1")


@pytest.mark.parametrize("number", [-1, 2**64])
def test_integers_outside_8_bytes_are_refused_everywhere(number):
    for attempt in (
        lambda: prefixed("a/v1", number),
        lambda: event_hash(bytes(32), STREAM, number, 1, 1, 1, COMMAND, b""),
        lambda: feed_entry(1, number, STREAM, 1, bytes(32)),
    ):
        with pytest.raises(ValueError, match=r"0\.\.2\^64-1"):
            attempt()


@given(st.uuids())
def test_ids_have_one_spelling(identity):
    assert identity.bytes == uuid_bytes(str(identity))
    assert str(identity) == uuid_text(identity.bytes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0" * 32,
        "A0000000-0000-4000-8000-000000000000",
        "{0000000-0000-4000-8000-00000000000}",
        "0000000-00000-4000-8000-000000000000",
        "00000000-0000-4000-8000-00000000000g",
        "00000000-0000-4000-8000-000000000000\n",
        "\u06600000000-0000-4000-8000-000000000000",
    ],
)
def test_other_spellings_of_ids_are_refused(text):
    with pytest.raises(ValueError, match="canonical"):
        uuid_bytes(text)


@given(
    st.binary(min_size=32, max_size=32),
    st.uuids(),
    st.integers(1, 2**63 - 1),
    st.integers(0, 2**15),
    st.integers(0, 2**15),
    st.integers(0, 2**63),
    st.uuids(),
    st.binary(max_size=300),
)
def test_the_packed_event_is_the_length_prefixed_event(prev, stream, version, type_id, schema, at, command, body):
    """H2: the fast layout is only a faster way to write the general one."""
    general = hashed(
        "ev/v1", prev, stream.bytes, version, type_id, schema, at, command.bytes, hashlib.sha256(body).digest()
    )

    assert general == event_hash(prev, stream.bytes, version, type_id, schema, at, command.bytes, body)


def test_the_packed_feed_entry_is_the_length_prefixed_entry_and_its_leaf_follows_rfc_6962():
    entry = feed_entry(2, 9, STREAM, 3, b"\x07" * 32)

    assert prefixed("feed/v1", 2, 9, STREAM, 3, b"\x07" * 32) == entry
    assert hashlib.sha256(b"\x00" + entry).digest() == feed_leaf(2, 9, STREAM, 3, b"\x07" * 32)


@pytest.mark.parametrize(
    "sizes", [(31, 16, 16), (33, 16, 16), (32, 15, 16), (32, 17, 16), (32, 16, 15), (32, 16, 36), (0, 16, 16)]
)
def test_a_hash_or_id_of_the_wrong_size_is_never_padded_or_cut(sizes):
    prev, stream, command = map(bytes, sizes)
    with pytest.raises(ValueError, match="32 bytes"):
        event_hash(prev, stream, 1, 1, 1, 1, command, b"")


def test_feed_entries_refuse_wrong_sizes():
    for stream, digest in ((bytes(15), bytes(32)), (bytes(16), bytes(31))):
        with pytest.raises(ValueError, match="32 bytes"):
            feed_leaf(1, 1, stream, 1, digest)


def test_a_request_is_bound_to_its_method_and_its_bytes():
    hashes = {request_hash(method, body) for method in ("/a/B", "/a/C") for body in (b"", b"x")}

    assert len(hashes) == 4


def test_streams_of_different_kinds_begin_differently():
    assert first_prev_hash(STREAM, 1) != first_prev_hash(STREAM, 2)
    assert first_prev_hash(STREAM, 1) != first_prev_hash(COMMAND, 1)


def test_an_untouched_stream_holds_to_its_end_and_from_any_trusted_head():
    events = _stream()
    whole = verify_chain(STREAM, chain_start(STREAM, 1), events)

    assert (5, events[-1].hash, None) == (whole.version, whole.hash, whole.fault)
    middle = verify_chain(STREAM, chain_start(STREAM, 1), events[:2])
    assert whole == verify_chain(STREAM, middle, events[2:])
    assert chain_start(STREAM, 1) == verify_chain(STREAM, chain_start(STREAM, 1), [])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"body": b"call 101"}, ChainFault.HASH_DIFFERS),
        ({"body": b""}, ChainFault.HASH_DIFFERS),
        ({"type_id": 8}, ChainFault.HASH_DIFFERS),
        ({"schema_v": 2}, ChainFault.HASH_DIFFERS),
        ({"recorded_at_ms": 1004}, ChainFault.HASH_DIFFERS),
        ({"recorded_at_ms": 1001}, ChainFault.TIME_RUNS_BACKWARDS),
        ({"command_id": uuid.UUID(int=5).bytes}, ChainFault.HASH_DIFFERS),
        ({"command_id": b"short"}, ChainFault.MALFORMED),
        ({"type_id": -1}, ChainFault.MALFORMED),
        ({"hash": bytes(32)}, ChainFault.HASH_DIFFERS),
        ({"prev_hash": bytes(32)}, ChainFault.PREV_HASH_DIFFERS),
        ({"version": 4}, ChainFault.VERSION_GAP),
    ],
)
def test_any_edited_field_of_the_third_event_is_found_at_the_third_event(change, fault):
    events = _stream()
    events[2] = msgspec.structs.replace(events[2], **change)
    head = verify_chain(STREAM, chain_start(STREAM, 1), events)

    assert (2, 3, fault) == (head.version, head.fault_version, head.fault)


@pytest.mark.parametrize("order", [(0, 2, 1), (0, 2), (1, 2), (0, 0, 1)])
def test_a_missing_swapped_or_doubled_event_is_a_gap(order):
    """H1."""
    events = _stream()
    head = verify_chain(STREAM, chain_start(STREAM, 1), [events[k] for k in order])

    assert head.fault == ChainFault.VERSION_GAP


def test_a_stream_does_not_hold_as_another_stream_or_kind():
    assert verify_chain(COMMAND, chain_start(COMMAND, 1), _stream()).fault == ChainFault.PREV_HASH_DIFFERS
    assert verify_chain(STREAM, chain_start(STREAM, 2), _stream()).fault == ChainFault.PREV_HASH_DIFFERS


def test_a_batch_is_chained_like_its_events_one_by_one():
    prev = first_prev_hash(STREAM, 1)
    batch = [(1, 1, b"a"), (2, 1, b"b"), (3, 2, b"c")]
    expected = []
    head = prev
    for version, (type_id, schema, body) in enumerate(batch, 1):
        head = event_hash(head, STREAM, version, type_id, schema, 50, COMMAND, body)
        expected.append(head)

    assert expected == chain_hashes(prev, STREAM, 1, 50, COMMAND, batch)
