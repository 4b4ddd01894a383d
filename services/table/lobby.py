"""The lobby: open tables that fit what is looked for, each with its conditions."""

from collections.abc import Callable
from typing import Final

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import lobby_pb2, view_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.paging import after_token, page_token
from diwan.core.decider import Rejected
from diwan.core.table.conditions import conditions_of
from diwan.core.table.config import TableConfig
from diwan.core.table.state import TableState
from diwan.wire.conditions import conditions_message
from diwan.wire.table import CHIPS_NAME, read_config
from services.table import fields
from services.table.actor import Actor
from services.table.entry import Viewer, let_in, viewer_of
from services.table.index import Index, Sought, TableLine
from services.table.tables import Tables

TABLES_A_PAGE_MAX: Final = 100
GAMES_MAX: Final = 10

_WISHES: Final[dict[int, bool | None]] = {
    lobby_pb2.WISH_UNSPECIFIED: None,
    lobby_pb2.WISH_YES: True,
    lobby_pb2.WISH_NO: False,
}


class Lobby:
    """Answers who looks for a table."""

    def __init__(self, tables: Tables, index: Index, now_ms: Callable[[], int]) -> None:
        self._tables = tables
        self._index = index
        self._now_ms = now_ms

    async def listed(self, request: pb.ListTablesRequest, call: Call) -> pb.ListTablesResponse:
        """Return open tables that fit and that the caller may see, newest first.

        Raises `Rejected` for a filter that makes no sense, or a player that the caller cannot act for.
        """
        viewer = viewer_of(call, request.on_behalf_of)
        size = fields.page_size(request.page_size, TABLES_A_PAGE_MAX)
        sought = _sought(request.filter, viewer, self._now_ms())
        scope = f"tables/{viewer.player}/".encode() + request.filter.SerializeToString(deterministic=True)
        after = after_token(request.page_token, scope)
        found = await self._index.open_tables(sought, after, size + 1)
        response = pb.ListTablesResponse()
        for line in found[:size]:
            if not self._is_welcome(line, viewer):
                continue
            response.entries.append(entry_message(line))
            if request.detail != lobby_pb2.TABLE_DETAIL_ENTRIES:
                await self._add_view(response, line, viewer)
        if len(found) > size:
            response.next_page_token = page_token(found[size - 1].created_at_ms, found[size - 1].table_id, scope)
        return response

    def _is_welcome(self, line: TableLine, viewer: Viewer) -> bool:
        """Ask the table itself where it lives here: the index may be some tenths of a second behind."""
        actor = self._tables.find(line.table_id)
        if actor is None or viewer.player is None:
            return True
        try:
            let_in(actor, viewer)
        except Rejected:
            return False
        return True

    async def _add_view(self, response: pb.ListTablesResponse, line: TableLine, viewer: Viewer) -> None:
        try:
            response.tables.append(view_of(await self._tables.get(line.table_id), viewer.player))
        except Rejected:
            # It is held back or on its way to another server; its entry is all that can be told of it.
            return


def view_of(actor: Actor, player: str | None) -> view_pb2.TableView:
    """Return a table as everybody may see it, and later than its seats where it is so set (S8)."""
    return view_pb2.TableView.FromString(actor.hub.view_for(player))


def coming(state: TableState) -> TableConfig:
    """Return the settings that hold from the next hand on: those that a newcomer will play by."""
    return state.hosting.settings_next or state.config


def conditions_for(config: TableConfig) -> lobby_pb2.TableConditions:
    """Return the conditions object of a table's settings."""
    return conditions_message(conditions_of(config))


def entry_message(line: TableLine) -> lobby_pb2.LobbyEntry:
    """Return a table's line in the lobby."""
    config = read_config(table_pb2.TableConfig.FromString(line.config))
    return lobby_pb2.LobbyEntry(
        table_id=str(line.table_id),
        name=config.name,
        created_at_ms=line.created_at_ms,
        conditions=conditions_for(config),
        people=line.people,
        bots=line.bots,
        free_seats=config.seats - line.people - line.bots,
        is_closing=line.is_closing,
        host=line.host,
    )


def _sought(wanted: lobby_pb2.TableFilter, viewer: Viewer, now_ms: int) -> Sought:
    if len(wanted.games) > GAMES_MAX:
        raise Rejected("FIELD_INVALID", field="filter.games", why=f"at most {GAMES_MAX}")
    for field, wish in (("bots", wanted.bots), ("private", wanted.private)):
        if wish not in _WISHES:
            raise Rejected("FIELD_INVALID", field=f"filter.{field}", why="no such wish")
    if wanted.chips not in {0, *CHIPS_NAME}:
        raise Rejected("FIELD_INVALID", field="filter.chips", why="no such source")
    low, high = wanted.stake_min, wanted.stake_max
    if not 0 <= low <= (high or low) or high < 0:
        raise Rejected("FIELD_INVALID", field="filter.stake_max", why="a range of chips")
    return Sought(
        games=tuple(fields.short_text(game, "filter.games", 20) for game in wanted.games),
        limit=fields.short_text(wanted.limit, "filter.limit", 20),
        stake_min=low,
        stake_max=high,
        free_seats_min=min(wanted.free_seats_min, 100),
        chips=wanted.chips,
        has_bots=_WISHES[wanted.bots],
        is_private=_WISHES[wanted.private],
        viewer=viewer.player,
        sees_all=viewer.is_staff,
        now_ms=now_ms,
    )
