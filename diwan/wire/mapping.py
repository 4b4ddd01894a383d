"""What the mappings of events share: errors, names of enumerations, one row a kind of event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAliasType, get_args

from msgspec.structs import fields

from diwan.core.fairness import Reveal


class WireError(Exception):
    """Bytes that are no event of ours. Never skipped: who folds past it would have another state than the log."""


class UnknownEvent(WireError):  # noqa: N818  (what it is, not that it is an error, tells the caller what to do)
    """An event type or schema version that this code does not know: newer code wrote it (H4)."""


class MalformedEvent(WireError):  # noqa: N818  (as above)
    """A body that does not hold what its type says."""


class Row(NamedTuple):
    """How one kind of event is written into its message and read from it.

    ``shows`` is True where the message carries a reveal for each of the event's positions. ``message`` is the message's
    name where it is not the kind's: two aggregates may call what happens to each the same.
    """

    kind: type
    write: Callable[[Any, Any], None]
    read: Callable[[Any], Any]
    shows: bool = False
    message: str = ""

    @property
    def name(self) -> str:
        """The message's name, by which the contract knows this kind of event."""
        return self.message or self.kind.__name__


def plain_row(kind: Any, message_class: Any) -> Row:
    """Return the row of an event whose message has its fields, by the same names and of the same types."""
    names = tuple(field.name for field in fields(kind))
    assert set(names) == set(message_class.DESCRIPTOR.fields_by_name), f"{kind.__name__} differs"  # noqa: S101

    def write(message: Any, event: Any) -> None:
        for name in names:
            setattr(message, name, getattr(event, name))

    def read(message: Any) -> Any:
        return kind(*(getattr(message, name) for name in names))

    return Row(kind, write, read)


class _Names(dict[int, Any]):
    """Numbers to names; a number without a name is a fault of the bytes, not of the program."""

    def __missing__(self, number: int) -> Any:
        raise MalformedEvent(f"no name stands for the number {number}")


def named(names: TypeAliasType | Any, enum: Any) -> tuple[dict[Any, Any], dict[int, Any]]:
    """Return name -> number and number -> name for a ``Literal`` of the core and its enumeration.

    ``small_blind`` and ``POST_KIND_SMALL_BLIND`` belong together: the contract's prefix is the enumeration's name. A
    name without a number stops the import.
    """
    prefix = enum.keys()[0].removesuffix("UNSPECIFIED")
    numbers = {name: enum.Value(prefix + name.upper()) for name in literals(names)}
    return numbers, _Names((number, name) for name, number in numbers.items())


def literals(names: TypeAliasType | Any) -> tuple[str, ...]:
    """Return the names of a ``Literal``, given as itself or as a ``type`` alias of it."""
    return get_args(names.__value__ if isinstance(names, TypeAliasType) else names)


def texts(names: TypeAliasType | Any) -> dict[str, Any]:
    """Return the names of a ``Literal`` that the contract spells as text, to themselves; see `known`."""
    return {name: name for name in literals(names)}


def known(names: dict[str, Any], text: str) -> Any:
    """Return the text if it is one of the names."""
    try:
        return names[text]
    except KeyError:
        raise MalformedEvent(f"{text[:40]!r} is none of {', '.join(names)}") from None


def write_reveals(messages: Any, reveals: Iterable[Reveal]) -> None:
    """Add reveals to a repeated field."""
    for reveal in reveals:
        messages.add(position=reveal.position, card=reveal.card, salt=reveal.salt, path=reveal.path)


def write_reveal(message: Any, reveal: Reveal) -> None:
    """Fill a message with a reveal."""
    message.position, message.card, message.salt = reveal.position, reveal.card, reveal.salt
    message.path.extend(reveal.path)


def read_reveals(messages: Iterable[Any]) -> tuple[Reveal, ...]:
    """Return the reveals of a repeated field, unverified."""
    return tuple(map(read_reveal, messages))


def read_reveal(message: Any) -> Reveal:
    """Return a reveal, unverified."""
    return Reveal(message.position, message.card, message.salt, tuple(message.path))
