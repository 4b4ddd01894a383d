"""A witness over HTTP: one path, bounded in what it reads and in how many it listens to."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from diwan.core.transparency.note import NOTE_BYTES_MAX, NoteMalformed
from diwan.witness.folder import WitnessError
from diwan.witness.witness import TEXT_TYPE, Answer, Witness

PATH: Final = "/add-checkpoint"
BODY_BYTES_MAX: Final = NOTE_BYTES_MAX + 8_192
IDLE_SECONDS: Final = 30.0
CONNECTIONS_MAX: Final = 64
TURN_SECONDS: Final = 1.0


class WitnessServer(ThreadingHTTPServer):
    """Serves one witness; a connection beyond `CONNECTIONS_MAX` is closed."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], witness: Witness) -> None:
        super().__init__(address, _Handler)
        self.witness = witness
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._mutex = threading.Lock()
        self._open: dict[socket.socket, float] = {}

    @property
    def url(self) -> str:
        """The submission prefix."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        # A moment's wait, no more: whoever holds all the connections must not hold the server.
        if not self._free.acquire(timeout=TURN_SECONDS):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._mutex:
            self._open[request] = time.monotonic()
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._mutex:
                self._open.pop(request, None)
            self._free.release()

    def answered(self, connection: socket.socket) -> None:
        """A request was answered; its connection may bring another."""
        with self._mutex:
            if connection in self._open:
                self._open[connection] = time.monotonic()

    def service_actions(self) -> None:
        """End connections whose next request has not come to its end in time, however busily they send."""
        late = time.monotonic() - IDLE_SECONDS
        with self._mutex:
            for connection, since in self._open.items():
                if since < late:
                    _break_off(connection)

    def server_close(self) -> None:
        """Stop listening, and end the connections that are kept open for a next request."""
        super().server_close()
        with self._mutex:
            for connection in self._open:
                _break_off(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever breaks a connection off has nothing to be told; a fault of ours is told to the owner."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _break_off(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "diwan-witness"
    sys_version = ""
    timeout = IDLE_SECONDS
    server: WitnessServer

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or self.headers.get("Transfer-Encoding"):
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "a request has a Content-Length\n")
            return
        if len(length) > 9 or int(length) > BODY_BYTES_MAX:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too large for a checkpoint\n")
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return
        if self.path != PATH:
            self._send(Answer(HTTPStatus.NOT_FOUND, f"POST {PATH}\n"))
            return
        try:
            answer = self.server.witness.add_checkpoint(body)
        except (WitnessError, NoteMalformed, OSError) as error:
            # Nothing was signed. What is wrong is for the witness's owner, not for whoever asks.
            self.log_error("%s", error)
            answer = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, "this witness cannot sign now\n")
        self._send(answer)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        # The body is not read, so the connection cannot be used again.
        self.close_connection = True
        self._send(Answer(status, why))

    def _send(self, answer: Answer) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type or TEXT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.server.answered(self.connection)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """A line a second would only hide the others."""
