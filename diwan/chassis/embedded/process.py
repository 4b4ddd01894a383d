"""One child process: started so that it dies with us, stopped by its own id, its output kept in a file."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from diwan.chassis.embedded.spawner import Spawner

LAUNCHER: Final = Path(__file__).with_name("launch.py")
LOG_BYTES_MAX: Final = 64 * 1024 * 1024  # a log larger than this is put aside once, at the next start
POLL_SECONDS: Final = 0.02
LOG_TAIL_BYTES: Final = 2_000

_SPAWNER: Final = Spawner("diwan-spawn")


class EmbeddedError(Exception):
    """A server or service on this machine cannot be started, stopped or used; the text says which and why."""


class Process:
    """A running child in a session of its own, so that a terminal's Ctrl-C reaches only us and we stop it in order."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        log_path: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        identity: str = "same",
        death_signal: signal.Signals = signal.SIGTERM,
        inherit: Sequence[int] = (),
    ) -> None:
        self.argv = tuple(argv)
        self.log_path = log_path
        self._lock = threading.Lock()
        if log_path.exists() and log_path.stat().st_size > LOG_BYTES_MAX:
            log_path.replace(log_path.with_suffix(log_path.suffix + ".1"))
        self._log_start = log_path.stat().st_size if log_path.exists() else 0
        command = launch_command(self.argv, identity=identity, death_signal=death_signal)
        self._popen = _SPAWNER.run(partial(_popen, command, log_path, env, cwd, inherit))

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """The exit status (minus the signal's number if one ended it), or None while it runs."""
        with self._lock:
            return self._popen.poll()

    def is_alive(self) -> bool:
        return self.returncode is None

    def send(self, number: signal.Signals) -> None:
        with self._lock:
            self._popen.send_signal(number)  # does nothing once the child has been reaped

    def wait(self, seconds: float) -> bool:
        """Whether the child has ended within `seconds`."""
        return wait_until(lambda: not self.is_alive(), seconds)

    def stop(self, steps: Sequence[tuple[signal.Signals, float]] = ((signal.SIGTERM, 10.0),)) -> int:
        """Send each signal in turn, giving the child its seconds to end; kill the whole group if none of them helps."""
        for number, seconds in steps:
            self.send(number)
            if self.wait(seconds):
                break
        else:
            self.kill_group()
            if not self.wait(10.0):
                raise EmbeddedError(f"process {self.pid} ({self.argv[0]}) does not end even when killed")
        status = self.returncode
        assert status is not None  # noqa: S101 - wait() has just said so
        return status

    def kill_group(self) -> None:
        with self._lock:
            if self._popen.poll() is None:
                os.killpg(self._popen.pid, signal.SIGKILL)

    def log_tail(self) -> str:
        """The end of what this run of the child has written."""
        with self.log_path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - LOG_TAIL_BYTES))
            return log.read().decode("utf-8", "replace").strip()


def launch_command(argv: Sequence[str], *, identity: str, death_signal: signal.Signals) -> list[str]:
    launcher = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), str(int(death_signal)), identity]
    return [*launcher, *argv]


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll `condition` until it holds; False when it still does not after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def await_ready(process: Process, is_ready: Callable[[], bool], *, name: str, seconds: float) -> None:
    """Return once `is_ready`; raise with the end of the log when the child ends first or the time is over."""
    ended_or_ready = wait_until(lambda: not process.is_alive() or is_ready(), seconds)
    if process.is_alive() and ended_or_ready:
        return
    why = f"is not ready after {seconds:g} s" if process.is_alive() else f"ended with status {process.returncode}"
    raise EmbeddedError(f"{name} {why}; the end of {process.log_path}:\n{process.log_tail()}")


def _popen(
    command: list[str], log_path: Path, env: Mapping[str, str] | None, cwd: Path | None, inherit: Sequence[int]
) -> subprocess.Popen[bytes]:
    with log_path.open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
            pass_fds=inherit,
        )
