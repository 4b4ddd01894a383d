"""Metrics of gRPC servers under the names of go-grpc-middleware, so that existing dashboards work."""

from collections.abc import Iterator
from typing import Final

import grpc
from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

_METHOD: Final = ("grpc_type", "grpc_service", "grpc_method")

STARTED: Final = Counter("grpc_server_started", "Calls started on the server.", _METHOD)
HANDLED: Final = Counter(
    "grpc_server_handled", "Calls completed on the server, whatever came of them.", (*_METHOD, "grpc_code")
)


class Tally:
    """A number that one thread counts up: without the lock that a counter takes ten times for each decision."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def inc(self) -> None:
        """Count one."""
        self.count += 1


class Tallies(Collector):
    """A counter metric of such numbers, read when it is asked for."""

    def __init__(self, name: str, documentation: str) -> None:
        self._name = name
        self._documentation = documentation
        self._tallies: dict[tuple[str, ...], Tally] = {}
        REGISTRY.register(self)

    def labels(self, *labels: str) -> Tally:
        """Return the number of a method."""
        return self._tallies.setdefault(labels, Tally())

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Read all."""
        family = CounterMetricFamily(self._name, self._documentation, labels=_METHOD)
        for labels, tally in list(self._tallies.items()):
            family.add_metric(labels, tally.count)
        yield family


RECEIVED: Final = Tallies("grpc_server_msg_received", "Messages received on the server.")
SENT: Final = Tallies("grpc_server_msg_sent", "Messages sent by the server.")
SECONDS: Final = Histogram(
    "grpc_server_handling_seconds",
    "Time from start to end of a call.",
    _METHOD,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
STREAMS: Final = Gauge("diwan_grpc_streams_open", "Streams open on the server.", ("grpc_service", "grpc_method"))

# The names that Go gives the codes; dashboards match on them. Go writes CANCELLED with one l.
CODE_NAMES: Final = {
    code: "Canceled"
    if code is grpc.StatusCode.CANCELLED
    else "OK"
    if code is grpc.StatusCode.OK
    else "".join(word.capitalize() for word in code.name.split("_"))
    for code in grpc.StatusCode
}


class MethodMetrics:
    """The counters of one method, looked up once: a label lookup a call costs more than the count."""

    def __init__(self, kind: str, service: str, method: str) -> None:
        labels = (kind, service, method)
        self.started = STARTED.labels(*labels)
        self.received = RECEIVED.labels(*labels)
        self.sent = SENT.labels(*labels)
        self._seconds = SECONDS.labels(*labels)
        self.streams = STREAMS.labels(service, method)
        self._handled = {code: HANDLED.labels(*labels, name) for code, name in CODE_NAMES.items()}

    def ended(self, code: grpc.StatusCode, seconds: float) -> None:
        """Count the end of a call."""
        self._handled[code].inc()
        self._seconds.observe(seconds)
