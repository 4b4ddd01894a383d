"""``diwan doctor``: what is wrong with this machine, or with a running stack."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from diwan.chassis.embedded.identity import server_identity
from diwan.chassis.embedded.process import EmbeddedError
from diwan.chassis.keyfile import KeyFile, VaultError, day_of
from diwan.chassis.migrate import MigrationFailed, dbmate_path
from diwan.chassis.vault import KEEP_DAYS
from diwan.cli.running import DEFAULT_DATA, DataOption, program
from diwan.cli.stack.health import ANSWER_SECONDS, service_is_serving
from diwan.cli.stack.layout import Addresses, Layout
from diwan.core.transparency.note import NoteMalformed
from diwan.witness.folder import Folder, WitnessError

FREE_BYTES_MIN: Final = 1024**3
OPEN_FILES_MIN: Final = 1024
YEAR_OF_THIS_SOFTWARE: Final = 2026
_HELD: Final = re.compile(r'^diwan_register_held\{origin="([^"]+)"\} 1(?:\.0)?$', re.MULTILINE).findall


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at: how it is, and what to do where it is wrong."""

    what: str
    is_well: bool
    detail: str
    mend: str = ""


def doctor(
    data: DataOption = DEFAULT_DATA,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per finding.")] = False,
) -> None:
    """Look at this machine, and at the stack that runs in the data directory if one does. Exits 1 if anything is wrong."""
    findings = [*machine_findings(data), *stack_findings(Layout(data))]
    for finding in findings:
        if as_json:
            print(json.dumps(msgspec.to_builtins(finding)))
        else:
            mark = "ok   " if finding.is_well else "WRONG"
            print(f"{mark} {finding.what}: {finding.detail}")
            if not finding.is_well and finding.mend:
                print(f"      {finding.mend}")
    if not all(finding.is_well for finding in findings):
        raise typer.Exit(1)


def machine_findings(data: Path) -> Iterator[Finding]:
    """Look at what a stack needs of the machine."""
    yield _python()
    yield _programs()
    yield _identity()
    yield _open_files()
    yield _loopback()
    yield _disk(data)
    yield _clock()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= (3, 12), f"{version} at {sys.executable}", "use Python 3.12 or newer")


def _programs() -> Finding:
    missing = []
    probes: dict[str, Callable[[], Path]] = {"dbmate": dbmate_path}
    for name, probe in probes.items():
        try:
            subprocess.run([probe(), "--version"], check=True, capture_output=True, timeout=10)
        except (MigrationFailed, OSError, subprocess.SubprocessError) as error:
            missing.append(f"{name} ({error})")
    return Finding(
        "programs", not missing, ", ".join(missing) or "dbmate runs", "run ./run test once: it sets up .venv"
    )


def _identity() -> Finding:
    try:
        identity = server_identity()
    except EmbeddedError as error:
        return Finding("user of the database", is_well=False, detail=str(error), mend="run as an ordinary user")
    return Finding("user of the database", is_well=True, detail=_identity_text(str(identity)))


def _identity_text(identity: str) -> str:
    return "the same that runs this" if identity == "same" else identity


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < OPEN_FILES_MIN:
        mend = f"this shell may not go above {hard}: start it anew, or raise the hard limit as root (limits.conf)"
    else:
        mend = f"ulimit -n {min(hard, 8192) if hard > 0 else 8192}"
    return Finding("open files", soft >= OPEN_FILES_MIN, f"limit {soft}, at least {OPEN_FILES_MIN} needed", mend)


def _loopback() -> Finding:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            pass
    except OSError as error:
        return Finding("loopback", is_well=False, detail=str(error), mend="bring the interface lo up")
    return Finding("loopback", is_well=True, detail="127.0.0.1 can be listened on")


def _disk(data: Path) -> Finding:
    folder = next(each for each in (data.resolve(), *data.resolve().parents) if each.exists())
    free = shutil.disk_usage(folder).free
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding("data directory", is_well=False, detail=f"{folder}: {error}", mend="name another with --data")
    detail = f"{free // 1024**2} MiB free in {folder}"
    return Finding("data directory", free >= FREE_BYTES_MIN, detail, "make room, or name another place with --data")


def _clock() -> Finding:
    year = time.gmtime().tm_year
    detail = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return Finding("clock", year >= YEAR_OF_THIS_SOFTWARE, detail, "set the clock: tokens and deadlines depend on it")


def stack_findings(layout: Layout) -> Iterator[Finding]:
    """Look at the stack that runs in a data directory; nothing where none does."""
    addresses = layout.read_addresses()
    if addresses is None:
        yield Finding("stack", is_well=True, detail=f"none runs in {layout.root}")
        return
    if not _lives(addresses.pid):
        mend = f"start it again with: {program()} up --data {shlex.quote(str(layout.root))}"
        yield Finding("stack", is_well=False, detail=f"process {addresses.pid} has ended without a word", mend=mend)
        return
    yield Finding("stack", is_well=True, detail=f"kept up by process {addresses.pid}")
    yield secrets_finding(KeyFile(layout.master_key), time.time())
    yield from register_finding(Folder(layout.witness))
    yield from signing_finding(addresses.metrics.get("audit", ""))
    yield from asyncio.run(_services(layout, addresses))


def register_finding(folder: Folder) -> Iterator[Finding]:
    """Say what the stack's own witness signed last, and whether a log ever contradicted itself before it (P8)."""
    what, mend = "register", "read docs/operating/register.md"
    if not folder.key_file.exists():
        return
    try:
        heads = [f"{head.origin} up to {head.size}" for head in folder.heads() if head.size]
        evidence = folder.evidence()
    except (WitnessError, NoteMalformed, OSError) as error:
        yield Finding(what, is_well=False, detail=str(error), mend=mend)
        return
    detail = f"witnessed: {', '.join(heads) or 'nothing yet'}"
    contradicted = f"; {len(evidence)} checkpoints contradict that, in {folder.path / 'evidence'}" if evidence else ""
    yield Finding(what, not evidence, detail + contradicted, mend)


def signing_finding(metrics: str) -> Iterator[Finding]:
    """Say which logs the audit signs no more, as its metrics tell; nothing where all are signed or it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=ANSWER_SECONDS) as answer:
            text = answer.read().decode()
    except OSError:
        return  # that it does not answer is said of the service
    if held := sorted(_HELD(text)):
        mend = "look for the alarm `register` in the audit's log; docs/operating/register.md"
        detail = f"{', '.join(held)}: nothing is signed, so later hands cannot be exported"
        yield Finding("register", is_well=False, detail=detail, mend=mend)


def secrets_finding(keyfile: KeyFile, now: float) -> Finding:
    """Say since when hidden cards can be opened, and whether older ones are destroyed as they should be (S5)."""
    what, today = "hidden cards", day_of(int(now * 1000))
    try:
        oldest, held = keyfile.oldest_day(), keyfile.held_since()
    except VaultError as error:
        return Finding(what, is_well=False, detail=str(error), mend="read docs/operating/shredding.md")
    detail = f"can be opened since {_date(oldest)}, older ones are destroyed"
    due = today - KEEP_DAYS
    if held is not None:
        detail += f"; a legal hold keeps those since {_date(held)}"
        due = min(due, held - 1)
    # A day is destroyed within the hour in which it falls due; the table service looks as often.
    is_well = oldest > due - 1
    late = "" if is_well else f"; all up to {_date(due)} should be"
    mend = "look for the alarm `shredding` in the table service's log; docs/operating/shredding.md"
    return Finding(what, is_well, detail + late, mend)


def _date(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * 86_400))


async def _services(layout: Layout, addresses: Addresses) -> list[Finding]:
    return [await _service(layout, service, address) for service, address in addresses.services.items()]


async def _service(layout: Layout, service: str, address: str) -> Finding:
    mend = f"read {layout.logs / f'{service}.log'}"
    is_serving, detail = await service_is_serving(address)
    return Finding(f"service {service}", is_serving, f"{address} {detail}", mend)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
