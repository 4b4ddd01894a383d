"""Messages are counted without a lock, and read under the names that dashboards know."""

import grpc
import pytest
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from diwan.chassis.metrics import MethodMetrics


def test_messages_are_counted_by_method_under_the_known_names():
    metrics = MethodMetrics("bidi_stream", "tests.Service", "Play")
    again = MethodMetrics("bidi_stream", "tests.Service", "Play")
    for _ in range(3):
        metrics.sent.inc()
    again.sent.inc()
    metrics.received.inc()
    labels = {"grpc_type": "bidi_stream", "grpc_service": "tests.Service", "grpc_method": "Play"}
    assert REGISTRY.get_sample_value("grpc_server_msg_sent_total", labels) == 4
    assert REGISTRY.get_sample_value("grpc_server_msg_received_total", labels) == 1


def test_a_call_s_end_is_counted_by_its_code_and_its_time_in_every_bucket_that_holds_it():
    metrics = MethodMetrics("unary", "tests.Service", "Ended")
    for code, seconds in (
        (grpc.StatusCode.OK, 0.0004),
        (grpc.StatusCode.OK, 0.005),
        (grpc.StatusCode.OK, 0.0051),
        (grpc.StatusCode.CANCELLED, 7.0),
    ):
        metrics.ended(code, seconds)
    labels = {"grpc_type": "unary", "grpc_service": "tests.Service", "grpc_method": "Ended"}

    def read(name, **more):
        return REGISTRY.get_sample_value(name, labels | more)

    assert read("grpc_server_handled_total", grpc_code="OK") == 3
    assert read("grpc_server_handled_total", grpc_code="Canceled") == 1
    assert read("grpc_server_handled_total", grpc_code="Internal") == 0
    within = {
        le: read("grpc_server_handling_seconds_bucket", le=le) for le in ("0.001", "0.005", "0.01", "5.0", "+Inf")
    }
    assert within == {"0.001": 1, "0.005": 2, "0.01": 3, "5.0": 3, "+Inf": 4}
    assert read("grpc_server_handling_seconds_count") == 4
    assert read("grpc_server_handling_seconds_sum") == pytest.approx(7.0105)


def test_the_metrics_are_written_as_the_library_writes_its_own():
    MethodMetrics("unary", "tests.Service", "Written").ended(grpc.StatusCode.OK, 0.02)
    told = {family.name: family for family in text_string_to_metric_families(generate_latest().decode())}
    assert told["grpc_server_started"].type == "counter"
    assert told["grpc_server_handled"].type == "counter"
    assert told["grpc_server_handling_seconds"].type == "histogram"
