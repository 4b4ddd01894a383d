"""Fair cards: commitments, the shuffle, single reveals and draws, all pure functions of a committed secret.

The construction, byte by byte, is in ``docs/reference/hashing.md``.
"""

from diwan.core.fairness.deck import DECK_SIZE, CommittedDeck, Reveal, commit_deck, deal, verify_reveal
from diwan.core.fairness.draws import draw, draw_order
from diwan.core.fairness.material import (
    NO_SEEDS,
    SECRET_BYTES,
    SEED_BYTES,
    Secret,
    Seeds,
    secret_commitment,
    seed_commitment,
)
from diwan.core.fairness.opening import Check, Opening, OpeningFault, verify_opening

__all__ = [
    "DECK_SIZE",
    "NO_SEEDS",
    "SECRET_BYTES",
    "SEED_BYTES",
    "Check",
    "CommittedDeck",
    "Opening",
    "OpeningFault",
    "Reveal",
    "Secret",
    "Seeds",
    "commit_deck",
    "deal",
    "draw",
    "draw_order",
    "secret_commitment",
    "seed_commitment",
    "verify_opening",
    "verify_reveal",
]
