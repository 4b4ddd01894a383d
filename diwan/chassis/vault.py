"""Secrets of hands and draws at rest: each wrapped by its day's key, each day's key by a key that the database never sees."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Self
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from diwan.chassis.database import Connection, Database, assert_settings
from diwan.chassis.keyfile import KeyFile, VaultError, day_of
from diwan.core.fairness import SECRET_BYTES, Secret, secret_commitment
from diwan.core.hashing import hashed, prefixed, uuid_bytes

KEEP_DAYS: Final = 90
"""The dispute window: no day is destroyed before it has passed."""

NONCE_BYTES: Final = 12
CACHED_DAYS_MAX: Final = 8


def new_secret() -> Secret:
    """Return 32 bytes of the operating system's randomness."""
    return Secret(secrets.token_bytes(SECRET_BYTES))


def day_key_aad(day: int) -> bytes:
    """Return what a wrapped day key is bound to."""
    return prefixed("daykey/v1", day)


def hand_key_aad(hand_id: str, epoch: int, day: int, commitment: bytes) -> bytes:
    """Return what a wrapped secret is bound to: moved to another row or day, it does not open."""
    return prefixed("handkey/v1", uuid_bytes(hand_id), epoch, day, commitment)


def fingerprint(secret: bytes) -> bytes:
    """Return what shows that a secret was used before, whatever the hand."""
    return hashed("fingerprint/v1", secret)


def wrap(key: AESGCM, secret: Secret, aad: bytes) -> bytes:
    """Return nonce and ciphertext: 60 bytes."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + key.encrypt(nonce, secret, aad)


def unwrap(key: AESGCM, wrapped: bytes, aad: bytes) -> Secret:
    """Return what was wrapped; raise `VaultError` if key, bytes or binding differ."""
    try:
        return Secret(key.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], aad))
    except InvalidTag:
        raise VaultError("WRAPPED_SECRET_DAMAGED", "a wrapped secret does not open under its key") from None


class DayKeys:
    """One key a day, made when first asked for, wrapped by the key file's key of that day."""

    def __init__(self, database: Database, keyfile: KeyFile) -> None:
        self._database = database
        self._keyfile = keyfile
        self._cached: dict[int, AESGCM] = {}

    async def existing(self, day: int) -> AESGCM:
        """Return the key of a day that has one; raise `VaultError` if it is destroyed or was never made."""
        if (cached := self._cached.get(day)) is not None:
            return cached
        row = await self._database.run(
            lambda connection: connection.fetchrow("select wrapped from vault.day_key where day = $1", day)
        )
        if row is None:
            raise VaultError("NO_DAY_KEY", f"day {day} has no key")
        if row["wrapped"] is None:
            raise VaultError("DAY_DESTROYED", f"the keys of day {day} are destroyed")
        key = AESGCM(unwrap(AESGCM(self._keyfile.wrapping_key(day)), row["wrapped"], day_key_aad(day)))
        while len(self._cached) >= CACHED_DAYS_MAX:
            del self._cached[min(self._cached)]
        self._cached[day] = key
        return key

    async def get(self, day: int) -> AESGCM:
        """Return the key of a day, made now if it has none."""
        if day not in self._cached:
            made = wrap(AESGCM(self._keyfile.wrapping_key(day)), new_secret(), day_key_aad(day))
            # Of several processes at midnight one wins; all then read what stands.
            await self._database.run(
                lambda connection: connection.execute(
                    "insert into vault.day_key (day, wrapped) values ($1, $2) on conflict (day) do nothing", day, made
                )
            )
        return await self.existing(day)

    async def destroy_through(self, day: int) -> None:
        """Destroy the keys of this day and all before it, first outside the database, then in it and in memory."""
        await asyncio.to_thread(self._keyfile.forget_through, day)
        await self._database.run(
            lambda connection: connection.execute(
                "update vault.day_key set wrapped = null, destroyed_at = now() where day <= $1 and wrapped is not null",
                day,
            )
        )
        self._cached = {kept: key for kept, key in self._cached.items() if kept > day}


class Rows(msgspec.Struct, frozen=True):
    """The statements of one table of secrets. ``what`` names in messages what a secret is of."""

    what: str
    insert: str
    standing: str
    one: str
    many: str
    shred: str


def _rows_of(what: str) -> Rows:
    """Return the statements of ``vault.<what>_secret``; ``what`` is a word of this module, never of a request."""
    table, key = f"vault.{what}_secret", f"{what}_id"
    return Rows(
        what=what,
        insert=f"insert into {table} ({key}, day, epoch, commitment, fingerprint, wrapped)"  # noqa: S608
        " values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning true",
        standing=f"select commitment from {table} where {key} = $1",  # noqa: S608
        one=f"select day, epoch, commitment, wrapped from {table} where {key} = $1",  # noqa: S608
        many=f"select {key} as id, day, epoch, commitment, wrapped from {table} where {key} = any($1::uuid[])",  # noqa: S608
        shred=f"update {table} set wrapped = null where day <= $1 and wrapped is not null",  # noqa: S608
    )


OF_HANDS: Final = _rows_of("hand")
OF_DRAWS: Final = _rows_of("draw")


class HandVault:
    """The secrets of hands, or with ``rows`` of something else that has a UUID, such as draws.

    ``database`` is connected as the role of the secrets alone; ``now_ms`` says which day it is.
    """

    def __init__(
        self,
        database: Database,
        keyfile: KeyFile,
        now_ms: Callable[[], int],
        *,
        keep_days: int = KEEP_DAYS,
        rows: Rows = OF_HANDS,
    ) -> None:
        if keep_days < 1:
            raise ValueError("a day is kept at least until it is over")
        self._database = database
        self._keyfile = keyfile
        self._day_keys = DayKeys(database, keyfile)
        self._now_ms = now_ms
        self._keep_days = keep_days
        self._rows = rows

    @classmethod
    async def open(
        cls,
        dsn: str,
        keyfile: KeyFile,
        now_ms: Callable[[], int],
        *,
        keep_days: int = KEEP_DAYS,
        pool_size: int = 2,
        rows: Rows = OF_HANDS,
    ) -> Self:
        """Connect as the role of the secrets; raise `UnsafeSettings` on a server or role that could lose or log secrets."""
        database = await Database.open(dsn, size=pool_size, application="vault")
        try:
            await database.run(lambda connection: assert_settings(connection, is_secret_role=True))
        except BaseException:
            await database.close()
            raise
        return cls(database, keyfile, now_ms, keep_days=keep_days, rows=rows)

    async def close(self) -> None:
        """Disconnect, within a limit."""
        await self._database.close()

    async def put(
        self, hand_id: str, commitment: bytes, secret: Secret, *, epoch: int, bound_to: str | None = None
    ) -> None:
        """Keep a hand's secret before its commitment is logged; repeating the call changes nothing.

        ``bound_to`` is the id that the commitment holds where it is not the hand's: a draw's holds its tournament's.

        Raises `VaultError`: HAND_HAS_SECRET if another secret stands for this hand (a table's former owner chose it;
        `get` returns it), SECRET_REUSED if this one was another hand's.
        """
        if secret_commitment(bound_to or hand_id, secret) != commitment:
            raise VaultError("COMMITMENT_DIFFERS", f"the commitment of hand {hand_id} is not its secret's")
        day = day_of(self._now_ms())
        key = await self._day_keys.get(day)
        wrapped = wrap(key, secret, hand_key_aad(hand_id, epoch, day, commitment))
        row = (UUID(hand_id), day, epoch, commitment, fingerprint(secret), wrapped)
        await self._database.run(lambda connection: _insert(connection, self._rows, hand_id, commitment, row))

    async def get(self, hand_id: str) -> Secret:
        """Return a hand's secret; raise `VaultError`: NO_SECRET, DAY_DESTROYED, WRAPPED_SECRET_DAMAGED."""
        row = await self._database.run(lambda connection: connection.fetchrow(self._rows.one, UUID(hand_id)))
        if row is None:
            raise VaultError("NO_SECRET", f"{self._rows.what} {hand_id} has no secret here")
        if row["wrapped"] is None:
            raise VaultError("DAY_DESTROYED", f"the secret of {self._rows.what} {hand_id} is destroyed")
        key = await self._day_keys.existing(row["day"])
        return unwrap(key, row["wrapped"], hand_key_aad(hand_id, row["epoch"], row["day"], row["commitment"]))

    async def get_many(self, hand_ids: Sequence[str]) -> dict[str, Secret]:
        """Return the secrets of hands, by hand, of those that can be opened; `get` says why another cannot."""
        rows = await self._database.run(
            lambda connection: connection.fetch(self._rows.many, [UUID(hand_id) for hand_id in hand_ids])
        )
        found = {}
        for row in rows:
            hand_id = str(row["id"])
            with suppress(VaultError):
                key = await self._day_keys.existing(row["day"])
                aad = hand_key_aad(hand_id, row["epoch"], row["day"], row["commitment"])
                found[hand_id] = unwrap(key, row["wrapped"] or b"", aad)
        return found

    async def shred(self, day: int) -> int:
        """Destroy all secrets of this day and all before it, for good; return how many were still here.

        After a crash in between, calling again finishes. Raises `VaultError` WITHIN_DISPUTE_WINDOW, LEGAL_HOLD.
        """
        if day > day_of(self._now_ms()) - self._keep_days:
            raise VaultError("WITHIN_DISPUTE_WINDOW", f"a day is kept for {self._keep_days} days, and so is day {day}")
        await self._day_keys.destroy_through(day)
        gone = await self._database.run(lambda connection: connection.execute(self._rows.shred, day))
        return int(gone.rpartition(" ")[2])

    async def shred_expired(self) -> int:
        """Destroy whatever is older than the dispute window and under no legal hold; return how many secrets that were.

        Raises `VaultError` HOLD_UNREADABLE for a hold that cannot be read: then nothing is destroyed.
        """
        last = day_of(self._now_ms()) - self._keep_days
        held = await asyncio.to_thread(self._keyfile.held_since)
        return await self.shred(last if held is None else min(last, held - 1))


async def _insert(connection: Connection, rows: Rows, hand_id: str, commitment: bytes, row: tuple[object, ...]) -> None:
    inserted = await connection.fetchval(rows.insert, *row)
    if inserted:
        return
    standing = await connection.fetchval(rows.standing, row[0])
    if standing is None:
        raise VaultError("SECRET_REUSED", f"the secret of {rows.what} {hand_id} was another's")
    if standing != commitment:
        raise VaultError("HAND_HAS_SECRET", f"{rows.what} {hand_id} has another secret already")
