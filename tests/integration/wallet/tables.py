"""Tables that play without rules: their logs are real events in a real store, their hands move chips by chance."""

import random  # noqa: TID251  (attacks may use chance)
import secrets
from dataclasses import dataclass, field
from uuid import UUID, uuid4, uuid5

from diwan.chassis.store import Append, EventStore, NewEvent
from diwan.core.hand.events import BettingRoundEnded, HandEnded, HandSeat, HandStarted, HandVoided
from diwan.core.hand.settings import HandSettings
from diwan.core.hashing import first_prev_hash
from diwan.core.log import StreamKind
from diwan.core.table.config import TableConfig
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    SeatFunded,
    SeatReleased,
    TableCreated,
    TableEvent,
    TopUpRequested,
)
from diwan.wire.events import encode

HAND = HandSettings(small_blind=1, big_blind=2)


@dataclass
class Seat:
    number: int
    player: str
    is_bot: bool
    sitting: str
    stack: int


@dataclass
class TableLog:
    """One table's stream, written as the table service writes it; ``home`` is what was sent home."""

    store: EventStore
    rng: random.Random
    table_id: UUID = field(default_factory=uuid4)
    version: int = 0
    head: bytes = b""
    hands: int = 0
    seats: list[Seat] = field(default_factory=list)
    home: dict[str, int] = field(default_factory=dict)
    hand_ids: list[str] = field(default_factory=list)

    async def append(self, *events: TableEvent) -> None:
        if not self.version:
            self.head = first_prev_hash(self.table_id.bytes, StreamKind.TABLE)
        encoded = [encode(event, nonce=secrets.token_bytes(16)) for event in events]
        append = Append(
            self.table_id,
            StreamKind.TABLE,
            self.version,
            0,
            self.head,
            uuid4(),
            "table",
            b"",
            b"",
            1_000 + self.version,
            tuple(NewEvent(e.type_id, e.schema_v, e.body, uuid4()) for e in encoded),
        )
        appended = await self.store.append(append)
        self.version, self.head = appended.last_version, appended.head_hash

    async def open(self, chips: str = "wallet") -> None:
        config = TableConfig(name="t", hand=HAND, chips=chips)
        await self.append(TableCreated(str(self.table_id), config, "host", 1))

    async def ask_buy_in(self, number: int, player: str, amount: int, *, is_bot: bool = False) -> str:
        sitting = str(uuid4())
        await self.append(BuyInRequested(number, player, is_bot, amount, sitting, 1, post_at_once=False))
        return sitting

    async def seat(self, number: int, player: str, sitting: str, amount: int, *, is_bot: bool = False) -> None:
        await self.append(SeatFunded(number, amount, sitting, 1))
        self.seats.append(Seat(number, player, is_bot, sitting, amount))

    async def refuse(self, number: int, transfer_id: str, reason: str) -> None:
        await self.append(BuyInRefused(number, transfer_id, reason, 1))

    async def ask_top_up(self, seat: Seat, amount: int) -> str:
        transfer_id = str(uuid4())
        await self.append(TopUpRequested(seat.number, amount, transfer_id, 1))
        return transfer_id

    async def topped_up(self, seat: Seat, transfer_id: str, amount: int) -> None:
        await self.append(SeatFunded(seat.number, amount, transfer_id, 1))
        seat.stack += amount

    def started(self) -> HandStarted:
        self.hands += 1
        hand_id = str(uuid5(self.table_id, f"hand/{self.hands}"))
        self.hand_ids.append(hand_id)
        seats = tuple(HandSeat(s.number, s.player, s.stack, s.is_bot, s.sitting) for s in self.seats)
        return HandStarted(hand_id, self.hands, 1, HAND, seats, 0, 1, (), bytes(32), (), (), bytes(32), bytes(32), 1)

    async def play(self, *, is_void: bool = False) -> None:
        """Play a hand of some events; who wins how much is chance, and nobody loses more than the stack."""
        started = self.started()
        payoffs = [0] * len(self.seats)
        for _ in range(0 if is_void else 3):
            loser, winner = self.rng.sample(range(len(self.seats)), 2)
            amount = self.rng.randint(0, max(self.seats[loser].stack + payoffs[loser], 0))
            payoffs[loser] -= amount
            payoffs[winner] += amount
        for seat, payoff in zip(self.seats, payoffs, strict=True):
            seat.stack += payoff
        void = (HandVoided("interrupted", (), 1),) if is_void else ()
        zeros = (0,) * len(payoffs)
        end = HandEnded(
            "void" if is_void else "showdown",
            tuple(seat.stack for seat in self.seats),
            tuple(payoffs),
            zeros,
            zeros,
            bytes(32),
            1,
        )
        await self.append(started, BettingRoundEnded(3))
        await self.append(BettingRoundEnded(5), *void, end)

    async def leave(self, seat: Seat) -> None:
        await self.append(SeatReleased(seat.number, seat.player, seat.sitting, seat.stack, "player", 1))
        self.seats.remove(seat)
        if not seat.is_bot:
            self.home[seat.player] = self.home.get(seat.player, 0) + seat.stack

    def escrows(self) -> dict[str, int]:
        return {seat.sitting: seat.stack for seat in self.seats}
