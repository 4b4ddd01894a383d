"""What a tournament orders of its tables, as the tests give it: over the contract, each order with an id of its own."""

from uuid import uuid4

import grpc

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.event.v1 import tournament_table_pb2 as terms_pb2
from diwan.api.table.v1 import tournament_pb2 as pb
from diwan.api.table.v1.tournament_pb2_grpc import TournamentTableServiceStub
from diwan.chassis.access import Role
from tests.integration.table.house import PLAIN, error_of

MOVED = terms_pb2.RELEASE_CAUSE_MOVED
REMOVED = terms_pb2.RELEASE_CAUSE_REMOVED


def levels(*blinds, duration_ms=3_600_000, **more):
    return [
        terms_pb2.BlindLevel(small_blind=big // 2, big_blind=big, duration_ms=duration_ms, **more) for big in blinds
    ]


class Director:
    """Directs the tables of one tournament."""

    def __init__(self, house):
        self.house = house
        self.tournament_id = str(uuid4())
        self.stub = TournamentTableServiceStub(house.channel)

    async def call(self, method, request, role=Role.SERVICE):
        metadata = self.house.metadata("tournament", role)
        return await getattr(self.stub, method)(request, timeout=5, metadata=metadata)

    async def open(self, table_id=None, *, clock_base_ms=1, ladder=None, game="holdem", table_no=1, **config):
        """Open a table whose clock has begun; returns its id."""
        table_id = table_id or str(uuid4())
        terms = terms_pb2.TournamentTerms(
            tournament_id=self.tournament_id,
            levels=ladder or levels(20, 40, 80),
            table_no=table_no,
            clock_base_ms=clock_base_ms,
        )
        hand = hand_pb2.HandSettings(game=game, decision_seconds=config.pop("decision_seconds", 20))
        wanted = table_pb2.TableConfig(
            **PLAIN | config, hand=hand, chips=table_pb2.CHIP_SOURCE_TOURNAMENT, tournament=terms
        )
        await self.call("OpenTournamentTable", pb.OpenTournamentTableRequest(table_id=table_id, config=wanted))
        return table_id

    async def order(self, table_id, order_id=None, **order):
        request = pb.GiveOrderRequest(order_id=order_id or str(uuid4()), table_id=table_id, **order)
        return await self.call("GiveOrder", request)

    async def seat(self, table_id, player, seat, stack=1_000, **more):
        given = pb.SeatEntrantOrder(seat=seat, player=player, stack=stack, **more)
        return await self.order(table_id, seat_entrant=given)

    async def release(self, table_id, player, cause=MOVED):
        return await self.order(table_id, release_entrant=pb.ReleaseEntrantOrder(player=player, cause=cause))

    async def start(self, table_id, mode=table_pb2.START_MODE_AUTOMATIC):
        """Let hands start by themselves."""
        return await self.order(table_id, set_start_mode=pb.SetStartModeOrder(mode=mode))

    async def close(self, table_id):
        return await self.order(table_id, close_table=pb.CloseTableOrder())

    async def refused(self, asking):
        try:
            await asking
        except grpc.aio.AioRpcError as error:
            return error_of(error)
        raise AssertionError("it was not refused")
