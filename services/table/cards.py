"""The deck of the running hand and the secrets behind it: they live in this process and, wrapped, in the vault.

No card leaves through here but as a proved reveal (DESIGN 6, RELIABILITY 3.5).
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from uuid import UUID

import structlog

from diwan.chassis.keyfile import VaultError
from diwan.chassis.vault import HandVault, new_secret
from diwan.core.cards import Card
from diwan.core.fairness import CommittedDeck, Reveal, Secret, Seeds, deal, secret_commitment
from diwan.core.table.games import draw_for
from diwan.core.table.planning import Drawn, NextHand
from diwan.core.table.playing import StartedEvent
from services.table.ids import hand_id_of

_log = structlog.get_logger(__name__)

_GONE: Final = frozenset({"NO_SECRET", "DAY_DESTROYED"})


class DeckLost(Exception):  # noqa: N818  (what happened to the hand, not to the program)
    """The deck of a hand cannot be made again: its secret is gone or does not give the logged root."""


class HandCards:
    """One table's cards: the deck of its running or last hand, and the secrets of that hand and the next.

    The deck of a hand that another process began is made when somebody first needs a card of it, and shows none if its
    root is not the log's; ``on_lost`` is called then. That its secret is the one committed to is known before.
    """

    def __init__(self, table_id: UUID, vault: HandVault) -> None:
        self.table_id = table_id
        self.on_lost: Callable[[], None] = _nothing
        self._vault = vault
        self._secrets: dict[int, Secret] = {}
        self._ahead: tuple[int, asyncio.Task[Secret | None]] | None = None
        self._deck: CommittedDeck | None = None
        self._undealt: tuple[StartedEvent, Secret] | None = None
        self._cards: dict[int, Card] = {}

    def __repr__(self) -> str:
        return f"HandCards({self.table_id}, withheld)"

    @property
    def by_position(self) -> Mapping[int, Card]:
        """The whole deck where it is known, else what was shown of it: what deciding and showing may read."""
        return self._cards if self._undealt is None else _AtNeed(self)

    @property
    def may_go_on(self) -> bool:
        """Whether the hand can be gone on with, as far as is known; makes no deck."""
        return self._deck is not None or self._undealt is not None

    @property
    def has_deck(self) -> bool:
        """Whether there is a deck to show cards of; makes it."""
        return self._made_by_now() is not None

    def reveal(self, position: int) -> Reveal:
        """Return the proof of a card; raises `DeckLost` without the deck."""
        deck = self._made_by_now()
        if deck is None:
            raise DeckLost("no deck is known here")
        return deck.reveal(position)

    def keep_ahead(self, hand_no: int, epoch: int) -> None:
        """Choose and keep a hand's secret while an earlier hand is played: a hand that begins need not wait for the vault.

        Nothing is said of it before `commit` is asked for it. Whoever owns the table then goes on with what the vault has.
        """
        name = f"secret-{self.table_id}"
        self._ahead = hand_no, asyncio.create_task(self._kept_ahead(hand_no, epoch), name=name)

    async def commit(self, hand_no: int, epoch: int) -> bytes:
        """Choose and keep a hand's secret; return its commitment, which may be logged from now on (F1).

        Raises `DeckLost` where the vault has had one that is destroyed by now: the hand can have no other.
        """
        ahead, self._ahead = self._ahead, None
        secret = await ahead[1] if ahead is not None and ahead[0] == hand_no else None
        if secret is None:
            secret = await self._kept(hand_no, epoch)
        self._secrets[hand_no] = secret
        return secret_commitment(hand_id_of(self.table_id, hand_no), secret)

    async def _kept_ahead(self, hand_no: int, epoch: int) -> Secret | None:
        try:
            return await self._kept(hand_no, epoch)
        except Exception as error:
            # There is time: it is tried again when the secret is needed, and then it counts.
            _log.warning("secret_not_kept_ahead", table=str(self.table_id), error=repr(error))
            return None

    async def _kept(self, hand_no: int, epoch: int) -> Secret:
        """Return the one secret of a hand that the vault has, chosen now if it had none."""
        hand_id = hand_id_of(self.table_id, hand_no)
        secret = new_secret()
        try:
            await self._vault.put(hand_id, secret_commitment(hand_id, secret), secret, epoch=epoch)
        except VaultError as error:
            if error.reason != "HAND_HAS_SECRET":
                raise
            # Kept ahead, or before a crash, or by a former owner, and never logged.
            secret = await self._standing(hand_id)
        return secret

    async def prepare(self, hand_no: int, commitment: bytes, seeds: Seeds) -> CommittedDeck:
        """Return the deck of a hand about to begin; raises `DeckLost` if its secret is gone, else `VaultError`."""
        return await self._made(hand_no, commitment, seeds)

    def drawn(self, hand_no: int, plan: NextHand, seeds: Seeds) -> Drawn:
        """Return what is drawn from the secret of a hand whose deck was prepared, beside the deck (A1, C3)."""
        return draw_for(plan, self._secrets[hand_no], hand_id_of(self.table_id, hand_no), seeds)

    def begin(self, deck: CommittedDeck) -> None:
        """Go over to the deck of a hand that begins."""
        self._deck, self._undealt = deck, None
        self._cards = dict(enumerate(deck.cards))

    async def restore(self, started: StartedEvent) -> None:
        """Go on with a hand that another process began; raises `DeckLost` if its secret is gone or another."""
        secret = await self._secret(started.hand_no, started.secret_commitment)
        self._deck, self._undealt = None, (started, secret)

    def know(self, hand_no: int, secret: Secret) -> None:
        """Take a hand's secret that was read from the vault with others; it is held against the log like any."""
        self._secrets[hand_no] = secret

    def remember_shown(self, reveals: Mapping[int, Card]) -> None:
        """Go on with what the log shows of a hand whose deck is not known."""
        self._deck = self._undealt = None
        self._cards = dict(reveals)

    def forget_before(self, hand_no: int) -> None:
        """Drop secrets of hands that are over."""
        self._secrets = {number: secret for number, secret in self._secrets.items() if number >= hand_no}

    def made_cards(self) -> Mapping[int, Card]:
        """Return what is known of the deck, which is made if it was not yet."""
        self._made_by_now()
        return self._cards

    def _made_by_now(self) -> CommittedDeck | None:
        """Return the deck, made now if it was not needed before; nothing of one that is not the log's gets out."""
        if self._undealt is None:
            return self._deck
        (started, secret), self._undealt = self._undealt, None
        deck = deal(started.hand_id, secret, {each.seat: each.seed for each in started.seeds})
        if deck.root == started.deck_root:
            self.begin(deck)
        else:
            why = "the secret gives another deck than the log's"
            _log.error("deck_lost", table=str(self.table_id), hand=started.hand_id, why=why)
            self.on_lost()
        return self._deck

    async def _made(self, hand_no: int, commitment: bytes, seeds: Seeds) -> CommittedDeck:
        return deal(hand_id_of(self.table_id, hand_no), await self._secret(hand_no, commitment), seeds)

    async def _secret(self, hand_no: int, commitment: bytes) -> Secret:
        """Return a hand's secret, if it is the one that was committed to."""
        hand_id = hand_id_of(self.table_id, hand_no)
        secret = self._secrets.get(hand_no)
        if secret is None:
            secret = self._secrets[hand_no] = await self._standing(hand_id)
        if secret_commitment(hand_id, secret) != commitment:
            raise DeckLost("the secret is not the one that was committed to")
        return secret

    async def _standing(self, hand_id: str) -> Secret:
        """Return the secret that the vault has for a hand; one that is gone stays gone, however often it is asked for."""
        try:
            return await self._vault.get(hand_id)
        except VaultError as error:
            if error.reason not in _GONE:
                # A wrong key file must not cost a hand: the table is held back until it is right.
                raise
            raise DeckLost(str(error)) from None


class _AtNeed(Mapping[int, Card]):
    """Cards of a deck that is made when the first of them is asked for: many who are handed cards look at none."""

    def __init__(self, cards: HandCards) -> None:
        self._of = cards

    def __getitem__(self, position: int) -> Card:
        return self._of.made_cards()[position]

    def __iter__(self) -> Iterator[int]:
        return iter(self._of.made_cards())

    def __len__(self) -> int:
        return len(self._of.made_cards())

    def __repr__(self) -> str:
        return "cards withheld"


def _nothing() -> None:
    """Stand where nobody need be told."""
