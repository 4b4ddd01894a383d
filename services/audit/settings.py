"""What the audit can be told from outside; variables are ``DIWAN_AUDIT_<FIELD>``."""

from pathlib import Path

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
    tournament_address: Address | None = None
    """Where the tournament service answers, likewise."""
    hands_at_once: int = Field(default=16, ge=1, le=1000)
    """How many ended hands are verified before other work gets its turn."""

    house_name: str = Field(default="diwan.local", pattern=r"^[a-z0-9][a-z0-9./-]{0,99}$")
    """The register's logs are ``<house_name>/feed/<feed_id>``; another name is another register, which begins anew."""
    register_key_file: Path | None = None
    """The secret that signs the register (0600); made in the data directory where none is named."""
    register_old_key_file: Path | None = None
    """The secret before, while it still signs beside the new one (docs/operating/register.md)."""
    register_heads_dir: Path | None = None
    """Where it stands what was signed last, apart from every database; in the data directory where none is named."""
    register_policy_file: Path | None = None
    """Witnesses with their URLs, and how many must sign (C2SP tlog-policy). Without it no witness is asked."""
    scrub_seconds: float = Field(default=600.0, ge=1, le=86_400)
    """How long one look at a whole bus copy may take; it is looked at again and again."""
