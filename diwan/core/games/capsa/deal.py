"""The beginning of a Capsa hand: who gets which card of the deck (CS-1 to CS-4)."""

from __future__ import annotations

from typing import Final

from diwan.core.decider import Rejected
from diwan.core.games.capsa.batch import Batch, Cards, Step
from diwan.core.games.capsa.commands import StartCapsa
from diwan.core.games.capsa.course import after_deal
from diwan.core.games.capsa.events import CapsaStarted, ThirteenDealt
from diwan.core.games.capsa.evolve import open_hand
from diwan.core.games.capsa.reserve import reserve_of
from diwan.core.games.capsa.rules import require_known
from diwan.core.games.capsa.settings import checked
from diwan.core.games.capsa.state import CapsaDeal
from diwan.core.hand.events import Position
from diwan.core.limits import PLAYERS_MIN, SEATS_MAX, STACK_MAX
from diwan.core.reasons import Reason

HAND_CARDS: Final = 13


def deal_hand(command: StartCapsa, cards: Cards) -> Step:
    """Return the first batch of a hand and the state after it."""
    require_known(command.rules_version)
    settings = checked(command.settings)
    _require_playable(command)
    started = CapsaStarted(
        hand_id=command.hand_id,
        hand_no=command.hand_no,
        rules_version=command.rules_version,
        settings=settings,
        seats=command.seats,
        button=command.button,
        secret_commitment=command.secret_commitment,
        seeds=command.seeds,
        absent=command.absent,
        deck_root=command.deck_root,
        next_commitment=command.next_commitment,
        started_at_ms=command.now_ms,
    )
    batch = Batch(open_hand(started), cards, command.version, command.now_ms)
    batch.events.append(started)
    batch.add(ThirteenDealt(_positions(batch.state.deal)))
    return after_deal(batch)


def _positions(deal: CapsaDeal) -> tuple[tuple[Position, ...], ...]:
    """Return each place's positions: position i goes to the (i mod n)-th seat left of the dealer (CS-4)."""
    seats = len(deal.seats)
    return tuple(
        [tuple(range(deal.order.index(place), seats * HAND_CARDS, seats)) for place in range(seats)],
    )


def _require_playable(command: StartCapsa) -> None:
    """Refuse a hand that cannot be played; tables look to that long before."""
    numbers = [seat.seat for seat in command.seats]
    if len(numbers) < PLAYERS_MIN:
        raise Rejected(Reason.TOO_FEW_PLAYERS, players=len(numbers))
    are_seats = numbers == sorted(set(numbers)) and 0 <= numbers[0] <= numbers[-1] < SEATS_MAX
    if not are_seats or len(numbers) > command.settings.players:
        why = f"2 to {command.settings.players} different seats, in order"
        raise Rejected(Reason.SETTING_INVALID, setting="seats", why=why)
    if not 0 <= command.button < SEATS_MAX:
        raise Rejected(Reason.SETTING_INVALID, setting="button", why="no seat")
    for seat in command.seats:
        if not 0 < seat.stack <= STACK_MAX:
            raise Rejected(Reason.SETTING_INVALID, setting="stacks", why="no number of chips that a seat can hold")
        reserve = reserve_of(command.settings, seat.seat, numbers)
        if seat.stack < reserve:
            raise Rejected(Reason.RESERVE_TOO_SMALL, seat=seat.seat, stack=seat.stack, reserve=reserve)
