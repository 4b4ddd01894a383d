"""A replay gives what clients had folded: version by version, byte for byte, in all games (S1, H3, P10)."""

import asyncio
import os
from contextlib import AsyncExitStack

import pytest

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1.replay_pb2 import GetReplayRequest
from diwan.chassis.access import Role
from diwan.client import DiwanError
from tests.integration.table.director import Director
from tests.integration.table.gamers import client_of
from tests.integration.table.house import a_house, has_decision, player_of
from tests.integration.table.recorders import (
    CapsaRecorder,
    Compared,
    Dreamer,
    Folded,
    Recorder,
    play_and_compare,
    replayed,
    watching,
)
from tests.integration.table.test_tournament import Bold

PLAYERS = ("ann", "ben", "cid")
GAMES = {
    "holdem": {"small_blind": 5, "big_blind": 10, "time_bank_seconds": 10},
    "omaha": {"game": "omaha", "small_blind": 5, "big_blind": 10},
    "naiko": {
        "game": "naiko",
        "small_blind": 5,
        "big_blind": 10,
        "naiko": hand_pb2.NaikoSettings(gain_per_deal=3),
    },
    "sarab": {"game": "sarab", "big_blind": 10, "spectator_delay_events": 7},
    "capsa": {"capsa": {"naturals": None}, "bring": 10_000},
}


async def compare(house, game, hands, compared=None):
    gamer = CapsaRecorder if game == "capsa" else Recorder
    _, ids, compared = await play_and_compare(house, PLAYERS, hands, gamer=gamer, config=GAMES[game], compared=compared)
    assert len(ids) == hands
    return compared


@pytest.mark.parametrize("game", GAMES)
async def test_a_replay_is_what_seats_onlookers_and_who_comes_late_or_again_had_folded(house, game):
    """Each seat, a spectator, a late joiner and one whose line broke; the private views of seats too."""
    compared = await compare(house, game, 3)
    assert compared["seat views"] > 3 * 3 * 4
    assert compared["seat private"] > 3 * 3 * 3
    assert compared["onlooker views"] > 10
    assert compared["cut and resumed views"]
    assert compared["late joiner views"]


async def test_at_a_table_that_never_stands_still_it_is_the_same(house):
    """Joining, leaving, topping up, sitting out, and decisions by the clock, in the middle of hands."""
    config = GAMES["holdem"] | {"decision_seconds": 1, "time_bank_seconds": 0, "sit_out_after": 0}
    _, _, compared = await play_and_compare(house, PLAYERS, 4, gamer=Dreamer, config=config, is_busy=True)
    assert compared["seat views"] > 3 * 3 * 4


async def test_a_hand_that_outlived_its_process_is_replayed_as_it_was_seen_on_both_sides(postgres, database, folder):
    """O7, H9: the views before and after, of two owners; the moved deadline is a moment like any other."""
    seen = Folded()
    async with a_house(postgres, database, folder) as house:
        table_id = await house.create(pause_ms=600_000)
        for player in PLAYERS[:2]:
            await house.sit(table_id, player)
        view = await house.until(table_id, has_decision)
        first = asyncio.create_task(watching(house, table_id, "ann", seen))
        decision = view.hand.decision
        await house.act(table_id, player_of(view, decision.seat), decision.turn, "call")
        view = await house.until(table_id, lambda after: after.version > view.version)
        await until_seen(seen, view)
        first.cancel()
    async with a_house(postgres, database, folder) as house:
        second = asyncio.create_task(watching(house, table_id, "ann", seen))
        view = await house.until(table_id, has_decision)
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn, "fold")
        view = await house.until(table_id, lambda after: not has_decision(after))
        await until_seen(seen, view)
        second.cancel()
        answer = await replayed(house, view.hand.hand_id, "ann")
    assert {"OwnerChanged", "DeadlineMoved"} <= {each.kind for moment in answer.moments for each in moment.events}
    compared = Compared()
    compared.hold("ann", answer, seen, is_whole=False)
    assert compared["ann views"] >= 4


class Contestant(Recorder, Bold):
    """Plays a tournament's table until it has no seat any more."""

    async def play(self, hands=1_000_000):
        try:
            await super().play(hands)
        except DiwanError as refusal:
            if refusal.reason not in {"MOVED_TO_ANOTHER_TABLE", "TABLE_CLOSED"}:
                raise


async def test_a_table_of_a_tournament_is_replayed_as_its_players_and_onlookers_had_folded_it(house):
    """By levels, to its last player; also when the table is closed, and every hand settled by its own end."""
    director, onlooker, compared = Director(house), Folded(), Compared()
    table_id = await director.open(game="holdem", start=table_pb2.START_MODE_ON_GRANT)
    for number, player in enumerate(PLAYERS):
        await director.seat(table_id, player, number)
    looking = asyncio.create_task(watching(house, table_id, "onlooker", onlooker))
    await director.start(table_id)
    async with AsyncExitStack() as stack:
        gamers, playing = [], []
        for number, player in enumerate(PLAYERS):
            client = await stack.enter_async_context(client_of(house, player))
            gamers.append(Contestant(await stack.enter_async_context(client.tables.play(table_id)), number))
            playing.append(asyncio.create_task(gamers[-1].play()))
        async with asyncio.timeout(60):
            view = await house.until(table_id, lambda view: len(view.seats) == 1, seconds=60)
            await until_seen(onlooker, view)
            await director.close(table_id)
            await asyncio.gather(*playing)
    looking.cancel()
    for hand_id in gamers[0].hands:
        looked = await house.call(
            "GetReplay",
            GetReplayRequest(hand_id=hand_id, eyes="REPLAY_EYES_AUDITOR", reason="test", page_size=200),
            "inspector",
            Role.AUDITOR,
        )
        assert looked.is_ended
        dealt = {private.seat for private in looked.moments[0].private}
        for number, (player, each) in enumerate(zip(PLAYERS, gamers, strict=True)):
            if number in dealt:
                compared.hold("seat", await replayed(house, hand_id, player), each.folded, is_whole=False)
        compared.hold("onlooker", await replayed(house, hand_id, "onlooker"), onlooker, is_whole=False)
    assert compared["seat views"] > 5
    assert compared["onlooker views"] > 5


async def until_seen(seen, view):
    async with asyncio.timeout(10):
        while seen.version < view.version:  # noqa: ASYNC110  (a stream tells)
            await asyncio.sleep(0.01)


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_three_hundred_hands_at_tables_that_never_stand_still_replay_as_they_were_folded(house):
    compared, hands = Compared(), int(os.environ.get("REPLAYED_HANDS", "300"))
    config = GAMES["holdem"] | {"decision_seconds": 1, "time_bank_seconds": 0, "sit_out_after": 0}
    while compared["hands"] < hands:
        count = min(50, hands - compared["hands"])
        await play_and_compare(house, PLAYERS, count, gamer=Dreamer, config=config, compared=compared, is_busy=True)
    print(f"never still: {dict(compared)}")


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("game", GAMES)
async def test_a_thousand_hands_replay_as_they_were_folded(house, game):
    """Two hundred of each game, at tables of fifty; the figures are printed (-s)."""
    compared, hands = Compared(), int(os.environ.get("REPLAYED_HANDS", "200"))
    while compared["hands"] < hands:
        await compare(house, game, min(50, hands - compared["hands"]), compared)
    print(f"{game}: {dict(compared)}")
