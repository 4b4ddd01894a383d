"""What the wallet can be told from outside; variables are ``DIWAN_WALLET_<FIELD>``."""

from pydantic import Field

from diwan.chassis.settings import Address, ServiceSettings, settings_config
from diwan.core.ledger.accounts import AMOUNT_MAX


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
