"""Who watches a table and what they are told: the newest events in memory, the view, each serialised once."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final

import msgspec

from diwan.chassis.store import StoredEvent
from diwan.core.cards import Card
from diwan.core.decider import Rejected
from diwan.core.fairness import CommittedDeck, Reveal
from diwan.core.hand.events import Position
from diwan.core.redact import private_view, public_view
from diwan.core.table.state import TableState
from diwan.wire.views import ViewWriter, private_view_message
from services.table.cards import HandCards
from services.table.frames import UpdateFrame, heartbeat_frame, private_frame, stored_event_bytes
from services.table.gallery import Gallery, Step
from services.table.recent import Recent
from services.table.watchers import Watcher

type Cards = Mapping[Position, Card]

EVENTS_A_FRAME: Final = 64


CROWD: Final = 32
"""From so many watchers on, seats are told first and all others a few at a time."""

NOTHING_READY: Final[Mapping[str, bytes | None]] = MappingProxyType({})

WOKEN_AT_ONCE: Final = 8
"""Watchers of a crowd that write in one turn of the loop: the table's own work comes in between (P12)."""


class Ahead(msgspec.Struct, frozen=True):
    """What a batch makes to be told, written while it is being stored: nobody hears of it before it is."""

    events: list[bytes]
    view: bytes
    update: UpdateFrame
    private: Mapping[str, bytes | None]
    """What goes to single players' streams alone."""


class Hub:
    """One table's watchers. Called only from the table's own task or between its steps, so nothing interleaves."""

    def __init__(self, cards: HandCards, names: Mapping[str, str], next_hand_id: Callable[[TableState], str]) -> None:
        self._cards = cards
        self._names = names
        self._next_hand_id = next_hand_id
        self._recent = Recent()
        self._watchers: set[Watcher] = set()
        self._to_wake: dict[Watcher, None] = {}
        self._waking: asyncio.Task[None] | None = None
        self._writer: ViewWriter | None = None
        self._state: TableState | None = None
        self._view: bytes | None = None
        self._presence: bytes | None = None
        self._gallery = Gallery()

    def reset(
        self, state: TableState, recent: Sequence[StoredEvent], behind: Sequence[tuple[TableState, Cards]] = ()
    ) -> None:
        """Begin, or begin again after a claim: whoever watches goes on from a snapshot.

        ``behind`` is the table as spectators have been shown it, where that is less, and after each batch since but the
        last; each with its cards.
        """
        self._recent.reset(recent)
        self._writer = ViewWriter(state.config, state.hosting.settings_next)
        self._state, self._view = state, None
        self._reset_gallery(state, behind)
        for watcher in self._watchers:
            for frame in self.snapshot(watcher):
                watcher.push(frame)

    def _reset_gallery(self, state: TableState, behind: Sequence[tuple[TableState, Cards]]) -> None:
        if behind:
            (shown, cards), *later = behind
            held, before = [], shown.version
            for after, after_cards in (*later, (state, self._cards.by_position)):
                events = self._recent.between(before, after.version)
                view = self._written(after, after_cards)
                held.append(Step(after.version, UpdateFrame(events, view), view))
                before = after.version
            self._gallery.reset(shown.version, self._written(shown, cards), held)
        elif state.config.spectator_delay_events:
            # Written now, while the cards are those of this hand.
            self._gallery.reset(state.version, self.view_bytes())
        else:
            self._gallery.reset()

    def written_ahead(
        self,
        state: TableState,
        stored: Sequence[StoredEvent],
        shown_to: Collection[str],
        deck: CommittedDeck | None = None,
    ) -> list[Ahead]:
        """Return what `publish` will need of a batch about to be stored, or nothing; ``deck`` is of a hand it begins."""
        if not self._watchers or self._has_other_settings(state):
            return []
        cards = self._cards.by_position if deck is None else dict(enumerate(deck.cards))
        events, view = [stored_event_bytes(event) for event in stored], self._written(state, cards)
        private: dict[str, bytes | None] = {}
        if shown_to and (deck is not None or self._cards.has_deck):
            reveal = self._cards.reveal if deck is None else deck.reveal
            for player in self.players_watching().intersection(shown_to):
                private[player] = _private_frame(state, player, reveal)
        return [Ahead(events, view, UpdateFrame(events, view), private)]

    def publish(
        self,
        state: TableState,
        stored: Sequence[StoredEvent],
        *,
        shown_to: Collection[str] = (),
        ahead: Ahead | None = None,
    ) -> None:
        """Tell everybody what has happened, and the players in ``shown_to`` the cards that are new to them."""
        if self._has_other_settings(state):
            self._writer = ViewWriter(state.config, state.hosting.settings_next)
        self._state, self._view = state, None if ahead is None else ahead.view
        events = [stored_event_bytes(event) for event in stored] if ahead is None else ahead.events
        self._recent.add(stored, events)
        is_apart = self._gallery.is_behind or state.config.spectator_delay_events
        if not is_apart and not self._watchers:
            return
        update = UpdateFrame(events, self.view_bytes()) if ahead is None else ahead.update
        private = NOTHING_READY if ahead is None else ahead.private
        if is_apart:
            self._tell_apart(Step(state.version, update, self.view_bytes()), shown_to, private)
        else:
            self._tell_all(update, shown_to, private)

    def _tell_apart(self, step: Step, shown_to: Collection[str], ready: Mapping[str, bytes | None]) -> None:
        """Tell seats what has happened, and spectators what is no longer held back (S8)."""
        gallery, state = self._gallery, self._known
        shown = gallery.take(state, step)
        for watcher in self._watchers:
            if self._is_spectator(watcher.player):
                watcher.settle()
                for late in gallery.new_to(watcher, shown):
                    watcher.push(late.update.frame)
                continue
            for missed in gallery.missing(watcher, shown):
                if missed is step:
                    watcher.update(step.update)
                else:
                    watcher.push(missed.update.frame)
            gallery.told(watcher, state.version)
            if watcher.player in shown_to and (private := self._private(watcher, ready)) is not None:
                watcher.push(private)
        gallery.moved(shown)

    def _is_spectator(self, player: str | None) -> bool:
        """Say whether somebody sees the table without a seat; one that is not paid for yet is none."""
        seat = None if player is None else self._known.seat_of(player)
        return seat is None or not seat.is_funded

    def _is_late(self, player: str | None) -> bool:
        return self._gallery.is_behind and self._is_spectator(player)

    def view_for(self, player: str | None) -> bytes:
        """Return the public view as somebody may see it now; None is nobody with a seat."""
        return self._gallery.view if self._is_late(player) else self.view_bytes()

    def version_for(self, player: str | None) -> int:
        """Return the newest version that somebody may see; None is nobody with a seat."""
        return self._gallery.version if self._is_late(player) else self._known.version

    def _has_other_settings(self, state: TableState) -> bool:
        known = self._known
        return state.config is not known.config or state.hosting.settings_next is not known.hosting.settings_next

    def _tell_all(self, update: UpdateFrame, shown_to: Collection[str], ready: Mapping[str, bytes | None]) -> None:
        is_crowded = len(self._watchers) > CROWD
        seated = {seat.player for seat in self._known.seats} if is_crowded else set()
        for watcher in self._watchers:
            is_urgent = not is_crowded or watcher.player in seated
            watcher.update(update, wakes=is_urgent)
            if watcher.player in shown_to and (private := self._private(watcher, ready)) is not None:
                watcher.push(private, wakes=is_urgent)
            if not is_urgent:
                self._to_wake[watcher] = None
        self._wake_later()

    def _wake_later(self) -> None:
        if self._to_wake and self._waking is None:
            self._waking = asyncio.create_task(self._wake_the_crowd(), name="crowd")

    async def _wake_the_crowd(self) -> None:
        """Let the crowd write, who waits longest first; whoever falls behind meanwhile gets a snapshot instead."""
        while self._to_wake:
            for watcher in list(islice(self._to_wake, WOKEN_AT_ONCE)):
                del self._to_wake[watcher]
                watcher.wake()
            await asyncio.sleep(0)
        self._waking = None

    def view_bytes(self) -> bytes:
        """Return the public view, serialised once a state."""
        if self._view is None:
            self._view = self._written(self._known, self._cards.by_position)
        return self._view

    def _written(self, state: TableState, cards: Cards) -> bytes:
        assert self._writer is not None, "a hub is reset before it is used"  # noqa: S101
        shown = public_view(state, cards, names=self._names, next_hand_id=self._next_hand_id(state))
        return self._writer.write(shown)

    def attach(self, watcher: Watcher, after_version: int) -> None:
        """Let a watcher in: what it missed, or a snapshot, then its own cards; raises VERSION_OUT_OF_RANGE.

        A seat's stream takes the place of the player's one before, which ends: what that one asked still counts, once.
        """
        for frame in self._caught_up(watcher, after_version):
            watcher.push(frame)
        if not self._is_late(watcher.player):
            self._gallery.told(watcher, self._known.version)
        if self._presence is not None:
            watcher.push(self._presence)
        if self._known.is_closed:
            watcher.end()
            return
        if watcher.is_seat:
            self._replace(watcher.player)
        self._watchers.add(watcher)

    def _replace(self, player: str | None) -> None:
        for former in [each for each in self._watchers if each.is_seat and each.player == player]:
            self.detach(former)
            former.end(Rejected("REPLACED"))

    def detach(self, watcher: Watcher) -> None:
        """Let a watcher go."""
        self._watchers.discard(watcher)
        self._to_wake.pop(watcher, None)
        self._gallery.forget(watcher)

    @property
    def has_watchers(self) -> bool:
        """Whether anybody follows the table."""
        return bool(self._watchers)

    def players(self) -> set[str]:
        """Return the players that have a `Play` stream of their seat open."""
        return {watcher.player for watcher in self._watchers if watcher.player is not None and watcher.is_seat}

    def players_watching(self) -> set[str]:
        """Return the players with a stream of any kind."""
        return {watcher.player for watcher in self._watchers if watcher.player is not None}

    def viewers(self) -> set[tuple[str, bool]]:
        """Return the players who watch, each with whether it is a bot."""
        return {(each.player, each.is_bot) for each in self._watchers if each.player is not None}

    def end_player(self, player: str, why: Rejected) -> None:
        """End the streams of one player."""
        for watcher in self._watchers:
            if watcher.player == player:
                watcher.end(why)

    def let_go(self, player: str, why: Rejected) -> None:
        """End a player's stream of the seat after everything that was told on it; who only watches goes on."""
        for watcher in self._watchers:
            if watcher.player == player and watcher.is_seat:
                watcher.end_behind(why)

    def tell_presence(self, frame: bytes) -> None:
        """Tell everybody who is there, where that has changed."""
        if frame == self._presence:
            return
        self._presence = frame
        is_crowded = len(self._watchers) > CROWD
        for watcher in self._watchers:
            watcher.push(frame, wakes=not is_crowded)
            if is_crowded:
                self._to_wake[watcher] = None
        self._wake_later()

    def heartbeat(self, now_ms: int) -> None:
        """Tell everybody that the table lives, and end the streams of those who seem not to."""
        frame = heartbeat_frame(now_ms, self._known.version)
        late = heartbeat_frame(now_ms, self._gallery.version) if self._gallery.is_behind else frame
        for watcher in list(self._watchers):
            if watcher.is_dead():
                watcher.end(Rejected("READER_SILENT"))
            elif not watcher.waiting:
                watcher.push(late if self._is_late(watcher.player) else frame)

    def end(self, why: Rejected | None) -> None:
        """End all streams."""
        for watcher in self._watchers:
            watcher.end(why)
        self._watchers.clear()

    def snapshot(self, watcher: Watcher) -> list[bytes]:
        """Return the frames that a watcher goes on from, whatever it knew before."""
        if not self._is_late(watcher.player):
            self._gallery.told(watcher, self._known.version)
        frames = [UpdateFrame([], self.view_for(watcher.player), is_snapshot=True).frame]
        private = self._private(watcher)
        return frames if private is None else [*frames, private]

    @property
    def _known(self) -> TableState:
        assert self._state is not None, "a hub is reset before it is used"  # noqa: S101
        return self._state

    def _caught_up(self, watcher: Watcher, after_version: int) -> list[bytes]:
        newest = self.version_for(watcher.player)
        if not 0 <= after_version <= newest:
            raise Rejected("VERSION_OUT_OF_RANGE", version=newest)
        if after_version in {0, newest} or not self._recent.has(after_version + 1):
            return self.snapshot(watcher)
        missed = self._recent.between(after_version, newest)
        chunks = [missed[start : start + EVENTS_A_FRAME] for start in range(0, len(missed), EVENTS_A_FRAME)]
        frames = [UpdateFrame(chunk, None).frame for chunk in chunks[:-1]]
        frames.append(UpdateFrame(chunks[-1], self.view_for(watcher.player)).frame)
        private = self._private(watcher)
        return frames if private is None else [*frames, private]

    def _private(self, watcher: Watcher, ready: Mapping[str, bytes | None] = NOTHING_READY) -> bytes | None:
        if watcher.player is None or not self._cards.has_deck:
            return None
        if watcher.player in ready:
            return ready[watcher.player]
        return _private_frame(self._known, watcher.player, self._cards.reveal)


def _private_frame(state: TableState, player: str, reveal: Callable[[Position], Reveal]) -> bytes | None:
    shown = private_view(state, player, reveal)
    return None if shown is None else private_frame(private_view_message(shown))
