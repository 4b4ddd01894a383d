"""A small ledger to begin with: what the tests of holds, corrections and policies share."""

from collections.abc import Sequence

from diwan.core.ledger.accounts import HOUSE, STANDING, STARTING_GRANT, named_id, player_account, pool_account
from diwan.core.ledger.books import EMPTY, Books, Transfer, fold, sums
from diwan.core.ledger.events import AccountOpened
from diwan.core.ledger.posting import Decision, decide
from diwan.core.ledger.requests import LinkedSet, Outcome, Request, Result

AMAL, DINA = player_account("amal"), player_account("dina")
POOL = pool_account("cup")
DAY = 86_400_000
NOON = 10 * DAY + DAY // 2


def an_id(name: str) -> str:
    return named_id(HOUSE.account_id, name)


def transfer(
    name: str, debit: AccountOpened, credit: AccountOpened, amount: int, code: str = "test", cause: str = "c"
) -> Transfer:
    return Transfer(an_id(name), debit.account_id, credit.account_id, amount, code, cause)


def given(*requests: Request, at_ms: int = NOON) -> Books:
    """Return the books with every standing account, two players with 1,000 chips each, a pool, and then the requests."""
    books = EMPTY
    for request in (
        LinkedSet((), opens=(*STANDING, AMAL, DINA, POOL)),
        LinkedSet(
            (transfer("grant/amal", STARTING_GRANT, AMAL, 1000), transfer("grant/dina", STARTING_GRANT, DINA, 1000))
        ),
        *requests,
    ):
        decision = decide(books, [request], at_ms)
        assert all(outcome.is_done for outcome in decision.outcomes)
        books = books if decision.event is None else fold(books, [decision.event])
    return books


def when(books: Books, *requests: Request, at_ms: int = NOON + 1) -> tuple[Decision, Books]:
    """Decide and fold; whatever happens chips are conserved, and what is left is what the event says (L1, L2)."""
    decision = decide(books, requests, at_ms)
    after = books if decision.event is None else fold(books, [decision.event])
    assert set(sums(after).values()) == {0}
    for account in decision.accounts:
        assert after.accounts[account.account_id] == account
        assert account.kind == "issuance" or account.available >= 0
    for hold in decision.holds:
        assert after.holds[hold.hold_id] == hold
    return decision, after


def results(outcomes: Sequence[Outcome]) -> list[Result]:
    return [verdict.result for outcome in outcomes for verdict in outcome.verdicts]


def available(books: Books, account: AccountOpened) -> int:
    return books.accounts[account.account_id].available


def balance(books: Books, account: AccountOpened) -> int:
    return books.accounts[account.account_id].balance
