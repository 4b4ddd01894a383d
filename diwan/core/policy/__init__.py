"""Decisions of bots, from what their seat may see and nothing else. Pure.

`choose` is handed what a seat is sent, a secret of the bot's that its chance comes from, and a `Style`; the same of all
three gives the same move. Nothing here can reach a hand's state: an import rule holds it.
"""

from diwan.core.policy.capsa import CapsaSeen, StakeOffer
from diwan.core.policy.choosing import choose
from diwan.core.policy.moves import AnchorAnswer, CallAnswer, Move, PowerUse, ReserveMove, SetRows, StakeAnswer
from diwan.core.policy.situation import Chance, Choice, Options, Situation
from diwan.core.policy.style import Style, style_of

__all__ = [
    "AnchorAnswer",
    "CallAnswer",
    "CapsaSeen",
    "Chance",
    "Choice",
    "Move",
    "Options",
    "PowerUse",
    "ReserveMove",
    "SetRows",
    "Situation",
    "StakeAnswer",
    "StakeOffer",
    "Style",
    "choose",
    "style_of",
]
