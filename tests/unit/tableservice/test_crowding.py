"""P12: who asks without end, or watches in a crowd, takes nobody's turn."""

import asyncio
from uuid import uuid4

import pytest

from diwan.core.decider import Rejected
from diwan.core.table.commands import SitOut
from services.table.asking import ASKS_A_PLAYER_MAX, MAILBOX_MAX, STRANGERS_MAX, Admission, Ask
from services.table.hub import CROWD, WOKEN_AT_ONCE
from services.table.watchers import Watcher
from tests.unit.tableservice.test_actor import table  # noqa: F401  (a fixture)


def an_ask(asker, answers=None):
    told = (lambda _: None) if answers is None else answers.append
    return Ask(lambda _: None, told, command_id=uuid4(), caller="x", request_hash=b"", asker=asker)


def busy(admission, ask, waiting=0, *, has_seat=True):
    with pytest.raises(Rejected, match="TABLE_BUSY"):
        admission.admit(ask, waiting, has_seat=has_seat)


def test_one_player_has_so_many_requests_unanswered_and_no_more_whatever_streams_they_come_by():
    admission, answers = Admission(), []
    asks = [an_ask("mallory", answers) for _ in range(ASKS_A_PLAYER_MAX)]
    for ask in asks:
        admission.admit(ask, 0, has_seat=True)
    busy(admission, an_ask("mallory"))
    admission.admit(an_ask("amal"), 0, has_seat=True)

    asks[0].answer(Rejected("NOT_YOUR_TURN"))

    admission.admit(an_ask("mallory"), 0, has_seat=True)
    busy(admission, an_ask("mallory"))
    assert len(answers) == 1


def test_strangers_fill_half_of_the_mailbox_and_seats_have_the_rest():
    admission = Admission()
    admission.admit(an_ask("zoe"), STRANGERS_MAX - 1, has_seat=False)
    busy(admission, an_ask("zoe"), STRANGERS_MAX, has_seat=False)
    admission.admit(an_ask("amal"), STRANGERS_MAX, has_seat=True)
    busy(admission, an_ask("amal"), MAILBOX_MAX)


async def test_refusals_that_wait_for_the_store_hold_up_nobody(table):  # noqa: F811  (the fixture)
    """Whether a refused request took effect before is looked up beside the table's own work."""
    answered = asyncio.Event()

    async def slow(*_):
        await answered.wait()

    table.store.outcome = slow

    def nonsense(_state):
        raise Rejected("NOT_SEATED")

    def sit_out(_state):
        return SitOut("p0", "player", table.clock.now_ms())

    refused = [
        asyncio.create_task(table.ask(nonsense, command_id=uuid4(), caller="z", request_hash=b"", asker="zoe"))
        for _ in range(ASKS_A_PLAYER_MAX)
    ]
    await asyncio.sleep(0)
    async with asyncio.timeout(2):
        await table.ask(sit_out, command_id=uuid4(), caller="p0", request_hash=b"", asker="p0")
    assert not any(task.done() for task in refused)
    answered.set()
    outcomes = await asyncio.gather(*refused, return_exceptions=True)
    assert {each.reason for each in outcomes} == {"NOT_SEATED"}


async def test_while_nobody_can_say_whether_it_took_effect_a_refused_request_is_unknown(table):  # noqa: F811
    """H6, D9: not refused, since its first sending may have been accepted."""

    async def away(*_):
        raise OSError

    table.store.outcome = away

    def nonsense(_state):
        raise Rejected("NOT_SEATED")

    with pytest.raises(Rejected, match="UNKNOWN_OUTCOME"):
        await table.ask(nonsense, command_id=uuid4(), caller="z", request_hash=b"", asker="zoe")
    assert not table.is_gone


async def test_in_a_crowd_seats_are_told_first_and_the_others_a_few_at_a_time(table):  # noqa: F811
    order = []

    def noting(watcher):
        watcher.wake = lambda: order.append(watcher.player)
        return watcher

    crowd = [noting(Watcher(table.hub.snapshot, is_seat=False)) for _ in range(CROWD + WOKEN_AT_ONCE)]
    for watcher in [*crowd, seat := noting(Watcher(table.hub.snapshot, "p0"))]:
        table.hub.attach(watcher, table.state.version)
    order.clear()
    await table.ask(
        lambda _: SitOut("p0", "player", table.clock.now_ms()), command_id=uuid4(), caller="p0", request_hash=b""
    )
    assert order[0] == "p0"
    assert len(order) <= 1 + WOKEN_AT_ONCE
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(order) == len(crowd) + 1
    assert seat.waiting == crowd[0].waiting
