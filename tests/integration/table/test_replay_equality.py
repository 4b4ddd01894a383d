"""A replay gives what clients had folded: version by version, byte for byte, in all games (S1, H3, P10)."""

import os

import pytest

from diwan.api.event.v1 import hand_pb2
from tests.integration.table.recorders import CapsaRecorder, Compared, Recorder, play_and_compare

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
    compared = await compare(house, game, 4)
    assert compared["seat views"] > 3 * 4 * 4
    assert compared["seat private"] > 3 * 4 * 3
    assert compared["onlooker views"] > 20
    assert compared["cut and resumed views"]
    assert compared["late joiner views"]


@pytest.mark.soak
@pytest.mark.parametrize("game", GAMES)
async def test_a_thousand_hands_replay_as_they_were_folded(house, game):
    """Two hundred of each game, at tables of fifty; the figures are printed (-s)."""
    compared, hands = Compared(), int(os.environ.get("REPLAYED_HANDS", "200"))
    while compared["hands"] < hands:
        await compare(house, game, min(50, hands - compared["hands"]), compared)
    print(f"{game}: {dict(compared)}")
