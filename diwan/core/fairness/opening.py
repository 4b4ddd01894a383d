"""The auditor's check: with the secret in hand, everything that a hand's log says of its deck is recomputed."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from diwan.core.fairness.deck import CommittedDeck, Reveal, deal
from diwan.core.fairness.material import SECRET_BYTES, SEED_BYTES, Seeds, secret_commitment, seed_commitment


class Check(StrEnum):
    """What an opening did not bear out."""

    SECRET_DIFFERS = "SECRET_DIFFERS"  # noqa: S105  (a reason, not a password)
    SEED_NOT_COMMITTED = "SEED_NOT_COMMITTED"
    SEED_DIFFERS = "SEED_DIFFERS"
    ROOT_DIFFERS = "ROOT_DIFFERS"
    REVEAL_DIFFERS = "REVEAL_DIFFERS"
    DRAW_DIFFERS = "DRAW_DIFFERS"


class OpeningFault(msgspec.Struct, frozen=True):
    """One check that failed, with the seat or the position it failed for."""

    check: Check
    seat: int | None = None
    position: int | None = None


class Opening(msgspec.Struct, frozen=True):
    """The outcome of an opening; ``deck`` is the recomputed one, None if secret or seeds have a wrong size."""

    faults: tuple[OpeningFault, ...]
    deck: CommittedDeck | None = None

    @property
    def is_verified(self) -> bool:
        """True if every check held."""
        return not self.faults


def verify_opening(
    hand_id: str,
    secret: bytes,
    seeds: Seeds,
    *,
    committed: bytes,
    seed_commitments: Mapping[int, bytes],
    root: bytes,
    reveals: Iterable[Reveal] = (),
) -> Opening:
    """Recompute commitments, deck, root and every reveal of a hand from its secret and its opened seeds (F5).

    ``committed``, ``seed_commitments`` (by seat), ``root`` and ``reveals`` are what the log holds. All faults are
    listed, not the first only, since an auditor asks which part was wrong. A seat that committed and did not open is
    no fault.
    """
    faults = _seed_faults(hand_id, seeds, seed_commitments)
    if len(secret) != SECRET_BYTES or any(len(seed) != SEED_BYTES for seed in seeds.values()):
        if len(secret) != SECRET_BYTES:
            faults.insert(0, OpeningFault(Check.SECRET_DIFFERS))
        return Opening(tuple(faults))
    if secret_commitment(hand_id, secret) != committed:
        faults.insert(0, OpeningFault(Check.SECRET_DIFFERS))
    deck = deal(hand_id, secret, seeds)
    if deck.root != root:
        faults.append(OpeningFault(Check.ROOT_DIFFERS))
    faults.extend(
        OpeningFault(Check.REVEAL_DIFFERS, position=reveal.position)
        for reveal in reveals
        if not (0 <= reveal.position < len(deck.cards) and deck.reveal(reveal.position) == reveal)
    )
    return Opening(tuple(faults), deck)


def _seed_faults(hand_id: str, seeds: Seeds, commitments: Mapping[int, bytes]) -> list[OpeningFault]:
    faults: list[OpeningFault] = []
    for seat in sorted(seeds):
        if seat not in commitments:
            faults.append(OpeningFault(Check.SEED_NOT_COMMITTED, seat=seat))
        elif len(seeds[seat]) != SEED_BYTES or seed_commitment(hand_id, seat, seeds[seat]) != commitments[seat]:
            faults.append(OpeningFault(Check.SEED_DIFFERS, seat=seat))
    return faults
