"""Structured logs: one JSON object a line, correlated by context, with nothing in them that is a secret."""

import logging
import sys
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any, BinaryIO, Final, Literal

import msgspec
import structlog
from pydantic import SecretStr
from structlog.typing import EventDict, Processor, WrappedLogger

DROPPED: Final = "[dropped]"

PRIVATE_KEYS: Final = frozenset(
    {
        "authorization",
        "body",
        "card",
        "cards",
        "deck",
        "deck_key",
        "hole_cards",
        "key",
        "jwt",
        "password",
        "private",
        "reveals",
        "salt",
        "salts",
        "secret",
        "seed",
        "seeds",
        "token",
    }
)
"""Names whose values are never written, whatever they hold."""

CONTEXT_KEYS: Final = ("request_id", "correlation_id", "table_id", "hand_id")
"""What is bound by `structlog.contextvars` where it is known, and so stands on every line of its work."""

CORRELATION: Final[ContextVar[str]] = ContextVar("correlation_id", default="")
"""The id of the call whose work this is. Set for every call, so apart from what structlog binds, which takes longer."""

_TEXT_MAX: Final = 8000
_DEPTH_MAX: Final = 4


def _cleaned(value: object, depth: int = 0) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            # The end of a traceback says most, the beginning of everything else.
            half = _TEXT_MAX // 2
            return value if len(value) <= _TEXT_MAX else f"{value[:half]} ... {value[-half:]}"
        # Secret is bytes, and so are keys, salts, seeds and message bodies: no bytes have a place in a log.
        case bytes() | bytearray() | memoryview() | SecretStr():
            return DROPPED
        case _ if depth >= _DEPTH_MAX:
            return DROPPED
        case Mapping():
            return {str(key): _kept(str(key), inner, depth + 1) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_cleaned(inner, depth + 1) for inner in value]
        case _:
            # A repr shows an object's fields: only objects that are made to be shown as text may speak.
            return str(value) if type(value).__module__ in _SPEAKING_MODULES else f"<{type(value).__name__}>"


_SPEAKING_MODULES: Final = frozenset({"uuid", "pathlib", "pathlib._local", "datetime", "decimal", "enum", "ipaddress"})


def _kept(key: str, value: object, depth: int) -> object:
    return DROPPED if key.lower() in PRIVATE_KEYS else _cleaned(value, depth)


def drop_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> MutableMapping[str, Any]:
    """Drop bytes, secrets, private names and objects that would print their fields (S6)."""
    return {key: _kept(key, value, 0) for key, value in event.items()}


def _correlate(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Name the call whose work a line is about, where nobody has named another."""
    if correlation_id := CORRELATION.get():
        event.setdefault("correlation_id", correlation_id)
    return event


def _dumps(value: object, **_: object) -> str:
    return msgspec.json.encode(value).decode()


def _shared_processors(service: str) -> list[Processor]:
    def name_service(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["service"] = service
        return event

    return [
        name_service,
        structlog.contextvars.merge_contextvars,
        _correlate,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # Tracebacks without local variables: those hold hands and keys.
        structlog.processors.ExceptionRenderer(),
        drop_secrets,
    ]


def configure_logging(
    service: str,
    *,
    log_format: Literal["json", "console"] = "json",
    level: str = "info",
    stream: BinaryIO | None = None,
) -> None:
    """Send every log line of the process, the libraries' too, to ``stream`` (standard output if not given)."""
    number = logging.getLevelNamesMapping()[level.upper()]
    output = stream or sys.stdout.buffer
    renderer: Processor = (
        structlog.processors.JSONRenderer(serializer=_dumps)
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[*_shared_processors(service), renderer, _encoded],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.BytesLoggerFactory(output),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(_TextOver(output))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *_shared_processors(service)],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(number, logging.INFO))
    # nats and grpc report every reconnect attempt; the chassis reports what matters of it.
    logging.getLogger("nats").setLevel(logging.ERROR)


def _encoded(_logger: WrappedLogger, _method: str, line: Any) -> bytes:
    return str(line).encode()


class _TextOver:
    """What a standard handler needs of a text stream, over the bytes that the structured logger writes to."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output

    def write(self, text: str) -> None:
        self._output.write(text.encode())

    def flush(self) -> None:
        self._output.flush()
