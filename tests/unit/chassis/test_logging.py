"""Logs are one JSON object a line, and no secret gets into them."""

import io
import json
import logging

import msgspec
import pytest
import structlog
from pydantic import SecretStr

from diwan.chassis.logging import CORRELATION, DROPPED, configure_logging, drop_secrets
from diwan.core.fairness import Secret

SECRET = bytes(range(32))


class Holder(msgspec.Struct):
    hole_cards: tuple[int, ...]


@pytest.fixture
def lines():
    output = io.BytesIO()
    root = logging.getLogger()
    before = root.handlers, root.level
    configure_logging("table", stream=output)
    yield lambda: [json.loads(line) for line in output.getvalue().splitlines()]
    structlog.reset_defaults()
    root.handlers, root.level = before


def test_a_line_is_one_json_object_with_its_context(lines):
    with structlog.contextvars.bound_contextvars(table_id="t1", correlation_id="c1"):
        structlog.get_logger().info("hand_started", hand_no=4)

    (line,) = lines()
    assert line["event"] == "hand_started"
    assert (line["service"], line["level"], line["table_id"], line["correlation_id"], line["hand_no"]) == (
        "table",
        "info",
        "t1",
        "c1",
        4,
    )


def test_every_line_of_a_call_s_work_names_the_call_the_libraries_lines_too(lines):
    token = CORRELATION.set("call-7")
    try:
        structlog.get_logger().info("decided")
        logging.getLogger("asyncio").warning("slow")
        with structlog.contextvars.bound_contextvars(correlation_id="another"):
            structlog.get_logger().info("passed_on")
    finally:
        CORRELATION.reset(token)
    structlog.get_logger().info("at_rest")

    assert [line.get("correlation_id") for line in lines()] == ["call-7", "call-7", "another", None]


def test_what_libraries_log_is_in_the_same_shape(lines):
    logging.getLogger("asyncio").error("Task %s was never retrieved", "x")

    (line,) = lines()
    assert (line["event"], line["logger"], line["service"]) == ("Task x was never retrieved", "asyncio", "table")


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        Secret(SECRET),
        bytearray(SECRET),
        memoryview(SECRET),
        SecretStr("swordfish"),
        [Secret(SECRET)],
        {"deep": {"deeper": SECRET}},
        Holder(hole_cards=(12, 51)),
    ],
)
def test_bytes_secrets_and_records_are_dropped_wherever_they_stand(lines, value):
    """S6."""
    structlog.get_logger().info("event", value=value)

    text = json.dumps([line["value"] for line in lines()])
    assert "swordfish" not in text
    assert "51" not in text
    assert SECRET.hex() not in text
    assert "\\u0001" not in text


def test_private_names_are_dropped_whatever_they_hold():
    cleaned = drop_secrets(None, "info", {"cards": "As Kd", "inner": {"Seed": "abc"}, "hand_no": 3})

    assert cleaned == {"cards": DROPPED, "inner": {"Seed": DROPPED}, "hand_no": 3}


def test_a_traceback_names_the_error_but_no_local_variable(lines):
    def deal(hole_cards):
        raise ValueError(f"the deck is wrong by {len(hole_cards)}")

    cards = ("As", "Kd")
    try:
        deal(" ".join(cards))
    except ValueError:
        structlog.get_logger().exception("failed")

    (line,) = lines()
    assert "the deck is wrong by 5" in line["exception"]
    assert "As Kd" not in json.dumps(line)


def test_a_long_text_is_cut_in_the_middle():
    cleaned = drop_secrets(None, "info", {"event": "a" * 50_000 + "end"})

    assert len(cleaned["event"]) < 9000
    assert cleaned["event"].endswith("end")
