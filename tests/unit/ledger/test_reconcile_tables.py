"""The command line's own fold of the tables' feed, held against what the ledger posted."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from diwan.cli.reconcile.ledger import LedgerFold
from diwan.cli.reconcile.tables import TableFold
from diwan.core.log import LoggedEvent
from diwan.core.table.events import BuyInRequested, HandOpened, SeatFunded
from diwan.wire.events import encode
from diwan.wire.stored import withheld
from tests.unit.ledger.test_tournament_seats import a_log, changed
from tests.unit.wire.strategies import reveal_of

TABLE = UUID(int=7)
SITTING = str(UUID(int=8))


def faults_of(*events):
    """Return what is found in a table's events beside a ledger that posted nothing."""
    fold = TableFold(LedgerFold({}), len(events), frozenset())
    for version, event in enumerate(events, 1):
        wired = encode(event, nonce=bytes(16), reveal=reveal_of)
        fold.take(
            version,
            LoggedEvent(
                stream_id=TABLE.bytes, version=version, event_id=bytes(16), command_id=bytes(16), epoch=1,
                type_id=wired.type_id, schema_v=wired.schema_v, recorded_at_ms=version, body=wired.body,
                prev_hash=b"", hash=b"",
            ),
        )  # fmt: skip
    return [fault.what for fault in fold.faults]


@pytest.mark.parametrize(("amount", "faults"), [(0, 0), (1, 1), (100, 1)])
def test_a_seat_that_costs_nothing_needs_no_transfer_and_every_other_does(amount, faults):
    """SB-4: a match may be free; L10: chips at a seat come out of the wallet."""
    found = faults_of(
        BuyInRequested(
            2, "amal", is_bot=False, amount=amount, transfer_id=SITTING, requested_at_ms=1, post_at_once=False
        ),
        SeatFunded(2, amount, SITTING, 2),
    )

    assert len(found) == faults
    assert all(f"relies on transfer {SITTING} of {amount}, never posted" in what for what in found)


def test_a_tournament_s_table_moves_no_chip_of_the_ledger_and_has_to_add_up():
    """L12."""
    assert faults_of(*a_log()) == []
    assert faults_of(*changed(a_log(), "EntrantSeated", stack=201))
    assert faults_of(*changed(a_log(), "ChipsAdded", amount=51))
    assert faults_of(*a_log()[:2], SeatFunded(0, 100, SITTING, 1))


def test_a_look_at_hidden_cards_is_stepped_over_and_nothing_else_without_its_body():
    """Operators are not told who looked, and the books hold all the same."""
    look = encode(HandOpened(str(UUID(int=9)), "noor", "auditor", "auditor", "a complaint", "", 1), nonce=bytes(16))
    event = LoggedEvent(
        stream_id=TABLE.bytes, version=1, event_id=bytes(16), command_id=bytes(16), epoch=1, type_id=look.type_id,
        schema_v=look.schema_v, recorded_at_ms=1, body=look.body, prev_hash=b"", hash=b"",
    )  # fmt: skip
    for told, faults in ((withheld(event), 0), (event, 0), (withheld(replace(event, type_id=44)), 1)):
        fold = TableFold(LedgerFold({}), 1, frozenset())
        fold.take(1, told)
        assert len(list(fold.faults)) == faults
