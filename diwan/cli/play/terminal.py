"""Keyboard and screen of a terminal, or a pipe in the place of either."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from rich.console import Console
from rich.text import Text

from diwan.cli.play.look import SYMBOLS, width
from diwan.cli.play.words import RIGHT_TO_LEFT_MARK

_READ_BYTES_MAX = 64 * 1024
_INDENT: Final = 2
_BETWEEN_CHOICES: Final = re.compile(r"(?<=\S) {5}(?=\S)")
_BETWEEN_WORDS: Final = re.compile(r"(?<=\S) +(?=\S)")


class Keys(Protocol):
    """A keyboard, as a session uses it."""

    def listen(self) -> None:
        """Begin to tell lines."""

    def close(self) -> None:
        """Stop."""


class Keyboard:
    """Lines of standard input, as they are finished; the end of the input is told as None."""

    def __init__(self, told: Callable[[str | None], None], file: int = 0) -> None:
        self._told = told
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = ""
        self._is_listening = False

    def listen(self) -> None:
        """Begin to read without holding up anything else."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._file, self._read)
            self._is_listening = True
        except PermissionError:
            # A regular file is always readable, which is why it cannot be waited for.
            while not self._take(os.read(self._file, _READ_BYTES_MAX)):
                pass

    def close(self) -> None:
        """Stop listening."""
        if self._is_listening:
            asyncio.get_running_loop().remove_reader(self._file)
            self._is_listening = False

    def _read(self) -> None:
        try:
            data = os.read(self._file, _READ_BYTES_MAX)
        except OSError:  # the terminal is gone
            data = b""
        if self._take(data):
            self.close()

    def _take(self, data: bytes) -> bool:
        """Hand out what is finished; returns whether the input has ended."""
        *lines, self._begun = (self._begun + self._decoder.decode(data, final=not data)).split("\n")
        for line in lines:
            self._told(line.rstrip("\r"))
        if data:
            return False
        if self._begun:
            self._told(self._begun)
        self._told(None)
        return True


class SharedKeyboard:
    """One keyboard for whoever listens at the moment; what is typed while nobody does waits for the next."""

    def __init__(self, keyboard: Callable[[Callable[[str | None], None]], Keys] = Keyboard) -> None:
        self._told: Callable[[str | None], None] | None = None
        self._kept: list[str | None] = []
        self._keyboard = keyboard(self._hear)

    def listen(self) -> None:
        """Begin to read."""
        self._keyboard.listen()

    def close(self) -> None:
        """Stop reading."""
        self._keyboard.close()

    def lend(self, told: Callable[[str | None], None]) -> Keys:
        """Return a keyboard that tells its lines while it listens."""
        return _Lent(self, told)

    def tell(self, told: Callable[[str | None], None] | None) -> None:
        """Tell lines to this listener from now on, first what has been typed meanwhile; None keeps them."""
        self._told = told
        while self._told is not None and self._kept:
            self._told(self._kept.pop(0))

    def _hear(self, line: str | None) -> None:
        if self._told is None:
            self._kept.append(line)
        else:
            self._told(line)


class _Lent:
    def __init__(self, shared: SharedKeyboard, told: Callable[[str | None], None]) -> None:
        self._shared = shared
        self._told = told

    def listen(self) -> None:
        self._shared.tell(self._told)

    def close(self) -> None:
        self._shared.tell(None)


def can_write(text: str) -> bool:
    """Say whether standard output has the letters of a text."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def folded(line: str | Text, columns: int) -> list[Text]:
    """Return a line as lines that fit a terminal, broken between choices where it has some, else between words.

    What is continued is indented, and begins on the same side. A piece without a place to break is left to the terminal.
    """
    text = Text(line) if isinstance(line, str) else line
    if width(text.plain) <= columns:
        return [text]
    opening = RIGHT_TO_LEFT_MARK if text.plain.startswith(RIGHT_TO_LEFT_MARK) else ""
    plain = text.plain
    indent = len(plain) - len(plain.removeprefix(opening).lstrip(" ")) - len(opening) + _INDENT
    breaks = [found.start() for found in _BETWEEN_CHOICES.finditer(plain)] or [
        found.start() for found in _BETWEEN_WORDS.finditer(plain)
    ]
    parts, start = [], 0
    while start < len(plain):
        lead = opening + " " * indent if start else ""
        end = _end_of_part(plain, start, breaks, columns - width(lead))
        parts.append(Text.assemble(lead, text[start:end]))
        start = end + len(plain[end:]) - len(plain[end:].lstrip(" "))
    return parts


def _end_of_part(plain: str, start: int, breaks: list[int], columns: int) -> int:
    """Return where a line is broken that begins at ``start``: at the last place that fits, else at the first there is."""
    later = [place for place in breaks if plain[start:place].strip()] + [len(plain)]
    fitting = [place for place in later if width(plain[start:place]) <= columns]
    return max(fitting, default=later[0])


class Screen:
    """Writes lines, in colour where there is a terminal, and keeps a prompt at the end of the last one apart."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._is_at_prompt = False

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self._console.is_terminal

    @property
    def has_symbols(self) -> bool:
        """Whether it can show the symbols of suits."""
        try:
            SYMBOLS.encode(self._console.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def show(self, lines: Iterable[str | Text]) -> None:
        """Write lines."""
        for line in lines:
            if self._is_at_prompt:
                self._is_at_prompt = False
                self._console.print()
            for part in folded(line, self._console.width) if self.is_terminal else [line]:
                self._console.print(part, markup=False, soft_wrap=True)

    def ask(self, prompt: str) -> None:
        """Write a prompt where somebody reads along."""
        if self.is_terminal and not self._is_at_prompt:
            self._is_at_prompt = True
            self._console.print(prompt, end="", markup=False)
            sys.stdout.flush()

    def was_answered(self) -> None:
        """The person has ended the prompt's line by typing."""
        self._is_at_prompt = False
