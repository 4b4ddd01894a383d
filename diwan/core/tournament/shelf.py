"""A map that is never changed: putting something in costs a small part of it, however much it holds.

A tournament of 10,000 players has a record for each; one event touches a few of them and must not copy the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from zlib import crc32

from msgspec import Struct

_SHARDS: Final = 256
_EMPTY: Final[tuple[dict[object, object], ...]] = ({},) * _SHARDS


def _shard(key: int | str) -> int:
    # Not hash(): that of a text differs from process to process, and a state would differ from its replay.
    return key % _SHARDS if isinstance(key, int) else crc32(key.encode()) % _SHARDS


class Shelf[K: int | str, V](Struct, frozen=True):
    """Values by whole numbers of 0 or more, or by texts. Iteration has an order of its own, the same in every process."""

    shards: tuple[dict[K, V], ...] = _EMPTY  # type: ignore[assignment]  # the empty one is everybody's
    size: int = 0

    def __len__(self) -> int:
        return self.size

    def __contains__(self, key: K) -> bool:
        return key in self.shards[_shard(key)]

    def __getitem__(self, key: K) -> V:
        return self.shards[_shard(key)][key]

    def get(self, key: K) -> V | None:
        """Return the value, or None."""
        return self.shards[_shard(key)].get(key)

    def put(self, key: K, value: V) -> Shelf[K, V]:
        """Return the map with a value in place."""
        number = _shard(key)
        shard = self.shards[number]
        grown = self.size + (key not in shard)
        return Shelf((*self.shards[:number], {**shard, key: value}, *self.shards[number + 1 :]), grown)

    def drop(self, key: K) -> Shelf[K, V]:
        """Return the map without a key; one that is not there is no matter."""
        number = _shard(key)
        if key not in self.shards[number]:
            return self
        shard = {each: value for each, value in self.shards[number].items() if each != key}
        return Shelf((*self.shards[:number], shard, *self.shards[number + 1 :]), self.size - 1)

    def keys(self) -> Iterator[K]:
        """Yield the keys."""
        for shard in self.shards if self.size else ():
            yield from shard

    def values(self) -> Iterator[V]:
        """Yield the values."""
        for shard in self.shards if self.size else ():
            yield from shard.values()

    def items(self) -> Iterator[tuple[K, V]]:
        """Yield keys with their values."""
        for shard in self.shards if self.size else ():
            yield from shard.items()
