"""A small ledger in memory and the wallet on a real PostgreSQL agree, whatever is asked in whatever order (L1-L7)."""

import asyncio
import itertools
from dataclasses import replace as changed

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from diwan.core.ledger.accounts import (
    BOTS,
    HOUSE,
    OPERATOR,
    PURCHASE,
    TOP_UP,
    named_id,
    player_account,
    pool_account,
)
from diwan.core.ledger.books import EMPTY, Transfer, fold
from diwan.core.ledger.policies import Policies, receipt_named
from diwan.core.ledger.requests import (
    ConsentChange,
    FreezeChange,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    LinkedSet,
    Policy,
    Refund,
    Reversal,
)
from diwan.wire.events import decode
from services.wallet import statements
from services.wallet.ledger import Ledger
from services.wallet.loading import SHARD
from tests.integration.wallet.conftest import faults, make
from tests.integration.wallet.model import HOUR, MOMENT, Held, Model, Posted

BELOW = 400
POLICIES = Policies(top_up=Policy(count_a_day=2, below=BELOW), top_up_amount=40, purchase=Policy())
LASTS_MS = {HOUR: 3_600_000, MOMENT: 1}
MOVES = (
    ("entry", "amal", "pool"),
    ("entry", "dina", "pool"),
    ("prize", "pool", "amal"),
    ("gift", "amal", "dina"),
    ("gift", "dina", "amal"),
    ("adjustment", "house", "amal"),
    ("adjustment", "dina", "house"),
    ("issue", "operator", "amal"),
    ("issue", "operator", "house"),
    ("odd", "amal", "operator"),
    ("odd", "dina", "nobody"),
    ("odd", "amal", "amal"),
)
_examples = itertools.count(1)


class World:
    """One database for all examples; each has people, a pool and ids of its own."""

    def __init__(self, prepared) -> None:
        self.prepared = prepared
        self.runner = asyncio.Runner()
        self.books, self.version = EMPTY, 0
        self.connection = self.run(asyncpg.connect(prepared.superuser_url))
        self.start()

    def run(self, coroutine):
        return self.runner.run(coroutine)

    def start(self) -> None:
        async def begin():
            self.ledger = Ledger(self.prepared.connect())
            await self.ledger.prepare()
            self.task = asyncio.create_task(self.ledger.run())

        self.run(begin())

    def stop(self) -> None:
        async def end():
            self.task.cancel()
            await asyncio.wait({self.task})

        self.run(end())

    def ask(self, *requests):
        async def together():
            # What holds a moment is over: a step comes later than the one before.
            await asyncio.sleep(0.003)
            return await asyncio.gather(*(self.ledger.ask(request) for request in requests))

        return [done.outcome for done in self.run(together())]

    def accounts(self, ids):
        rows = self.run(self.connection.fetch(statements.ACCOUNTS_NOW, ids))
        return {row["account_id"]: row for row in rows}

    async def follow(self):
        rows = await self.connection.fetch(
            "select version, type_id, schema_v, body from event where stream_id = $1 and version > $2 order by version",
            SHARD,
            self.version,
        )
        self.books = fold(self.books, [decode(r["type_id"], r["schema_v"], r["body"]).event for r in rows])
        self.version += len(rows)

    def close(self) -> None:
        self.stop()
        self.run(self.connection.close())
        self.runner.close()


def words(outcome) -> list[str]:
    return [verdict.result.value for verdict in outcome.verdicts]


picks = st.integers(0, 10_000)
amounts = st.one_of(*[st.integers(1, 80)] * 9, st.sampled_from([0, -1, 2**53 - 1, 2**53]))
causes = st.sampled_from(["c", "c", "c", "d"])
movements = st.sampled_from([*MOVES, *[move for move in MOVES if move[0] != "odd"] * 3])


class Agreement(RuleBasedStateMachine):
    """Whatever is asked is answered alike by both, and leaves both alike."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    @initialize()
    def begin(self) -> None:
        number = next(_examples)
        self.space = named_id(BOTS.account_id, f"example/{number}")
        self.opened = {
            "amal": player_account(f"amal-{number}"),
            "dina": player_account(f"dina-{number}"),
            "pool": pool_account(f"{number}"),
            "house": HOUSE,
            "operator": OPERATOR,
            "purchase": PURCHASE,
            "top_up": TOP_UP,
            "nobody": player_account(f"nobody-{number}"),
        }
        own = tuple(self.opened[name] for name in ("amal", "dina", "pool"))
        grants = tuple(
            Transfer(
                named_id(self.space, name), OPERATOR.account_id, self.opened[name].account_id, 400, "issue", "begin"
            )
            for name in ("amal", "dina", "pool", "house")
        )
        (begun,) = self.world.ask(LinkedSet(grants, opens=own))
        assert begun.is_done
        self.used: list[str] = []
        self.names = {account.account_id: name for name, account in self.opened.items()}
        there = self.world.accounts(list(self.names))
        balances = {self.names[key]: row["balance"] for key, row in there.items()}
        # The house is one for all examples, and some left a hold on it.
        held = {self.names[key]: row["held"] for key, row in there.items()}
        self.model = Model(frozenset({"operator", "purchase", "top_up"}), frozenset({"amal", "dina"}), balances, held)

    # How the model's words become requests

    def key(self, pick: int) -> str:
        """Return an id: mostly one of its own, now and then one that something else has or was refused."""
        if self.used and pick % 4 == 3:
            return self.used[pick // 4 % len(self.used)]
        self.used.append(named_id(self.space, f"id/{len(self.used)}"))
        return self.used[-1]

    def one_of(self, there: dict[str, object], pick: int) -> str:
        """Return mostly an id out of what there is."""
        if not there or pick % 7 == 3:
            return self.key(pick)
        return list(there)[pick % len(there)]

    def transfer(self, key: str, asked: Posted | Held) -> Transfer:
        debit, credit = self.opened[asked.debit].account_id, self.opened[asked.credit].account_id
        return Transfer(key, debit, credit, asked.amount, asked.code, asked.cause)

    def agree(self, expected: list[list[str]], requests) -> None:
        assert [words(outcome) for outcome in self.world.ask(*requests)] == expected

    # Steps

    @rule(
        asked=st.lists(st.tuples(picks, movements, amounts, causes), min_size=1, max_size=6),
        linked=st.booleans(),
    )
    def move(self, asked, linked) -> None:
        """One linked set, or as many requests at once as there are transfers."""
        self.model.next_step()
        moves = [
            (self.key(number), Posted(debit, credit, amount, code, cause))
            for number, (code, debit, credit), amount, cause in asked
        ]
        sets = [moves] if linked else [[move] for move in moves]
        expected = [self.model.transfers([(key, changed(posted)) for key, posted in each]) for each in sets]
        self.agree(expected, [LinkedSet(tuple(self.transfer(key, posted) for key, posted in each)) for each in sets])

    @rule(
        number=picks,
        move=movements,
        amount=amounts,
        cause=causes,
        lasts=st.sampled_from([HOUR, HOUR, MOMENT]),
    )
    def place(self, number, move, amount, cause, lasts) -> None:
        self.model.next_step()
        code, debit, credit = move
        asked = Held(debit, credit, amount, code, cause, lasts)
        key = self.key(number)
        expected = self.model.place(key, changed(asked))
        self.agree([[expected]], [HoldPlacement(self.transfer(key, asked), LASTS_MS[lasts])])

    @rule(
        asked=st.lists(
            st.tuples(st.sampled_from(["post", "void"]), picks, picks, st.sampled_from([0, 0, 5, 80, -1]), causes),
            min_size=1,
            max_size=4,
        )
    )
    def end(self, asked) -> None:
        """Several at once: whoever comes first ends the hold (L6)."""
        self.model.next_step()
        expected, requests = [], []
        for kind, number, hold, amount, cause in asked:
            key, hold_key = self.key(number), self.one_of(self.model.holds, hold)
            if kind == "post":
                expected.append([self.model.post(key, hold_key, amount, cause)])
                requests.append(HoldPosting(key, hold_key, amount, cause))
            else:
                expected.append([self.model.void(key, hold_key)])
                requests.append(HoldVoiding(key, hold_key, cause))
        self.agree(expected, requests)

    @rule(
        name=st.sampled_from(["amal", "dina"]),
        amount=st.integers(1, 60),
        ends=st.lists(st.sampled_from(["post", "void", "part"]), min_size=1, max_size=3),
    )
    def hold_and_end(self, name, amount, ends) -> None:
        """A whole life of a hold, ended by several at once, each asking twice (L3, L6)."""
        self.model.next_step()
        hold_key, asked = self.key(0), Held(name, "pool", amount, "entry", "c", HOUR)
        expected = self.model.place(hold_key, changed(asked))
        self.agree([[expected]], [HoldPlacement(self.transfer(hold_key, asked), LASTS_MS[HOUR])])
        requests, told = [], []
        for end in [each for each in ends for _ in range(2)]:
            if len(requests) % 2 == 0:
                key = self.key(0)
            if end == "void":
                told.append([self.model.void(key, hold_key)])
                requests.append(HoldVoiding(key, hold_key, "c"))
            else:
                chips = 1 if end == "part" else 0
                told.append([self.model.post(key, hold_key, chips, "c")])
                requests.append(HoldPosting(key, hold_key, chips, "c"))
        self.agree(told, requests)

    @precondition(lambda self: any(not hold.end for hold in self.model.holds.values()))
    @rule(number=picks, hold=picks, amount=st.sampled_from([0, 0, 1, 5, 500]), is_void=st.booleans())
    def end_an_open_one(self, number, hold, amount, is_void) -> None:
        self.model.next_step()
        live = [key for key, each in self.model.holds.items() if not each.end] or list(self.model.holds)
        key, hold_key = self.key(number), live[hold % len(live)]
        if is_void:
            self.agree([[self.model.void(key, hold_key)]], [HoldVoiding(key, hold_key, "c")])
        else:
            self.agree([[self.model.post(key, hold_key, amount, "c")]], [HoldPosting(key, hold_key, amount, "c")])

    @rule(number=picks, old=picks, cause=causes)
    def reverse(self, number, old, cause) -> None:
        self.model.next_step()
        key, old_key = self.key(number), self.one_of(self.model.posted, old)
        self.agree([[self.model.reverse(key, old_key, cause)]], [Reversal(key, old_key, cause)])

    @rule(name=st.sampled_from(["amal", "dina", "pool"]), is_frozen=st.sampled_from([False, False, True]))
    def freeze(self, name, is_frozen) -> None:
        self.model.next_step()
        expected = self.model.freeze(name, is_frozen=is_frozen)
        change = FreezeChange(self.space, self.opened[name].account_id, is_frozen=is_frozen, cause="c")
        self.agree([[expected]], [change])

    @rule(name=st.sampled_from(["amal", "dina"]), is_given=st.booleans())
    def consent(self, name, is_given) -> None:
        self.model.next_step()
        expected = self.model.consent(name, is_given=is_given)
        self.agree(
            [[expected]],
            [ConsentChange(self.space, self.opened[name].account_id, is_given=is_given, cause="c")],
        )

    @rule(number=picks, name=st.sampled_from(["amal", "dina"]), is_automatic=st.booleans())
    def top_up(self, number, name, is_automatic) -> None:
        self.model.next_step()
        key = self.key(number)
        expected = self.model.top_up(key, name, BELOW, 40, 2, is_automatic=is_automatic)
        grant = POLICIES.free_top_up(key, self.opened[name].owner, is_automatic=is_automatic)
        self.agree([[expected]], [grant])

    @rule(receipt=st.integers(0, 2), name=st.sampled_from(["amal", "dina"]), amount=st.integers(1, 60))
    def buy(self, receipt, name, amount) -> None:
        self.model.next_step()
        grant = POLICIES.bought("store", f"{self.space}/{receipt}", self.opened[name].owner, amount)
        expected = self.model.buy(grant.transfer.transfer_id, name, amount)
        self.agree([[expected]], [grant])

    @rule(receipt=st.integers(0, 2))
    def refund(self, receipt) -> None:
        self.model.next_step()
        key = receipt_named("purchase", "store", f"{self.space}/{receipt}")
        expected = self.model.refund(key, named_id(key, "refunded"))
        (outcome,) = self.world.ask(Refund(key, "c"))
        (verdict,) = outcome.verdicts
        assert (verdict.result.value, verdict.amount, outcome.shortfall) == expected

    @rule()
    def restart(self) -> None:
        """What was answered before is answered alike after."""
        self.model.next_step()
        self.world.stop()
        self.world.start()

    @invariant()
    def both_hold_the_same(self) -> None:
        if not hasattr(self, "model"):
            return
        self.model.next_step()
        there = self.world.run(self._later())
        assert {self.names[key]: row["balance"] for key, row in there.items()} == self.model.balances
        assert {self.names[key]: row["held"] for key, row in there.items()} == {
            name: self.model.held(name) for name in self.model.balances
        }
        assert {self.names[key] for key, row in there.items() if row["is_frozen"]} == self.model.frozen
        assert {self.names[key] for key, row in there.items() if row["has_top_up_consent"]} == self.model.consenting

    async def _later(self):
        await asyncio.sleep(0.003)
        rows = await self.world.connection.fetch(statements.ACCOUNTS_NOW, list(self.names))
        return {row["account_id"]: row for row in rows}

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        self.world.run(self._check_events())

    async def _check_events(self) -> None:
        """The events alone tell what the books hold, and the sums are right (L1, L2, L7)."""
        await self.world.follow()
        books = self.world.books
        for row in await self.world.connection.fetch(statements.ACCOUNTS, list(self.names)):
            account = books.accounts[row["account_id"]]
            assert (account.balance, account.version, account.held) == (row["balance"], row["version"], row["held"])
            assert (account.is_frozen, account.has_top_up_consent) == (row["is_frozen"], row["has_top_up_consent"])
        for key, hold in self.model.holds.items():
            stored = await self.world.connection.fetchrow("select * from hold where hold_id = $1::uuid", key)
            assert (stored["resolution"], stored["posted"]) == (books.holds[key].resolution, books.holds[key].posted)
            assert stored["resolution"] in {hold.end, "" if hold.end == "expired" else hold.end}
        assert {key: why.upper() for key, why in self.model.failed.items()} == {
            key: books.refused[key] for key in self.model.failed
        }
        assert await faults(self.world.connection) == []


@pytest.fixture
def world(postgres, template):
    prepared = asyncio.run(make(postgres, "wallet_model", template))
    world = World(prepared)
    yield world
    world.close()
    postgres.drop_database(prepared.name)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stories", [12, pytest.param(500, marks=pytest.mark.soak)])
def test_the_wallet_and_a_second_ledger_agree_on_everything(world, stories):
    """L1-L7: retries, holds and their ends, linked sets, reversals, refunds, freezing, policies, restarts."""
    run_state_machine_as_test(
        lambda: Agreement(world),
        settings=settings(
            max_examples=stories,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
