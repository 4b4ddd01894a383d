"""Rows of hands as three Parquet files. The library is asked for when it is used, for it is large."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, get_args, get_type_hints

import msgspec

from diwan.history.exports.rows import ActionRow, HandRow, HandRows, PlayerRow

VERSION: Final = "1"
"""Of the columns; stands in every file's metadata as ``diwan.version``."""

TABLES: Final[dict[str, type[msgspec.Struct]]] = {"hands": HandRow, "players": PlayerRow, "actions": ActionRow}
GROUP_ROWS: Final = 50_000


class ParquetMissingError(Exception):
    """pyarrow is not installed; the message says how to have it."""


class ParquetFiles:
    """``hands.parquet``, ``players.parquet`` and ``actions.parquet`` in a folder, whole when the block ends."""

    def __init__(self, folder: Path) -> None:
        try:
            import pyarrow as pa  # noqa: PLC0415  (large, and needed here alone)
            import pyarrow.parquet as pq  # noqa: PLC0415  (as above)
        except ModuleNotFoundError:
            raise ParquetMissingError("Parquet needs pyarrow: pip install 'diwan[analysts]'") from None
        self._arrow: Any = pa
        self._new_writer: Any = pq.ParquetWriter
        self._folder = folder
        self._rows: dict[str, list[msgspec.Struct]] = {name: [] for name in TABLES}
        self._writers: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, kind in TABLES.items():
            schema = self._schema(kind)
            # A half-written file never stands under the name that readers look for.
            draft = self._folder / f".{name}.parquet.new"
            self._writers[name] = self._new_writer(draft, schema, compression="zstd")
        return self

    def add(self, rows: HandRows) -> None:
        """Add one hand."""
        for name, more in (("hands", [rows.hand]), ("players", rows.players), ("actions", rows.actions)):
            self._rows[name] += more
            if len(self._rows[name]) >= GROUP_ROWS:
                self._flush(name)

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        for name, writer in self._writers.items():
            if kind is None:
                self._flush(name)
            writer.close()
            draft = self._folder / f".{name}.parquet.new"
            if kind is None:
                draft.replace(self._folder / f"{name}.parquet")
            else:
                draft.unlink()

    def _flush(self, name: str) -> None:
        rows = self._rows[name]
        if rows:
            columns = _columns(rows, TABLES[name])
            self._writers[name].write_table(self._arrow.table(columns, schema=self._schema(TABLES[name])))
            rows.clear()

    def _schema(self, kind: type[msgspec.Struct]) -> Any:
        fields = [
            self._arrow.field(name, self._type(hint), nullable=type(None) in get_args(hint))
            for name, hint in get_type_hints(kind).items()
        ]
        return self._arrow.schema(fields, metadata={"diwan.version": VERSION})

    def _type(self, hint: Any) -> Any:
        (plain,) = [one for one in get_args(hint) or (hint,) if one is not type(None)]
        return {int: self._arrow.int64(), str: self._arrow.string(), bool: self._arrow.bool_()}[plain]


def _columns(rows: Sequence[msgspec.Struct], kind: type[msgspec.Struct]) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in kind.__struct_fields__}
