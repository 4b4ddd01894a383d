"""Mucked cards are gone for good when the dispute window is over (S5, DESIGN 6)."""

import asyncio
from typing import Final

import structlog

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.vault import HandVault

LOOK_SECONDS: Final = 3600.0
"""How often a day is looked for that has become too old."""

_log = structlog.get_logger(__name__)


async def keep_shredding(vault: HandVault, *, look_seconds: float = LOOK_SECONDS) -> None:
    """Destroy the keys of days older than the window, and the secrets wrapped under them, for as long as we run.

    Several processes may: a day is destroyed once. What cannot be destroyed now is an alarm, and tried again.
    """
    while True:
        try:
            gone = await vault.shred_expired()
        except Exception as error:
            # A key file that cannot be written, or the database away: tables play on, operations must hear of it.
            raise_alarm("shredding", f"secrets behind the dispute window are still there: {error!r}")
        else:
            if gone:
                _log.info("secrets_destroyed", hands=gone)
        await asyncio.sleep(look_seconds)
