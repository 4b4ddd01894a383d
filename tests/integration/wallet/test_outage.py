"""The wallet while its database is gone."""

import asyncio
from uuid import uuid4

import asyncpg
import grpc
import pytest

from tests.integration.wallet.room import Refused


def new_id() -> str:
    return str(uuid4())


async def test_a_wallet_without_its_database_is_unavailable_and_comes_back(room, prepared):
    """D12: nothing is answered wrongly; calls say UNAVAILABLE or run into their deadline."""
    await room.open_account("amal")
    outside = await asyncpg.connect(prepared.server.superuser_url)
    await outside.execute(f"alter database {prepared.name} with allow_connections false")
    await outside.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", prepared.name)
    table = await room.new_table()

    with pytest.raises(Refused) as caught:
        await room.fund(table, new_id(), "amal", 5)
    assert caught.value.code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}, caught.value
    with pytest.raises(Refused) as caught:
        await room.balance("amal")
    assert caught.value.reason == "SERVICE_UNAVAILABLE"

    await outside.execute(f"alter database {prepared.name} with allow_connections true")
    await outside.close()
    async with asyncio.timeout(10):
        while True:
            try:
                assert await room.fund(table, new_id(), "amal", 5) == "created"
                break
            except Refused:
                await asyncio.sleep(0.1)
