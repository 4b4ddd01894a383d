"""The lobby: tournaments that fit what is looked for, each with its conditions."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from diwan.api.event.v1.tournament_pb2 import TournamentConfig as ConfigMessage
from diwan.api.tournament.v1 import lobby_pb2
from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.paging import after_token, page_token
from diwan.core.decider import Rejected
from diwan.core.tournament.state import TournamentState
from diwan.wire.tournament import read_tournament_config
from services.tournament import fields
from services.tournament.conditions import conditions_message
from services.tournament.index import Index, Line, Sought
from services.tournament.tournaments import Tournaments
from services.tournament.views import Shown

TOURNAMENTS_A_PAGE_MAX: Final = 100
STANDINGS_A_PAGE_MAX: Final = 500
_PRICE_MAX: Final = 2**53 - 1
_WISHES: Final[dict[int, bool | None]] = {
    lobby_pb2.TOURNAMENT_WISH_UNSPECIFIED: None,
    lobby_pb2.TOURNAMENT_WISH_YES: True,
    lobby_pb2.TOURNAMENT_WISH_NO: False,
}


class Lobby:
    """Answers who looks for a tournament."""

    def __init__(self, tournaments: Tournaments, index: Index, shown: Shown) -> None:
        self._tournaments = tournaments
        self._shown = shown
        self._index = index

    async def listed(self, request: pb.ListTournamentsRequest, call: Call) -> pb.ListTournamentsResponse:
        """Return tournaments that fit, newest first; raises `Rejected` for a filter that makes no sense."""
        size = fields.page_size(request.page_size, TOURNAMENTS_A_PAGE_MAX)
        sought = _sought(request, call)
        scope = f"tournaments/{sought.player}/".encode() + request.filter.SerializeToString(deterministic=True)
        after = after_token(request.page_token, scope)
        found = await self._index.found(sought, after, size + 1)
        living = {actor.tournament_id: actor.state for actor in self._tournaments.live()}
        response = pb.ListTournamentsResponse()
        response.entries.extend([_entry(line, living.get(line.tournament_id)) for line in found[:size]])
        if len(found) > size:
            response.next_page_token = page_token(found[size - 1].created_at_ms, found[size - 1].tournament_id, scope)
        return response

    async def standings(self, request: pb.ListStandingsRequest, _call: Call) -> pb.ListStandingsResponse:
        """Return a page of who stands where. The order changes while it is played: pages are of the moment each."""
        size = fields.page_size(request.page_size, STANDINGS_A_PAGE_MAX)
        tournament_id = fields.an_id(request.tournament_id, "tournament_id")
        state = await self._tournaments.state(tournament_id)
        scope = f"standings/{tournament_id}".encode()
        token = after_token(request.page_token, scope)
        start = 0 if token is None else token[0]
        version, ranked = self._shown.standings(state)
        response = pb.ListStandingsResponse(standings=ranked[start : start + size], version=version)
        if start + size < len(ranked):
            response.next_page_token = page_token(start + size, UUID(int=0), scope)
        return response


def _sought(request: pb.ListTournamentsRequest, call: Call) -> Sought:
    wanted = request.filter
    for field, wish in (("bots", wanted.bots), ("open", wanted.open)):
        if wish not in _WISHES:
            raise Rejected("FIELD_INVALID", field=f"filter.{field}", why="no such wish")
    low, high = wanted.price_min, wanted.price_max
    if not 0 <= low <= (high or _PRICE_MAX) <= _PRICE_MAX:
        raise Rejected("FIELD_INVALID", field="filter.price_max", why="a range of chips")
    is_player_s = call.caller.role in {Role.PLAYER, Role.BOT} or bool(request.on_behalf_of)
    player = call.caller.acting_player(request.on_behalf_of) if is_player_s else ""
    if wanted.is_own and not player:
        raise Rejected("ON_BEHALF_OF_REQUIRED")
    return Sought(
        kinds=fields.words(list(wanted.kinds), "filter.kinds"),
        games=fields.words(list(wanted.games), "filter.games"),
        phases=fields.words(list(wanted.phases), "filter.phases"),
        price_min=low,
        price_max=high,
        has_bots=_WISHES[wanted.bots],
        is_open=_WISHES[wanted.open],
        player=player,
        is_own=wanted.is_own,
    )


def _entry(line: Line, state: TournamentState | None) -> lobby_pb2.TournamentEntry:
    """Return a line of the lobby: by the tournament itself where it lives here, else as it was written down."""
    config = read_tournament_config(ConfigMessage.FromString(line.config))
    entry = lobby_pb2.TournamentEntry(
        tournament_id=str(line.tournament_id),
        name=config.name,
        created_at_ms=line.created_at_ms,
        phase=line.phase,
        is_open=line.is_open,
        starts_at_ms=line.starts_at_ms,
        entries=line.entries,
        bots=line.bots,
        players_left=line.players_left,
        pool=max(line.pool, config.payout.guarantee),
        multiplier=line.multiplier,
        conditions=conditions_message(config),
    )
    if state is not None:
        entry.phase, entry.is_open = state.phase, state.is_open
        entry.entries, entry.bots, entry.players_left = state.accepted, state.bots, state.left
    return entry
