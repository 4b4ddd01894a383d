"""Exactly once, whatever dies: retried and doubled decisions while the service is killed and frozen (P1, P2, H6, O7)."""

import time

import pytest

from tests.integration.table.siege import a_siege, nothing_is_lost_or_doubled

GOING_AGAIN_SECONDS_MAX = 10.0


async def besieged(postgres, database, folder, *, tables, blows, commands=0, seconds_max=GOING_AGAIN_SECONDS_MAX):
    """Play until every blow has fallen and so many commands were sent; print what was seen."""
    async with a_siege(postgres, database, folder) as siege:
        await siege.open(tables)
        began = time.monotonic()
        async with siege.playing():
            struck = 0
            while struck < len(blows) or siege.sent < commands:
                await siege.hurt(blows[struck % len(blows)])
                struck += 1
        seconds = time.monotonic() - began
    decisions = await nothing_is_lost_or_doubled(postgres, database, siege)
    slowest = ", ".join(f"{blow} {took:.1f} s" for blow, took in siege.slowest.items())
    print(
        f"\n{tables} tables, {struck} blows, {siege.sent} commands ({siege.retried} asked again) for {decisions} decisions in {seconds:.0f} s; "
        f"the slowest table went on after {slowest} (the process was there after {siege.back:.1f} s)"
    )
    assert decisions > 5 * tables
    assert siege.sent > decisions, "some were sent again"
    assert max(siege.slowest.values()) <= seconds_max


@pytest.mark.timeout(180)
async def test_every_decision_counts_once_although_the_service_is_killed_and_frozen_under_it(
    postgres, database, folder
):
    """A slice of the two below, beside other tests: how long it takes is theirs to hold."""
    await besieged(postgres, database, folder, tables=4, blows=("kill", "freeze", "kill"), seconds_max=60)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_ten_thousand_commands_under_kills_count_once_each(postgres, database, folder):
    await besieged(postgres, database, folder, tables=12, blows=("kill",), commands=10_000)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_fifty_tables_go_on_within_ten_seconds_of_every_blow(postgres, database, folder):
    await besieged(postgres, database, folder, tables=50, blows=("kill", "freeze") * 5)
