"""A hand of a Poker Hand History as stored events: chained, its cards provable, and marked as played elsewhere.

Everything follows from the history's bytes, so that a second import makes the same file. The stream is of a kind of its
own, the secret's commitment is the history's hash (no secret stands behind it), nobody contributed a seed, and all events
carry the one time that the history tells. What is proved of such a hand is that it is lawful and was not changed since its
import; how it was dealt is the history's word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

from msgspec import Struct

from diwan.core.cards import DECK
from diwan.core.fairness import CommittedDeck, Reveal, commit_deck
from diwan.core.hand.events import HandEvent
from diwan.core.hand.state import EndedHand
from diwan.core.hashing import chain_start, event_hash, hashed
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.table.events import SecretCommitted
from diwan.history.phh import NotCovered, PhhHand, Replay, replay_hand, start_of
from diwan.wire.events import NONCE_BYTES, encode

_NAMESPACE = UUID("5b9f7a1e-3c52-5d0e-8f64-2f1d8f0b7c31")
_EPOCH = 1
_HAND_NO = 1


class Imported(Struct, frozen=True):
    """A hand as it is stored. ``hidden`` are proofs of cards that the history tells and no event shows."""

    hand_id: str
    events: tuple[LoggedEvent, ...]
    hidden: tuple[Reveal, ...]


def import_hand(hand: PhhHand, source: bytes, label: str, recorded_at_ms: int) -> Imported:
    """Return a history's hand as stored events; ``source`` is its file's bytes, ``label`` its number in it.

    Raises `Divergence` where the rules refuse it, `NotCovered` where it cannot be told by events: they show every hand
    that comes to a showdown (HD-19).
    """
    told = hashed("imported/v1", source, label)
    stream = uuid5(_NAMESPACE, told.hex())
    hand_id = str(uuid5(stream, f"hand/{_HAND_NO}"))
    replay = replay_hand(hand)
    if replay.stand_ins:
        raise NotCovered("a hand that was mucked unseen: here all hands are shown (HD-19)")
    deck = _deck(hand_id, replay, told)
    start = start_of(hand, hand_id=hand_id, deck_root=deck.root, commitment=told, now_ms=recorded_at_ms, version=1)
    replay = replay_hand(hand, start)
    log = _Log(stream.bytes, told, recorded_at_ms, deck)
    log.append((SecretCommitted(_HAND_NO, told, recorded_at_ms),))
    for batch in replay.batches:
        log.append(batch.events)
    return Imported(hand_id, tuple(log.events), deck.reveals(_hidden(replay)))


def _deck(hand_id: str, replay: Replay, told: bytes) -> CommittedDeck:
    """Lay the cards that are told where they were dealt from, and the others in order where nothing is told."""
    others = iter(sorted(set(DECK) - set(replay.cards.values())))
    cards = tuple([replay.cards[at] if at in replay.cards else next(others) for at in range(len(DECK))])
    return commit_deck(hand_id, cards, tuple([hashed("imported-salt/v1", told, at) for at in range(len(DECK))]))


def _hidden(replay: Replay) -> Iterator[int]:
    """Yield positions of cards that are told, but shown by no event."""
    assert isinstance(replay.state, EndedHand)  # noqa: S101  (a replay goes to the end)
    last = replay.state.last
    shown = {position for showing in last.shown for position in showing.positions} | set(last.board)
    yield from sorted(set(replay.cards) - shown)


class _Log:
    def __init__(self, stream_id: bytes, told: bytes, recorded_at_ms: int, deck: CommittedDeck) -> None:
        self.events: list[LoggedEvent] = []
        self._stream_id = stream_id
        self._told = told
        self._recorded_at_ms = recorded_at_ms
        self._deck = deck
        self._head = chain_start(stream_id, StreamKind.IMPORTED).hash

    def append(self, batch: Iterable[HandEvent | SecretCommitted]) -> None:
        """Store one command's events."""
        command_id = self._id("command")
        for event in batch:
            self._store(event, command_id)

    def _store(self, event: HandEvent | SecretCommitted, command_id: bytes) -> None:
        version = len(self.events) + 1
        nonce = hashed("imported-nonce/v1", self._told, version)[:NONCE_BYTES]
        body = encode(event, nonce=nonce, reveal=self._deck.reveal)
        stored = LoggedEvent(
            stream_id=self._stream_id,
            version=version,
            event_id=self._id("event"),
            command_id=command_id,
            epoch=_EPOCH,
            type_id=body.type_id,
            schema_v=body.schema_v,
            recorded_at_ms=self._recorded_at_ms,
            body=body.body,
            prev_hash=self._head,
            hash=event_hash(
                self._head,
                self._stream_id,
                version,
                body.type_id,
                body.schema_v,
                self._recorded_at_ms,
                command_id,
                body.body,
            ),
        )
        self._head = stored.hash
        self.events.append(stored)

    def _id(self, of: str) -> bytes:
        return uuid5(UUID(bytes=self._stream_id), f"{of}/{len(self.events)}").bytes
