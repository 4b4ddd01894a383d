"""Sarab: an ante by everybody, one raise a round before the river, the sarab at any own turn, and void hands (SB)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.fairness import draw
from diwan.core.fairness.material import NO_SEEDS, Seeds
from diwan.core.games.holdem import Holdem
from diwan.core.hand.betting import price_of
from diwan.core.hand.events import ActionKind, Chips, Due, RuleOfVoid, Seat
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.hand.state import EndedHand, LiveHand, Place
from diwan.core.limits import STACK_MAX
from diwan.core.reasons import Reason

if TYPE_CHECKING:
    from diwan.core.hand.commands import StartHand

DEALER_LABEL: Final = "dealer/v1"

LEVELS_MAX: Final = 100
DEALS_PER_LEVEL_MAX: Final = 1000
RAISES_MAX: Final = 1000
DEAL_NO_MAX: Final = 2**31 - 1
"""No match comes near these; they keep numbers within what every client reads exactly."""


class Sarab(Holdem):
    """Sarab is no-limit hold'em without blinds, with closed raising before the river (SB-1 to SB-40)."""

    name: ClassVar[str] = "sarab"
    has_sarab: ClassVar[bool] = True

    def start_rules(self, command: StartHand) -> Iterator[tuple[str, bool, str]]:
        """Yield what must hold of the beginning: the forced bet of this deal by everybody, and nothing else (SB-6)."""
        settings = command.settings
        yield "limit", settings.limit == "no_limit", "sizes are no-limit in every round (A4)"
        yield "sarab", settings.sarab is not None, "a hand of Sarab needs its settings"
        sarab = settings.sarab or SarabSettings()
        yield from setting_rules(sarab)
        yield "deal_no", 1 <= command.deal_no <= DEAL_NO_MAX, "the schedule counts deals from 1"
        forced_bet = forced_bet_of(sarab, command.deal_no)
        yield "big_blind", settings.big_blind == forced_bet, f"the smallest bet is the forced bet, {forced_bet} (SB-31)"
        dues = forced_dues([seat.seat for seat in command.seats], forced_bet)
        yield "dues", command.dues == dues, f"everybody owes the forced bet of {forced_bet} (SB-6)"
        yield "big_blind_seat", command.big_blind_seat is None, "this game has no blinds"
        yield "carried", 0 <= command.carried <= STACK_MAX, "chips"

    def is_lifting_open(self, state: LiveHand, place: Place) -> bool:
        """Say whether the round takes a bet or raise: one bet and one raise over it, on the river any number (SB-32).

        Every lift of the price counts, a short Sarab too (finer point 1).
        """
        return state.street == "river" or len(state.lifts) <= _settings(state).raises_before_river

    def is_sarab_free(self, state: LiveHand) -> bool:
        """Say whether Sarab is no raise like any other but may be played at any own turn (A5)."""
        return _settings(state).sarab_ignores_cap

    def may_fold(self, state: LiveHand, place: Place) -> bool:
        """Say whether the seat has more behind than the balance at which nobody folds any more (SB-26, A11)."""
        return state.stacks[place] > _settings(state).no_fold_at_or_below

    def clock_action(self, state: LiveHand, place: Place) -> ActionKind:
        """Return what is done for a seat whose time is over: who may not fold calls, all in if need be (SB-40)."""
        if state.bets[place] >= price_of(state):
            return "check"
        return "fold" if self.may_fold(state, place) else "call"

    def void_reason(self, state: LiveHand) -> RuleOfVoid | None:
        """Return why the hand is void at the end of the turn round (SB-23, SB-33).

        Judged among the players not folded; not where fewer than two of them had chips left to bet with after the
        forced bet (SB-35).
        """
        if state.street != "turn":
            return None
        if state.most_lifts >= _lifts_wanted(state) or _could_act(state) < 2:
            return None
        return "no_raise" if _settings(state).void_rule == "no_raise" else "no_voluntary_bet"

    def kept_in_void(self, state: LiveHand) -> Sequence[Chips] | None:
        """Return the forced bets where the table carries them (A6); other bets always go back (finer point 2)."""
        return state.antes if _settings(state).void_antes == "carry" else None


def forced_bet_of(settings: SarabSettings, deal_no: int) -> Chips:
    """Return the forced bet of a deal, counted from 1; after the last level it stays (SB-28, SB-36)."""
    level = max(deal_no - 1, 0) // settings.deals_per_level
    return settings.forced_bets[min(level, len(settings.forced_bets) - 1)]


def deals_to_next_step(settings: SarabSettings, deal_no: int) -> int:
    """Return how many deals, this one included, have the forced bet of this one; 0 where it stays for good (SB-28)."""
    bets, level = settings.forced_bets, (deal_no - 1) // settings.deals_per_level
    now = forced_bet_of(settings, deal_no)
    for next_level in range(level + 1, len(bets)):
        if bets[next_level] != now:
            return next_level * settings.deals_per_level - deal_no + 1
    return 0


def is_void_unless_bet(state: LiveHand) -> bool:
    """Say whether the hand would be void at the end of the turn with no more than there has been bet so far (SB-23)."""
    if state.street == "river" or state.is_void:
        return False
    return max(state.most_lifts, len(state.lifts)) < _lifts_wanted(state) and _could_act(state) >= 2


def bound_to_stay(state: LiveHand) -> tuple[Seat, ...]:
    """Return the seats in the hand that have chips, but too few of them to be allowed to fold (SB-26)."""
    least = _settings(state).no_fold_at_or_below
    seats = zip(state.deal.seats, state.stacks, strict=True)
    return tuple(
        [seat for place, (seat, stack) in enumerate(seats) if state.unfolded >> place & 1 and 0 < stack <= least]
    )


class FollowingDeal(Struct, frozen=True):
    """What a table carries from one deal to the next. ``button`` None: the first dealer is drawn (SB-29)."""

    settings: HandSettings
    deal_no: int
    button: Seat | None


def following_deal(settings: HandSettings, last: EndedHand | None, seats: Sequence[Seat]) -> FollowingDeal:
    """Return the deal after a hand, or the first one; ``seats`` are dealt in, rising.

    The button stays after a void hand and else moves to the next seat dealt in (A6, SB-29); void hands count as deals
    unless the table says otherwise (A7).
    """
    sarab = settings.sarab or SarabSettings()
    deal_no, button = 1, None
    if last is not None:
        started, is_void = last.last.deal.started, last.ended.result == "void"
        deal_no = started.deal_no + (not is_void or sarab.void_counts_as_deal)
        button = started.button if is_void else next_button(started.button, seats)
    forced_bet = forced_bet_of(sarab, deal_no)
    return FollowingDeal(replace(settings, small_blind=0, big_blind=forced_bet), deal_no, button)


def next_button(button: Seat, seats: Sequence[Seat]) -> Seat:
    """Return the first of rising seats left of the button."""
    return min([seat for seat in seats if seat > button], default=seats[0])


def draw_button(secret: bytes, hand_id: str, seats: Sequence[Seat], seeds: Seeds = NO_SEEDS) -> Seat:
    """Return the first dealer, drawn evenly among rising seats from the hand's committed secret (A1)."""
    return seats[draw(secret, DEALER_LABEL, hand_id, (1,) * len(seats), seeds=seeds)]


def forced_dues(seats: Sequence[Seat], forced_bet: Chips) -> tuple[Due, ...]:
    """Return the forced bets of a hand, in the order of the seats."""
    return tuple([Due(seat, "ante", forced_bet) for seat in seats])


def checked(settings: SarabSettings) -> SarabSettings:
    """Return the settings; raises SETTING_INVALID, which says which one is wrong and why."""
    for setting, is_right, why in setting_rules(settings):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    return settings


def setting_rules(settings: SarabSettings) -> Iterator[tuple[str, bool, str]]:
    """Yield every setting with whether it makes sense and what would."""
    bets = settings.forced_bets
    yield "forced_bets", 1 <= len(bets) <= LEVELS_MAX, f"1 to {LEVELS_MAX} levels"
    yield "forced_bets", all(1 <= bet <= STACK_MAX for bet in bets), "chips, 1 at least"
    yield "forced_bets", list(bets) == sorted(bets), "the forced bet never falls (SB-28)"
    is_number = 1 <= settings.deals_per_level <= DEALS_PER_LEVEL_MAX
    yield "deals_per_level", is_number, f"1 to {DEALS_PER_LEVEL_MAX}"
    is_rule = settings.void_rule in {"no_voluntary_bet", "no_raise", "off"}
    yield "void_rule", is_rule, "no_voluntary_bet, no_raise or off"
    yield "void_antes", settings.void_antes in {"refund", "carry"}, "refund or carry"
    yield "raises_before_river", 0 <= settings.raises_before_river <= RAISES_MAX, f"0 to {RAISES_MAX}"
    yield "no_fold_at_or_below", 0 <= settings.no_fold_at_or_below <= STACK_MAX, "0 (never) or chips"


def _settings(state: LiveHand) -> SarabSettings:
    settings = state.deal.started.settings.sarab
    assert settings is not None, "a hand of Sarab begins with its settings"  # noqa: S101  (held by start_rules)
    return settings


def _lifts_wanted(state: LiveHand) -> int:
    """Return how many bets and raises a round must have had for the hand to count."""
    return {"no_voluntary_bet": 1, "no_raise": 2, "off": 0}[_settings(state).void_rule]


def _could_act(state: LiveHand) -> int:
    """Return how many players not folded had chips left after the forced bet."""
    chips = zip(state.deal.stacks, state.antes, strict=True)
    return sum([1 for place, (stack, ante) in enumerate(chips) if stack > ante and state.unfolded >> place & 1])
