"""The deck of a hand: fixed by a secret and the seats' seeds, committed by one root, shown card by card."""

from collections.abc import Iterable
from hashlib import sha256
from struct import Struct
from typing import Final, Never, final

import msgspec

from diwan.core import merkle
from diwan.core.cards import DECK, Card, is_card
from diwan.core.fairness.chance import derive_key, keyed, shuffle_bytes
from diwan.core.fairness.material import Seeds, check_secret, mix
from diwan.core.hashing import HASH_BYTES, prefixed, uuid_bytes

DECK_SIZE: Final = len(DECK)
SALT_BYTES: Final = 32

# 0x00, then the length-prefixed fields: all sizes are fixed, so a leaf is one pack.
_LEAF: Final = Struct(">B I7s I16s IQ IQ I32s".replace(" ", ""))


class Reveal(msgspec.Struct, frozen=True):
    """One card with the proof that it stood at its position before the hand was dealt.

    ``path`` has 4 to 6 hashes of 32 bytes, ``salt`` 32 bytes. It prints without its card, as it may be a hole card.
    """

    position: int
    card: Card
    salt: bytes
    path: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"Reveal(position={self.position}, card withheld)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("position", self.position)]


@final
class CommittedDeck:
    """The 52 cards in the order in which they leave, and the root that commits to them.

    It lives in the memory of the table's owner only: it prints as its root and refuses to be copied or pickled.
    """

    __slots__ = ("_levels", "_salts", "cards", "root")

    cards: tuple[Card, ...]
    root: bytes

    def __init__(self, cards: tuple[Card, ...], salts: tuple[bytes, ...], levels: merkle.Levels) -> None:
        self.cards = cards
        self.root = levels[-1][0]
        self._salts = salts
        self._levels = levels

    def reveal(self, position: int) -> Reveal:
        """Return the proof of one card; a position is 0..51."""
        path = merkle.path(self._levels, position)
        return Reveal(position, self.cards[position], self._salts[position], path)

    def reveals(self, positions: Iterable[int]) -> tuple[Reveal, ...]:
        """Return the proofs of several cards in the order asked for."""
        return tuple(map(self.reveal, positions))

    def __repr__(self) -> str:
        return f"CommittedDeck(root={self.root.hex()}, cards withheld)"

    def __reduce_ex__(self, _protocol: object) -> Never:
        raise TypeError("a deck does not leave its process")


def deal(hand_id: str, secret: bytes, seeds: Seeds) -> CommittedDeck:
    """Return the one deck that a secret and the opened seeds give a hand.

    ``seeds`` holds the seeds opened in time: who is late is absent and changes nothing (F2).
    """
    check_secret(secret)
    hand, mixed = uuid_bytes(hand_id), mix(seeds)
    cards = list(DECK)
    shuffle_bytes(derive_key(secret, prefixed("deck/v1", hand, mixed)), cards)
    salt = keyed(derive_key(secret, prefixed("salt/v1", hand, mixed)))
    return commit_deck(hand_id, tuple(cards), tuple(map(salt, range(DECK_SIZE))))


def commit_deck(hand_id: str, cards: tuple[Card, ...], salts: tuple[bytes, ...]) -> CommittedDeck:
    """Return the deck of 52 cards that lie in this order, behind salts of 32 bytes: for a hand dealt elsewhere."""
    hand, pack = uuid_bytes(hand_id), _LEAF.pack
    leaves = [
        sha256(pack(0, 7, b"card/v1", 16, hand, 8, position, 8, card, 32, salts[position])).digest()
        for position, card in enumerate(cards)
    ]
    return CommittedDeck(cards, salts, merkle.tree(leaves))


def verify_reveal(hand_id: str, root: bytes, reveal: Reveal) -> bool:
    """Say whether the committed deck of this root has this card at this position (F3).

    Anything may be wrong with a reveal from outside; all of it answers False.
    """
    if not (0 <= reveal.position < DECK_SIZE and is_card(reveal.card) and len(reveal.salt) == SALT_BYTES):
        return False
    packed = _LEAF.pack(
        *(0, 7, b"card/v1", 16, uuid_bytes(hand_id), 8, reveal.position, 8, reveal.card, 32, reveal.salt)
    )
    found = merkle.root_by_path(sha256(packed).digest(), reveal.position, DECK_SIZE, reveal.path)
    return found is not None and len(root) == HASH_BYTES and found == root
