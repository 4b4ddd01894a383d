"""From the text of a Poker Hand History to a hand: every field that matters is looked at before it is believed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import lcm
from typing import Any, Final

from msgspec import Struct

from diwan.core.cards import Card, CardTextError, format_card, parse_card
from diwan.core.games import GAMES
from diwan.core.limits import PLAYERS_MIN, SEATS_MAX, STACK_MAX
from diwan.history.phh.hand import UNKNOWN, VARIANTS, Amount, Game, NotCovered, PhhAction, PhhError, PhhHand

_SCALE_MAX: Final = 10_000  # Finer fractions are divided pots or noise of floating point, not chips.
_BOARD: Final = 5


class Document(Struct, frozen=True):
    """One hand's fields as the text has them; ``label`` is its number in a file of many, else empty."""

    label: str
    fields: Mapping[str, Any]


def read_documents(text: str) -> tuple[Document, ...]:
    """Return the hands of a ``.phh`` or ``.phhs`` text; raise `PhhError` where it is no TOML or holds no hand."""
    try:
        made = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, InvalidOperation, RecursionError) as error:
        raise PhhError(f"no TOML: {error}") from error
    if "variant" in made:
        return (Document("", made),)
    if not made or not all(isinstance(value, dict) for value in made.values()):
        raise PhhError("no hand: there is no field named variant")
    return tuple(Document(label, fields) for label, fields in made.items())


def read_hand(fields: Mapping[str, Any]) -> PhhHand:
    """Return a document's hand; raise `NotCovered` for what is not played here, `PhhError` for what is wrong."""
    variant = fields.get("variant")
    if not isinstance(variant, str):
        raise PhhError("variant: a text is wanted")
    if variant not in VARIANTS:
        raise NotCovered(f"variant {variant}")
    stacks = _amounts(fields, "starting_stacks")
    players = len(stacks)
    if players > SEATS_MAX:
        raise NotCovered(f"{players} players: a table has {SEATS_MAX} seats")
    if players < PLAYERS_MIN or not all(stack > 0 for stack in stacks):
        raise PhhError("starting_stacks: two or more players with chips are wanted")
    antes = _amounts(fields, "antes", players)
    blinds = _amounts(fields, "blinds_or_straddles", players)
    min_bet = _amount(fields.get("min_bet"), "min_bet")
    finishing = _amounts(fields, "finishing_stacks", players) if "finishing_stacks" in fields else None
    winnings = _amounts(fields, "winnings", players) if "winnings" in fields else None
    actions = _Actions(VARIANTS[variant], players)
    for index, action in enumerate(_texts(fields, "actions")):
        actions.take(index, action)
    scale = _scale((*stacks, *antes, *blinds, min_bet, *actions.amounts), (*(finishing or ()), *(winnings or ())))
    if max(stacks) * scale > STACK_MAX:
        raise NotCovered("stacks larger than any here")
    if players == 2:  # The history has them the other way round.
        antes, blinds = antes[::-1], blinds[::-1]
    return PhhHand(
        variant=variant,
        game=VARIANTS[variant],
        scale=scale,
        antes=_whole(antes, scale),
        blinds=_whole(blinds, scale),
        min_bet=int(min_bet * scale),
        stacks=_whole(stacks, scale),
        holes=actions.known_holes(),
        actions=actions.scaled(scale),
        names=_names(fields, players),
        finishing=_scaled(finishing, scale),
        winnings=_scaled(winnings, scale),
        fields=fields,
    )


class _Actions:
    """The list of actions, read in order: cards are kept apart, since a player's may become known only at the end."""

    def __init__(self, game: Game, players: int) -> None:
        self.each = GAMES[game].hole_cards
        self.holes: list[list[Card | None]] = [[] for _ in range(players)]
        self.board = 0
        self.read: list[tuple[PhhAction, Amount]] = []

    @property
    def amounts(self) -> list[Amount]:
        return [to for _, to in self.read]

    def take(self, index: int, text: str) -> None:
        where = f"action {index + 1}, {text!r}"
        to: Amount = 0
        match text.partition("#")[0].split():
            case []:
                return
            case ["d", "dh", player, cards]:
                self._deal(self._player(player, where), _cards(cards, where), where)
                return
            case ["d", "db", cards]:
                action = PhhAction(index, -1, "board", cards=self._turned_up(_cards(cards, where), where))
            case [player, "f"]:
                action = PhhAction(index, self._player(player, where), "fold")
            case [player, "cc"]:
                action = PhhAction(index, self._player(player, where), "call")
            case [player, "cbr", total]:
                action = PhhAction(index, self._player(player, where), "to")
                to = _amount(total.replace(",", ""), where)
            case [player, "sm", *cards]:
                action = self._shown(index, self._player(player, where), cards, where)
            case _:
                raise PhhError(f"{where}: no action of this game")
        self.read.append((action, to))

    def known_holes(self) -> tuple[tuple[Card | None, ...], ...]:
        """Every player's cards, unknown ones where the history deals none."""
        holes = [(*hole, *[None] * (self.each - len(hole))) for hole in self.holes]
        known = [card for hole in holes for card in hole if card is not None]
        known += [card for action, _ in self.read for card in action.cards if card is not None]
        for card in set(known):
            if known.count(card) > 1:
                raise PhhError(f"{format_card(card)} is dealt twice")
        return tuple(holes)

    def scaled(self, scale: int) -> tuple[PhhAction, ...]:
        return tuple(
            [
                PhhAction(one.index, one.player, one.word, int(to * scale), one.cards, one.is_shown) if to else one
                for one, to in self.read
            ]
        )

    def _player(self, text: str, where: str) -> int:
        number = text[1:]
        if text[:1] != "p" or not number.isdecimal() or not 1 <= int(number) <= len(self.holes):
            raise PhhError(f"{where}: {text} is none of the {len(self.holes)} players")
        return int(number) - 1

    def _deal(self, player: int, cards: Sequence[Card | None], where: str) -> None:
        self.holes[player] += cards
        if len(self.holes[player]) > self.each:
            raise PhhError(f"{where}: a player has {self.each} cards in this game")

    def _turned_up(self, cards: tuple[Card | None, ...], where: str) -> tuple[Card | None, ...]:
        self.board += len(cards)
        if self.board > _BOARD:
            raise NotCovered(f"{where}: more than one board")
        return cards

    def _shown(self, index: int, player: int, words: Sequence[str], where: str) -> PhhAction:
        """A showing may tell cards that were unknown so far; without a card it is a muck."""
        if not words:
            return PhhAction(index, player, "show")
        if words == ["-"]:
            return PhhAction(index, player, "show", is_shown=True)
        cards = _cards("".join(words), where)
        told = [card for card in cards if card is not None]
        hole = self.holes[player]
        hole += [None] * (self.each - len(hole))
        new = [card for card in told if card not in hole]
        if len(cards) > self.each or len(new) > hole.count(None):
            raise PhhError(f"{where}: other cards than were dealt")
        for card in new:
            hole[hole.index(None)] = card
        return PhhAction(index, player, "show", is_shown=bool(told))


def _cards(text: str, where: str) -> tuple[Card | None, ...]:
    pairs = [text[start : start + 2] for start in range(0, len(text), 2)]
    try:
        return tuple([None if pair == UNKNOWN else parse_card(pair) for pair in pairs])
    except CardTextError as error:
        raise PhhError(f"{where}: {error}") from error


def _texts(fields: Mapping[str, Any], name: str) -> Iterator[str]:
    values = fields.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise PhhError(f"{name}: a list of texts is wanted")
    yield from values


def _names(fields: Mapping[str, Any], players: int) -> tuple[str, ...]:
    """Names, made different from each other; the format does not promise that they are."""
    given = list(_texts(fields, "players")) if "players" in fields else []
    if given and len(given) != players:
        raise PhhError(f"players: {players} names are wanted")
    names: list[str] = []
    for number, name in enumerate(given or [""] * players, 1):
        names.append(f"{name} (p{number})".strip() if not name or name in names else name)
    return tuple(names)


def _amounts(fields: Mapping[str, Any], name: str, count: int | None = None) -> list[Amount]:
    values = fields.get(name)
    if not isinstance(values, list) or (count is not None and len(values) != count):
        raise PhhError(f"{name}: a list of {'' if count is None else count} amounts is wanted")
    return [_amount(value, name) for value in values]


def _amount(value: Any, where: str) -> Amount:
    """Return a number as it stands: whole, where it is."""
    if type(value) is int:
        return value
    if isinstance(value, Decimal) and value.is_infinite():
        raise NotCovered(f"{where}: without end")
    if not isinstance(value, Decimal | str):
        raise PhhError(f"{where}: {value!r} is no amount")
    try:
        return int(value) if isinstance(value, str) and value.isdecimal() else Fraction(value)
    except (ValueError, ZeroDivisionError) as error:
        raise PhhError(f"{where}: {value!r} is no amount") from error


def _scale(put_in: Sequence[Amount], taken_out: Sequence[Amount]) -> int:
    """Return by what amounts are multiplied to be whole: those of a result too, unless they are no chips."""
    scale = lcm(*[amount.denominator for amount in put_in])
    if scale > _SCALE_MAX:
        raise NotCovered(f"amounts in parts of {scale}")
    with_results = lcm(scale, *[amount.denominator for amount in taken_out])
    return with_results if with_results <= _SCALE_MAX else scale


def _whole(amounts: Sequence[Amount], scale: int) -> tuple[int, ...]:
    return tuple([int(amount * scale) for amount in amounts])


def _scaled(amounts: Sequence[Amount] | None, scale: int) -> tuple[Amount, ...] | None:
    return None if amounts is None else tuple([amount * scale for amount in amounts])
