"""A hand is paid by a commit of its own, so that its proof shows nothing of others; who catches up pays many together."""

from __future__ import annotations

from diwan.core.ledger.accounts import named_id
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.requests import LinkedSet, Revocation
from services.wallet.works import HANDS_APART_MAX, Work, split

NAMESPACE = "7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a"


def paying(number: int, code: str = "hand") -> Work:
    transfer = Transfer(
        named_id(NAMESPACE, f"{number}"), named_id(NAMESPACE, "a"), named_id(NAMESPACE, "b"), 1, code, f"table/{number}"
    )
    return Work(LinkedSet((transfer,)))


def test_each_hand_stands_alone_between_what_is_committed_together():
    home = [paying(number, "cash_out") for number in range(4)]
    hands = [paying(10), paying(11, "line"), paying(12, "carried")]
    given_up = Work(Revocation(named_id(NAMESPACE, "x"), "R", "c"))
    works = [home[0], home[1], hands[0], home[2], given_up, hands[1], hands[2], home[3]]
    assert split(works) == [home[:2], [hands[0]], [home[2], given_up], [hands[1]], [hands[2]], [home[3]]]


def test_whoever_catches_up_pays_many_hands_together():
    hands = [paying(number) for number in range(HANDS_APART_MAX + 1)]
    assert len(split(hands)) == 1
    assert len(split(hands[:-1])) == HANDS_APART_MAX


def test_nothing_to_commit_is_one_empty_commit_and_no_order_changes():
    assert split([]) == [[]]
    works = [paying(number, "hand" if number % 3 else "cash_out") for number in range(30)]
    assert [work for commit in split(works) for work in commit] == works
