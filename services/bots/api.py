"""Answers what the bots do."""

from __future__ import annotations

from collections.abc import Callable

from diwan.api.bots.v1 import bots_service_pb2 as pb
from diwan.chassis.calls import Call
from services.bots.manager import Manager


class BotsServicer:
    """The `BotsService` of the contract."""

    def __init__(self, manager: Manager, cursor: Callable[[], int]) -> None:
        self._manager = manager
        self._cursor = cursor

    async def GetStatus(self, request: pb.GetStatusRequest, call: Call) -> pb.GetStatusResponse:
        """Return every seated bot; one that is on its way to a seat is not seated yet."""
        bots = [
            pb.SeatedBot(
                player=player.assignment.player,
                table_id=player.assignment.table_id,
                seat=player.seat,
                decisions=player.decisions,
            )
            for player in self._manager.players
            if player.seat is not None
        ]
        return pb.GetStatusResponse(bots=bots, table_feed_cursor=self._cursor())
