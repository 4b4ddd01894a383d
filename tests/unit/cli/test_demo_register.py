"""The demo's check of the register names what does not hold (P8)."""

from __future__ import annotations

from hashlib import sha256

import pytest

from diwan.cli.demo.registered import Registered, check_register
from diwan.core.transparency.note import KeyType, Note
from diwan.core.transparency.policy import k_of_n, policy_text
from diwan.signing.notekey import NoteKey
from tests.unit.witness.logs import KEY, Log

WITNESS = NoteKey("house.test/witness", KeyType.COSIGNATURE_V1, bytes(32))
POLICY = policy_text(k_of_n([KEY.verifier], {"witness": WITNESS.verifier}, 1))
LOG = Log(20)


def registered(size: int = 20, *, leaves=None, cosigned: bool = True) -> Registered:
    text = LOG.head(size).text
    signatures = (KEY.sign(text), *([WITNESS.cosign(1, text)] if cosigned else []))
    return Registered("table", Note(text, signatures).raw, tuple(leaves or LOG.leaves))


def test_a_register_with_every_event_under_a_witness_s_signature_holds():
    result = check_register(POLICY, [registered()])
    assert (result.holds, result.detail) == (True, "20 events in 1 logs")


@pytest.mark.parametrize(("spoiled", "told"), [
    (registered(cosigned=False), "QUORUM_MISSING"),
    (registered(19), "is not over the 20 events"),
    (registered(leaves=[sha256(b"another").digest(), *LOG.leaves[1:]]), "is not over the 20 events"),
    (registered(leaves=LOG.leaves[:-1]), "is not over the 19 events"),
    (Registered("table", b"no note", tuple(LOG.leaves)), "empty line"),
])  # fmt: skip
def test_what_does_not_hold_is_told_with_its_feed(spoiled, told):
    result = check_register(POLICY, [spoiled])
    assert not result.holds
    assert told in result.detail
    assert result.at_fault == "feed table"


def test_nothing_registered_holds_nothing():
    assert not check_register(POLICY, []).holds
