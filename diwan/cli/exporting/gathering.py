"""What a bundle is made of, read from the running services: the audit for bytes and proofs, the table for cards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from diwan.chassis.access import Role
from diwan.client import DiwanClient, DiwanError
from diwan.client.others import Audit, HandRecord, RecordedEvent
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandSeat, HandStarted
from diwan.core.log import TABLE_FEED, TOURNAMENT_FEED, WALLET_FEED, LoggedEvent
from diwan.core.transparency.checkpoint import Checkpoint, origin_of, parse_checkpoint
from diwan.core.transparency.note import parse_note
from diwan.history import bundle
from diwan.history.bundle import Source, bundle_lines
from diwan.wire.events import decode
from diwan.wire.mapping import read_reveals
from diwan.wire.stored import logged_event, unaddressed_event

RETRY_SECONDS: Final = 0.2
UNKNOWN_SECONDS: Final = 3.0
"""How long an id that the audit does not know may be that of a hand that has just ended."""

PROOFS_AT_ONCE: Final = 500
FEEDS: Final = (TABLE_FEED, WALLET_FEED, TOURNAMENT_FEED)

_LATER: Final = frozenset({"HAND_NOT_SETTLED", "NOT_IN_CHECKPOINT", "CHECKPOINT_NOT_FOUND"})

type ClientOf = Callable[[Role, str], DiwanClient]
"""The services as a caller of that role and name."""


class Wanted(msgspec.Struct, frozen=True):
    """Which hands, through whose eyes, and why: an auditor's look is recorded with its reason.

    ``since`` are notes of older checkpoints that the bundle is to be joined to.
    """

    about: str
    subject: str
    lens: str
    seat: int | None = None
    reason: str = ""
    case_id: str = ""
    since: tuple[str, ...] = ()
    wait_seconds: float = 10.0


class NotReadyError(Exception):
    """The bundle cannot be made now; the message says what is missing."""


class _Opened(msgspec.Struct, frozen=True):
    """What the lens shows beside the events; ``bodies`` are events that are withheld elsewhere, by version."""

    secret: bytes = b""
    reveals: tuple[bundle.RevealRecord, ...] = ()
    bodies: Mapping[int, bytes] = {}


async def gather(wanted: Wanted, hand_ids: Sequence[str], client_of: ClientOf) -> Iterator[bytes]:
    """Return the lines of a bundle; raises `DiwanError` or `NotReadyError`."""
    ends = time.monotonic() + wanted.wait_seconds
    audit = client_of(Role.AUDITOR if wanted.lens == "auditor" else Role.OPERATOR, "export").audit
    hands: list[bundle.HandRecord] = []
    events: dict[int, dict[int, Source]] = {feed_id: {} for feed_id in FEEDS}
    for hand_id in hand_ids:
        record = await _record(audit, hand_id, ends)
        opened = await _opened(wanted, hand_id, record, client_of)
        hands.append(_hand_of(hand_id, record, opened))
        _take(wanted, events, record, opened)
    whole = {"tournament": audit.tournament_record, "table": audit.table_record}.get(wanted.about)
    if whole is not None:
        # A table plays on meanwhile: a hand that has ended since has no line, so the story stops at the last that has.
        newest = max((hand.last_version for hand in hands), default=0)
        async for one in whole(wanted.subject):
            if wanted.about != "table" or one.event.version <= newest:
                _place(events, one, _for_lens(wanted, logged_event(one.event)))
    return await _with_proofs(wanted, audit, hands, events, ends)


def _hand_of(hand_id: str, record: HandRecord, opened: _Opened) -> bundle.HandRecord:
    return bundle.HandRecord(
        record.table_id,
        hand_id,
        record.needs_version,
        record.first_version,
        record.last_version,
        opened.secret,
        opened.reveals,
    )


def _for_lens(wanted: Wanted, event: LoggedEvent) -> LoggedEvent:
    """Return an event as the lens has it, whatever the caller may see: who looked at cards is for auditors alone."""
    return event if wanted.lens == "auditor" else unaddressed_event(event)


def _take(wanted: Wanted, events: dict[int, dict[int, Source]], record: HandRecord, opened: _Opened) -> None:
    for one in record.events:
        event = _for_lens(wanted, logged_event(one.event))
        if one.feed_id == TABLE_FEED and event.body_hash and event.version in opened.bodies:
            event = msgspec.structs.replace(event, body=opened.bodies[event.version], body_hash=b"")
        _place(events, one, event)


def _place(events: dict[int, dict[int, Source]], one: RecordedEvent, event: LoggedEvent) -> None:
    """Keep an event; with its body, where that was told once."""
    before = events[one.feed_id].get(one.global_seq)
    if before is None or (before.event.body_hash and not event.body_hash):
        events[one.feed_id][one.global_seq] = Source(one.feed_id, one.global_seq, event, ())


async def _record(audit: Audit, hand_id: str, ends: float) -> HandRecord:
    """Return what is kept of a hand, once its chips are posted."""
    record = await _patiently(lambda: audit.hand_record(hand_id), ends)
    while not record.is_posted:
        if time.monotonic() > ends:
            raise NotReadyError(f"the wallet has not posted hand {hand_id} yet, or the audit has not heard of it")
        await asyncio.sleep(RETRY_SECONDS)
        record = await audit.hand_record(hand_id)
    return record


async def _patiently[R](ask: Callable[[], Awaitable[R]], ends: float) -> R:
    """Ask until what is wanted is there; when the time is over the refusal stands."""
    unknown_ends = min(ends, time.monotonic() + UNKNOWN_SECONDS)
    while True:
        try:
            return await ask()
        except DiwanError as error:
            now = time.monotonic()
            is_early = error.reason in _LATER and now < ends
            if not is_early and not (error.reason == "HAND_NOT_FOUND" and now < unknown_ends):
                raise
        await asyncio.sleep(RETRY_SECONDS)


async def _opened(wanted: Wanted, hand_id: str, record: HandRecord, client_of: ClientOf) -> _Opened:
    if wanted.lens == "public":
        return _Opened()
    if wanted.seat is None or wanted.reason:
        tables = client_of(Role.AUDITOR, "export").tables
    else:
        holder = _seat_of(record, wanted.seat)
        tables = client_of(Role.BOT if holder.is_bot else Role.PLAYER, holder.player).tables
    answer = await tables.open_hand(hand_id, seat=wanted.seat, reason=wanted.reason, case_id=wanted.case_id)
    bodies = {one.version: one.body for one in answer.arranged}
    if wanted.seat is None:
        return _Opened(secret=answer.secret, bodies=bodies)
    reveals = [reveal for opened in answer.seats for reveal in read_reveals(opened.reveals)]
    told = tuple(bundle.RevealRecord(one.position, one.card, one.salt, one.path) for one in reveals)
    return _Opened(reveals=told, bodies=bodies)


def _seat_of(record: HandRecord, seat: int) -> HandSeat:
    for one in record.events:
        if one.feed_id == TABLE_FEED and one.event.version == record.first_version:
            said = decode(one.event.type_id, one.event.schema_version, one.event.body).event
            if isinstance(said, HandStarted | CapsaStarted):
                for dealt in said.seats:
                    if dealt.seat == seat:
                        return dealt
                seats = ", ".join(str(dealt.seat) for dealt in said.seats)
                raise NotReadyError(f"seat {seat} was not dealt in; these were: {seats}")
    raise NotReadyError("the record holds no beginning of the hand")


async def _with_proofs(
    wanted: Wanted,
    audit: Audit,
    hands: Sequence[bundle.HandRecord],
    events: Mapping[int, Mapping[int, Source]],
    ends: float,
) -> Iterator[bytes]:
    """Prove every event under one checkpoint a feed, and join it to those that the reader has."""
    sources: list[Source] = []
    checkpoints: list[bundle.CheckpointRecord] = []
    sizes: dict[int, int] = {}
    house = ""
    for feed_id, placed in events.items():
        if not placed:
            continue
        head, proved = await _proved(audit, feed_id, placed, ends)
        sources += proved
        note = head.decode()
        checkpoint = parse_checkpoint(parse_note(head).text)
        sizes[feed_id] = checkpoint.size
        house = checkpoint.origin.removesuffix(origin_of("", feed_id))
        checkpoints.append(bundle.CheckpointRecord(feed_id, note, ()))
        checkpoints += [await _joined(audit, feed_id, one, checkpoint) for one in _of_log(wanted.since, checkpoint)]
    header = bundle.HeaderRecord(
        bundle.FORMAT,
        house,
        wanted.about,  # type: ignore[arg-type]  # the command has looked at it
        wanted.subject,
        wanted.lens,  # type: ignore[arg-type]
        wanted.seat,
    )
    return bundle_lines(header, checkpoints, sizes, hands, sources)


async def _proved(audit: Audit, feed_id: int, placed: Mapping[int, Source], ends: float) -> tuple[bytes, list[Source]]:
    """Return the checkpoint's note, and the events with their whole paths to its root."""
    newest_first = sorted(placed, reverse=True)
    size, note = 0, b""
    proved: list[Source] = []
    for first in range(0, len(newest_first), PROOFS_AT_ONCE):
        numbers = newest_first[first : first + PROOFS_AT_ONCE]
        answer = await _patiently(partial(audit.inclusion_proof, feed_id, numbers, size), ends)
        if not size:  # The newest event is in the first batch, so its checkpoint has all of them.
            size, note = answer.checkpoint.size, answer.checkpoint.note
        for one in answer.proofs:
            source = placed[one.global_seq]
            proved.append(msgspec.structs.replace(source, path=tuple(one.path)))
    return note, proved


def _of_log(notes: Sequence[str], head: Checkpoint) -> list[tuple[str, Checkpoint]]:
    """Return the older notes of the same log."""
    found = [(note, parse_checkpoint(parse_note(note.encode()).text)) for note in notes]
    return [(note, one) for note, one in found if one.origin == head.origin and one.size <= head.size]


async def _joined(
    audit: Audit, feed_id: int, older: tuple[str, Checkpoint], head: Checkpoint
) -> bundle.CheckpointRecord:
    note, checkpoint = older
    answer = await audit.consistency_proof(feed_id, checkpoint.size, head.size)
    return bundle.CheckpointRecord(feed_id, note, tuple(answer.hashes))
