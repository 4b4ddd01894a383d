"""A history beside the rules: whether both come to the same end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct

from diwan.core.hand.state import EndedHand, LiveHand
from diwan.history.phh.hand import Amount, NotCovered, PhhError, PhhHand
from diwan.history.phh.read import read_hand
from diwan.history.phh.replay import Divergence, Replay, replay_hand

_RAKE_PART: Final = 10


class Verdict(StrEnum):
    """What became of a history."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_COVERED = "not covered"


class Comparison(Struct, frozen=True):
    """A verdict on one hand.

    ``where`` names the action or field; expected is what the history says, found what the rules make of it. ``note``
    tells what was allowed for, such as a rake.
    """

    verdict: Verdict
    variant: str = ""
    where: str = ""
    what: str = ""
    expected: str = ""
    found: str = ""
    note: str = ""


def check_hand(fields: Mapping[str, Any]) -> Comparison:
    """Replay a document's hand and compare its end; never raises for what a history may hold."""
    variant = str(fields.get("variant", ""))
    try:
        hand = read_hand(fields)
        replay = replay_hand(hand)
    except NotCovered as reason:
        return Comparison(Verdict.NOT_COVERED, variant, what=str(reason))
    except Divergence as found:
        return Comparison(Verdict.DIFFERS, variant, where=_action_text(fields, found.index), what=str(found))
    except PhhError as wrong:
        return Comparison(Verdict.DIFFERS, variant, what=str(wrong))
    return _compare(hand, replay)


def _action_text(fields: Mapping[str, Any], index: int) -> str:
    actions = fields["actions"]
    return f"action {index + 1}, {actions[index]!r}" if index < len(actions) else "after the last action"


def _compare(hand: PhhHand, replay: Replay) -> Comparison:
    ended = replay.state
    assert isinstance(ended, EndedHand)  # noqa: S101  (a replay goes to the end)
    winners = _winners(ended.last)
    if winners & replay.stand_ins:
        return Comparison(Verdict.NOT_COVERED, hand.variant, what="a showdown won with cards that the history hides")
    is_told = hand.finishing is not None or hand.winnings is not None
    if not is_told and replay.stand_ins - replay.mucked:
        return Comparison(Verdict.NOT_COVERED, hand.variant, what="a showdown of which the history tells no end")
    slack = len(hand.stacks) if _is_split(ended.last) else 0
    found = _compare_stacks(hand, ended, slack) or _compare_winnings(hand, ended, slack)
    if winners & replay.mucked and (found or not is_told) and ended.ended.result == "showdown":
        what = "a hand was mucked that would have won: here all hands are shown (HD-19)"
        return Comparison(Verdict.NOT_COVERED, hand.variant, what=what)
    if found is not None:
        return found
    return Comparison(Verdict.AGREES, hand.variant, note=_rake_text(hand, ended.last))


def _winners(last: LiveHand) -> frozenset[int]:
    return frozenset(place for place, won in enumerate(last.won) if won)


def _is_split(last: LiveHand) -> bool:
    return any(len(pot.shares) > 1 for pot in last.pots)


def _compare_stacks(hand: PhhHand, ended: EndedHand, slack: int) -> Comparison | None:
    told, ours = hand.finishing, ended.ended.stacks
    if told is None or told == ours:
        return None
    for place, (theirs, stack) in enumerate(zip(told, ours, strict=True)):
        if abs(Fraction(theirs) - stack) > _tolerance(theirs, slack):
            return _difference(hand, "finishing_stacks", place, told, ours)
    return None


def _compare_winnings(hand: PhhHand, ended: EndedHand, slack: int) -> Comparison | None:
    """Winnings are what was taken from the pots; some sources count in what nobody matched, or leave out a rake."""
    told, last = hand.winnings, ended.last
    if told is None or told == last.won:
        return None
    rake = _rake(hand, last)
    for place, theirs in enumerate(told):
        won, near = last.won[place], _tolerance(theirs, slack)
        lowest = won - rake - near if won else -near
        if not lowest <= theirs <= won + last.returned[place] + near or bool(theirs) != bool(won):
            return _difference(hand, "winnings", place, told, last.won)
    return None


def _tolerance(amount: Amount, slack: int) -> Fraction:
    """Shares of a divided pot that are no whole chips were divided otherwise: less than a chip a player."""
    return Fraction(slack if amount.denominator > 1 else 0)


def _rake(hand: PhhHand, last: LiveHand) -> Fraction:
    """Return what the house kept by the history's winnings; more than a tenth of the pots is no rake."""
    if hand.winnings is None or hand.winnings == last.won:
        return Fraction(0)
    kept = sum(last.won) - sum(map(Fraction, hand.winnings), start=Fraction(0))
    return kept if 0 < kept <= Fraction(sum(last.won), _RAKE_PART) else Fraction(0)


def _rake_text(hand: PhhHand, last: LiveHand) -> str:
    rake = _rake(hand, last)
    return f"the house kept {_text(rake / hand.scale)}" if rake else ""


def _difference(hand: PhhHand, field: str, place: int, told: Sequence[Amount], ours: Sequence[int]) -> Comparison:
    return Comparison(
        Verdict.DIFFERS,
        hand.variant,
        where=f"{field} of p{place + 1}",
        what="another amount",
        expected=_row(told, hand.scale),
        found=_row(ours, hand.scale),
    )


def _row(amounts: Sequence[Amount], scale: int) -> str:
    return "[" + ", ".join(_text(Fraction(amount) / scale) for amount in amounts) + "]"


def _text(amount: Fraction) -> str:
    return str(amount.numerator) if amount.denominator == 1 else f"{float(amount):.4f}".rstrip("0")
