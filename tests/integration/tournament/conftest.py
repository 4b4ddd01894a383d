"""A house with tournaments, shared by the tests that hurt nobody but their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
from msgspec.structs import replace

from diwan.chassis.access import Role
from diwan.cli.demo import floor
from diwan.cli.demo.gather import until
from diwan.cli.stack.stack import Stack
from diwan.client import AccountName, DiwanClient, DiwanError, connect
from diwan.core.tournament.settings import BotTerms, TournamentConfig

_numbers = count(1)
QUICK = {"bots": {"think_ms_min": "0", "think_ms_max": "4"}}


class House:
    """A running stack, with players that are new in every test."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    def client(self, subject: str = "ops", role: Role = Role.OPERATOR) -> DiwanClient:
        return connect(self.stack.places.services, self.stack.token(subject, role))

    def names(self, how_many: int = 1) -> list[str]:
        return [f"player-{next(_numbers)}" for _ in range(how_many)]

    async def announced(self, client: DiwanClient, config: TournamentConfig | None = None) -> str:
        """Announce a tournament and wait until it can be entered; returns its id."""
        made = await client.tournaments.create(config or people_alone())
        tournament_id = made.tournament.tournament_id
        await self.comes_to(client, tournament_id, lambda view: view.is_open, "registration opens")
        return tournament_id

    async def comes_to(self, client: DiwanClient, tournament_id: str, is_so, what: str, seconds: float = 30.0):
        async def looked():
            try:
                view = (await client.tournaments.get(tournament_id)).tournament
            except DiwanError as error:
                # On a busy machine a service takes longer to be there again than the client asks by itself.
                if not error.can_be_retried:
                    raise
                return False
            return is_so(view)

        await until(what, looked, seconds)
        return (await client.tournaments.get(tournament_id)).tournament

    async def pool(self, client: DiwanClient, tournament_id: str) -> int:
        return (await client.wallet.get_account(name=AccountName("pool", tournament_id))).balance

    async def player(self, name: str) -> DiwanClient:
        client = self.client(name, Role.PLAYER)
        await client.wallet.open_account()
        return client


def people_alone(**changes) -> TournamentConfig:
    """A Sit & Go of three without bots."""
    config = replace(floor.sit_and_go(), table_size=3, players_min=3, players_max=3, bots=BotTerms())
    return replace(config, **changes)


def in_an_hour(**changes) -> TournamentConfig:
    """A scheduled tournament that nobody waits for."""
    config = floor.scheduled(time.time_ns() // 1_000_000 + 3_600_000)
    return replace(config, bots=BotTerms(), **changes)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    services = ("wallet", "table", "tournament", "bots")
    folder = tmp_path_factory.mktemp("house")
    with Stack(folder, report=lambda *_: None, services=services, overrides=QUICK) as stack:
        yield House(stack)


@pytest.fixture
async def ops(house: House) -> AsyncIterator[DiwanClient]:
    async with house.client() as client:
        yield client
        await asyncio.sleep(0)
