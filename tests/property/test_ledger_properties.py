"""Whatever is asked of the ledger in whatever order: L1, L2, L3, L5, L7 and the settlement of every hand (L10)."""

from collections import Counter

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
from diwan.core.ledger.policies import Policies, receipt_named
from diwan.core.ledger.posting import Decision, decide
from diwan.core.ledger.requests import (
    Confirmation,
    ConsentChange,
    Float,
    FreezeChange,
    Grant,
    HoldPlacement,
    HoldPosting,
    HoldVoiding,
    LinkedSet,
    Policy,
    Refund,
    Request,
    Reversal,
    Revocation,
)
from diwan.core.ledger.settlement import Line, Payoff, settle, settle_lines

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
placements = st.builds(
    HoldPlacement,
    transfers,
    st.sampled_from([0, 1, 5]),
    opens,
)
postings = st.builds(
    HoldPosting, st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from([0, 0, 1, 20, 60, -1]), st.just("c")
)
voidings = st.builds(HoldVoiding, st.sampled_from(IDS), st.sampled_from(IDS), st.just("c"))
reversals = st.builds(Reversal, st.sampled_from(IDS), st.sampled_from(IDS), st.just("c"))
freezes = st.builds(
    FreezeChange,
    st.sampled_from(IDS),
    st.sampled_from(ACCOUNTS).map(lambda a: a.account_id),
    is_frozen=st.booleans(),
    cause=st.just("c"),
)
consents = st.builds(
    ConsentChange,
    st.sampled_from(IDS),
    st.sampled_from(PLAYERS).map(lambda a: a.account_id),
    is_given=st.booleans(),
    cause=st.just("c"),
)
POLICIES = Policies(
    top_up=Policy(count_a_day=2, cool_down_ms=1, below=90),
    top_up_amount=7,
    ad_reward=Policy(count_a_day=3),
    purchase=Policy(amount_a_day=60),
    issued_a_day={"purchase": 100, "top_up": 20},
)
purchases = st.builds(
    POLICIES.bought,
    st.just("store"),
    st.sampled_from("ab"),
    st.sampled_from(["amal", "dina", "nobody"]),
    st.integers(1, 50),
)
top_ups = st.builds(
    POLICIES.free_top_up, st.sampled_from(IDS), st.sampled_from(["amal", "dina"]), is_automatic=st.booleans()
)
refunds = st.sampled_from("ab").map(lambda r: Refund(receipt_named("purchase", "store", r), "c"))
others = st.one_of(placements, postings, voidings, reversals, freezes, consents, purchases, top_ups, refunds)
batches = st.lists(
    st.lists(st.one_of(linked, linked, revocations, confirmations, others, others), max_size=8), max_size=5
)


def start() -> Books:
    grants = [
        LinkedSet((Transfer(named_id(p.account_id, "grant"), STARTING_GRANT.account_id, p.account_id, 100, "g", "c"),))
        for p in PLAYERS
    ]
    opening = decide(EMPTY, [LinkedSet((), opens=tuple(ACCOUNTS)), *grants], 0)
    assert opening.event is not None
    return evolve(EMPTY, opening.event)


def applied(books: Books, decision: Decision) -> Books:
    """Return the books after a decision: its event folded."""
    return books if decision.event is None else evolve(books, decision.event)


def check_changes(folded: Books, decision: Decision) -> None:
    """What a decision leaves is what folding its event makes."""
    for account in decision.accounts:
        assert folded.accounts[account.account_id] == account
    for hold in decision.holds:
        assert folded.holds[hold.hold_id] == hold


def check_entries(books: Books, decision: Decision) -> None:
    """L7: versions without gap, each entry from where the one before left the account."""
    last: dict[str, tuple[int, int]] = {}
    for e in decision.entries:
        before = books.accounts.get(e.account_id)
        version, previous = last.get(e.account_id, (0, 0) if before is None else (before.version, before.balance))
        assert (e.version, e.previous_balance) == (version + 1, previous)
        assert e.balance == e.previous_balance + e.amount
        last[e.account_id] = (e.version, e.balance)


@given(batches, st.sampled_from([None, Float(10, 40)]))
@settings(max_examples=300, deadline=None)
def test_chips_are_conserved_and_nobody_owes_whatever_is_asked(asked: list[list[Request]], bots_float: Float | None):
    """L1, L2, L6, L7: what is held is never spent, and every hold ends at most once."""
    books, ended = start(), set[str]()
    for now_ms, requests in enumerate(asked, 1):
        decision = decide(books, requests, now_ms, bots_float)
        check_changes(books if decision.event is None else evolve(books, decision.event), decision)
        check_entries(books, decision)
        for resolved in () if decision.event is None else decision.event.resolutions:
            assert resolved.hold_id not in ended
            ended.add(resolved.hold_id)
        if decision.event is not None:
            told = [refusal.transfer_id for refusal in decision.event.refusals]
            assert len(set(told) - books.refused.keys()) == len(told), "an id is refused for good once"
        books = applied(books, decision)
        assert set(sums(books).values()) == {0}
        assert all(a.available >= 0 for a in books.accounts.values() if a.kind not in MAY_OWE)
        held: Counter[str] = Counter()
        for hold in books.holds.values():
            assert not hold.is_due(now_ms)
            held[hold.debit_account] += 0 if hold.resolution else hold.amount
        assert all(a.held == held[a.account_id] for a in books.accounts.values())
        assert not books.transfers.keys() & books.refused.keys()
        assert not books.transfers.keys() & books.holds.keys()
        assert not books.holds.keys() & books.refused.keys()


def is_kept(request: Request) -> bool:
    """Whether the same answer is promised for ever: not where a refusal is forgotten on purpose, nor of states."""
    return not isinstance(request, Revocation | Confirmation | FreezeChange | ConsentChange | Refund) and not (
        isinstance(request, Grant) and request.is_receipt
    )


@given(batches)
@settings(max_examples=100, deadline=None)
def test_asking_everything_again_moves_nothing(asked: list[list[Request]]):
    """L3, L5: what was done is done, what was refused stays refused, in whatever batches it comes again."""
    books = start()
    for requests in asked:
        books = applied(books, decide(books, requests, 1))
    repeated = [r for rs in asked for r in rs if is_kept(r) and not (isinstance(r, LinkedSet) and not r.transfers)]

    decision = decide(books, repeated, 2)

    assert decision.entries == ()
    # What was malformed before is malformed again; only sets that were void openings may open nothing new.
    assert all(v.result.value != "created" for outcome in decision.outcomes for v in outcome.verdicts)


@given(st.lists(st.one_of(linked, others), max_size=12), st.integers(0, 12))
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


@given(st.lists(st.integers(-200, 200), min_size=6, max_size=6))
def test_lines_of_pairs_move_what_each_seat_won_and_lost(chips: list[int]):
    """CS-66, CS-65: seats that cover their losses are paid in any order, none running short on the way."""
    sittings = [named_id(BOTS.account_id, f"sitting/{seat}") for seat in range(4)]
    pairs = [(a, b) for a in range(4) for b in range(a)]
    lines = [Line(a, sittings[a], b, sittings[b], amount) for (a, b), amount in zip(pairs, chips, strict=True)]
    won = [0] * 4
    lost = [0] * 4
    for line in lines:
        won[line.a] += line.chips
        won[line.b] -= line.chips
        lost[line.b if line.chips > 0 else line.a] += abs(line.chips)
    escrows = [escrow_account(sitting) for sitting in sittings]
    funds = [
        Transfer(
            named_id(BOTS.account_id, f"fund/{seat}"), STARTING_GRANT.account_id, escrow.account_id, amount, "f", "c"
        )
        for seat, (escrow, amount) in enumerate(zip(escrows, lost, strict=True))
        if amount
    ]
    books = start()
    books = applied(books, decide(books, [LinkedSet(tuple(funds), opens=tuple(escrows))], 1))

    decision = decide(books, [settle_lines(named_id(BOTS.account_id, "hand"), lines, "c")], 2)

    assert decision.outcomes[0].is_done
    after = applied(books, decision)
    assert [after.accounts[e.account_id].balance for e in escrows] == [a + b for a, b in zip(lost, won, strict=True)]
