"""Naiko's settings and events and their messages, field by field."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import hand_pb2 as pb
from diwan.core.hand import events as hand
from diwan.core.hand.settings import NaikoSettings, PowerCosts
from diwan.wire.mapping import Row, known, named, texts

_DECIDED_BY_NUMBER, _DECIDED_BY_NAME = named(hand.DecidedBy, pb.DecidedBy)
_POWERS: Final = texts(hand.Power)
_ANSWERS: Final = texts(hand.Answer)


def write_naiko(message: pb.NaikoSettings, settings: NaikoSettings) -> None:
    """Fill a message with the settings."""
    message.SetInParent()
    message.max_destellos = settings.max_destellos
    message.gain_per_deal = settings.gain_per_deal
    message.costs.hidden_glance = settings.costs.hidden_glance
    message.costs.sleeve_trick = settings.costs.sleeve_trick
    message.costs.short_anchor = settings.costs.short_anchor
    message.costs.seal_shield = settings.costs.seal_shield
    message.activations_per_round = settings.activations_per_round
    message.response_seconds = settings.response_seconds
    message.destellos_follow_forced_move = settings.destellos_follow_forced_move


def read_naiko(message: pb.NaikoSettings) -> NaikoSettings:
    """Return the settings."""
    costs = message.costs
    return NaikoSettings(
        max_destellos=message.max_destellos,
        gain_per_deal=message.gain_per_deal,
        costs=PowerCosts(
            hidden_glance=costs.hidden_glance,
            sleeve_trick=costs.sleeve_trick,
            short_anchor=costs.short_anchor,
            seal_shield=costs.seal_shield,
        ),
        activations_per_round=message.activations_per_round,
        response_seconds=message.response_seconds,
        destellos_follow_forced_move=message.destellos_follow_forced_move,
    )


def read_deal(message: pb.NaikoDeal) -> hand.NaikoDeal:
    """Return what a hand begins with."""
    return hand.NaikoDeal(tuple(known(_POWERS, power) for power in message.carousel), tuple(message.destellos))


def _write_card_glanced(message: pb.CardGlanced, event: hand.CardGlanced) -> None:
    message.seat = event.seat
    message.position = event.position
    message.cost = event.cost
    message.turn = event.turn
    message.received_at_ms = event.received_at_ms


def _read_card_glanced(message: pb.CardGlanced) -> hand.CardGlanced:
    return hand.CardGlanced(message.seat, message.position, message.cost, message.turn, message.received_at_ms)


def _write_card_swapped(message: pb.CardSwapped, event: hand.CardSwapped) -> None:
    message.seat = event.seat
    message.discarded = event.discarded
    message.taken = event.taken
    message.cost = event.cost
    message.turn = event.turn
    message.received_at_ms = event.received_at_ms


def _read_card_swapped(message: pb.CardSwapped) -> hand.CardSwapped:
    return hand.CardSwapped(
        message.seat, message.discarded, message.taken, message.cost, message.turn, message.received_at_ms
    )


def _write_anchor_declared(message: pb.AnchorDeclared, event: hand.AnchorDeclared) -> None:
    message.seat = event.seat
    message.target = event.target
    message.cost = event.cost
    message.turn = event.turn
    message.received_at_ms = event.received_at_ms


def _read_anchor_declared(message: pb.AnchorDeclared) -> hand.AnchorDeclared:
    return hand.AnchorDeclared(message.seat, message.target, message.cost, message.turn, message.received_at_ms)


def _write_window_opened(message: pb.WindowOpened, event: hand.WindowOpened) -> None:
    message.seat = event.seat
    message.turn = event.turn
    message.deadline_ms = event.deadline_ms
    message.remaining_ms = event.remaining_ms


def _read_window_opened(message: pb.WindowOpened) -> hand.WindowOpened:
    return hand.WindowOpened(message.seat, message.turn, message.deadline_ms, message.remaining_ms)


def _write_anchor_answered(message: pb.AnchorAnswered, event: hand.AnchorAnswered) -> None:
    message.seat = event.seat
    message.answer = event.answer
    message.cost = event.cost
    message.turn = event.turn
    message.decided_by = _DECIDED_BY_NUMBER[event.decided_by]
    message.received_at_ms = event.received_at_ms


def _read_anchor_answered(message: pb.AnchorAnswered) -> hand.AnchorAnswered:
    return hand.AnchorAnswered(
        message.seat,
        known(_ANSWERS, message.answer),
        message.cost,
        message.turn,
        _DECIDED_BY_NAME[message.decided_by],
        message.received_at_ms,
    )


def _write_anchor_settled(message: pb.AnchorSettled, event: hand.AnchorSettled) -> None:
    message.target = event.target
    message.is_blocked = event.is_blocked


def _read_anchor_settled(message: pb.AnchorSettled) -> hand.AnchorSettled:
    return hand.AnchorSettled(message.target, message.is_blocked)


def _write_destellos_returned(message: pb.DestellosReturned, event: hand.DestellosReturned) -> None:
    message.destellos.extend(event.destellos)


def _read_destellos_returned(message: pb.DestellosReturned) -> hand.DestellosReturned:
    return hand.DestellosReturned(tuple(message.destellos))


NAIKO_ROWS: Final = (
    Row(hand.CardGlanced, _write_card_glanced, _read_card_glanced),
    Row(hand.CardSwapped, _write_card_swapped, _read_card_swapped),
    Row(hand.AnchorDeclared, _write_anchor_declared, _read_anchor_declared),
    Row(hand.WindowOpened, _write_window_opened, _read_window_opened),
    Row(hand.AnchorAnswered, _write_anchor_answered, _read_anchor_answered),
    Row(hand.AnchorSettled, _write_anchor_settled, _read_anchor_settled),
    Row(hand.DestellosReturned, _write_destellos_returned, _read_destellos_returned),
)
