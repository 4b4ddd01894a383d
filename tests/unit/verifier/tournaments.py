"""Tournaments played by chance, stored as a store would."""

from __future__ import annotations

from random import Random  # noqa: TID251  (tests may use chance)
from uuid import UUID

from diwan.core.hashing import chain_start
from diwan.core.log import LoggedEvent, StreamKind
from diwan.wire.events import encode
from tests.property.tournament_fields import a_spin, any_field, sit_and_go
from tests.property.tournament_sim import TOURNAMENT_ID, Simulation
from tests.unit.verifier.logs import chained

STREAM = UUID(TOURNAMENT_ID)


def simulated(seed: int, kind: str = "any") -> Simulation:
    if kind == "spin":
        return Simulation(a_spin(), 3, seed).run()
    if kind == "sit":
        return Simulation(sit_and_go(4, 4), 4, seed).run()
    config, players, late = any_field(seed)
    return Simulation(config, players, seed, late=late).run()


def stored(batches, seed: int = 1) -> list[LoggedEvent]:
    """The events of batches as they lie in a store."""
    rng = Random(seed)
    events = []
    for batch in batches:
        command_id = rng.randbytes(16)
        for event in batch:
            one = encode(event, nonce=rng.randbytes(16))
            events.append(
                LoggedEvent(
                    stream_id=STREAM.bytes,
                    version=0,
                    event_id=rng.randbytes(16),
                    command_id=command_id,
                    epoch=1,
                    type_id=one.type_id,
                    schema_v=one.schema_v,
                    recorded_at_ms=getattr(event, "at_ms", 0) or 1,
                    body=one.body,
                    prev_hash=b"",
                    hash=b"",
                )
            )
    return chained(events, chain_start(STREAM.bytes, StreamKind.TOURNAMENT))
