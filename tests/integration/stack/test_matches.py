"""A match over real services: bots enter, the wallet gathers and pays, and coins never touch it (SB-4, L12, L10)."""

import asyncio
import os
import signal
from functools import partial

import pytest

from diwan.api.event.v1 import table_pb2
from diwan.chassis.access import Role
from diwan.cli.demo.checks import check_audit, check_hands, check_ledger
from diwan.cli.demo.command import DEMO_SETTINGS
from diwan.cli.demo.gather import everything_applied, gather, until, wallet_totals
from diwan.cli.reconcile.gather import reconcile
from diwan.cli.stack.stack import Stack
from diwan.client import connect

pytestmark = pytest.mark.timeout(240)

ENTRY = 1000
GRANT = 10_000


def match_config(**terms):
    return {
        "name": "Match",
        "hand": {
            "game": "sarab",
            "decision_seconds": 1,
            "sarab": {"forced_bets": [10, 40, 100], "deals_per_level": 2, "void_antes": "carry"},
        },
        "seats": 3,
        "pause_ms": 1,
        "bots_fill": 3,
        "chips": table_pb2.CHIP_SOURCE_MATCH,
        "match": terms | {"starting_coins": {"dinars": 2}},
    }


async def is_over(client, table_id):
    return (await client.tables.get(table_id)).is_closed


@pytest.mark.soak
async def test_a_match_of_bots_and_an_absent_player_is_played_out_and_every_chip_is_accounted_for(tmp_path):
    """SB-4, SB-38: who is away pays the forced bet and is played by the clock; prizes are the entries."""
    stack = Stack(tmp_path, report=lambda *_: None, overrides=DEMO_SETTINGS)
    await asyncio.to_thread(stack.start)
    try:
        async with (
            connect(stack.places.services, stack.token("test", Role.OPERATOR)) as client,
            connect(stack.places.services, stack.token("amal", Role.PLAYER)) as amal,
        ):
            await amal.wallet.open_account()
            # Bots wait for nobody: they hear of the table when the player has entered.
            bots = stack.child("bots").pid
            os.kill(bots, signal.SIGSTOP)
            table_id = (await client.tables.create(match_config(entry_fee=ENTRY, prizes=[80, 20]))).table_id
            await amal.tables.sit_down(table_id, ENTRY)
            os.kill(bots, signal.SIGCONT)
            await until("the match is played out", partial(is_over, client, table_id), 150)
            await everything_applied(client)
            view = await client.tables.get(table_id)
            assert sorted(place.prize for place in view.match.places) == [
                0,
                ENTRY * 3 * 20 // 100,
                ENTRY * 3 * 80 // 100,
            ]
            own = next(place.prize for place in view.match.places if place.player == "amal")
            assert (await amal.wallet.get_account()).balance == GRANT - ENTRY + own

            assert [each for each in await reconcile(client) if not each.holds] == []
            evidence = await gather(client, stack, [await wallet_totals(client)])
            checked = check_hands(evidence)
            results = [*checked.results, check_ledger(evidence), check_audit(evidence, checked.hands)]
            assert [result for result in results if not result.holds] == []
    finally:
        await asyncio.to_thread(stack.stop)
