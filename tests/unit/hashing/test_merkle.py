import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core import merkle


def _rfc_6962_root(leaves):
    """The tree as RFC 6962 section 2.1 defines it: by splitting at the largest power of two below the size."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return merkle.node_hash(_rfc_6962_root(leaves[:split]), _rfc_6962_root(leaves[split:]))


def _leaves(size):
    return [merkle.leaf_hash(b"entry %d" % index) for index in range(size)]


@pytest.mark.parametrize("size", [*range(70), 127, 128, 129])
def test_roots_are_those_of_rfc_6962(size):
    assert merkle.root(_leaves(size)) == _rfc_6962_root(_leaves(size))


def test_the_published_vectors_of_certificate_transparency_hold():
    """Known answers of the RFC 6962 reference implementation (certificate-transparency, merkletree tests)."""
    entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    leaves = [merkle.leaf_hash(bytes.fromhex(entry)) for entry in entries]

    assert merkle.root(leaves[:1]).hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert merkle.root(leaves[:2]).hex() == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    assert merkle.root(leaves).hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@given(st.integers(1, 80), st.data())
def test_every_leaf_has_a_path_to_the_root_and_to_no_other_place(size, data):
    leaves = _leaves(size)
    levels = merkle.tree(leaves)
    index = data.draw(st.integers(0, size - 1))
    path = merkle.path(levels, index)

    assert merkle.root_by_path(leaves[index], index, size, path) == levels[-1][0]
    for other in range(size):
        if other != index:
            assert merkle.root_by_path(leaves[index], other, size, path) != levels[-1][0]


@pytest.mark.parametrize("size", [1, 2, 3, 52])
def test_paths_of_a_wrong_length_or_with_odd_hashes_lead_nowhere(size):
    leaves = _leaves(size)
    for index in range(size):
        path = merkle.path(merkle.tree(leaves), index)
        assert merkle.root_by_path(leaves[index], index, size, (*path, bytes(32))) is None
        if path:
            assert merkle.root_by_path(leaves[index], index, size, path[:-1]) is None
            assert merkle.root_by_path(leaves[index], index, size, (*path[:-1], path[-1] + b"x")) is None


@pytest.mark.parametrize("index", [-1, 3])
def test_there_is_no_path_outside_the_tree(index):
    with pytest.raises(IndexError):
        merkle.path(merkle.tree(_leaves(3)), index)
    assert merkle.root_by_path(_leaves(3)[0], index, 3, ()) is None
    with pytest.raises(ValueError, match="has a leaf"):
        merkle.tree([])
