"""Become another program that cannot outlive its parent. Run by path as `launch.py PARENT SIGNAL IDENTITY PROGRAM ARG...`.

The request to die with the parent is made here, in a small process of its own and just before the exec, because a
`preexec_fn` is not safe in a parent that has threads (gRPC has many). IDENTITY is `same`, `namespace:UID:GID` (a user
namespace in which our user appears as UID: PostgreSQL refuses to run as root) or `user:UID:GID` (really become that
user). Imports the standard library only, since it is run without site packages.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def take_identity(identity: str) -> None:
    kind, _, ids = identity.partition(":")
    if kind == "same":
        return
    uid, gid = (int(part) for part in ids.split(":"))
    if kind == "namespace":
        outer_uid, outer_gid = os.geteuid(), os.getegid()
        os.unshare(os.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1", encoding="ascii")
    else:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def die_with_parent(parent: int, death_signal: int) -> None:
    """Ask the kernel for the signal; the check afterwards covers a parent that was gone before we asked."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("launch: the parent is gone")


def main(arguments: list[str]) -> None:
    parent, death_signal, identity, *command = arguments
    take_identity(identity)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # a shell's background job starts with some of them ignored
    die_with_parent(int(parent), int(death_signal))
    os.execvp(command[0], command)  # noqa: S606 - there is no shell to want


if __name__ == "__main__":
    main(sys.argv[1:])
