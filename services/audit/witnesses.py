"""Asks witnesses to sign what the log signed (c2sp.org/tlog-witness), and keeps what they sign.

A witness that signed another history than ours says so by refusing. One of several may be mistaken; where no quorum is
left without those that refuse, the log is not signed any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import asyncpg
import msgspec
import structlog
from prometheus_client import Counter, Gauge

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.database import DATABASE_TROUBLE, Connection, Database
from diwan.core.merkle import EMPTY_ROOT
from diwan.core.transparency.checkpoint import Checkpoint, origin_of, parse_checkpoint, parse_decimal
from diwan.core.transparency.note import Note, NoteMalformed, Signature, parse_note, parse_signatures, to_base64
from diwan.core.transparency.policy import Policy, Witness
from diwan.core.transparency.tree import consistency_spans
from diwan.signing.notekey import LogSecret, signed_checkpoint
from diwan.signing.notes import cosigned_at
from services.audit import register_statements as statements
from services.audit.findings import Finding, record_once
from services.audit.nodes import span_hashes_in
from services.audit.signing import NOWHERE, Hold, HoldKind, Signer

ANSWER_SECONDS: Final = 3.0
IDLE_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 2.0
QUESTION_SECONDS: Final = 8.0
"""For the whole of an answer; `ANSWER_SECONDS` is for each of its parts."""

ANSWER_BYTES_MAX: Final = 64 * 1024
ATTEMPTS: Final = 3
SIZE_TYPE: Final = "text/x.tlog.size"

_ANSWERS: Final = Counter("diwan_witness_answers", "Answers of witnesses, by HTTP status.", ["witness", "status"])
_COSIGNED: Final = Gauge("diwan_witness_size", "The newest size that a witness signed.", ["witness", "origin"])
_log = structlog.get_logger(__name__)


class Answer(msgspec.Struct, frozen=True):
    """What a witness answered; ``size`` is what it signed last, where it says so."""

    status: int
    text: str
    size: int | None = None


class WitnessClient:
    """One connection to one witness, kept for the next question. For one caller at a time, off the event loop."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"a witness's URL is http(s)://host[:port][/path], not {url!r}")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=ANSWER_SECONDS)
        self._is_aborted = False
        self._path = f"{parts.path.rstrip('/')}/add-checkpoint"

    def ask(self, body: bytes) -> Answer:
        """Return the answer; raises OSError where there is none."""
        is_kept = self._connection.sock is not None
        try:
            return self._ask(body)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            # A kept connection may have been closed meanwhile; asking twice is as good as asking once.
            if not is_kept or self._is_aborted:
                raise ConnectionError(repr(error)) from error
        try:
            return self._ask(body)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise ConnectionError(repr(error)) from error

    def _ask(self, body: bytes) -> Answer:
        self._connection.request("POST", self._path, body)
        response = self._connection.getresponse()
        raw = response.read(ANSWER_BYTES_MAX + 1)
        if self._is_aborted:
            raise ConnectionError("broken off")
        if len(raw) > ANSWER_BYTES_MAX:
            raise ConnectionError("an answer without end")
        text = raw.decode("utf-8", "replace")
        size = None
        if response.status == http.client.CONFLICT and response.headers.get_content_type() == SIZE_TYPE:
            with contextlib.suppress(NoteMalformed):
                size = parse_decimal(text.removesuffix("\n"))
        return Answer(response.status, text, size)

    def abort(self) -> None:
        """Break the connection off under whoever waits for it; the client is not to be used again."""
        self._is_aborted = True
        if (used := self._connection.sock) is not None:
            with contextlib.suppress(OSError):
                used.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def question(old: int, proof: Sequence[bytes], note: bytes) -> bytes:
    """Return an add-checkpoint request's body."""
    lines = "".join(f"{to_base64(one)}\n" for one in proof)
    return f"old {old}\n{lines}\n".encode() + note


class Cosigner:
    """Brings each checkpoint to every witness of the policy that has a URL."""

    def __init__(
        self,
        database: Database,
        house: str,
        secrets: Sequence[LogSecret],
        policy: Policy,
        *,
        alarm: Callable[[str, str], None] = raise_alarm,
        client: Callable[[str], WitnessClient] = WitnessClient,
    ) -> None:
        self._database = database
        self._house = house
        self._secrets = secrets
        self._policy = policy
        self._alarm = alarm
        self._client = client
        self._clients = {name: client(one.url) for name, one in policy.witnesses.items() if one.url}
        self._turns = {name: asyncio.Lock() for name in self._clients}
        if not policy.is_quorum(self._clients):
            raise ValueError(f"the register's policy asks for {policy.threshold}, too few of which have a URL")
        self._sizes: dict[tuple[str, str], int] = {}
        self._done: dict[tuple[str, str], int] = {}
        self._against: dict[str, set[str]] = {}

    async def run(self, signer: Signer) -> None:
        """Follow the signer for as long as the service runs; one witness that is away holds up no other."""
        async with asyncio.TaskGroup() as group:
            for name in self._clients:
                group.create_task(self._follow(self._policy.witnesses[name], signer), name=f"witness-{name}")

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()

    async def before_first(self, feed_id: int, signed: int) -> Hold | None:
        """Ask the witnesses what they signed last of a log, by showing them the empty tree, which contradicts nothing."""
        origin = origin_of(self._house, feed_id)
        head = Checkpoint(origin, 0, EMPTY_ROOT)
        note = Note(head.text, tuple(signed_checkpoint(one.key(origin), head) for one in self._secrets))
        asked = [self._ask(name, question(0, (), note.raw)) for name in self._clients]
        answers = zip(self._clients, await asyncio.gather(*asked, return_exceptions=True), strict=True)
        said: dict[str, int] = {}
        for name, answer in answers:
            if isinstance(answer, Answer):
                if answer.size is not None or answer.status == http.client.OK:
                    said[name] = answer.size or 0
            elif not isinstance(answer, OSError):
                raise answer
        # Without their signatures nothing is proved anyway, so waiting for their word costs nothing.
        if not self._policy.is_quorum(said):
            detail = f"of {', '.join(self._clients)} answered: {', '.join(said) or 'none'}"
            return Hold(HoldKind.AWAY, detail, signed)
        ahead = {name: size for name, size in said.items() if size > signed}
        if self._policy.is_quorum(said.keys() - ahead.keys()):
            return None
        detail = f"signed here was size {signed}; " + ", ".join(f"{name} signed {size}" for name, size in ahead.items())
        return Hold(HoldKind.WITNESSES, detail, signed)

    async def _follow(self, witness: Witness, signer: Signer) -> None:
        signed = asyncio.Event()
        signer.listeners.append(signed)
        while True:
            pause = 0.0
            try:
                for row in await self._database.run(lambda c: c.fetch(statements.SIZES)):
                    await self.bring(witness, row["feed_id"], signer)
            except DATABASE_TROUBLE as error:
                # The witness or our database is away; what is newest then is brought later.
                _log.warning("witness_not_reached", witness=witness.name, error=repr(error))
                pause = RETRY_SECONDS
            await asyncio.sleep(pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(signed.wait(), IDLE_SECONDS)
            signed.clear()

    async def bring(self, witness: Witness, feed_id: int, signer: Signer) -> None:
        """Have a witness sign the newest checkpoint of a log, unless it has; raises OSError where it does not answer."""
        origin = origin_of(self._house, feed_id)
        place = (witness.name, origin)
        newest = await self._database.run(lambda c: c.fetchrow(statements.NEWEST, origin))
        if newest is None or self._done.get(place) == newest["size"]:
            return
        if place not in self._sizes:
            key = (witness.key.name, witness.key.key_id)
            self._sizes[place] = await self._database.run(lambda c: c.fetchval(statements.COSIGNED_SIZE, origin, *key))
        for _ in range(ATTEMPTS):
            old = self._sizes[place]
            if old > newest["size"]:
                await self._refused(witness, feed_id, newest["size"], f"it signed size {old}", signer)
                self._done[place] = newest["size"]
                return
            spans = consistency_spans(old, newest["size"])
            proof = await self._database.run(partial(span_hashes_in, feed_id=feed_id, spans=spans))
            answer = await self._ask(witness.name, question(old, proof, newest["note"]))
            if answer.size is None or answer.size == old:
                await self._take(witness, feed_id, newest, answer, signer)
                return
            self._sizes[place] = answer.size

    async def _ask(self, name: str, body: bytes) -> Answer:
        async with self._turns[name]:
            client = self._clients[name]
            try:
                answer = await asyncio.wait_for(asyncio.to_thread(client.ask, body), QUESTION_SECONDS)
            except TimeoutError:
                # Byte by byte an answer could take for ever; its thread ends with its connection.
                client.abort()
                self._clients[name] = self._client(self._policy.witnesses[name].url)
                raise
        _ANSWERS.labels(name, str(answer.status)).inc()
        return answer

    async def _take(self, witness: Witness, feed_id: int, head: asyncpg.Record, answer: Answer, signer: Signer) -> None:
        origin, size, place = head["origin"], head["size"], (witness.name, head["origin"])
        match answer.status:
            case http.client.OK:
                found = _cosignatures(witness, head["note"], answer.text)
                if not found:
                    raise ConnectionError("an answer without its cosignature")
                await self._database.run(partial(self._keep, origin=origin, size=size, found=found))
                self._sizes[place] = self._done[place] = size
                self._against.get(origin, set()).discard(witness.name)
                _COSIGNED.labels(witness.name, origin).set(size)
            case http.client.CONFLICT | http.client.UNPROCESSABLE_ENTITY:
                detail = f"it refused size {size} with {answer.status}: {answer.text.strip()[:200]}"
                await self._refused(witness, feed_id, size, detail, signer)
                self._done[place] = size
            case _:
                raise ConnectionError(f"{origin}: {answer.status} {answer.text.strip()[:200]}")

    async def _refused(self, witness: Witness, feed_id: int, size: int, detail: str, signer: Signer) -> None:
        """A witness signed something else: an alarm, and no more signatures where no quorum is left."""
        origin = origin_of(self._house, feed_id)
        against = self._against.setdefault(origin, set())
        if witness.name not in against:
            against.add(witness.name)
            self._alarm("witness", f"{witness.name} does not follow {origin}: {detail}")
            finding = Finding(feed_id, size, NOWHERE, 0, "WITNESS_DISAGREES", f"{witness.name}: {detail}")
            await self._database.run(partial(record_once, finding=finding))
        if not self._policy.is_quorum(set(self._clients) - against):
            await signer.hold(feed_id, Hold(HoldKind.WITNESSES, f"{witness.name}: {detail}", size))

    async def _keep(
        self, connection: Connection, origin: str, size: int, found: Sequence[tuple[Signature, int]]
    ) -> None:
        """Keep cosignatures; with the one that completes the quorum the checkpoint is proved."""
        await connection.execute(statements.SIGNING, origin)
        for one, time in found:
            row = (origin, size, one.name, one.key_id, one.line, time)
            await connection.execute(statements.ADD_COSIGNATURE, *row)
        keys = {(row["key_name"], row["key_id"]) for row in await connection.fetch(statements.COSIGNERS, origin, size)}
        names = {n for n, one in self._policy.witnesses.items() if (one.key.name, one.key.key_id) in keys}
        if self._policy.is_quorum(names):
            await connection.execute(statements.ADD_PROVED, origin, size)


def _cosignatures(witness: Witness, raw: bytes, text: str) -> list[tuple[Signature, int]]:
    """Return what a witness's answer holds of its key over this note; unknown keys are ignored."""
    note = parse_note(raw)
    parse_checkpoint(note.text)
    try:
        lines = parse_signatures(text)
    except NoteMalformed:
        return []
    times = [(one, cosigned_at(note.text, one, witness.key)) for one in lines]
    return [(one, time) for one, time in times if time is not None]
