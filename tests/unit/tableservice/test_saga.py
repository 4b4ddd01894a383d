"""Buy-ins: whoever waits for the wallet's answer is told, whenever it began to wait (DESIGN 8, D9)."""

import asyncio
from types import SimpleNamespace
from uuid import uuid4

import pytest

from diwan.core.decider import Rejected
from diwan.core.table.state import Pending, SeatState
from services.table.saga import BuyIns, WalletUnknown


class Wallet:
    def __init__(self):
        self.answers = []
        self.asked = 0
        self.gate = asyncio.Event()

    async def fund_seat(self, **_):
        self.asked += 1
        await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer


class Actor:
    """Records what the saga asks of the table."""

    def __init__(self):
        self.table_id = uuid4()
        self.clock = SimpleNamespace(now_ms=lambda: 1)
        self.commands = []

    async def ask(self, build, **_):
        self.commands.append(build(None))


def a_seat(transfer):
    pending = Pending(transfer, 100, is_top_up=False)
    return SeatState(0, "ann", is_bot=False, sitting=transfer, post_at_once=False, pending=pending)


@pytest.fixture
def parts():
    wallet = Wallet()
    return BuyIns(wallet), wallet, Actor(), a_seat(str(uuid4()))


async def test_everybody_who_waits_is_told_and_who_asks_right_after_does_not_wait(parts):
    """The moment of the answer is where a waiter could be forgotten."""
    buy_ins, wallet, actor, seat = parts
    buy_ins.follow(actor, seat)
    buy_ins.follow(actor, seat)

    async def waits():
        await buy_ins.settled(seat.sitting)
        await buy_ins.settled(seat.sitting)

    waiting = [asyncio.create_task(waits()) for _ in range(5)]
    await asyncio.sleep(0)
    wallet.gate.set()
    async with asyncio.timeout(2):
        await asyncio.gather(*waiting)
    assert wallet.asked == 1
    assert [type(command).__name__ for command in actor.commands] == ["FundSeat"]


async def test_an_unknown_answer_is_told_at_once_and_asked_for_again(parts):
    buy_ins, wallet, actor, seat = parts
    wallet.answers = [WalletUnknown("no line")]
    wallet.gate.set()
    buy_ins.follow(actor, seat)
    with pytest.raises(Rejected, match="WALLET_UNAVAILABLE"):
        await buy_ins.settled(seat.sitting)
    async with asyncio.timeout(3):
        await buy_ins.settled(seat.sitting)
    assert wallet.asked == 2
    assert [type(command).__name__ for command in actor.commands] == ["FundSeat"]


async def test_a_refusal_is_final_and_told_to_the_table(parts):
    buy_ins, wallet, actor, seat = parts
    wallet.answers = [Rejected("EXCEEDS_BALANCE")]
    wallet.gate.set()
    buy_ins.follow(actor, seat)
    await buy_ins.settled(seat.sitting)
    assert [command.reason for command in actor.commands] == ["EXCEEDS_BALANCE"]


async def test_closing_lets_nobody_wait(parts):
    buy_ins, _, actor, seat = parts
    buy_ins.follow(actor, seat)
    waiting = asyncio.create_task(buy_ins.settled(seat.sitting))
    await asyncio.sleep(0)
    async with asyncio.timeout(2):
        await buy_ins.close()
        await waiting
