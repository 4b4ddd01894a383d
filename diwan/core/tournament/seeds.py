"""Entrants' seeds for the first draw: committed to with the entry, opened when the list of entrants stands (F1, F2, F7).

The house has committed to its secret before anybody could enter, and knows nobody's seed before the list is settled. Who
opens last can only keep the own seed back, which the log shows: nobody chooses a draw in which somebody else's seed is.
"""

from __future__ import annotations

from typing import Final

from diwan.core.fairness.material import Seeds, check_seed
from diwan.core.hashing import HASH_BYTES, hashed, uuid_bytes
from diwan.core.tournament.state import EntryState, TournamentState

ENTRANTS_LABEL: Final = "entrants/v1"
SEED_LABEL: Final = "entry-seed/v1"


def entry_seed_commitment(tournament_id: str, player: str, seed: bytes) -> bytes:
    """Return what a player commits to with an entry. The player is in it: nobody can copy another's commitment."""
    check_seed(seed)
    return hashed(SEED_LABEL, uuid_bytes(tournament_id), player, seed)


def is_commitment(commitment: bytes) -> bool:
    """Say whether these bytes can be a commitment; none are fine, too."""
    return len(commitment) in {0, HASH_BYTES}


def drawn_for(state: TournamentState) -> list[EntryState]:
    """Return the entries that the first draw is for, in their order."""
    return [entry for _, entry in sorted(state.entries.items()) if entry.status == "accepted" and not entry.is_late]


def entrants_digest(state: TournamentState) -> bytes:
    """Return the hash of who has entered, in the order of their entries.

    Mixed into the first draw, so that the house, which knows the secret, does not know the outcome before they enter.
    """
    return hashed(ENTRANTS_LABEL, uuid_bytes(state.tournament_id), *[entry.player for entry in drawn_for(state)])


def seeds_of_first_draw(state: TournamentState) -> Seeds:
    """Return what is mixed into the first draw: the list of entrants as seed 0, opened seeds by the entries' numbers."""
    opened = {entry.entry_no: entry.seed for entry in drawn_for(state) if entry.seed}
    return {0: entrants_digest(state), **opened}
