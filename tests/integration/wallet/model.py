"""A second ledger, small and in memory, written from the rules alone: what the wallet must agree with step by step.

It knows nothing of the wallet's code but names: accounts are names, results are words. Holds last an hour or not at
all: one of the second kind is over by the next step.
"""

from dataclasses import dataclass, field

MOST = 2**53 - 1
HOUR = "an hour"
MOMENT = "a moment"
TAKEN_BY_HOUSE = {"adjustment", "purchase_refunded", "reversal"}
GIVEN_BY_HOUSE = {"ad_reward", "free_top_up", "gift"}
REVERSIBLE = {"entry", "prize", "gift", "adjustment", "issue", "purchase", "free_top_up"}


@dataclass
class Posted:
    debit: str
    credit: str
    amount: int
    code: str
    cause: str
    hold: str = ""
    reverses: str = ""
    reversed_by: str = ""
    shortfall: int = 0


@dataclass
class Held:
    debit: str
    credit: str
    amount: int
    code: str
    cause: str
    lasts: str
    end: str = ""
    ended_by: str = ""


@dataclass
class Model:
    """Balances by name; ids of transfers, holds and refusals in one space."""

    issuers: frozenset[str]
    players: frozenset[str]
    balances: dict[str, int]
    held_by_others: dict[str, int] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)
    consenting: set[str] = field(default_factory=set)
    posted: dict[str, Posted] = field(default_factory=dict)
    holds: dict[str, Held] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    topped_up: dict[str, int] = field(default_factory=dict)

    def next_step(self) -> None:
        for hold in self.holds.values():
            if not hold.end and hold.lasts == MOMENT:
                hold.end = "expired"

    def held(self, name: str) -> int:
        own = sum(h.amount for h in self.holds.values() if h.debit == name and not h.end)
        return own + self.held_by_others.get(name, 0)

    def free(self, name: str) -> int:
        return self.balances[name] - self.held(name)

    # What is said of an id before any account is looked at

    def seen(self, key: str, asked: Posted | Held) -> str | None:
        if not 1 <= asked.amount <= MOST:
            return "amount_invalid"
        if asked.debit == asked.credit:
            return "same_account"
        there = self.posted.get(key) or self.holds.get(key)
        if there is None:
            return "id_already_failed" if key in self.failed else None
        if type(there) is not type(asked):
            return "exists_with_different_kind"
        fields = ["debit", "credit", "amount", "code", "cause"]
        names = {"debit": "debit_account", "credit": "credit_account", "lasts": "expiry"}
        fields = ["reverses", "hold", *fields] if isinstance(there, Posted) else [*fields, "lasts"]
        for each in fields:
            if getattr(there, each) != getattr(asked, each):
                return f"exists_with_different_{names.get(each, each)}"
        return "exists"

    def unfit(self, asked: Posted | Held) -> str | None:
        if asked.debit not in self.balances or asked.credit not in self.balances:
            return "account_not_found"
        if asked.debit in self.frozen and asked.code not in TAKEN_BY_HOUSE:
            return "account_frozen"
        if asked.credit in self.frozen and asked.code in GIVEN_BY_HOUSE:
            return "account_frozen"
        return None

    def obstacle(self, asked: Posted) -> str | None:
        unfit = self.unfit(asked)
        if unfit:
            return unfit
        if asked.debit not in self.issuers and self.free(asked.debit) < asked.amount:
            return "exceeds_balance"
        after = self.balances[asked.credit] + asked.amount
        if after > (0 if asked.credit in self.issuers else MOST):
            return "overflows_balance"
        if self.balances[asked.debit] - asked.amount < -MOST:
            return "overflows_balance"
        return None

    def do(self, key: str, asked: Posted) -> None:
        self.balances[asked.debit] -= asked.amount
        self.balances[asked.credit] += asked.amount
        self.posted[key] = asked

    def fail(self, key: str, why: str) -> str:
        self.failed.setdefault(key, why)
        return why

    # Requests

    def transfers(self, asked: list[tuple[str, Posted]]) -> list[str]:
        seen = [self.seen(key, each) for key, each in asked]
        if any(seen):
            return [each or "linked_failed" for each in seen]
        before = dict(self.balances)
        why, done = None, []
        for key, each in asked:
            why = "linked_failed" if key in self.posted else self.obstacle(each)
            if why:
                break
            self.do(key, each)
            done.append(key)
        if why is None:
            return ["created"] * len(asked)
        self.balances = before
        for key in done:
            del self.posted[key]
        told = [why if place == len(done) else "linked_failed" for place in range(len(asked))]
        for (key, _), each in zip(asked, told, strict=True):
            self.fail(key, each)
        return told

    def place(self, key: str, asked: Held) -> str:
        seen = self.seen(key, asked)
        if seen:
            return seen
        why = self.unfit(asked)
        if why is None and (asked.debit in self.issuers or self.free(asked.debit) < asked.amount):
            why = "exceeds_balance"
        if why:
            return self.fail(key, why)
        self.holds[key] = asked
        return "created"

    def post(self, key: str, hold_key: str, amount: int, cause: str) -> str:
        if not 0 <= amount <= MOST:
            return "amount_invalid"
        hold, there = self.holds.get(hold_key), self.posted.get(key)
        if there is not None:
            if there.hold != hold_key:
                return "exists_with_different_hold"
            if there.amount != (amount or hold.amount):
                return "exists_with_different_amount"
            return "exists" if there.cause == cause else "exists_with_different_cause"
        if key in self.holds:
            return "exists_with_different_kind"
        if key in self.failed:
            return "id_already_failed"
        if hold is None:
            return self.fail(key, "hold_not_found")
        if hold.end:
            return self.fail(key, f"hold_already_{hold.end}")
        if amount > hold.amount:
            return self.fail(key, "exceeds_hold")
        chips = amount or hold.amount
        if self.balances[hold.credit] + chips > (0 if hold.credit in self.issuers else MOST):
            return self.fail(key, "overflows_balance")
        hold.end, hold.ended_by = "posted", key
        self.do(key, Posted(hold.debit, hold.credit, chips, hold.code, cause, hold=hold_key))
        return "created"

    def void(self, key: str, hold_key: str) -> str:
        hold = self.holds.get(hold_key)
        if hold is not None and hold.end == "voided" and hold.ended_by == key:
            return "exists"
        if key in self.posted or key in self.holds:
            return "exists_with_different_kind"
        if key in self.failed:
            return "id_already_failed"
        if hold is None:
            return self.fail(key, "hold_not_found")
        if hold.end:
            return self.fail(key, f"hold_already_{hold.end}")
        hold.end, hold.ended_by = "voided", key
        return "created"

    def reverse(self, key: str, old_key: str, cause: str) -> str:
        there, old = self.posted.get(key), self.posted.get(old_key)
        if there is not None and there.reverses != old_key:
            return "exists_with_different_reverses"
        if key in self.holds:
            return "exists_with_different_kind"
        if there is not None:
            return "exists" if there.cause == cause else "exists_with_different_cause"
        if key in self.failed:
            return "id_already_failed"
        if old is None:
            return self.fail(key, "transfer_not_found")
        if old.reversed_by or old.shortfall:
            return self.fail(key, "already_reversed")
        if old.reverses or old.code not in REVERSIBLE:
            return self.fail(key, "not_reversible")
        back = Posted(old.credit, old.debit, old.amount, "reversal", cause, reverses=old_key)
        why = self.obstacle(back)
        if why:
            return self.fail(key, why)
        self.do(key, back)
        old.reversed_by = key
        return "created"

    def freeze(self, name: str, *, is_frozen: bool) -> str:
        if name not in self.players:
            return "account_not_found"
        (self.frozen.add if is_frozen else self.frozen.discard)(name)
        return "created"

    def consent(self, name: str, *, is_given: bool) -> str:
        if (name in self.consenting) == is_given:
            return "exists"
        (self.consenting.add if is_given else self.consenting.discard)(name)
        return "created"

    def top_up(self, key: str, name: str, below: int, amount: int, a_day: int, *, is_automatic: bool) -> str:
        cause = "automatic" if is_automatic else "asked"
        there = self.posted.get(key)
        asked = Posted("top_up", name, amount if there is None else there.amount, "free_top_up", cause)
        seen = self.seen(key, asked)
        if seen:
            return seen
        if is_automatic and name not in self.consenting:
            return self.fail(key, "consent_required")
        if self.balances[name] >= below:
            return self.fail(key, "top_up_not_below")
        if self.topped_up.get(name, 0) >= a_day:
            return self.fail(key, "daily_limit")
        why = self.obstacle(asked)
        if why:
            return self.fail(key, why)
        self.do(key, asked)
        self.topped_up[name] = self.topped_up.get(name, 0) + 1
        return "created"

    def buy(self, key: str, name: str, amount: int) -> str:
        asked = Posted("purchase", name, amount, "purchase", "purchase/store")
        seen = self.seen(key, asked)
        if seen:
            return seen
        why = self.obstacle(asked)
        if why:
            return why  # A receipt is not used up by it.
        self.do(key, asked)
        return "created"

    def refund(self, key: str, refund_key: str) -> tuple[str, int, int]:
        bought = self.posted.get(key)
        if bought is None:
            is_new = key not in self.failed
            self.fail(key, "purchase_refunded")
            return ("created" if is_new else "exists"), 0, 0
        there = self.posted.get(refund_key)
        if there is not None or bought.shortfall:
            return "exists", there.amount if there else 0, bought.shortfall
        if bought.reversed_by:
            return "already_reversed", 0, 0
        chips = min(bought.amount, self.free(bought.credit))
        if chips:
            self.do(refund_key, Posted(bought.credit, "purchase", chips, "purchase_refunded", "c", reverses=key))
            bought.reversed_by = refund_key
        bought.shortfall = bought.amount - chips
        if bought.shortfall:
            self.frozen.add(bought.credit)
        return "created", chips, bought.shortfall
