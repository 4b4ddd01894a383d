"""How a process keeps what it owns: its name, its leases, what it leaves alone (RELIABILITY 3.3)."""

import asyncio
from types import SimpleNamespace
from uuid import uuid4

import pytest

from diwan.chassis import claims as module
from diwan.chassis.claims import Claims, Quarantine

ONE, OTHER = uuid4(), uuid4()


class Store:
    """Knows which leases are still ours; with ``is_away`` nothing is answered."""

    def __init__(self, *ours):
        self.ours, self.released, self.is_away = set(ours), [], False

    async def renew_leases(self, owner, epochs):
        if self.is_away:
            raise OSError("away")
        return self.ours & epochs.keys()

    async def release_leases(self, owner, epochs):
        if self.is_away:
            raise OSError("away")
        self.released.append((owner, epochs))


def leased_to(owner, *, is_leased=True):
    return SimpleNamespace(owner=owner, is_leased=is_leased)


def test_a_process_knows_its_former_life_and_takes_no_other_for_it():
    before, now = Claims(Store(), "table-1"), Claims(Store(), "table-1")

    assert now.is_of_former_life(leased_to(before.owner))
    assert not now.is_of_former_life(leased_to(before.owner, is_leased=False))
    for owner in (now.owner, Claims(Store(), "table-11").owner, "table-1", "", None):
        assert not now.is_of_former_life(leased_to(owner)), owner


async def test_what_others_own_by_now_is_lost():
    claims = Claims(Store(ONE), "table-1")

    assert await claims.lost({ONE: 3, OTHER: 1}) == {OTHER}
    assert await claims.lost({}) == set()


async def test_a_lease_that_cannot_be_given_back_keeps_nobody_from_ending():
    store = Store(ONE)
    claims = Claims(store, "table-1")

    store.is_away = True
    await claims.release({ONE: 3})
    store.is_away = False
    await claims.release({OTHER: 4})

    assert store.released == [(claims.owner, {OTHER: 4})]


async def test_claims_are_kept_up_whatever_becomes_of_the_database(monkeypatch):
    monkeypatch.setattr(module, "RENEW_SECONDS", 0)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0)
    done, enough = [], asyncio.Event()

    async def renew():
        done.append("renew")
        if len(done) < 3:
            raise OSError("away")

    async def take_over():
        done.append("take over")
        enough.set()

    keeping = asyncio.create_task(Claims(Store(), "table-1").keep(renew, take_over))
    await asyncio.wait_for(enough.wait(), 10)
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping

    assert done[:4] == ["renew", "renew", "renew", "take over"]


async def test_what_is_set_aside_is_left_alone_for_a_while_and_no_longer(monkeypatch):
    quarantine = Quarantine()
    quarantine.add(ONE)
    assert ONE in quarantine
    assert OTHER not in quarantine

    monkeypatch.setattr(module, "QUARANTINE_SECONDS", -1.0)
    quarantine.add(ONE)
    assert ONE not in quarantine
