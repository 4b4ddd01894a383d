"""The gRPC server of every service: its limits, its methods behind `calls`, health and reflection."""

import inspect
import ssl
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import grpc
import msgspec
import structlog
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from diwan.chassis.access import Rule, sweep
from diwan.chassis.auth import Authenticator
from diwan.chassis.calls import MESSAGE_BYTES_MAX, Context, Gate, MethodHandler
from diwan.chassis.errors import grpc_status_of
from diwan.chassis.http2.listener import ForAnybody, Limits, Listener, tls_of
from diwan.chassis.settings import ServiceSettings, split_address
from diwan.core.decider import Rejected

_STOP_SECONDS: Final = 0.5
"""For health watchers and reflection, once our own calls have ended."""

_log = structlog.get_logger(__name__)


type Handler = grpc.RpcMethodHandler[Any, Any]


class MethodMissing(Exception):  # noqa: N818  (read as a sentence: the server does not start)
    """A servicer lacks a method of its contract, or has it in the wrong shape."""


class Served(msgspec.Struct, frozen=True):
    """A service of the contract with the object that answers for it.

    The object has one method for each of the contract, of the same name: ``async def Name(request, call)`` returning
    the response where the contract is unary; an async generator of responses, or of their bytes, where it streams
    (``requests`` is then an async iterator where the contract streams upwards too). ``call`` is `calls.Call`.
    """

    descriptor: ServiceDescriptor
    servicer: object


class GrpcServer:
    """A server for some services; raises `AccessRuleMissing` or `MethodMissing` before anything is served."""

    def __init__(self, settings: ServiceSettings, authenticator: Authenticator, served: Sequence[Served]) -> None:
        self._settings = settings
        self._authenticator = authenticator
        self.gate = Gate(calls_max=settings.calls_in_flight_max, streams_per_caller_max=settings.streams_per_caller_max)
        # Up to twice the limit a message is read and then refused with a reason; beyond that its first bytes are enough.
        limits = Limits(message_bytes_max=2 * MESSAGE_BYTES_MAX, calls_max=2 * settings.calls_in_flight_max)
        self._listener = Listener(limits)
        self._names = [each.descriptor.full_name for each in served]
        rules = sweep(each.descriptor for each in served)
        self._listener.add_generic_rpc_handlers([self._methods(each, rules) for each in served])
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, ForAnybody(self._listener))
        if settings.reflection:
            names = (*self._names, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection_pb2_grpc.add_ServerReflectionServicer_to_server(
                reflection.aio.ReflectionServicer(names), ForAnybody(self._listener)
            )
        self._listener.add_generic_rpc_handlers([_UnknownMethods()])

    async def start(self) -> str:
        """Listen and serve; returns ``host:port`` with the port that was really taken."""
        await self._authenticator.refresh()
        host, wanted = split_address(self._settings.listen)
        tls = self._tls()
        try:
            port = await self._listener.start(host, wanted, tls)
        except OSError as error:
            raise OSError(f"cannot listen on {self._settings.listen}: {error.strerror or error}") from None
        for name in ("", *self._names):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def set_not_serving(self) -> None:
        """Tell whoever asks for our health that new work belongs elsewhere; calls are still answered."""
        await self._health.enter_graceful_shutdown()

    async def stop(self, seconds: float) -> None:
        """End streams, refuse what is new, let calls in flight end for so many seconds, then stop."""
        await self.set_not_serving()
        await self.gate.drain(seconds)
        await self._listener.stop(_STOP_SECONDS)

    def _tls(self) -> ssl.SSLContext | None:
        settings = self._settings
        if settings.tls_certificate_file is None or settings.tls_key_file is None:
            return None
        return tls_of(settings.tls_certificate_file, settings.tls_key_file, settings.tls_client_ca_file)

    def _methods(self, served: Served, rules: Mapping[str, Rule]) -> "_Methods":
        return _Methods(self._handler(method, served.servicer, rules) for method in served.descriptor.methods)

    def _handler(self, method: MethodDescriptor, servicer: object, rules: Mapping[str, Rule]) -> MethodHandler:
        name = f"/{method.containing_service.full_name}/{method.name}"
        kind = _kind_of(method)
        return MethodHandler(
            name=name,
            kind=kind,
            rule=rules[name],
            request_class=GetMessageClass(method.input_type),
            method=_implementation(method, servicer, kind),
            authenticator=self._authenticator,
            gate=self.gate,
            logs_all=self._settings.access_log == "all",
        )


class _Methods(grpc.GenericRpcHandler):
    """The methods of a service as grpc asks for them, with nothing but the first bytes of a call in hand."""

    def __init__(self, handlers: Iterable[MethodHandler]) -> None:
        self._methods = {handler.name: (handler, _grpc_handler(handler), _refusing(handler)) for handler in handlers}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        found = self._methods.get(handler_call_details.method)
        if found is None:
            return None
        handler, welcome, unwelcome = found
        return welcome if handler.is_welcome(handler_call_details.invocation_metadata or ()) else unwelcome


def _grpc_handler(handler: MethodHandler) -> Handler:
    # No (de)serializer: bytes come in and go out, see `calls`.
    match handler.kind:
        case "unary":
            return grpc.unary_unary_rpc_method_handler(handler.unary)
        case "server_stream":
            return grpc.unary_stream_rpc_method_handler(handler.server_stream)
        case _:
            return grpc.stream_stream_rpc_method_handler(handler.bidi_stream)


def _refusing(handler: MethodHandler) -> Handler:
    return grpc.stream_stream_rpc_method_handler(handler.unwelcome)


def _kind_of(method: MethodDescriptor) -> str:
    if method.client_streaming and not method.server_streaming:
        raise MethodMissing(f"{method.full_name}: streams that only go up are not served")
    if method.client_streaming:
        return "bidi_stream"
    return "server_stream" if method.server_streaming else "unary"


def _implementation(method: MethodDescriptor, servicer: object, kind: str) -> Any:
    implementation = getattr(servicer, method.name, None)
    # A streaming method may also be a plain function that returns another's async generator.
    is_right = callable(implementation) and inspect.iscoroutinefunction(implementation) == (kind == "unary")
    if not is_right:
        wanted = "a coroutine function" if kind == "unary" else "a function that returns an async generator"
        raise MethodMissing(f"{type(servicer).__name__}.{method.name} must be {wanted}")
    return implementation


class _UnknownMethods(grpc.GenericRpcHandler):
    """Answers what no service of this server knows, so that even that error says its reason."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler:
        return grpc.stream_stream_rpc_method_handler(_unknown_method)


async def _unknown_method(_requests: object, context: Context) -> None:
    await context.abort_with_status(grpc_status_of(Rejected("METHOD_UNKNOWN")))
