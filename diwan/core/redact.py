"""From a table's state to what one viewer may know: the only place that decides who sees which card (S1, P10).

``cards`` is asked only for positions that are revealed to the viewer: board and shown cards for everybody, hidden
cards through the viewer's own lens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from diwan.core.cards import Card
from diwan.core.fairness.deck import Reveal
from diwan.core.games import GAMES
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.games.coins import coins_of
from diwan.core.games.naiko.viewing import discarded_by, glanced_by, naiko_view
from diwan.core.games.sarab import bound_to_stay, deals_to_next_step, forced_bet_of, is_void_unless_bet
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.events import CardGlanced, CardSwapped, Chips, HandStarted, Position
from diwan.core.hand.pots import cut_pots
from diwan.core.hand.state import EndedHand, LiveHand
from diwan.core.redact_capsa import (
    capsa_hand_view,
    capsa_own_views,
    capsa_private_view,
    capsa_seat_view,
    capsa_shown_to,
    capsa_table_view,
    live_capsa,
)
from diwan.core.table.banks import time_bank_of
from diwan.core.table.config import TableConfig
from diwan.core.table.events import MatchPlace, TableEvent
from diwan.core.table.games import TABLE_GAMES
from diwan.core.table.matches import match_places
from diwan.core.table.playing import capsa_of, poker_of
from diwan.core.table.state import SeatState, TableState
from diwan.core.table.tournament.viewing import tournament_view
from diwan.core.view import (
    CoinsView,
    Decision,
    HandView,
    Lens,
    MatchView,
    PlaceView,
    PotView,
    PrivateView,
    SarabView,
    Seat,
    SeatedView,
    SeatStatus,
    SeatView,
    SeedExchangeView,
    Settings,
    TableView,
    WaitingView,
)

type Cards = Mapping[Position, Card]


def view(state: TableState, cards: Cards, lens: Lens, *, names: Mapping[str, str], next_hand_id: str) -> SeatedView:
    """Return what a lens shows: the public view, and hidden cards of the seats that it may look into."""
    hidden = {
        seat: tuple(cards[position] for position in holding)
        for seat, holding in holdings_of(state)
        if lens.sees_seat(seat)
    }
    live = _live(state)
    glanced, discarded = ({}, {}) if live is None else (glanced_by(live), discarded_by(live))
    return SeatedView(
        public_view(state, cards, names=names, next_hand_id=next_hand_id),
        hidden,
        {seat: cards[position] for seat, position in glanced.items() if lens.sees_seat(seat)},
        {seat: cards[position] for seat, position in discarded.items() if lens.sees_seat(seat)},
        capsa_own_views(state, cards, lens),
    )


def public_view(state: TableState, cards: Cards, *, names: Mapping[str, str], next_hand_id: str) -> TableView:
    """Return the table as everybody may know it. ``names`` maps player ids to names to show, where there is one."""
    live, capsa = _live(state), live_capsa(state)
    exchange = state.exchange
    return TableView(
        table_id=state.table_id,
        version=state.version,
        epoch=state.epoch,
        settings=settings_view(state.config),
        seats=tuple([_seat_view(state, live, capsa, seat, cards, names) for seat in state.seats]),
        hand=_any_hand_view(state, live, cards),
        seed_exchange=None
        if exchange is None or state.is_closing
        else SeedExchangeView(
            exchange.hand_no, next_hand_id, exchange.secret_commitment, exchange.commitments is not None
        ),
        is_closing=state.is_closing,
        is_closed=state.is_closed,
        host=state.hosting.host,
        is_paused=state.hosting.is_paused,
        paused_until_ms=state.hosting.paused_until_ms,
        waiting=tuple([WaitingView(each.player, each.seat, each.until_ms) for each in state.line.waiters]),
        capsa=capsa_table_view(state),
        match=None if state.config.match is None else match_view(state),
        tournament=None if state.config.tournament is None else tournament_view(state, state.config.tournament),
    )


def _any_hand_view(state: TableState, live: LiveHand | None, cards: Cards) -> HandView | None:
    capsa = capsa_of(state.hand)
    if capsa is not None:
        return capsa_hand_view(capsa, cards)
    return None if live is None else _hand_view(state, live, cards)


def match_view(state: TableState) -> MatchView:
    """Return a match as it stands: who is in, who is out where, and when it is over what everybody got."""
    match = state.match
    if match is None:
        return MatchView(is_started=False, still_in=(), result="", places=())
    return MatchView(
        is_started=True,
        still_in=() if match.is_ended else tuple([seat.seat for seat in state.seats if seat.stack]),
        result=match.result or "",
        places=tuple([_place_view(each) for each in match_places(match)]),
    )


def _place_view(place: MatchPlace) -> PlaceView:
    return PlaceView(place.place, place.seat, place.player, place.is_bot, place.prize)


def private_view(state: TableState, player: str, reveal: Callable[[Position], Reveal]) -> PrivateView | None:
    """Return the proofs of a player's own cards in the running or last hand, None where the player held none.

    Asked by player, not by seat: whoever takes a seat after a hand has no part in its cards.
    """
    capsa = live_capsa(state)
    if capsa is not None:
        places = [place for place, seat in enumerate(capsa.deal.started.seats) if seat.player == player]
        has_cards = bool(places and capsa.holdings)
        return capsa_private_view(capsa, places[0], state.hand_id, reveal) if has_cards else None
    live = _live(state)
    if live is None or not live.holdings:
        return None
    for seat, holding in zip(live.deal.started.seats, live.holdings, strict=True):
        if seat.player == player:
            glanced, discarded = glanced_by(live).get(seat.seat), discarded_by(live).get(seat.seat)
            return PrivateView(
                seat.seat,
                state.hand_id,
                tuple([reveal(position) for position in holding]),
                None if glanced is None else reveal(glanced),
                None if discarded is None else reveal(discarded),
            )
    return None


def shown_to(state: TableState, act: TableEvent) -> tuple[str, ...]:
    """Return the players whose `private_view` is another one after a command; ``act`` is its first event (S1)."""
    match act:
        case HandStarted():
            return tuple([seat.player for seat in act.seats])
        case CardGlanced() | CardSwapped():
            seat = state.seat(act.seat)
            return () if seat is None else (seat.player,)
        case _:
            return capsa_shown_to(state, act)


def holdings_of(state: TableState) -> Iterable[tuple[Seat, tuple[Position, ...]]]:
    """Return each dealt seat with the positions that it holds."""
    live = _live(state) or live_capsa(state)
    return () if live is None else zip(live.deal.seats, live.holdings, strict=False)


def settings_view(config: TableConfig) -> Settings:
    """Return what viewers need of a table's settings."""
    if config.capsa is not None:
        bounds = config.seats, config.buy_in_min, config.buy_in_max
        return Settings(config.name, config.game, "", 0, 0, 0, *bounds)
    hand = config.hand
    return Settings(
        config.name,
        hand.game,
        hand.limit,
        hand.small_blind,
        hand.big_blind,
        hand.decision_seconds,
        config.seats,
        config.buy_in_min,
        config.buy_in_max,
    )


def _live(state: TableState) -> LiveHand | None:
    hand = poker_of(state.hand)
    return hand.last if isinstance(hand, EndedHand) else hand


def _seat_view(
    state: TableState,
    live: LiveHand | None,
    capsa: LiveCapsa | None,
    seat: SeatState,
    cards: Cards,
    names: Mapping[str, str],
) -> SeatView:
    name = names.get(seat.player) or (f"BOT {seat.player}" if seat.is_bot else seat.player)
    if capsa is not None:
        plain = SeatView(seat.seat, seat.player, name, seat.is_bot, seat.stack, _status(state, seat))
        own = capsa.deal.places.get(seat.seat)
        if own is None or capsa.deal.started.seats[own].sitting != seat.sitting:
            return plain
        return capsa_seat_view(capsa, own, plain, cards, is_running=state.is_running)
    place = None if live is None else live.deal.places.get(seat.seat)
    bank = time_bank_of(state.config, seat)
    # Another player may have taken the seat since the hand that is still shown.
    if live is None or place is None or live.deal.started.seats[place].sitting != seat.sitting:
        plain = SeatView(seat.seat, seat.player, name, seat.is_bot, seat.stack, _status(state, seat))
        return replace(plain, coins=_coins(state, seat.stack), time_bank_ms=bank)
    is_in = bool(live.unfolded >> place & 1)
    shown = tuple(
        [cards[position] for showing in live.shown if showing.seat == seat.seat for position in showing.positions]
    )
    holding = live.holdings[place] if live.holdings else ()
    stack = live.stacks[place] if state.is_running else seat.stack
    return SeatView(
        seat=seat.seat,
        player=seat.player,
        display_name=name,
        is_bot=seat.is_bot,
        stack=stack,
        coins=_coins(state, stack),
        status=_status(state, seat),
        in_hand=True,
        has_folded=not is_in,
        is_all_in=is_in and state.is_running and live.stacks[place] == 0,
        bet=live.bets[place],
        shown_cards=shown,
        hidden_cards=len(holding) if is_in and not shown else 0,
        time_bank_ms=bank,
    )


def _coins(state: TableState, stack: Chips) -> CoinsView | None:
    """Return a stack in coins, where the chips of the table are a match's (SB-4)."""
    if state.match is None:
        return None
    breakdown = coins_of(stack)
    return CoinsView(*breakdown.coins.counts, breakdown.rest)


def _status(state: TableState, seat: SeatState) -> SeatStatus:
    if seat.leaving is not None or seat.release is not None:
        return "leaving"
    if not seat.is_funded:
        return "reserved"
    if seat.is_sitting_out:
        return "sitting_out"
    if state.config.tournament is not None:  # Dealt in at the next hand, unless it was passed over by one already.
        return "waiting" if seat.is_new and seat.hands_missed else "playing"
    is_waiting = (seat.is_new or seat.hands_missed) and TABLE_GAMES[state.config.game].has_blinds
    return "waiting" if is_waiting else "playing"


def _hand_view(state: TableState, live: LiveHand, cards: Cards) -> HandView:
    started = live.deal.started
    pots = [(pot.amount, pot.eligible) for pot in live.pots]
    if state.is_running:
        seats = live.deal.seats
        pots = [(pot.amount, tuple([seats[place] for place in pot.eligible])) for pot in cut_pots(live)]
    return HandView(
        hand_id=started.hand_id,
        hand_no=started.hand_no,
        street=live.street if state.is_running else "over",
        button=started.button,
        board=tuple([cards[position] for position in live.board]),
        pot=live.pot if state.is_running else 0,
        pots=tuple([PotView(amount, eligible) for amount, eligible in pots]),
        decision=_decision(live) if state.is_running else None,
        deck_root=started.deck_root,
        game=started.settings.game,
        rules_version=started.rules_version,
        sarab=_sarab_view(live, is_running=state.is_running),
        naiko=naiko_view(live, is_running=state.is_running),
    )


def _sarab_view(live: LiveHand, *, is_running: bool) -> SarabView | None:
    started = live.deal.started
    settings = started.settings.sarab
    if settings is None:
        return None
    # What is neither in front of the seats nor in the middle any more has been carried.
    carried_on = started.carried + sum(live.deal.stacks) - sum(live.stacks) if live.is_void else 0
    return SarabView(
        deal_no=started.deal_no,
        forced_bet=started.settings.big_blind,
        next_forced_bet=forced_bet_of(settings, started.deal_no + 1),
        carried=started.carried,
        is_void=live.is_void,
        carried_on=carried_on,
        deals_to_next_step=deals_to_next_step(settings, started.deal_no),
        is_void_unless_bet=is_running and is_void_unless_bet(live),
        cannot_fold=bound_to_stay(live) if is_running else (),
    )


def _decision(live: LiveHand) -> Decision | None:
    legal = legal_actions(GAMES[live.deal.started.settings.game], live)
    if legal is None or live.window is not None:  # While an Anchor's target is asked nobody else decides (NK-40).
        return None
    low, high = legal.lift or (0, 0)
    return Decision(
        seat=legal.seat,
        turn=live.turn,
        deadline_ms=live.deadline_ms,
        can_fold=legal.fold,
        can_check=legal.check,
        can_call=legal.call is not None,
        call_amount=legal.call or 0,
        can_bet=legal.bet is not None,
        can_raise=legal.raise_to is not None,
        min_to=low,
        max_to=high,
        pot_to=legal.pot_to or 0,
        can_sarab=legal.sarab,
        is_time_bank_running=live.is_bank_running,
    )
