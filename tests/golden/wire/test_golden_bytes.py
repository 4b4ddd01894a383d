"""Bytes that were once written are read for ever, to the same records and the same verdicts (H2, H4, P6).

``events_v1.json`` holds a body of every event of schema 1, ``events_naiko_v1.json``, ``events_capsa_v1.json``,
``events_hosting_v1.json``, ``events_waiting_v1.json``, ``events_carried_v1.json``, ``events_clocks_v1.json``,
``events_match_v1.json`` and ``events_tournament_table_v1.json`` what these games, private tables, the line for a seat,
carried chips, time banks, matches and tournaments' tables added to it, ``events_tournament_v1.json`` tournaments,
``events_seeds_v1.json`` seeds of their first draw, ``log_v1.json`` a table's whole log. None is ever made anew: a change of
schema adds a file of its own beside them. They were written by ``python -m tests.golden.wire.writing``.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from diwan.core.log import LoggedEvent, StreamKind
from diwan.verifier import verify_hand, verify_stream
from diwan.wire import events as wire
from tests.golden.wire.writing import (
    CAPSA_EVENTS,
    CARRIED_EVENTS,
    CLOCK_EVENTS,
    EVENTS,
    FLOOR_EVENTS,
    HOSTING_EVENTS,
    LEDGER_EVENTS,
    LOG,
    MATCH_EVENTS,
    NAIKO_EVENTS,
    SEED_EVENTS,
    TOURNAMENT_EVENTS,
    WAITING_EVENTS,
    core_kind,
)

CORPUS = json.loads(Path(EVENTS).read_text())
CORPUS |= {
    name if name not in CORPUS else f"{name}.naiko": kept
    for name, kept in json.loads(Path(NAIKO_EVENTS).read_text()).items()
}
CORPUS |= json.loads(Path(CAPSA_EVENTS).read_text()) | json.loads(Path(CARRIED_EVENTS).read_text())
CORPUS |= {
    name if name not in CORPUS else f"{name}.hosting": kept
    for name, kept in json.loads(Path(HOSTING_EVENTS).read_text()).items()
}
CORPUS |= {
    name if name not in CORPUS else f"{name}.clocks": kept
    for name, kept in json.loads(Path(CLOCK_EVENTS).read_text()).items()
}
CORPUS |= {
    name if name not in CORPUS else f"{name}.match": kept
    for name, kept in json.loads(Path(MATCH_EVENTS).read_text()).items()
}
CORPUS |= {f"{name}.ledger": kept for name, kept in json.loads(Path(LEDGER_EVENTS).read_text()).items()}
CORPUS |= {
    name if name not in CORPUS else f"{name}.waiting": kept
    for name, kept in json.loads(Path(WAITING_EVENTS).read_text()).items()
}
CORPUS |= {
    name if name not in CORPUS else f"{name}.tournament": kept
    for name, kept in json.loads(Path(TOURNAMENT_EVENTS).read_text()).items()
}
CORPUS |= json.loads(Path(FLOOR_EVENTS).read_text())
CORPUS |= {
    name if name not in CORPUS else f"{name}.seeds": kept
    for name, kept in json.loads(Path(SEED_EVENTS).read_text()).items()
}
RECORDED = json.loads(Path(LOG).read_text())


def recorded(name, event):
    """The record that was written; what came to its kind later is read as what its absence says."""
    if name == "TournamentCreated":
        event["config"]["entries"].setdefault("seed_window_ms", 0)
    return msgspec.convert(event, core_kind(name.partition(".")[0]))


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_a_body_is_read_to_the_record_that_was_written(name):
    kept = CORPUS[name]
    decoded = wire.decode(kept["type_id"], kept["schema_v"], bytes.fromhex(kept["body"]))
    assert decoded.event == recorded(name, kept["event"])
    assert [reveal.position for reveal in decoded.reveals] == list(getattr(decoded.event, "positions", ()))


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_a_record_of_the_newest_schema_is_written_to_the_same_bytes(name):
    """Not needed for verifying, which hashes what is stored; but a change here is a change of schema."""
    kept = CORPUS[name]
    if wire.SCHEMAS[kept["type_id"]] != kept["schema_v"]:
        pytest.skip("an older schema")
    decoded = wire.decode(kept["type_id"], kept["schema_v"], bytes.fromhex(kept["body"]))
    reveals = {reveal.position: reveal for reveal in decoded.reveals}
    again = wire.encode(decoded.event, nonce=decoded.nonce, reveal=reveals.__getitem__)
    assert again.body.hex() == kept["body"]


def test_the_corpus_has_every_type():
    assert {kept["type_id"] for kept in CORPUS.values()} == set(wire.SCHEMAS)


def test_a_recorded_log_is_verified_for_ever():
    events = [msgspec.convert(event, LoggedEvent) for event in RECORDED["events"]]
    report = verify_stream(events[0].stream_id, StreamKind.TABLE, events)
    assert report.is_verified, (report.at_version, report.rule, report.expected, report.found)
    assert [hand.hand_id for hand in report.hands] == RECORDED["hands"]
    for hand_id, acts, reveals in zip(RECORDED["hands"], RECORDED["acts"], RECORDED["reveals"], strict=True):
        hand = verify_hand(events, hand_id)
        assert hand.is_verified, hand.detail
        assert (hand.acts, hand.reveals) == (acts, reveals)
