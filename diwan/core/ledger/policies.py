"""What the house gives away and to whom, how much and how often: pure functions of the books and the settings."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from diwan.core.ledger.accounts import (
    AD_REWARD,
    AMOUNT_MAX,
    HOUSE,
    NAMESPACE,
    OPERATOR,
    PROMOTION,
    PURCHASE,
    STARTING_GRANT,
    TOP_UP,
    named_id,
    player_account,
)
from diwan.core.ledger.books import DAY_MS, Account, Tally, Transfer
from diwan.core.ledger.events import AccountOpened
from diwan.core.ledger.requests import DailyLimit, Grant, LinkedSet, Policy, Result

ISSUED_AS: Final = {
    "starting_grant": "starting_grant",
    "operator": "issue",
    "promotion": "promotion",
    "purchase": "purchase",
    "ad_reward": "ad_reward",
    "top_up": "free_top_up",
}
"""The code under which each issuance account's chips come into play. The bots' float answers to no daily limit: it is
only what the bots have lost."""

_BY_OPERATORS: Final = (
    (OPERATOR.account_id, "issue"),
    (PROMOTION.account_id, "promotion"),
    (HOUSE.account_id, "adjustment"),
    (HOUSE.account_id, "operator_refund"),
)


class Policies(Struct, frozen=True):
    """The house's rules for what it gives. Amounts are whole chips; 0 stands for no limit where it is one.

    ``issued_a_day`` holds a limit for an issuance account's purpose, ``operators_a_day`` one for what all operators
    together issue, adjust and refund. ``gift_a_day`` is what one player may give to others; 0: no gifts at all.
    """

    starting_grant: int = 10_000
    top_up: Policy = Policy(count_a_day=3, cool_down_ms=4 * 3_600_000, below=1_000)
    top_up_amount: int = 2_000
    ad_reward: Policy = Policy(count_a_day=10, cool_down_ms=60_000)
    ad_reward_amount: int = 500
    purchase: Policy = Policy(count_a_day=50, amount_a_day=100_000_000)
    issued_a_day: dict[str, int] = {}
    operators_a_day: int = 0
    gift_a_day: int = 0

    def opening(self, account: AccountOpened) -> LinkedSet:
        """Return the opening of a player's account with the starting grant."""
        grant = Transfer(
            named_id(account.account_id, "starting_grant"),
            STARTING_GRANT.account_id,
            account.account_id,
            self.starting_grant,
            "starting_grant",
            f"account/{account.account_id}",
        )
        transfers = (grant,) if self.starting_grant else ()
        limits = self._limits("starting_grant") if transfers else ()
        # The grant's id follows from the account: refused for good, the account could never be opened.
        return LinkedSet(transfers, opens=(account,), is_opening=True, limits=limits, is_forgotten=True)

    def free_top_up(self, transfer_id: str, player: str, *, is_automatic: bool) -> Grant:
        """Return the free top-up of a player; nobody asked for an automatic one, so it needs standing consent."""
        cause = "automatic" if is_automatic else "asked"
        account_id = player_account(player).account_id
        transfer = Transfer(transfer_id, TOP_UP.account_id, account_id, self.top_up_amount, "free_top_up", cause)
        policy = Policy(
            self.top_up.count_a_day,
            self.top_up.amount_a_day,
            self.top_up.cool_down_ms,
            self.top_up.below,
            needs_consent=is_automatic,
        )
        return Grant(transfer, policy, self._limits("top_up"), has_set_amount=True)

    def bought(self, provider: str, receipt_id: str, player: str, amount: int) -> Grant:
        """Return the credit of a purchase, named by its receipt."""
        transfer = Transfer(
            receipt_named("purchase", provider, receipt_id),
            PURCHASE.account_id,
            player_account(player).account_id,
            amount,
            "purchase",
            f"purchase/{provider}",
        )
        return Grant(transfer, self.purchase, self._limits("purchase"), is_receipt=True)

    def watched(self, provider: str, receipt_id: str, player: str) -> Grant:
        """Return the reward for an advertisement, named by its receipt."""
        transfer = Transfer(
            receipt_named("ad_reward", provider, receipt_id),
            AD_REWARD.account_id,
            player_account(player).account_id,
            self.ad_reward_amount,
            "ad_reward",
            f"ad_reward/{provider}",
        )
        return Grant(transfer, self.ad_reward, self._limits("ad_reward"), is_receipt=True, has_set_amount=True)

    def issue(self, transfer_id: str, purpose: str, to: AccountOpened, amount: int, cause: str) -> LinkedSet:
        """Return what an operator issues from ``operator`` or ``promotion`` to a player or the house."""
        source = {"operator": OPERATOR, "promotion": PROMOTION}[purpose]
        transfer = Transfer(transfer_id, source.account_id, to.account_id, amount, ISSUED_AS[purpose], cause)
        return LinkedSet((transfer,), limits=(*self._limits(purpose), *self._operators()))

    def moving(self, transfers: tuple[Transfer, ...], opens: tuple[AccountOpened, ...]) -> LinkedSet:
        """Return movements that somebody asked for by their accounts; `moves.may_ask` has let them pass."""
        limits: list[DailyLimit] = []
        if any(transfer.code in {"adjustment", "operator_refund"} for transfer in transfers):
            limits += self._operators()
        givers = sorted({transfer.debit_account for transfer in transfers if transfer.code == "gift"})
        limits += [DailyLimit(((giver, "gift"),), self.gift_a_day, Result.DAILY_LIMIT) for giver in givers]
        return LinkedSet(transfers, opens, limits=tuple(limits))

    def issuable(self, account: Account, issued_today: int) -> int:
        """Return what an issuance account may still issue today: what the limit leaves, or what it can owe at all."""
        limit = self.issued_a_day.get(account.owner, 0)
        room = AMOUNT_MAX + account.balance
        return min(max(limit - issued_today, 0), room) if limit else room

    def _limits(self, purpose: str) -> tuple[DailyLimit, ...]:
        amount = self.issued_a_day.get(purpose, 0)
        if not amount:
            return ()
        account = {
            "starting_grant": STARTING_GRANT,
            "operator": OPERATOR,
            "promotion": PROMOTION,
            "purchase": PURCHASE,
            "ad_reward": AD_REWARD,
            "top_up": TOP_UP,
        }[purpose]
        return (DailyLimit(((account.account_id, ISSUED_AS[purpose]),), amount),)

    def _operators(self) -> tuple[DailyLimit, ...]:
        return (DailyLimit(_BY_OPERATORS, self.operators_a_day),) if self.operators_a_day else ()


def receipt_named(purpose: str, provider: str, receipt_id: str) -> str:
    """Return the transfer id that a provider's receipt stands for; ``provider`` holds no slash.

    So a receipt is used once whoever presents it how often, and the receipt itself is in no event.
    """
    return named_id(NAMESPACE, f"receipt/{purpose}/{provider}/{receipt_id}")


def examine(
    policy: Policy, account: Account, has: int, amount: int, today: Tally, yesterday: Tally, now_ms: int
) -> tuple[Result, int] | None:
    """Return why a player does not get it now, and when waiting would help (0: it does not); None if they do.

    ``has`` is what the player has in all: the account with what is held of it, and the stacks at tables.
    """
    if policy.needs_consent and not account.has_top_up_consent:
        return Result.CONSENT_REQUIRED, 0
    if policy.below and has >= policy.below:
        return Result.TOP_UP_NOT_BELOW, 0
    last_at_ms = max(today.last_at_ms, yesterday.last_at_ms)
    if last_at_ms and now_ms < last_at_ms + policy.cool_down_ms:
        return Result.TOO_SOON, last_at_ms + policy.cool_down_ms
    if policy.count_a_day and today.count >= policy.count_a_day:
        return Result.DAILY_LIMIT, next_day_ms(now_ms)
    if policy.amount_a_day and today.amount + amount > policy.amount_a_day:
        return Result.DAILY_LIMIT, next_day_ms(now_ms)
    return None


def next_day_ms(now_ms: int) -> int:
    """Return when the next UTC day begins."""
    return (now_ms // DAY_MS + 1) * DAY_MS
