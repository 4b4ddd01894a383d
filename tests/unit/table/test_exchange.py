"""The seed exchange, as the table itself refuses to get it wrong (F1, F2): the secret, then commitments, then seeds."""

import pytest

from diwan.core.fairness import seed_commitment
from diwan.core.hand.events import OpenedSeed
from diwan.core.table.commands import CloseTable, CommitSecret, CommitSeeds, StartNextHand
from diwan.core.table.events import SeedCommitment
from tests.unit.table.play import ROOT, Table, hand_id_of

SEEDS = {0: b"\x01" * 32, 1: b"\x02" * 32}


def a_table(*, has_secret=True):
    table = Table()
    for player in ("ann", "ben", "cid"):
        table.seat(player)
    if has_secret:
        table.when(CommitSecret(bytes(32), table.now))
    return table


def commitments(seeds, hand_no=1):
    return tuple(SeedCommitment(seat, seed_commitment(hand_id_of(hand_no), seat, seed)) for seat, seed in seeds.items())


def committing(table, given, hand_no=1):
    return CommitSeeds(hand_no, given, table.now)


def starting(table, seeds, hand_no=1):
    opened = tuple(OpenedSeed(seat, seed) for seat, seed in seeds.items())
    return StartNextHand(hand_id_of(hand_no), ROOT, opened, bytes([7]) * 32, table.now)


def test_no_seed_is_committed_and_no_hand_begins_before_a_secret_is_committed_to():
    table = a_table(has_secret=False)

    assert table.refused(committing(table, commitments(SEEDS)))[0] == "UNEXPECTED"
    assert table.refused(starting(table, {}))[0] == "UNEXPECTED"


def test_who_committed_and_opened_contributes_and_everybody_else_is_absent():
    table = a_table()
    table.when(committing(table, commitments(SEEDS)))

    started = table.when(starting(table, {1: SEEDS[1]}))[0]

    assert (started.seeds, started.absent) == ((OpenedSeed(1, SEEDS[1]),), (0, 2))
    assert started.secret_commitment == bytes(32)


def test_commitments_are_closed_once():
    """F2: whoever has seen others' commitments cannot add its own."""
    table = a_table()
    table.when(committing(table, commitments({0: SEEDS[0]})))

    assert table.refused(committing(table, commitments(SEEDS)))[0] == "SEED_NOT_ASKED"


def test_commitments_of_another_hand_are_not_taken():
    table = a_table()

    assert table.refused(committing(table, commitments(SEEDS), hand_no=2))[0] == "SEED_NOT_ASKED"


@pytest.mark.parametrize(
    "given",
    [
        (),
        (SeedCommitment(5, bytes(32)),),
        (SeedCommitment(1, bytes(32)), SeedCommitment(0, bytes(32))),
        (SeedCommitment(1, bytes(32)), SeedCommitment(1, bytes(32))),
        (SeedCommitment(0, bytes(31)),),
    ],
    ids=["none", "of nobody", "out of order", "twice", "too short"],
)
def test_commitments_are_of_taken_seats_each_once_and_whole(given):
    table = a_table()

    assert table.refused(committing(table, given))[0] == "FIELD_INVALID"


def test_a_seed_that_was_not_committed_to_gets_into_no_deck():
    table = a_table()
    assert table.refused(starting(table, {0: SEEDS[0]}))[0] == "SEED_DOES_NOT_MATCH"

    table.when(committing(table, commitments({0: SEEDS[0]})))

    assert table.refused(starting(table, {0: SEEDS[1]}))[0] == "SEED_DOES_NOT_MATCH"
    assert table.refused(starting(table, {1: SEEDS[1]}))[0] == "SEED_DOES_NOT_MATCH"


def test_a_commitment_to_the_same_seed_for_another_hand_does_not_count():
    table = a_table()
    table.when(committing(table, commitments({0: SEEDS[0]}, hand_no=2)))

    assert table.refused(starting(table, {0: SEEDS[0]}))[0] == "SEED_DOES_NOT_MATCH"


@pytest.mark.parametrize("seats", [(1, 0), (0, 0), (4,)], ids=["out of order", "twice", "not dealt in"])
def test_seeds_are_of_dealt_seats_each_once(seats):
    table = a_table()
    table.when(committing(table, commitments(SEEDS)))
    opened = tuple(OpenedSeed(seat, SEEDS.get(seat, bytes(32))) for seat in seats)

    assert table.refused(StartNextHand(hand_id_of(1), ROOT, opened, bytes(32), table.now))[0] == "FIELD_INVALID"


def test_a_secret_that_is_lost_is_replaced_between_hands_only_and_the_exchange_begins_anew():
    table = a_table()
    table.when(committing(table, commitments(SEEDS)))

    table.when(CommitSecret(bytes([9]) * 32, table.now))

    assert table.refused(starting(table, SEEDS))[0] == "SEED_DOES_NOT_MATCH", "seeds are asked for again"
    assert table.refused(CommitSecret(bytes(31), table.now))[0] == "FIELD_INVALID"
    started = table.when(starting(table, {}))[0]
    assert started.secret_commitment == bytes([9]) * 32
    assert table.refused(CommitSecret(bytes(32), table.now))[0] == "UNEXPECTED", "not during a hand"


def test_a_table_that_closes_commits_to_no_further_secret():
    table = a_table(has_secret=False)
    table.start()
    table.when(CloseTable("host", table.now))

    assert table.refused(CommitSecret(bytes(32), table.now))[0] in {"UNEXPECTED", "TABLE_CLOSED"}
    table.fold_out()
    assert table.refused(CommitSecret(bytes(32), table.now))[0] == "TABLE_CLOSED"
