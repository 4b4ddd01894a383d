"""Capsa as it is typed: rows, help with them, locking, whether the set is played, stakes of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from diwan.cli.play.commands import Arrange, Call, Command, Simple, Stake, Unclear
from diwan.cli.play.look import Look, cards_text
from diwan.cli.play.parsing_cards import read_cards
from diwan.cli.play.rows import SIZES, Arranged
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words, typed_words
from diwan.core.cards import Card

_OF_SETS: Final = ("front", "middle", "back", "auto", "sort", "clear", "swap", "lock", "unlock")


def parse_capsa(
    word: str, rest: Sequence[str], scene: Scene, words: Words, arranged: Arranged | None
) -> Command | None:
    """Return what a line means in a hand of Capsa, None where it means nothing there."""
    capsa = scene.table.hand.capsa
    is_asked = capsa.HasField("decision") and scene.seat in capsa.decision.seats
    if is_asked and capsa.decision.kind == "answer":
        return _answer(word, scene, words)
    name = typed_words(*_OF_SETS).get(word)
    if name is None or (name == "back" and not rest and word != "b"):
        return _answer_too_early(word, words)
    if not is_asked or arranged is None or scene.private is None:
        return Unclear(words("not_setting"))
    if name == "unlock":
        return Simple("unlock")
    if scene.private.capsa.HasField("locked"):
        return Unclear(words("locked_already"))
    return _of_set(name, rest, arranged, words)


def _of_set(name: str, rest: Sequence[str], arranged: Arranged, words: Words) -> Command:
    match name:
        case "auto":
            return Simple("suggest")
        case "sort":
            by_suit = bool(rest) and rest[0].lower() in typed_words("suit")
            return Arrange(arranged.sorted_tray(by_suit=by_suit))
        case "clear":
            return Arrange(arranged.cleared())
        case "swap":
            return _swap(rest, arranged, words)
        case "lock":
            is_whole = arranged.is_complete
            return Simple("lock") if is_whole else Unclear(words("not_complete", count=len(arranged.tray)))
        case _:
            return _row(name, rest, arranged, words)


def _row(name: Any, rest: Sequence[str], arranged: Arranged, words: Words) -> Command:
    cards = _own_cards(rest, arranged, words)
    if isinstance(cards, Unclear):
        return cards
    if len(cards) != SIZES[name]:
        return Unclear(words("row_size", row=words(name), count=SIZES[name], named=len(cards)))
    return Arrange(arranged.with_row(name, cards))


def _swap(rest: Sequence[str], arranged: Arranged, words: Words) -> Command:
    cards = _own_cards(rest, arranged, words)
    if isinstance(cards, Unclear):
        return cards
    return Arrange(arranged.swapped(*cards)) if len(cards) == 2 else Unclear(words("swap_how"))


def _own_cards(rest: Sequence[str], arranged: Arranged, words: Words) -> tuple[Card, ...] | Unclear:
    read = read_cards(rest)
    if isinstance(read, str):
        return Unclear(words("no_card", text=read))
    look = Look(words)
    twice = [card for card in read if read.count(card) > 1]
    if twice:
        return Unclear(words("named_twice", cards=cards_text(twice[:1], look)))
    foreign = [card for card in read if card not in arranged.cards]
    return Unclear(words("not_yours", cards=cards_text(foreign, look))) if foreign else read


def _answer(word: str, scene: Scene, words: Words) -> Command | None:
    found: Any = typed_words("play", "surrender").get(word)
    if found == "surrender" and not scene.table.hand.capsa.decision.can_surrender:
        return Unclear(words("no_surrender"))
    if found is None:
        return Unclear(words("answer_unclear")) if word in typed_words(*_OF_SETS) else None
    return Call(found)


def _answer_too_early(word: str, words: Words) -> Command | None:
    return Unclear(words("not_asked")) if word in typed_words("play", "surrender") else None


def parse_stake(word: str, rest: Sequence[str], scene: Scene, words: Words) -> Command | None:
    """Return what a line says about a stake with another seat, None where it says nothing of the kind."""
    kind = typed_words("stake", "accept", "end").get(word)
    if kind is None:
        return None
    numbers = [int(text) for text in rest if text.isdecimal()]
    if len(numbers) != len(rest) or len(numbers) != (2 if kind == "stake" else 1):
        return Unclear(words("stake_how"))
    seat = numbers[0]
    if kind == "stake":
        return Stake("propose", seat, numbers[1])
    if kind == "end":
        return Stake("end", seat) if _has_stake_with(seat, scene) else Unclear(words("stake_no_end", seat=seat))
    offers = [offer for offer in scene.table.capsa.offers if offer.seat == seat and offer.other == scene.seat]
    return Stake("accept", seat, offers[0].unit) if offers else Unclear(words("stake_none", seat=seat))


def _has_stake_with(seat: int, scene: Scene) -> bool:
    """Say whether a stake with a seat is agreed, or offered by either of the two."""
    capsa, pair = scene.table.capsa, {seat, scene.seat}
    is_offered = any({offer.seat, offer.other} == pair for offer in capsa.offers)
    return is_offered or any({unit.a, unit.b} == pair for unit in capsa.pair_units)
