"""The methods of ``TournamentService``: who may mean what, and what the answers are called."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from diwan.api.tournament.v1 import notices_pb2
from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.actors import Answer
from diwan.chassis.calls import Call
from diwan.core.decider import Rejected
from diwan.core.tournament.commands import Cancel, Pause, Remove, Resume, TournamentCommand
from diwan.core.tournament.state import TournamentState
from diwan.wire.stored import stored_message
from diwan.wire.tournament import write_tournament_config
from services.tournament import fields
from services.tournament.conditions import conditions_message
from services.tournament.creating import Creation
from services.tournament.entering import Entering, request_of, result
from services.tournament.hub import Watcher
from services.tournament.lobby import Lobby
from services.tournament.notices import NoticeBoard
from services.tournament.templates import templates
from services.tournament.tournaments import Tournaments
from services.tournament.views import Shown, own_message, table_messages, view_message

LOG_EVENTS: int = 500
LOG_EVENTS_MAX: int = 1_000

type Directing = (
    pb.CancelTournamentRequest | pb.PauseTournamentRequest | pb.ResumeTournamentRequest | pb.RemoveEntrantRequest
)


class TournamentServicer:
    """Answers for ``TournamentService``."""

    def __init__(
        self,
        tournaments: Tournaments,
        creation: Creation,
        entering: Entering,
        lobby: Lobby,
        board: NoticeBoard,
        shown: Shown,
    ) -> None:
        self._tournaments = tournaments
        self._shown = shown
        self._creation = creation
        self._entering = entering
        self._lobby = lobby
        self._board = board

    # ---- what there is ----------------------------------------------------------------------------------------------

    async def CreateTournament(self, request: pb.CreateTournamentRequest, call: Call) -> pb.CreateTournamentResponse:
        """Announce a tournament."""
        state = (await self._creation.create(request, call)).state
        return pb.CreateTournamentResponse(
            tournament=self._shown.view(state), conditions=conditions_message(state.config)
        )

    async def ListTemplates(self, _request: pb.ListTemplatesRequest, _call: Call) -> pb.ListTemplatesResponse:
        """Return the templates that are shipped."""
        response = pb.ListTemplatesResponse()
        for name, config in sorted(templates().items()):
            template = response.templates.add(name=name, conditions=conditions_message(config))
            write_tournament_config(template.config, config)
        return response

    async def GetTournament(self, request: pb.GetTournamentRequest, call: Call) -> pb.GetTournamentResponse:
        """Return a tournament with its conditions, and the caller's own part in it."""
        player = _viewer(call, request.on_behalf_of)
        state = await self._tournaments.state(fields.an_id(request.tournament_id, "tournament_id"))
        own = None if player is None else own_message(state, player)
        return pb.GetTournamentResponse(
            tournament=self._shown.view(state), conditions=conditions_message(state.config), own=own
        )

    async def ListTournaments(self, request: pb.ListTournamentsRequest, call: Call) -> pb.ListTournamentsResponse:
        """Return tournaments that fit, newest first."""
        return await self._lobby.listed(request, call)

    async def ListStandings(self, request: pb.ListStandingsRequest, call: Call) -> pb.ListStandingsResponse:
        """Return who stands where."""
        return await self._lobby.standings(request, call)

    async def ListTournamentTables(
        self, request: pb.ListTournamentTablesRequest, _call: Call
    ) -> pb.ListTournamentTablesResponse:
        """Return a tournament's tables."""
        state = await self._tournaments.state(fields.an_id(request.tournament_id, "tournament_id"))
        return pb.ListTournamentTablesResponse(tables=table_messages(state))

    async def GetTournamentLog(self, request: pb.GetTournamentLogRequest, _call: Call) -> pb.GetTournamentLogResponse:
        """Return stored events, for whoever checks them."""
        tournament_id = fields.an_id(request.tournament_id, "tournament_id")
        if request.after_version < 0 or not 0 <= request.limit <= LOG_EVENTS_MAX:
            raise Rejected("FIELD_INVALID", field="limit", why=f"0 to {LOG_EVENTS_MAX}")
        head = await self._tournaments.store.head(tournament_id)
        if head is None:
            raise Rejected("TOURNAMENT_NOT_FOUND")
        events = await self._tournaments.store.read(tournament_id, request.after_version, request.limit or LOG_EVENTS)
        return pb.GetTournamentLogResponse(
            events=[stored_message(event.logged()) for event in events], version=head.version
        )

    # ---- taking part ------------------------------------------------------------------------------------------------

    async def Register(self, request: pb.RegisterRequest, call: Call) -> pb.RegisterResponse:
        """Enter a tournament."""
        return await self._entering.register(request, call)

    async def OpenEntrySeed(self, request: pb.OpenEntrySeedRequest, call: Call) -> pb.OpenEntrySeedResponse:
        """Open a seed for the first draw."""
        return await self._entering.open_seed(request, call)

    async def Unregister(self, request: pb.UnregisterRequest, call: Call) -> pb.UnregisterResponse:
        """Give an entry back before the start."""
        return await self._entering.unregister(request, call)

    async def ReEnter(self, request: pb.ReEnterRequest, call: Call) -> pb.ReEnterResponse:
        """Enter again after going out."""
        return await self._entering.re_enter(request, call)

    async def Rebuy(self, request: pb.RebuyRequest, call: Call) -> pb.RebuyResponse:
        """Buy chips where the conditions allow it."""
        return pb.RebuyResponse(result=result(await self._entering.buy(request, call, "rebuy")))

    async def AddOn(self, request: pb.AddOnRequest, call: Call) -> pb.AddOnResponse:
        """Buy the add-on."""
        return pb.AddOnResponse(result=result(await self._entering.buy(request, call, "add_on")))

    # ---- running it -------------------------------------------------------------------------------------------------

    async def CancelTournament(self, request: pb.CancelTournamentRequest, call: Call) -> pb.CancelTournamentResponse:
        """Call a tournament off."""
        by, reason = call.caller.subject, fields.reason(request.reason)
        return pb.CancelTournamentResponse(
            result=result(await self._directed(request, call, lambda now: Cancel(by, reason, now)))
        )

    async def PauseTournament(self, request: pb.PauseTournamentRequest, call: Call) -> pb.PauseTournamentResponse:
        """Start no new hand, and let the clock stand."""
        by, reason = call.caller.subject, fields.reason(request.reason)
        return pb.PauseTournamentResponse(
            result=result(await self._directed(request, call, lambda now: Pause(by, reason, now)))
        )

    async def ResumeTournament(self, request: pb.ResumeTournamentRequest, call: Call) -> pb.ResumeTournamentResponse:
        """Go on."""
        by, reason = call.caller.subject, fields.reason(request.reason)
        return pb.ResumeTournamentResponse(
            result=result(await self._directed(request, call, lambda now: Resume(by, reason, now)))
        )

    async def RemoveEntrant(self, request: pb.RemoveEntrantRequest, call: Call) -> pb.RemoveEntrantResponse:
        """Take a player out."""
        by, reason, player = call.caller.subject, fields.reason(request.reason), fields.player(request.player)
        return pb.RemoveEntrantResponse(
            result=result(await self._directed(request, call, lambda now: Remove(player, by, reason, now)))
        )

    async def _directed(self, request: Directing, call: Call, make: Callable[[int], TournamentCommand]) -> Answer:
        asked = request_of(request, call)
        actor = await self._tournaments.get(fields.an_id(request.tournament_id, "tournament_id"))
        return await actor.ask(lambda _: make(actor.clock.now_ms()), asked)

    # ---- following --------------------------------------------------------------------------------------------------

    async def WatchTournament(
        self, request: pb.WatchTournamentRequest, call: Call
    ) -> AsyncGenerator[Watcher | pb.WatchTournamentResponse, None]:
        """Follow a tournament, and the caller's own seat in it; of one that is over its end is told."""
        player = _viewer(call, request.on_behalf_of)
        tournament_id = fields.an_id(request.tournament_id, "tournament_id")
        try:
            actor = await self._tournaments.get(tournament_id)
        except Rejected as refusal:
            if refusal.reason != "TOURNAMENT_OVER":
                raise
            for message in _ending(await self._tournaments.state(tournament_id), player):
                yield message
            return
        watcher = actor.hub.attach(player, request.after_version)
        try:
            yield watcher
        finally:
            actor.hub.detach(watcher)

    async def WatchTournamentNotices(
        self, request: notices_pb2.WatchTournamentNoticesRequest, call: Call
    ) -> AsyncGenerator[notices_pb2.WatchTournamentNoticesResponse, None]:
        """Tell what is to be pushed to phones, from a cursor on."""
        async for message in self._board.watch(request, call):
            yield message


def _ending(state: TournamentState, player: str | None) -> list[pb.WatchTournamentResponse]:
    """Return what a stream tells of a tournament that is over: how it ended, and a player's own part in it."""
    update = pb.TournamentUpdate(view=view_message(state), is_snapshot=True)
    own = None if player is None else own_message(state, player)
    messages = [pb.WatchTournamentResponse(update=update)]
    return messages if own is None else [*messages, pb.WatchTournamentResponse(own=own)]


def _viewer(call: Call, on_behalf_of: str) -> str | None:
    """Return the player whose own part is told, None for staff who look at everybody."""
    is_player_s = call.caller.role in {Role.PLAYER, Role.BOT} or bool(on_behalf_of)
    return call.caller.acting_player(on_behalf_of) if is_player_s else None
