"""Reads the text of `pokerstars` back, line by line; whatever it does not expect is an error that names the line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from diwan.core.cards import Card, parse_card
from diwan.core.hand.events import HandResult
from diwan.core.limits import SEATS_MAX
from diwan.history.exports.pokerstars import (
    CATEGORIES,
    GAMES,
    POSTS,
    TABLE_SEATS_MAX,
    arranged,
    number_of,
    readable,
    readable_table,
)
from diwan.history.exports.record import (
    Act,
    Board,
    Line,
    PokerHand,
    Post,
    Pot,
    Returned,
    Seated,
    Shown,
    Street,
    Take,
)
from diwan.history.exports.times import Moment, milliseconds

TEXT_CHARACTERS_MAX: Final = 64 * 1024

_HEADER: Final = re.compile(
    r"PokerStars Hand #(?P<number>\d{1,20}): (?:Tournament #(?P<tournament>\d{1,20}), 0\+0)? ?"
    r"(?P<game>Hold'em No Limit|Hold'em Pot Limit|Omaha Pot Limit)(?: - Level (?P<level>[IVXLCDM]{1,15}))?"
    r" \((?P<small>\d{1,16})/(?P<big>\d{1,16})\)"
    r" - (\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d) UTC(?: \[[^\]]{1,40}\])?"
).fullmatch
_TABLE: Final = re.compile(
    r"Table '(?P<table>[^']{0,80})' (?P<seats>\d{1,2})-max \(Play Money\) Seat #(?P<button>\d{1,2}) is the button"
).fullmatch
_SEAT: Final = re.compile(r"Seat (?P<seat>\d{1,2}): (?P<name>\S{1,80}) \((?P<stack>\d{1,16}) in chips\)").fullmatch
_SAID: Final = re.compile(r"(?P<name>\S{1,80}): (?P<what>.{1,120})").fullmatch
_POST: Final = re.compile(r"(?P<how>posts [a-z ]{4,12}) (?P<amount>\d{1,16})(?P<all_in> and is all-in)?").fullmatch
_ACT: Final = re.compile(
    r"(?:(?P<plain>folds|checks)|(?P<word>calls|bets) (?P<amount>\d{1,16})|raises (?P<by>\d{1,16}) to (?P<to>\d{1,16}))"
    r"(?P<all_in> and is all-in)?"
).fullmatch
_SHOWS: Final = re.compile(r"shows \[(?P<cards>[^\]]{2,14})\] \((?P<category>[a-z ]{1,40})\)").fullmatch
_DEALT: Final = re.compile(r"Dealt to (?P<name>\S{1,80}) \[(?P<cards>[^\]]{2,14})\]").fullmatch
_BOARD: Final = re.compile(
    r"\*\*\* (?P<street>FLOP|TURN|RIVER) \*\*\* (?:\[[^\]]{2,14}\] )?\[(?P<cards>[^\]]{2,14})\]"
).fullmatch
_UNCALLED: Final = re.compile(r"Uncalled bet \((?P<amount>\d{1,16})\) returned to (?P<name>\S{1,80})").fullmatch
_COLLECTED: Final = re.compile(
    r"(?P<name>\S{1,80}) collected (?P<amount>\d{1,16}) from (?P<pot>pot|main pot|side pot(?:-\d{1,2})?)"
).fullmatch
_TOTAL: Final = re.compile(r"Total pot (?P<total>\d{1,16}).{0,600}").fullmatch

_POST_OF: Final = {text: kind for kind, text in POSTS.items()}
_CATEGORY_OF: Final = {text: name for name, text in CATEGORIES.items()}
_GAME_OF: Final = {text: key for key, text in GAMES.items()}
_HOLE_CARDS: Final = {"holdem": 2, "omaha": 4}
_ROMAN: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


class TextError(ValueError):
    """A text that is not one of `pokerstars`; the message names the line."""


def read_many(text: str) -> Iterator[PokerHand]:
    """Yield the hands of a file, which stand behind blank lines; raises `TextError`."""
    for part in re.split(r"\n{2,}", text.strip("\n")):
        if part:
            yield read(part)


def read(text: str) -> PokerHand:
    """Return one hand, without what the format cannot say; raises `TextError`."""
    if len(text) > TEXT_CHARACTERS_MAX:
        raise TextError(f"more than {TEXT_CHARACTERS_MAX} characters")
    reader = _Reader()
    for number, line in enumerate(text.strip("\n").split("\n"), 1):
        try:
            reader.take(line)
        except TextError as error:
            raise TextError(f"line {number}: {error}") from None
        except (ValueError, KeyError, IndexError) as error:
            raise TextError(f"line {number}: {line!r}: {error!r}") from None
    return reader.hand()


def told(hand: PokerHand) -> PokerHand:
    """Return what this format tells of a hand: reading what was written gives exactly that."""
    names = readable([seat.player for seat in hand.seats])
    shown = hand.shown
    hidden = (None,) * _HOLE_CARDS[hand.game]
    antes = [line.amount for line in hand.lines if isinstance(line, Post) and line.kind == "ante"]
    return replace(
        hand,
        hand_id=str(number_of(hand.hand_id)),
        hand_no=0,
        table_id="",
        table_name=readable_table(hand),
        table_seats=hand.table_seats or TABLE_SEATS_MAX,
        tournament_id=str(number_of(hand.tournament_id)) if hand.tournament_id else "",
        level=hand.level if hand.tournament_id else 0,
        ante=max(antes, default=0),
        chips="",
        big_blind_seat=0,
        started_at_ms=hand.started_at_ms // 1000 * 1000,
        seats=tuple(
            replace(
                seat,
                player=name,
                is_bot=False,
                cards=seat.cards
                if seat.seat in hand.heroes
                else shown[seat.seat].cards
                if seat.seat in shown
                else hidden,
            )
            for seat, name in zip(hand.seats, names, strict=True)
        ),
        heroes=tuple(seat.seat for seat in hand.seats if seat.seat in hand.heroes and None not in seat.cards),
        lines=arranged(hand.lines),
    )


class _Reader:
    """One hand, line by line, in the format's sections."""

    def __init__(self) -> None:
        self.fields: dict[str, object] = {}
        self.seats: dict[str, Seated] = {}
        self.heroes: list[int] = []
        self.lines: list[Line] = []
        self.pots: dict[str, list[Take]] = defaultdict(list)
        self.bets: dict[int, int] = defaultdict(int)
        self.section = self._header
        self.hole_cards = 0
        self.is_void = False
        self.is_shown = False

    def take(self, line: str) -> None:
        """Take a line in; raises `TextError` where it has no place."""
        self.section(line)

    def hand(self) -> PokerHand:
        """Return the hand; raises `TextError` unless it was told to its end."""
        if self.section != self._summary:
            raise TextError("the hand ends before its summary")
        total = sum(take.amount for takes in self.pots.values() for take in takes)
        if self.fields.pop("total", None) != total:
            raise TextError("the pots do not sum to the total")
        result: HandResult = "void" if self.is_void else "showdown" if self.is_shown else "uncontested"
        shown = {line.seat: line for line in self.lines if isinstance(line, Shown)}
        antes = [line.amount for line in self.lines if isinstance(line, Post) and line.kind == "ante"]
        made: PokerHand = PokerHand(
            **self.fields,  # type: ignore[arg-type]  # as `_header` and `_table` have filled them in
            hand_no=0,
            ante=max(antes, default=0),
            seats=tuple(
                replace(seat, cards=shown[seat.seat].cards)
                if seat.seat in shown and seat.seat not in self.heroes
                else seat
                for seat in self.seats.values()
            ),
            heroes=tuple(self.heroes),
            lines=tuple(self.lines),
            pots=tuple(Pot(sum(take.amount for take in takes), tuple(takes)) for takes in self.pots.values()),
            result=result,
        )
        return made

    def _header(self, line: str) -> None:
        found = _HEADER(line)
        if found is None:
            raise TextError("no heading of a hand")
        game, limit = _GAME_OF[found["game"]]
        self.hole_cards = _HOLE_CARDS[game]
        at = Moment(*map(int, found.groups()[-6:]))
        if not (1 <= at.month <= 12 and 1 <= at.day <= 31 and at.hour < 24 and at.minute < 60 and at.second < 60):
            raise TextError("no such moment")
        self.fields |= {
            "hand_id": found["number"],
            "tournament_id": found["tournament"] or "",
            "level": _number(found["level"]) if found["level"] else 0,
            "game": game,
            "limit": limit,
            "small_blind": int(found["small"]),
            "big_blind": int(found["big"]),
            "started_at_ms": milliseconds(at),
        }
        self.section = self._table

    def _table(self, line: str) -> None:
        found = _TABLE(line)
        if found is None:
            raise TextError("no line of a table")
        self.fields |= {
            "table_name": found["table"],
            "table_seats": int(found["seats"]),
            "button": int(found["button"]),
        }
        self.section = self._seats

    def _seats(self, line: str) -> None:
        if line == "*** HOLE CARDS ***":
            self.section = self._play
            return
        if (found := _SEAT(line)) is not None and not self.lines:
            name, seat = found["name"], int(found["seat"])
            if name in self.seats or not 1 <= seat <= SEATS_MAX or any(s.seat == seat for s in self.seats.values()):
                raise TextError("a seat twice, or none")
            self.seats[name] = Seated(seat, name, int(found["stack"]), is_bot=False, cards=(None,) * self.hole_cards)
            return
        name, what = self._said(line)
        found = _POST(what)
        if found is None:
            raise TextError("neither a seat nor a forced bet")
        kind, seat, amount = _POST_OF[found["how"]], self.seats[name].seat, int(found["amount"])
        if kind in {"small_blind", "big_blind"}:
            self.bets[seat] += amount
        self.lines.append(Post(seat, kind, amount, found["all_in"] is not None))  # type: ignore[arg-type]  # of PostKind

    def _play(self, line: str) -> None:
        if line == "*** SHOW DOWN ***":
            self.is_shown = True
            return
        if line == "*** SUMMARY ***":
            self.section = self._summary
            return
        if (found := _DEALT(line)) is not None:
            seat = self.seats[found["name"]]
            self.heroes.append(seat.seat)
            self.seats[found["name"]] = replace(seat, cards=self._cards(found["cards"], self.hole_cards))
        elif (found := _BOARD(line)) is not None:
            self.bets.clear()
            street: Street = found["street"].lower()  # type: ignore[assignment]  # as the pattern has it
            self.lines.append(Board(street, self._cards(found["cards"], 3 if street == "flop" else 1)))
        elif (found := _UNCALLED(line)) is not None:
            self.lines.append(Returned(self.seats[found["name"]].seat, int(found["amount"])))
        elif (found := _COLLECTED(line)) is not None:
            self.pots[found["pot"]].append(Take(self.seats[found["name"]].seat, int(found["amount"])))
        else:
            self._say(*self._said(line))

    def _say(self, name: str, what: str) -> None:
        seat = self.seats[name].seat
        if what == "doesn't show hand":
            return
        if (found := _SHOWS(what)) is not None:
            cards = self._cards(found["cards"], self.hole_cards)
            self.lines.append(Shown(seat, cards, _CATEGORY_OF[found["category"]]))
            return
        if (found := _ACT(what)) is None:
            raise TextError("no act")
        is_all_in = found["all_in"] is not None
        before = self.bets[seat]
        if found["plain"]:
            self.lines.append(
                Act(seat, "fold" if found["plain"] == "folds" else "check", to=before, is_all_in=is_all_in)
            )
        elif found["word"]:
            amount = int(found["amount"])
            self.bets[seat] = before + amount
            kind: str = {"calls": "call", "bets": "bet"}[found["word"]]
            lift = amount if kind == "bet" else 0
            self.lines.append(Act(seat, kind, amount, before + amount, lift, is_all_in))  # type: ignore[arg-type]  # of ActionKind
        else:
            to = int(found["to"])
            self.bets[seat] = to
            self.lines.append(Act(seat, "raise", to - before, to, int(found["by"]), is_all_in))

    def _summary(self, line: str) -> None:
        if line == "Hand cancelled":
            self.is_void = True
        elif (found := _TOTAL(line)) is not None:
            self.fields["total"] = int(found["total"])
        elif not line.startswith(("Board [", "Seat ")):
            raise TextError("no line of a summary")

    def _said(self, line: str) -> tuple[str, str]:
        found = _SAID(line)
        if found is None or found["name"] not in self.seats:
            raise TextError("nobody of this table says that")
        return found["name"], found["what"]

    def _cards(self, text: str, count: int) -> tuple[Card, ...]:
        cards = tuple(map(parse_card, text.split(" ")))
        if len(cards) != count:
            raise TextError(f"{count} cards are wanted")
        return cards


def _number(roman: str) -> int:
    values = [_ROMAN[letter] for letter in roman]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
