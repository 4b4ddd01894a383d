"""Messages are counted without a lock, and read under the names that dashboards know."""

from prometheus_client import REGISTRY

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
