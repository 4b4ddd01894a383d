"""Columns as the text of arrays: nothing in a value ends it, and no value is taken for another."""

from services.wallet.literals import literals


def test_numbers_and_booleans_stand_as_they_are():
    assert list(literals([(1, True), (-(2**53), False)], "nn")) == ["{1,-9007199254740992}", "{True,False}"]


def test_texts_are_quoted_whatever_is_in_them():
    (plain,) = literals([("a",), ("null",), ("",)], "t")
    (hostile,) = literals([('say "x"',), ("back\\slash",), ('","',)], "t")

    assert plain == '{"a","null",""}'
    assert hostile == '{"say \\"x\\"","back\\\\slash","\\",\\""}'


def test_what_is_missing_is_told_apart_from_the_text_null():
    assert list(literals([(None,), ("null",), ('"',)], "?")) == ['{null,"null","\\""}']


def test_no_rows_are_empty_columns():
    assert list(literals([], "tn?")) == ["{}", "{}", "{}"]
