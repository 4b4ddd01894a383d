"""A tournament's log is decided again: whatever is forged in it is found, although its chain is whole (F1, F7, P8)."""

from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from diwan.core.hashing import chain_hashes, first_prev_hash
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.tournament import events as told
from diwan.verifier.report import Rule
from diwan.verifier.tournament import verify_tournament
from diwan.wire.events import encode
from services.audit.tournaments import _faults, transfers_of
from tests.property.tournament_fields import sit_and_go
from tests.property.tournament_sim import TOURNAMENT_ID, Simulation

STREAM = UUID(TOURNAMENT_ID).bytes


@pytest.fixture(scope="module")
def batches():
    simulation = Simulation(sit_and_go(6, 3), 6, 5)
    simulation.run()
    return [list(batch) for batch in simulation.batches if batch]


def logged(batches):
    """The batches as a log whose chain holds, whatever they say."""
    previous, version, log = first_prev_hash(STREAM, StreamKind.TOURNAMENT), 0, []
    for batch in batches:
        command_id = uuid4().bytes
        encoded = [encode(event, nonce=bytes(16)) for event in batch]
        bodies = [(one.type_id, one.schema_v, one.body) for one in encoded]
        for one, digest in zip(
            encoded, chain_hashes(previous, STREAM, version + 1, 1, command_id, bodies), strict=True
        ):
            version += 1
            log.append(
                LoggedEvent(
                    stream_id=STREAM,
                    version=version,
                    event_id=uuid4().bytes,
                    command_id=command_id,
                    epoch=1,
                    type_id=one.type_id,
                    schema_v=one.schema_v,
                    recorded_at_ms=1,
                    body=one.body,
                    prev_hash=previous,
                    hash=digest,
                )
            )
            previous = digest
    return log


def forged(batches, kind, change):
    """The batches with the last event of a kind changed."""
    copies = [list(batch) for batch in batches]
    for batch in reversed(copies):
        for number in reversed(range(len(batch))):
            if isinstance(batch[number], kind):
                batch[number] = change(batch[number])
                return copies
    raise AssertionError(f"no {kind.__name__}")


def test_an_honest_log_is_verified_with_every_decision_and_draw(batches):
    report = verify_tournament(STREAM, logged(batches))

    assert report.is_verified, (report.rule, report.expected, report.found)
    assert report.commands == len(batches)
    assert report.draws == sum(isinstance(event, told.Drawn) for batch in batches for event in batch)
    assert report.state.is_over


@pytest.mark.parametrize(
    ("kind", "change", "rule"),
    [
        (told.Drawn, lambda event: replace(event, secret=bytes(32)), Rule.SECRET_DIFFERS),
        (told.Drawn, lambda event: replace(event, draw_no=event.draw_no + 1), Rule.SECRET_NOT_COMMITTED),
        (
            told.PoolFixed,
            lambda event: replace(event, prizes=(event.prizes[0] + 1, event.prizes[1] - 1)),
            Rule.BATCH_DIFFERS,
        ),
        (told.PlayersOut, lambda event: replace(event, out_first=event.out_first + 1), Rule.BATCH_DIFFERS),
        (
            told.SeatsDrawn,
            lambda event: replace(event, seats=(replace(event.seats[0], seat=event.seats[1].seat), *event.seats[1:])),
            Rule.BATCH_DIFFERS,
        ),
        (told.TournamentWon, lambda event: replace(event, player="mallory"), Rule.BATCH_DIFFERS),
    ],
    ids=["another secret", "a draw left out", "a prize", "an order of going out", "a seat", "the winner"],
)
def test_what_is_forged_is_found_at_its_event(batches, kind, change, rule):
    report = verify_tournament(STREAM, logged(forged(batches, kind, change)))

    assert not report.is_verified
    assert report.rule is rule


def test_a_decision_left_out_is_found(batches):
    without = [batch for batch in batches if not isinstance(batch[0], told.HandPlayed)]
    assert not verify_tournament(STREAM, logged(without)).is_verified


def test_the_ledger_is_held_against_every_payment(batches):
    """The audit's part: each payment that the log says was made is posted, exactly so."""
    expected = transfers_of(TOURNAMENT_ID, logged(batches))
    some = next(key for key, transfer in expected.items() if transfer[3] == "prize")
    debit, credit, amount, code = expected[some]

    assert _faults(expected, expected) == []
    assert [kind for kind, _ in _faults(expected, expected | {some: (debit, credit, amount + 1, code)})] == [
        "TRANSFER_DIFFERS"
    ]
    assert [kind for kind, _ in _faults(expected, {k: v for k, v in expected.items() if k != some})] == [
        "TRANSFER_MISSING"
    ]
    prizes = [transfer[2] for transfer in expected.values() if transfer[3] == "prize"]
    assert sum(prizes) == 600
