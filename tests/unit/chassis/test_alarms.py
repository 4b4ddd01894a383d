"""What an operator must look at is told in two ways."""

import structlog

from diwan.chassis.alarms import ALARMS, raise_alarm


def test_an_alarm_is_a_line_in_the_log_and_a_count():
    before = ALARMS.labels("poison")._value.get()

    with structlog.testing.capture_logs() as lines:
        raise_alarm("poison", "stream 7 was set aside")

    assert lines == [{"event": "alarm", "log_level": "error", "kind": "poison", "message": "stream 7 was set aside"}]
    assert ALARMS.labels("poison")._value.get() == before + 1
