"""Decisions of bots, from what their seat may see and nothing else. Pure.

`choose` is handed a `Situation` (a seat's own cards and public facts, `situation_of` a view), a `Style` and a source of chance; the same of all
three gives the same `Choice`. Nothing here can reach a hand's state: an import rule holds it.
"""

from diwan.core.policy.choosing import choose
from diwan.core.policy.seen import situation_of
from diwan.core.policy.situation import Chance, Choice, Options, Situation
from diwan.core.policy.style import Style, style_of

__all__ = ["Chance", "Choice", "Options", "Situation", "Style", "choose", "situation_of", "style_of"]
