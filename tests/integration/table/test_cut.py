"""H10 over real connections: a reader that is cut after every message, through kill -9 of the service, misses nothing."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from diwan.chassis.access import Role
from diwan.client import connect
from diwan.wire.views import read_table_view
from tests.integration.table.gamers import CHIPS, Gamer
from tests.integration.table.house import a_wallet, keys_in
from tests.integration.table.siege import free_address
from tests.integration.table.test_crash import a_process, checked, log_of
from tests.integration.table.test_resume import folded

GAMES = {
    "holdem": {"small_blind": 5, "big_blind": 10},
    "omaha": {"game": "omaha", "small_blind": 5, "big_blind": 10},
    "naiko": {"game": "naiko", "small_blind": 5, "big_blind": 10},
    "sarab": {"game": "sarab", "big_blind": 10},
}


class Reader:
    """Follows a table, with a new connection for every message or with one for all; keeps what it was told."""

    def __init__(self, address, token, table_id, *, is_cut):
        self.address, self.token, self.table_id, self.is_cut = address, token, table_id, is_cut
        self.version, self.events, self.view, self.cuts = 1, [], None, 0

    async def follow(self):
        while True:
            # One channel for all cuts would go on by itself where the old one broke.
            async with (
                connect(self.address, self.token()) as client,
                client.tables.watch(self.table_id, after_version=self.version) as messages,
            ):
                async for message in messages:
                    self.take(message)
                    if self.is_cut:
                        break
            self.cuts += 1

    def take(self, message):
        if message.WhichOneof("message") != "update":
            return
        update = message.update
        for event in update.events:
            assert event.version == self.version + 1, "no hole and no duplicate"
            self.version = event.version
            self.events.append(event)
        if update.HasField("view"):
            assert update.view.version >= self.version
            assert not update.is_snapshot or update.view.version == self.version, "a snapshot of what we have"
            self.view = update.view


@pytest.mark.timeout(180)
@pytest.mark.parametrize("game", GAMES)
async def test_a_reader_cut_after_every_message_and_by_kill_9_knows_what_the_log_says(postgres, database, folder, game):
    key, address = keys_in(folder), free_address()

    def token(name, role=Role.PLAYER):
        return lambda: key.mint(name, role, "table")

    async with AsyncExitStack() as stack:
        wallet = await stack.enter_async_context(a_wallet(folder))
        process = a_process(postgres, database, folder, wallet, key, listen=address)
        house = await process.__aenter__()
        table_id = await house.create(buy_in_max=CHIPS, decision_seconds=60, time_bank_seconds=30, **GAMES[game])
        gamers = []
        for number, player in enumerate(("ann", "ben", "cid")):
            client = await stack.enter_async_context(connect(address, token(player)))
            await client.tables.sit_down(table_id, 5000, post_at_once=True)
            seat = await stack.enter_async_context(client.tables.play(table_id))
            gamers.append(Gamer(seat, number))
        readers = [Reader(address, token("guest"), table_id, is_cut=is_cut) for is_cut in (True, False)]
        following = [asyncio.create_task(reader.follow()) for reader in readers]
        playing = [asyncio.create_task(gamer.play(4)) for gamer in gamers]

        await house.until(table_id, lambda view: view.hand.hand_no >= 2 and view.hand.HasField("decision"), 40)
        house.process.kill()
        await house.process.wait()
        await process.__aexit__(None, None, None)
        process = a_process(postgres, database, folder, wallet, key, listen=address)
        house = await process.__aenter__()
        stack.push_async_exit(process)

        async with asyncio.timeout(90):
            await asyncio.gather(*playing)
        newest = (await house.view(table_id)).version
        async with asyncio.timeout(30):
            while any(reader.version < newest for reader in readers):
                assert not any(task.done() for task in following), [task.exception() for task in following]
                await asyncio.sleep(0.05)
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    rows = await log_of(postgres, database, table_id)
    checked(table_id, rows)
    cut, uncut = readers
    assert cut.cuts > 10
    for reader in readers:
        assert [(event.version, event.hash) for event in reader.events] == [
            (row["version"], row["hash"]) for row in rows[1 : reader.version]
        ]
    shared = min(cut.version, uncut.version)
    assert cut.events[: shared - 1] == uncut.events[: shared - 1]
    created = type(cut.events[0])(type_id=rows[0]["type_id"], schema_version=rows[0]["schema_v"], body=rows[0]["body"])
    for reader in readers:
        if reader.view.version == reader.version:
            assert folded([created, *reader.events]) == read_table_view(reader.view)
