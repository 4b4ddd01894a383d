"""What every service can be told from outside: one class a service, read from the environment once, then frozen.

A service derives its own class, names its prefix and adds its fields:

    class TableSettings(ServiceSettings):
        model_config = settings_config("table")
        service: str = "table"
"""

import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_MASK: Final = "***"
_SERVICE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}").fullmatch


def settings_config(service: str) -> SettingsConfigDict:
    """Return the configuration of a service's settings class: variables are ``DIWAN_<SERVICE>_<FIELD>``."""
    return SettingsConfigDict(
        env_prefix=f"DIWAN_{service.upper()}_",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
    )


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of ``host:port`` or ``[v6]:port``; raises ValueError for anything else."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"an address is host:port, not {address!r}")
    return host.strip("[]"), int(port)


def _checked_address(address: str) -> str:
    split_address(address)
    return address


def without_password(url: str) -> str:
    """Return a URL that can be shown: its password is masked, as is anything in its query."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}:{_MASK}@{host}" if colon else f"{user}{at}{host}"
    return urlunsplit(parts._replace(netloc=netloc, query=_MASK if parts.query else ""))


type Address = Annotated[str, AfterValidator(_checked_address)]


class ServiceSettings(BaseSettings):
    """The settings that every service has. Durations are seconds, sizes bytes."""

    model_config = settings_config("service")

    service: str = "service"
    """The service's name: audience of its tokens, prefix of its database roles."""

    listen: Address = "127.0.0.1:0"
    """Where gRPC is served; port 0 takes a free one, which ``ready_file`` then tells."""
    ready_file: Path | None = None
    """Written when the service serves, removed when it ends: JSON with ``address``, ``metrics_port`` and ``pid``."""
    reflection: bool = False
    """Serve gRPC reflection; for development and staging."""
    tls_certificate_file: Path | None = None
    """The server's certificate chain (PEM); with it only TLS is served."""
    tls_key_file: Path | None = None
    tls_client_ca_file: Path | None = None
    """Clients must show a certificate of this authority (mTLS)."""

    database_url: SecretStr | None = None
    """As the role that serves: reads, appends, projects."""
    sequencer_database_url: SecretStr | None = None
    """As the role that gives the feed its numbers; of services that have a feed of their own."""
    migration_database_url: SecretStr | None = None
    """As the owner of the tables; used before serving, by migrations only."""
    database_connections: int = Field(default=8, ge=1, le=200)

    nats_url: str | None = None
    """Without it the service runs on ``FeedService.Read`` alone."""
    nats_user: str | None = None
    nats_password: SecretStr | None = None

    jwks_file: Path | None = None
    """Public keys that tokens are checked with; read again when the file changes."""
    jwks_url: str | None = Field(default=None, pattern=r"^https?://")
    jwks_refresh_seconds: float = Field(default=30.0, gt=0, le=3600)
    """A key that left the set is refused after at most this long."""
    token_issuer: str = "diwan"  # noqa: S105  (a name, no password)
    player_token_seconds_max: int = Field(default=300, ge=1)
    """Tokens of players and bots that live longer are refused; ``diwan up`` sets more."""
    service_key_file: Path | None = None
    """The Ed25519 private key (PEM) that signs this service's own tokens for other services."""

    data_dir: Path = Path(".data")
    log_format: Literal["json", "console"] = "json"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    access_log: Literal["all", "failures"] = "all"
    """A line for every call, or only for those that did not end with OK."""
    metrics_listen: Address | None = "127.0.0.1:0"
    """Where Prometheus reads; only the loopback unless told otherwise."""

    drain_seconds: float = Field(default=10.0, ge=0, le=600)
    """How long calls in flight may take to end once the service is told to stop."""
    calls_in_flight_max: int = Field(default=4096, ge=1)
    streams_per_caller_max: int = Field(default=16, ge=1)
    """Open streams of one player or bot; other roles multiplex many people and have 256 times as many."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        if not _SERVICE_NAME(self.service):
            raise ValueError("a service's name is lower-case letters, digits and _")
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_certificate_file and tls_key_file come together")
        if self.tls_client_ca_file is not None and self.tls_certificate_file is None:
            raise ValueError("tls_client_ca_file needs tls_certificate_file")
        if self.jwks_file is not None and self.jwks_url is not None:
            raise ValueError("jwks_file or jwks_url, not both")
        return self

    def effective(self) -> dict[str, object]:
        """Return every setting as it is in force, fit to be printed: passwords and keys are masked."""
        shown: dict[str, object] = {}
        for name, value in self.model_dump().items():
            match value:
                case SecretStr():
                    raw = value.get_secret_value()
                    shown[name] = without_password(raw) if "://" in raw else _MASK
                case str() if "://" in value:
                    shown[name] = without_password(value)
                case None | bool() | int() | float() | str():
                    shown[name] = value
                case _:
                    shown[name] = str(value)
        return shown


def needed(value: SecretStr | None, name: str) -> str:
    """Return a secret setting's text; raises ValueError naming the setting where it is missing."""
    if value is None:
        raise ValueError(f"the setting {name} is missing")
    return value.get_secret_value()
