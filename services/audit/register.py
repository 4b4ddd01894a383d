"""The register of one house, put together from the audit's settings: keys, heads, policy, signer and cosigner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from diwan.chassis.bus import FEEDS
from diwan.chassis.database import Database
from diwan.core.transparency.checkpoint import origin_of
from diwan.core.transparency.note import VerifierKey
from diwan.core.transparency.policy import Log, Policy, k_of_n, parse_policy, policy_text
from diwan.signing.heads import Heads
from diwan.signing.notekey import LogSecret
from services.audit.settings import AuditSettings
from services.audit.signing import Signer
from services.audit.witnesses import Cosigner


class Register:
    """What signs, who signs with it, and whom that says to trust."""

    def __init__(
        self, database: Database, house: str, secrets: Sequence[LogSecret], heads: Heads, policy: Policy | None = None
    ) -> None:
        self.house = house
        self._secrets = secrets
        self._policy = policy or k_of_n([], {}, 0)
        self.cosigner = Cosigner(database, house, secrets, self._policy)
        self.signer = Signer(
            database,
            house,
            secrets,
            heads,
            ask_witnesses=self.cosigner.before_first,
            is_proved_alone=self._policy.is_quorum(()),
        )

    @property
    def background(self) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
        """What runs for as long as the service does."""
        return {"signing": self.signer.run, "witnesses": self._follow}

    async def _follow(self) -> None:
        await self.cosigner.run(self.signer)
        # Without witnesses there is nobody to follow; a background task that ends would end the service.
        await asyncio.Event().wait()

    def policy_text(self, feeds: Iterable[int]) -> str:
        """Return the policy with this house's logs in it, as an auditor's verifier takes it."""
        logs = [Log(key) for feed_id in sorted({*FEEDS.values(), *feeds}) for key in self.keys(feed_id)]
        policy = self._policy
        return policy_text(Policy(tuple(logs), policy.witnesses, policy.groups, policy.quorum))

    def keys(self, feed_id: int) -> list[VerifierKey]:
        """Return the public keys that sign the log of a feed now, the newest first."""
        origin = origin_of(self.house, feed_id)
        return [secret.key(origin).verifier for secret in self._secrets]


def build_register(settings: AuditSettings, database: Database) -> Register:
    """Build the register; raises ValueError, OSError where a file is not what it must be."""
    key_file = settings.register_key_file or settings.data_dir / "keys" / "register.key"
    secrets = [LogSecret.load_or_generate(key_file) if settings.register_key_file is None else LogSecret.load(key_file)]
    if settings.register_old_key_file is not None:
        secrets.append(LogSecret.load(settings.register_old_key_file))
    heads = Heads(settings.register_heads_dir or settings.data_dir / "register" / "heads")
    return Register(database, settings.house_name, secrets, heads, read_policy(settings.register_policy_file))


def read_policy(path: Path | None) -> Policy | None:
    """Return the policy of a file, None where none is named."""
    return None if path is None else parse_policy(path.read_text("utf-8"))
