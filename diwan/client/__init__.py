"""The Python client of the services, as players' back ends, bots, the command line and the tests use it.

    async with connect({"table": "127.0.0.1:7101"}, token) as client:
        await client.tables.sit_down(table_id, 2000)
        async with client.tables.play(table_id) as seat:
            async for message in seat:
                if (decision := seat.decision) is not None:
                    await seat.act(decision.turn, "check" if decision.can_check else "fold")

Every unary call has a deadline and is repeated only where its request id, or its being a reading, makes that safe.
Streams go on from the newest version after a lost connection.
"""

from diwan.client.client import DiwanClient, connect
from diwan.client.connection import Token
from diwan.client.errors import DiwanError, ProofFailed
from diwan.client.notices import Notices
from diwan.client.seat import SeatStream
from diwan.client.streams import Watching
from diwan.client.tables import new_request_id
from diwan.client.tournaments import WatchingTournament
from diwan.client.wallet import AccountName, movement

__all__ = [
    "AccountName",
    "DiwanClient",
    "DiwanError",
    "Notices",
    "ProofFailed",
    "SeatStream",
    "Token",
    "Watching",
    "WatchingTournament",
    "connect",
    "movement",
    "new_request_id",
]
