"""What a client may do to us before its connection ends: pings, cancellations and other frames that cost us and say nothing."""

from typing import Final

from diwan.chassis.http2.frames import ConnectionFault, Error

BOTHERS_MAX: Final = 4_000
BOTHERS_A_SECOND: Final = 200
"""Of calls cut short, settings, empty frames and the like; a back end that drops a thousand watchers at once is none."""

PING_SECONDS_MIN: Final = 30.0
STRIKES_MAX: Final = 2
"""Pings sooner than that behind another, with nothing sent by us in between; the next one is too many."""

PING_AFTER_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 20.0
"""A client that has calls and says nothing for so long is asked, and given up when it does not answer."""


class Patience:
    """One connection's account of what was done to it."""

    __slots__ = ("_answer_due", "_bothers", "_bothers_since", "_heard_at", "_last_ping", "_strikes")

    def __init__(self, now: float) -> None:
        self._heard_at = self._bothers_since = now
        self._bothers = 0.0
        self._last_ping: float | None = None
        self._strikes = 0
        self._answer_due: float | None = None

    def heard(self, now: float) -> None:
        """The client has said something: it is there."""
        self._heard_at = now
        self._answer_due = None

    def sent(self) -> None:
        """We have sent something of a call: a ping behind it is fair."""
        self._last_ping = None
        self._strikes = 0

    def bother(self, now: float) -> None:
        """Count a frame that costs us and says nothing; raises `ConnectionFault` when there were too many."""
        self._bothers = max(0.0, self._bothers - (now - self._bothers_since) * BOTHERS_A_SECOND) + 1
        self._bothers_since = now
        if self._bothers > BOTHERS_MAX:
            raise ConnectionFault(Error.ENHANCE_YOUR_CALM, "too_many_frames")

    def pinged(self, now: float, *, has_calls: bool) -> None:
        """Count a ping; raises `ConnectionFault` when there were too many."""
        least = PING_SECONDS_MIN if has_calls else 2 * 60 * 60.0
        is_early = self._last_ping is not None and now - self._last_ping < least
        self._last_ping = now
        self._strikes += is_early
        if self._strikes > STRIKES_MAX:
            # The words by which gRPC's clients know that they have to ping less often.
            raise ConnectionFault(Error.ENHANCE_YOUR_CALM, "too_many_pings")

    def must_ask(self, now: float) -> bool:
        """Say whether to ping the client, and count from now on until it answers."""
        if self._answer_due is not None or now - self._heard_at < PING_AFTER_SECONDS:
            return False
        self._answer_due = now + ANSWER_SECONDS
        return True

    def is_gone(self, now: float) -> bool:
        """Say whether a client that was asked has not answered in time."""
        return self._answer_due is not None and now >= self._answer_due
