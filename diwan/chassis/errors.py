"""How a refusal leaves the house: exactly one ErrorInfo, and its text in English and Arabic.

Inside, everything that refuses raises `diwan.core.decider.Rejected` with a reason of the catalogue.
"""

import re
from collections.abc import Mapping
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from diwan.api.table.v1 import table_service_pb2
from diwan.chassis.reasons import CATALOGUE, UNEXPLAINED, entry_of, rendered
from diwan.core.decider import Rejected

DOMAIN: Final = "diwan"

_FACT_CHARACTERS_MAX: Final = 200
_FACTS_MAX: Final = 16
_FACT_NAME: Final = re.compile(r"[a-z][a-zA-Z0-9_-]{0,63}").fullmatch

_RETRY_SECONDS: Final = {
    "SERVER_BUSY": 1,
    "TABLE_BUSY": 1,
    "RATE_LIMITED": 1,
    "WALLET_UNAVAILABLE": 2,
    "RECONCILE_RUNNING": 2,
}
"""Reasons that say when asking again makes sense."""

FINAL_CODES: Final = frozenset(
    {
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.OUT_OF_RANGE,
    }
)
"""What another service says for ever. A refused token or a fault is not about what was asked: it is asked again."""


def metadata_of(facts: Mapping[str, object]) -> dict[str, str]:
    """Return facts as ErrorInfo's metadata: at most 16 texts of at most 200 characters, never bytes.

    What a caller sent may come back in a fact, so its size is limited; bytes could be a secret and are left out.
    """
    told: dict[str, str] = {}
    for name, value in facts.items():
        if len(told) == _FACTS_MAX:
            break
        if not isinstance(value, bytes | bytearray | memoryview) and _FACT_NAME(name):
            told[name] = str(value)[:_FACT_CHARACTERS_MAX]
    return told


def status_of(rejected: Rejected) -> status_pb2.Status:
    """Return the rich status of a refusal: ErrorInfo, LocalizedMessage en and ar, RetryInfo where it helps."""
    reason = rejected.reason if rejected.reason in CATALOGUE else UNEXPLAINED
    entry = entry_of(reason)
    metadata = metadata_of(rejected.facts)
    english = rendered(entry.en, metadata)
    details: list[Message] = [
        error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata),
        error_details_pb2.LocalizedMessage(locale="en", message=english),
        error_details_pb2.LocalizedMessage(locale="ar", message=rendered(entry.ar, metadata)),
    ]
    if (seconds := _RETRY_SECONDS.get(reason)) is not None:
        details.append(error_details_pb2.RetryInfo(retry_delay=Duration(seconds=seconds)))
    number, _ = entry.status.value
    return status_pb2.Status(code=number, message=english, details=[_packed(detail) for detail in details])


def _packed(message: Message) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed


def refusal_of(rejected: Rejected) -> table_service_pb2.Refusal:
    """Return a refusal as it stands inside a stream: the same content as the error of a call."""
    entry = entry_of(rejected.reason)
    metadata = metadata_of(rejected.facts)
    return table_service_pb2.Refusal(
        reason=rejected.reason if rejected.reason in CATALOGUE else UNEXPLAINED,
        metadata=metadata,
        message=rendered(entry.en, metadata),
        message_ar=rendered(entry.ar, metadata),
        code=entry.status.value[0],
    )


def rejected_of(refusal: table_service_pb2.Refusal) -> Rejected:
    """Return a recorded refusal as what is raised: a call that asks again gets the first answer's error (L5)."""
    return Rejected(refusal.reason, **dict(refusal.metadata))


def grpc_status_of(rejected: Rejected) -> grpc.Status:
    """Return a refusal as grpc aborts a call with it."""
    status: grpc.Status = rpc_status.to_status(status_of(rejected))
    return status
