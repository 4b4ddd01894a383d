"""The beginning of a hand: what is posted, and who gets which card of the deck."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from diwan.core.cards import Card
from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.hand.batch import Batch
from diwan.core.hand.commands import StartHand
from diwan.core.hand.course import begin_betting
from diwan.core.hand.events import HandEvent, HandStarted, HoleCardsDealt, Position, Posted
from diwan.core.hand.evolve import open_hand
from diwan.core.hand.rules import require_known
from diwan.core.hand.state import HandState, Place
from diwan.core.limits import DECISION_SECONDS_MAX, PLAYERS_MIN, SEATS_MAX, STACK_MAX
from diwan.core.reasons import Reason


def deal_hand(command: StartHand, cards: Mapping[Position, Card]) -> tuple[tuple[HandEvent, ...], HandState]:
    """Return the first batch of a hand and the state after it."""
    require_known(command.rules_version)
    _require_playable(command)
    started = HandStarted(
        hand_id=command.hand_id,
        hand_no=command.hand_no,
        rules_version=command.rules_version,
        settings=command.settings,
        seats=command.seats,
        button=command.button,
        big_blind_seat=command.big_blind_seat,
        dues=command.dues,
        secret_commitment=command.secret_commitment,
        seeds=command.seeds,
        absent=command.absent,
        deck_root=command.deck_root,
        next_commitment=command.next_commitment,
        started_at_ms=command.now_ms,
        deal_no=command.deal_no,
        carried=command.carried,
        naiko=command.naiko,
        time_banks_ms=command.time_banks_ms,
        tournament=command.tournament,
    )
    batch = Batch(open_hand(started), cards, command.version, command.now_ms)
    batch.events.append(started)
    for due in command.dues:
        amount = min(due.amount, batch.state.stacks[batch.state.deal.places[due.seat]])
        if amount:  # HD-9: a short stack posts what it has; one that the ante took whole posts no blind.
            batch.add(Posted(due.seat, due.kind, amount))
    game = GAMES[command.settings.game]
    deal = batch.state.deal
    batch.add(HoleCardsDealt(hole_positions(len(deal.seats), deal.first, game.hole_cards)))
    return begin_betting(game, batch)


@cache
def hole_positions(seats: int, first: Place, count: int) -> tuple[tuple[Position, ...], ...]:
    """Return each place's positions: one card at a time from the button's left, round after round."""
    return tuple(
        [tuple([(place - first) % seats + seats * number for number in range(count)]) for place in range(seats)]
    )


def _require_playable(command: StartHand) -> None:
    """Refuse a hand that cannot be played; tables check their settings long before."""
    numbers = [seat.seat for seat in command.seats]
    if len(numbers) < PLAYERS_MIN:
        raise Rejected(Reason.TOO_FEW_PLAYERS, players=len(numbers))
    settings = command.settings
    faults = {
        "seats": numbers != sorted(set(numbers)) or not 0 <= numbers[0] <= numbers[-1] < SEATS_MAX,
        "stacks": not all(0 < seat.stack <= STACK_MAX for seat in command.seats),
        "dues": not all(due.amount > 0 and due.seat in numbers for due in command.dues),
        "big_blind_seat": command.big_blind_seat is not None and command.big_blind_seat not in numbers,
        "button": not 0 <= command.button < SEATS_MAX,
        "time_banks_ms": not _are_banks(command),
        "game": settings.game not in GAMES,
        "big_blind": settings.big_blind <= 0,
        "decision_seconds": not 0 < settings.decision_seconds <= DECISION_SECONDS_MAX,
    }
    for setting, is_wrong in faults.items():
        if is_wrong:
            raise Rejected(Reason.SETTING_INVALID, setting=setting)
    for setting, is_right, why in GAMES[settings.game].start_rules(command):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)


def _are_banks(command: StartHand) -> bool:
    banks = command.time_banks_ms
    return not banks or (len(banks) == len(command.seats) and min(banks) >= 0)
