"""A house's register in memory: feeds of tables and wallet, signed and cosigned checkpoints, and bundles made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property, lru_cache
from hashlib import sha256
from random import Random  # noqa: TID251  (tests may use chance)
from uuid import UUID

from msgspec.structs import replace

from diwan.core.fairness import deal
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hashing import chain_start, feed_leaf
from diwan.core.ledger.accounts import LEDGER_STREAM
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.events import LedgerCommitted, LedgerTransfer
from diwan.core.ledger.requests import Confirmation, LinkedSet
from diwan.core.ledger.seats import RELEVANT, TableSeats, follow
from diwan.core.log import TABLE_FEED, WALLET_FEED, LoggedEvent
from diwan.core.merkle import path, tree
from diwan.core.transparency.checkpoint import Checkpoint, origin_of
from diwan.core.transparency.note import KeyType, Note
from diwan.core.transparency.policy import Policy, k_of_n
from diwan.history.bundle import (
    FORMAT,
    CheckpointRecord,
    HandRecord,
    HeaderRecord,
    RevealRecord,
    Source,
    bundle_lines,
)
from diwan.history.lenses import own_positions
from diwan.signing.notekey import NoteKey
from diwan.verifier.bundle import verify_bundle
from diwan.wire.events import WireError, decode, encode
from diwan.wire.stored import prologue_event, settled_events
from tests.unit.verifier.logs import PlayedTable, chained

HOUSE = "house.test"
LEDGER = UUID(LEDGER_STREAM)
LEDGER_KIND = 2
NOW_S = 1_800_000_000


def key_of(name: str, kind: KeyType) -> NoteKey:
    return NoteKey(name, kind, sha256(f"{name}/{kind}".encode()).digest())


WITNESSES = {f"w{n}": key_of(f"witness{n}.test", KeyType.COSIGNATURE_V1) for n in (1, 2, 3)}


def log_key(feed_id: int) -> NoteKey:
    return key_of(origin_of(HOUSE, feed_id), KeyType.ED25519)


def policy(threshold: int = 2) -> Policy:
    """What an auditor trusts: the house's logs, and two of three witnesses."""
    logs = [log_key(feed_id).verifier for feed_id in (TABLE_FEED, WALLET_FEED)]
    return k_of_n(logs, {name: key.verifier for name, key in WITNESSES.items()}, threshold)


class Feed:
    """One feed: its events in order, and its tree."""

    def __init__(self, feed_id: int, events: Sequence[LoggedEvent]) -> None:
        self.feed_id = feed_id
        self.events = list(events)

    @cached_property
    def levels(self):
        return tree(
            [
                feed_leaf(self.feed_id, number, event.stream_id, event.version, event.hash)
                for number, event in enumerate(self.events, 1)
            ]
        )

    def head(self, size: int | None = None) -> Checkpoint:
        root = self.levels[-1][0] if size is None else tree(self.levels[0][:size])[-1][0]
        return Checkpoint(origin_of(HOUSE, self.feed_id), len(self.events) if size is None else size, root)

    def sources(self, events: Iterable[LoggedEvent], told=lambda event: event) -> list[Source]:
        numbers = {(event.stream_id, event.version): number for number, event in enumerate(self.events, 1)}
        made = []
        for event in events:
            number = numbers[event.stream_id, event.version]
            made.append(Source(self.feed_id, number, told(event), path(self.levels, number - 1)))
        return made


def signed(head: Checkpoint, key: NoteKey, witnesses: Iterable[str] = ("w1", "w2")) -> str:
    """A checkpoint's note with the log's signature and witnesses'."""
    signatures = [key.sign(head.text)]
    signatures += [WITNESSES[name].cosign(NOW_S, head.text) for name in witnesses]
    return Note(head.text, tuple(signatures)).raw.decode()


@lru_cache(maxsize=100_000)
def said(event: LoggedEvent) -> object:
    """What an event says; None where its body is none of its type."""
    try:
        return decode(event.type_id, event.schema_v, event.body).event
    except WireError:
        return None


def hand_range(events: Sequence[LoggedEvent], hand_id: str) -> tuple[int, int, int]:
    """The indexes from which a hand's secret is committed to, and of its first and last event."""
    core = [said(event) for event in events]
    starts = [i for i, event in enumerate(core) if isinstance(event, HandStarted | CapsaStarted)]
    first = next(i for i in starts if core[i].hand_id == hand_id)
    ends = [i for i in range(first, len(core)) if isinstance(core[i], HandEnded)]
    before = [i for i in starts if i < first]
    return before[-1] if before else 0, first, ends[0] if ends else len(core) - 1


class House:
    """What the services hold of some tables: every list here may be forged before a bundle is made of it."""

    def __init__(self, *tables: PlayedTable, seed: int = 1) -> None:
        self.rng = Random(seed)
        self.tables = {str(table.stream): table for table in tables}
        self.streams = {str(table.stream): list(table.events) for table in tables}
        self.secrets = {hand_id: secret for table in tables for hand_id, secret in table.secrets.items()}
        self.ledger = self._posted()
        self.witnesses: tuple[str, ...] = ("w1", "w2")
        self.log_keys = {feed_id: log_key(feed_id) for feed_id in (TABLE_FEED, WALLET_FEED)}

    def copy(self) -> House:
        """The same house, to be forged apart."""
        made = copy(self)
        made.streams = {table_id: list(events) for table_id, events in self.streams.items()}
        made.ledger = list(self.ledger)
        made.log_keys = dict(self.log_keys)
        return made

    def _posted(self) -> list[LoggedEvent]:
        """The wallet's stream: what follows from each table, each hand by a commit of its own."""
        commits: list[LedgerCommitted] = []
        for table_id, events in self.streams.items():
            state = TableSeats(table_id)
            for stored in events:
                event = said(stored)
                state, requests = follow(state, event if isinstance(event, RELEVANT) else None, stored.version)
                for request in requests:
                    match request:
                        case LinkedSet(transfers=transfers) if transfers:
                            commits.append(commit_of(transfers, stored.recorded_at_ms))
                        case Confirmation():
                            paid = Transfer(
                                request.transfer_id,
                                request.debit_account,
                                request.credit_account,
                                request.amount,
                                "buy_in",
                                "seat",
                            )
                            commits.append(commit_of([paid], stored.recorded_at_ms))
                        case _:
                            pass
        return self.ledger_stream(commits)

    def ledger_stream(self, commits: Iterable[LedgerCommitted], stream: UUID = LEDGER) -> list[LoggedEvent]:
        """The stored events of commits."""
        events = []
        for commit in commits:
            one = encode(commit, nonce=self.rng.randbytes(16))
            events.append(
                LoggedEvent(
                    stream_id=stream.bytes,
                    version=0,
                    event_id=self.rng.randbytes(16),
                    command_id=self.rng.randbytes(16),
                    epoch=1,
                    type_id=one.type_id,
                    schema_v=one.schema_v,
                    recorded_at_ms=commit.committed_at_ms,
                    body=one.body,
                    prev_hash=b"",
                    hash=b"",
                )
            )
        return chained(events, chain_start(stream.bytes, LEDGER_KIND))

    def commits(self) -> list[LedgerCommitted]:
        """What the wallet's stream says."""
        return [said(one) for one in self.ledger]

    def rehash(self, table_id: str) -> None:
        """Make a table's chain anew, as an insider can."""
        events = self.streams[table_id]
        self.streams[table_id] = chained(events, chain_start(UUID(table_id).bytes, 1))

    def feeds(self) -> dict[int, Feed]:
        """Both feeds; the tables take turns by chance, each in its own order."""
        rng = Random(7)
        waiting = [list(events) for events in self.streams.values()]
        merged = []
        while any(waiting):
            queue = rng.choice([one for one in waiting if one])
            merged.append(queue.pop(0))
        return {TABLE_FEED: Feed(TABLE_FEED, merged), WALLET_FEED: Feed(WALLET_FEED, self.ledger)}

    def checkpoints(self, feeds: dict[int, Feed]) -> list[CheckpointRecord]:
        return [
            CheckpointRecord(feed_id, signed(feed.head(), self.log_keys[feed_id], self.witnesses), ())
            for feed_id, feed in feeds.items()
            if feed.events
        ]

    def hand_record(self, table: PlayedTable, hand_id: str, lens: str, seat: int | None) -> HandRecord:
        events = self.streams[str(table.stream)]
        needs, first, last = hand_range(events, hand_id)
        core = [said(event) for event in events[first : last + 1]]
        started = core[0]
        reveals: tuple[RevealRecord, ...] = ()
        if lens == "seat":
            deck = deal(hand_id, table.secrets[hand_id], {one.seat: one.seed for one in started.seeds})
            positions = own_positions(core, seat)
            reveals = tuple(RevealRecord(one.position, one.card, one.salt, one.path) for one in deck.reveals(positions))
        secret = self.secrets[hand_id] if lens == "auditor" else b""
        versions = (events[needs].version, events[first].version, events[last].version)
        return HandRecord(str(table.stream), hand_id, *versions, secret, reveals)

    def posted_for(self, table: PlayedTable, last: int) -> list[LoggedEvent]:
        """The wallet's events that say what was posted for a hand."""
        cause = f"table/{table.stream}/{last}"
        return [
            stored
            for stored, commit in zip(self.ledger, self.commits(), strict=True)
            if any(transfer.cause == cause for transfer in commit.transfers)
        ]

    def bundle(
        self,
        *hand_ids: str,
        lens: str = "public",
        seat: int | None = None,
        about: str = "hand",
        subject: str = "",
        change=lambda records: records,
    ) -> list[bytes]:
        """The lines of a bundle of hands; ``change`` may forge what goes into it."""
        feeds = self.feeds()
        hands, sources = [], []
        for hand_id in hand_ids:
            table = next(one for one in self.tables.values() if hand_id in one.hand_ids)
            record = self.hand_record(table, hand_id, lens, seat)
            hands.append(record)
            events = self.streams[str(table.stream)]
            sources += feeds[TABLE_FEED].sources(events[:1])
            needs, first, last = hand_range(events, hand_id)
            sources += feeds[TABLE_FEED].sources(events[needs:first], prologue_event)
            own = events[first : last + 1]
            sources += feeds[TABLE_FEED].sources(own if lens == "auditor" else settled_events(own))
            sources += feeds[WALLET_FEED].sources(self.posted_for(table, record.last_version))
        header = HeaderRecord(FORMAT, HOUSE, about, subject or hand_ids[0], lens, seat)
        checkpoints = self.checkpoints(feeds)
        header, checkpoints, hands, sources = change((header, checkpoints, hands, sources))
        sizes = {feed_id: len(feed.events) for feed_id, feed in feeds.items()}
        return list(bundle_lines(header, checkpoints, sizes, hands, sources))


def commit_of(transfers: Iterable[Transfer], at_ms: int) -> LedgerCommitted:
    return LedgerCommitted((), tuple(one.posted() for one in transfers), (), at_ms)


def changed_transfer(commit: LedgerCommitted, index: int, **fields: object) -> LedgerCommitted:
    """A commit with one transfer told otherwise."""
    transfers: list[LedgerTransfer] = list(commit.transfers)
    transfers[index] = replace(transfers[index], **fields)
    return replace(commit, transfers=tuple(transfers))


def verified(lines: Iterable[bytes], threshold: int = 2, **options):
    """The report of a bundle as an auditor of that policy has it."""
    return verify_bundle(lines, policy(threshold), **options)[0]
