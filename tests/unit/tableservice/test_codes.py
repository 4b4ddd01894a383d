"""Join codes: unguessable, and read as people type them (TB-3)."""

from hashlib import sha256
from pathlib import Path

import pytest

from services.table.codes import ALPHABET, CODE_CHARACTERS, hash_of, new_code

PAGE = Path(__file__).parents[3] / "docs/reference/hashing.md"
CODE = "7KQ4-M2XW-9RTA-3HVB"


def test_a_code_has_80_bits_and_no_two_are_alike():
    codes = {new_code() for _ in range(2000)}
    assert len(codes) == 2000
    plain = [code.replace("-", "") for code in codes]
    assert {len(code) for code in plain} == {CODE_CHARACTERS}
    assert set("".join(plain)) == set(ALPHABET), "every letter is drawn"
    assert len(ALPHABET) ** CODE_CHARACTERS == 2**80


def test_the_hash_is_that_of_the_page():
    """The test vector of docs/reference/hashing.md, made apart: length-prefixed label and text."""
    parts = [b"joincode/v1", CODE.replace("-", "").encode()]
    apart = sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).digest()
    assert hash_of(CODE) == apart
    assert apart.hex() in PAGE.read_text()


@pytest.mark.parametrize("typed", ["7kq4-m2xw-9rta-3hvb", "7KQ4M2XW9RTA3HVB", " 7KQ4 M2XW 9RTA 3HVB "])
def test_a_code_is_read_as_people_type_it(typed):
    assert hash_of(typed) == hash_of(CODE)


def test_letters_that_look_like_digits_are_those_digits():
    assert hash_of("O0I1L1" + "2" * 10) == hash_of("001111" + "2" * 10)


@pytest.mark.parametrize("text", ["", "7KQ4", CODE + "A", "U" * 16, "\u0667" * 16, "-" * 1000, "7" * 65, "\u00df" * 16])
def test_what_is_no_code_has_no_hash(text):
    assert hash_of(text) is None
