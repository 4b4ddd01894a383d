"""A server program as our child: one a folder, on a port that it keeps, ready when it answers, stopped in order."""

import signal
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from diwan.chassis.embedded.files import DirectoryLock, free_port
from diwan.chassis.embedded.process import EmbeddedError, Process

HOST: Final = "127.0.0.1"
READY_SECONDS: Final = 60.0  # recovery of a large log or store takes its time
START_ATTEMPTS: Final = 5


class EmbeddedServer(ABC):
    """A server on a free port of 127.0.0.1, in ``DIRECTORY/name``.

    A server that is started again keeps its port, so URLs stay valid.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What messages call it."""
    stop_steps: ClassVar[Sequence[tuple[signal.Signals, float]]]
    """The signals that end it, each with the seconds it may take."""

    def __init__(self, data_dir: Path, port: int | None) -> None:
        self._directory = data_dir.resolve() / self.name
        self._lock = DirectoryLock(self._directory)
        self._wanted_port = port
        self._port = port
        self._process: Process | None = None

    def start(self) -> None:
        """Prepare the folder, start the server, return once it answers; raise `EmbeddedError`."""
        if self.is_alive():
            raise EmbeddedError(f"{self.title} in {self._directory} is already running")
        self.stop()  # what is left of a server that died
        self._lock.acquire()
        try:
            self._prepare()
            self._start_on_a_port()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server in order, harder if that takes longer than its bound."""
        try:
            if self._process is not None:
                self._process.stop(self.stop_steps)
        finally:
            self._process = None
            self._lock.release()

    def is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def port(self) -> int:
        if self._port is None:
            raise EmbeddedError(f"{self.title} has not been started")
        return self._port

    @property
    def log_path(self) -> Path:
        return self._directory / f"{self.name}.log"

    @abstractmethod
    def _prepare(self) -> None:
        """Bring the folder into a state in which the server can start; called under the folder's lock."""

    @abstractmethod
    def _start_server(self) -> None:
        """Start the server on `port` and return once it answers."""

    def _running(self) -> Process:
        if self._process is None:
            raise EmbeddedError(f"{self.title} is not running")
        return self._process

    def _start_on_a_port(self) -> None:
        """Again on another port if the chosen one was taken by somebody in between."""
        for attempt in range(1, START_ATTEMPTS + 1):
            if self._port is None:
                self._port = free_port()
            try:
                self._start_server()
            except EmbeddedError as error:
                is_port_taken = self._wanted_port is None and "address already in use" in str(error).lower()
                if attempt == START_ATTEMPTS or not is_port_taken:
                    raise
                self._port = None
            else:
                return
