"""From a Capsa hand to what one viewer may know: the only place of the game that decides who sees which card (S1).

``cards`` is asked only for positions that the viewer may see: naturals and shown sets for everybody, a seat's thirteen
cards through its own lens or an auditor's.
"""

from __future__ import annotations

from diwan.core.cards import Card
from diwan.core.games.capsa.batch import Cards
from diwan.core.games.capsa.events import Arrangement, CapsaEvent, DraftSaved, PairSettled, SetLocked, Standing
from diwan.core.games.capsa.outcome import units_of
from diwan.core.games.capsa.rows import category_name, is_fouled, row_value
from diwan.core.games.capsa.settings import Wheel
from diwan.core.games.capsa.state import NOBODY, CapsaState, EndedCapsa, LiveCapsa, Place
from diwan.core.games.capsa.view import (
    CapsaDecision,
    CapsaHandView,
    CapsaOwnView,
    CapsaSeatView,
    CapsaView,
    LineView,
    NaturalView,
    RowsView,
    RoyaltyView,
    SeatLocked,
)
from diwan.core.hand.events import Position
from diwan.core.view import Lens

_SIZES = (3, 5, 5)


def view(state: CapsaState, cards: Cards, lens: Lens) -> CapsaView:
    """Return what a lens shows: the public view, and what the seats that it may look into know beyond it."""
    live = _live(state)
    own = [own_view(live, place, cards) for place, seat in enumerate(live.deal.seats) if lens.sees_seat(seat)]
    return CapsaView(public_view(state, cards), tuple(own))


def public_view(state: CapsaState, cards: Cards) -> CapsaHandView:
    """Return the hand as everybody may know it."""
    live, started = _live(state), _live(state).deal.started
    is_over = isinstance(state, EndedCapsa)
    return CapsaHandView(
        hand_id=started.hand_id,
        hand_no=started.hand_no,
        rules_version=started.rules_version,
        phase="over" if is_over else live.phase,
        button=started.button,
        seats=tuple([_seat_view(live, place, cards) for place in range(len(live.deal.seats))]),
        decision=None if is_over else _decision(live),
        lines=tuple([_line_view(line) for line in live.lines]),
        is_void=live.is_void,
        deck_root=started.deck_root,
    )


def seen_by(event: CapsaEvent, lens: Lens) -> CapsaEvent | SeatLocked | None:
    """Return an event as a viewer may see it, None where it is not for these eyes (CS-22, CS-83).

    What a seat arranged stays its own until the reveal, which is an event of its own.
    """
    match event:
        case DraftSaved():
            return event if lens.sees_seat(event.seat) else None
        case SetLocked():
            if lens.sees_seat(event.seat):
                return event
            return SeatLocked(event.seat, event.turn, event.received_at_ms)
        case _:
            return event


def _live(state: CapsaState) -> LiveCapsa:
    return state.last if isinstance(state, EndedCapsa) else state


def _look(cards: Cards, positions: tuple[Position, ...]) -> tuple[Card, ...]:
    return tuple([cards[position] for position in positions])


def _seat_view(live: LiveCapsa, place: Place, cards: Cards) -> CapsaSeatView:
    seat, play = live.deal.started.seats[place], live.plays[place]
    standing = live.standings[place] if live.standings else None
    shown = next((each for each in live.shown if each.seat == seat.seat), None)
    natural = play.natural
    wheel = live.deal.started.settings.wheel
    return CapsaSeatView(
        seat=seat.seat,
        player=seat.player,
        is_bot=seat.is_bot,
        stack=live.stacks[place],
        has_locked=play.locked is not None,
        answer=play.answer or "",
        status=standing.status if standing is not None else "natural" if natural is not None else "",
        natural=None
        if natural is None
        else NaturalView(
            natural.kind,
            natural.units,
            _look(cards, natural.positions),
            () if natural.division is None else tuple([_look(cards, row) for row in natural.division.rows]),
        ),
        rows=None if shown is None else _rows_view(shown.arrangement, cards, wheel),
        royalties=() if standing is None else _royalties(standing),
        hidden_cards=0 if natural is not None or shown is not None else len(live.holdings[place]),
        units=units_of(live)[place],
        payoff=live.stacks[place] - live.deal.stacks[place],
    )


def _royalties(standing: Standing) -> tuple[RoyaltyView, ...]:
    declared = (
        RoyaltyView("front", standing.front.category, standing.front.units),
        RoyaltyView("middle", standing.middle.category, standing.middle.units),
        RoyaltyView("back", standing.back.category, standing.back.units),
    )
    return tuple([royalty for royalty in declared if royalty.units])


def _rows_view(arrangement: Arrangement, cards: Cards, wheel: Wheel) -> RowsView:
    front, middle, back = [_look(cards, row) for row in arrangement.rows]
    full = [len(row) == size for row, size in zip((front, middle, back), _SIZES, strict=True)]
    values = [
        row_value(row, wheel) if is_full else None for row, is_full in zip((front, middle, back), full, strict=True)
    ]
    first, second, third = ["" if value is None else category_name(value) for value in values]
    known = [value for value in values if value is not None]
    is_complete = len(known) == 3
    return RowsView(front, middle, back, (first, second, third), is_complete, is_complete and is_fouled(*known))


def _line_view(line: PairSettled) -> LineView:
    rows = None if line.rows is None else (line.rows.front, line.rows.middle, line.rows.back)
    return LineView(
        line.a,
        line.b,
        rows,
        line.row_units,
        line.overall,
        line.scoop,
        line.royalty,
        line.other,
        line.units,
        line.chips,
    )


def _decision(live: LiveCapsa) -> CapsaDecision | None:
    surrender = live.deal.started.settings.surrender
    seats = live.deal.seats
    if live.phase == "setting":
        # Who has locked may still unlock until the last one has (CS-20), so all who set are in the decision.
        setters = tuple(sorted([seats[place] for place in live.setters]))
        return CapsaDecision("set", setters, live.turn, live.deadline_ms, False, surrender.price)  # noqa: FBT003  (a record's field)
    if live.asked == NOBODY:
        return None
    asked = (seats[live.asked],)
    return CapsaDecision("answer", asked, live.turn, live.deadline_ms, surrender.allowed, surrender.price)


def own_view(live: LiveCapsa, place: Place, cards: Cards) -> CapsaOwnView:
    play, wheel = live.plays[place], live.deal.started.settings.wheel
    locked = None if play.locked is None else play.locked.arrangement
    return CapsaOwnView(
        seat=live.deal.seats[place],
        cards=_look(cards, live.holdings[place]),
        draft=None if play.draft is None else _rows_view(play.draft, cards, wheel),
        locked=None if locked is None else _rows_view(locked, cards, wheel),
    )
