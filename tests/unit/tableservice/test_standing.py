"""What is kept of a table between two hands is all of it but the hand (H5)."""

import pytest
from msgspec.structs import replace

from diwan.core.games.capsa.stakes import PairStakes
from diwan.core.table.evolve import evolve
from diwan.core.table.state import TableState
from diwan.wire.events import decode
from services.table.standing import read, written
from tests.unit.verifier.logs import played


def states(seed):
    state: TableState | None = None
    for event in played(seed, 3).events:
        state = evolve(state, decode(event.type_id, event.schema_v, event.body).event)
        if not state.is_running:
            yield replace(state, hand=None)


@pytest.mark.parametrize("seed", range(8))
def test_a_table_that_is_written_and_read_is_the_same(seed):
    found = list(states(seed))
    assert len(found) > 5
    for state in found:
        assert read(written(state)) == state


def test_stakes_of_pairs_are_kept_too():
    state = replace(next(states(1)), stakes=PairStakes(offers={(0, 2): (2, 20), (1, 3): (1, 5)}))
    assert read(written(state)) == state
