"""Clients that keep every view they were sent, and what a replay says beside it: byte for byte, version by version."""

import asyncio
import random  # noqa: TID251  (tests may use chance)
from collections import Counter
from contextlib import AsyncExitStack, suppress

from diwan.api.table.v1 import replay_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.client import DiwanError
from diwan.core.games.capsa.arrangement import server_arrangement
from tests.integration.table.gamers import CHIPS, TOO_LATE, Gamer, client_of


def raw(message):
    return message.SerializeToString(deterministic=True)


class Folded:
    """What one client had folded at every version: the table, and what it alone knew by then."""

    def __init__(self):
        self.views, self.private, self.snapshots = {}, {}, 0
        self._own, self.version = None, 0

    def take(self, message):
        match message.WhichOneof("message"):
            case "update":
                self.snapshots += message.update.is_snapshot
                for event in message.update.events:
                    self.version = event.version
                if message.update.HasField("view"):
                    view = message.update.view
                    self.version = view.version
                    self.views[view.version] = raw(view)
                    self.private[view.version] = self._own
            case "private":
                self._own = message.private
                self.private[self.version] = self._own

    def private_at(self, version, hand_id):
        """What the client knew of a hand at a version; nothing where its last word is of another hand."""
        own = self.private[version]
        return None if own is None or own.hand_id != hand_id else raw(own)


class Recorder(Gamer):
    """Plays like any other and keeps what it is sent."""

    def __init__(self, seat, seed):
        super().__init__(seat, seed)
        self.folded = Folded()
        self.hands = []

    async def play(self, hands):
        async for message in self.seat:
            self.folded.take(message)
            view = message.update.view if message.WhichOneof("message") == "update" else None
            if view is not None and view.hand.hand_id and view.hand.hand_id not in self.hands:
                self.hands.append(view.hand.hand_id)
            if view is not None and self.is_enough(view, hands):
                return
            if self.seat.table is not None:
                with suppress_too_late():
                    await self._answer()

    def is_enough(self, view, hands):
        return view.hand.hand_no == hands and is_over(view)


class CapsaRecorder(Recorder):
    """Drafts, locks, now and then takes back, and answers."""

    async def _answer(self):
        decision = self.seat.capsa_decision
        if decision is None or not self.seat.held:
            return
        if decision.kind == "answer":
            await self.seat.answer_call(decision.turn, "surrender" if self.chance.random() < 0.2 else "play")
            return
        rows = server_arrangement(sorted(reveal.card for reveal in self.seat.held), "low")
        roll = self.chance.random()
        if roll < 0.3:
            await self.seat.save_draft(decision.turn, rows)
        elif roll < 0.4:
            await self.seat.lock_set(decision.turn, rows, is_foul_confirmed=True)
            await self.seat.unlock(decision.turn)
        await self.seat.lock_set(decision.turn, rows, is_foul_confirmed=True)


class Dreamer(Recorder):
    """Now and then lets the clock decide."""

    async def _answer(self):
        if self.seat.decision is not None and self.chance.random() < 0.03:
            self.seat._decided_turn = self.seat.decision.turn
            return
        await super()._answer()


async def coming_and_going(house, table_id, chance, seated):
    """Somebody sits down and leaves again and again, seats bring chips, sit out and come back: the table never stands still."""
    while True:
        await asyncio.sleep(0.05)
        player = chance.choice(seated)
        try:
            async with client_of(house, player) as one, client_of(house, "dan") as dan:
                match chance.randrange(5):
                    case 0:
                        await dan.tables.sit_down(table_id, 1_000, post_at_once=chance.random() < 0.5)
                    case 1:
                        await dan.tables.stand_up(table_id)
                    case 2:
                        await one.tables.top_up(table_id, 100)
                    case _:
                        await one.tables.set_sitting_out(table_id, is_sitting_out=True)
                        await one.tables.set_sitting_out(table_id, is_sitting_out=False, post_at_once=True)
        except DiwanError as refusal:
            if refusal.reason == "INTERNAL":
                raise


class suppress_too_late(suppress):  # noqa: N801  (used as a word)
    def __init__(self):
        super().__init__(DiwanError)

    def __exit__(self, kind, error, trace):
        if isinstance(error, DiwanError) and error.reason not in {*TOO_LATE, "ALREADY_LOCKED", "SET_LOCKED"}:
            return False
        return super().__exit__(kind, error, trace)


def is_over(view):
    return view.hand.capsa.phase == "over" if view.hand.HasField("capsa") else view.hand.street == 5


async def watching(house, table_id, player, folded, *, cut_every=0):
    """Follow a table; with ``cut_every`` the line breaks after so many messages, and goes on from what is known."""
    while True:
        request = pb.WatchRequest(table_id=table_id, after_version=folded.version)
        call = house.stub.Watch(request, metadata=house.metadata(player))
        count = 0
        try:
            async for message in call:
                folded.take(message)
                count += 1
                if cut_every and count >= cut_every:
                    # What belongs to its last view may have been lost with the line.
                    folded.views.pop(folded.version, None)
                    break
            else:
                return
        finally:
            call.cancel()


async def replayed(house, hand_id, player, **asked):
    """Return a whole replay, page by page, as a player's back end asks for it: that may ask more often than the player."""
    moments, token = [], ""
    while True:
        request = replay_pb2.GetReplayRequest(
            hand_id=hand_id, page_size=25, page_token=token, on_behalf_of=player, **asked
        )
        answer = await house.call("GetReplay", request, "phones", Role.BACKEND)
        moments += answer.moments
        token = answer.next_page_token
        if not token:
            del answer.moments[:]
            answer.moments.extend(moments)
            return answer


class Compared(Counter):
    """How many views were held against each other, by whose they were."""

    def hold(self, who, answer, folded, *, is_whole):
        """Hold a replay against what a client had folded, at every version that both have."""
        eyes = "seat" if answer.eyes == replay_pb2.REPLAY_EYES_SEAT else "spectator"
        first, last = answer.moments[0].version, answer.moments[-1].version
        seen = {version for version in folded.views if first <= version <= last}
        told = {moment.version for moment in answer.moments}
        assert seen <= told, (who, sorted(seen - told))
        if is_whole:
            assert seen == told, (who, sorted(told - seen))
        for moment in answer.moments:
            if moment.version not in seen:
                continue
            assert raw(moment.view) == folded.views[moment.version], (who, moment.version)
            self[f"{who} views"] += 1
            if eyes == "seat":
                (own,) = moment.private or (None,)
                known = folded.private_at(moment.version, answer.hand_id)
                assert (None if own is None else raw(own)) == known, (who, moment.version)
                self[f"{who} private"] += own is not None
            else:
                assert not moment.private


async def play_and_compare(house, players, hands, *, gamer=Recorder, config, compared=None, is_busy=False):
    """Let recorders play, with onlookers around; then every hand is replayed as each of them."""
    compared = Compared() if compared is None else compared
    table_id = await opened(house, config)
    onlooker, late, cut = Folded(), Folded(), Folded()
    is_late_off = config.get("spectator_delay_events", 0)
    async with AsyncExitStack() as stack:
        around = [asyncio.create_task(watching(house, table_id, "onlooker", onlooker))]
        stack.callback(lambda: [task.cancel() for task in around])
        gamers = []
        for number, player in enumerate(players):
            client = await stack.enter_async_context(client_of(house, player))
            await client.tables.sit_down(table_id, config.get("bring", CHIPS), post_at_once=True)
            seat = await stack.enter_async_context(client.tables.play(table_id))
            gamers.append(gamer(seat, number))
        around.append(asyncio.create_task(watching(house, table_id, players[0], cut, cut_every=7)))
        if is_busy:
            chance = random.Random(hands)
            around.append(asyncio.create_task(coming_and_going(house, table_id, chance, players)))
        playing = asyncio.gather(*(each.play(hands) for each in gamers))
        await house.until(table_id, lambda view: view.hand.hand_no > hands // 2, 120)
        around.append(asyncio.create_task(watching(house, table_id, "late", late)))
        async with asyncio.timeout(300):
            await playing
        await asyncio.sleep(0.2)  # The onlookers read what has been written to them.
        for task in around:
            task.cancel()
        await asyncio.gather(*around, return_exceptions=True)
    ids = gamers[0].hands[:hands]
    for hand_id in ids:
        for player, each in zip(players, gamers, strict=True):
            answer = await replayed(house, hand_id, player)
            compared.hold("seat", answer, each.folded, is_whole=not each.folded.snapshots or hand_id != ids[0])
        own = await replayed(house, hand_id, players[0])
        compared.hold("cut and resumed", own, cut, is_whole=False)
        shown = await replayed(house, hand_id, "onlooker")
        compared.hold("onlooker", shown, onlooker, is_whole=not is_late_off and hand_id != ids[-1])
        if any(shown.moments[0].version <= version for version in late.views):
            compared.hold("late joiner", shown, late, is_whole=False)
    compared["hands"] += len(ids)
    return table_id, ids, compared


async def opened(house, config):
    made = {key: value for key, value in config.items() if key != "bring"}
    if "capsa" in made:
        from tests.integration.table.capsa_house import open_table

        return await open_table(house, (), **made.pop("capsa"))
    return await house.create(buy_in_max=CHIPS, **made)
