"""What a tournament decides in trouble: without the secret of its coming draw, and asked again while tables are away."""

from contextlib import asynccontextmanager
from types import SimpleNamespace
from uuid import UUID

import pytest

from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.chassis.access import Caller, Role
from diwan.chassis.alarms import ALARMS
from diwan.chassis.calls import Call
from diwan.chassis.keyfile import VaultError
from diwan.chassis.pace import Pace
from diwan.core.decider import Rejected
from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.wire.events import encode
from services.tournament.actor import Actor
from services.tournament.entering import Entering
from services.tournament.tables import Bans
from tests.property.tournament_fields import sit_and_go
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID
from tests.unit.tournament.floor import Floor

CALL = Call("/t/Register", "c", Caller("ann", Role.PLAYER))
REGISTER = pb.RegisterRequest(tournament_id=TOURNAMENT_ID, request_id="00000000-0000-4000-8000-000000000001")


class Stream:
    """A stream that keeps what is appended; ``commands`` are those that took effect."""

    tournament_id = UUID(TOURNAMENT_ID)
    epoch = 1

    def __init__(self, version):
        self.version = version
        self.commands = {}

    async def append(self, events, *, command_id, request_hash, **_rest):
        first = self.version + 1
        self.version += len(events)
        self.commands[command_id] = SimpleNamespace(
            first_version=first, last_version=self.version, request_hash=request_hash
        )
        return [stored(version, event) for version, event in enumerate(events, first)]

    async def outcome(self, _tournament_id, command_id):
        return self.commands.get(command_id)


def stored(version, event):
    encoded = encode(event, nonce=bytes(16))
    return SimpleNamespace(version=version, type_id=encoded.type_id, schema_v=encoded.schema_v, body=encoded.body)


class Draws:
    def __init__(self, why=""):
        self.why = why

    async def chance(self, number):
        if self.why:
            raise VaultError(self.why, "no secret")
        return c.Chance(bytes(32), bytes(32))


@asynccontextmanager
async def living(state, why=""):
    clock = SimpleNamespace(now_ms=lambda: START_MS)
    stream = Stream(state.version)
    told = []
    loaded = SimpleNamespace(stream=stream, state=state, recent=(), clock=clock)
    listener = SimpleNamespace(happened=lambda _actor, events: told.extend(events))
    actor = Actor(loaded, stream, Draws(why), listener, None)
    actor.start()
    try:
        yield actor, told
    finally:
        await actor.stop()


def registering(players):
    return Floor(sit_and_go(3, size=3), players, play=False).state


@pytest.mark.parametrize("why", ["NO_SECRET", "DAY_DESTROYED"])
async def test_a_tournament_whose_coming_draw_has_lost_its_secret_can_be_called_off(why):
    async with living(registering(2), why) as (actor, told):
        await actor.ask(lambda _: c.Cancel("op", "its secret is lost", START_MS))

        assert isinstance(told[0], e.TournamentCancelled)
        refunds = [event.payment.player for event in told if isinstance(event, e.PaymentDue)]
        assert refunds == ["p0", "p1"]


async def test_what_draws_waits_for_its_secret_and_nothing_of_it_has_happened():
    floor = Floor(sit_and_go(3, size=3), 2, play=False)
    floor.do(floor.asks("p2"))
    key = next(iter(floor.state.payments.keys()))
    paid = c.ReportPayment(key, 0, is_refused=False, reason="", now_ms=START_MS)
    async with living(floor.state, "NO_SECRET") as (actor, told):
        alarms = ALARMS.labels("draw")._value.get()
        for _ in range(2):
            with pytest.raises(Rejected) as refused:
                await actor.ask(lambda _: paid)

        assert ALARMS.labels("draw")._value.get() == alarms + 1, "one draw, one alarm"
        assert refused.value.reason == "SECRETS_UNAVAILABLE"
        assert (told, actor.state) == ([], floor.state)


@pytest.mark.parametrize("is_remembered", [True, False])
async def test_an_entry_that_was_made_is_answered_again_while_tables_do_not_answer(is_remembered, monkeypatch):
    """H6: the same request has the same answer, whoever is away meanwhile."""
    monkeypatch.setattr("services.tournament.entering.WALLET_SECONDS", 0.0)
    asked = []

    async def answer(player):
        asked.append(player)
        if len(asked) > 1:
            raise Rejected("SERVICE_UNAVAILABLE", needed="table")
        return Bans()

    async with living(registering(0)) as (actor, _):

        async def get(_tournament_id):
            return actor

        entering = Entering(SimpleNamespace(get=get), Pace(), answer)
        first = await entering.register(REGISTER, CALL)
        if not is_remembered:
            actor._answers = type(actor._answers)(1)
        again = await entering.register(REGISTER, CALL)

        assert again.result.is_replayed
        assert again.result.last_version == first.result.last_version
        assert len(asked) == (1 if is_remembered else 2)
        another = pb.RegisterRequest(tournament_id=TOURNAMENT_ID, request_id=f"{REGISTER.request_id[:-1]}2")
        with pytest.raises(Rejected) as refused:
            await entering.register(another, CALL)
        # Another request is not let in past who may not sit together.
        assert refused.value.reason == "SERVICE_UNAVAILABLE"
