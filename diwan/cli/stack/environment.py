"""What each service of a stack is told: its settings as environment variables."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from diwan.chassis.database import OWNER, database_name, dsn_for
from diwan.cli.stack.layout import Layout

PEERS: Final = {
    "wallet": ("table",),
    "table": ("wallet",),
    "tournament": ("table", "wallet"),
    "bots": ("table",),
    "audit": ("table", "wallet", "tournament"),
}
"""Whose addresses a service is told."""

INHERITED: Final = ("PATH", "LD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""What a program needs to run; some Pythons find their own library by LD_LIBRARY_PATH alone."""

DEVELOPMENT_TOKEN_SECONDS: Final = 30 * 24 * 3600


class Places(msgspec.Struct, frozen=True):
    """Where the parts of a stack are."""

    postgres_url: str  # as the superuser
    nats_url: str  # without credentials
    services: dict[str, str]
    metrics: dict[str, str]


def settings_of(service: str, layout: Layout, places: Places) -> dict[str, str]:
    """Return the settings of one service, by field name."""

    def url(role: str) -> str:
        password = layout.password(f"postgres-{role}")
        return dsn_for(places.postgres_url, role=role, password=password, database=database_name(service))

    settings = {
        "listen": places.services[service],
        "metrics_listen": places.metrics[service],
        "ready_file": str(layout.ready_file(service)),
        "reflection": "true",
        "database_url": url(f"{service}_rw"),
        "sequencer_database_url": url(f"{service}_seq"),
        "migration_database_url": url(OWNER),
        "nats_url": places.nats_url,
        "nats_user": service,
        "nats_password": layout.password(f"nats-{service}"),
        "jwks_file": str(layout.jwks),
        "service_key_file": str(layout.signing_key),
        "data_dir": str(layout.root),
        "player_token_seconds_max": str(DEVELOPMENT_TOKEN_SECONDS),
        "access_log": "failures",
    }
    settings |= {f"{peer}_address": places.services[peer] for peer in PEERS[service]}
    if service == "table":
        settings["hand_secret_database_url"] = url("hand_secret_rw")
        settings["master_key_file"] = str(layout.master_key)
    if service == "audit":
        settings["register_key_file"] = str(layout.register_key)
        settings["register_policy_file"] = str(layout.register_policy)
        if layout.register_old_key.exists():
            settings["register_old_key_file"] = str(layout.register_old_key)
    if service == "tournament":
        settings["draw_secret_database_url"] = url("draw_secret_rw")
        settings["master_key_file"] = str(layout.draw_key)
    return settings


def environment_of(service: str, settings: dict[str, str]) -> dict[str, str]:
    """Return the environment of a service's process: its settings, and of ours only what a program needs to run."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    kept["PYTHONUNBUFFERED"] = "1"
    kept["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path and Path(path).is_dir())
    return kept | {f"DIWAN_{service.upper()}_{name.upper()}": value for name, value in settings.items()}
