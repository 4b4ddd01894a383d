"""Hands played by bots through the service's own streams, and everything that anybody was told gathered and searched.

The short form is a test. ``python -m tests.property.soak holdem 2000`` plays so many hands of a game and says what it
found: viewers, messages and bytes searched, and nothing that a viewer must not have.
"""

import asyncio
import io
import logging
import sys
import time
from contextlib import aclosing, contextmanager

import structlog

from diwan.api.event.v1 import capsa_pb2 as event_capsa_pb2
from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import capsa_pb2, history_pb2, notices_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1.replay_pb2 import GetReplayRequest, GetReplayResponse
from diwan.chassis.access import Role
from diwan.chassis.errors import refusal_of
from diwan.chassis.logging import configure_logging
from diwan.chassis.pump import Pump
from diwan.client import DiwanError
from diwan.client.seat import SeatStream
from diwan.core.decider import Rejected
from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.policy import AnchorAnswer, CallAnswer, CapsaSeen, Choice, PowerUse, SetRows, choose
from diwan.core.policy.style import style_of
from services.bots.player import _asked_turn, _say, _seen
from tests.property.policy_hands import erratic
from tests.property.soak_audit import Audit
from tests.property.soak_room import Room, request_id

HANDS_A_TABLE = 12
CHIPS = 5_000
PLAYERS = 4


def _config(game):
    if game == "capsa":
        capsa = event_capsa_pb2.CapsaSettings(unit=10, set_seconds=60)
        return table_pb2.TableConfig(name="Soak", seats=4, capsa=capsa, buy_in_min=CHIPS, buy_in_max=20 * CHIPS)
    hand = hand_pb2.HandSettings(game=game, small_blind=5, big_blind=10, decision_seconds=60)
    if game == "sarab":
        hand = hand_pb2.HandSettings(game=game, decision_seconds=60)
        return table_pb2.TableConfig(name="Soak", seats=3, hand=hand, chips=table_pb2.CHIP_SOURCE_MATCH)
    if game == "naiko":
        hand.naiko.gain_per_deal = 3
    return table_pb2.TableConfig(name="Soak", seats=6, hand=hand, buy_in_max=20 * CHIPS)


class Phone(SeatStream):
    """A seat's stream by the client library's own rules, over the service in this process."""

    def __init__(self, soak, player):
        super().__init__(None, None, pb.Attach(table_id=soak.table_id), player, contributes_seeds=True)
        self.soak = soak
        self.up = None

    async def _say(self, request):
        if self.up is not None:
            self.up.put_nowait(request)

    async def hold(self):
        """Hold the stream until the table's story is over, cut now and then."""
        while True:
            self.up = asyncio.Queue()
            attach = pb.Attach(table_id=self.soak.table_id, after_version=self._attach.after_version)
            self.up.put_nowait(pb.PlayRequest(attach=attach))
            for request, _ in self._unanswered.values():
                self.up.put_nowait(request)
            ended = await self.soak.stream("Play", _drained(self.up), self.player, self._take)
            if ended is None:
                self._messages.put_nowait(None)
                return
            if ended == "VERSION_OUT_OF_RANGE":
                # Its seat was left, and onlookers are shown the table late: begun anew, as by the client library.
                self._attach.after_version = 0
            self._is_resumed = True
            await asyncio.sleep(0)


async def _drained(queue):
    while True:
        yield await queue.get()


class Table:
    """One table from its opening to its close: players, onlookers and snoops."""

    def __init__(self, room, game, audit, hands):
        self.room, self.game, self.audit, self.hands = room, game, audit, hands
        self.chance = room.chance
        self.table_id = ""
        self.cutting = set()

    async def play(self):
        operator = "operator", Role.OPERATOR
        config = _config(self.game)
        config.pause_ms, config.time_bank_seconds, config.bots_fill = 1, 0, 0
        config.spectator_delay_events = self.chance.choice((0, 0, 7))
        raw, is_fine = await self.room.ask(
            "CreateTable", pb.CreateTableRequest(request_id=request_id(), config=config), *operator
        )
        assert is_fine, raw
        self.table_id = pb.CreateTableResponse.FromString(raw).table.table_id
        self.actor = next(each for each in self.room.tables.live() if str(each.table_id) == self.table_id)
        names = [f"player-{number}" for number in range(config.seats if self.game == "sarab" else PLAYERS)]
        amount = 0 if self.game == "sarab" else CHIPS if self.game == "capsa" else 1_000
        for name in names:
            sit = pb.SitDownRequest(request_id=request_id(), table_id=self.table_id, amount=amount, post_at_once=True)
            answer, is_fine = await self.room.ask("SitDown", sit, name)
            assert is_fine, answer
        self.room.store.fails = True
        phones = [Phone(self, name) for name in names]
        holding = []
        for phone in phones:
            phone._task = asyncio.create_task(phone.hold())
            holding.append(phone._task)
        looking = [self._onlooker(role) for role in (Role.PLAYER, Role.OPERATOR, Role.AUDITOR, Role.BOT)]
        around = [asyncio.create_task(each) for each in (*looking, self._snoop(), self._notices())]
        playing = [asyncio.create_task(Bot(self, phone).play()) for phone in phones]
        try:
            async with asyncio.timeout(120):
                await self._until_over()
                await asyncio.gather(*holding, *playing)
        finally:
            for task in (*around, *holding, *playing):
                task.cancel()
            await asyncio.gather(*around, *holding, *playing, return_exceptions=True)
            await self.actor.stop()

    async def _until_over(self):
        quiet_since = time.monotonic()
        while not self.actor.state.is_closed:
            state = self.actor.state
            if state.is_running:
                quiet_since = time.monotonic()
            is_stuck = time.monotonic() - quiet_since > 3
            if (state.hand_no >= self.hands or is_stuck) and not state.is_closing:
                close = pb.CloseTableRequest(request_id=request_id(), table_id=self.table_id)
                await self.room.ask("CloseTable", close, "operator", Role.OPERATOR)
            await asyncio.sleep(0.005)

    async def stream(self, method, request, subject, take, *, role=Role.PLAYER, lives=None):
        """Follow a stream as the server writes it; returns None at the story's end, else the reason or "cut"."""
        key = subject if role is Role.PLAYER else str(role)

        async def write(raw):
            self.audit.note(key, pb.PlayResponse, raw)
            if take is not None:
                await take(pb.PlayResponse.FromString(raw))

        generator = getattr(self.room.servicer, method)(request, self.room.call(subject, role))
        try:
            # A line breaks now and then.
            async with asyncio.timeout(lives or self.chance.choice((0.3, 1.0, 1000.0))), aclosing(generator):
                async for source in generator:
                    await Pump(source, write, lambda: None).run()
        except TimeoutError:
            return "cut"
        except Rejected as refusal:
            self.audit.note(key, pb.Refusal, refusal_of(refusal).SerializeToString())
            return None if refusal.reason in {"SERVICE_DRAINING", "TABLE_CLOSED"} else refusal.reason
        return None

    async def _onlooker(self, role):
        """Somebody without a seat looks in from any version, again and again."""
        while True:
            after = self.chance.choice((0, self.actor.state.version, self.chance.randint(0, self.actor.state.version)))
            request = pb.WatchRequest(table_id=self.table_id, after_version=after)
            await self.stream("Watch", request, "onlooker", None, role=role, lives=self.chance.choice((0.02, 0.1)))
            await asyncio.sleep(0.01)

    async def _snoop(self):
        """A stranger and players ask what is not for them, and a back end what is."""
        while True:
            await asyncio.sleep(0.004)
            hand_id, player = self.actor.state.hand_id, f"player-{self.chance.randrange(PLAYERS)}"
            if not hand_id:
                continue
            seat, other = self.chance.randrange(4), self.chance.choice(("stranger", player))
            asked = [
                ("GetTable", pb.GetTableRequest(table_id=self.table_id), "stranger", pb.GetTableResponse),
                ("GetHand", pb.GetHandRequest(hand_id=hand_id), other, pb.GetHandResponse),
                ("GetMyHand", history_pb2.GetMyHandRequest(hand_id=hand_id), other, history_pb2.GetMyHandResponse),
                ("GetReplay", GetReplayRequest(hand_id=hand_id), other, GetReplayResponse),
                ("GetReplay", GetReplayRequest(hand_id=hand_id, eyes=1, page_size=200), other, GetReplayResponse),
                ("GetReplay", GetReplayRequest(hand_id=hand_id, eyes=2, seat=seat), other, GetReplayResponse),
                ("GetReplay", GetReplayRequest(hand_id=hand_id, eyes=3, reason="look"), other, GetReplayResponse),
                ("OpenHand", pb.OpenHandRequest(hand_id=hand_id, seat=seat), other, pb.OpenHandResponse),
                ("OpenHand", pb.OpenHandRequest(hand_id=hand_id), other, pb.OpenHandResponse),
            ]
            method, request, subject, answers = self.chance.choice(asked)
            raw, is_fine = await self.room.ask(method, request, subject)
            self.audit.note(subject, answers if is_fine else pb.Refusal, raw)

    async def _notices(self):
        request = notices_pb2.WatchNoticesRequest(after_cursor=0)
        call = self.room.call("phones", Role.SERVICE)
        async with aclosing(self.room.servicer.WatchNotices(request, call)) as notices:
            async for message in notices:
                self.audit.note("notices", type(message), message.SerializeToString())


class Bot:
    """Plays a seat by the policy mostly, else anyhow, and says a good deal of nonsense in between."""

    def __init__(self, table, phone):
        self.table, self.phone, self.chance = table, phone, table.chance
        self.secret, self.style = self.chance.randbytes(32), style_of(phone.player)
        self.anyhow = erratic(self.chance)
        self.drafted = 0

    async def play(self):
        async for _ in self.phone:
            while self.phone.table is not None and (turn := _asked_turn(self.phone)) is not None:
                seen = _seen(self.phone, self.phone.table, self.phone.seat)
                if seen is None or await self._turn(turn, seen):
                    break

    async def _turn(self, turn, seen):
        """Decide; returns whether there is nothing more to be done about this view."""
        if self.chance.random() < 0.15:
            await self._nonsense(turn)
        move = self._move(seen)
        if move is None:
            return True
        try:
            if isinstance(move, SetRows) and move.is_final:
                await self.phone.lock_set(turn, move.rows, is_foul_confirmed=True)
            else:
                await _say(self.phone, turn, move, request_id())
        except DiwanError as refusal:
            return refusal.reason not in {"INTERNAL", "UNKNOWN_OUTCOME", "AMOUNT_TOO_SMALL", "FOULED_SET"}
        return isinstance(move, PowerUse | SetRows)

    def _move(self, seen):
        seat = self.phone.seat
        if isinstance(seen, CapsaSeen):
            own = seen.hand.own[0]
            if seen.hand.hand.decision.kind == "set" and own.locked is None and self.chance.random() < 0.8:
                cards = self.chance.sample(own.cards, 13)
                any_rows = cards[:3], cards[3:8], cards[8:]
                rows = any_rows if self.chance.random() < 0.3 else server_arrangement(sorted(own.cards), "low")
                return SetRows(rows, is_final=self.chance.random() < 0.6)
            if seen.hand.hand.decision.kind == "answer" and self.chance.random() < 0.3:
                return CallAnswer(self.chance.choice(("play", "surrender")))
        elif self.chance.random() < 0.3:
            return self.anyhow(seen, seat)
        move = choose(seen, seat, self.secret, self.style)
        return move if isinstance(move, Choice | PowerUse | AnchorAnswer | SetRows | CallAnswer) else None

    async def _nonsense(self, turn):
        """Ask for what others hold, in others' turns, with others' cards; by stream, and by call as a stranger too."""
        chance, table_id = self.chance, self.table.table_id
        cards = chance.sample(range(52), 13)
        rows = capsa_pb2.CapsaRows(front=cards[:3], middle=cards[3:8], back=cards[8:])
        power = chance.choice(("hidden_glance", "sleeve_trick", "short_anchor", "seal_shield", "x-ray"))
        said = chance.choice(
            (
                {"action": pb.Action(turn=turn, kind=hand_pb2.ACTION_KIND_RAISE, to=chance.choice((1, 7, 10**9)))},
                {"action": pb.Action(turn=turn + chance.choice((-1, 0, 9)), kind=hand_pb2.ACTION_KIND_CHECK)},
                {"use_power": pb.PowerUse(turn=turn, power=power, target=chance.randrange(9), discard=cards[0])},
                {"answer_anchor": pb.AnchorAnswer(turn=turn, answer=chance.choice(("pass", "seal_shield")))},
                {"capsa": capsa_pb2.CapsaAction(turn=turn, save_draft=rows)},
                {"capsa": capsa_pb2.CapsaAction(turn=turn, lock=capsa_pb2.CapsaLock(rows=rows))},
                {"pair_stake": capsa_pb2.PairStakeAction(other=chance.randrange(4), propose_unit=10)},
            )
        )
        await self.phone._say(pb.PlayRequest(request_id=request_id(), **said))
        ((kind, content),) = said.items()
        method, field = {
            "action": ("Act", "action"),
            "use_power": ("UsePower", "use"),
            "answer_anchor": ("AnswerAnchor", "answer"),
            "capsa": ("ActCapsa", "action"),
            "pair_stake": ("SetPairStake", "stake"),
        }[kind]
        request = getattr(pb, f"{method}Request")(request_id=request_id(), table_id=table_id, **{field: content})
        subject = chance.choice(("stranger", f"player-{chance.randrange(PLAYERS)}"))
        raw, is_fine = await self.table.room.ask(method, request, subject)
        self.table.audit.note(subject, getattr(pb, f"{method}Response") if is_fine else pb.Refusal, raw)


@contextmanager
def logged():
    """Everything that is logged meanwhile, as the service's own logging writes it."""
    root = logging.getLogger()
    before, handlers, level = structlog.get_config(), root.handlers, root.level
    lines = io.BytesIO()
    configure_logging("table", level="debug", stream=lines)
    try:
        yield lines
    finally:
        structlog.configure(**before)
        root.handlers = handlers
        root.setLevel(level)


async def soak(game, hands, seed):
    """Play so many hands of a game and search everything; returns the figures."""
    audit, number = Audit(), 0
    while audit.hands < hands:
        with logged() as lines:
            room, number = Room(f"{seed}/{number}"), number + 1
            await Table(room, game, audit, min(HANDS_A_TABLE, hands - audit.hands)).play()
            audit.search(room, lines.getvalue())
    return audit


def main(game, hands, seed="soak"):
    began = time.monotonic()
    audit = asyncio.run(soak(game, hands, seed))
    print(f"{game}: {audit.figures()}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
