"""A Sarab match at a live table: entries by the wallet, coins at the table, to the last player (SB-4, SB-38, L12)."""

import asyncio
from contextlib import AsyncExitStack
from uuid import uuid4

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.table.events import MatchEnded, MatchStarted, SeatReleased
from tests.integration.table.gamers import Gamer, client_of, verified
from tests.integration.table.house import a_house, has_decision, player_of

COINS = table_pb2.Coins(dinars=2)
PLAYERS = ("ann", "ben", "cid")


async def a_match(house, *, entry_fee=500, prizes=(), players=PLAYERS, **config):
    sarab = {"forced_bets": [10, 40, 80], "deals_per_level": 2}
    terms = table_pb2.MatchTerms(starting_coins=COINS, entry_fee=entry_fee, prizes=prizes)
    return await house.create(
        **{"game": "sarab", "sarab": sarab, "seats": len(players), "chips": table_pb2.CHIP_SOURCE_MATCH, "match": terms}
        | config
    )


class Contender(Gamer):
    """Plays until the match is over or its own coins are gone, boldly."""

    async def play(self, _hands=0):
        async for _ in self.seat:
            if self.seat.table is not None:
                await self._answer()

    def _choice(self, decision):
        if self.chance.random() < 0.4 and decision.can_sarab:
            return "sarab", 0
        return super()._choice(decision)


async def contend(house, table_id, players=PLAYERS, *, amount=500, seats=True):
    """Let players enter, unless they have, and play a match to its end."""
    async with AsyncExitStack() as stack:
        gamers = []
        for number, player in enumerate(players):
            client = await stack.enter_async_context(client_of(house, player))
            if seats:
                await client.tables.sit_down(table_id, amount)
            seat = await stack.enter_async_context(client.tables.play(table_id))
            gamers.append(Contender(seat, number))
        async with asyncio.timeout(90):
            await asyncio.gather(*(each.play() for each in gamers))
        return gamers


async def test_a_match_is_played_by_clients_to_its_last_player_and_every_hand_is_proved(house):
    """SB-38: the winner takes the entries; coins have never been anybody's chips."""
    table_id = await a_match(house, prizes=(70, 30))
    gamers = await contend(house, table_id)
    events = await verified(house, table_id)
    (begun,) = (event for event in events if isinstance(event, MatchStarted))
    (ended,) = (event for event in events if isinstance(event, MatchEnded))
    assert (begun.coins, begun.entry_fee) == (200, 500)
    assert ended.result == "won"
    assert sum(place.prize for place in ended.places) == 1500
    assert {place.player for place in ended.places} == set(PLAYERS)
    assert all(sum(seat.stack for seat in hand.seats) == 600 for hand in events if isinstance(hand, HandStarted))
    assert all(event.amount == 0 for event in events if isinstance(event, SeatReleased))
    assert len(house.wallet.transfers) == 3
    view = gamers[0].seat.table
    assert view.is_closed
    assert view.match.result == table_pb2.MATCH_RESULT_WON
    assert [place.prize for place in view.match.places] == [place.prize for place in ended.places]


async def test_a_match_without_entry_needs_no_wallet(house):
    house.wallet.is_away = True
    table_id = await a_match(house, entry_fee=0, players=("ann", "ben"))
    for player in ("ann", "ben"):
        await house.sit(table_id, player, amount=0)
    view = await house.until(table_id, has_decision)
    assert view.match.is_started
    assert list(view.match.still_in) == [0, 1]
    assert [(seat.coins.dinars, seat.coins.dirhams) for seat in view.seats if not seat.bet] == [(1, 1)] * 2
    house.wallet.is_away = False


async def test_a_match_takes_just_its_entry_and_nobody_late(house):
    table_id = await a_match(house, players=("ann", "ben"))
    for amount, reason in ((0, "BUY_IN_OUT_OF_RANGE"), (499, "BUY_IN_OUT_OF_RANGE"), (501, "BUY_IN_OUT_OF_RANGE")):
        request = pb.SitDownRequest(request_id=str(uuid4()), table_id=table_id, amount=amount)
        assert (await house.refused("SitDown", request, "ann"))[0] == reason
    for player in ("ann", "ben"):
        await house.sit(table_id, player, amount=500)
    request = pb.SitDownRequest(request_id=str(uuid4()), table_id=table_id, amount=500)
    assert (await house.refused("SitDown", request, "dan"))[0] == "MATCH_STARTED"
    leaving = pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id)
    assert (await house.refused("StandUp", leaving, "ann"))[0] == "MATCH_STARTED"
    closing = pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id)
    await house.call("CloseTable", closing)
    view = await house.until(table_id, lambda view: has_decision(view) or view.is_closed)
    while not view.is_closed:
        decision = view.hand.decision
        await house.act(table_id, player_of(view, decision.seat), decision.turn, "check")
        view = await house.view(table_id)
    assert view.match.result == table_pb2.MATCH_RESULT_CANCELLED
    assert [place.prize for place in view.match.places] == [500, 500]


async def test_a_match_goes_on_after_a_restart_and_ends_once(postgres, database, folder):
    """P1, H3: the deal, the coins and who is out are what the log says."""
    async with a_house(postgres, database, folder) as house:
        table_id = await a_match(house)
        for player in PLAYERS:
            await house.sit(table_id, player, amount=500)
        for _ in range(3):
            view = await house.until(table_id, has_decision)
            await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn, "check")
            view = await house.until(table_id, lambda v, n=view.version: v.version > n)
    async with a_house(postgres, database, folder) as house:
        await contend(house, table_id, seats=False)
        events = await verified(house, table_id)
    assert sum(isinstance(event, MatchEnded) for event in events) == 1
    hands = [event for event in events if isinstance(event, HandStarted)]
    assert [hand.deal_no for hand in hands] == list(range(1, len(hands) + 1))
    assert sum(isinstance(event, HandEnded) for event in events) == len(hands)
