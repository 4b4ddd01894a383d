"""The wallet over gRPC, as tables ask it."""

from collections.abc import Callable
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from diwan.api.wallet.v1 import wallet_service_pb2, wallet_service_pb2_grpc
from diwan.chassis.errors import FINAL_CODES
from diwan.core.decider import Rejected
from services.table.saga import WalletUnknown

CALL_SECONDS: Final = 3.0


class GrpcWallet:
    """Asks the wallet service; a token of the table service's own goes with every call."""

    def __init__(self, channel: grpc.aio.Channel, token: Callable[[], str]) -> None:
        self._stub = wallet_service_pb2_grpc.WalletServiceStub(channel)
        self._token = token

    async def fund_seat(
        self, *, transfer_id: str, player: str, is_bot: bool, sitting: str, table_id: str, amount: int, code: str
    ) -> None:
        request = wallet_service_pb2.FundSeatRequest(
            transfer_id=transfer_id,
            player=player,
            is_bot=is_bot,
            sitting=sitting,
            table_id=table_id,
            amount=amount,
            code=code,
        )
        metadata = (("authorization", f"Bearer {self._token()}"),)
        try:
            await self._stub.FundSeat(request, timeout=CALL_SECONDS, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() in FINAL_CODES:
                raise Rejected(_reason_of(error)) from None
            raise WalletUnknown(f"{error.code().name}: {error.details()}") from None


def _reason_of(error: grpc.aio.AioRpcError) -> str:
    status = rpc_status.from_call(error)
    for detail in () if status is None else status.details:
        info = error_details_pb2.ErrorInfo()
        try:
            if detail.Unpack(info):
                return str(info.reason)
        except DecodeError:
            continue
    raise WalletUnknown(f"{error.code().name} without a reason: {error.details()}")
