"""kill -9 while each kind of clock runs: after the takeover it stands as the rules say, by an event (H9, O7, CL, NK-40, CS-27)."""

import pytest

from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorSettled,
    DeadlineMoved,
    HandEnded,
    TimeBankBegan,
    TurnBegan,
    WindowOpened,
)
from diwan.core.table.evolve import evolve
from diwan.core.table.playing import open_clock
from diwan.wire.events import decode
from services.table.conduct import GRACE_MS
from tests.integration.table.capsa_house import answer_all, is_declaring, is_setting, lock_all
from tests.integration.table.gamers import verified
from tests.integration.table.house import a_house, a_wallet, has_decision, keys_in, player_of
from tests.integration.table.test_capsa import setting
from tests.integration.table.test_crash import a_process, log_of
from tests.integration.table.test_naiko import anchored, answer_request, has_window

LONG = 600
"""Seconds of clocks that must not run out while the test waits for something else."""


def in_bank(view):
    return has_decision(view) and view.hand.decision.is_time_bank_running


async def with_every_clock(house):
    """Open four tables, each with another clock running: a window, setting, declaring, and last a time bank."""
    window, _, _, _ = await anchored(house, response_seconds=60, decision_seconds=LONG)
    sets, _ = await setting(house, pause_ms=60_000, set_seconds=LONG, declare_seconds=LONG)
    calls, view = await setting(house, pause_ms=60_000, set_seconds=LONG, declare_seconds=LONG)
    await lock_all(house, calls, view)
    await house.until(calls, is_declaring)
    bank = await house.create(decision_seconds=1, time_bank_seconds=LONG, pause_ms=60_000)
    for player in ("ann", "ben"):
        await house.sit(bank, player)
    await house.until(bank, in_bank)
    return {"window": window, "sets": sets, "calls": calls, "bank": bank}


@pytest.mark.timeout(180)
async def test_after_kill_9_every_clock_has_the_time_that_it_had_and_is_answered(postgres, database, folder):
    """O7: given any clock that runs when the service dies, when it is back, then an event gives the time since back.

    What was left when the log fell silent is left again, five seconds at least; and each plays on from there.
    """
    key, before, moved = keys_in(folder), {}, {}
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as first:
            tables = await with_every_clock(first)
            first.process.kill()
            await first.process.wait()
        for name, table_id in tables.items():
            before[name] = stood(await log_of(postgres, database, table_id))
        async with a_house(postgres, database, folder, wallet=wallet) as house:
            for name, table_id in tables.items():
                moved[name] = await moved_deadline(house, postgres, database, table_id, before[name][2])
            await play_on(house, tables)
            stories = {name: await verified(house, table_id) for name, table_id in tables.items()}
    for name, story in stories.items():
        clock, silent_since_ms, _ = before[name]
        assert (moved[name].turn, moved[name].reason) == (clock.turn, "outage")
        left_ms = max(clock.deadline_ms - silent_since_ms, GRACE_MS)
        assert moved[name].deadline_ms == moved[name].moved_at_ms + left_ms, name
        assert_told(name, story, moved[name])


def stood(rows):
    """Return the clock that ran at the end of a log, when that was, and its last version."""
    state = None
    for row in rows:
        state = evolve(state, event_of(row))
    return open_clock(state.hand), rows[-1]["recorded_at_ms"], len(rows)


def event_of(row):
    return decode(row["type_id"], row["schema_v"], row["body"]).event


async def moved_deadline(house, postgres, database, table_id, version):
    """Wait until the new owner has moved the deadline; returns that event, the first after its claim."""
    await house.until(table_id, lambda view: view.version >= version + 2, seconds=30)
    event = event_of((await log_of(postgres, database, table_id))[version + 1])
    assert isinstance(event, DeadlineMoved)
    return event


async def play_on(house, tables):
    """Answer what each clock waits for."""
    view = await house.until(tables["bank"], in_bank)
    decision = view.hand.decision
    await house.act(tables["bank"], player_of(view, decision.seat), decision.turn, "call")
    view = await house.until(tables["window"], has_window)
    window = view.hand.naiko.window
    request = answer_request(tables["window"], window.turn, "seal_shield")
    await house.call("AnswerAnchor", request, player_of(view, window.seat))
    view = await house.until(tables["window"], has_decision)
    await house.act(tables["window"], player_of(view, view.hand.decision.seat), view.hand.decision.turn)
    await lock_all(house, tables["sets"], await house.until(tables["sets"], is_setting))
    for name in ("sets", "calls"):
        await answer_all(house, tables[name])


def assert_told(name, story, moved):
    after = story[story.index(moved) + 1 :]
    if name == "bank":
        began = next(event for event in reversed(story) if isinstance(event, TimeBankBegan))
        acted = next(event for event in after if isinstance(event, Acted))
        left_ms = moved.deadline_ms - acted.received_at_ms
        assert (acted.decided_by, acted.turn) == ("player", began.turn)
        assert acted.bank_spent_ms == began.bank_ms - min(left_ms, began.bank_ms), "the outage cost nothing of the bank"
    elif name == "window":
        opened = next(event for event in reversed(story) if isinstance(event, WindowOpened))
        answered, settled, began = (
            next(event for event in after if isinstance(event, kind))
            for kind in (AnchorAnswered, AnchorSettled, TurnBegan)
        )
        assert (answered.decided_by, settled.is_blocked) == ("player", True)
        assert began.deadline_ms - answered.received_at_ms == opened.remaining_ms, "the declarer's clock stood still"
    else:
        assert any(isinstance(event, HandEnded) and event.result != "void" for event in after)
