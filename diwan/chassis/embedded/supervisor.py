"""Keeps the processes of a stack running: starts them in order, restarts what dies, stops them in reverse order."""

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from diwan.chassis.embedded.process import EmbeddedError, Process, await_ready

WATCH_SECONDS: Final = 0.1
BACKOFF_SECONDS_MIN: Final = 0.2
BACKOFF_SECONDS_MAX: Final = 10.0
HEALTHY_SECONDS: Final = 30.0  # a child that lived this long starts again with the shortest backoff

type Reporter = Callable[[str, str], None]
"""Called with a child's name and what has happened to it, from the thread that watches it."""


class Supervised(Protocol):
    """What a supervisor can keep alive: the embedded servers and `Child`. `stop` of a stopped one does nothing."""

    @property
    def name(self) -> str: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def is_alive(self) -> bool: ...


class Child:
    """A named program with its output in `LOG_DIR/NAME.log`; ready when `is_ready` says so, or at once without it."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        log_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        is_ready: Callable[[], bool] | None = None,
        ready_seconds: float = 30.0,
        grace_seconds: float = 15.0,
    ) -> None:
        self._name = name
        self._argv = tuple(argv)
        self._log_path = log_dir / f"{name}.log"
        self._env = env
        self._cwd = cwd
        self._is_ready = is_ready
        self._ready_seconds = ready_seconds
        self._grace_seconds = grace_seconds
        self._process: Process | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def pid(self) -> int:
        if self._process is None:
            raise EmbeddedError(f"{self._name} is not running")
        return self._process.pid

    @property
    def log_path(self) -> Path:
        return self._log_path

    def start(self) -> None:
        self.stop()
        self._log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        process = Process(self._argv, log_path=self._log_path, env=self._env, cwd=self._cwd)
        self._process = process
        if self._is_ready is not None:
            try:
                await_ready(process, self._is_ready, name=self._name, seconds=self._ready_seconds)
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """SIGTERM, then SIGKILL for the whole group after the grace time."""
        process = self._process
        if process is not None:
            process.stop([(signal.SIGTERM, self._grace_seconds)])

    def is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive()


class Supervisor:
    """Owns a list of children. A child that dies is restarted after a backoff that doubles up to its bound."""

    def __init__(
        self,
        report: Reporter,
        *,
        backoff_seconds_min: float = BACKOFF_SECONDS_MIN,
        backoff_seconds_max: float = BACKOFF_SECONDS_MAX,
        healthy_seconds: float = HEALTHY_SECONDS,
    ) -> None:
        self._report = report
        self._backoff_seconds_min = backoff_seconds_min
        self._backoff_seconds_max = backoff_seconds_max
        self._healthy_seconds = healthy_seconds
        self._children: list[Supervised] = []
        self._watchers: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._restarts: dict[str, int] = {}

    @property
    def restarts(self) -> Mapping[str, int]:
        """How often each child has been brought back."""
        return dict(self._restarts)

    def start(self, child: Supervised) -> None:
        """Start `child`, ready when this returns, and keep it alive from now on. The first start's error is raised."""
        if self._stopping.is_set():
            raise EmbeddedError(f"{child.name} is not started: the stack is being stopped")
        self._restarts[child.name] = 0
        self._children.append(child)
        child.start()
        watcher = threading.Thread(target=self._watch, args=(child,), name=f"watch-{child.name}", daemon=True)
        self._watchers.append(watcher)
        watcher.start()

    def stop(self) -> None:
        """Stop everything in reverse order of start. Errors of single children do not keep the others running."""
        self._stopping.set()
        errors: list[Exception] = []
        for child in reversed(self._children):
            try:
                child.stop()
            except Exception as error:
                errors.append(error)
        for watcher in self._watchers:
            watcher.join()
        for child in reversed(self._children):
            if child.is_alive():  # a watcher was in the middle of restarting it
                child.stop()
        self._children.clear()
        self._watchers.clear()
        if errors:
            raise ExceptionGroup("some processes did not stop as asked", errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _watch(self, child: Supervised) -> None:
        backoff = self._backoff_seconds_min
        started = time.monotonic()
        while not self._stopping.wait(WATCH_SECONDS):
            if child.is_alive():
                continue
            if time.monotonic() - started >= self._healthy_seconds:
                backoff = self._backoff_seconds_min
            self._report(child.name, f"has ended; restarting in {backoff:g} s")
            if self._stopping.wait(backoff):
                return
            backoff = min(backoff * 2, self._backoff_seconds_max)
            started = time.monotonic()
            self._restart(child)

    def _restart(self, child: Supervised) -> None:
        try:
            child.start()
        except Exception as error:  # whatever it is, the watcher must live to try again
            self._report(child.name, f"does not start: {error}")
        else:
            self._restarts[child.name] += 1
            self._report(child.name, "is back")
