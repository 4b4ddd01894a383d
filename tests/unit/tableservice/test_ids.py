"""Ids that follow from other ids: the quick ways give what the standard library gives."""

import os
import uuid

from diwan.chassis.ids import command_id_of, uuid4_of, uuid5
from services.table.ids import hand_id_of


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


def test_two_callers_equal_request_ids_are_two_requests():
    request_id = str(uuid.uuid4())
    assert command_id_of("ann", request_id) == command_id_of("ann", request_id)
    assert command_id_of("ann", request_id) != command_id_of("ben", request_id)
