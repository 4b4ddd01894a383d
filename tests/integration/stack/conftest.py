"""A whole house that has played some hands, shared by the tests that spoil it one thing at a time."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from diwan.chassis.access import Role
from diwan.cli.demo.checks import Result, check_audit, check_copies, check_hands, check_ledger
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.evidence import Evidence, WalletTotals
from diwan.cli.demo.gather import close_tables, everything_applied, gather, wallet_totals
from diwan.cli.demo.play import open_tables, play_until
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, connect


@dataclass
class PlayedHouse:
    """A stack whose tables are closed, and the wallet's sums of a moment in mid-play."""

    stack: Stack
    table_ids: list[str] = field(default_factory=list)
    totals: list[WalletTotals] = field(default_factory=list)
    untouched: dict[str, Result] = field(default_factory=dict)
    """What the checks said before anybody spoiled anything: the audit forgets no spoiling, also when it is undone."""

    def client(self) -> DiwanClient:
        return connect(self.stack.places.services, self.stack.token("test", Role.OPERATOR))

    async def play(self, hands: int, tables: int) -> None:
        async with self.client() as client:
            self.table_ids = await open_tables(client, tables)
            await play_until(client, self.table_ids, hands, lambda _: None)
            self.totals = [await wallet_totals(client)]
            await close_tables(client, self.table_ids)
            await everything_applied(client)

    async def evidence(self) -> Evidence:
        async with self.client() as client:
            return await gather(client, self.stack, self.totals)

    async def results(self) -> dict[str, Result]:
        """Every check of the demo, by a short name."""
        evidence = await self.evidence()
        checked = check_hands(evidence)
        digest, acts, cards = checked.results
        return {
            "digest": digest,
            "acts": acts,
            "cards": cards,
            "ledger": check_ledger(evidence),
            "copies": check_copies(evidence),
            "audit": check_audit(evidence, checked.hands),
        }


@pytest.fixture(scope="module")
def open_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A house that is simply open, with quick bots, for tests that open their own tables and spoil nothing.

    One a module: what another module's players did there would be found, listed and counted too.
    """
    with Stack(tmp_path_factory.mktemp("open"), report=lambda *_: None, overrides=DEMO_SETTINGS) as stack:
        yield stack


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedHouse]:
    with Stack(tmp_path_factory.mktemp("house"), report=lambda *_: None, overrides=DEMO_SETTINGS) as stack:
        played = PlayedHouse(stack)
        asyncio.run(played.play(hands=16, tables=2))
        played.untouched = asyncio.run(played.results())
        yield played
