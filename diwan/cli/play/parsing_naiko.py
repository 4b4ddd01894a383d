"""Naiko's powers and the answer to an Anchor, as they are typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diwan.cli.play.commands import Answer, Command, Power, Unclear
from diwan.cli.play.drawing_naiko import why_text
from diwan.cli.play.parsing_cards import read_cards
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words, typed_words
from diwan.client.messages import PowerOffer
from diwan.core.cards import format_card


def parse_window(word: str) -> Command | None:
    """Return the answer to an Anchor that a word means, None where it means none."""
    found: Any = typed_words("seal_shield", "pass").get(word)
    return None if found is None else Answer(found)


def parse_power(word: str, rest: Sequence[str], scene: Scene, words: Words) -> Command | None:
    """Return the power that a line means, None where it means none, or where the table has no powers."""
    power = typed_words("hidden_glance", "sleeve_trick", "short_anchor").get(word)
    if power is None or scene.game != "naiko":
        return None
    offer = next((each for each in scene.offers if each.power == power), None)
    why_not = "POWER_NOT_IN_CAROUSEL" if offer is None else offer.why_not
    if offer is None or why_not:
        return Unclear(words("power_not_now", power=words(power), why=why_text(why_not, words)))
    match power:
        case "hidden_glance":
            return Power(power)
        case "sleeve_trick":
            return _trick(rest, scene, words)
        case _:
            return _anchor(rest, offer, words)


def _trick(rest: Sequence[str], scene: Scene, words: Words) -> Command:
    cards = scene.cards
    example = words.cards(format_card(cards[0])) if cards else "As"
    if len(rest) != 1 or scene.private is None:
        return Unclear(words("trick_which", card=example))
    if rest[0].isdecimal() and 1 <= int(rest[0]) <= len(cards):
        return Power("sleeve_trick", discard=scene.private.reveals[int(rest[0]) - 1].position)
    read = read_cards(rest)
    if isinstance(read, str) or len(read) != 1:
        return Unclear(words("trick_which", card=example))
    if read[0] not in cards:
        return Unclear(words("trick_not_held", card=words.cards(format_card(read[0]))))
    return Power("sleeve_trick", discard=scene.private.reveals[cards.index(read[0])].position)


def _anchor(rest: Sequence[str], offer: PowerOffer, words: Words) -> Command:
    if not offer.targets:
        return Unclear(words("anchor_nobody"))
    seats = ", ".join(map(str, offer.targets))
    if len(rest) != 1 or not rest[0].isdecimal() or int(rest[0]) not in offer.targets:
        return Unclear(words("anchor_which", seats=seats))
    return Power("short_anchor", target=int(rest[0]))
