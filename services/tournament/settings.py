"""What the tournament service can be told from outside; variables are ``DIWAN_TOURNAMENT_<FIELD>``."""

from pathlib import Path

from pydantic import Field, SecretStr

from diwan.chassis.settings import Address, ServiceSettings, settings_config


class TournamentSettings(ServiceSettings):
    """Settings of the tournament service."""

    model_config = settings_config("tournament")
    service: str = "tournament"

    table_address: Address | None = None
    """The table service: tables are opened there, and its feed is followed."""
    wallet_address: Address | None = None
    """The wallet: entries, prizes and refunds are asked for there."""
    draw_secret_database_url: SecretStr | None = None
    """As the role of the vault: the only one that reaches the wrapped secrets of draws."""
    master_key_file: Path | None = None
    """The key outside the database that wraps the day keys; made with mode 0600 if there is none."""
    instance: str = Field(default="tournament-0", min_length=1, max_length=100)
    """This process's name as an owner. A process started anew under the same name takes its tournaments back at once."""
    orders_at_once: int = Field(default=64, ge=1, le=1000)
    """Orders to tables that may be under way at once, of all tournaments together; as many again to the wallet."""
    order_alarm_seconds: float = Field(default=60.0, gt=0)
    """An order that is without an answer for so long is an alarm; it is sent on and on all the same."""
