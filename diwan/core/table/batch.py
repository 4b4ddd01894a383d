"""A command's events as they grow: what follows at the table from what has just happened, until nothing follows."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.games.capsa.commands import ExpireCapsaClock
from diwan.core.games.capsa.decide import advance as advance_capsa
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.hand.commands import ExpireClock
from diwan.core.hand.decide import advance as advance_hand
from diwan.core.hand.events import Position
from diwan.core.hand.state import NOBODY, LiveHand
from diwan.core.table.events import CarriedPotReturned, SatOut, SeatReleased, TableClosed, TableClosing, TableEvent
from diwan.core.table.evolve import at_table, evolve
from diwan.core.table.hosting.decide import host_after
from diwan.core.table.matches import begun_match, ended_match
from diwan.core.table.pairs import left_stakes
from diwan.core.table.playing import PlayedEvent, PlayedHand, is_awaited
from diwan.core.table.state import SeatState, TableState
from diwan.core.table.tournament.decide import next_release
from diwan.core.table.waiting.decide import next_hold, next_yield, no_longer_waiting


class Batch:
    """Events of one command, with the table as it stands after them."""

    def __init__(self, state: TableState, cards: Mapping[Position, Card]) -> None:
        self.state = state
        self._cards = cards
        self._events: list[TableEvent] = []

    @property
    def events(self) -> tuple[TableEvent, ...]:
        """Everything so far, the act first."""
        return tuple(self._events)

    def add(self, *events: TableEvent) -> None:
        """Let events happen."""
        for event in events:
            self.state = evolve(self.state, event)
            self._events.append(event)

    def add_hand(self, events: tuple[PlayedEvent, ...], hand: PlayedHand) -> None:
        """Let a hand's batch happen, with the hand as it already stands after it."""
        state = self.state
        for event in events:
            state = at_table(state, event)
        self.state = replace(state, version=state.version + len(events), hand=hand)
        self._events += events

    def settle(self, now_ms: int) -> None:
        """Add what follows: who left is played for, who slept sits out, free seats are released."""
        while self._play_for_leaver(now_ms):
            pass
        self._sit_out_by_clock(now_ms)
        if self.state.config.match is not None:
            self._follow_match(now_ms)
        elif not self.state.is_running and self.state.config.tournament is None:
            self._sit_out_busted(now_ms)
            if self.state.is_closing and self.state.carried_from:
                self.add(CarriedPotReturned(self.state.carried_from, now_ms))
        self._release(now_ms)
        if self.state.line.waiters:
            self._serve_line(now_ms)

    def _serve_line(self, now_ms: int) -> None:
        """Keep free seats for who waits, and let bots that play no hand make room for the others (CL-6)."""
        self.add(*no_longer_waiting(self.state, now_ms))
        while True:
            if (held := next_hold(self.state, now_ms)) is not None:
                self.add(held)
            elif (going := next_yield(self.state, now_ms)) is not None:
                self.add(going)
                self._release(now_ms)
            else:
                return

    def _follow_match(self, now_ms: int) -> None:
        """Let a match start with its last seat, and end with its last player or with its table."""
        begun = begun_match(self.state, now_ms)
        if begun is not None:
            self.add(begun)
        ended = ended_match(self.state, now_ms)
        if ended is not None:
            self.add(ended)
            if not self.state.is_closing:
                self.add(TableClosing("match", now_ms))

    def _play_for_leaver(self, now_ms: int) -> bool:
        """Decide for who stood up in mid-hand what the clock would (A11, CL-2); under an Anchor that is to pass."""
        running = self.state.hand
        if self.state.is_running and isinstance(running, LiveCapsa):
            return self._set_for_leaver(running, now_ms)
        if not self.state.is_running or not isinstance(running, LiveHand) or running.asked == NOBODY:
            return False
        seat = self.state.seat(running.deal.seats[running.asked])
        if seat is None or not _is_played_for(seat):
            return False
        expire = ExpireClock(seat.seat, running.asked_turn, self.state.version, now_ms, decided_by="system")
        self.add_hand(*advance_hand(running, expire, self._cards))
        return True

    def _set_for_leaver(self, running: LiveCapsa, now_ms: int) -> bool:
        """Do for who stood up in a hand of Capsa what the clock would: its set is made, asked it plays (CS-28, CS-31)."""
        for seat in self.state.seats:
            if _is_played_for(seat) and is_awaited(running, seat.seat):
                expire = ExpireCapsaClock(seat.seat, running.turn, self.state.version, now_ms, decided_by="system")
                self.add_hand(*advance_capsa(running, expire, self._cards))
                return True
        return False

    def _sit_out_by_clock(self, now_ms: int) -> None:
        config = self.state.config
        limit = 0 if config.match is not None or config.tournament is not None else config.sit_out_after
        for seat in self.state.seats:
            if limit and seat.clock_decisions >= limit and not seat.is_sitting_out and seat.leaving is None:
                self.add(SatOut(seat.seat, "clock", now_ms))

    def _sit_out_busted(self, now_ms: int) -> None:
        """Out of chips: one may watch and reload (TB-2)."""
        for seat in self.state.seats:
            if seat.is_funded and seat.stack == 0 and not seat.is_sitting_out and seat.leaving is None:
                self.add(SatOut(seat.seat, "busted", now_ms))

    def _release(self, now_ms: int) -> None:
        """Send home who leaves, or everybody when the table closes; chips still on their way are waited for."""
        if self.state.config.tournament is not None:
            while (released := next_release(self.state, now_ms)) is not None:
                self.add(released)
        for seat in self.state.seats:
            if self._is_going(seat) and seat.pending is None and not self.state.is_in_hand(seat.seat):
                after = host_after(self.state, seat, now_ms)
                self.add(*left_stakes(self.state, seat.seat, now_ms), self._released(seat, now_ms), *after)
        if self.state.is_closing and not self.state.seats and not self.state.is_closed:
            self.add(*no_longer_waiting(self.state, now_ms), TableClosed(now_ms))

    def _is_going(self, seat: SeatState) -> bool:
        """Say whether a seat is given up: in a match only with its last coin, or with the match (SB-4, SB-38)."""
        match = self.state.match
        if self.state.config.tournament is not None:
            return False
        if match is not None and not match.is_ended:
            return seat.stack == 0
        return seat.leaving is not None or self.state.is_closing

    def _released(self, seat: SeatState, now_ms: int) -> SeatReleased:
        """Return what sends a seat home: its chips with it; of a match that has started only prizes come home."""
        is_out = self.state.match is not None and seat.stack == 0
        amount = 0 if self.state.match is not None else seat.stack
        cause = "busted" if is_out else seat.leaving or "table_closed"
        return SeatReleased(seat.seat, seat.player, seat.sitting, amount, cause, now_ms)


def _is_played_for(seat: SeatState) -> bool:
    """Say whether a seat decides nothing any more: its player has left, or was removed by the house.

    Whom the host sends away goes after the hand and plays it, or a host could fold whoever faces its bet (TB-3).
    """
    return seat.leaving not in {None, "host"} or (seat.release is not None and seat.release.cause == "removed")
