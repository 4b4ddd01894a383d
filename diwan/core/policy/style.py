"""How bots differ from each other. A bot's style follows from its name, so that regulars recognise it."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct


class Style(Struct, frozen=True):
    """A way to play, in percent of the middle way (100 each)."""

    looseness: int  # how many starting hands and how thin calls
    aggression: int  # how often and how large bets and raises


MIDDLE = Style(looseness=100, aggression=100)


def style_of(name: str) -> Style:
    """Return the style of a bot: looseness 75..130, aggression 70..130, spread over names by a hash."""
    digest = sha256(b"style/v1" + name.encode()).digest()
    return Style(looseness=75 + digest[0] % 56, aggression=70 + digest[1] % 61)
