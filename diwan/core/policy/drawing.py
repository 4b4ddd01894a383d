"""Where a policy's chance comes from: a secret of the bot's and the decision that is asked, never a card."""

from __future__ import annotations

from typing import Final, Literal

from diwan.core.fairness.chance import derive_key, words_below
from diwan.core.hashing import prefixed
from diwan.core.policy.situation import Chance

LABEL: Final = "policy/v1"
type Purpose = Literal["act", "power", "anchor", "declare"]


def chance_of(secret: bytes, hand_id: str, turn: int, purpose: Purpose) -> Chance:
    """Return draws that are the same for the same secret and decision, and independent from decision to decision."""
    return words_below(derive_key(secret, prefixed(LABEL, hand_id, turn, purpose)))
