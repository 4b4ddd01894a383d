"""Taking part: entries, withdrawals, re-entries and extra chips, each answered when the wallet has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from google.protobuf.message import Message

from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.api.tournament.v1.view_pb2 import OwnEntry
from diwan.chassis.actors import Answer
from diwan.chassis.calls import Call
from diwan.chassis.ids import command_id_of
from diwan.chassis.pace import Pace
from diwan.core.decider import Rejected
from diwan.core.tournament.commands import BuyExtra, Enter, OpenSeed, TournamentCommand, Withdraw
from diwan.core.tournament.events import EntryEnded, ExtraEnded, ExtraKind
from diwan.core.tournament.state import TournamentState
from diwan.wire.events import decode, type_id_of
from services.tournament import fields
from services.tournament.actor import Actor, Request
from services.tournament.tables import Bans
from services.tournament.tournaments import Tournaments
from services.tournament.views import own_message

WALLET_SECONDS: Final = 4.0
"""How long the wallet's answer is waited for; without one the caller is told that it is on its way."""

_PENDING: Final = frozenset({"requested"})
_ENTRY_ENDED: Final = type_id_of(EntryEnded)
_EXTRA_ENDED: Final = type_id_of(ExtraEnded)

type Make = Callable[[str, int], TournamentCommand]


class Entering:
    """Answers players who take part."""

    def __init__(self, tournaments: Tournaments, pace: Pace, bans_of: Callable[[str], Awaitable[Bans]]) -> None:
        self._tournaments = tournaments
        self._pace = pace
        self._bans_of = bans_of

    async def register(self, request: pb.RegisterRequest, call: Call) -> pb.RegisterResponse:
        """Enter a player; raises `Rejected`, ENTRY_REFUSED with the wallet's reason."""
        answer, own = await self._entered(request, call, is_again=False)
        return pb.RegisterResponse(result=result(answer), own=own)

    async def re_enter(self, request: pb.ReEnterRequest, call: Call) -> pb.ReEnterResponse:
        """Enter a player who is out once more; raises as `register`."""
        answer, own = await self._entered(request, call, is_again=True)
        return pb.ReEnterResponse(result=result(answer), own=own)

    async def _entered(
        self, request: pb.RegisterRequest | pb.ReEnterRequest, call: Call, *, is_again: bool
    ) -> tuple[Answer, OwnEntry | None]:
        player, actor = await self._asked(request, call)
        asked = request_of(request, call)
        bans = Bans() if actor.has_answered(asked) else await self._found_bans(player)

        def build(state: TournamentState) -> TournamentCommand:
            # A refusal is raised here alone, where a request that took effect before gets its first answer (H6).
            if isinstance(bans, Rejected):
                raise bans
            bans.check(state)
            entrant = state.entrants.get(player)
            if is_again and (entrant is None or entrant.standing == "none"):
                raise Rejected("NOT_ENTERED", player=player)
            if not is_again and entrant is not None and entrant.standing == "out":
                # A re-entry costs another entry: it is asked for by its own name.
                raise Rejected("ALREADY_ENTERED", standing="out")
            commitment = request.seed_commitment if isinstance(request, pb.RegisterRequest) else b""
            return Enter(player, is_bot=False, now_ms=actor.clock.now_ms(), seed_commitment=commitment)

        answer = await actor.ask(build, asked)
        await self._answered(actor, player, answer)
        return answer, own_message(actor.state, player)

    async def _found_bans(self, player: str) -> Bans | Rejected:
        try:
            return await self._bans_of(player)
        except Rejected as refusal:
            return refusal

    async def _answered(self, actor: Actor, player: str, answer: Answer) -> None:
        """Wait for the wallet's word about an entry; raises ENTRY_REFUSED."""
        deadline = asyncio.get_running_loop().time() + WALLET_SECONDS
        while (left := deadline - asyncio.get_running_loop().time()) > 0 and not actor.is_gone:
            entrant = actor.state.entrants.get(player)
            if entrant is None or entrant.standing not in _PENDING:
                break
            await actor.changed(left)
        number = _number_of(actor, answer, "entry_no")
        entry = actor.state.entries.get(number)
        if entry is not None and entry.status == "ended":
            refused = _ended_because(actor, _ENTRY_ENDED, lambda event: getattr(event, "entry_no", 0) == number)
            if refused is not None:
                raise Rejected("ENTRY_REFUSED", cause=refused)

    async def open_seed(self, request: pb.OpenEntrySeedRequest, call: Call) -> pb.OpenEntrySeedResponse:
        """Take a seed into the first draw; raises `Rejected`. One that was opened before is opened."""
        player, actor = await self._asked(request, call)
        seed = request.seed
        answer = await actor.ask(lambda _: OpenSeed(player, seed, actor.clock.now_ms()), request_of(request, call))
        return pb.OpenEntrySeedResponse(result=result(answer))

    async def unregister(self, request: pb.UnregisterRequest, call: Call) -> pb.UnregisterResponse:
        """Take an entry back before play; raises `Rejected`."""
        player, actor = await self._asked(request, call)
        answer = await actor.ask(lambda _: Withdraw(player, actor.clock.now_ms()), request_of(request, call))
        return pb.UnregisterResponse(result=result(answer))

    async def buy(self, request: pb.RebuyRequest | pb.AddOnRequest, call: Call, kind: ExtraKind) -> Answer:
        """Ask for extra chips; raises `Rejected`, EXTRA_REFUSED with the wallet's reason."""
        player, actor = await self._asked(request, call)
        command = lambda _: BuyExtra(player, kind, actor.clock.now_ms())  # noqa: E731  (a build, named where it is used)
        answer = await actor.ask(command, request_of(request, call))
        deadline = asyncio.get_running_loop().time() + WALLET_SECONDS
        number = _number_of(actor, answer, "extra_no")
        while (left := deadline - asyncio.get_running_loop().time()) > 0 and not actor.is_gone:
            extra = actor.state.extras.get(number) if number else None
            if extra is None or extra.is_paid:
                break
            await actor.changed(left)
        refused = _ended_because(actor, _EXTRA_ENDED, lambda event: getattr(event, "extra_no", 0) == number)
        if number and refused is not None:
            raise Rejected("EXTRA_REFUSED", cause=refused)
        return answer

    async def _asked(
        self,
        request: pb.RegisterRequest
        | pb.ReEnterRequest
        | pb.OpenEntrySeedRequest
        | pb.UnregisterRequest
        | pb.RebuyRequest
        | pb.AddOnRequest,
        call: Call,
    ) -> tuple[str, Actor]:
        player = call.caller.acting_player(request.on_behalf_of)
        fields.request_id(request.request_id)
        tournament_id = fields.an_id(request.tournament_id, "tournament_id")
        self._pace.take(player)
        return player, await self._tournaments.get(tournament_id)


def request_of(request: Message, call: Call) -> Request:
    """Return what identifies a caller's request for ever (H6)."""
    request_id: str = request.request_id  # type: ignore[attr-defined]  # every request that changes anything has one
    command_id = command_id_of(call.caller.subject, fields.request_id(request_id))
    return Request(command_id, call.caller.subject, call.request_hash(request))


def result(answer: Answer) -> pb.TournamentResult:
    """Return what became of a command as a message."""
    return pb.TournamentResult(
        first_version=answer.first_version, last_version=answer.last_version, is_replayed=answer.is_replayed
    )


def _number_of(actor: Actor, answer: Answer, name: str) -> int:
    """Return the number of what a request asked for, 0 where its events are not in memory any more."""
    for stored in actor.hub.recent(answer.first_version, answer.last_version):
        event = decode(stored.type_id, stored.schema_v, stored.body).event
        return int(getattr(event, name, 0))
    return 0


def _ended_because(actor: Actor, type_id: int, is_it: Callable[[object], bool]) -> str | None:
    """Return why something asked for came to nothing, None where it did not, or nobody remembers."""
    for stored in actor.hub.recent():
        if stored.type_id == type_id:
            event = decode(stored.type_id, stored.schema_v, stored.body).event
            if is_it(event):
                return str(getattr(event, "reason", "")) or str(getattr(event, "cause", ""))
    return None
