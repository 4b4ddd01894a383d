"""The command line's own fold of the ledger: what no honest ledger does is named by its event."""

from uuid import UUID

import pytest

from diwan.cli.reconcile.ledger import Claimed, LedgerFold
from diwan.core.hashing import chain_hashes, chain_start
from diwan.core.ledger.accounts import OPERATOR, player_account
from diwan.core.ledger.events import (
    AccountOpened,
    HoldPlaced,
    HoldResolved,
    LedgerCommitted,
    LedgerTransfer,
    RefusedTransfer,
)
from diwan.core.log import LoggedEvent, StreamKind
from diwan.wire.events import encode

SHARD = UUID(int=1).bytes
AMAL, DINA = player_account("amal"), player_account("dina")


def uid(n: int) -> str:
    return str(UUID(int=n))


def moved(n, debit, credit, amount, **fields):
    return LedgerTransfer(uid(n), debit.account_id, credit.account_id, amount, "test", "test", **fields)


def commit(*, accounts=(), transfers=(), refusals=(), **fields):
    return LedgerCommitted(tuple(accounts), tuple(transfers), tuple(refusals), 1, **fields)


OPENING = commit(accounts=(OPERATOR, AMAL, DINA), transfers=(moved(1, OPERATOR, AMAL, 100),))


def logged(commits):
    """Return commits as a feed with an unbroken chain."""
    head, events = chain_start(SHARD, StreamKind.LEDGER).hash, []
    for version, each in enumerate(commits, 1):
        encoded = encode(each, nonce=bytes(16))
        (digest,) = chain_hashes(
            head, SHARD, version, version, bytes(16), [(encoded.type_id, encoded.schema_v, encoded.body)]
        )
        events.append(
            LoggedEvent(
                stream_id=SHARD, version=version, event_id=bytes(16), command_id=bytes(16), epoch=0,
                type_id=encoded.type_id, schema_v=encoded.schema_v, recorded_at_ms=version, body=encoded.body,
                prev_hash=head, hash=digest,
            )
        )  # fmt: skip
        head = digest
    return events


def faults_of(*commits, claimed=()):
    fold = LedgerFold(dict(claimed))
    for number, event in enumerate(logged((OPENING, *commits)), 1):
        fold.take(number, event)
    fold.end()
    return [(fault.where.partition(" (")[0], fault.what) for fault in (*fold.faults, *fold.account_faults)]


def hold(n, amount, account: AccountOpened = AMAL):
    return HoldPlaced(uid(n), account.account_id, DINA.account_id, amount, "entry", "test", 0)


def test_an_honest_ledger_has_no_faults():
    claimed = {AMAL.account_id: Claimed(60, 3), DINA.account_id: Claimed(40, 2), OPERATOR.account_id: Claimed(-100, 1)}
    later = commit(transfers=(moved(9, DINA, AMAL, 1),))  # After the wallet was asked: no part of what it claimed.

    assert faults_of(
        commit(transfers=(moved(2, AMAL, DINA, 30),), refusals=(RefusedTransfer(uid(3), "EXCEEDS_BALANCE"),)),
        commit(holds=(hold(4, 70),)),
        commit(
            transfers=(moved(5, AMAL, DINA, 10, hold_id=uid(4)),),
            resolutions=(HoldResolved(uid(4), "posted", 10, uid(5), "test"),),
        ),
        later,
        claimed=claimed,
    ) == []  # fmt: skip


@pytest.mark.parametrize(
    ("commits", "what"),
    [
        ([commit(transfers=(moved(2, AMAL, DINA, 101),))], "account of amal owes 1"),
        ([commit(transfers=(moved(1, AMAL, DINA, 5),))], "was posted before"),
        ([commit(transfers=(moved(2, AMAL, player_account("nobody"), 5),))], "not between two accounts"),
        ([commit(transfers=(moved(2, AMAL, AMAL, 5),))], "not between two accounts"),
        ([commit(accounts=(AMAL,))], "is opened twice"),
        ([commit(refusals=(RefusedTransfer(uid(1), "EXCEEDS_BALANCE"),))], "was posted and is refused"),
        ([commit(holds=(hold(4, 101),))], "101 are set aside"),
        ([commit(holds=(hold(1, 5),))], "has an id or an account"),
        ([commit(resolutions=(HoldResolved(uid(4), "voided", 0, "", "test"),))], "was not open"),
        ([commit(closings=(AMAL.account_id,))], "account of amal closes with 100"),
        ([commit(closings=(uid(9),))], "closes and is not open"),
        (
            [commit(holds=(hold(4, 50),), resolutions=(HoldResolved(uid(4), "posted", 50, uid(5), "test"),))],
            "of 50 is posted with 50, 0 were moved",
        ),
    ],
)
def test_what_no_ledger_may_do_is_named_by_its_version(commits, what):
    ((where, told), *_) = faults_of(*commits)

    assert where == "ledger version 2"
    assert what in told


def test_a_hold_resolved_twice_is_named_by_the_second_end():
    """L6."""
    end = HoldResolved(uid(4), "voided", 0, "", "test")

    assert faults_of(commit(holds=(hold(4, 50),)), commit(resolutions=(end,)), commit(resolutions=(end,))) == [
        ("ledger version 4", f"hold {uid(4)} is voided and was not open")
    ]


def test_an_account_closes_once_and_then_moves_no_chips():
    closing = commit(closings=(DINA.account_id,))

    assert faults_of(closing, closing, commit(transfers=(moved(2, AMAL, DINA, 30),))) == [
        ("ledger version 3", f"account {DINA.account_id} closes and is not open"),
        ("ledger version 4", f"transfer {uid(2)} of 30 moves chips of the closed account of dina"),
    ]


def test_a_refused_id_that_is_posted_is_named():
    """L5."""
    refused = commit(refusals=(RefusedTransfer(uid(7), "EXCEEDS_BALANCE"),))

    assert faults_of(refused, commit(transfers=(moved(7, AMAL, DINA, 5),))) == [
        ("ledger version 3", f"transfer {uid(7)} of 5 was refused before")
    ]


def test_accounts_that_the_events_do_not_make_are_named():
    claimed = {
        AMAL.account_id: Claimed(99, 1),
        DINA.account_id: Claimed(0, 4),
        player_account("ghost").account_id: Claimed(3, 1),
    }

    found = dict(faults_of(claimed=claimed))

    assert "after its entry 1, the wallet says 99" in found["ledger version 1"]
    assert "counts 4 entries, its events make 0" in found[f"account {DINA.account_id} of dina"]
    assert "no event opened it" in found[f"account {player_account('ghost').account_id}"]


def test_a_broken_chain_a_hole_and_a_foreign_event_are_named():
    events = logged(
        (OPENING, commit(transfers=(moved(2, AMAL, DINA, 5),)), commit(transfers=(moved(3, AMAL, DINA, 5),)))
    )
    fold = LedgerFold({})
    fold.take(1, events[0])
    fold.take(3, events[2])

    assert [fault.what for fault in fold.faults] == [
        "the feed goes on after number 1",
        "the event does not continue the chain: VERSION_GAP",
    ]
