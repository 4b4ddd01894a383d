"""A bot's seat at a table of Capsa: what its policy is shown, and how its moves are said."""

from __future__ import annotations

from typing import Final

from diwan.api.table.v1 import capsa_pb2, view_pb2
from diwan.client import SeatStream
from diwan.core.games.capsa.settings import CapsaSettings, PairUnit
from diwan.core.games.capsa.view import CapsaOwnView, CapsaView
from diwan.core.policy import CallAnswer, CapsaSeen, Move, SetRows, StakeAnswer, StakeOffer
from diwan.wire.capsa import read_capsa_settings
from diwan.wire.views import read_private_view, read_table_view

_DEALT_NEXT: Final = frozenset({view_pb2.SEAT_STATUS_PLAYING, view_pb2.SEAT_STATUS_WAITING})


def is_capsa(table: view_pb2.TableView) -> bool:
    """Say whether a table plays Capsa."""
    return table.config.HasField("capsa")


def asked_turn(stream: SeatStream) -> int | None:
    """Return the turn of the open decision, None where the seat has nothing to say or has locked its set."""
    decision, private = stream.capsa_decision, stream.private
    if decision is None or not stream.held or private is None:
        return None
    has_locked = decision.kind == "set" and private.capsa.HasField("locked")
    return None if has_locked else decision.turn


def seconds_to_answer(table: view_pb2.TableView) -> float:
    """Return the time for the open decision."""
    settings = table.config.capsa
    return settings.declare_seconds if table.hand.capsa.decision.kind == "answer" else settings.set_seconds


def seen_by(stream: SeatStream, table: view_pb2.TableView, seat: int) -> CapsaSeen:
    """Return the table as the seat sees it."""
    view, own = read_table_view(table), next(each for each in table.seats if each.seat == seat)
    settings = _settings(table)
    hand = None if view.hand is None or view.hand.capsa is None else CapsaView(view.hand.capsa, _own(stream))
    return CapsaSeen(
        settings=settings,
        hand=hand,
        seats=tuple(each.seat for each in table.seats if each.status in _DEALT_NEXT),
        stack=own.stack,
        stack_max=table.config.buy_in_max,
        offers=tuple(StakeOffer(offer.seat, offer.unit) for offer in table.capsa.offers if offer.other == seat),
    )


async def say(stream: SeatStream, turn: int, move: Move, request_id: str) -> None:
    """Send a move of a hand; raises `DiwanError`."""
    match move:
        case SetRows(rows=rows, is_final=True):
            await stream.lock_set(turn, rows, request_id=request_id)
        case SetRows(rows=rows):
            await stream.save_draft(turn, rows, request_id=request_id)
        case CallAnswer(answer=answer):
            await stream.answer_call(turn, answer, request_id=request_id)
        case _:
            raise TypeError(f"{type(move).__name__} is no move of a hand of Capsa")


def stake_message(move: StakeAnswer) -> capsa_pb2.PairStakeAction:
    """Return what a bot says about a stake."""
    if move.is_accepted:
        return capsa_pb2.PairStakeAction(other=move.other, accept_unit=move.unit)
    return capsa_pb2.PairStakeAction(other=move.other, end=True)


def _settings(table: view_pb2.TableView) -> CapsaSettings:
    """Return the settings of the next deal: the table's, with what pairs have agreed upon."""
    pairs = tuple(PairUnit(pair.a, pair.b, pair.unit) for pair in table.capsa.pair_units)
    plain = read_capsa_settings(table.config.capsa)
    return CapsaSettings(**{name: getattr(plain, name) for name in plain.__struct_fields__} | {"pair_units": pairs})


def _own(stream: SeatStream) -> tuple[CapsaOwnView, ...]:
    if stream.private is None or not stream.held:
        return ()
    own = read_private_view(stream.private).capsa
    return () if own is None else (own,)
