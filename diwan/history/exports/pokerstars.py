"""A hand of hold'em or Omaha as the text that trackers take, in PokerStars' manner.

There is no official grammar: this follows what importers read (docs/reference/histories.md). `pokerstars_read` reads it
back, for both games.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diwan.core.cards import Card, format_card
from diwan.core.hashing import hashed, uuid_bytes
from diwan.history.exports.record import Act, Board, Line, NotWritable, PokerHand, Post, Returned, Shown
from diwan.history.exports.times import moment

GAMES: Final[Mapping[tuple[str, str], str]] = {
    ("holdem", "no_limit"): "Hold'em No Limit",
    ("holdem", "pot_limit"): "Hold'em Pot Limit",
    ("omaha", "pot_limit"): "Omaha Pot Limit",
}
POSTS: Final = {
    "ante": "posts the ante",
    "small_blind": "posts small blind",
    "big_blind": "posts big blind",
    "dead_blind": "posts dead blind",
}
CATEGORIES: Final = {
    "high_card": "high card",
    "pair": "a pair",
    "two_pair": "two pair",
    "three_of_a_kind": "three of a kind",
    "straight": "a straight",
    "flush": "a flush",
    "full_house": "a full house",
    "four_of_a_kind": "four of a kind",
    "straight_flush": "a straight flush",
    "royal_flush": "a royal flush",
    "": "before the board was complete",
}
STREETS: Final = {"flop": "FLOP", "turn": "TURN", "river": "RIVER"}
TABLE_SEATS_MAX: Final = 9
NAME_CHARACTERS_MAX: Final = 40

LIMITS: Final = (
    "hands of Naiko, Sarab and Capsa",
    "ids: hands and tournaments have a number made from theirs, players a name that trackers can read",
    "who is a bot",
    "who decided: a player, the clock or an operator, and how long it took",
    "that unknown cards were dealt: only cards that were shown, or opened for the reader, stand there",
    "kickers: of a shown hand its kind alone",
    "when exactly: the second in which the hand began, and no time behind it",
    "where cards were shown before the board was complete: they stand at the showdown",
    "why a hand was cancelled; that a blind was owed in full by who could not post it",
    "commitments, seeds and proofs; requests that were refused; who looked at hidden cards",
)
"""What this format cannot say of a hand."""


def write(hand: PokerHand) -> str:
    """Return a hand's text; raise `NotWritable` for a game that trackers do not know."""
    if (hand.game, hand.limit) not in GAMES:
        raise NotWritable(f"{hand.game} with {hand.limit.replace('_', ' ')}: trackers do not know that game")
    return "\n".join(_Writer(hand).lines()) + "\n"


def number_of(any_id: str) -> int:
    """Return the number, below 2^63, that stands for an id here: of a UUID its first 63 bits; 0 for none."""
    if not any_id:
        return 0
    try:
        raw = uuid_bytes(any_id)
    except ValueError:
        raw = hashed("export number/v1", any_id)
    return int.from_bytes(raw[:8], "big") >> 1


def readable(names: Sequence[str], allowed: str = "_-.") -> tuple[str, ...]:
    """Return names in which no reader takes a part for something else, still all different, in the same order."""
    made: list[str] = []
    for name in names:
        plain = "".join(one if one.isalnum() or one in allowed else "_" for one in name)[:NAME_CHARACTERS_MAX] or "_"
        text, number = plain, 1
        while text in made:
            number += 1
            text = f"{plain}_{number}"
        made.append(text)
    return tuple(made)


def readable_table(hand: PokerHand) -> str:
    """Return the table's name, else its id."""
    (name,) = readable([hand.table_name or hand.table_id], allowed="_-. ")
    return name


def arranged(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return lines as this format has them: every hand that was shown once, at the end."""
    shown = {line.seat: line for line in lines if isinstance(line, Shown)}
    return (*[line for line in lines if not isinstance(line, Shown)], *shown.values())


def pot_name(index: int, count: int) -> str:
    """Return what a pot is called."""
    if count == 1:
        return "pot"
    if index == 0:
        return "main pot"
    return "side pot" if count == 2 else f"side pot-{index}"


class _Writer:
    def __init__(self, hand: PokerHand) -> None:
        self.hand = hand
        self.names = dict(
            zip([seat.seat for seat in hand.seats], readable([s.player for s in hand.seats]), strict=True)
        )
        self.board: list[Card] = []

    def lines(self) -> Iterator[str]:
        """Yield the lines of the hand."""
        hand = self.hand
        yield self._header()
        seats = hand.table_seats or TABLE_SEATS_MAX
        table = readable_table(hand)
        yield f"Table '{table}' {seats}-max (Play Money) Seat #{hand.button} is the button"
        for seat in hand.seats:
            yield f"Seat {seat.seat}: {self.names[seat.seat]} ({seat.stack} in chips)"
        lines = arranged(hand.lines)
        posts = [line for line in lines if isinstance(line, Post)]
        for post in posts:
            yield f"{self.names[post.seat]}: {POSTS[post.kind]} {post.amount}{_all_in(post.is_all_in)}"
        yield "*** HOLE CARDS ***"
        for seat in hand.seats:
            if seat.seat in hand.heroes and None not in seat.cards:
                yield f"Dealt to {self.names[seat.seat]} {_cards(seat.cards)}"
        is_showing = False
        for line in lines:
            if isinstance(line, Shown) and not is_showing:
                is_showing = True
                yield "*** SHOW DOWN ***"
            if not isinstance(line, Post):
                yield self._line(line)
        yield from self._collected()
        yield from self._summary()

    def _header(self) -> str:
        hand = self.hand
        at = moment(hand.started_at_ms)
        when = f"{at.year:04}/{at.month:02}/{at.day:02} {at.hour:02}:{at.minute:02}:{at.second:02} UTC"
        blinds = f"({hand.small_blind}/{hand.big_blind})"
        game = GAMES[hand.game, hand.limit]
        number = number_of(hand.hand_id)
        if hand.tournament_id:
            tournament = number_of(hand.tournament_id)
            return (
                f"PokerStars Hand #{number}: Tournament #{tournament}, 0+0 {game} - Level {_roman(hand.level)} {blinds}"
                f" - {when}"
            )
        return f"PokerStars Hand #{number}:  {game} {blinds} - {when}"

    def _line(self, line: Line) -> str:
        match line:
            case Act(seat=seat):
                return f"{self.names[seat]}: {_act(line)}{_all_in(line.is_all_in)}"
            case Board(street=street, cards=cards):
                before = f"{_cards(self.board)} " if self.board else ""
                self.board += cards
                return f"*** {STREETS[street]} *** {before}{_cards(cards)}"
            case Returned(seat=seat, amount=amount):
                return f"Uncalled bet ({amount}) returned to {self.names[seat]}"
            case Shown(seat=seat, cards=cards, category=category):
                return f"{self.names[seat]}: shows {_cards(cards)} ({CATEGORIES[category]})"
            case Post():
                raise AssertionError("posts stand before the cards")

    def _collected(self) -> Iterator[str]:
        count = len(self.hand.pots)
        for index, pot in enumerate(self.hand.pots):
            for take in pot.takes:
                yield f"{self.names[take.seat]} collected {take.amount} from {pot_name(index, count)}"
        if self.hand.result == "uncontested":
            for seat in self.hand.won:
                yield f"{self.names[seat]}: doesn't show hand"

    def _summary(self) -> Iterator[str]:
        hand = self.hand
        yield "*** SUMMARY ***"
        if hand.result == "void":
            yield "Hand cancelled"
        count = len(hand.pots)
        parts = [f" {pot_name(i, count).capitalize()} {pot.amount}." for i, pot in enumerate(hand.pots) if count > 1]
        yield f"Total pot {sum(pot.amount for pot in hand.pots)}{''.join(parts)} | Rake 0"
        if self.board:
            yield f"Board {_cards(self.board)}"
        for seat in hand.seats:
            yield f"Seat {seat.seat}: {self.names[seat.seat]}{self._place(seat.seat)} {self._end(seat.seat)}"

    def _place(self, seat: int) -> str:
        posts = {line.kind for line in self.hand.lines if isinstance(line, Post) and line.seat == seat}
        words = ["button"] if seat == self.hand.button else []
        words += [kind.replace("_", " ") for kind in ("small_blind", "big_blind") if kind in posts]
        return "".join(f" ({word})" for word in words)

    def _end(self, seat: int) -> str:
        hand, won = self.hand, self.hand.won
        street = "before Flop"
        for line in hand.lines:
            if isinstance(line, Board):
                street = f"on the {line.street.capitalize()}"
            if isinstance(line, Act) and line.seat == seat and line.kind == "fold":
                return f"folded {street}"
        if (shown := hand.shown.get(seat)) is not None:
            outcome = f"won ({won[seat]})" if seat in won else "lost"
            return f"showed {_cards(shown.cards)} and {outcome} with {CATEGORIES[shown.category]}"
        return f"collected ({won[seat]})" if seat in won else "did not fold"


def _act(line: Act) -> str:
    match line.kind:
        case "fold":
            return "folds"
        case "check":
            return "checks"
        case "call":
            return f"calls {line.added}"
        case "bet":
            return f"bets {line.added}"
        case "raise":
            return f"raises {line.by} to {line.to}"


def _all_in(is_all_in: bool) -> str:
    return " and is all-in" if is_all_in else ""


def _cards(cards: Sequence[Card | None]) -> str:
    return "[" + " ".join(format_card(card) for card in cards if card is not None) + "]"


def _roman(number: int) -> str:
    made = ""
    for value, letters in _ROMAN:
        while number >= value:
            made += letters
            number -= value
    return made or "I"


_ROMAN: Final = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X")),
    *((9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
