"""Asks a service whether it serves, by the standard health protocol."""

from __future__ import annotations

from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

ANSWER_SECONDS: Final = 3.0


async def service_is_serving(address: str) -> tuple[bool, str]:
    """Return whether the service at an address serves, and how it said so."""
    async with grpc.aio.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=ANSWER_SECONDS)
        except grpc.aio.AioRpcError as error:
            return False, f"does not answer: {error.code().name}"
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return status == "SERVING", status
