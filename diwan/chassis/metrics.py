"""Metrics of gRPC servers under the names of go-grpc-middleware, so that existing dashboards work.

What every call counts is counted by one thread, without the locks and label look-ups of the client library: those took
nine microseconds of a call that takes forty beside its own work.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import grpc
from prometheus_client import REGISTRY, Gauge
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

_METHOD: Final = ("grpc_type", "grpc_service", "grpc_method")


class Tally:
    """A number that one thread counts up."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def inc(self) -> None:
        """Count one."""
        self.count += 1


class Tallies(Collector):
    """A counter metric of such numbers, read when it is asked for."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = _METHOD) -> None:
        self._name = name
        self._documentation = documentation
        self._labels = labels
        self._tallies: dict[tuple[str, ...], Tally] = {}
        REGISTRY.register(self)

    def labels(self, *labels: str) -> Tally:
        """Return the number of a method."""
        return self._tallies.setdefault(labels, Tally())

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Read all."""
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for labels, tally in list(self._tallies.items()):
            family.add_metric(labels, tally.count)
        yield family


class Spread:
    """How long something took, counted by one thread: so many up to each bound, and all of it in seconds."""

    __slots__ = ("_bounds", "counts", "seconds")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.seconds += seconds


class Spreads(Collector):
    """A histogram metric of such counts, read when it is asked for."""

    def __init__(self, name: str, documentation: str, bounds: Sequence[float]) -> None:
        self._name = name
        self._documentation = documentation
        self._bounds = tuple(bounds)
        self._spreads: dict[tuple[str, ...], Spread] = {}
        REGISTRY.register(self)

    def labels(self, *labels: str) -> Spread:
        """Return the counts of a method."""
        return self._spreads.setdefault(labels, Spread(self._bounds))

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Read all."""
        names = [*map(str, self._bounds), "+Inf"]
        family = HistogramMetricFamily(self._name, self._documentation, labels=_METHOD)
        for labels, spread in list(self._spreads.items()):
            family.add_metric(labels, list(zip(names, accumulate(spread.counts), strict=True)), spread.seconds)
        yield family


STARTED: Final = Tallies("grpc_server_started", "Calls started on the server.")
HANDLED: Final = Tallies(
    "grpc_server_handled", "Calls completed on the server, whatever came of them.", (*_METHOD, "grpc_code")
)
RECEIVED: Final = Tallies("grpc_server_msg_received", "Messages received on the server.")
SENT: Final = Tallies("grpc_server_msg_sent", "Messages sent by the server.")
SECONDS: Final = Spreads(
    "grpc_server_handling_seconds",
    "Time from start to end of a call.",
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
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
        self._ok = HANDLED.labels(*labels, CODE_NAMES[grpc.StatusCode.OK])
        self._handled = {code: HANDLED.labels(*labels, name) for code, name in CODE_NAMES.items()}

    def ended(self, code: grpc.StatusCode, seconds: float) -> None:
        """Count the end of a call."""
        # Looking a code up costs as much as all the counting: most calls end well.
        (self._ok if code is grpc.StatusCode.OK else self._handled[code]).inc()
        self._seconds.observe(seconds)
