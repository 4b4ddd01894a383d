"""The secrets of a tournament's draws: the one that it is committed to, and the one that comes after it (F1, F7).

Both lie in the vault before anything in the log commits to them, so that a restart draws with what was committed to. The
log shows a secret when its draw is made, and commits to the next in the same batch.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

from diwan.chassis.keyfile import VaultError
from diwan.chassis.vault import HandVault, new_secret
from diwan.core.fairness import Secret, secret_commitment
from diwan.core.tournament.commands import Chance

_ABSENT: Final = "NO_SECRET"


def draw_id_of(tournament_id: UUID, draw_no: int) -> str:
    """Return the id under which the vault keeps the secret of a draw."""
    return str(uuid5(tournament_id, f"draw/{draw_no}"))


class Draws:
    """One tournament's secrets, in memory while it lives here."""

    def __init__(self, tournament_id: UUID, vault: HandVault) -> None:
        self._tournament_id = tournament_id
        self._vault = vault
        self._secrets: dict[int, Secret] = {}

    async def begin(self) -> bytes:
        """Return the commitment to the first draw of a tournament that is about to be announced."""
        return self._commitment(await self._kept_or_made(1))

    async def chance(self, draw_no: int) -> Chance:
        """Return what deciding needs while the tournament is committed to this draw. Raises `VaultError`."""
        if draw_no not in self._secrets:
            self._secrets[draw_no] = await self._vault.get(draw_id_of(self._tournament_id, draw_no))
        if draw_no + 1 not in self._secrets:
            self._secrets[draw_no + 1] = await self._kept_or_made(draw_no + 1)
        for old in [each for each in self._secrets if each < draw_no]:
            del self._secrets[old]
        return Chance(self._secrets[draw_no], self._commitment(self._secrets[draw_no + 1]))

    async def _kept_or_made(self, draw_no: int) -> Secret:
        """Return the secret that the vault has for a draw; if there is none, one that is made now and kept there."""
        draw_id = draw_id_of(self._tournament_id, draw_no)
        try:
            return await self._vault.get(draw_id)
        except VaultError as error:
            if error.reason != _ABSENT:
                raise
        secret = new_secret()
        try:
            await self._vault.put(draw_id, self._commitment(secret), secret, epoch=0, bound_to=str(self._tournament_id))
        except VaultError as error:
            if error.reason != "HAND_HAS_SECRET":
                raise
            # Another process was quicker: what stands counts.
        return await self._vault.get(draw_id)

    def _commitment(self, secret: Secret) -> bytes:
        return secret_commitment(str(self._tournament_id), secret)
