"""Generate the Python stubs and their types from `protos/` into `diwan/api/`, which git ignores.

Hatchling runs this when the project is built or installed; `python build_hook.py` does the same in place. Nothing is
done where the protos, this file and the generators are what they were the last time.

Beside the stubs it lays copies of Google's `google/api` and `google/rpc` protos, which come with the wheel
`googleapis-common-protos`, into `.cache/protos`: buf wants every import in a module and cannot fetch one.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GENERATORS = ("grpcio-tools", "googleapis-common-protos", "mypy-protobuf")
SHARED_FOLDERS = ("google/api", "google/rpc")


class StubHook(BuildHookInterface[Any]):
    """Hatchling's way in; its class is found by its base."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        generate(Path(self.root))


def generate(root: Path) -> bool:
    """Bring `diwan/api` and `.cache/protos` under `root` up to date; whether there was anything to do."""
    protos = sorted((root / "protos").rglob("*.proto"))
    target = root / "diwan" / "api"
    stamp = target / ".stamp"
    if not protos:
        shutil.rmtree(target, ignore_errors=True)  # stubs of contracts that are gone
        return False
    fingerprint = _fingerprint(root, protos)
    if _are_made(root, stamp, fingerprint):
        return False
    cache = root / ".cache"
    cache.mkdir(exist_ok=True)
    # Two programs that are started at once both find old stubs: the second waits, and finds new ones.
    with (cache / "stubs.lock").open("w") as lock, tempfile.TemporaryDirectory(prefix="stubs-", dir=cache) as work:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _are_made(root, stamp, fingerprint):
            return False
        shared, made = Path(work) / "protos", Path(work) / "made"
        made.mkdir()
        _copy_shared_protos(shared)
        _run_protoc(root / "protos", shared, made, protos)
        fresh = made / "diwan" / "api"
        _write_packages(fresh)
        (fresh / ".stamp").write_text(fingerprint, "ascii")
        _replace(shared, cache / "protos")
        _replace(fresh, target)
    return True


def _are_made(root: Path, stamp: Path, fingerprint: str) -> bool:
    return stamp.exists() and stamp.read_text("ascii") == fingerprint and (root / ".cache" / "protos").exists()


def _fingerprint(root: Path, protos: Iterable[Path]) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in GENERATORS:
        digest.update(f"{name} {distribution(name).version}\n".encode())
    for proto in protos:
        digest.update(f"{proto.relative_to(root).as_posix()}\n".encode())
        digest.update(hashlib.sha256(proto.read_bytes()).digest())
    return digest.hexdigest()


def _copy_shared_protos(shared: Path) -> None:
    for file in distribution("googleapis-common-protos").files or ():
        if file.suffix == ".proto" and file.parent.as_posix() in SHARED_FOLDERS:
            copy = shared / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), copy)


def _run_protoc(ours: Path, shared: Path, made: Path, protos: list[Path]) -> None:
    """One call for all files; the type plugins are programs beside this interpreter."""
    outputs = [f"--{kind}_out={made}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    names = [proto.relative_to(ours).as_posix() for proto in protos]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ours}", f"-I{shared}", *outputs, *names]
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise SystemExit(f"protoc refuses the contracts:\n{done.stderr}")


def _write_packages(fresh: Path) -> None:
    for folder in [fresh, *(path for path in fresh.rglob("*") if path.is_dir())]:
        (folder / "__init__.py").write_text('"""Generated from protos/ by build_hook.py."""\n', "utf-8")


def _replace(fresh: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


if __name__ == "__main__":
    print("stubs generated" if generate(Path(__file__).resolve().parent) else "stubs are up to date")  # noqa: T201
