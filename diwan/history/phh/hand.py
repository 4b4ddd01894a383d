"""A hand as a Poker Hand History tells it, in whole chips."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal

from msgspec import Struct

from diwan.core.cards import Card

type Game = Literal["holdem", "omaha"]
type Amount = int | Fraction
type Word = Literal["fold", "call", "to", "show", "board"]

VARIANTS: Final[Mapping[str, Game]] = {"NT": "holdem", "PO": "omaha"}
"""The codes of the games that are played here."""

UNKNOWN: Final = "??"


class PhhError(ValueError):
    """A history that cannot be read, or tells what cannot have happened; the message says what, and where."""


class NotCovered(Exception):  # noqa: N818  (an answer: such hands are not played here)
    """A history of a game or a custom that is not played here; the message says which."""


class PhhAction(Struct, frozen=True):
    """One of the history's actions, without the cards dealt to players.

    ``index`` is its place in the history's list, from 0. ``to`` is the total of a bet or raise; ``cards`` are those of
    the board, with None for one that is unknown. ``show`` is a showing where ``is_shown``, else a muck.
    """

    index: int
    player: int  # from 0; -1 is the dealer
    word: Word
    to: int = 0
    cards: tuple[Card | None, ...] = ()
    is_shown: bool = False


class PhhHand(Struct, frozen=True):
    """A hand in whole chips: all amounts of the history multiplied by ``scale``.

    Lists are indexed by player, the history's ``p1`` first: the one left of the button, so that the last has it.
    ``antes`` and ``blinds`` are what each really owes (heads-up the history has them the other way round); a negative
    blind is one that is posted without being in its place. ``holes`` holds None for each unknown card.
    ``finishing`` and ``winnings`` are not rounded, and None where the history does not give them.
    """

    variant: str
    game: Game
    scale: int
    antes: tuple[int, ...]
    blinds: tuple[int, ...]
    min_bet: int
    stacks: tuple[int, ...]
    holes: tuple[tuple[Card | None, ...], ...]
    actions: tuple[PhhAction, ...]
    names: tuple[str, ...]
    finishing: tuple[Amount, ...] | None
    winnings: tuple[Amount, ...] | None
    fields: Mapping[str, Any]  # as they stand in the history
