"""Terms and events of a tournament's table and their messages."""

from __future__ import annotations

from typing import Any, Final

from diwan.api.event.v1 import tournament_table_pb2 as pb
from diwan.core.table.tournament import events as tournament
from diwan.core.table.tournament.terms import AnteKind, BlindLevel, TournamentTerms
from diwan.wire.mapping import Row, known, named, plain_row, texts

ANTE_NUMBER, ANTE_NAME = named(AnteKind, pb.AnteKind)
RELEASE_NUMBER, RELEASE_NAME = named(tournament.ReleaseCause, pb.ReleaseCause)
_ORDERED_NUMBER, _ORDERED_NAME = named(tournament.OrderedRelease, pb.ReleaseCause)
_STARTS: Final = texts(tournament.TableStart)


def write_level(message: pb.BlindLevel, level: BlindLevel) -> None:
    """Fill a message with a level."""
    message.small_blind = level.small_blind
    message.big_blind = level.big_blind
    message.ante = level.ante
    message.ante_kind = ANTE_NUMBER[level.ante_kind]
    message.duration_ms = level.duration_ms
    message.hands = level.hands
    message.break_after_ms = level.break_after_ms


def read_level(message: pb.BlindLevel) -> BlindLevel:
    """Return a level; who pays an ante may be left unsaid."""
    return BlindLevel(
        small_blind=message.small_blind,
        big_blind=message.big_blind,
        ante=message.ante,
        ante_kind=ANTE_NAME[message.ante_kind or pb.ANTE_KIND_EACH],
        duration_ms=message.duration_ms,
        hands=message.hands,
        break_after_ms=message.break_after_ms,
    )


def write_tournament_terms(message: pb.TournamentTerms, terms: TournamentTerms) -> None:
    """Fill a message with the terms of a tournament's table."""
    message.tournament_id = terms.tournament_id
    for level in terms.levels:
        write_level(message.levels.add(), level)
    message.table_no = terms.table_no
    message.clock_base_ms = terms.clock_base_ms
    if terms.first_button is not None:
        message.first_button = terms.first_button


def read_tournament_terms(message: pb.TournamentTerms) -> TournamentTerms:
    """Return the terms of a tournament's table."""
    return TournamentTerms(
        tournament_id=message.tournament_id,
        levels=tuple(map(read_level, message.levels)),
        table_no=message.table_no,
        clock_base_ms=message.clock_base_ms,
        first_button=message.first_button if message.HasField("first_button") else None,
    )


def _bank(message: Any) -> int | None:
    return message.time_bank_ms if message.HasField("time_bank_ms") else None


def _write_seated(message: pb.EntrantSeated, event: tournament.EntrantSeated) -> None:
    message.move_id = event.move_id
    message.seat = event.seat
    message.player = event.player
    message.is_bot = event.is_bot
    message.stack = event.stack
    message.destellos = event.destellos
    if event.time_bank_ms is not None:
        message.time_bank_ms = event.time_bank_ms
    message.seated_at_ms = event.seated_at_ms


def _read_seated(message: pb.EntrantSeated) -> tournament.EntrantSeated:
    return tournament.EntrantSeated(
        message.move_id,
        message.seat,
        message.player,
        message.is_bot,
        message.stack,
        message.destellos,
        _bank(message),
        message.seated_at_ms,
    )


def _write_ordered(message: pb.EntrantReleaseOrdered, event: tournament.EntrantReleaseOrdered) -> None:
    message.move_id = event.move_id
    message.seat = event.seat
    message.cause = _ORDERED_NUMBER[event.cause]
    message.ordered_at_ms = event.ordered_at_ms


def _read_ordered(message: pb.EntrantReleaseOrdered) -> tournament.EntrantReleaseOrdered:
    return tournament.EntrantReleaseOrdered(
        message.move_id, message.seat, _ORDERED_NAME[message.cause], message.ordered_at_ms
    )


def _write_released(message: pb.EntrantReleased, event: tournament.EntrantReleased) -> None:
    message.move_id = event.move_id
    message.seat = event.seat
    message.player = event.player
    message.stack = event.stack
    message.cause = RELEASE_NUMBER[event.cause]
    message.destellos = event.destellos
    if event.time_bank_ms is not None:
        message.time_bank_ms = event.time_bank_ms
    message.released_at_ms = event.released_at_ms


def _read_released(message: pb.EntrantReleased) -> tournament.EntrantReleased:
    return tournament.EntrantReleased(
        message.move_id,
        message.seat,
        message.player,
        message.stack,
        RELEASE_NAME[message.cause],
        message.destellos,
        _bank(message),
        message.released_at_ms,
    )


def _write_start_mode(message: pb.StartModeSet, event: tournament.StartModeSet) -> None:
    message.order_id = event.order_id
    message.start_no = event.start_no
    message.mode = event.mode
    message.set_at_ms = event.set_at_ms


def _read_start_mode(message: pb.StartModeSet) -> tournament.StartModeSet:
    return tournament.StartModeSet(message.order_id, message.start_no, known(_STARTS, message.mode), message.set_at_ms)


TOURNAMENT_TABLE_ROWS: Final = (
    Row(tournament.EntrantSeated, _write_seated, _read_seated),
    Row(tournament.EntrantReleaseOrdered, _write_ordered, _read_ordered),
    Row(tournament.EntrantReleased, _write_released, _read_released),
    plain_row(tournament.ChipsAdded, pb.ChipsAdded),
    plain_row(tournament.ClockSet, pb.ClockSet),
    Row(tournament.StartModeSet, _write_start_mode, _read_start_mode),
    plain_row(tournament.HandGranted, pb.HandGranted),
    plain_row(tournament.RunoutHoldSet, pb.RunoutHoldSet),
)
