"""Whatever is asked of the ledger in whatever order: L1, L2, L3, L5, L7 and the settlement of every hand (L10)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from diwan.core.ledger.accounts import (
    AMOUNT_MAX,
    BOTS,
    MAY_OWE,
    STANDING,
    STARTING_GRANT,
    escrow_account,
    named_id,
    player_account,
)
from diwan.core.ledger.books import EMPTY, Books, Transfer, evolve, fold, sums
from diwan.core.ledger.posting import Decision, decide
from diwan.core.ledger.requests import Confirmation, Float, LinkedSet, Request, Revocation
from diwan.core.ledger.settlement import Payoff, settle

PLAYERS = [player_account(name) for name in ("amal", "dina", "omar")]
ESCROWS = [escrow_account(named_id(BOTS.account_id, str(i))) for i in range(3)]
ACCOUNTS = [*STANDING, *PLAYERS, *ESCROWS]
IDS = [named_id(BOTS.account_id, f"id/{i}") for i in range(12)]

transfers = st.builds(
    Transfer,
    transfer_id=st.sampled_from(IDS),
    debit_account=st.sampled_from(ACCOUNTS).map(lambda a: a.account_id),
    credit_account=st.sampled_from(ACCOUNTS).map(lambda a: a.account_id),
    amount=st.one_of(st.integers(1, 50), st.sampled_from([-1, 0, AMOUNT_MAX, AMOUNT_MAX + 1])),
    code=st.sampled_from(["a", "b"]),
    cause=st.just("c"),
    currency=st.sampled_from(["CHIP", "CHIP", "CHIP", "MATCH"]),
)
opens = st.lists(st.sampled_from(ACCOUNTS), max_size=3).map(tuple)
linked = st.builds(
    LinkedSet,
    transfers=st.lists(transfers, max_size=3).map(tuple),
    opens=opens,
    closes=st.lists(st.sampled_from(ESCROWS).map(lambda a: a.account_id), max_size=1).map(tuple),
    is_opening=st.booleans(),
)
revocations = st.builds(Revocation, st.sampled_from(IDS), st.just("TABLE_CLOSED"), st.just("table"))
confirmations = st.builds(
    Confirmation,
    st.sampled_from(IDS),
    st.sampled_from(PLAYERS).map(lambda a: a.account_id),
    st.sampled_from(ESCROWS).map(lambda a: a.account_id),
    st.integers(1, 50),
)
batches = st.lists(st.lists(st.one_of(linked, linked, linked, revocations, confirmations), max_size=8), max_size=5)


def start() -> Books:
    grants = [
        LinkedSet((Transfer(named_id(p.account_id, "grant"), STARTING_GRANT.account_id, p.account_id, 100, "g", "c"),))
        for p in PLAYERS
    ]
    opening = decide(EMPTY, [LinkedSet((), opens=tuple(ACCOUNTS)), *grants], 0)
    assert opening.event is not None
    return evolve(EMPTY, opening.event)


def applied(books: Books, decision: Decision) -> Books:
    """Return the books after a decision as the shell keeps them: the event folded, closed accounts marked."""
    after = books if decision.event is None else evolve(books, decision.event)
    return Books({**after.accounts, **{a.account_id: a for a in decision.accounts}}, after.transfers, after.refused)


@given(batches, st.sampled_from([None, Float(10, 40)]))
@settings(max_examples=150, deadline=None)
def test_chips_are_conserved_and_nobody_owes_whatever_is_asked(asked: list[list[Request]], bots_float: Float | None):
    """L1, L2, L7: and the accounts that a decision leaves are those that folding its event makes."""
    books = start()
    entries: dict[str, list[tuple[int, int, int, int]]] = {}
    for requests in asked:
        decision = decide(books, requests, 1, bots_float)
        folded = books if decision.event is None else evolve(books, decision.event)
        for account in decision.accounts:
            assert folded.accounts[account.account_id].balance == account.balance
            assert folded.accounts[account.account_id].version == account.version
        for e in decision.entries:
            before = books.accounts.get(e.account_id)
            version, previous = entries.get(
                e.account_id, [(0, 0, 0, 0) if before is None else (before.version, 0, 0, before.balance)]
            )[-1][0::3]
            assert (e.version, e.previous_balance) == (version + 1, previous)
            assert e.balance == e.previous_balance + e.amount
            entries.setdefault(e.account_id, []).append((e.version, e.amount, e.previous_balance, e.balance))
        books = applied(books, decision)
        assert set(sums(books).values()) == {0}
        assert all(a.balance >= 0 for a in books.accounts.values() if a.kind not in MAY_OWE)
        assert not books.transfers.keys() & books.refused.keys()


@given(batches)
@settings(max_examples=100, deadline=None)
def test_asking_everything_again_moves_nothing(asked: list[list[Request]]):
    """L3, L5: what was done is done, what was refused stays refused, in whatever batches it comes again."""
    books = start()
    for requests in asked:
        books = applied(books, decide(books, requests, 1))
    repeated = [r for requests in asked for r in requests if isinstance(r, LinkedSet) and r.transfers]

    decision = decide(books, repeated, 2)

    assert decision.entries == ()
    # What was malformed before is malformed again; only sets that were void openings may open nothing new.
    assert all(v.result.value != "created" for outcome in decision.outcomes for v in outcome.verdicts)


@given(st.lists(linked, max_size=12), st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_how_requests_fall_into_batches_changes_nothing(asked: list[Request], cut: int):
    books = start()
    whole = decide(books, asked, 1)

    first = decide(books, asked[:cut], 1)
    second = decide(applied(books, first), asked[cut:], 1)

    assert (*first.outcomes, *second.outcomes) == whole.outcomes
    assert (*first.entries, *second.entries) == whole.entries


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=8), st.permutations(range(9)))
def test_a_settlement_moves_exactly_the_payoffs(amounts: list[int], seats: list[int]):
    """L10: with the fewest transfers that seat order allows, none of them touching who won and lost nothing."""
    amounts = [*amounts, -sum(amounts)]
    payoffs = [
        Payoff(seat, named_id(BOTS.account_id, f"sitting/{seat}"), amount)
        for seat, amount in zip(seats, amounts, strict=False)
    ]

    paid = settle(named_id(BOTS.account_id, "hand"), payoffs, "cause")

    moved = {escrow_account(payoff.sitting).account_id: 0 for payoff in payoffs}
    for transfer in paid.transfers:
        moved[transfer.debit_account] -= transfer.amount
        moved[transfer.credit_account] += transfer.amount
    assert moved == {escrow_account(payoff.sitting).account_id: payoff.amount for payoff in payoffs}
    assert len({t.transfer_id for t in paid.transfers}) == len(paid.transfers)
    assert len(paid.transfers) <= max(sum(amount != 0 for amount in amounts) - 1, 0)
    assert paid == settle(named_id(BOTS.account_id, "hand"), payoffs[::-1], "cause")


@given(batches)
@settings(max_examples=50, deadline=None)
def test_folding_all_events_at_once_is_folding_them_one_by_one(asked: list[list[Request]]):
    books, events = start(), []
    for requests in asked:
        decision = decide(books, requests, 1)
        if decision.event is not None:
            events.append(decision.event)
            books = evolve(books, decision.event)

    assert fold(start(), events) == books
