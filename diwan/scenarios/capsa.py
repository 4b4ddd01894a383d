"""One scripted Capsa hand, and the table that plays several of them (FORMAT.md 'Capsa')."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import ValidationError, convert

from diwan.core.cards import RANKS, SUITS, format_cards, parse_card
from diwan.core.decider import Rejected
from diwan.core.games.capsa.commands import AnswerCall, CapsaCommand, ExpireCapsaClock, LockSet, StartCapsa
from diwan.core.games.capsa.deal import HAND_CARDS
from diwan.core.games.capsa.decide import advance
from diwan.core.games.capsa.events import Arrangement, CapsaEvent, PairSettled
from diwan.core.games.capsa.outcome import shown_positions, units_of
from diwan.core.games.capsa.reserve import dealt_in
from diwan.core.games.capsa.rules import CAPSA_RULES_VERSION
from diwan.core.games.capsa.settings import CapsaSettings, checked
from diwan.core.games.capsa.state import NOBODY, CapsaState, EndedCapsa, LiveCapsa
from diwan.core.hand.events import Chips, HandSeat, Position, Seat
from diwan.core.reasons import Reason
from diwan.scenarios.format import FormatError, Json, known_keys, whole_number
from diwan.scenarios.played import script_cards

_NO_HASH: Final = bytes(32)
_ROWS: Final = ("front", "middle", "back")
_NOT_HELD: Final = -1
_SETTINGS: Final = frozenset(CapsaSettings.__struct_fields__) - {"game"}


class CapsaTable:
    """A table of a scenario: stacks and button go from hand to hand."""

    def __init__(self, scenario: Json) -> None:
        self.stacks: list[Chips] = list(scenario["stacks"])
        self.settings = _read_settings(scenario.get("rules", {}))
        self.button = whole_number(scenario.get("button"), "button")
        if self.button >= len(self.stacks):
            raise FormatError(f"button: there is no seat {self.button}")

    def deal(self, script: Json) -> PlayedCapsa:
        """Deal a hand to everybody who covers the reserve (CS-65)."""
        seats = self._seats(self.stacks)
        return PlayedCapsa(self.settings, self.stacks, seats, self.button, script)

    def take(self, played: PlayedCapsa) -> None:
        """Go on from a hand to the next one."""
        self.stacks = played.stacks
        following = self.next_button(self.stacks)
        if following is not None:
            self.button = following

    def next_button(self, stacks: list[Chips]) -> Seat | None:
        """Return the dealer of the next hand: the next seat clockwise that is dealt in (CS-3), None without a hand."""
        seats = self._seats(stacks)
        if len(seats) < 2:
            return None
        return min(seats, key=lambda seat: (seat - self.button - 1) % len(stacks))

    def _seats(self, stacks: list[Chips]) -> tuple[Seat, ...]:
        return dealt_in(self.settings, {seat: stack for seat, stack in enumerate(stacks) if stack}, self.button)[0]


class PlayedCapsa:
    """A Capsa hand that a scenario plays. Lists are indexed by seat, seats that are not dealt in included."""

    def __init__(
        self, settings: CapsaSettings, stacks: list[Chips], seats: tuple[Seat, ...], button: Seat, script: Json
    ) -> None:
        self.table_stacks = list(stacks)
        self.button = button
        self.cards = script_cards(seats, button, HAND_CARDS, script)
        self.version = 0
        self.events: list[CapsaEvent] = []
        self.state: CapsaState | None = None
        self.is_setting_time_over = False
        self.tell(
            StartCapsa(
                hand_id="",
                hand_no=1,
                rules_version=CAPSA_RULES_VERSION,
                settings=settings,
                seats=tuple(HandSeat(seat, f"player-{seat}", stacks[seat]) for seat in seats),
                button=button,
                secret_commitment=_NO_HASH,
                seeds=(),
                absent=seats,
                deck_root=_NO_HASH,
                next_commitment=_NO_HASH,
                version=0,
                now_ms=0,
            )
        )

    def tell(self, command: CapsaCommand) -> None:
        """Give a command to the hand; a refusal is a `Rejected` and changes nothing."""
        events, self.state = advance(self.state, command, self.cards)
        self.events += events
        self.version += len(events)

    def do_step(self, step: Json) -> None:
        """Do what a step says."""
        if "timeout" in step:
            seat = step["timeout"]
            is_setting = self.live.phase == "setting"
            self.tell(ExpireCapsaClock(seat, None, self.version, self.live.deadline_ms))
            self.is_setting_time_over = self.is_setting_time_over or is_setting
        elif "set" in step:
            arrangement = self._arrangement(step["set"])
            is_confirmed = bool(step.get("confirm_foul", False))
            self.tell(LockSet(step["seat"], arrangement, None, self.version, 0, is_confirmed))
        elif "declare" in step:
            self.finish_setting()
            self.tell(AnswerCall(step["seat"], step["declare"], None, self.version, 0))
        elif self.is_over:
            raise Rejected(Reason.HAND_OVER)
        else:
            raise Rejected(Reason.ARGUMENT_INVALID, why="not a step of this game")

    def finish_setting(self) -> None:
        """Let the clock run out for the others too: it is one for all (CS-21), though a scenario names seat by seat."""
        if self.is_setting_time_over and not self.is_over and self.live.phase == "setting":
            self.tell(ExpireCapsaClock(None, None, self.version, self.live.deadline_ms))

    @property
    def is_over(self) -> bool:
        """Whether the hand has ended."""
        return isinstance(self.state, EndedCapsa)

    @property
    def live(self) -> LiveCapsa:
        """The state of play, after the end that in which the hand ended."""
        if isinstance(self.state, EndedCapsa):
            return self.state.last
        if self.state is None:
            raise RuntimeError("a hand is started when it is made")
        return self.state

    @property
    def stacks(self) -> list[Chips]:
        """Chips of every seat."""
        stacks = list(self.table_stacks)
        for seat, stack in zip(self.live.deal.seats, self.live.stacks, strict=True):
            stacks[seat] = stack
        return stacks

    def see(self) -> dict[str, Any]:
        """Return everything that ``expect`` may ask for."""
        self.finish_setting()
        live = self.live
        return {
            "street": "over" if self.is_over else live.phase,
            "to_act": None if live.asked == NOBODY else live.deal.seats[live.asked],
            "stacks": self.stacks,
            "hole": {
                str(seat): format_cards([self.cards[position] for position in holding], "")
                for seat, holding in zip(live.deal.seats, live.holdings, strict=True)
            },
            "board": "",
            "pot": 0,
            "pots": [],
            "bets": [0] * len(self.table_stacks),
            "legal": None,
            "window": None,
        }

    def see_start(self) -> dict[str, Any]:
        """Return everything that ``start`` may ask for."""
        return {"button": self.button, "stacks": self.table_stacks, "blinds": {}, "ante": 0}

    def see_end(self) -> dict[str, Any]:
        """Return everything that ``end`` may ask for beyond `see`, but the next button."""
        if not isinstance(self.state, EndedCapsa):
            return {}
        live, ended = self.live, self.state.ended
        return {
            "result": ended.result,
            "payoffs": self._by_seat(ended.payoffs),
            "won": self._by_seat(ended.won),
            "returned": self._by_seat(ended.returned),
            "units": self._by_seat(units_of(live)),
            "shown": sorted(shown_positions(live)),
            "status": {str(standing.seat): standing.status for standing in live.standings},
            "naturals": {str(play.natural.seat): play.natural.kind for play in live.plays if play.natural is not None},
            "royalties": {
                str(standing.seat): {row: getattr(standing, row).units for row in _ROWS}
                for standing in live.standings
                if standing.status == "set"
            },
            "pairs": sorted(map(_pair, live.lines), key=lambda pair: (pair["a"], pair["b"])),
        }

    def _by_seat(self, values: tuple[int, ...]) -> list[int]:
        spread = [0] * len(self.table_stacks)
        for seat, value in zip(self.live.deal.seats, values, strict=True):
            spread[seat] = value
        return spread

    def _arrangement(self, rows: Mapping[str, Any]) -> Arrangement:
        """Translate cards to positions, as the servicer does for a client; a card that was not dealt has none."""
        known_keys(rows, _ROWS, "set")
        positions = {card: position for position, card in self.cards.items() if position < self._dealt}
        front, middle, back = [
            tuple([positions.get(card, _NOT_HELD) for card in _cards_of(rows.get(row, ""))]) for row in _ROWS
        ]
        return Arrangement(front, middle, back)

    @property
    def _dealt(self) -> Position:
        return len(self.live.deal.seats) * HAND_CARDS


def _read_settings(raw: Json) -> CapsaSettings:
    known_keys(raw, _SETTINGS, "rules")
    try:
        return checked(convert(dict(raw), CapsaSettings))
    except ValidationError as error:
        raise FormatError(f"rules: {error}") from None
    except Rejected as refusal:
        raise FormatError(f"rules: {refusal}") from None


def _cards_of(text: Any) -> list[int]:
    if (
        not isinstance(text, str)
        or len(text) % 2
        or not all(rank in RANKS and suit in SUITS for rank, suit in zip(text[::2], text[1::2], strict=True))
    ):
        raise FormatError(f"set: {text!r} is no row of cards")
    return [parse_card(text[start : start + 2]) for start in range(0, len(text), 2)]


def _pair(line: PairSettled) -> dict[str, Any]:
    """Return a line from the side of the seat with the lower number."""
    is_turned = line.a > line.b
    sign = -1 if is_turned else 1
    parts = ("row_units", "overall", "scoop", "royalty", "other", "units", "chips")
    return {
        "a": min(line.a, line.b),
        "b": max(line.a, line.b),
        "rows": None if line.rows is None else {row: sign * getattr(line.rows, row) for row in _ROWS},
        **{part: sign * getattr(line, part) for part in parts},
    }
