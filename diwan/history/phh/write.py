"""From the events of a hand to a Poker Hand History, with a plain list of what that cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from diwan.core.cards import Card, format_card
from diwan.core.hand.events import Acted, BoardDealt, CardsShown, Due, HandEnded, HandEvent, HandStarted, HandVoided
from diwan.core.hand.evolve import evolve
from diwan.core.hand.state import Deal, EndedHand, HandState, LiveHand
from diwan.history.phh.check import Verdict, check_hand
from diwan.history.phh.hand import UNKNOWN, VARIANTS, NotCovered, PhhError
from diwan.history.phh.read import read_documents
from diwan.history.phh.toml import toml_text

type Cards = Mapping[int, Card]

_ALWAYS: Final = (
    "when each decision came, and how long was left for it",
    "commitments, seeds and the proofs of cards",
    "which messages were refused during the hand",
)
CANNOT_SAY: Final = (
    *_ALWAYS,
    "hands of pot-limit hold'em, Naiko, Sarab and Capsa, and void hands",
    "which of the antes were dead blinds of players who came back",
    "that the button was at a seat without a player",
    "cards that were not shown",
)
"""What this format cannot say of a hand."""

_NO_CODE: Final = "the format has no code for {}"


class Export(Struct, frozen=True):
    """A hand as PHH; ``cannot_say`` lists what the log tells of it and this text does not."""

    text: str
    cannot_say: tuple[str, ...]


def export_hand(events: Iterable[HandEvent], cards: Cards, about: Mapping[str, Any] | None = None) -> Export:
    """Return a finished hand as the text of a ``.phh`` file.

    ``cards`` are those that the reader may know, by position: the ones that were shown, or more for an auditor. ``about``
    adds fields of the format that no event holds, such as ``table`` or ``day``, or takes the place of others, such as
    ``players``. Raises `NotCovered` for a game that the format has no code for and for a void hand, `PhhError` for a
    hand that is not over.
    """
    log = list(events)
    ended = _end_of(log)
    writer = _Writer(ended, cards)
    fields = {**writer.fields(log), **(about or {})}
    text = toml_text(fields)
    found = check_hand(read_documents(text)[0].fields)
    if found.verdict is Verdict.DIFFERS:
        writer.cannot_say.append(f"how the chips went: {found.where} {found.what}".rstrip())
    return Export(text, (*_ALWAYS, *writer.cannot_say))


def _end_of(log: Sequence[HandEvent]) -> EndedHand:
    state: HandState | None = None
    for event in log:
        if isinstance(event, HandStarted):
            _variant(event)
        if isinstance(event, HandVoided):
            raise NotCovered("a void hand: the format knows no hand without a result")
        state = evolve(state, event)
    if not isinstance(state, EndedHand):
        raise PhhError("the hand is not over")
    return state


def _variant(started: HandStarted) -> str:
    game, limit = started.settings.game, started.settings.limit
    for code, name in VARIANTS.items():
        if name == game and limit == ("no_limit" if game == "holdem" else "pot_limit"):
            return code
    raise NotCovered(_NO_CODE.format(game if game not in VARIANTS.values() else f"{limit.replace('_', '-')} {game}"))


class _Writer:
    def __init__(self, hand: EndedHand, cards: Cards) -> None:
        self.deal: Deal = hand.last.deal
        self.started = self.deal.started
        self.variant = _variant(self.started)
        self.last: LiveHand = hand.last
        self.ended: HandEnded = hand.ended
        self.cards = cards
        self.cannot_say: list[str] = []
        places = range(len(self.deal.seats))
        self.order = [*places[self.deal.first :], *places[: self.deal.first]]  # p1 sits left of the button
        self.number = {self.deal.seats[place]: number for number, place in enumerate(self.order, 1)}

    def fields(self, log: Sequence[HandEvent]) -> dict[str, Any]:
        """Return the fields in the format's order; those with an underscore are ours."""
        started, seats = self.started, self.started.seats
        antes, blinds = self._dues()
        return {
            "variant": self.variant,
            "ante_trimming_status": len(set(antes)) == 1,
            "antes": antes,
            "blinds_or_straddles": blinds,
            "min_bet": started.settings.big_blind,
            "starting_stacks": self._ordered([seat.stack for seat in seats]),
            "actions": self._actions(log),
            "hand": started.hand_no,
            "seats": self._ordered([seat.seat + 1 for seat in seats]),
            "players": self._ordered([seat.player for seat in seats]),
            "finishing_stacks": self._ordered(self.ended.stacks),
            "winnings": self._ordered(self.ended.won),
            "_diwan_version": 1,
            "_hand_id": started.hand_id,
            "_rules_version": started.rules_version,
            "_button": started.button + 1,
            "_digest": self.ended.digest.hex(),
        }

    def _ordered[T](self, values: Sequence[T]) -> list[T]:
        return [values[place] for place in self.order]

    def _dues(self) -> tuple[list[int], list[int]]:
        """Return antes and blinds as the format has them; heads-up in reverse."""
        antes, blinds = ([0] * len(self.order) for _ in range(2))
        for due in self.started.dues:
            place = self.deal.places[due.seat]
            if due.kind in {"ante", "dead_blind"}:
                antes[place] += due.amount
            else:
                blinds[place] += self._blind(due)
        if any(due.kind == "dead_blind" for due in self.started.dues):
            self.cannot_say.append("which of the antes were dead blinds of players who came back")
        if self.started.button not in self.deal.seats:
            self.cannot_say.append("that the button was at a seat without a player")
        owed = [self._ordered(antes), self._ordered(blinds)]
        return (owed[0][::-1], owed[1][::-1]) if len(self.order) == 2 else (owed[0], owed[1])

    def _blind(self, due: Due) -> int:
        """A big blind of another seat than the one whose turn it was is a post, which the format writes negative."""
        return -due.amount if due.kind == "big_blind" and due.seat != self.started.big_blind_seat else due.amount

    def _actions(self, log: Sequence[HandEvent]) -> list[str]:
        """Return the actions; after the last decision hands are turned up first, as the format has it."""
        lines = [
            f"d dh p{self.number[self.deal.seats[place]]} {self._texts(self.last.holdings[place])}"
            for place in self.order
        ]
        if any(UNKNOWN in line for line in lines):
            self.cannot_say.append("cards that were not shown")
        acted = [index for index, event in enumerate(log) if isinstance(event, Acted)]
        split = acted[-1] + 1 if acted else 0
        # An all-in may have been turned up before the board was complete, and once more with its strength.
        shown = dict.fromkeys(self._shown(event) for event in log if isinstance(event, CardsShown))
        lines += [line for event in log[:split] for line in self._lines(event)]
        boards = [line for event in log[split:] for line in self._lines(event)]
        return [*lines, *shown, *boards]

    def _lines(self, event: HandEvent) -> list[str]:
        if isinstance(event, BoardDealt):
            return [f"d db {self._texts(event.positions)}"]
        if not isinstance(event, Acted):
            return []
        word = {"fold": "f", "check": "cc", "call": "cc"}.get(event.kind, f"cbr {event.to}")
        note = "" if event.decided_by == "player" else f" # decided by the {event.decided_by}"
        return [f"p{self.number[event.seat]} {word}{note}"]

    def _shown(self, event: CardsShown) -> str:
        return f"p{self.number[event.seat]} sm {self._texts(event.positions)}"

    def _texts(self, positions: Sequence[int]) -> str:
        return "".join([format_card(self.cards[at]) if at in self.cards else UNKNOWN for at in positions])
