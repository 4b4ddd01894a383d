"""Announcing a tournament: from a template or with settings of its own, once an id of its request."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from msgspec.structs import replace

from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.ids import command_id_of
from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import begin_once
from diwan.core.decider import Rejected
from diwan.core.tournament.commands import CreateTournament
from diwan.core.tournament.decide import decide
from diwan.core.tournament.events import TournamentCreated
from diwan.core.tournament.settings import TournamentConfig
from services.tournament import fields
from services.tournament.actor import Actor
from services.tournament.ids import tournament_id_of
from services.tournament.stream import creation
from services.tournament.tables import check_tables
from services.tournament.templates import templates
from services.tournament.tournaments import Tournaments

_log = structlog.get_logger(__name__)


class Creation:
    """Announces tournaments."""

    def __init__(self, tournaments: Tournaments, now_ms: Callable[[], int]) -> None:
        self._tournaments = tournaments
        self._now_ms = now_ms

    async def create(self, request: pb.CreateTournamentRequest, call: Call) -> Actor:
        """Announce a tournament; raises `Rejected`, SETTING_INVALID where its settings make no sense."""
        fields.request_id(request.request_id)
        config = _config(request)
        subject, hashed = call.caller.subject, call.request_hash(request)
        tournament_id = tournament_id_of(subject, request.request_id)
        draws = self._tournaments.draws_of(tournament_id)
        # Looked at before a secret is made for it: what makes no sense leaves nothing behind.
        command = CreateTournament(str(tournament_id), config, bytes(32), subject, self._now_ms())
        announced = decide(None, command)[0]
        assert isinstance(announced, TournamentCreated), "a tournament's stream begins with TournamentCreated"  # noqa: S101
        check_tables(announced.config)
        try:
            commitment = await draws.begin()
        except VaultError as error:
            _log.error("secrets_unreachable", tournament=str(tournament_id), error=str(error))
            raise Rejected("SECRETS_UNAVAILABLE") from None
        events = decide(None, replace(command, commitment=commitment))
        command_id = command_id_of(subject, request.request_id)
        await begin_once(self._tournaments.store, creation(tournament_id, command_id, subject, hashed, events))
        return await self._tournaments.get(tournament_id)


def _config(request: pb.CreateTournamentRequest) -> TournamentConfig:
    match request.WhichOneof("settings"):
        case "config":
            if request.name or request.starts_at_ms:
                raise Rejected("FIELD_INVALID", field="name", why="with a template only: config says it")
            return fields.config(request.config)
        case "template":
            found = templates().get(request.template)
            if found is None:
                raise Rejected("TEMPLATE_NOT_FOUND", template=request.template[:80])
            return _filled_in(found, request)
        case _:
            raise Rejected("FIELD_REQUIRED", field="settings")


def _filled_in(template: TournamentConfig, request: pb.CreateTournamentRequest) -> TournamentConfig:
    entries = template.entries
    if request.starts_at_ms:
        entries = replace(entries, starts_at_ms=request.starts_at_ms)
    return replace(template, name=request.name or template.name, entries=entries)
