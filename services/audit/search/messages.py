"""Questions and answers of the index as messages of the contract."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from diwan.api.audit.v1 import audit_service_pb2 as pb
from diwan.core.decider import Rejected
from services.audit.search.facts import RESULT_NUMBERS, Flag
from services.audit.search.questions import FoundHand, Page, Sought

NUMBER_OF_FLAG: Final = {flag: pb.HandFlag.Value(f"HAND_FLAG_{flag.name}") for flag in Flag}
_FLAG_OF_NUMBER: Final[dict[int, Flag]] = {number: flag for flag, number in NUMBER_OF_FLAG.items()}


def sought_of(message: pb.HandFilter) -> Sought:
    """Return the question of a message; raises `Rejected` for an id or a number that is none."""
    return Sought(
        players=tuple(message.players),
        table_id=_table_id(message.table_id),
        tournament_id=message.tournament_id,
        games=tuple(message.games),
        from_ms=message.from_ms,
        to_ms=message.to_ms,
        pot_min=message.pot_min,
        pot_max=message.pot_max,
        results=_results(message.results),
        flags=_flags(message.flags, "filter.flags"),
        without=_flags(message.without_flags, "filter.without_flags"),
    )


def page_message(page: Page) -> pb.FindHandsResponse:
    """Return a page as a message."""
    return pb.FindHandsResponse(
        hands=map(_hand_message, page.hands), next_page_token=page.next_token, waiting=page.waiting
    )


def _table_id(text: str) -> UUID | None:
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise Rejected("ID_INVALID", field="filter.table_id") from None


def _flags(numbers: Iterable[int], field: str) -> Flag:
    flags = Flag(0)
    for number in numbers:
        if number not in _FLAG_OF_NUMBER:
            raise Rejected("FIELD_INVALID", field=field, why=f"{number} is no flag")
        flags |= _FLAG_OF_NUMBER[number]
    return flags


def _results(numbers: Iterable[int]) -> tuple[int, ...]:
    for number in numbers:
        if number not in RESULT_NUMBERS.values():
            raise Rejected("FIELD_INVALID", field="filter.results", why=f"{number} is no result")
    return tuple(numbers)


def _hand_message(hand: FoundHand) -> pb.FoundHand:
    return pb.FoundHand(
        hand_id=str(hand.hand_id),
        table_id=str(hand.table_id),
        table_name=hand.table_name,
        tournament_id=hand.tournament_id,
        hand_no=hand.hand_no,
        game=hand.game,
        bet_limit=hand.bet_limit,
        stake=hand.stake,
        chips=hand.chips,  # type: ignore[arg-type]  # a number of the contract
        table_seats=hand.table_seats,
        started_at_ms=hand.started_at_ms,
        ended_at_ms=hand.ended_at_ms,
        first_version=hand.first_version,
        last_version=hand.last_version,
        result=hand.result,  # type: ignore[arg-type]  # as above
        pot=hand.pot,
        flags=[number for flag, number in NUMBER_OF_FLAG.items() if hand.flags & flag],
        seats=[
            pb.FoundSeat(seat=seat, player=player, payoff=payoff)
            for seat, player, payoff in zip(hand.seats, hand.players, hand.payoffs, strict=True)
        ],
        verdict=hand.verdict,  # type: ignore[arg-type]  # as above
    )
