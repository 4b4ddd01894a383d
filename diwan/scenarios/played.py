"""One scripted poker hand: its cards, its commands, and what can be seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diwan.core.cards import DECK, Card, CardTextError, format_cards, parse_cards
from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import Act, AllIn, AnswerAnchor, ExpireClock, HandCommand, StartHand, UsePower
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Chips, Due, HandEvent, HandSeat, NaikoDeal, Position, Posted, Seat
from diwan.core.hand.pots import cut_pots
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import NOBODY, EndedHand, HandState, LiveHand
from diwan.core.reasons import Reason
from diwan.scenarios.format import FormatError, Json

_NO_HASH = bytes(32)


class UnknownCard(LookupError):  # noqa: N818  (an answer: the scenario names no card there)
    """The hand came to a card that the scenario leaves unknown."""


class ScriptedCards(dict[Position, Card]):
    """Positions to cards; a seat without known cards must not come to a showdown."""

    def __missing__(self, position: Position) -> Card:
        raise UnknownCard(f"the card at position {position} is unknown to the scenario, and it came to a showdown")


class PlayedHand:
    """A hand that a scenario plays. Lists are indexed by seat, seats that are not dealt in included."""

    def __init__(
        self,
        settings: HandSettings,
        stacks: Sequence[Chips],
        button: Seat,
        big_blind_seat: Seat | None,
        dues: tuple[Due, ...],
        script: Json,
        *,
        deal_no: int = 0,
        carried: Chips = 0,
        naiko: NaikoDeal | None = None,
        destellos: Sequence[int] | None = None,
    ) -> None:
        self.game = GAMES[settings.game]
        self.table_stacks = tuple(stacks)
        self.table_destellos = tuple(destellos or [0] * len(stacks))
        self.button = button
        seats = [HandSeat(seat, f"player-{seat}", stack) for seat, stack in enumerate(stacks) if stack]
        self.cards = script_cards([each.seat for each in seats], button, self.game.hole_cards, script)
        self.version = 0
        self.events: list[HandEvent] = []
        self.state: HandState | None = None
        self.tell(
            StartHand(
                hand_id="",
                hand_no=1,
                rules_version=CURRENT_RULES_VERSION,
                settings=settings,
                seats=tuple(seats),
                button=button,
                big_blind_seat=big_blind_seat,
                dues=dues,
                secret_commitment=_NO_HASH,
                seeds=(),
                absent=tuple(each.seat for each in seats),
                deck_root=_NO_HASH,
                next_commitment=_NO_HASH,
                version=0,
                now_ms=0,
                deal_no=deal_no,
                carried=carried,
                naiko=naiko,
            )
        )

    def tell(self, command: HandCommand) -> None:
        """Give a command to the hand; a refusal is a `Rejected` and changes nothing."""
        events, self.state = advance(self.state, command, self.cards)
        self.events += events
        self.version += len(events)

    def do_step(self, step: Json) -> None:
        """Do what a step says."""
        if "power" in step:
            discard = self._position_of(step["seat"], step.get("discard"))
            self.tell(UsePower(step["seat"], step["power"], step.get("target"), discard, None, self.version, 0))
        elif "respond" in step:
            self.tell(AnswerAnchor(step["seat"], step["respond"], None, self.version, 0))
        elif "timeout" in step:
            window = self.live.window
            deadline_ms = self.live.deadline_ms if window is None else window.deadline_ms
            self.tell(ExpireClock(step["timeout"], None, self.version, deadline_ms))
        elif "do" not in step:
            raise Rejected(Reason.ARGUMENT_INVALID, why="not a step of this game")
        elif step["do"] == "all_in":
            self.tell(AllIn(step["seat"], None, self.version, 0))
        else:
            self.tell(Act(step["seat"], step["do"], step.get("to", 0), None, self.version, 0))

    @property
    def is_over(self) -> bool:
        """Whether the hand has ended."""
        return isinstance(self.state, EndedHand)

    @property
    def live(self) -> LiveHand:
        """The state of play, after the end that in which the hand ended."""
        if isinstance(self.state, EndedHand):
            return self.state.last
        if self.state is None:
            raise RuntimeError("a hand is started when it is made")
        return self.state

    def by_seat(self, values: Sequence[int], missing: Sequence[int] | None = None) -> list[int]:
        """Spread a list over the places to one over the table's seats."""
        spread = list(missing or [0] * len(self.table_stacks))
        for seat, value in zip(self.live.deal.seats, values, strict=True):
            spread[seat] = value
        return spread

    @property
    def stacks(self) -> list[int]:
        """Chips of every seat."""
        return self.by_seat(self.live.stacks, self.table_stacks)

    @property
    def destellos(self) -> list[int] | None:
        """Destellos of every seat; None in games without."""
        return None if self.live.naiko is None else self._with_absent(self.live.naiko.destellos)

    def see(self) -> dict[str, Any]:
        """Return everything that ``expect`` may ask for."""
        live, seats = self.live, self.live.deal.seats
        actions = legal_actions(self.game, live)
        lift = actions.lift if actions else None
        pots: list[tuple[int, tuple[Seat, ...]]] = (
            [(pot.amount, pot.eligible) for pot in live.pots]
            if self.is_over
            else [(pot.amount, tuple(seats[place] for place in pot.eligible)) for pot in cut_pots(live)]
        )
        return {
            "street": "over" if self.is_over else live.street,
            "to_act": None if live.actor == NOBODY else seats[live.actor],
            "board": format_cards([self.cards[position] for position in live.board], ""),
            "pot": live.pot,
            "pots": [{"amount": amount, "seats": sorted(eligible)} for amount, eligible in pots],
            "stacks": self.stacks,
            "bets": self.by_seat(live.bets),
            "hole": self._known_hole_cards(),
            "legal": None
            if actions is None
            else {
                "fold": actions.fold,
                "check": actions.check,
                "sarab": actions.sarab,
                "call": actions.call,
                "bet": _listed(actions.bet),
                "raise": _listed(actions.raise_to),
                "powers": list(actions.powers),
            },
            "to_call": None if actions is None else actions.to_call,
            "can_raise": None if actions is None else lift is not None,
            "min_to": lift[0] if lift else None,
            "max_to": lift[1] if lift else None,
            "window": None if live.window is None else seats[live.window.target],
            "glance": self._glances(),
            "destellos": self.destellos,
        }

    def see_start(self) -> dict[str, Any]:
        """Return everything that ``start`` may ask for."""
        started = self.live.deal.started
        blinds: dict[str, int] = {}
        antes: set[int] = {0}
        for event in self.events:
            if isinstance(event, Posted) and event.kind == "ante":
                antes.add(event.amount)
            elif isinstance(event, Posted):
                blinds[str(event.seat)] = blinds.get(str(event.seat), 0) + event.amount
        return {
            "button": self.button,
            "stacks": list(self.table_stacks),
            "blinds": blinds,
            "ante": started.settings.big_blind if started.deal_no else max(antes),
            "destellos": None if started.naiko is None else self._with_absent(started.naiko.destellos),
        }

    def see_end(self) -> dict[str, Any]:
        """Return everything that ``end`` may ask for beyond `see`, but the next button."""
        if not isinstance(self.state, EndedHand):
            return {}
        ended, live = self.state.ended, self.live
        return {
            "result": ended.result,
            "payoffs": self.by_seat(ended.payoffs),
            "won": self.by_seat(ended.won),
            "returned": self.by_seat(ended.returned),
            "shown": sorted({showing.seat for showing in live.shown}),
            "category": {str(showing.seat): showing.category for showing in live.shown if showing.category},
        }

    def _with_absent(self, destellos: Sequence[int]) -> list[int]:
        """Seats that are not dealt in keep what they had."""
        return self.by_seat(destellos, self.table_destellos)

    def _glances(self) -> dict[str, str]:
        """What each seat saw of the deck; a seat looks once a hand at most (NK-9)."""
        seen = () if self.live.naiko is None else self.live.naiko.activations
        seats = self.live.deal.seats
        return {
            str(seats[made.place]): format_cards([self.cards[made.position]])
            for made in seen
            if made.power == "hidden_glance"
        }

    def _position_of(self, seat: Seat, card: str | None) -> Position | None:
        """Translate a card to a position, as the servicer does for a client; one that the seat does not hold has none."""
        place = self.live.deal.places.get(seat)
        if card is None or place is None:
            return None
        known = {format_cards([self.cards[one]]): one for one in self.live.holdings[place] if one in self.cards}
        return known.get(card)

    def _known_hole_cards(self) -> dict[str, list[str]]:
        known: dict[str, list[str]] = {}
        for seat, holding in zip(self.live.deal.seats, self.live.holdings, strict=True):
            if all(position in self.cards for position in holding):
                known[str(seat)] = sorted(format_cards([self.cards[position]]) for position in holding)
        return known


def _listed(bounds: tuple[int, int] | None) -> list[int] | None:
    return None if bounds is None else list(bounds)


def script_cards(seats: Sequence[Seat], button: Seat, count: int, script: Json) -> ScriptedCards:
    """Lay out the deck: hole cards one at a time from the button's left, then what ``deck`` holds.

    Behind a deck that is only a prefix come the cards that nothing names, in the order of the pack: a scenario does
    not depend on them.
    """
    order = [seat for seat in seats if seat > button] + [seat for seat in seats if seat <= button]
    try:
        deck = parse_cards(script.get("deck", ""))
        hole = {seat: parse_cards(text) for seat, text in _hole(script).items()}
    except (CardTextError, AttributeError) as error:
        raise FormatError(f"cards: {error}") from None
    cards = ScriptedCards()
    first = 0
    if "hole" in script:
        first = count * len(seats)
        for seat, holding in hole.items():
            if seat not in order or len(holding) != count:
                raise FormatError(f"hole: seat {seat} is not dealt in or holds not {count} cards")
            for number, card in enumerate(holding):
                cards[order.index(seat) + number * len(seats)] = card
    for position, card in enumerate(deck, first):
        cards[position] = card
    if len(set(cards.values())) != len(cards):
        raise FormatError("cards: one card stands in two places")
    unnamed = [card for card in DECK if card not in set(cards.values())]
    for position, card in zip(range(first + len(deck), len(DECK)), unnamed, strict=False):
        cards[position] = card
    return cards


def _hole(script: Json) -> Mapping[Seat, str]:
    raw = script.get("hole", {})
    if not isinstance(raw, dict) or not all(seat.isdigit() for seat in raw):
        raise FormatError("hole is no object of seats")
    return {int(seat): text for seat, text in raw.items()}
