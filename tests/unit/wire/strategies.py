"""Any event of the core, made from its type annotations: a new field is tested without being named here."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from diwan.core.fairness import Reveal

_BYTES_32 = st.binary(min_size=32, max_size=32)
_INT64 = st.integers(min_value=0, max_value=2**63 - 1)
_INT64_SIGNED = st.integers(min_value=-(2**63), max_value=2**63 - 1)
_SMALL = {
    "seat": 8,
    "button": 8,
    "big_blind_seat": 8,
    "small_blind_place": 8,
    "first_button": 8,
    "eligible": 8,
    "absent": 8,
    "index": 8,
    "seats": 9,
    "positions": 51,
    "holdings": 51,
    "position": 51,
    "discarded": 51,
    "taken": 51,
    "target": 8,
    "rules_version": 2**31 - 1,
    "decision_seconds": 2**31 - 1,
    "pause_ms": 2**31 - 1,
    "reserve_seconds": 2**31 - 1,
    "hold_seconds": 2**31 - 1,
    "sit_out_after": 2**31 - 1,
    "return_minutes": 2**31 - 1,
    "time_bank_seconds": 2**31 - 1,
    "time_bank_gain_seconds": 2**31 - 1,
    "spectator_delay_events": 2**31 - 1,
    "bots_fill": 9,
    "count": 2**32 - 1,
    "players": 4,
    "set_seconds": 2**31 - 1,
    "declare_seconds": 2**31 - 1,
    "a": 3,
    "b": 3,
    "other": 3,
    "front": 51,
    "middle": 51,
    "back": 51,
}
_SIGNED = {"payoffs", "row_units", "overall", "scoop", "royalty", "chips"}
_OF_RECORD = {
    ("PairSettled", "other"): _INT64_SIGNED,
    ("PairSettled", "units"): _INT64_SIGNED,
    **{("RowResults", row): st.integers(min_value=-1, max_value=1) for row in ("front", "middle", "back")},
}


def integers(field: str) -> st.SearchStrategy[int]:
    if field in _SIGNED:
        return _INT64_SIGNED
    return st.integers(min_value=0, max_value=_SMALL[field]) if field in _SMALL else _INT64


def values(kind: inspect.Type, field: str) -> st.SearchStrategy:
    match kind:
        case inspect.IntType():
            return integers(field)
        case inspect.BoolType():
            return st.booleans()
        case inspect.StrType():
            return st.text(max_size=40)
        case inspect.BytesType():
            return _BYTES_32
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=names):
            return st.sampled_from(sorted(names))
        case inspect.UnionType(types=kinds):
            return st.one_of(*(values(one, field) for one in kinds))
        case inspect.VarTupleType(item_type=item):
            return st.lists(values(item, field), max_size=9).map(tuple)
        case inspect.StructType(cls=cls):
            return records(cls)
        case _:
            raise TypeError(f"no strategy for {kind}")


def records(cls: type[msgspec.Struct]) -> st.SearchStrategy:
    fields = inspect.type_info(cls).fields
    own = {name: drawn for (record, name), drawn in _OF_RECORD.items() if record == cls.__name__}
    return st.builds(cls, **{field.name: values(field.type, field.name) for field in fields} | own)


def reveal_of(position: int) -> Reveal:
    """A reveal with a shape of its own for every position; wire does not verify it."""
    path = tuple(bytes([position, number]) * 16 for number in range(6))
    return Reveal(position, (position * 7 + 3) % 52, bytes([position]) * 32, path)
