"""What the table service can be told from outside: variables ``DIWAN_TABLE_<FIELD>``."""

from pathlib import Path

from pydantic import Field, SecretStr

from diwan.chassis.settings import Address, ServiceSettings, settings_config


class TableSettings(ServiceSettings):
    """Settings of the table service."""

    model_config = settings_config("table")

    service: str = "table"

    hand_secret_database_url: SecretStr | None = None
    """As the role of the vault: the only one that reaches wrapped hand secrets."""
    master_key_file: Path | None = None
    """The key outside the database that wraps the day keys; made with mode 0600 if there is none."""
    dispute_window_days: int = Field(default=90, ge=1, le=3650)
    """So long hidden cards can be opened; then their day's key is destroyed (docs/operating/shredding.md)."""
    wallet_address: Address | None = None
    """Where the wallet answers; without it nobody can sit down."""
    instance: str = Field(default="table-0", min_length=1, max_length=100)
    """This process's name as an owner. A process started anew under the same name takes its tables back at once."""
    tables_per_player_max: int = Field(default=4, ge=1)
    """CL, table defaults: seats at more tables are refused."""
    tables_per_host_max: int = Field(default=2, ge=1)
    """Private tables that a player may host at once; five times as many may be open that it has opened."""
