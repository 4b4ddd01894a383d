"""What the wallet can be told from outside; variables are ``DIWAN_WALLET_<FIELD>``."""

from typing import Final

from pydantic import Field, field_validator

from diwan.chassis.settings import Address, ServiceSettings, settings_config
from diwan.core.ledger.accounts import AMOUNT_MAX
from diwan.core.ledger.policies import ISSUED_AS, Policies
from diwan.core.ledger.requests import Policy

DAY_SECONDS: Final = 86_400


class WalletSettings(ServiceSettings):
    """Settings of the wallet service. Amounts are whole chips."""

    model_config = settings_config("wallet")
    service: str = "wallet"

    table_address: Address | None = None
    """Where the table service answers: its feed is read there when the bus is silent."""
    starting_grant: int = Field(default=10_000, ge=0, le=AMOUNT_MAX)
    """Chips that come with a player's first account; 0 for none."""
    bots_float_low: int = Field(default=1_000_000, ge=0, le=AMOUNT_MAX)
    """Below it the bots' account gets new chips, by a ledger line of its own."""
    bots_float_amount: int = Field(default=10_000_000, ge=1, le=AMOUNT_MAX)
    """How many chips the bots' account then gets, at least what is asked of it."""
    reconcile_seconds: float = Field(default=10.0, gt=0)
    """How often what is new in the ledger is added up again."""
    reconcile_full_seconds: float = Field(default=6 * 3600.0, gt=0)
    """How often the whole ledger is added up again, from its first event on; also soon after every start."""

    top_up_amount: int = Field(default=2_000, ge=1, le=AMOUNT_MAX)
    """What a free top-up brings."""
    top_up_below: int = Field(default=1_000, ge=1, le=AMOUNT_MAX)
    """Only who holds less than this is topped up."""
    top_up_count_a_day: int = Field(default=3, ge=0)
    """Free top-ups of a player on a UTC day; 0 for no limit."""
    top_up_cool_down_seconds: int = Field(default=4 * 3600, ge=0, le=DAY_SECONDS)
    """How long after a free top-up a player gets no other."""
    ad_reward_amount: int = Field(default=500, ge=1, le=AMOUNT_MAX)
    """What an advertisement brings."""
    ad_reward_count_a_day: int = Field(default=10, ge=0)
    """Rewards for advertisements of a player on a UTC day; 0 for no limit."""
    ad_reward_cool_down_seconds: int = Field(default=60, ge=0, le=DAY_SECONDS)
    """How long after a reward a player gets no other."""
    purchase_count_a_day: int = Field(default=50, ge=0)
    """Purchases credited to a player on a UTC day; 0 for no limit. What is over it waits for the next day."""
    purchase_amount_a_day: int = Field(default=100_000_000, ge=0, le=AMOUNT_MAX)
    """Chips by purchases of a player on a UTC day; 0 for no limit."""
    issued_a_day: dict[str, int] = Field(default_factory=dict)
    """What each issuance account brings into play on a UTC day, such as ``{"ad_reward": 5000000}``; none for no limit."""
    operators_a_day: int = Field(default=0, ge=0, le=AMOUNT_MAX)
    """What all operators together issue, adjust in players' favour and refund on a UTC day; 0 for no limit."""
    gift_a_day: int = Field(default=0, ge=0, le=AMOUNT_MAX)
    """What a player may give to other players on a UTC day; 0: there are no gifts."""

    @field_validator("issued_a_day")
    @classmethod
    def _known_purposes(cls, limits: dict[str, int]) -> dict[str, int]:
        for purpose, limit in limits.items():
            if purpose not in ISSUED_AS:
                raise ValueError(f"{purpose!r} is none of {', '.join(ISSUED_AS)}")
            if not 0 < limit <= AMOUNT_MAX:
                raise ValueError(f"the limit of {purpose} is from 1 to {AMOUNT_MAX}")
        return limits

    def policies(self) -> Policies:
        """Return what the house gives, to whom, how much and how often."""
        return Policies(
            starting_grant=self.starting_grant,
            top_up=Policy(
                count_a_day=self.top_up_count_a_day,
                cool_down_ms=self.top_up_cool_down_seconds * 1000,
                below=self.top_up_below,
            ),
            top_up_amount=self.top_up_amount,
            ad_reward=Policy(
                count_a_day=self.ad_reward_count_a_day, cool_down_ms=self.ad_reward_cool_down_seconds * 1000
            ),
            ad_reward_amount=self.ad_reward_amount,
            purchase=Policy(count_a_day=self.purchase_count_a_day, amount_a_day=self.purchase_amount_a_day),
            issued_a_day=self.issued_a_day,
            operators_a_day=self.operators_a_day,
            gift_a_day=self.gift_a_day,
        )
