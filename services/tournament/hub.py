"""Who watches a tournament, and what they are told: events, the view, and each player's own part.

What concerns a player's own seat goes out at once. The view of everybody is made at most ten times a second and once for
all who watch, since in a large field something happens all the time and each view looks at everybody.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Final

from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.chassis.pump import Source
from diwan.chassis.store import StoredEvent
from diwan.core.decider import Rejected
from diwan.core.tournament.state import TournamentState
from diwan.wire.stored import stored_message
from services.tournament.views import own_message, view_message

FRAMES_MAX: Final = 128
"""Messages that may wait for a reader; who falls further behind goes on from a snapshot."""

PUBLISH_SECONDS: Final = 0.1
HEARTBEAT_SECONDS: Final = 5.0
BEATS_UNTAKEN_MAX: Final = 6
RECENT_EVENTS: Final = 512
EVENTS_A_FRAME: Final = 64


class Watcher(Source):
    """One stream's queue. ``player`` is whose own part it carries, None for nobody's."""

    def __init__(self, hub: Hub, player: str | None) -> None:
        super().__init__()
        self.player = player
        self.own: bytes = b""
        self._hub = hub
        self._frames: deque[bytes] = deque()
        self._is_behind = False
        self._is_ended = False
        self._end: Rejected | None = None
        self._beats_untaken = 0

    def push(self, frame: bytes) -> None:
        """Queue a message; when too many wait, they all give way to a snapshot."""
        if len(self._frames) >= FRAMES_MAX:
            self._is_behind = True
            self._frames.clear()
        if not self._is_behind:
            self._frames.append(frame)
        self.wake()

    def is_dead(self) -> bool:
        """Say whether the reader is to be given up; asked at every heartbeat, and at no other time."""
        self._beats_untaken = self._beats_untaken + 1 if self._frames else 0
        return self._beats_untaken > BEATS_UNTAKEN_MAX

    def end(self, why: Rejected | None = None) -> None:
        """End the stream after what is queued; with a refusal, at once."""
        if not self._is_ended:
            self._is_ended = True
            self._end = why
            self.wake()
            if why is not None:
                self.cut(why)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for the reader."""
        return not self._frames and not self._is_behind

    def take(self) -> bytes | None:
        """Return what the reader gets next, None where nothing waits; raises the refusal that the stream ends with."""
        if self._end is not None:
            raise self._end
        if self._is_behind:
            self._is_behind = False
            self._frames.extend(self._hub.snapshot(self))
        if not self._frames:
            return None
        self._beats_untaken = 0
        return self._frames.popleft()

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes behind what is queued."""
        return self._is_ended


class Hub:
    """One tournament's watchers. Called only from the loop's own steps, so nothing interleaves."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._watchers: set[Watcher] = set()
        self._recent: deque[StoredEvent] = deque(maxlen=RECENT_EVENTS)
        self._unpublished: list[StoredEvent] = []
        self._state: TournamentState | None = None
        self._publishing: asyncio.TimerHandle | None = None

    @property
    def has_watchers(self) -> bool:
        """Whether anybody follows the tournament."""
        return bool(self._watchers)

    def recent(self, first: int = 1, last: int | None = None) -> list[StoredEvent]:
        """Return the newest events that are in memory, between two versions, in order."""
        return [each for each in self._recent if first <= each.version and (last is None or each.version <= last)]

    def reset(self, state: TournamentState, recent: Sequence[StoredEvent]) -> None:
        """Begin, or begin again after a claim: whoever watches goes on from a snapshot."""
        self._state = state
        self._recent = deque(recent, maxlen=RECENT_EVENTS)
        self._unpublished = []
        for watcher in self._watchers:
            for frame in self.snapshot(watcher):
                watcher.push(frame)

    def publish(self, state: TournamentState, stored: Sequence[StoredEvent], concerned: Collection[str] | None) -> None:
        """Take note of what has happened; ``concerned`` are the players whose own part may have changed, None for all."""
        self._state = state
        self._recent.extend(stored)
        if not self._watchers:
            return
        self._unpublished.extend(stored)
        for watcher in self._watchers:
            if watcher.player is not None and (concerned is None or watcher.player in concerned):
                self._tell_own(watcher)
        if self._publishing is None:
            self._publishing = asyncio.get_running_loop().call_later(PUBLISH_SECONDS, self._publish)

    def _publish(self) -> None:
        self._publishing = None
        events, self._unpublished = self._unpublished, []
        if not self._watchers or not events:
            return
        for frame in self._frames(events):
            for watcher in self._watchers:
                watcher.push(frame)

    def flush(self) -> None:
        """Tell what has not been told yet, now."""
        if self._publishing is not None:
            self._publishing.cancel()
            self._publish()

    def _tell_own(self, watcher: Watcher) -> None:
        own = self._own(watcher)
        if own is not None and own != watcher.own:
            watcher.own = own
            watcher.push(own)

    def _own(self, watcher: Watcher) -> bytes | None:
        if watcher.player is None:
            return None
        own = own_message(self._known, watcher.player)
        return None if own is None else pb.WatchTournamentResponse(own=own).SerializeToString()

    def _frames(self, events: Sequence[StoredEvent]) -> list[bytes]:
        """Return messages that carry these events, the last one with the view."""
        chunks = [events[start : start + EVENTS_A_FRAME] for start in range(0, len(events), EVENTS_A_FRAME)] or [[]]
        frames = []
        for number, chunk in enumerate(chunks, 1):
            update = pb.TournamentUpdate(events=[stored_message(event.logged()) for event in chunk])
            if number == len(chunks):
                update.view.CopyFrom(view_message(self._known))
            frames.append(pb.WatchTournamentResponse(update=update).SerializeToString())
        return frames

    def attach(self, player: str | None, after_version: int) -> Watcher:
        """Let a watcher in: what it missed, or a snapshot, then its own part; raises VERSION_OUT_OF_RANGE."""
        newest = self._known.version
        if not 0 <= after_version <= newest:
            raise Rejected("VERSION_OUT_OF_RANGE", version=newest)
        # What waits to be told is told first: a newcomer is shown it in what it missed.
        self.flush()
        watcher = Watcher(self, player)
        missed = [event for event in self._recent if event.version > after_version]
        if after_version in {0, newest} or len(missed) != newest - after_version:
            frames = self.snapshot(watcher)
        else:
            watcher.own = self._own(watcher) or b""
            frames = [*self._frames(missed), *([watcher.own] if watcher.own else [])]
        for frame in frames:
            watcher.push(frame)
        self._watchers.add(watcher)
        return watcher

    def detach(self, watcher: Watcher) -> None:
        """Let a watcher go."""
        self._watchers.discard(watcher)

    def snapshot(self, watcher: Watcher) -> list[bytes]:
        """Return the messages that a watcher goes on from, whatever it knew before."""
        update = pb.TournamentUpdate(view=view_message(self._known), is_snapshot=True)
        watcher.own = self._own(watcher) or b""
        frame = pb.WatchTournamentResponse(update=update).SerializeToString()
        return [frame, watcher.own] if watcher.own else [frame]

    def heartbeat(self) -> None:
        """Tell everybody that the tournament lives, and end the streams of those who seem not to."""
        beat = pb.TournamentHeartbeat(server_time_ms=self._now_ms(), version=self._known.version)
        frame = pb.WatchTournamentResponse(heartbeat=beat).SerializeToString()
        for watcher in list(self._watchers):
            if watcher.is_dead():
                watcher.end(Rejected("READER_SILENT"))
            elif watcher.is_idle:
                watcher.push(frame)

    def end(self, why: Rejected | None) -> None:
        """End all streams."""
        self.flush()
        for watcher in self._watchers:
            watcher.end(why)
        self._watchers.clear()

    @property
    def _known(self) -> TournamentState:
        assert self._state is not None, "a hub is reset before it is used"  # noqa: S101
        return self._state
