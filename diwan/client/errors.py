"""What a refused or failed call tells its caller."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from diwan.api.table.v1 import table_service_pb2

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

_ASK_AGAIN: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)
_NEVER_ASK_AGAIN: Final = frozenset({"MESSAGE_TOO_LARGE", "TOO_MANY_STREAMS"})
_CUT: Final = frozenset({grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED})
"""How grpc reports a connection that broke under a call, when no server said anything."""


class DiwanError(Exception):
    """A call was refused, or nobody answered it.

    ``reason`` is UPPER_SNAKE and stable (a status code's name where the transport failed), ``metadata`` holds the
    facts, ``message`` and ``message_ar`` are for people, ``code`` is the gRPC status code. ``is_from_server`` says
    that a server of the house refused; otherwise the transport failed and the outcome is unknown.
    ``retry_seconds`` is set where asking again with the same request id makes sense.
    """

    def __init__(
        self,
        reason: str,
        metadata: Mapping[str, str] | None = None,
        message: str = "",
        message_ar: str = "",
        code: grpc.StatusCode = grpc.StatusCode.UNKNOWN,
        *,
        is_from_server: bool = True,
        retry_seconds: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.message = message
        self.message_ar = message_ar
        self.code = code
        self.is_from_server = is_from_server
        self.retry_seconds = retry_seconds

    def __str__(self) -> str:
        facts = " ".join(f"{name}={value}" for name, value in self.metadata.items())
        return " ".join(part for part in (self.reason, facts, self.message) if part)

    @property
    def can_be_retried(self) -> bool:
        """The same request, with the same request id, may be answered later."""
        if not self.is_from_server:
            return self.code in _ASK_AGAIN or self.code in _CUT
        return self.code in _ASK_AGAIN and self.reason not in _NEVER_ASK_AGAIN


class ProofFailed(Exception):  # noqa: N818  (read as a sentence)
    """The house did not keep to what it had committed to: do not play on, keep the evidence.

    ``hand_id`` names the hand, ``what`` says which proof failed. No card is in it.
    """

    def __init__(self, hand_id: str, what: str) -> None:
        super().__init__(f"hand {hand_id}: {what}")
        self.hand_id = hand_id
        self.what = what


def error_of(error: grpc.aio.AioRpcError) -> DiwanError:
    """Return a failed call as our error."""
    status = _rich_status(error)
    if status is None:
        return DiwanError(error.code().name, None, error.details() or "", "", error.code(), is_from_server=False)
    info, texts, retry = error_details_pb2.ErrorInfo(), {}, error_details_pb2.RetryInfo()
    localized = error_details_pb2.LocalizedMessage()
    retry_seconds = None
    for detail in status.details:
        if detail.Unpack(localized):
            texts[localized.locale] = localized.message
        elif detail.Unpack(retry):
            retry_seconds = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        else:
            detail.Unpack(info)
    return DiwanError(
        info.reason or error.code().name,
        dict(info.metadata),
        status.message,
        texts.get("ar", ""),
        error.code(),
        retry_seconds=retry_seconds,
    )


@contextmanager
def as_our_errors() -> Iterator[None]:
    """Turn what grpc raises inside into `DiwanError`.

    grpc.aio raises CancelledError for a call that the server's end cancelled. Unless our own task is being cancelled,
    that is a failed call like any other, and must not end the task that made it.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise error_of(error) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        code = grpc.StatusCode.CANCELLED
        raise DiwanError(code.name, code=code, is_from_server=False) from None


def _rich_status(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    try:
        return rpc_status.from_call(error)
    except ValueError:
        # Somebody between us and the server changed the status: what is left of it is the transport's.
        return None


def error_of_refusal(refusal: table_service_pb2.Refusal) -> DiwanError:
    """Return a refusal inside a stream as the error that a call would have ended with."""
    code = _CODES.get(refusal.code, grpc.StatusCode.UNKNOWN)
    return DiwanError(refusal.reason, refusal.metadata, refusal.message, refusal.message_ar, code)
