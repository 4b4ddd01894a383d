"""As whom to run PostgreSQL, which refuses to run as root, and from where that user can reach its programs and data."""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from diwan.chassis.embedded.process import EmbeddedError, launch_command

SHELTER: Final = Path("/var/lib/diwan")  # reachable by every user, unlike a checkout below root's home


@cache
def server_identity() -> str:
    """`same` for an ordinary user; for root a user namespace, or where the kernel has none an unprivileged user."""
    if os.geteuid() != 0:
        return "same"
    user = _ordinary_user()
    namespace = f"namespace:{user.pw_uid}:{user.pw_gid}"
    probe = launch_command(["true"], identity=namespace, death_signal=signal.SIGKILL)
    if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
        return namespace
    return f"user:{user.pw_uid}:{user.pw_gid}"


def reachable_home(wanted: Path, identity: str) -> Path:
    """`wanted`, or a folder that stands for it where the user of `identity` could not get at `wanted`; made and owned."""
    home = wanted
    if identity.startswith("user:") and not _can_pass(wanted):
        SHELTER.mkdir(mode=0o755, parents=True, exist_ok=True)
        home = SHELTER / hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    give_to(home, identity)
    return home


def reachable_programs(installed: Path, identity: str, *, libraries: Path) -> Path:
    """The folder of programs, copied once beside its libraries to a place that the user of `identity` can reach."""
    if not identity.startswith("user:") or _can_pass(installed / "bin"):
        return installed
    mark = hashlib.sha256(f"{installed} {installed.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    copied = SHELTER / f"programs-{mark}"
    if not copied.exists():
        draft = SHELTER / f"programs-{mark}.{os.getpid()}"
        shutil.copytree(installed, draft / installed.parent.name / installed.name, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        _open_to_all(draft)
        try:
            draft.rename(copied)
        except OSError:  # somebody else was quicker with the same copy
            shutil.rmtree(draft)
    return copied / installed.parent.name / installed.name


def give_to(path: Path, identity: str) -> None:
    """Make the user of `identity` the owner of `path`, where it is another user than ourselves."""
    if identity.startswith("user:"):
        _, uid, gid = identity.split(":")
        os.chown(path, int(uid), int(gid))


def _ordinary_user() -> pwd.struct_passwd:
    """A user that has a name, because initdb insists on one."""
    users = [user for user in pwd.getpwall() if user.pw_uid != 0]
    if not users:
        raise EmbeddedError("PostgreSQL refuses to run as root, and this machine has no other user")
    return next((user for user in users if user.pw_name == "nobody"), users[0])


def _can_pass(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.parents if folder.exists())


def _open_to_all(folder: Path) -> None:
    for root, _, files in os.walk(folder):
        Path(root).chmod(0o755)
        for name in files:
            file = Path(root) / name
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
