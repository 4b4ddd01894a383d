"""What a player's program does for a fair deck by itself: it contributes seeds and checks its cards' proofs."""

import secrets
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import view_pb2
from diwan.api.tournament.v1 import view_pb2 as tournament_view_pb2
from diwan.client.errors import ProofFailed
from diwan.core.fairness import SEED_BYTES, Reveal, seed_commitment, verify_reveal
from diwan.core.tournament.seeds import entry_seed_commitment

_BEGINS: Final = frozenset({"hand_started", "capsa_started"})
_TURNS_UP: Final = frozenset({"board_dealt", "cards_shown", "natural_shown", "sets_shown"})


class SeedKeeper:
    """The seat's part in the next deck: commits to a seed, opens it, but only for the secret it committed for."""

    def __init__(self) -> None:
        self._hand_no = 0
        self._seed = b""
        self._committed: bytes | None = None
        self._is_opened = False

    def answers(self, exchange: view_pb2.SeedExchange, seat: int) -> pb.PlayRequest | None:
        """Return what is to be said now, if anything; raises `ProofFailed`."""
        is_other_secret = exchange.secret_commitment != self._committed
        if exchange.hand_no == self._hand_no and is_other_secret and self._is_opened:
            raise ProofFailed(exchange.hand_id, "the house changed its secret after it had seen our seed")
        if exchange.hand_no != self._hand_no or is_other_secret:
            self.forget()
            if exchange.is_opening:
                return None
            self._hand_no, self._seed = exchange.hand_no, secrets.token_bytes(SEED_BYTES)
            self._committed = exchange.secret_commitment
            return self._commitment(exchange, seat)
        if exchange.is_opening and not self._is_opened:
            self._is_opened = True
            opening = pb.OpenSeed(hand_no=self._hand_no, seed=self._seed)
            return pb.PlayRequest(open_seed=opening)
        return None

    def again(self, exchange: view_pb2.SeedExchange, seat: int) -> pb.PlayRequest | None:
        """Return what a new connection must hear again of an exchange that runs."""
        if exchange.hand_no != self._hand_no or not exchange.hand_no:
            return None
        if self._is_opened:
            return pb.PlayRequest(open_seed=pb.OpenSeed(hand_no=self._hand_no, seed=self._seed))
        return None if exchange.is_opening else self._commitment(exchange, seat)

    def forget(self) -> None:
        """Begin anew."""
        self._hand_no, self._seed, self._committed, self._is_opened = 0, b"", None, False

    def _commitment(self, exchange: view_pb2.SeedExchange, seat: int) -> pb.PlayRequest:
        commitment = seed_commitment(exchange.hand_id, seat, self._seed)
        return pb.PlayRequest(commit_seed=pb.CommitSeed(hand_no=exchange.hand_no, commitment=commitment))


class EntrySeed:
    """A player's part in a tournament's first draw: committed to with the entry, opened when the tournament asks."""

    def __init__(self, tournament_id: str, player: str) -> None:
        self.seed: bytes = secrets.token_bytes(SEED_BYTES)
        self.commitment: bytes = entry_seed_commitment(tournament_id, player, self.seed)
        self._is_given = False

    def answers(self, view: tournament_view_pb2.TournamentView) -> bytes | None:
        """Return the seed where the view asks for it the first time, else None."""
        if self._is_given or not view.seeds_until_ms:
            return None
        self._is_given = True
        return self.seed


class ProofKeeper:
    """Checks the seat's own cards against the root that was there before any card."""

    def __init__(self) -> None:
        self._hand_id = ""
        self._root = b""
        self._waiting: list[view_pb2.PrivateView] = []
        self.reveals_checked = 0

    def take_hand(self, hand: view_pb2.HandView) -> None:
        """Note a hand's root; raises `ProofFailed` if it changed, or if cards that came before it do not hold."""
        if hand.hand_id == self._hand_id:
            if hand.deck_root != self._root:
                raise ProofFailed(hand.hand_id, "the deck's root changed within the hand")
            return
        self._hand_id, self._root = hand.hand_id, hand.deck_root
        waiting, self._waiting = self._waiting, []
        for private in waiting:
            self.take_private(private)

    def take_private(self, private: view_pb2.PrivateView) -> None:
        """Check own cards; raises `ProofFailed`."""
        if private.hand_id != self._hand_id:
            self._waiting = [*self._waiting[-1:], private]
            return
        reveals = list(_all_reveals(private))
        check_reveals(private.hand_id, self._root, reveals)
        self.reveals_checked += len(reveals)


class Checked(NamedTuple):
    """How many cards of a hand were found in its deck: the seat's own, and those that were turned up for all."""

    own: int
    shown: int


class HandCheck:
    """Checks a whole hand at its end: own cards and all that were turned up, against the root of its first event."""

    def __init__(self) -> None:
        self._hand_id = ""
        self._root = b""
        self._shown: list[hand_pb2.Reveal] = []

    def take(self, kind: str, event: Any) -> None:
        """Follow the hand's events, as `diwan.client.messages.event_of` gives them."""
        if kind in _BEGINS:
            self._hand_id, self._root, self._shown = event.hand_id, event.deck_root, []
        elif kind in _TURNS_UP:
            self._shown += event.reveals

    def verify(self, hand: view_pb2.HandView, private: view_pb2.PrivateView | None) -> Checked:
        """Check the hand in view; raises `ProofFailed`. What came before the first event that was followed is not in."""
        if hand.hand_id != self._hand_id:
            self._hand_id, self._root, self._shown = hand.hand_id, hand.deck_root, []
        if hand.deck_root != self._root:
            raise ProofFailed(hand.hand_id, "the deck's root is not the one that the hand began with")
        own = [] if private is None or private.hand_id != hand.hand_id else list(_all_reveals(private))
        check_reveals(hand.hand_id, self._root, [*own, *self._shown])
        return Checked(len(own), len(self._shown))


def check_reveals(hand_id: str, deck_root: bytes, reveals: Iterable[hand_pb2.Reveal]) -> None:
    """Check cards against the root that was published before any card left the deck; raises `ProofFailed`."""
    for reveal in reveals:
        if not verify_reveal(hand_id, deck_root, _reveal_of(reveal)):
            raise ProofFailed(hand_id, f"position {reveal.position} is not in the committed deck")


def _all_reveals(private: view_pb2.PrivateView) -> Iterator[hand_pb2.Reveal]:
    yield from private.reveals
    for name in ("glanced", "discarded"):
        if private.HasField(name):
            yield getattr(private, name)


def _reveal_of(reveal: hand_pb2.Reveal) -> Reveal:
    return Reveal(reveal.position, reveal.card, reveal.salt, tuple(reveal.path))
