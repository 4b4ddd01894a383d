"""The master key outside the database: a file that moves forward day by day and cannot go back.

It holds the key of the oldest living day. Later days follow from it, earlier ones do not, so a backup of the database
without this file tells nothing, and moving the file forward destroys every earlier day in all backups at once.
"""

import datetime as dt
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final, Self

from diwan.core.fairness import SECRET_BYTES, Secret
from diwan.core.fairness.chance import derive_key
from diwan.core.hashing import prefixed

DAYS_AHEAD_MAX: Final = 3660
"""Ten years: a day further ahead than that is a broken clock."""

FILE_BYTES_MAX: Final = 256

_FORMAT: Final = re.compile(r"diwan master key v1\noldest day ([0-9]{1,7})\nmaster ([0-9a-f]{64})\n").fullmatch

_EPOCH: Final = dt.date(1970, 1, 1).toordinal()


class VaultError(Exception):
    """A vault that cannot do what was asked; ``reason`` is UPPER_SNAKE, no message ever holds key or secret."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason


def day_of(milliseconds: int) -> int:
    """Return the day of a time: days since 1970-01-01 in UTC."""
    return milliseconds // 86_400_000


def next_master(master: bytes, day: int) -> Secret:
    """Return the master of the day after ``day``."""
    return Secret(derive_key(master, prefixed("ratchet/v1", day + 1)))


def wrapping_key_of(master: bytes, day: int) -> Secret:
    """Return the key that wraps the day's key."""
    return Secret(derive_key(master, prefixed("daywrap/v1", day)))


class KeyFile:
    """A master key in a file of mode 0600. It is read anew for each question, so that every process sees it move."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open_or_create(cls, path: Path, *, oldest_day: int) -> Self:
        """Return the file, made with a new master if there is none; raise `VaultError` if it is not to be trusted."""
        if not path.exists():
            draft = _write_draft(path, oldest_day, Secret(secrets.token_bytes(SECRET_BYTES)))
            try:
                # A link refuses to replace what another process has made meanwhile.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
            _sync_folder(path)
        keyfile = cls(path)
        keyfile.oldest_day()
        return keyfile

    def oldest_day(self) -> int:
        """Return the oldest day that has not been destroyed."""
        return self._read()[0]

    @property
    def hold_path(self) -> Path:
        """Where a legal hold stands, if there is one: beside the key, with the first day that is held in it."""
        return self.path.with_name(self.path.name + ".hold")

    def held_since(self) -> int | None:
        """Return the first day under a legal hold, None without one; raise `VaultError` for a hold that says no day.

        A hold is read anew for each question, like the key itself: it counts as soon as its file stands.
        """
        try:
            text = self.hold_path.read_text("ascii", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise VaultError("HOLD_UNREADABLE", f"{self.hold_path}: {error.strerror}") from None
        try:
            return dt.date.fromisoformat(text.strip()).toordinal() - _EPOCH
        except ValueError:
            raise VaultError(
                "HOLD_UNREADABLE", f"{self.hold_path} holds no day such as 2026-11-30: nothing is destroyed"
            ) from None

    def wrapping_key(self, day: int) -> Secret:
        """Return the key that wraps the day's key; raise `VaultError` for a destroyed day."""
        return wrapping_key_of(self._master(day), day)

    def forget_through(self, day: int) -> None:
        """Destroy the keys of this day and of all before it; days that are destroyed already stay so.

        Raises `VaultError` LEGAL_HOLD where one of them is held, and destroys none then.
        """
        if day < self.oldest_day():
            return
        held = self.held_since()
        if held is not None and day >= held:
            raise VaultError("LEGAL_HOLD", f"day {held} and all after it are held: day {day} is not destroyed")
        draft = _write_draft(self.path, day + 1, self._master(day + 1))
        try:
            with self.path.open("r+b") as old:
                draft.replace(self.path)
                _sync_folder(self.path)
                # The old file has no name now; what it held goes too, as far as the disk allows.
                old.write(bytes(os.fstat(old.fileno()).st_size))
                old.flush()
                os.fsync(old.fileno())
        finally:
            draft.unlink(missing_ok=True)

    def _master(self, day: int) -> Secret:
        oldest, master = self._read()
        if day < oldest:
            raise VaultError("DAY_DESTROYED", f"the keys of day {day} are destroyed")
        if day - oldest > DAYS_AHEAD_MAX:
            raise VaultError("DAY_OUT_OF_RANGE", f"day {day} is too far ahead of day {oldest}")
        for passed in range(oldest, day):
            master = next_master(master, passed)
        return master

    def _read(self) -> tuple[int, Secret]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise VaultError("KEY_FILE_UNREADABLE", f"{self.path}: {error.strerror}") from None
        try:
            _check_owner_only(self.path, os.fstat(descriptor))
            found = _FORMAT(os.read(descriptor, FILE_BYTES_MAX).decode("latin-1"))
        finally:
            os.close(descriptor)
        if found is None:
            raise VaultError("KEY_FILE_DAMAGED", f"{self.path} is not a master key file")
        return int(found[1]), Secret(bytes.fromhex(found[2]))


def _check_owner_only(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise VaultError("KEY_FILE_UNSAFE", f"{path} is not a regular file")
    if stat.S_IMODE(status.st_mode) & 0o177:
        raise VaultError("KEY_FILE_UNSAFE", f"{path} has mode {stat.S_IMODE(status.st_mode):04o}, 0600 is the widest")
    if status.st_uid != os.geteuid():
        raise VaultError("KEY_FILE_UNSAFE", f"{path} belongs to another user")


def _write_draft(path: Path, oldest_day: int, master: Secret) -> Path:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(f"diwan master key v1\noldest day {oldest_day}\nmaster {master.hex()}\n".encode())
        file.flush()
        os.fsync(descriptor)
    return draft


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
