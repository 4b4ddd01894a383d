"""Where a stack keeps what: one data directory, everything in it readable by its owner alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import msgspec

from diwan.chassis.embedded.files import kept_secret, write_private

SERVICES: Final = ("wallet", "table", "tournament", "bots", "audit")
"""In the order in which they are started."""


class Layout:
    """The files and folders of one stack's data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.root = data_dir.resolve()

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def signing_key(self) -> Path:
        """Signs every token of this stack."""
        return self.root / "keys" / "tokens.pem"

    @property
    def jwks(self) -> Path:
        """The public half of `signing_key`."""
        return self.root / "keys" / "jwks.json"

    @property
    def master_key(self) -> Path:
        """Wraps the day keys that wrap the secrets of hands; outside every database."""
        return self.root / "keys" / "hands.key"

    @property
    def register_key(self) -> Path:
        """The secret that signs the register."""
        return self.root / "keys" / "register.key"

    @property
    def register_old_key(self) -> Path:
        """The secret before, while both sign; somebody puts it there to rotate, and takes it away again."""
        return self.root / "keys" / "register.old.key"

    @property
    def register_policy(self) -> Path:
        """Whom to trust of the register: logs, witnesses and their quorum (C2SP tlog-policy)."""
        return self.root / "register" / "policy"

    @property
    def witness(self) -> Path:
        """The folder of the witness that runs beside the services."""
        return self.root / "witness"

    @property
    def nats_admin_password(self) -> Path:
        """Of the stack's own NATS: its user who may do everything."""
        return self.root / "nats" / "admin.password"

    @property
    def draw_key(self) -> Path:
        """Wraps the day keys that wrap the secrets of tournaments' draws."""
        return self.root / "keys" / "draws.key"

    @property
    def addresses(self) -> Path:
        """Tells other programs where a running stack is."""
        return self.root / "stack.json"

    def ready_file(self, service: str) -> Path:
        """Written by a service once it serves."""
        return self.root / "run" / f"{service}.json"

    def password(self, name: str) -> str:
        """A password that was made the first time it was asked for."""
        return kept_secret(self.root / "secrets" / name)

    def prepare(self) -> None:
        """Create the folders, for the owner alone."""
        for name in ("", "logs", "keys", "run", "secrets", "register"):
            (self.root / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def write_addresses(self, addresses: Addresses) -> None:
        """Tell other programs where the stack is."""
        write_private(self.addresses, json.dumps(msgspec.to_builtins(addresses), indent=2) + "\n")

    def read_addresses(self) -> Addresses | None:
        """Return where the stack is, or None where none was left running here."""
        try:
            return msgspec.json.decode(self.addresses.read_bytes(), type=Addresses)
        except FileNotFoundError:
            return None


class Addresses(msgspec.Struct, frozen=True):
    """Where a running stack is: gRPC and metrics of each service, its own NATS, and the process that keeps it up."""

    pid: int
    services: dict[str, str]
    metrics: dict[str, str]
    nats: str = ""
