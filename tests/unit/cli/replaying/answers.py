"""Answers of the service about hands that were played by chance, made by what the service makes them with."""

from __future__ import annotations

from functools import cache

from diwan.api.table.v1 import replay_pb2
from diwan.core.table.evolve import evolve
from diwan.history import Entry, hand_moments, own_positions
from diwan.wire.events import decode
from diwan.wire.hand import RESULT_NUMBER
from diwan.wire.replays import Eyes, MomentWriter
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.logs import played

EYES = {"spectator": 1, "auditor": 3}


@cache
def hand(seed: int = 105, hands: int = 2) -> Insider:
    """The last hand of a table."""
    return Insider(played(seed, hands))


def answer(lens: str = "spectator", insider: Insider | None = None) -> replay_pb2.GetReplayResponse:
    """Return what the service answers to a lens."""
    one = insider or hand()
    start, end = one.start(), one.end()
    while end + 1 < len(one.events) and one.events[end + 1].command_id == one.events[end].command_id:
        end += 1
    before = None
    for event in one.table.core[:start]:
        before = evolve(before, event)
    events = one.events[start : end + 1]
    decoded = [decode(event.type_id, event.schema_v, event.body) for event in events]
    entries = [
        Entry(event.version, event.recorded_at_ms, event.command_id, each.event, each.reveals)
        for event, each in zip(events, decoded, strict=True)
    ]
    dealt = [seat.seat for seat in one.table.core[start].seats]
    seats = dealt if lens == "auditor" else [int(lens)] if lens.isdecimal() else []
    told = [each.event for each in decoded]
    reveals = {
        reveal.position: reveal for seat in seats for reveal in one.table.deck.reveals(own_positions(told, seat))
    }
    writer = MomentWriter(Eyes(frozenset(seats), reveals), {}, lambda _: "next")
    logged = {event.version: event for event in events}
    made = replay_pb2.GetReplayResponse(
        hand_id=one.hand_id,
        table_id=str(one.table.stream),
        hand_no=one.table.core[start].hand_no,
        eyes=EYES.get(lens, 2),
        seat=int(lens) if lens.isdecimal() else None,
        is_ended=True,
        result=RESULT_NUMBER[one.table.core[one.end()].result],
        opened_version=99 if seats else 0,
    )
    for moment in hand_moments(before, entries):
        made.moments.append(writer.message(moment, [logged[each.entry.version] for each in moment.happened]))
    return made
