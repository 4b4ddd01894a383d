"""What the audit can be told from outside; variables are ``DIWAN_AUDIT_<FIELD>``."""

from pydantic import Field

from diwan.chassis.settings import Address, ServiceSettings, settings_config


class AuditSettings(ServiceSettings):
    """Settings of the audit service."""

    model_config = settings_config("audit")
    service: str = "audit"

    table_address: Address | None = None
    """Where the table service answers: its feed is read there when the bus is silent."""
    wallet_address: Address | None = None
    """Where the wallet answers, likewise."""
    hands_at_once: int = Field(default=16, ge=1, le=1000)
    """How many ended hands are verified before other work gets its turn."""
