"""Honest logs: tables played by chance through the core's own deciders and stored as a store would."""

from __future__ import annotations

from itertools import count
from random import Random  # noqa: TID251  (tests may use chance)
from uuid import UUID, uuid5

from diwan.core.decider import Rejected
from diwan.core.fairness import CommittedDeck, deal, secret_commitment, seed_commitment
from diwan.core.hand.commands import Act, AllIn, ExpireClock, MoveDeadline, VoidHand
from diwan.core.hand.events import OpenedSeed
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import NOBODY
from diwan.core.hashing import ChainHead, chain_start, event_hash
from diwan.core.log import LoggedEvent
from diwan.core.table.commands import (
    ClaimTable,
    CommitSecret,
    CommitSeeds,
    CreateTable,
    FundSeat,
    RequestSeat,
    RequestTopUp,
    SitIn,
    SitOut,
    StandUp,
    StartNextHand,
)
from diwan.core.table.config import TableConfig
from diwan.core.table.decide import decide
from diwan.core.table.events import SeedCommitment
from diwan.core.table.evolve import evolve
from diwan.core.table.state import TableState
from diwan.wire.events import encode

TABLE_KIND = 1
STREAM = UUID("7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a")
STARTED_MS = 1_800_000_000_000


def chained(events: list[LoggedEvent], start: ChainHead) -> list[LoggedEvent]:
    """The same events with numbers and hashes made anew: what an insider can always do."""
    hashed: list[LoggedEvent] = []
    head = start.hash
    for version, event in enumerate(events, start.version + 1):
        digest = event_hash(
            head,
            event.stream_id,
            version,
            event.type_id,
            event.schema_v,
            event.recorded_at_ms,
            event.command_id,
            event.body,
        )
        fields = {name: getattr(event, name) for name in LoggedEvent.__struct_fields__}
        hashed.append(LoggedEvent(**{**fields, "version": version, "prev_hash": head, "hash": digest}))
        head = digest
    return hashed


class PlayedTable:
    """A table played by chance. ``rng`` decides everything; the product itself never uses it."""

    def __init__(self, rng: Random, stream: UUID = STREAM, **settings: object) -> None:
        self.rng = rng
        self.stream = stream
        self.state: TableState | None = None
        self.deck: CommittedDeck | None = None
        self.now_ms = STARTED_MS
        self.events: list[LoggedEvent] = []
        self.core: list[object] = []
        self.hand_ids: list[str] = []
        self.secrets: dict[str, bytes] = {}
        self._names = count(1)
        self.do(CreateTable(str(stream), self.config(**settings), "op", self.now_ms))
        self.do(ClaimTable(1, "table-1", self.now_ms))

    def config(self, **settings: object) -> TableConfig:
        hand = HandSettings(small_blind=5, big_blind=10, **settings)
        return TableConfig(name="verified", hand=hand, seats=6)

    def do(self, command: object) -> None:
        """Decide a command and store its batch."""
        cards = {} if self.deck is None else dict(enumerate(self.deck.cards))
        batch = decide(self.state, command, cards)
        command_id = self.rng.randbytes(16)
        head = chain_start(self.stream.bytes, TABLE_KIND)
        if self.events:
            head = ChainHead(self.events[-1].version, self.events[-1].hash)
        stored = [self.stored(event, command_id) for event in batch]
        self.events += chained(stored, head)
        for event in batch:
            self.core.append(event)
            self.state = evolve(self.state, event)

    def stored(self, event: object, command_id: bytes) -> LoggedEvent:
        """An event as a store keeps it, without its place in the chain."""
        reveal = None if self.deck is None else self.deck.reveal
        one = encode(event, nonce=self.rng.randbytes(16), reveal=reveal)
        return LoggedEvent(
            stream_id=self.stream.bytes,
            version=0,
            event_id=self.rng.randbytes(16),
            command_id=command_id,
            epoch=1,
            type_id=one.type_id,
            schema_v=one.schema_v,
            recorded_at_ms=self.now_ms,
            body=one.body,
            prev_hash=b"",
            hash=b"",
        )

    def sit(self, seats: int) -> None:
        """Seat and fund players."""
        for _ in range(seats):
            name = next(self._names)
            transfer_id = str(uuid5(self.stream, f"sitting/{name}"))
            self.do(
                RequestSeat(
                    player=f"player-{name}",
                    is_bot=False,
                    seat=None,
                    amount=self.buy_in(),
                    transfer_id=transfer_id,
                    post_at_once=True,
                    now_ms=self.now_ms,
                )
            )
            self.do(FundSeat(transfer_id, self.now_ms))

    def buy_in(self) -> int:
        return self.rng.randint(200, 1000)

    def hand_id(self, hand_no: int) -> str:
        return str(uuid5(self.stream, f"hand/{hand_no}"))

    def start_hand(self) -> None:
        """Exchange seeds and deal the next hand."""
        assert self.state is not None
        hand_id = self.hand_id(self.state.hand_no + 1)
        if self.state.exchange is None:
            self.secrets[hand_id] = self.rng.randbytes(32)
            self.do(CommitSecret(secret_commitment(hand_id, self.secrets[hand_id]), self.now_ms))
        able = [seat.seat for seat in self.state.seats if seat.is_funded and not seat.is_sitting_out and seat.stack]
        seeds = {seat: self.rng.randbytes(32) for seat in able if self.rng.random() < 0.8}
        if seeds:
            commitments = tuple(SeedCommitment(seat, seed_commitment(hand_id, seat, seeds[seat])) for seat in seeds)
            self.do(CommitSeeds(self.state.hand_no + 1, commitments, self.now_ms))
        self.now_ms += 3000
        self._deal(hand_id, seeds)

    def _deal(self, hand_id: str, seeds: dict[int, bytes]) -> None:
        """Deal with the seeds of those who are dealt in: a newcomer may have to wait, so its seed is left out."""
        assert self.state is not None
        following = self.hand_id(self.state.hand_no + 2)
        self.secrets[following] = self.rng.randbytes(32)
        next_commitment = secret_commitment(following, self.secrets[following])
        while True:
            self.deck = deal(hand_id, self.secrets[hand_id], seeds)
            opened = tuple(OpenedSeed(seat, seeds[seat]) for seat in sorted(seeds))
            try:
                drawn = self.drawn(hand_id, seeds)
                self.do(StartNextHand(hand_id, self.deck.root, opened, next_commitment, self.now_ms, **drawn))
            except Rejected as refusal:
                if refusal.reason not in {"FIELD_INVALID", "ARGUMENT_INVALID"} or not seeds:
                    raise
                seeds.popitem()
                continue
            self.hand_ids.append(hand_id)
            return

    def drawn(self, hand_id: str, seeds: dict[int, bytes]) -> dict[str, object]:
        """What the next hand's beginning has from chance beside the deck."""
        return {}

    def play_hand(self, odd_things: float = 0.12) -> str:
        """Play one hand to its end; returns its id."""
        self.start_hand()
        while self.state is not None and self.state.is_running:
            if self.rng.random() < odd_things:
                self._odd_thing()
            else:
                self._decide_once()
        return self.hand_ids[-1]

    def _decide_once(self) -> None:
        assert self.state is not None
        hand = self.state.hand
        assert hand.actor != NOBODY
        seat, version = hand.deal.seats[hand.actor], self.state.version
        self.now_ms += self.rng.randint(10, 4000)
        kinds = ["check", "call", "call", "bet", "raise", "fold", "all_in"]
        self.rng.shuffle(kinds)
        for kind in [*kinds, "fold"]:
            total = hand.bets[hand.actor] + self.rng.randint(10, 120)
            command = Act(seat, kind, total, hand.turn, version, self.now_ms)
            if kind == "all_in":
                if self.rng.random() < 0.7:
                    continue
                command = AllIn(seat, hand.turn, version, self.now_ms)
            try:
                self.do(command)
            except Rejected:
                continue
            return
        raise AssertionError("a fold is always allowed")

    def _odd_thing(self) -> None:
        """Clocks run out, people leave, the room is interrupted."""
        assert self.state is not None
        hand, version = self.state.hand, self.state.version
        players = [seat.player for seat in self.state.seats]
        kind = self.rng.choice(["clock", "clock", "clock", "move", "sit_out", "sit_in", "stand_up", "top_up", "void"])
        try:
            match kind:
                case "clock":
                    self.now_ms = hand.deadline_ms + self.rng.randint(0, 50)
                    self.do(ExpireClock(hand.deal.seats[hand.actor], hand.turn, version, self.now_ms))
                case "move":
                    self.now_ms += 5000  # That long the room was away.
                    self.do(MoveDeadline(hand.turn, hand.deadline_ms + 5000, "outage", version, self.now_ms))
                case "sit_out":
                    self.do(SitOut(self.rng.choice(players), "player", self.now_ms))
                case "sit_in":
                    self.do(SitIn(self.rng.choice(players), post_at_once=True, now_ms=self.now_ms))
                case "stand_up" if len(players) > 3:
                    self.do(StandUp(self.rng.choice(players), "player", self.now_ms))
                case "top_up":
                    transfer_id = str(UUID(bytes=self.rng.randbytes(16)))
                    self.do(RequestTopUp(self.rng.choice(players), 100, transfer_id, self.now_ms))
                    self.do(FundSeat(transfer_id, self.now_ms))
                case "void" if self.rng.random() < 0.3:
                    self.do(VoidHand("interrupted", version, self.now_ms))
        except Rejected:
            return

    def able(self) -> int:
        """How many could be dealt in."""
        assert self.state is not None
        return sum(
            1
            for seat in self.state.seats
            if seat.is_funded and seat.stack and not seat.is_sitting_out and not seat.leaving
        )


def played(seed: int, hands: int = 3, **settings: object) -> PlayedTable:
    """A table on which some hands were played."""
    table = PlayedTable(Random(seed), **settings)
    table.sit(table.rng.randint(2, 5))
    for _ in range(hands):
        while table.able() < 2:
            table.sit(1)
        table.play_hand()
    return table
