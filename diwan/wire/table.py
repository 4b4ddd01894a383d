"""Events of a table and their messages, field by field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from diwan.api.event.v1 import table_pb2 as pb
from diwan.core.games.coins import Coins
from diwan.core.hand.settings import HandSettings
from diwan.core.table import events as table
from diwan.core.table.config import ChipSource, MatchTerms, StartMode, TableConfig
from diwan.wire.capsa import read_capsa_settings, write_capsa_settings
from diwan.wire.hand import read_settings, write_settings
from diwan.wire.mapping import Row, named
from diwan.wire.tournament_table import read_tournament_terms, write_tournament_terms

CAUSE_NUMBER, CAUSE_NAME = named(table.SeatCause, pb.SeatCause)
CHIPS_NUMBER, CHIPS_NAME = named(ChipSource, pb.ChipSource)
START_NUMBER, START_NAME = named(StartMode, pb.StartMode)
RESULT_NUMBER, RESULT_NAME = named(table.MatchResult, pb.MatchResult)

_NO_POKER: Final = HandSettings()


def write_config(message: pb.TableConfig, config: TableConfig) -> None:
    """Fill a message with a table's settings."""
    message.name = config.name
    if config.capsa is None or config.hand != _NO_POKER:
        write_settings(message.hand, config.hand)
    if config.capsa is not None:
        write_capsa_settings(message.capsa, config.capsa)
    message.seats = config.seats
    message.buy_in_min = config.buy_in_min
    message.buy_in_max = config.buy_in_max
    message.pause_ms = config.pause_ms
    message.reserve_seconds = config.reserve_seconds
    message.sit_out_after = config.sit_out_after
    message.return_minutes = config.return_minutes
    message.bots_fill = config.bots_fill
    message.chips = CHIPS_NUMBER[config.chips]
    message.start = START_NUMBER[config.start]
    message.is_private = config.is_private
    message.hold_seconds = config.hold_seconds
    message.spectator_delay_events = config.spectator_delay_events
    if config.time_bank_seconds:
        message.time_bank_seconds = config.time_bank_seconds
    if config.time_bank_gain_seconds:
        message.time_bank_gain_seconds = config.time_bank_gain_seconds
    if config.match is not None:
        _write_terms(message.match, config.match)
    if config.tournament is not None:
        write_tournament_terms(message.tournament, config.tournament)


def _write_terms(message: pb.MatchTerms, terms: MatchTerms) -> None:
    write_coins(message.starting_coins, terms.starting_coins)
    message.entry_fee = terms.entry_fee
    message.prizes.extend(terms.prizes)


def write_coins(message: pb.Coins, coins: Coins) -> None:
    """Fill a message with coins."""
    message.SetInParent()
    message.dinars, message.dirhams, message.fils, message.stones = coins.counts


def read_coins(message: pb.Coins) -> Coins:
    """Return coins."""
    return Coins(dinars=message.dinars, dirhams=message.dirhams, fils=message.fils, stones=message.stones)


def _read_terms(message: pb.MatchTerms) -> MatchTerms:
    return MatchTerms(
        starting_coins=read_coins(message.starting_coins),
        entry_fee=message.entry_fee,
        prizes=tuple(message.prizes),
    )


def config_bytes(config: TableConfig) -> bytes:
    """Return a table's settings as their message's bytes."""
    message = pb.TableConfig()
    write_config(message, config)
    return message.SerializeToString(deterministic=True)


def read_config(message: pb.TableConfig) -> TableConfig:
    """Return a table's settings; every field must be there, as in an event."""
    is_capsa = message.HasField("capsa")
    return TableConfig(
        name=message.name,
        hand=read_settings(message.hand) if message.HasField("hand") or not is_capsa else _NO_POKER,
        seats=message.seats,
        buy_in_min=message.buy_in_min,
        buy_in_max=message.buy_in_max,
        pause_ms=message.pause_ms,
        reserve_seconds=message.reserve_seconds,
        sit_out_after=message.sit_out_after,
        return_minutes=message.return_minutes,
        bots_fill=message.bots_fill,
        chips=CHIPS_NAME[message.chips],
        start=START_NAME[message.start],
        capsa=read_capsa_settings(message.capsa) if is_capsa else None,
        match=_read_terms(message.match) if message.HasField("match") else None,
        tournament=read_tournament_terms(message.tournament) if message.HasField("tournament") else None,
        is_private=message.is_private,
        hold_seconds=message.hold_seconds,
        time_bank_seconds=message.time_bank_seconds,
        time_bank_gain_seconds=message.time_bank_gain_seconds,
        spectator_delay_events=message.spectator_delay_events,
    )


def _write_table_created(message: pb.TableCreated, event: table.TableCreated) -> None:
    message.table_id = event.table_id
    write_config(message.config, event.config)
    message.created_by = event.created_by
    message.created_at_ms = event.created_at_ms
    message.host = event.host


def _read_table_created(message: pb.TableCreated) -> table.TableCreated:
    config = read_config(message.config)
    return table.TableCreated(message.table_id, config, message.created_by, message.created_at_ms, message.host)


def _write_owner_changed(message: pb.OwnerChanged, event: table.OwnerChanged) -> None:
    message.epoch = event.epoch
    message.owner = event.owner
    message.changed_at_ms = event.changed_at_ms


def _read_owner_changed(message: pb.OwnerChanged) -> table.OwnerChanged:
    return table.OwnerChanged(message.epoch, message.owner, message.changed_at_ms)


def _write_buy_in_requested(message: pb.BuyInRequested, event: table.BuyInRequested) -> None:
    message.seat = event.seat
    message.player = event.player
    message.is_bot = event.is_bot
    message.amount = event.amount
    message.transfer_id = event.transfer_id
    message.requested_at_ms = event.requested_at_ms
    message.post_at_once = event.post_at_once


def _read_buy_in_requested(message: pb.BuyInRequested) -> table.BuyInRequested:
    return table.BuyInRequested(
        message.seat,
        message.player,
        message.is_bot,
        message.amount,
        message.transfer_id,
        message.requested_at_ms,
        message.post_at_once,
    )


def _write_top_up_requested(message: pb.TopUpRequested, event: table.TopUpRequested) -> None:
    message.seat = event.seat
    message.amount = event.amount
    message.transfer_id = event.transfer_id
    message.requested_at_ms = event.requested_at_ms


def _read_top_up_requested(message: pb.TopUpRequested) -> table.TopUpRequested:
    return table.TopUpRequested(message.seat, message.amount, message.transfer_id, message.requested_at_ms)


def _write_seat_funded(message: pb.SeatFunded, event: table.SeatFunded) -> None:
    message.seat = event.seat
    message.amount = event.amount
    message.transfer_id = event.transfer_id
    message.funded_at_ms = event.funded_at_ms


def _read_seat_funded(message: pb.SeatFunded) -> table.SeatFunded:
    return table.SeatFunded(message.seat, message.amount, message.transfer_id, message.funded_at_ms)


def _write_buy_in_refused(message: pb.BuyInRefused, event: table.BuyInRefused) -> None:
    message.seat = event.seat
    message.transfer_id = event.transfer_id
    message.reason = event.reason
    message.refused_at_ms = event.refused_at_ms


def _read_buy_in_refused(message: pb.BuyInRefused) -> table.BuyInRefused:
    return table.BuyInRefused(message.seat, message.transfer_id, message.reason, message.refused_at_ms)


def _write_sat_out(message: pb.SatOut, event: table.SatOut) -> None:
    message.seat = event.seat
    message.cause = CAUSE_NUMBER[event.cause]
    message.sat_out_at_ms = event.sat_out_at_ms


def _read_sat_out(message: pb.SatOut) -> table.SatOut:
    return table.SatOut(message.seat, CAUSE_NAME[message.cause], message.sat_out_at_ms)


def _write_sat_in(message: pb.SatIn, event: table.SatIn) -> None:
    message.seat = event.seat
    message.post_at_once = event.post_at_once
    message.sat_in_at_ms = event.sat_in_at_ms


def _read_sat_in(message: pb.SatIn) -> table.SatIn:
    return table.SatIn(message.seat, message.post_at_once, message.sat_in_at_ms)


def _write_stand_up_requested(message: pb.StandUpRequested, event: table.StandUpRequested) -> None:
    message.seat = event.seat
    message.cause = CAUSE_NUMBER[event.cause]
    message.requested_at_ms = event.requested_at_ms
    message.requested_by = event.requested_by


def _read_stand_up_requested(message: pb.StandUpRequested) -> table.StandUpRequested:
    return table.StandUpRequested(
        message.seat, CAUSE_NAME[message.cause], message.requested_at_ms, message.requested_by
    )


def _write_seat_released(message: pb.SeatReleased, event: table.SeatReleased) -> None:
    message.seat = event.seat
    message.player = event.player
    message.sitting = event.sitting
    message.amount = event.amount
    message.cause = CAUSE_NUMBER[event.cause]
    message.released_at_ms = event.released_at_ms


def _read_seat_released(message: pb.SeatReleased) -> table.SeatReleased:
    return table.SeatReleased(
        message.seat,
        message.player,
        message.sitting,
        message.amount,
        CAUSE_NAME[message.cause],
        message.released_at_ms,
    )


def _write_secret_committed(message: pb.SecretCommitted, event: table.SecretCommitted) -> None:
    message.hand_no = event.hand_no
    message.commitment = event.commitment
    message.committed_at_ms = event.committed_at_ms


def _read_secret_committed(message: pb.SecretCommitted) -> table.SecretCommitted:
    return table.SecretCommitted(message.hand_no, message.commitment, message.committed_at_ms)


def _write_seeds_committed(message: pb.SeedsCommitted, event: table.SeedsCommitted) -> None:
    message.hand_no = event.hand_no
    for one in event.commitments:
        message.commitments.add(seat=one.seat, commitment=one.commitment)
    message.committed_at_ms = event.committed_at_ms


def _read_seeds_committed(message: pb.SeedsCommitted) -> table.SeedsCommitted:
    commitments = tuple(table.SeedCommitment(one.seat, one.commitment) for one in message.commitments)
    return table.SeedsCommitted(message.hand_no, commitments, message.committed_at_ms)


def _write_refusals_recorded(message: pb.RefusalsRecorded, event: table.RefusalsRecorded) -> None:
    message.hand_no = event.hand_no
    for one in event.counts:
        message.counts.add(seat=one.seat, reason=one.reason, count=one.count)
    message.recorded_at_ms = event.recorded_at_ms


def _read_refusals_recorded(message: pb.RefusalsRecorded) -> table.RefusalsRecorded:
    counts = tuple(table.RefusalCount(one.seat, one.reason, one.count) for one in message.counts)
    return table.RefusalsRecorded(message.hand_no, counts, message.recorded_at_ms)


def _write_hand_opened(message: pb.HandOpened, event: table.HandOpened) -> None:
    message.hand_id = event.hand_id
    message.opened_by = event.opened_by
    message.role = event.role
    message.lens = event.lens
    message.reason = event.reason
    message.case_id = event.case_id
    message.opened_at_ms = event.opened_at_ms


def _read_hand_opened(message: pb.HandOpened) -> table.HandOpened:
    return table.HandOpened(
        message.hand_id,
        message.opened_by,
        message.role,
        message.lens,
        message.reason,
        message.case_id,
        message.opened_at_ms,
    )


def _write_table_closing(message: pb.TableClosing, event: table.TableClosing) -> None:
    message.closed_by = event.closed_by
    message.closing_at_ms = event.closing_at_ms


def _read_table_closing(message: pb.TableClosing) -> table.TableClosing:
    return table.TableClosing(message.closed_by, message.closing_at_ms)


def _write_carried_pot_returned(message: pb.CarriedPotReturned, event: table.CarriedPotReturned) -> None:
    for one in event.shares:
        message.shares.add(player=one.player, is_bot=one.is_bot, amount=one.amount)
    message.returned_at_ms = event.returned_at_ms


def _read_carried_pot_returned(message: pb.CarriedPotReturned) -> table.CarriedPotReturned:
    shares = tuple(table.CarriedShare(one.player, one.is_bot, one.amount) for one in message.shares)
    return table.CarriedPotReturned(shares, message.returned_at_ms)


def _write_match_started(message: pb.MatchStarted, event: table.MatchStarted) -> None:
    for one in event.entrants:
        message.entrants.add(seat=one.seat, player=one.player, is_bot=one.is_bot, sitting=one.sitting)
    message.coins = event.coins
    message.entry_fee = event.entry_fee
    message.started_at_ms = event.started_at_ms


def _read_match_started(message: pb.MatchStarted) -> table.MatchStarted:
    entrants = tuple(table.Entrant(one.seat, one.player, one.is_bot, one.sitting) for one in message.entrants)
    return table.MatchStarted(entrants, message.coins, message.entry_fee, message.started_at_ms)


def write_places(messages: Any, places: Iterable[table.MatchPlace]) -> None:
    """Add places of a match to a repeated field."""
    for one in places:
        messages.add(place=one.place, seat=one.seat, player=one.player, is_bot=one.is_bot, prize=one.prize)


def read_places(messages: Iterable[pb.MatchPlace]) -> tuple[table.MatchPlace, ...]:
    """Return the places of a repeated field."""
    return tuple(table.MatchPlace(one.place, one.seat, one.player, one.is_bot, one.prize) for one in messages)


def _write_match_ended(message: pb.MatchEnded, event: table.MatchEnded) -> None:
    message.result = RESULT_NUMBER[event.result]
    write_places(message.places, event.places)
    message.ended_at_ms = event.ended_at_ms


def _read_match_ended(message: pb.MatchEnded) -> table.MatchEnded:
    return table.MatchEnded(RESULT_NAME[message.result], read_places(message.places), message.ended_at_ms)


def _write_table_closed(message: pb.TableClosed, event: table.TableClosed) -> None:
    message.closed_at_ms = event.closed_at_ms


def _read_table_closed(message: pb.TableClosed) -> table.TableClosed:
    return table.TableClosed(message.closed_at_ms)


TABLE_ROWS: Final = (
    Row(table.TableCreated, _write_table_created, _read_table_created),
    Row(table.OwnerChanged, _write_owner_changed, _read_owner_changed),
    Row(table.BuyInRequested, _write_buy_in_requested, _read_buy_in_requested),
    Row(table.TopUpRequested, _write_top_up_requested, _read_top_up_requested),
    Row(table.SeatFunded, _write_seat_funded, _read_seat_funded),
    Row(table.BuyInRefused, _write_buy_in_refused, _read_buy_in_refused),
    Row(table.SatOut, _write_sat_out, _read_sat_out),
    Row(table.SatIn, _write_sat_in, _read_sat_in),
    Row(table.StandUpRequested, _write_stand_up_requested, _read_stand_up_requested),
    Row(table.SeatReleased, _write_seat_released, _read_seat_released),
    Row(table.SecretCommitted, _write_secret_committed, _read_secret_committed),
    Row(table.SeedsCommitted, _write_seeds_committed, _read_seeds_committed),
    Row(table.RefusalsRecorded, _write_refusals_recorded, _read_refusals_recorded),
    Row(table.HandOpened, _write_hand_opened, _read_hand_opened),
    Row(table.TableClosing, _write_table_closing, _read_table_closing),
    Row(table.TableClosed, _write_table_closed, _read_table_closed),
    Row(table.CarriedPotReturned, _write_carried_pot_returned, _read_carried_pot_returned),
    Row(table.MatchStarted, _write_match_started, _read_match_started),
    Row(table.MatchEnded, _write_match_ended, _read_match_ended),
)
