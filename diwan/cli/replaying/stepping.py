"""Walking through a story, by words or by keys; where one stands is all that changes."""

from __future__ import annotations

import os
import re
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from diwan.cli.replaying.story import Step

KEYS: Final[Mapping[bytes, str]] = {
    **dict.fromkeys((b"\n", b"\r", b" ", b"n", b"\x1b[C", b"\x1b[B"), "next"),
    **dict.fromkeys((b"b", b"p", b"\x7f", b"\x1b[D", b"\x1b[A"), "back"),
    **dict.fromkeys((b"s", b"\t", b"\x1b[6~"), "street"),
    **dict.fromkeys((b"S", b"\x1b[Z", b"\x1b[5~"), "before"),
    **dict.fromkeys((b"g", b"\x1b[H", b"\x1b[1~"), "first"),
    **dict.fromkeys((b"e", b"G", b"\x1b[F", b"\x1b[4~"), "last"),
    **dict.fromkeys((b"q", b"\x1b", b"\x03", b"\x04", b""), "quit"),
    b"v": "version",
    b"?": "help",
    b"h": "help",
}

_KEY_BYTES: Final = 64
_SEQUENCE: Final = re.compile(rb"\x1b\[[0-9;]*[A-Za-z~]").match


class Walk:
    """Where one stands in a story."""

    def __init__(self, steps: Sequence[Step], at: int = 0) -> None:
        self.steps = steps
        self.at = at

    @property
    def step(self) -> Step:
        """The moment that one stands at."""
        return self.steps[self.at]

    def go(self, word: str, argument: str = "") -> bool:
        """Go somewhere; returns whether one stands elsewhere now. Raises KeyError for a word that means nothing."""
        to = self._target(word, argument)
        if to is None or not 0 <= to < len(self.steps) or to == self.at:
            return False
        self.at = to
        return True

    def _target(self, word: str, argument: str) -> int | None:
        match word:
            case "next":
                return self.at + 1
            case "back":
                return self.at - 1
            case "first":
                return 0
            case "last":
                return len(self.steps) - 1
            case "street":
                return self._street(argument) if argument else self._next_street()
            case "before":
                return self._street_before()
            case "version":
                return self._version(argument)
            case _:
                raise KeyError(word)

    def _street(self, name: str) -> int | None:
        return next((at for at, step in enumerate(self.steps) if step.street == name), None)

    def _next_street(self) -> int | None:
        here = self.step.street
        return next((at for at in range(self.at, len(self.steps)) if self.steps[at].street != here), None)

    def _street_before(self) -> int | None:
        """Return where this street begins or, where one stands there, where the one before it does."""
        first = next(at for at in range(self.at, -1, -1) if at == 0 or self.steps[at - 1].street != self.step.street)
        if first < self.at or first == 0:
            return first
        before = self.steps[first - 1].street
        return next(at for at in range(first - 1, -1, -1) if at == 0 or self.steps[at - 1].street != before)

    def _version(self, text: str) -> int | None:
        """Return the moment that an event of a version belongs to."""
        if not text.isdecimal():
            return None
        wanted = int(text)
        if wanted < self.steps[0].happened[0].version:
            return None
        return next((at for at, step in enumerate(self.steps) if wanted <= step.version), None)


type Show = Callable[[str], None]


def walk_by_words(
    walk: Walk, lines: Iterator[str], show: Callable[[Step], None], say: Show, say_help: str, no: str
) -> None:
    """Walk by a word or a key's letter a line, as it comes through a pipe: each place that one comes to is shown."""
    show(walk.step)
    for line in lines:
        word, _, argument = line.strip().partition(" ")
        word = KEYS.get(word.encode(), word) if word else "next"
        if word == "quit":
            return
        try:
            if walk.go(word, argument.strip()):
                show(walk.step)
            else:
                say(no)
        except KeyError:
            say(say_help)


def walk_by_keys(
    walk: Walk,
    read_key: Callable[[], bytes],
    show: Callable[[Step], None],
    say: Show,
    ask: Callable[[], str],
    texts: Mapping[str, str],
) -> None:
    """Walk by single keys."""
    show(walk.step)
    while True:
        word = KEYS.get(read_key())
        if word == "quit":
            return
        if word in {None, "help"}:
            say(texts["keys"])
            continue
        argument = ask() if word == "version" else ""
        if walk.go(str(word), argument):
            show(walk.step)
        elif word not in {"next", "back"}:
            say(texts["no_such"])


@contextmanager
def single_keys(file: int) -> Iterator[Callable[[], bytes]]:
    """Let a terminal give each key at once; as it was afterwards, whatever happens."""
    before = termios.tcgetattr(file)
    tty.setcbreak(file)
    try:
        yield Keys(lambda: os.read(file, _KEY_BYTES))
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


class Keys:
    """Gives keys one by one, however many of them a read brings; nothing at the end of the input."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._waiting = b""

    def __call__(self) -> bytes:
        """Return the next key: a byte, or the sequence of a key that has one."""
        if not self._waiting:
            self._waiting = self._read()
        sequence = _SEQUENCE(self._waiting)
        size = 1 if sequence is None else sequence.end()
        key, self._waiting = self._waiting[:size], self._waiting[size:]
        return key


def asked_number(read_key: Callable[[], bytes], prompt: str) -> str:
    """Return the digits that are typed until Enter; nothing where it is left with Escape."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    digits = ""
    while True:
        key = read_key()
        if key in {b"\n", b"\r", b"", b"\x04"}:
            break
        if key in {b"\x1b", b"\x03"}:
            digits = ""
            break
        if key == b"\x7f" and digits:
            digits = digits[:-1]
            sys.stdout.write("\b \b")
        elif key.isdigit():
            digits += key.decode()
            sys.stdout.write(key.decode())
        sys.stdout.flush()
    sys.stdout.write("\n")
    return digits
