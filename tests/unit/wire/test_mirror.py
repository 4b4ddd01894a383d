"""Messages that mirror records of the core: what does not fit is noticed before anything is written."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec import Struct

from diwan.api.event.v1 import tournament_pb2 as pb
from diwan.core.tournament.events import PaymentDue
from diwan.core.tournament.settings import Level
from diwan.wire.mapping import MalformedEvent
from diwan.wire.mirror import mirror_of

LEVEL = Level(small_blind=5, big_blind=10, ante=1, ante_kind="each", duration_ms=60_000)


class Gone(Struct, frozen=True):
    """A field less than its message has."""

    move_no: int
    reason: str


class TextForNumber(Struct, frozen=True):
    """A number in the contract, a text here."""

    move_no: str
    reason: str
    at_ms: int


class ManyForOne(Struct, frozen=True):
    """One in the contract, many here."""

    move_no: tuple[int, ...]
    reason: str
    at_ms: int


class MayBeMissing(Struct, frozen=True):
    """The contract cannot say that it is missing."""

    move_no: int | None
    reason: str
    at_ms: int


class Named(Struct, frozen=True):
    """A text of which only some are known."""

    move_no: int
    reason: Literal["even", "out"]
    at_ms: int


@pytest.mark.parametrize("kind", [Gone, TextForNumber, ManyForOne, MayBeMissing])
def test_a_record_that_differs_from_its_message_stops_the_import(kind):
    with pytest.raises(TypeError):
        mirror_of(kind, pb.MoveCancelled)


def test_a_record_comes_back_as_it_was():
    mirror, message = mirror_of(Level, pb.TournamentLevel), pb.TournamentLevel()
    mirror.write(message, LEVEL)
    assert mirror.read(pb.TournamentLevel.FromString(message.SerializeToString())) == LEVEL


def test_a_text_that_is_no_name_is_malformed():
    mirror = mirror_of(Named, pb.MoveCancelled)
    assert mirror.read(pb.MoveCancelled(reason="out")) == Named(0, "out", 0)
    with pytest.raises(MalformedEvent, match="none of even, out"):
        mirror.read(pb.MoveCancelled(reason="tired"))


def test_a_record_that_must_be_there_is_missed():
    mirror = mirror_of(PaymentDue, pb.PaymentDue)
    with pytest.raises(MalformedEvent, match="payment is missing"):
        mirror.read(pb.PaymentDue(at_ms=1))
