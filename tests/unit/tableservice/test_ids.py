"""Ids that follow from other ids: the quick ways give what the standard library gives."""

import hmac
import os
import re
import uuid
from pathlib import Path

from diwan.chassis.ids import command_id_of, uuid4_of, uuid5
from diwan.core.fairness import Secret
from services.table.ids import hand_id_of, opening_id_of

PAGE = Path(__file__).parents[3] / "docs/reference/hashing.md"


def test_named_ids_are_those_of_the_standard():
    """RFC 9562, version 5; the vector of docs/reference/hashing.md among them."""
    table = uuid.UUID("c1d2e3f4-0001-4002-8003-a0b0c0d0e0f0")
    assert hand_id_of(table, 7) == "eb89cd7b-f15c-5957-ae75-44fb33b9791b"
    for _ in range(200):
        namespace, name = uuid.uuid4(), os.urandom(8).hex()
        made = uuid5(namespace, name)
        assert (made, made.version, made.variant) == (uuid.uuid5(namespace, name), 5, uuid.RFC_4122)
        assert hash(made) == hash(uuid.uuid5(namespace, name))


def test_random_ids_are_of_version_4_and_use_all_their_chance():
    for _ in range(200):
        chance = os.urandom(16)
        assert uuid4_of(chance) == uuid.UUID(bytes=chance, version=4)


def test_the_id_of_a_look_back_is_that_of_the_page_and_needs_the_hands_secret():
    """docs/reference/hashing.md, 17, made apart: without the secret nobody can try players and hands."""
    v = dict(re.findall(r"^(\w+) +=\s(\S+)$", PAGE.read_text().partition("## 17.")[2], re.MULTILINE))
    hand, player = uuid.UUID(v["hand_id"]).bytes, v["player"].encode()
    apart = b"".join(len(part).to_bytes(4, "big") + part for part in (b"look/v1", hand, player))
    raw = hmac.digest(bytes.fromhex(v["secret"]), apart, "sha256")
    assert raw.hex() == v["raw"]
    made = opening_id_of(Secret(bytes.fromhex(v["secret"])), v["hand_id"], v["player"])
    assert str(made) == v["look_id"] == str(uuid.UUID(bytes=raw[:16], version=4))
    assert made != opening_id_of(Secret(bytes(32)), v["hand_id"], v["player"])


def test_two_callers_equal_request_ids_are_two_requests():
    request_id = str(uuid.uuid4())
    assert command_id_of("ann", request_id) == command_id_of("ann", request_id)
    assert command_id_of("ann", request_id) != command_id_of("ben", request_id)
