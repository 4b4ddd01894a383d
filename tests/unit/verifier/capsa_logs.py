"""Honest logs of Capsa: hands played by chance through the core's own deciders and stored as a store would."""

from __future__ import annotations

from random import Random  # noqa: TID251  (tests may use chance)

from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import AnswerCall, ExpireCapsaClock, LockSet, SaveDraft, Unlock
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.capsa.stakes import AcceptStake, EndStake, ProposeStake
from diwan.core.hand.commands import MoveDeadline, VoidHand
from diwan.core.table.commands import StandUp
from diwan.core.table.config import TableConfig
from tests.unit.verifier.logs import PlayedTable


class PlayedCapsa(PlayedTable):
    """A table of Capsa at which sets are random, so that they often foul."""

    def config(self, **settings: object) -> TableConfig:
        settings = {"unit": 10, "timeout_policy": self.rng.choice(["draft_then_auto", "auto", "foul"])} | settings
        return TableConfig(name="capsa", capsa=CapsaSettings(**settings), seats=4, buy_in_max=100_000)

    def buy_in(self) -> int:
        return self.rng.randint(20_000, 90_000)

    def arrangement(self, seat: int) -> Arrangement:
        live = self.state.hand
        holding = list(live.holdings[live.deal.places[seat]])
        self.rng.shuffle(holding)
        return Arrangement(tuple(holding[:3]), tuple(holding[3:8]), tuple(holding[8:]))

    def _decide_once(self) -> None:
        live, version = self.state.hand, self.state.version
        self.now_ms += self.rng.randint(10, 2000)
        if live.phase == "declaring":
            answer = self.rng.choice(["play", "play", "surrender"])
            self.do(AnswerCall(live.deal.seats[live.asked], answer, live.turn, version, self.now_ms))
            return
        seat = live.deal.seats[self.rng.choice(live.setters)]
        rows = self.arrangement(seat)
        if self.rng.random() < 0.3:
            rows = Arrangement(rows.front, rows.middle[:2])
        command = self.rng.choice([
            SaveDraft(seat, rows, live.turn, version, self.now_ms),
            LockSet(seat, rows, live.turn, version, self.now_ms, is_foul_confirmed=self.rng.random() < 0.7),
            Unlock(seat, live.turn, version, self.now_ms),
            LockSet(seat, rows, live.turn, version, self.now_ms),
        ])  # fmt: skip
        try:
            self.do(command)
        except Rejected:
            return

    def _odd_thing(self) -> None:
        live, version = self.state.hand, self.state.version
        seats = [seat.seat for seat in self.state.seats]
        one, other = self.rng.sample(seats, 2)
        offer = self.state.stakes.offers.get((min(one, other), max(one, other)))
        kind = self.rng.choice(["clock", "clock", "move", "propose", "accept", "accept", "end", "leave", "void"])
        try:
            match kind:
                case "clock":
                    self.now_ms = max(self.now_ms, live.deadline_ms) + self.rng.randint(0, 50)
                    self.do(ExpireCapsaClock(None, live.turn, version, self.now_ms))
                case "move":
                    self.now_ms += 5000  # That long the room was away.
                    self.do(MoveDeadline(live.turn, live.deadline_ms + 5000, "outage", version, self.now_ms))
                case "propose":
                    self.do(ProposeStake(one, other, self.rng.randint(1, 50), self.now_ms))
                case "accept" if offer is not None:
                    self.do(AcceptStake(one, other, offer[1], self.now_ms))
                case "end":
                    self.do(EndStake(one, other, self.now_ms))
                case "leave" if len(seats) > 2:
                    self.do(StandUp(self.state.seat(one).player, "player", self.now_ms))
                case "void" if self.rng.random() < 0.3:
                    self.do(VoidHand("interrupted", version, self.now_ms))
        except Rejected:
            return


def played_capsa(seed: int, hands: int = 3, **settings: object) -> PlayedCapsa:
    """A table on which some hands of Capsa were played."""
    table = PlayedCapsa(Random(seed), **settings)
    table.sit(table.rng.randint(2, 4))
    for _ in range(hands):
        while table.able() < 2:
            table.sit(1)
        table.play_hand()
    return table
