"""How a table comes into this process: its stream claimed, its log folded, the deck of its hand brought back.

One at a time for who asks for a table; many in one commit for a process that starts (RELIABILITY 3.3, P1). Folding goes
on from a copy of the table between two hands where there is one that fits (H5): how long a table has been there makes no
difference to how long it takes.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from diwan.chassis.alarms import raise_alarm
from diwan.chassis.clock import DatabaseClock
from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import READ_EVENTS_MAX, Append, Claim, EventStore, StoredEvent
from diwan.chassis.vault import HandVault
from diwan.core.fairness import Secret
from diwan.wire.events import WireError
from services.table.cards import DeckLost, HandCards
from services.table.loaded import BrokenStream, Fold, Loaded
from services.table.standing import Copy, Standing
from services.table.stream import TableStream, takeover

CLAIMS_A_COMMIT: Final = 128
"""As many as appends that share a commit: beyond that the statement is the limit."""

_log = structlog.get_logger(__name__)


BROKEN: Final = (WireError, VaultError, BrokenStream)
"""What keeps one table from being loaded, whoever tries and however often."""


class Loader:
    """Claims tables for one owner and reads them."""

    def __init__(self, store: EventStore, vault: HandVault, standing: Standing, owner: str) -> None:
        self._store = store
        self._vault = vault
        self._standing = standing
        self._owner = owner
        # Each a connection's work: while one share of tables is claimed, one is read, and others are folded here.
        self._claiming, self._reading, self._opening = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()

    async def load(self, table_id: UUID, cards: HandCards) -> Loaded | None:
        """Claim and read a table; None where another owner lives or there is none. Raises one of `BROKEN`."""
        claim = await self._store.claim(table_id, self._owner, first_event=self._first_event)
        if claim is None:
            return None
        copies = await self._copies([claim])
        return await self._loaded(claim, await self._folded(claim, copies.get(table_id)), cards)

    async def load_many(
        self, table_ids: Sequence[UUID], instead_of: Collection[str] = ()
    ) -> AsyncIterator[tuple[HandCards, Loaded | Exception]]:
        """Claim and read tables, at most `CLAIMS_A_COMMIT`, in one commit; those with living owners are left out.

        ``instead_of`` are owners of whom is known that they are gone.

        Yields each with its cards, or with what is broken about it; raises what keeps all of them from being claimed.
        """
        async with self._claiming:
            claims = await self._store.claim_many(
                table_ids, self._owner, first_event=self._first_event, instead_of=instead_of
            )
        async with self._reading:
            copies = await self._copies(claims)
        for some in _shares(claims, copies):
            is_long = _length(some[0], copies) > READ_EVENTS_MAX
            folds = self._folds(some, copies, [] if is_long else await self._events(some, copies))
            decks = await self._secrets([fold for _, fold in folds if isinstance(fold, Fold)])
            # At one go: what the tables of a share have to say first goes into one commit.
            for claim, fold in folds:
                cards = HandCards(claim.stream_id, self._vault)
                try:
                    if isinstance(fold, Exception):
                        raise fold
                    whole = fold or await self._folded(claim, copies.get(claim.stream_id) if is_long else None)
                    if whole.started is not None and (secret := decks.get(whole.started.hand_id)) is not None:
                        cards.know(whole.started.hand_no, secret)
                    yield cards, await self._loaded(claim, whole, cards)
                except BROKEN as error:
                    yield cards, error

    def _first_event(self, claim: Claim) -> Append:
        return takeover(claim, self._owner)

    async def _copies(self, claims: Sequence[Claim]) -> dict[UUID, Copy]:
        """Return what there is of copies; without them everything is folded, which takes longer and comes to the same."""
        try:
            return await self._standing.newest([claim.stream_id for claim in claims])
        except asyncpg.PostgresError as error:
            _log.warning("copies_not_read", tables=len(claims), error=repr(error))
            return {}

    async def _folded(self, claim: Claim, copy: Copy | None) -> Fold:
        """Read and fold a stream page by page, from its copy on if that leads to the last hand."""
        fold: Fold | None = None
        version = _place(copy)
        while version < claim.version:
            page = await self._store.read(claim.stream_id, version)
            if not page:
                break
            if fold is None:
                fold = _begun(copy, page)
                if fold is None:
                    return await self._folded(claim, None)
            else:
                fold.take(page)
            version = fold.version
            await asyncio.sleep(0)
        if fold is None or not _is_all(fold, copy):
            return Fold() if copy is None else await self._folded(claim, None)
        return fold

    async def _events(self, claims: Sequence[Claim], copies: Mapping[UUID, Copy]) -> list[StoredEvent]:
        """Return what is behind the copies of streams, or all of those without one."""
        async with self._reading:
            return await self._store.read_many(_places(claims, copies))

    def _folds(
        self, claims: Sequence[Claim], copies: Mapping[UUID, Copy], events: Iterable[StoredEvent]
    ) -> list[tuple[Claim, Fold | Exception | None]]:
        """Fold what was read of streams."""
        by_stream = {stream: list(each) for stream, each in groupby(events, attrgetter("stream_id"))}
        return [(each, _fold_of(copies.get(each.stream_id), by_stream.get(each.stream_id, []))) for each in claims]

    async def _secrets(self, folds: list[Fold]) -> dict[str, Secret]:
        """Return the secrets of running hands, as far as the vault has them."""
        started = [fold.started.hand_id for fold in folds if fold.started is not None]
        async with self._opening:
            return await self._vault.get_many(started)

    async def _loaded(self, claim: Claim, fold: Fold, cards: HandCards) -> Loaded:
        """Bring the deck of the running hand back; raises `BrokenStream` where the log is not whole."""
        if fold.state is None or fold.version != claim.version:
            raise BrokenStream(f"stream {claim.stream_id} ends at {fold.version}, its row says {claim.version}")
        cards.remember_shown(fold.shown)
        if fold.started is not None:
            try:
                await cards.restore(fold.started)
            except DeckLost as lost:
                _log.error("deck_lost", table=str(claim.stream_id), hand=fold.started.hand_id, why=str(lost))
        return Loaded(
            TableStream(self._store, claim),
            fold.state,
            fold.recent,
            # Never behind what the stream has: no decision is received before it was asked for (H8).
            DatabaseClock(max(claim.database_now_ms, claim.recorded_at_ms)),
            fold.silent_since_ms,
            fold.behind(),
            fold.hands,
        )


def _place(copy: Copy | None) -> int:
    """Return the version behind which a stream is read: a copy's own last event comes with it, and says whether it fits."""
    return 0 if copy is None else copy.state.version - 1


def _places(claims: Sequence[Claim], copies: Mapping[UUID, Copy]) -> dict[UUID, int]:
    return {claim.stream_id: _place(copies.get(claim.stream_id)) for claim in claims}


def _length(claim: Claim, copies: Mapping[UUID, Copy]) -> int:
    return claim.version - _place(copies.get(claim.stream_id))


def _shares(claims: Sequence[Claim], copies: Mapping[UUID, Copy]) -> Iterator[list[Claim]]:
    """Yield claims in shares whose events come in one answer; a stream that is longer than that comes with none."""
    share: list[Claim] = []
    size = 0
    for claim in claims:
        length = _length(claim, copies)
        if share and size + length > READ_EVENTS_MAX:
            yield share
            share, size = [], 0
        share.append(claim)
        size += length
    if share:
        yield share


def _fold_of(copy: Copy | None, events: list[StoredEvent]) -> Fold | Exception | None:
    """Return the fold of all that was read of a stream, what is broken about it, None if it must be read by itself."""
    if not events:
        return None
    try:
        fold = _begun(copy, events)
    except (WireError, BrokenStream) as error:
        return error
    return fold if fold is not None and _is_all(fold, copy) else None


def _is_all(fold: Fold, copy: Copy | None) -> bool:
    """Tell whether a fold shows all that one of the whole log would.

    A copy has no hand: one must have begun after it, and where spectators are behind they must be shown that one (S8).
    """
    if copy is None:
        return True
    behind = fold.behind()
    return fold.started is not None and not (behind and behind[0][0] is copy.state)


def _begun(copy: Copy | None, events: list[StoredEvent]) -> Fold | None:
    """Fold the first events of what is read; None where the copy that they go on from is not of this place."""
    if copy is None:
        fold = Fold()
        fold.take(events)
        return fold
    last, following = events[0], events[1:]
    if (last.version, last.hash) != (copy.state.version, copy.stream_hash):
        raise_alarm(
            "standing", f"table {last.stream_id}: the copy at version {copy.state.version} is of another stream"
        )
        return None
    if following and following[0].command_id == last.command_id:
        # Between two events of one command nobody has seen a table: spectators are never taken back to there (S8).
        return None
    fold = Fold.going_on(copy.state, last)
    fold.take(following)
    return fold
