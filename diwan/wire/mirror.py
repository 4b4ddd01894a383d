"""Messages that mirror records of the core: the same names, and of each field the type that follows from the core's.

A field of a ``Literal`` is text in the contract and one of its names here; a tuple is a repeated field, a record a
message, an optional field one with presence. Whatever does not fit stops the import, so a field that is added on one
side alone is noticed before anything is written.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAliasType, Union, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from msgspec import Struct
from msgspec.structs import fields

from diwan.core.hand.settings import HandSettings
from diwan.wire.hand import read_settings, write_settings
from diwan.wire.mapping import MalformedEvent, Row

type _Write = Callable[[Any, Any], None]
type _Read = Callable[[Any], Any]

_SCALARS = {
    int: frozenset({
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    }),
    str: frozenset({FieldDescriptor.CPPTYPE_STRING}),
    bytes: frozenset({FieldDescriptor.CPPTYPE_STRING}),
    bool: frozenset({FieldDescriptor.CPPTYPE_BOOL}),
}  # fmt: skip


class Mirror(NamedTuple):
    """How a record is written into its message, and read from it."""

    write: _Write
    read: _Read


class _Type(NamedTuple):
    """What a field's annotation says, taken apart."""

    item: Any
    is_many: bool
    is_optional: bool


_APART = {HandSettings: Mirror(write_settings, read_settings)}
"""Records whose messages do not mirror them, and have a mapping of their own."""


def mirror_row(kind: type[Struct], message_class: Any) -> Row:
    """Return the row of an event whose message mirrors it."""
    mirror = mirror_of(kind, message_class)
    return Row(kind, mirror.write, mirror.read, message=message_class.DESCRIPTOR.name)


@cache
def mirror_of(kind: type[Struct], message_class: Any) -> Mirror:
    """Return how a record of the core and its message are turned into each other; TypeError where they differ."""
    if kind in _APART:
        return _APART[kind]
    hints = get_type_hints(kind)
    described = message_class.DESCRIPTOR.fields_by_name
    names = [field.name for field in fields(kind)]
    if set(names) != set(described):
        raise TypeError(f"{kind.__name__} differs from its message: {sorted(set(names) ^ set(described))}")
    columns = [_column(kind, described[name], _taken_apart(hints[name])) for name in names]
    writes = [column[0] for column in columns]
    reads = [(name, column[1]) for name, column in zip(names, columns, strict=True)]

    def write(message: Any, record: Any) -> None:
        for each in writes:
            each(message, record)

    def read(message: Any) -> Any:
        return kind(**{name: each(message) for name, each in reads})

    return Mirror(write, read)


def _taken_apart(hint: Any) -> _Type:
    hint = _plain(hint)
    is_optional = False
    if get_origin(hint) in {Union, types.UnionType}:
        options = [each for each in get_args(hint) if each is not type(None)]
        if len(options) != 1 or len(options) == len(get_args(hint)):
            raise TypeError(f"{hint} is no type that a message mirrors")
        hint, is_optional = _plain(options[0]), True
    if get_origin(hint) is tuple:
        item, *rest = get_args(hint)
        if rest != [Ellipsis] or is_optional:
            raise TypeError(f"{hint} is no type that a message mirrors")
        return _Type(_plain(item), is_many=True, is_optional=False)
    return _Type(hint, is_many=False, is_optional=is_optional)


def _plain(hint: Any) -> Any:
    while isinstance(hint, TypeAliasType):
        hint = hint.__value__
    return hint


def _column(kind: type, field: Any, said: _Type) -> tuple[_Write, _Read]:
    where = f"{kind.__name__}.{field.name}"
    if field.is_repeated != said.is_many:
        raise TypeError(f"{where} is repeated on one side alone")
    if isinstance(said.item, type) and issubclass(said.item, Struct):
        if field.message_type is None:
            raise TypeError(f"{where} is a record, and no message in the contract")
        mirror = mirror_of(said.item, GetMessageClass(field.message_type))  # type: ignore[arg-type]  # classes are hashable
        return _of_records(field.name, mirror, said)
    names = _names(said.item)
    scalar = str if names else said.item
    if field.cpp_type not in _SCALARS.get(scalar, ()) or (scalar is bytes) != (field.type == field.TYPE_BYTES):
        raise TypeError(f"{where} has another type in the contract")
    if said.is_optional and not field.has_presence:
        raise TypeError(f"{where} is optional, and the contract cannot say that it is missing")
    if not said.is_optional and not said.is_many and field.has_presence:
        raise TypeError(f"{where} is optional in the contract alone")
    return _of_scalars(field.name, names, said)


def _names(item: Any) -> dict[str, str]:
    return {name: name for name in get_args(item)} if get_origin(item) is Literal else {}


def _of_records(name: str, mirror: Mirror, said: _Type) -> tuple[_Write, _Read]:
    write_one, read_one = mirror

    def write_many(message: Any, record: Any) -> None:
        add = getattr(message, name).add
        for each in getattr(record, name):
            write_one(add(), each)

    def read_many(message: Any) -> Any:
        return tuple([read_one(each) for each in getattr(message, name)])

    def write(message: Any, record: Any) -> None:
        value = getattr(record, name)
        if value is not None:
            part = getattr(message, name)
            part.SetInParent()
            write_one(part, value)

    def read(message: Any) -> Any:
        if message.HasField(name):
            return read_one(getattr(message, name))
        if said.is_optional:
            return None
        raise MalformedEvent(f"{name} is missing")

    return (write_many, read_many) if said.is_many else (write, read)


def _of_scalars(name: str, names: dict[str, str], said: _Type) -> tuple[_Write, _Read]:
    def checked(value: Any) -> Any:
        if names and value not in names:
            raise MalformedEvent(f"{value[:40]!r} is none of {', '.join(names)}")
        return value

    def write_many(message: Any, record: Any) -> None:
        getattr(message, name).extend(getattr(record, name))

    def read_many(message: Any) -> Any:
        found = tuple(getattr(message, name))
        return tuple(map(checked, found)) if names else found

    def write(message: Any, record: Any) -> None:
        value = getattr(record, name)
        if value is not None:
            setattr(message, name, value)

    def read(message: Any) -> Any:
        return checked(getattr(message, name)) if names else getattr(message, name)

    def read_optional(message: Any) -> Any:
        return read(message) if message.HasField(name) else None

    if said.is_many:
        return write_many, read_many
    return write, read_optional if said.is_optional else read
