"""Chips and presence between hands: reloading, sitting out, coming back."""

from __future__ import annotations

from collections.abc import Callable

from diwan.cli.play.finding import chips_to_bring, price_of
from diwan.cli.play.words import Words
from diwan.client import DiwanClient, DiwanError
from diwan.client.messages import ChipSource, SeatStatus, TableConditions, TableView, is_running


class Seating:
    """What a player does about its seat. ``say`` shows a line."""

    def __init__(
        self, client: DiwanClient, table_id: str, terms: TableConditions, words: Words, say: Callable[[str], None]
    ) -> None:
        self.player = client.subject
        self._client = client
        self._table_id = table_id
        self._terms = terms
        self._words = words
        self._say = say
        self._is_tour = terms.chips == ChipSource.CHIP_SOURCE_TOURNAMENT
        self._is_match = self._is_tour or terms.chips == ChipSource.CHIP_SOURCE_MATCH
        self._is_offered = False
        self._comes_back = False

    async def see_to(self, view: TableView) -> None:
        """Offer a reload to who has no chips left, and bring back in who has reloaded. Raises `DiwanError`."""
        own = next((each for each in view.seats if each.player == self.player), None)
        if own is None or self._is_match:
            return
        if own.stack:
            self._is_offered = False
            if self._comes_back and own.status == SeatStatus.SEAT_STATUS_SITTING_OUT:
                self._comes_back = False
                await self.be_dealt_in(is_in=True)
        elif not self._is_offered and not is_running(view) and own.status != SeatStatus.SEAT_STATUS_RESERVED:
            self._is_offered = True
            await self._offer()

    async def _offer(self) -> None:
        balance = await self._balance()
        is_enough = balance >= max(1, price_of(self._terms)[0])
        amount = chips_to_bring(self._terms, 0, balance)
        key = "busted" if is_enough else "busted_poor"
        self._say(self._words(key, balance=balance, amount=amount))

    async def reload(self, amount: int | None) -> None:
        """Bring more chips, or say how that is asked for. Raises `DiwanError`."""
        if self._is_match:
            self._say(self._words("tour_fixed" if self._is_tour else "match_fixed"))
            return
        if amount is None:
            wanted = chips_to_bring(self._terms, 0, await self._balance())
            self._say(self._words("reload_how", amount=wanted))
            return
        try:
            await self._client.tables.top_up(self._table_id, amount)
        except DiwanError as error:
            if error.reason != "BUY_IN_OUT_OF_RANGE" or error.metadata.get("max") != "0":
                raise
            self._say(self._words("reload_full"))
            return
        self._comes_back = True
        self._say(self._words("reloaded", amount=amount))

    async def be_dealt_in(self, *, is_in: bool) -> None:
        """Sit out, or come back. Raises `DiwanError`."""
        if self._is_match:
            self._say(self._words("tour_fixed" if self._is_tour else "match_fixed"))
            return
        await self._client.tables.set_sitting_out(self._table_id, is_sitting_out=not is_in, post_at_once=is_in)
        self._say(self._words("you_are_back" if is_in else "you_sit_out"))

    async def _balance(self) -> int:
        return (await self._client.wallet.get_account()).balance
