"""Folders that one stack owns, secrets that stay in them, and free ports."""

import fcntl
import os
import secrets
import socket
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from diwan.chassis.embedded.process import EmbeddedError, wait_until

LOCK_NAME: Final = "lock"
LEAVING_SECONDS: Final = 30.0


class DirectoryInUseError(EmbeddedError):
    """Another running stack owns the folder."""


class DirectoryLock:
    """The right to use a folder. The kernel gives it back when its holders end, however they end.

    A server inherits the lock (`descriptor`), so the folder of a stack that was killed is free only once its servers
    have left too.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_NAME
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Create the folder if need be and own it; raise `DirectoryInUseError` naming the owner's process id.

        Where the owner itself is gone, its servers are waited for.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._path.open("a+", encoding="ascii")
        wait_until(lambda: _lock(file) or _living_owner(file) is not None, LEAVING_SECONDS)
        if not _lock(file):
            owner = _living_owner(file)
            file.close()
            whom = "a server that outlived its stack" if owner is None else f"process {owner}"
            raise DirectoryInUseError(f"{self._path.parent} is in use by {whom}")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    @property
    def descriptor(self) -> int:
        """To be inherited by a server that works in the folder."""
        if self._file is None:
            raise EmbeddedError(f"{self._path.parent} is not ours")
        return self._file.fileno()

    def release(self) -> None:
        if self._file is not None:
            self._file.truncate(0)  # nobody owns it now, though a server may still be leaving
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _lock(file: IO[str]) -> bool:
    """Whether we have the lock; asking again for one that we have changes nothing."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _living_owner(file: IO[str]) -> int | None:
    file.seek(0)
    text = file.read().strip()
    if not text.isdigit():
        return None
    try:
        os.kill(int(text), 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return int(text)
    return int(text)


def kept_secret(path: Path) -> str:
    """The text secret kept in `path`, made there (43 URL-safe characters, mode 0600) the first time it is asked for."""
    if path.exists():
        return path.read_text("ascii").strip()
    secret = secrets.token_urlsafe(32)
    write_private(path, secret + "\n")
    return secret


def write_private(path: Path, text: str) -> None:
    """Write whole or not at all, readable by the owner only, and on disk when this returns."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago: whoever uses it must be ready to try another."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
