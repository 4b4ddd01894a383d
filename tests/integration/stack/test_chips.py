"""Chips that are not yours: every way of spending one balance twice, over the real table and wallet services (L2, L3, P3)."""

import asyncio
import os
import signal

import pytest

from diwan.chassis.access import Role
from diwan.cli.demo.gather import until
from diwan.client import DiwanError, new_request_id
from tests.integration.stack.test_faults import living_house

pytestmark = pytest.mark.timeout(240)

GRANT = 10_000
RETRIES = 300
CONFIG = {
    "hand": {"small_blind": 5, "big_blind": 10, "decision_seconds": 60},
    "seats": 4,
    "pause_ms": 1,
    "bots_fill": 0,
}


async def opened(house, backend, name="Quiet", **changes):
    config = CONFIG | {"name": name, "buy_in_max": GRANT} | changes
    table_id = (await backend.tables.create(config)).table_id
    house.table_ids.append(table_id)
    return table_id


async def balance_of(client):
    return (await client.wallet.get_account()).balance


async def came_to(work):
    """Return what became of calls: the reason of a refusal, OK for none."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        assert not isinstance(outcome, BaseException) or isinstance(outcome, DiwanError), outcome
    return [outcome.reason if isinstance(outcome, DiwanError) else "OK" for outcome in outcomes]


async def one_balance_at_four_tables(house, backend, amal):
    """L2: four buy-ins of everything at once, each asked for twice under one id."""
    tables = [await opened(house, backend, f"Table {number}") for number in range(4)]
    asked = []
    for table_id in tables:
        request_id = new_request_id()
        asked += [amal.tables.sit_down(table_id, GRANT, request_id=request_id) for _ in range(2)]
    answers = await came_to(asked)
    assert sorted(answers) == ["EXCEEDS_BALANCE"] * 6 + ["OK"] * 2
    assert await balance_of(amal) == 0
    for table_id in tables:
        seats = (await backend.tables.get(table_id)).seats
        if seats:
            assert (await came_to([amal.tables.stand_up(table_id)])) == ["OK"]
    await until("the chips are home", lambda: has(amal, GRANT))


async def has(client, chips):
    return await balance_of(client) == chips


async def one_player_by_two_callers(house, backend, amal):
    """A player, and the back end for that player, ask at the same moment: one seat, one transfer."""
    table_id = await opened(house, backend)
    answers = await came_to(
        [
            amal.tables.sit_down(table_id, 500, seat=0),
            backend.tables.sit_down(table_id, 500, seat=1, player="amal"),
            backend.tables.sit_down(table_id, 500, seat=2, player="amal"),
        ]
    )
    assert sorted(answers) == ["ALREADY_SEATED", "ALREADY_SEATED", "OK"]
    assert await balance_of(amal) == GRANT - 500
    await amal.tables.stand_up(table_id)
    await until("the chips are home", lambda: has(amal, GRANT))


async def top_up_and_leave_while_the_wallet_is_frozen(house, backend, amal):
    """L6: chips that are on their way to a seat whose player leaves come back, once."""
    table_id = await opened(house, backend)
    await amal.tables.sit_down(table_id, 500)
    wallet = house.stack.child("wallet").pid
    os.kill(wallet, signal.SIGSTOP)
    try:
        request_id = new_request_id()
        topping = asyncio.create_task(amal.tables.top_up(table_id, 700, request_id=request_id))
        await asyncio.sleep(0.3)  # long enough for the transfer to lie in the frozen wallet's socket
        leaving = asyncio.create_task(amal.tables.stand_up(table_id))
        await asyncio.sleep(0.3)
    finally:
        os.kill(wallet, signal.SIGCONT)
    await came_to([topping, leaving])
    await until("the chips are home", lambda: has(amal, GRANT), 30)
    assert not (await backend.tables.get(table_id)).seats


async def leave_with_the_pot_open(house, backend, amal, rami):
    """What was bet stays in the pot; the rest comes home after the hand, and what was topped up in it too."""
    table_id = await opened(house, backend)
    for client in (amal, rami):
        await client.tables.sit_down(table_id, 500, post_at_once=True)

    async def is_open():
        return (await backend.tables.get(table_id)).hand.decision.turn > 0

    await until("a hand is dealt", is_open)
    view = await backend.tables.get(table_id)
    decision = view.hand.decision
    first, second = (amal, rami) if view.seats[0].seat == decision.seat else (rami, amal)
    await first.tables.act(table_id, decision.turn, "raise", to=100)
    answers = await came_to([first.tables.top_up(table_id, 300), first.tables.stand_up(table_id)])
    assert answers[1] == "OK", answers
    await second.tables.stand_up(table_id)

    async def is_home():
        return await balance_of(amal) + await balance_of(rami) == 2 * GRANT

    await until("all chips are home", is_home, 30)
    assert not (await backend.tables.get(table_id)).seats


async def retries_without_end(house, backend, amal):
    """P2: one buy-in and one leaving, each asked for hundreds of times at once, at two tables, in between as other things."""
    table_id = await opened(house, backend)
    request_id = new_request_id()
    first = await amal.tables.sit_down(table_id, 500, request_id=request_id)
    limit = asyncio.Semaphore(8)

    async def again(other):
        async with limit:
            if other:
                return await came_to([amal.tables.top_up(table_id, 500, request_id=request_id)])
            answer = await amal.tables.sit_down(table_id, 500, request_id=request_id)
            assert answer.result.is_replayed
            assert answer.result.first_version == first.result.first_version
            return ["OK"]

    answers = await asyncio.gather(*(again(number % 10 == 9) for number in range(RETRIES)))
    assert {answer for (answer,) in answers} == {"OK", "REQUEST_ID_CONFLICT"}
    assert await balance_of(amal) == GRANT - 500
    other = await came_to([amal.tables.sit_down(table_id, 600, request_id=request_id)])
    assert other == ["REQUEST_ID_CONFLICT"]
    await amal.tables.stand_up(table_id)
    await until("the chips are home", lambda: has(amal, GRANT))


@pytest.mark.soak
async def test_one_balance_is_spent_once_however_it_is_asked_for(tmp_path):
    """One house for all, since each must leave it as it was; then every check of the demo on the whole of it."""
    async with (
        living_house(tmp_path, tables=1) as house,
        house.client("backend", Role.BACKEND) as backend,
        house.client("amal", Role.PLAYER) as amal,
        house.client("rami", Role.PLAYER) as rami,
    ):
        for client in (amal, rami):
            await client.wallet.open_account()
        await one_balance_at_four_tables(house, backend, amal)
        await one_player_by_two_callers(house, backend, amal)
        await top_up_and_leave_while_the_wallet_is_frozen(house, backend, amal)
        await retries_without_end(house, backend, amal)
        await leave_with_the_pot_open(house, backend, amal, rami)
        await house.is_sound()
        assert await balance_of(amal) + await balance_of(rami) == 2 * GRANT
