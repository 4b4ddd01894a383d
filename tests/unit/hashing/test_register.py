"""The growing tree equals the tree over all its leaves (P8)."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core import merkle
from diwan.core.register import Edge, grow


def leaves(count: int) -> list[bytes]:
    return [sha256(b"%d" % number).digest() for number in range(count)]


@pytest.mark.parametrize("size", [*range(70), 255, 256, 257, 1000])
def test_the_root_is_that_of_the_whole_tree(size):
    assert grow(Edge(), leaves(size)).root == merkle.root(leaves(size))


@given(st.lists(st.integers(min_value=0, max_value=40), max_size=8))
def test_it_does_not_matter_in_how_many_steps_it_grew(steps):
    edge = Edge()
    every = leaves(sum(steps))
    at = 0
    for step in steps:
        edge = grow(edge, every[at : at + step])
        at += step
    assert edge == grow(Edge(), every)
    assert edge.root == merkle.root(every)


def test_the_edge_stays_small():
    """O(log n): a tree of 1,000 leaves is kept as six hashes."""
    assert len(grow(Edge(), leaves(1000)).peaks) == 6


def test_an_edge_that_is_none_is_refused():
    for size, peaks in ((1, ()), (3, (bytes(32),)), (-1, (bytes(32),))):
        with pytest.raises(ValueError, match="peak"):
            Edge(size, peaks)
