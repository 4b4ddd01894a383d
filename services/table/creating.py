"""Opening a table: by a back end or the house any, by a player a private one that it hosts (TB-1, TB-3)."""

from collections.abc import Callable

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.calls import Call
from diwan.chassis.ids import command_id_of
from diwan.chassis.store import EventStore, begin_once
from diwan.core.decider import Rejected
from diwan.core.table.commands import CreateTable
from diwan.core.table.config import TableConfig
from diwan.core.table.decide import decide
from diwan.core.table.events import TableCreated
from services.table import fields
from services.table.actor import Actor
from services.table.hosting import Hosts
from services.table.ids import table_id_of
from services.table.index import Index
from services.table.stream import creation
from services.table.tables import Tables


class Creation:
    """Opens tables, each once an id of its request."""

    def __init__(
        self, tables: Tables, index: Index, hosts: Hosts, store: EventStore, now_ms: Callable[[], int]
    ) -> None:
        self._tables = tables
        self._index = index
        self._hosts = hosts
        self._store = store
        self._now_ms = now_ms

    async def create(self, request: pb.CreateTableRequest, call: Call) -> Actor:
        """Open a table; raises `Rejected`, TOO_MANY_TABLES_HOSTED where its host has enough of them."""
        fields.request_id(request.request_id)
        config = fields.config(request.config)
        if config.chips == "tournament":
            raise Rejected("SETTING_INVALID", setting="chips", why="tournaments open their own tables")
        host = _host(call, request.on_behalf_of, config)
        if not host:
            return await self._created(request, call, config, host)
        indexed = await self._index.tables_hosted_by(host)
        table_id = table_id_of(call.caller.subject, request.request_id)
        with self._hosts.opening(host, indexed, table_id):
            if self._tables.find(table_id) is None and call.caller.role is not Role.OPERATOR:
                self._hosts.paced(host)
            return await self._created(request, call, config, host)

    async def _created(self, request: pb.CreateTableRequest, call: Call, config: TableConfig, host: str) -> Actor:
        subject = call.caller.subject
        table_id = table_id_of(subject, request.request_id)
        command_id = command_id_of(subject, request.request_id)
        events = decide(None, CreateTable(str(table_id), config, subject, self._now_ms(), host), {})
        assert isinstance(events[0], TableCreated), "a table begins with its creation"  # noqa: S101
        beginning = creation(table_id, command_id, subject, call.request_hash(request), events[0])
        await begin_once(self._store, beginning)
        return await self._tables.get(table_id)


def _host(call: Call, on_behalf_of: str, config: TableConfig) -> str:
    """Return who will host the table, nobody for a public one."""
    if call.caller.role is Role.PLAYER:
        if not config.is_private:
            raise Rejected("SETTING_INVALID", setting="is_private", why="players open private tables")
        return call.caller.acting_player(on_behalf_of)
    return call.caller.acting_player(on_behalf_of) if on_behalf_of else ""
