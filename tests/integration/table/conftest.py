"""A migrated database for each test module, and the service running on it."""

import asyncio

import pytest

from tests.integration.table.house import a_house, keys_in, prepare


@pytest.fixture(scope="module")
def database(postgres, request):
    name = request.module.__name__.rpartition(".")[2]
    asyncio.run(prepare(postgres, name))
    yield name
    postgres.drop_database(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where keys are kept: as long as the database, or nobody could unwrap what lies in it."""
    folder = tmp_path_factory.mktemp("keys")
    keys_in(folder)
    return folder


@pytest.fixture
async def house(postgres, database, folder):
    async with a_house(postgres, database, folder) as running:
        yield running
