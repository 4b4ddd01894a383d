"""How a table comes into this process: its stream claimed, its log folded, the deck of its hand brought back.

One at a time for who asks for a table; many in one commit for a process that starts (RELIABILITY 3.3, P1).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import READ_EVENTS_MAX, Append, Claim, EventStore, StoredEvent
from diwan.chassis.vault import HandVault
from diwan.core.fairness import Secret
from diwan.wire.events import WireError
from services.table.cards import DeckLost, HandCards
from services.table.clock import TableClock
from services.table.loaded import BrokenStream, Fold, Loaded
from services.table.stream import TableStream, takeover

CLAIMS_A_COMMIT: Final = 128
"""As many as appends that share a commit: beyond that the statement is the limit."""

_log = structlog.get_logger(__name__)


BROKEN: Final = (WireError, VaultError, BrokenStream)
"""What keeps one table from being loaded, whoever tries and however often."""


class Loader:
    """Claims tables for one owner and reads them."""

    def __init__(self, store: EventStore, vault: HandVault, owner: str) -> None:
        self._store = store
        self._vault = vault
        self._owner = owner

    async def load(self, table_id: UUID, cards: HandCards) -> Loaded | None:
        """Claim and read a table; None where another owner lives or there is none. Raises one of `BROKEN`."""
        claim = await self._store.claim(table_id, self._owner, first_event=self._first_event)
        if claim is None:
            return None
        return await self._loaded(claim, await self._folded(claim), cards)

    async def load_many(self, table_ids: Sequence[UUID]) -> AsyncIterator[tuple[HandCards, Loaded | Exception]]:
        """Claim and read tables, at most `CLAIMS_A_COMMIT`, in one commit; those with living owners are left out.

        Yields each with its cards, or with what is broken about it; raises what keeps all of them from being claimed.
        """
        claims = await self._store.claim_many(table_ids, self._owner, first_event=self._first_event)
        for some in _shares(claims):
            is_long = some[0].version > READ_EVENTS_MAX
            events = [] if is_long else await self._store.read_many([claim.stream_id for claim in some])
            by_stream = {stream: list(each) for stream, each in groupby(events, attrgetter("stream_id"))}
            folds = [(claim, _fold_of(by_stream.get(claim.stream_id, []))) for claim in some]
            decks = await self._secrets([fold for _, fold in folds if isinstance(fold, Fold)])
            for claim, fold in folds:
                cards = HandCards(claim.stream_id, self._vault)
                try:
                    if isinstance(fold, Exception):
                        raise fold
                    whole = await self._folded(claim) if is_long else fold
                    if whole.started is not None and (secret := decks.get(whole.started.hand_id)) is not None:
                        cards.know(whole.started.hand_no, secret)
                    yield cards, await self._loaded(claim, whole, cards)
                except BROKEN as error:
                    yield cards, error
                await asyncio.sleep(0)

    def _first_event(self, claim: Claim) -> Append:
        return takeover(claim, self._owner)

    async def _folded(self, claim: Claim) -> Fold:
        fold = Fold()
        while fold.version < claim.version:
            page = await self._store.read(claim.stream_id, fold.version)
            if not page:
                break
            fold.take(page)
            await asyncio.sleep(0)
        return fold

    async def _secrets(self, folds: list[Fold]) -> dict[str, Secret]:
        """Return the secrets of running hands, as far as the vault has them."""
        started = [fold.started.hand_id for fold in folds if fold.started is not None]
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
            TableClock(claim.database_now_ms),
            fold.silent_since_ms,
            fold.behind(),
            fold.hands,
        )


def _shares(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """Yield claims in shares whose events come in one answer; a stream that is longer than that comes with none."""
    share: list[Claim] = []
    size = 0
    for claim in claims:
        if share and size + claim.version > READ_EVENTS_MAX:
            yield share
            share, size = [], 0
        share.append(claim)
        size += claim.version
    if share:
        yield share


def _fold_of(events: list[StoredEvent]) -> Fold | Exception:
    fold = Fold()
    try:
        fold.take(events)
    except (WireError, BrokenStream) as error:
        return error
    return fold
