"""The one thread that starts all children of this process.

The kernel sends a child's death signal when the *thread* that started it ends, not only the process: children are
therefore started from a thread that lives as long as the process. It is a daemon, since a Ctrl-C may come between its
start and any note of it: a thread that nobody knows of must not be waited for at the end.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any


class Spawner:
    """Does pieces of work one after the other in a thread that begins with the first of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()

    def run[T](self, work: Callable[[], T]) -> T:
        """Return what the work returns, or raise what it raises."""
        answer: Future[T] = Future()
        self._asked.put((answer, work))
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                # Noted only once it runs: where a Ctrl-C comes between, the next piece of work begins another one.
                thread.start()
                self._thread = thread
        return answer.result()

    def _serve(self) -> None:
        while True:
            answer, work = self._asked.get()
            try:
                answer.set_result(work())
            except BaseException as error:
                answer.set_exception(error)
