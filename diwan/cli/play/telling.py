"""What has happened, told in a line: events of a table, as everybody is sent them, to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from diwan.cli.play.five import best_five
from diwan.cli.play.look import Look, cards_text, who_text
from diwan.cli.play.words import Words
from diwan.client.messages import (
    ActionKind,
    DecidedBy,
    PostKind,
    SeatCause,
    SeatView,
    StoredEvent,
    Street,
    TableView,
    VoidReason,
    event_of,
    name_of,
)
from diwan.core.cards import Card

_DECIDED_BY: Final[dict[int, str]] = {
    DecidedBy.DECIDED_BY_CLOCK: "by_clock",
    DecidedBy.DECIDED_BY_SYSTEM: "by_room",
    DecidedBy.DECIDED_BY_OPERATOR: "by_room",
}
_AWAY: Final = frozenset({SeatCause.SEAT_CAUSE_CLOCK, SeatCause.SEAT_CAUSE_DISCONNECTED})
_SIMPLE: Final = {
    "sat_out": "sat_out",
    "sat_in": "sat_in",
    "stand_up_requested": "stands_up",
    "set_unlocked": "told_unlocked",
}
_OF_THE_TABLE: Final = {
    "table_closing": "table_closing",
    "table_paused": "table_paused",
    "table_resumed": "table_resumed",
    "settings_changed": "settings_changed",
    "destellos_returned": "told_destellos_back",
    "setting_closed": "told_time_over",
}


class Teller:
    """Tells events of one table. ``seats`` name who sits there, or sat there until these events; ``board`` lies there."""

    def __init__(self, seats: Iterable[SeatView], own: int | None, look: Look, board: Sequence[Card] = ()) -> None:
        self._seats = list(seats)
        self._board = board
        self._own = own
        self._look = look
        self._words: Words = look.words

    def lines(self, stored: StoredEvent) -> list[str]:
        """Return what an event says to a player; nothing for what does not matter to one."""
        kind, event = event_of(stored)
        told = self._of_hand(kind, event, stored.recorded_at_ms)
        if told is None:
            told = self._of_capsa(kind, event)
        if told is None:
            told = self._at_the_table(kind, event)
        return [self._words.line(line) for line in told or []]

    def locked(self, seats: Iterable[int]) -> list[str]:
        """Return that seats have locked their sets."""
        others = [seat for seat in seats if seat != self._own]
        return [self._words.line(self._words("told_locked", who=self._who(seat))) for seat in others]

    def _who(self, seat: int) -> str:
        return who_text(self._seats, seat, self._own, self._words)

    def _of_hand(self, kind: str, event: Any, at_ms: int) -> list[str] | None:
        words = self._words
        match kind:
            case "acted":
                return [self._acted(event)]
            case "hand_started" | "capsa_started":
                return self._begins(kind, event)
            case "posted":
                return self._posted(event)
            case "board_dealt":
                cards = cards_text([reveal.card for reveal in event.reveals], self._look)
                return [words("dealt", street=words(name_of(Street, event.street)), cards=cards)]
            case "cards_shown":
                return [self._shown(event)]
            case "bet_returned":
                return [words("returned", amount=event.amount, who=self._who(event.seat))]
            case "pot_awarded":
                shares = [share for share in event.shares if share.amount]
                return [words("wins", who=self._who(share.seat), amount=share.amount) for share in shares]
            case "hand_voided":
                told = [words(f"void_{name_of(VoidReason, event.reason)}")]
                return [*told, words("void_carried", amount=event.carried)] if event.carried else told
            case "time_bank_began":
                seconds = max(0, event.deadline_ms - at_ms) // 1000
                return [words("time_bank_began", who=self._who(event.seat), seconds=seconds)]
            case "deadline_moved":
                return [words("deadline_moved", seconds=max(0, event.deadline_ms - at_ms) // 1000)]
            case _:
                return self._power(kind, event, at_ms)

    def _begins(self, kind: str, event: Any) -> list[str]:
        words = self._words
        told = ["", words("hand_begins", no=event.hand_no, button=words("button"), who=self._who(event.button))]
        if kind == "hand_started" and event.dues:
            first = event.dues[0]
            amounts = {due.amount for due in event.dues}
            is_ante = all(due.kind == PostKind.POST_KIND_ANTE for due in event.dues)
            if is_ante and len(amounts) == 1 and len(event.dues) == len(event.seats):
                told.append(words("everybody_pays", word=words("ante"), amount=first.amount))
        return told

    def _posted(self, event: Any) -> list[str]:
        kind = name_of(PostKind, event.kind)
        if kind == "ante":
            return []
        return [self._words("posted", who=self._who(event.seat), word=self._words(kind), amount=event.amount)]

    def _acted(self, event: Any) -> str:
        words, kind = self._words, name_of(ActionKind, event.kind)
        facts = {"who": self._who(event.seat), "word": words(kind)}
        match kind:
            case "call":
                text = words("acted_amount", amount=event.added, **facts)
            case "bet":
                text = words("acted_amount", amount=event.to, **facts)
            case "raise":
                text = words("acted_raise", amount=event.to, **facts)
            case _:
                text = words("acted", **facts)
        text += words("and_all_in", word=words("all_in")) if event.is_all_in else ""
        return text + self._by(event)

    def _by(self, event: Any) -> str:
        """Return who decided, where it was not the player."""
        key = _DECIDED_BY.get(event.decided_by)
        return "" if key is None else self._words(key)

    def _shown(self, event: Any) -> str:
        cards = cards_text([reveal.card for reveal in event.reveals], self._look)
        facts = {"who": self._who(event.seat), "cards": cards}
        if not event.category:
            return self._words("shows", **facts)
        held = [reveal.card for reveal in event.reveals]
        five = best_five(held, self._board, event.category, is_omaha=self._words.game == "omaha")
        if not five:
            return self._words("shows_named", category=self._words(event.category), **facts)
        made = cards_text(five, self._look)
        return self._words("shows_made", category=self._words(event.category), five=made, **facts)

    def _power(self, kind: str, event: Any, at_ms: int) -> list[str] | None:
        words = self._words
        paid = {"cost": getattr(event, "cost", 0)}
        match kind:
            case "card_glanced":
                return [words("told_glance", who=self._who(event.seat), power=words("hidden_glance"), **paid)]
            case "card_swapped":
                return [words("told_glance", who=self._who(event.seat), power=words("sleeve_trick"), **paid)]
            case "anchor_declared":
                facts = {"power": words("short_anchor"), "target": self._who(event.target)}
                return [words("told_anchor", who=self._who(event.seat), **paid, **facts)]
            case "window_opened":
                seconds = max(0, event.deadline_ms - at_ms) // 1000
                return [words("told_window", who=self._who(event.seat), seconds=seconds)]
            case "anchor_answered" if event.answer == "seal_shield":
                return [words("told_shield", who=self._who(event.seat), power=words("seal_shield"), **paid)]
            case "anchor_answered":
                return [words("told_passed", who=self._who(event.seat))]
            case "anchor_settled":
                key = "told_blocked" if event.is_blocked else "told_anchored"
                return [words(key, target=self._who(event.target))]
            case _:
                return None

    def _of_capsa(self, kind: str, event: Any) -> list[str] | None:
        words = self._words
        match kind:
            case "natural_shown":
                return [words("told_natural", who=self._who(event.seat), kind=words(event.kind))]
            case "answered":
                key = ("", "told_play", "told_surrender")[event.answer]
                return [words(key, who=self._who(event.seat)) + self._by(event)]
            case "stake_proposed":
                facts = {"who": self._who(event.seat), "target": self._who(event.other)}
                return [words("told_offer", amount=event.unit, **facts)]
            case "stake_agreed":
                facts = {"who": self._who(event.seat), "target": self._who(event.other)}
                return [words("told_agreed", amount=event.unit, **facts)]
            case "stake_ended":
                return [words("told_ended", who=self._who(event.seat), target=self._who(event.other))]
            case _:
                return None

    def _at_the_table(self, kind: str, event: Any) -> list[str] | None:
        words = self._words
        if kind == "sat_out" and event.seat == self._own and event.cause in _AWAY:
            return [words("you_were_sat_out")]
        if kind in _SIMPLE:
            return [words(_SIMPLE[kind], who=self._who(event.seat))]
        if kind in _OF_THE_TABLE:
            return [words(_OF_THE_TABLE[kind])]
        match kind:
            case "buy_in_requested":
                who = self._who(event.seat)
                return [words("sits_down", who=who, seat=event.seat, amount=event.amount)]
            case "seat_released" if event.cause != SeatCause.SEAT_CAUSE_TABLE_CLOSED and event.seat != self._own:
                return [words("released", who=event.player.removeprefix("bot:"))]
            case "match_started":
                return [words("match_started", players=len(event.entrants), amount=event.coins)]
            case "match_ended":
                return [words("match_ended"), *(self._place(place) for place in event.places)]
            case _:
                return None

    def _place(self, place: Any) -> str:
        key = "match_prize" if place.prize else "match_place"
        return self._words(key, place=place.place, who=self._player(place), amount=place.prize)

    def _player(self, place: Any) -> str:
        return self._words("you") if place.seat == self._own else str(place.player).removeprefix("bot:")


def newly_locked(before: TableView | None, now: TableView) -> list[int]:
    """Return the seats of a hand of Capsa that have locked their sets since a view; the event itself is for them alone."""
    if before is None or before.hand.hand_id != now.hand.hand_id:
        return []
    were = {seat.seat for seat in before.hand.capsa.seats if seat.has_locked}
    return [seat.seat for seat in now.hand.capsa.seats if seat.has_locked and seat.seat not in were]


def own_result(events: list[tuple[str, Any]], player: str, words: Words) -> str | None:
    """Return what a player won or lost in the hand that these events end; None where it was not in it.

    ``events`` are those of the hand, from its first on, as `event_of` gives them.
    """
    seats = next((list(event.seats) for kind, event in events if kind in {"hand_started", "capsa_started"}), [])
    ended = next((event for kind, event in reversed(events) if kind == "hand_ended"), None)
    places = [place for place, seat in enumerate(seats) if seat.player == player]
    if ended is None or not places:
        return None
    payoff = ended.payoffs[places[0]]
    if payoff > 0:
        return words.line(words("you_won", amount=payoff))
    return words.line(words("you_lost", amount=-payoff) if payoff else words("you_even"))
