"""Players of every game, with nothing but the client library; what they played is verified from the log."""

import asyncio
import random  # noqa: TID251  (tests may use chance)
from contextlib import AsyncExitStack
from uuid import UUID

from diwan.chassis.access import Role
from diwan.client import DiwanError, connect
from diwan.core.log import StreamKind
from diwan.verifier import verify_stream
from diwan.wire.events import decode
from diwan.wire.stored import logged_event

CHIPS = 50_000
"""What everybody brings: so much that nobody is out before enough hands are played."""

TOO_LATE = {"STALE_TURN", "DEADLINE_PASSED", "NOT_YOUR_TURN", "HAND_OVER"}


def client_of(house, player, role=Role.PLAYER):
    return connect(house.address, house.key.mint(player, role, "table"))


async def stored_events(house, table_id):
    """Return a table's whole stream, as its feed has it once the feed has come so far."""
    wanted, version = UUID(table_id).bytes, (await house.view(table_id)).version
    async with client_of(house, "audit", Role.SERVICE) as client, asyncio.timeout(10):
        logged, after = [], 0
        while not logged or logged[-1].version < version:
            async for each in client.feed("table").events(after):
                after = each.global_seq
                if (event := logged_event(each.event)).stream_id == wanted:
                    logged.append(event)
    return logged


async def verified(house, table_id):
    """Return a table's events; every act of it was decided again, every card proved."""
    events = await stored_events(house, table_id)
    report = verify_stream(UUID(table_id).bytes, StreamKind.TABLE, events)
    assert report.is_verified, (report.rule, report.at_version, report.expected, report.found)
    return [decode(event.type_id, event.schema_v, event.body).event for event in events]


class Gamer:
    """Plays a seat at random from what its view offers, until enough hands are over. ``private`` keeps its own cards."""

    def __init__(self, seat, seed):
        self.seat = seat
        self.chance = random.Random(seed)
        self.private = {}
        self.used = []

    async def play(self, hands):
        async for message in self.seat:
            if message.WhichOneof("message") == "private":
                self.private[message.private.hand_id] = message.private
            view = self.seat.table
            if view is None:
                continue
            if view.hand.hand_no > hands or (view.hand.hand_no == hands and not view.hand.pot):
                return
            try:
                await self._answer()
            except DiwanError as refusal:
                if refusal.reason not in TOO_LATE:
                    raise

    async def _answer(self):
        if self.seat.window is not None:
            answer = self.chance.choice(("seal_shield", "pass"))
            self.used.append(answer)
            await self.seat.answer_anchor(self.seat.window.turn, answer)
        elif (decision := self.seat.decision) is not None:
            if self.seat.held and self.seat.powers and self.chance.random() < 0.7:
                await self._use(decision.turn, self.chance.choice(self.seat.powers))
            else:
                kind, to = self._choice(decision)
                await self.seat.act(decision.turn, kind, to=to)

    async def _use(self, turn, offer):
        self.used.append(offer.power)
        target = self.chance.choice(offer.targets) if offer.targets else None
        held = [reveal.position for reveal in self.seat.held]
        discard = self.chance.choice(held) if offer.power == "sleeve_trick" else None
        await self.seat.use_power(turn, offer.power, target=target, discard=discard)

    def _choice(self, decision):
        roll = self.chance.random()
        if roll < 0.25 and (decision.can_bet or decision.can_raise):
            to = self.chance.choice((decision.min_to, decision.min_to, decision.pot_to))
            return ("bet" if decision.can_bet else "raise"), to
        if decision.can_check:
            return "check", 0
        if roll > 0.85 and decision.can_fold:
            return "fold", 0
        return ("call", 0) if decision.can_call else ("fold", 0)


async def play(house, players, hands, gamer=Gamer, *, amount=CHIPS, **config):
    """Let players play so many hands at a new table; returns its id and the gamers."""
    table_id = await house.create(buy_in_max=CHIPS, **config)
    async with AsyncExitStack() as stack:
        gamers = []
        for number, player in enumerate(players):
            client = await stack.enter_async_context(client_of(house, player))
            await client.tables.sit_down(table_id, amount, post_at_once=True)
            seat = await stack.enter_async_context(client.tables.play(table_id))
            gamers.append(gamer(seat, number))
        async with asyncio.timeout(60):
            await asyncio.gather(*(each.play(hands) for each in gamers))
    return table_id, gamers
