"""Holds and freezes as the audit follows them: silent over whatever an honest ledger does, and not over anything else (L6)."""

import random  # noqa: TID251  (tests may use chance)

import pytest
from msgspec.structs import replace

from diwan.core.ledger.accounts import HOUSE, STANDING, STARTING_GRANT
from diwan.core.ledger.books import EMPTY, fold
from diwan.core.ledger.events import AccountFreezeChanged, HoldPlaced, HoldResolved, LedgerCommitted
from diwan.core.ledger.posting import decide
from diwan.core.ledger.requests import FreezeChange, HoldPlacement, HoldPosting, HoldVoiding, LinkedSet, Reversal
from services.audit.holds import check_holds
from services.audit.money import check_commit
from tests.unit.ledger.ledgers import AMAL, DINA, NOON, POOL, an_id, transfer

MINUTE = 60_000


class Auditor:
    """What the audit knows, in memory."""

    def __init__(self):
        self.accounts, self.holds, self.known = {}, {}, set()

    def take(self, commit):
        found = [kind for kind, _ in check_commit(self.accounts, self.known, commit)]
        return found + [kind for kind, _ in check_holds(self.accounts, self.holds, commit)]


class House:
    """A ledger whose every commit an auditor sees."""

    def __init__(self):
        self.books, self.auditor, self.now_ms, self.found = EMPTY, Auditor(), NOON, []
        self.commit(LinkedSet((), opens=(*STANDING, AMAL, DINA, POOL)))
        grants = (transfer("g1", STARTING_GRANT, AMAL, 1000), transfer("g2", STARTING_GRANT, DINA, 1000))
        self.commit(LinkedSet(grants))

    def commit(self, *requests):
        decision = decide(self.books, requests, self.now_ms)
        if decision.event is not None:
            self.books = fold(self.books, [decision.event])
            self.found += self.auditor.take(decision.event)
        return decision.event


def anything(chance, number, holds):
    """Return any request for which the ledger has rules about what is held or frozen."""
    giver, taker = chance.sample((AMAL, DINA, POOL, HOUSE), 2)
    key, amount = an_id(f"r{number}"), chance.randint(1, 600)
    code = chance.choice(("entry", "adjustment", "gift", "test"))
    hold = chance.choice(holds[-8:]) if holds else an_id("none")
    match chance.randrange(7):
        case 0 | 1:
            lasts_ms = chance.choice((MINUTE, 3 * MINUTE))
            holds.append(key)
            return HoldPlacement(transfer(f"r{number}", giver, taker, amount, code), lasts_ms)
        case 2:
            return HoldPosting(key, hold, chance.choice((0, 5)), "c")
        case 3:
            return HoldVoiding(key, hold, "c")
        case 4:
            player = chance.choice((AMAL, DINA))
            return FreezeChange(key, player.account_id, is_frozen=chance.random() < 0.4, cause="c")
        case 5:
            return Reversal(key, an_id(f"r{chance.randrange(number + 1)}"), "c")
        case _:
            return LinkedSet((transfer(f"r{number}", giver, taker, amount, code),))


@pytest.mark.parametrize("seed", range(12))
def test_over_an_honest_ledger_it_is_silent(seed):
    chance, house, holds, number = random.Random(seed), House(), [], 0
    ended = set()
    for _ in range(150):
        requests = []
        for _ in range(chance.randint(1, 5)):
            requests.append(anything(chance, number, holds))
            number += 1
        event = house.commit(*requests)
        house.now_ms += chance.choice((0, 1, MINUTE))
        ended |= {end.resolution for end in event.resolutions} if event is not None else set()

    assert house.found == []
    assert ended == {"posted", "voided", "expired"}
    for key, account in house.auditor.accounts.items():
        said = house.books.accounts[key]
        assert (account.balance, account.held, account.is_frozen) == (said.balance, said.held, said.is_frozen)


@pytest.fixture
def house():
    """Amal has 1,000 chips, 600 of them held for ten minutes; Dina is frozen."""
    house = House()
    house.commit(HoldPlacement(transfer("hold", AMAL, POOL, 600, "entry"), 10 * MINUTE))
    house.commit(FreezeChange(an_id("freeze"), DINA.account_id, is_frozen=True, cause="c"))
    assert house.found == []
    return house


def posting(amount=600, transfer_id="p", **changes):
    posted = replace(transfer(transfer_id, AMAL, POOL, amount, "entry"), hold_id=an_id("hold")).posted()
    return replace(posted, **changes)


def ending(resolution="posted", amount=600, by="p", hold="hold"):
    return HoldResolved(an_id(hold), resolution, amount, an_id(by), "c")


def commit(*transfers, holds=(), ends=(), freezes=(), at_ms=NOON + 1):
    return LedgerCommitted((), transfers, (), at_ms, holds, ends, freezes)


HONEST = {
    "posted": commit(posting(), ends=(ending(),)),
    "a part": commit(posting(5), ends=(ending(amount=5),)),
    "voided": commit(ends=(ending("voided", 0),)),
    "expired": commit(ends=(ending("expired", 0),), at_ms=NOON + 10 * MINUTE),
    "taken from a frozen account": commit(transfer("t", DINA, HOUSE, 9, "adjustment").posted()),
    "set free beside": commit(
        transfer("t", DINA, HOUSE, 9).posted(),
        freezes=(AccountFreezeChanged(DINA.account_id, is_frozen=False, cause="c"),),
    ),
}
WRONG = {
    "HOLD_AT_ODDS": {
        "a hold of which there is none": commit(ends=(ending("voided", 0, hold="other"),)),
        "posted without its transfer": commit(ends=(ending(),)),
        "posted by another amount": commit(posting(500), ends=(ending(),)),
        "posted by more than is held": commit(posting(700), ends=(ending(amount=700),)),
        "posted to somebody else": commit(posting(credit_account=HOUSE.account_id), ends=(ending(),)),
        "posted by another transfer": commit(posting(), ends=(ending(by="q"),)),
        "a transfer that names a hold which goes on": commit(posting(400)),
        "voided and posted": commit(posting(5), ends=(ending("voided", 0),)),
        "expired too early": commit(ends=(ending("expired", 0),), at_ms=NOON + 9 * MINUTE),
        "posted when it was over": commit(posting(), ends=(ending(),), at_ms=NOON + 10 * MINUTE),
        "placed twice": commit(holds=(HoldPlaced(an_id("hold"), AMAL.account_id, POOL.account_id, 1, "c", "c", 0),)),
        "of an account that is not there": commit(
            holds=(HoldPlaced(an_id("h"), "no", POOL.account_id, 1, "c", "c", 0),)
        ),
        "of nothing": commit(holds=(HoldPlaced(an_id("h"), AMAL.account_id, POOL.account_id, 0, "c", "c", 0),)),
    },
    "HELD_CHIPS_GIVEN": {
        "spent": commit(transfer("t", AMAL, POOL, 401).posted()),
        "held twice": commit(holds=(HoldPlaced(an_id("h"), AMAL.account_id, POOL.account_id, 401, "c", "c", 0),)),
    },
    "ACCOUNT_FROZEN": {
        "given": commit(transfer("t", DINA, POOL, 1, "entry").posted()),
        "gets a gift": commit(transfer("t", AMAL, DINA, 1, "gift").posted()),
        "sets aside": commit(holds=(HoldPlaced(an_id("h"), DINA.account_id, POOL.account_id, 1, "c", "c", 0),)),
    },
    "ACCOUNT_UNKNOWN": {
        "frozen": commit(freezes=(AccountFreezeChanged("nobody", is_frozen=True, cause="c"),)),
    },
}


@pytest.mark.parametrize("name", HONEST)
def test_what_the_rules_allow_is_no_finding(house, name):
    assert house.auditor.take(HONEST[name]) == []


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, each in WRONG.items() for name in each])
def test_what_they_do_not_is_one(house, kind, name):
    assert house.auditor.take(WRONG[kind][name]) == [kind]


def test_a_hold_that_ended_does_not_end_again(house):
    assert house.auditor.take(HONEST["voided"]) == []
    assert house.auditor.take(HONEST["posted"]) == ["HOLD_AT_ODDS"]
