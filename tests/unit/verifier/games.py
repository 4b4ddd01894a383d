"""Tables of all five games, played by chance through the core's own deciders and stored as a store would."""

from __future__ import annotations

from random import Random  # noqa: TID251  (tests may use chance)
from uuid import UUID

from diwan.core.decider import Rejected
from diwan.core.games.naiko.carousel import draw_carousel
from diwan.core.games.naiko.rules import targets
from diwan.core.games.sarab import draw_button
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AnswerAnchor, ExpireClock, UsePower
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.table.config import TableConfig
from tests.property.random_hands import game_of
from tests.unit.verifier.capsa_logs import PlayedCapsa
from tests.unit.verifier.logs import STREAM, PlayedTable

GAMES = ("holdem", "omaha", "sarab", "naiko", "capsa")


class PlayedOmaha(PlayedTable):
    """Pot-limit Omaha."""

    def config(self, **settings: object) -> TableConfig:
        hand = HandSettings(game="omaha", limit="pot_limit", small_blind=5, big_blind=10, **settings)
        return TableConfig(name="omaha", hand=hand, seats=6)


class PlayedSarab(PlayedTable):
    """Sarab for chips; void hands leave their antes to the next."""

    def config(self, **settings: object) -> TableConfig:
        sarab = SarabSettings(void_antes=self.rng.choice(["refund", "carry"]))
        hand = HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=sarab, **settings)
        return TableConfig(name="sarab", hand=hand, seats=6)

    def _decide_once(self) -> None:
        """Every other hand is checked as far as it can be, so that some are void (A3)."""
        live = self.state.hand
        if self.state.hand_no % 2 == 0:
            self.now_ms += 5
            seat = live.deal.seats[live.actor]
            try:
                self.do(Act(seat, "check", 0, live.turn, self.state.version, self.now_ms))
            except Rejected:
                super()._decide_once()
            return
        super()._decide_once()

    def drawn(self, hand_id: str, seeds: dict[int, bytes]) -> dict[str, object]:
        if self.state.hand_no:
            return {}
        seats = sorted(seat.seat for seat in self.state.seats if seat.is_funded and seat.stack)
        return {"button": draw_button(self.secrets[hand_id], hand_id, seats, seeds)}


class PlayedNaiko(PlayedTable):
    """Naiko with all its powers."""

    def config(self, **settings: object) -> TableConfig:
        hand = HandSettings(game="naiko", small_blind=5, big_blind=10, naiko=NaikoSettings(gain_per_deal=3), **settings)
        return TableConfig(name="naiko", hand=hand, seats=6)

    def drawn(self, hand_id: str, seeds: dict[int, bytes]) -> dict[str, object]:
        return {"carousel": draw_carousel(self.secrets[hand_id], hand_id, seeds)}

    def _decide_once(self) -> None:
        live, version = self.state.hand, self.state.version
        if live.window is not None:
            seat, turn = live.deal.seats[live.window.target], live.window.turn
            if self.rng.random() < 0.3:
                self.now_ms = max(self.now_ms, live.window.deadline_ms)
                self.do(ExpireClock(seat, turn, version, self.now_ms))
            else:
                answer = self.rng.choice(["seal_shield", "pass"])
                try:
                    self.do(AnswerAnchor(seat, answer, turn, version, self.now_ms))
                except Rejected:
                    self.do(AnswerAnchor(seat, "pass", turn, version, self.now_ms))
            return
        powers = legal_actions(game_of(live), live).powers
        if powers and self.rng.random() < 0.4:
            power = self.rng.choice(powers)
            target = self.rng.choice(list(targets(live))) if power == "short_anchor" else None
            discard = self.rng.choice(live.holdings[live.actor]) if power == "sleeve_trick" else None
            seat = live.deal.seats[live.actor]
            try:
                self.do(UsePower(seat, power, target, discard, live.turn, version, self.now_ms))
            except Rejected:
                super()._decide_once()
            return
        super()._decide_once()

    def _odd_thing(self) -> None:
        if self.state.hand.window is None:
            super()._odd_thing()
        else:
            self._decide_once()


KINDS = {
    "holdem": PlayedTable,
    "omaha": PlayedOmaha,
    "sarab": PlayedSarab,
    "naiko": PlayedNaiko,
    "capsa": PlayedCapsa,
}


def stream_of(number: int) -> UUID:
    """The id of one of many tables."""
    return UUID(int=STREAM.int + number)


def played_game(game: str, seed: int, hands: int = 3, stream: UUID = STREAM) -> PlayedTable:
    """A table of a game on which some hands were played: fewer where nobody is left to play and no seat is free."""
    table = KINDS[game](Random(f"{game}/{seed}"), stream)
    table.sit(table.rng.randint(2, 4 if game == "capsa" else 5))
    for _ in range(hands):
        try:
            while table.able() < 2:
                table.sit(1)
        except Rejected:
            break
        table.play_hand()
    return table
