"""What is said, in the language of whoever plays: words of ``words.toml``, with right-to-left text kept in order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

type Language = Literal["en", "ar"]

BETTING_GAMES: Final = ("holdem", "omaha", "naiko", "sarab")
GAMES: Final = (*BETTING_GAMES, "capsa")

# Invisible marks of Unicode's bidirectional algorithm. A terminal that knows them keeps each isolated piece whole and in
# its own direction; one that does not shows nothing for them.
LEFT_TO_RIGHT: Final = "\u2066"
OWN_DIRECTION: Final = "\u2068"
ISOLATE_END: Final = "\u2069"
RIGHT_TO_LEFT_MARK: Final = "\u200f"

MARKS: Final = LEFT_TO_RIGHT + OWN_DIRECTION + ISOLATE_END + RIGHT_TO_LEFT_MARK


class Words:
    """The words of one language and game: ``words("acted", who="Rami", word="fold")``."""

    def __init__(self, language: Language, game: str) -> None:
        self.language: Language = language
        self.game = game
        tables = [game, "poker", "phrases"] if game in BETTING_GAMES else [game, "phrases"]
        self._tables = [_catalogue()[table] for table in tables]

    def __call__(self, key: str, /, **facts: object) -> str:
        """Return a phrase with its facts; raises KeyError for one that the catalogue lacks.

        Numbers are grouped by thousands; every fact of a right-to-left phrase keeps its own direction.
        """
        text: str = next(table[key] for table in self._tables if key in table)[self.language]
        return text.strip("\n").format(**{name: self.piece(fact) for name, fact in facts.items()}) if facts else text

    def __contains__(self, key: str) -> bool:
        return any(key in table for table in self._tables)

    @property
    def is_right_to_left(self) -> bool:
        """Whether lines of this language begin at the right."""
        return self.language == "ar"

    def piece(self, fact: object) -> str:
        """Return a fact as text that stays whole inside a line."""
        text = f"{fact:,}" if isinstance(fact, int) else str(fact)
        return f"{OWN_DIRECTION}{text}{ISOLATE_END}" if self.is_right_to_left else text

    def both(self, parts: Iterable[str]) -> str:
        """Return parts as a list, with the language's comma."""
        return ("، " if self.language == "ar" else ", ").join(parts)

    def cards(self, text: str) -> str:
        """Return cards, which run from left to right in every language."""
        return f"{LEFT_TO_RIGHT}{text}{ISOLATE_END}" if self.is_right_to_left else text

    def line(self, text: str) -> str:
        """Return text as a line that begins on its language's side."""
        return RIGHT_TO_LEFT_MARK + text if self.is_right_to_left else text


def without_marks(text: str) -> str:
    """Return text without the invisible marks."""
    return text.translate(dict.fromkeys(map(ord, MARKS)))


@cache
def typed_words(*keys: str) -> Mapping[str, str]:
    """Return what may be typed for each of some commands: the word typed, and the command it stands for."""
    return {word: key for key in keys for word in _catalogue()["typed"][key]}


def phrases() -> Iterable[tuple[str, str, Mapping[str, str]]]:
    """Yield every phrase with its table and key."""
    for table, entries in _catalogue().items():
        if table != "typed":
            for key, texts in entries.items():
                yield table, key, texts


@cache
def _catalogue() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
