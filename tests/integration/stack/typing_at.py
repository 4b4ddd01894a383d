"""`diwan play` or another command as a process, with somebody at its keyboard: a pseudo-terminal, or pipes."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

PROGRAM = [sys.executable, "-c", "from diwan.cli.entry import main; main()"]
SECONDS_MAX = 40.0


class Typist:
    """Starts `diwan` with arguments, reads what it writes, types lines."""

    def __init__(self, data: Path, *arguments: str, in_terminal: bool = True, command: str = "play") -> None:
        program = [*PROGRAM, command, *arguments, "--data", str(data)]
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "160", "LINES": "50", "PYTHONUTF8": "1"}
        if in_terminal:
            self._output, theirs = pty.openpty()
            self._process = subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
            os.close(theirs)
            self._input = self._output
        else:
            self._process = subprocess.Popen(
                program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
            )
            self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._bytes = b""
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if self._process.stdin is None:
            os.close(self._output)

    @property
    def text(self) -> str:
        """Everything that was written."""
        return self._bytes.decode("utf-8", "replace").replace("\r\n", "\n")

    def until(self, pattern: str) -> str:
        """Wait for text that has not been waited for yet; returns what stood before it and the text itself."""
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            new = self.text[self._read_to :]
            found = re.search(pattern, new)
            if found:
                self._read_to += found.end()
                return new[: found.end()]
            if time.monotonic() > deadline or not self._read():
                raise AssertionError(f"{pattern!r} did not come; last:\n{self.text[-2500:]}")

    def _read(self) -> bool:
        ready, _, _ = select.select([self._output], [], [], 0.5)
        if not ready:
            return True
        try:
            data = os.read(self._output, 65536)
        except OSError:  # the pseudo-terminal of a process that has ended
            return False
        self._bytes += data
        return bool(data)

    def type(self, line: str) -> None:
        os.write(self._input, f"{line}\n".encode())

    def press(self, keys: str) -> None:
        os.write(self._input, keys.encode())

    def ended(self) -> int:
        """Read to the end; returns the exit code."""
        while self._read():
            pass
        return self._process.wait(SECONDS_MAX)
