"""A table of Capsa as one viewer may know it: what `diwan.core.redact` does for games with betting.

Which card is whose to see is decided in `diwan.core.games.capsa.redact`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.fairness.deck import Reveal
from diwan.core.games.capsa.events import CapsaStarted, DraftSaved, SetLocked, SettingClosed, SetUnlocked
from diwan.core.games.capsa.outcome import shown_positions
from diwan.core.games.capsa.redact import own_view, public_view
from diwan.core.games.capsa.state import CapsaState, LiveCapsa, Place
from diwan.core.games.capsa.view import (
    CapsaHandView,
    CapsaOwnView,
    CapsaTableView,
    PairStakeView,
    ShortageView,
    StakeOfferView,
)
from diwan.core.hand.events import Position
from diwan.core.table.capsa import shortages
from diwan.core.table.events import StandUpRequested, TableEvent
from diwan.core.table.games import able_seats
from diwan.core.table.playing import capsa_of, live_of
from diwan.core.table.state import TableState
from diwan.core.view import HandView, Lens, PrivateView, Seat, SeatView

type Cards = Mapping[Position, Card]


def live_capsa(state: TableState) -> LiveCapsa | None:
    """Return the hand of Capsa that runs, or the last one as it stood at its end."""
    live = live_of(capsa_of(state.hand))
    return live if isinstance(live, LiveCapsa) else None


def capsa_hand_view(hand: CapsaState, cards: Cards) -> HandView:
    """Return the hand as everybody may know it. It has no street, board, pot or betting; ``capsa`` says all."""
    shown: CapsaHandView = public_view(hand, cards)
    return HandView(
        hand_id=shown.hand_id,
        hand_no=shown.hand_no,
        street="over" if shown.phase == "over" else "preflop",
        button=shown.button,
        board=(),
        pot=0,
        pots=(),
        decision=None,
        deck_root=shown.deck_root,
        game="capsa",
        rules_version=shown.rules_version,
        capsa=shown,
    )


def capsa_table_view(state: TableState) -> CapsaTableView | None:
    """Return offers, stakes and shortages of a table of Capsa; None at any other."""
    if state.config.capsa is None:
        return None
    # A seat that plays has the reserve of its hand; what it will have after it nobody knows yet.
    short = [] if state.is_closing else shortages(state, able_seats(state))
    return CapsaTableView(
        offers=tuple(
            [StakeOfferView(seat, a + b - seat, unit) for (a, b), (seat, unit) in sorted(state.stakes.offers.items())]
        ),
        pair_units=tuple([PairStakeView(pair.a, pair.b, pair.unit) for pair in state.stakes.pair_units]),
        shortages=tuple([ShortageView(each.seat, each.reserve) for each in short if not state.is_in_hand(each.seat)]),
    )


def capsa_private_view(
    live: LiveCapsa, place: Place, hand_id: str, reveal: Callable[[Position], Reveal]
) -> PrivateView:
    """Return the proofs of a seat's own thirteen cards, and how it has arranged them."""
    reveals = tuple([reveal(position) for position in live.holdings[place]])
    cards = {each.position: each.card for each in reveals}
    return PrivateView(live.deal.seats[place], hand_id, reveals, capsa=own_view(live, place, cards))


def capsa_seat_view(live: LiveCapsa, place: Place, plain: SeatView, cards: Cards, *, is_running: bool) -> SeatView:
    """Return a seat that is, or was, in the hand; ``plain`` is the seat apart from it. Who surrenders has folded."""
    play, positions = live.plays[place], shown_positions(live).get(plain.seat, ())
    return replace(
        plain,
        stack=live.stacks[place] if is_running else plain.stack,
        in_hand=True,
        has_folded=play.answer == "surrender",
        shown_cards=tuple([cards[position] for position in positions]),
        hidden_cards=0 if positions else len(live.holdings[place]),
    )


def capsa_shown_to(state: TableState, act: TableEvent) -> tuple[str, ...]:
    """Return the players whose own view is another one after a command (CS-22); ``act`` is its first event."""
    numbers: tuple[Seat, ...]
    match act:
        case CapsaStarted():
            return tuple([seat.player for seat in act.seats])
        case DraftSaved(seat=number) | SetLocked(seat=number) | SetUnlocked(seat=number):
            numbers = (number,)
        case StandUpRequested(seat=number) if live_capsa(state) is not None:
            numbers = (number,)
        case SettingClosed():
            numbers = state.dealt
        case _:
            return ()
    return tuple([seat.player for seat in state.seats if seat.seat in numbers])


def capsa_own_views(state: TableState, cards: Cards, lens: Lens) -> dict[Seat, CapsaOwnView]:
    """Return what a lens may know beyond the public, by seat."""
    live = live_capsa(state)
    if live is None or not live.holdings:
        return {}
    return {seat: own_view(live, place, cards) for place, seat in enumerate(live.deal.seats) if lens.sees_seat(seat)}
