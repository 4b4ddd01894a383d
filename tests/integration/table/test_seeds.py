"""Fair decks on a live table: the exchange runs beside play, and the log proves who contributed (F1, F2, F5, DESIGN 6)."""

import asyncio
from uuid import UUID

from diwan.api.event.v1 import event_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.client.client import DiwanClient
from diwan.client.connection import Channels
from diwan.core.fairness import verify_opening
from diwan.wire.mapping import read_reveals
from services.table.ids import hand_id_of
from tests.integration.table.house import Seat, has_decision


async def play_hands(house, table_id, player, hands, *, contributes_seeds=True):
    """Check and call as a client does, until so many hands have begun; proofs are checked by the client library."""
    token = house.key.mint(player, Role.PLAYER, "table")
    answered = 0
    async with (
        DiwanClient(Channels(house.address, None), token) as client,
        client.tables.play(table_id, contributes_seeds=contributes_seeds) as seat,
    ):
        async for _ in seat:
            if seat.table is not None and seat.table.hand.hand_no > hands:
                return seat.proofs.reveals_checked
            decision = seat.decision
            if decision is not None and decision.turn > answered:
                answered = decision.turn
                await seat.act(decision.turn, "check" if decision.can_check else "call")
    return 0


async def log_of(house, table_id):
    call = house.stub.Watch(
        pb.WatchRequest(table_id=table_id, after_version=1), metadata=house.metadata("w", Role.SERVICE)
    )
    events = []
    async with asyncio.timeout(5):
        async for message in call:
            events += [(each.version, event_pb2.Event.FromString(each.body)) for each in message.update.events]
            if message.update.HasField("view"):
                break
    call.cancel()
    return events


async def test_seats_contribute_to_every_deck_and_an_auditor_can_recompute_it(house):
    """F1, F2, F5: commitments of house and seats stand in the log before any seed, and the deck follows from them."""
    table_id = await house.create(pause_ms=300)
    for player in ("ann", "ben", "cid"):
        await house.sit(table_id, player)
    players = [
        play_hands(house, table_id, "ann", 4),
        play_hands(house, table_id, "ben", 4),
        play_hands(house, table_id, "cid", 4, contributes_seeds=False),
    ]
    async with asyncio.timeout(40):
        checked = await asyncio.gather(*players)
    assert min(checked[:2]) >= 8, "four hands of two cards each were proved to their holders"
    assert checked[2] >= 4
    events = await log_of(house, table_id)
    contributed = 0
    for number in range(2, 5):
        contributed += await recomputed(house, table_id, events, number)
    assert contributed >= 4


async def recomputed(house, table_id, events, number):
    """Verify one hand as an auditor does; returns how many seeds it had."""
    hand_id = hand_id_of(UUID(table_id), number)
    at, started = next((v, e.hand_started) for v, e in events if e.hand_started.hand_no == number)
    committed_at, secret_commitment = next(
        (v, e.hand_started.next_commitment) for v, e in events if e.hand_started.hand_no == number - 1
    )
    seeds_at, commitments = next(
        ((v, e.seeds_committed.commitments) for v, e in events if e.seeds_committed.hand_no == number), (None, ())
    )
    assert started.secret_commitment == secret_commitment
    if seeds_at is not None:
        assert committed_at < seeds_at < at
    assert {each.seat for each in started.seeds} | set(started.absent) == {seat.seat for seat in started.seats}
    silent = {seat.seat for seat in started.seats if seat.player == "cid"}
    assert silent <= set(started.absent), "who sends nothing is absent and dealt in"
    request = pb.OpenHandRequest(hand_id=hand_id, reason="test")
    response = await house.stub.OpenHand(request, timeout=5, metadata=house.metadata("auditor", Role.AUDITOR))
    opening = verify_opening(
        hand_id,
        response.secret,
        {each.seat: each.seed for each in started.seeds},
        committed=started.secret_commitment,
        seed_commitments={each.seat: each.commitment for each in commitments},
        root=started.deck_root,
        reveals=[reveal for seat in response.seats for reveal in read_reveals(seat.reveals)],
    )
    assert opening.is_verified, opening.faults
    return len(started.seeds)


async def seeds_refusal(seat, message):
    await seat.call.write(message)
    await seat.until(lambda seat: seat.results)
    return seat.results.popitem()[1].refusal.reason


async def test_seeds_out_of_time_of_a_wrong_size_or_another_one_are_refused(house):
    table_id = await house.create(pause_ms=600_000)
    async with Seat(house, table_id, "ann") as ann:
        await ann.until(lambda seat: seat.view is not None)
        message = pb.PlayRequest(commit_seed=pb.CommitSeed(hand_no=1, commitment=bytes(32)))
        assert await seeds_refusal(ann, message) == "NOT_SEATED"
        await house.sit(table_id, "ann")
        for hand_no, commitment, reason in (
            (2, bytes(32), "SEED_NOT_ASKED"),
            (-1, bytes(32), "SEED_NOT_ASKED"),
            (1, b"", "SEED_INVALID"),
            (1, bytes(33), "SEED_INVALID"),
        ):
            message = pb.PlayRequest(commit_seed=pb.CommitSeed(hand_no=hand_no, commitment=commitment))
            assert await seeds_refusal(ann, message) == reason
        opening = pb.PlayRequest(open_seed=pb.OpenSeed(hand_no=1, seed=bytes(32)))
        assert await seeds_refusal(ann, opening) == "SEED_NOT_ASKED"
        await ann.call.write(pb.PlayRequest(commit_seed=pb.CommitSeed(hand_no=1, commitment=bytes(32))))
        other = pb.PlayRequest(commit_seed=pb.CommitSeed(hand_no=1, commitment=bytes([1]) * 32))
        assert await seeds_refusal(ann, other) == "SEED_ALREADY_COMMITTED"
        # Commitments are closed when a hand can begin; whoever has no stream is not waited for.
        await house.sit(table_id, "ben")
        await ann.until(lambda seat: seat.view.seed_exchange.is_opening)
        assert await seeds_refusal(ann, opening) == "SEED_DOES_NOT_MATCH"


async def test_a_first_hand_waits_a_second_at_most_for_seats_that_do_not_answer(house):
    """DESIGN 6."""
    table_id = await house.create()
    async with Seat(house, table_id, "ann"), Seat(house, table_id, "ben"):
        loop = asyncio.get_running_loop()
        for player in ("ann", "ben"):
            await house.sit(table_id, player)
        began = loop.time()
        await house.until(table_id, has_decision)
        assert loop.time() - began < 2.0
