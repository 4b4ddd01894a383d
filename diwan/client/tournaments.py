"""Tournaments: find, enter, watch, run them. All methods raise `DiwanError`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from diwan.api.event.v1 import event_pb2, tournament_pb2
from diwan.api.tournament.v1 import lobby_pb2, notices_pb2, view_pb2
from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.api.tournament.v1.tournament_service_pb2_grpc import TournamentServiceStub
from diwan.client.connection import Connection
from diwan.client.streams import PATIENCE_SECONDS, Lasting, Story
from diwan.client.tables import new_request_id
from diwan.core.tournament.settings import TournamentConfig
from diwan.wire.tournament import write_tournament_config

type TournamentView = view_pb2.TournamentView
type OwnEntry = view_pb2.OwnEntry
type LevelView = view_pb2.LevelView
type Standing = view_pb2.Standing
type TournamentEntry = lobby_pb2.TournamentEntry
type Conditions = lobby_pb2.TournamentConditions
type PayoutLine = lobby_pb2.PayoutLine
type Template = pb.Template
"""As the contract has them."""


class Tournaments:
    """The tournament service. ``player`` is for a back end: the player it acts for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = TournamentServiceStub(connection.channel)

    # What there is

    async def create(
        self,
        settings: str | TournamentConfig | tournament_pb2.TournamentConfig | Mapping[str, Any],
        *,
        name: str = "",
        starts_at_ms: int = 0,
        request_id: str | None = None,
    ) -> pb.CreateTournamentResponse:
        """Announce a tournament from a template's name, from a record of the core, or from a message or its fields.

        ``name`` and ``starts_at_ms`` fill in a template. For back ends and operators.
        """
        request = pb.CreateTournamentRequest(
            request_id=request_id or new_request_id(), name=name, starts_at_ms=starts_at_ms
        )
        if isinstance(settings, str):
            request.template = settings
        elif isinstance(settings, TournamentConfig):
            write_tournament_config(request.config, settings)
        elif isinstance(settings, tournament_pb2.TournamentConfig):
            request.config.CopyFrom(settings)
        else:
            request.config.CopyFrom(tournament_pb2.TournamentConfig(**settings))
        return await self._connection.unary(self._stub.CreateTournament, request)

    async def templates(self) -> Sequence[Template]:
        """Return the templates that are shipped, by name."""
        return (await self._connection.unary(self._stub.ListTemplates, pb.ListTemplatesRequest())).templates

    async def get(self, tournament_id: str, *, player: str = "") -> pb.GetTournamentResponse:
        """Return a tournament, its conditions, and the caller's own part in it."""
        request = pb.GetTournamentRequest(tournament_id=tournament_id, on_behalf_of=player)
        return await self._connection.unary(self._stub.GetTournament, request)

    async def found(self, *, page_size: int = 50, player: str = "", **wanted: Any) -> AsyncIterator[TournamentEntry]:
        """Iterate over tournaments that fit, newest first; ``wanted`` has the fields of TournamentFilter."""
        request = pb.ListTournamentsRequest(
            page_size=page_size, filter=lobby_pb2.TournamentFilter(**wanted), on_behalf_of=player
        )
        async for page in self._connection.pages(self._stub.ListTournaments, request):
            for entry in page.entries:
                yield entry

    async def standings(self, tournament_id: str, *, page_size: int = 500) -> AsyncIterator[Standing]:
        """Iterate over who stands where: who plays by stack, then who is out by place."""
        request = pb.ListStandingsRequest(tournament_id=tournament_id, page_size=page_size)
        async for page in self._connection.pages(self._stub.ListStandings, request):
            for standing in page.standings:
                yield standing

    async def tables(self, tournament_id: str) -> Sequence[view_pb2.TournamentTable]:
        """Return a tournament's tables with who sits there, by number."""
        request = pb.ListTournamentTablesRequest(tournament_id=tournament_id)
        return (await self._connection.unary(self._stub.ListTournamentTables, request)).tables

    async def log(self, tournament_id: str) -> AsyncIterator[event_pb2.StoredEvent]:
        """Iterate over a tournament's stored events, from the first one up to the head of now."""
        request = pb.GetTournamentLogRequest(tournament_id=tournament_id)
        while (page := await self._connection.unary(self._stub.GetTournamentLog, request)).events:
            for event in page.events:
                yield event
            request.after_version = page.events[-1].version

    # Taking part

    async def register(
        self, tournament_id: str, *, player: str = "", seed_commitment: bytes = b"", request_id: str | None = None
    ) -> pb.RegisterResponse:
        """Enter; answered when the wallet has answered, ENTRY_REFUSED with its reason where it refused.

        ``seed_commitment`` binds to a seed for the first draw, which `open_seed` opens when the view's ``seeds_until_ms``
        asks for it: `fair.EntrySeed` does both halves.
        """
        request = pb.RegisterRequest(
            request_id=request_id or new_request_id(),
            tournament_id=tournament_id,
            on_behalf_of=player,
            seed_commitment=seed_commitment,
        )
        return await self._connection.unary(self._stub.Register, request)

    async def open_seed(
        self, tournament_id: str, seed: bytes, *, player: str = "", request_id: str | None = None
    ) -> pb.TournamentResult:
        """Open the seed that the entry committed to; SEED_NOT_ASKED outside of the time for it."""
        request = pb.OpenEntrySeedRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, on_behalf_of=player, seed=seed
        )
        return (await self._connection.unary(self._stub.OpenEntrySeed, request)).result

    async def unregister(
        self, tournament_id: str, *, player: str = "", request_id: str | None = None
    ) -> pb.TournamentResult:
        """Give an entry back before the start."""
        request = pb.UnregisterRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, on_behalf_of=player
        )
        return (await self._connection.unary(self._stub.Unregister, request)).result

    async def re_enter(
        self, tournament_id: str, *, player: str = "", request_id: str | None = None
    ) -> pb.ReEnterResponse:
        """Enter again after going out, for the price of an entry."""
        request = pb.ReEnterRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, on_behalf_of=player
        )
        return await self._connection.unary(self._stub.ReEnter, request)

    async def rebuy(
        self, tournament_id: str, *, player: str = "", request_id: str | None = None
    ) -> pb.TournamentResult:
        """Buy chips; they come between two hands."""
        request = pb.RebuyRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, on_behalf_of=player
        )
        return (await self._connection.unary(self._stub.Rebuy, request)).result

    async def add_on(
        self, tournament_id: str, *, player: str = "", request_id: str | None = None
    ) -> pb.TournamentResult:
        """Buy the add-on; its chips come between two hands."""
        request = pb.AddOnRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, on_behalf_of=player
        )
        return (await self._connection.unary(self._stub.AddOn, request)).result

    # Running it; for operators

    async def cancel(self, tournament_id: str, reason: str, *, request_id: str | None = None) -> pb.TournamentResult:
        """Call a tournament off."""
        request = pb.CancelTournamentRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, reason=reason
        )
        return (await self._connection.unary(self._stub.CancelTournament, request)).result

    async def pause(self, tournament_id: str, reason: str, *, request_id: str | None = None) -> pb.TournamentResult:
        """Start no new hand, and let the clock stand."""
        request = pb.PauseTournamentRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, reason=reason
        )
        return (await self._connection.unary(self._stub.PauseTournament, request)).result

    async def resume(self, tournament_id: str, reason: str, *, request_id: str | None = None) -> pb.TournamentResult:
        """Go on."""
        request = pb.ResumeTournamentRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, reason=reason
        )
        return (await self._connection.unary(self._stub.ResumeTournament, request)).result

    async def remove(
        self, tournament_id: str, player: str, reason: str, *, request_id: str | None = None
    ) -> pb.TournamentResult:
        """Take a player out."""
        request = pb.RemoveEntrantRequest(
            request_id=request_id or new_request_id(), tournament_id=tournament_id, player=player, reason=reason
        )
        return (await self._connection.unary(self._stub.RemoveEntrant, request)).result

    # Following

    def watch(
        self,
        tournament_id: str,
        *,
        after_version: int = 0,
        player: str = "",
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> WatchingTournament:
        """Follow a tournament and one's own seat in it, whatever becomes of connections; see `WatchingTournament`."""
        request = pb.WatchTournamentRequest(
            tournament_id=tournament_id, after_version=after_version, on_behalf_of=player
        )
        return WatchingTournament(
            self._connection, self._stub.WatchTournament, request, patience_seconds=patience_seconds
        )

    def notices(
        self,
        *,
        after_cursor: int | None = None,
        players: Sequence[str] = (),
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> TournamentNotices:
        """Follow what is to be pushed to phones. For back ends."""
        request = pb_notices(after_cursor, players)
        return TournamentNotices(
            self._connection, self._stub.WatchTournamentNotices, request, patience_seconds=patience_seconds
        )


def pb_notices(after_cursor: int | None, players: Sequence[str]) -> notices_pb2.WatchTournamentNoticesRequest:
    """Return the request for notices from a cursor on."""
    request = notices_pb2.WatchTournamentNoticesRequest(players=players)
    if after_cursor is not None:
        request.after_cursor = after_cursor
    return request


class WatchingTournament(Story):
    """A tournament's story as one unbroken iteration. ``view`` and ``own`` are the newest of each, None before the first.

    Use it as ``async with tournaments.watch(...) as messages: async for message in messages``.
    """

    view: TournamentView | None = None
    own: OwnEntry | None = None

    async def __anext__(self) -> pb.WatchTournamentResponse:
        """Return the next message; raises StopAsyncIteration when the story is over, else `DiwanError`."""
        message: pb.WatchTournamentResponse | None = await self._read()
        if message is None:
            raise StopAsyncIteration
        kind = message.WhichOneof("message")
        if kind == "own":
            self.own = message.own
        elif kind == "update":
            update = message.update
            newest = update.events[-1].version if update.events else 0
            if update.HasField("view"):
                self.view, newest = update.view, max(newest, update.view.version)
            self._request.after_version = max(self._request.after_version, newest)
        return message


class TournamentNotices(Lasting):
    """What is to be pushed to phones; goes on by itself from the newest cursor that was handed out."""

    @property
    def cursor(self) -> int | None:
        """The newest cursor; None before the first message of a stream that began with now."""
        cursor: int | None = self._request.after_cursor if self._request.HasField("after_cursor") else None
        return cursor

    async def __anext__(self) -> notices_pb2.TournamentNotice:
        """Return the next notice; raises `DiwanError` where the stream cannot be had again."""
        while True:
            message: notices_pb2.WatchTournamentNoticesResponse | None = await self._read()
            if message is None:  # It has no end of its own: where it ends the server went away.
                continue
            kind = message.WhichOneof("message")
            self._request.after_cursor = message.notice.cursor if kind == "notice" else message.heartbeat.cursor
            if kind == "notice":
                return message.notice
