"""The shape of every aggregate: ``decide`` says what happens, ``evolve`` records it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


class Rejected(Exception):  # noqa: N818  (a refusal is an answer to the caller, not a fault of the program)
    """A command that means nothing here: no event comes of it.

    ``reason`` is UPPER_SNAKE and goes out as ``ErrorInfo.reason``; ``facts`` holds everything variable that a message
    may need. Facts are shown to the caller: never put a hidden card into them.
    """

    def __init__(self, reason: str, **facts: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.facts = facts

    def __str__(self) -> str:
        return " ".join([self.reason, *(f"{name}={value}" for name, value in self.facts.items())])


def _never(_state: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Decider[S, C, E]:
    """An aggregate as three functions of values.

    ``decide`` raises `Rejected` or returns the batch of events, changes nothing and looks at no clock; ``evolve`` is
    total over the events and contains no rule.
    """

    initial: S
    decide: Callable[[S, C], Sequence[E]]
    evolve: Callable[[S, E], S]
    is_terminal: Callable[[S], bool] = _never

    def fold(self, events: Iterable[E], state: S | None = None) -> S:
        """Return the state after the events, from ``state`` or from the beginning."""
        current = self.initial if state is None else state
        for event in events:
            current = self.evolve(current, event)
        return current
