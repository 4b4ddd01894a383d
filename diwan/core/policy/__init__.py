"""Decisions of bots, from what their seat may see and nothing else. Pure.

`choose` is handed what a seat is sent, a secret of the bot's that its chance comes from, and a `Style`; the same of all
three gives the same move. Nothing here can reach a hand's state: an import rule holds it.
"""

from diwan.core.policy.choosing import choose
from diwan.core.policy.moves import AnchorAnswer, Move, PowerUse
from diwan.core.policy.situation import Chance, Choice, Options, Situation
from diwan.core.policy.style import Style, style_of

__all__ = [
    "AnchorAnswer",
    "Chance",
    "Choice",
    "Move",
    "Options",
    "PowerUse",
    "Situation",
    "Style",
    "choose",
    "style_of",
]
