"""What a viewer may know of Capsa, and its messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from diwan.api.table.v1 import capsa_pb2 as pb
from diwan.core.cards import Card
from diwan.core.games.capsa import view
from diwan.wire.capsa import ANSWER_NAME, ANSWER_NUMBER, STATUS_NAME, STATUS_NUMBER
from diwan.wire.mapping import known, texts

type _Rows = tuple[tuple[Card, ...], ...]

_PHASES: Final = texts(view.Phase)
_KINDS: Final = texts(Literal["set", "answer"])
_ROW_NAMES: Final = texts(Literal["front", "middle", "back"])
_LINE: Final = ("a", "b", "row_units", "overall", "scoop", "royalty", "other", "units", "chips")


def write_rows(message: pb.CapsaRows, rows: _Rows) -> None:
    """Fill a message with front, middle and back."""
    message.SetInParent()
    for name, row in zip(_ROW_NAMES, rows, strict=True):
        getattr(message, name).extend(row)


def read_rows(message: pb.CapsaRows) -> tuple[tuple[Card, ...], tuple[Card, ...], tuple[Card, ...]]:
    """Return front, middle and back."""
    return tuple(message.front), tuple(message.middle), tuple(message.back)


def write_set(message: pb.CapsaSetView, rows: view.RowsView) -> None:
    """Fill a message with rows as they stand."""
    write_rows(message.rows, (rows.front, rows.middle, rows.back))
    message.front_category, message.middle_category, message.back_category = rows.categories
    message.is_complete = rows.is_complete
    message.is_fouled = rows.is_fouled


def read_set(message: pb.CapsaSetView) -> view.RowsView:
    """Return rows as they stand."""
    categories = (message.front_category, message.middle_category, message.back_category)
    return view.RowsView(*read_rows(message.rows), categories, message.is_complete, message.is_fouled)


def write_hand(message: pb.CapsaView, hand: view.CapsaHandView) -> None:
    """Fill a message with what a hand has beyond others."""
    message.phase = hand.phase
    for seat in hand.seats:
        _write_seat(message.seats.add(), seat)
    if hand.decision is not None:
        decision = message.decision
        decision.kind = hand.decision.kind
        decision.seats.extend(hand.decision.seats)
        decision.turn = hand.decision.turn
        decision.deadline_ms = hand.decision.deadline_ms
        decision.can_surrender = hand.decision.can_surrender
        decision.surrender_price = hand.decision.surrender_price
    for line in hand.lines:
        one = message.lines.add(**{name: getattr(line, name) for name in _LINE})
        if line.rows is not None:
            one.rows.SetInParent()
            one.rows.front, one.rows.middle, one.rows.back = line.rows
    message.is_void = hand.is_void


def read_hand(
    message: pb.CapsaView, *, hand_id: str, hand_no: int, rules_version: int, button: int, deck_root: bytes
) -> view.CapsaHandView:
    """Return what a hand has beyond others, with what it has in common with them."""
    decision = message.decision
    return view.CapsaHandView(
        hand_id=hand_id,
        hand_no=hand_no,
        rules_version=rules_version,
        phase=known(_PHASES, message.phase),
        button=button,
        seats=tuple(map(_read_seat, message.seats)),
        decision=view.CapsaDecision(
            known(_KINDS, decision.kind),
            tuple(decision.seats),
            decision.turn,
            decision.deadline_ms,
            decision.can_surrender,
            decision.surrender_price,
        )
        if message.HasField("decision")
        else None,
        lines=tuple(map(_read_line, message.lines)),
        is_void=message.is_void,
        deck_root=deck_root,
    )


def _write_seat(message: pb.CapsaSeatView, seat: view.CapsaSeatView) -> None:
    message.seat = seat.seat
    message.player = seat.player
    message.is_bot = seat.is_bot
    message.stack = seat.stack
    message.has_locked = seat.has_locked
    message.answer = ANSWER_NUMBER.get(seat.answer, 0)
    message.status = STATUS_NUMBER.get(seat.status, 0)
    if seat.natural is not None:
        natural = message.natural
        natural.kind, natural.units = seat.natural.kind, seat.natural.units
        natural.cards.extend(seat.natural.cards)
        if seat.natural.division:
            write_rows(natural.division, seat.natural.division)
    if seat.rows is not None:
        write_set(message.set, seat.rows)
    for royalty in seat.royalties:
        message.royalties.add(row=royalty.row, category=royalty.category, units=royalty.units)
    message.hidden_cards = seat.hidden_cards
    message.units = seat.units
    message.payoff = seat.payoff


def _read_seat(message: pb.CapsaSeatView) -> view.CapsaSeatView:
    return view.CapsaSeatView(
        seat=message.seat,
        player=message.player,
        is_bot=message.is_bot,
        stack=message.stack,
        has_locked=message.has_locked,
        answer=ANSWER_NAME[message.answer] if message.answer else "",
        status=STATUS_NAME[message.status] if message.status else "",
        natural=_read_natural(message.natural) if message.HasField("natural") else None,
        rows=read_set(message.set) if message.HasField("set") else None,
        royalties=tuple(
            view.RoyaltyView(known(_ROW_NAMES, one.row), one.category, one.units) for one in message.royalties
        ),
        hidden_cards=message.hidden_cards,
        units=message.units,
        payoff=message.payoff,
    )


def _read_natural(message: pb.CapsaNaturalView) -> view.NaturalView:
    division: _Rows = read_rows(message.division) if message.HasField("division") else ()
    return view.NaturalView(message.kind, message.units, tuple(message.cards), division)


def _read_line(message: pb.CapsaLineView) -> view.LineView:
    rows = (message.rows.front, message.rows.middle, message.rows.back) if message.HasField("rows") else None
    return view.LineView(rows=rows, **{name: getattr(message, name) for name in _LINE})


def write_table(message: pb.CapsaTableView, table: view.CapsaTableView) -> None:
    """Fill a message with what a table has between its hands."""
    message.SetInParent()
    for offer in table.offers:
        message.offers.add(seat=offer.seat, other=offer.other, unit=offer.unit)
    for pair in table.pair_units:
        message.pair_units.add(a=pair.a, b=pair.b, unit=pair.unit)
    for short in table.shortages:
        message.shortages.add(seat=short.seat, reserve=short.reserve)


def read_table(message: pb.CapsaTableView) -> view.CapsaTableView:
    """Return what a table has between its hands."""
    return view.CapsaTableView(
        _all(view.StakeOfferView(one.seat, one.other, one.unit) for one in message.offers),
        _all(view.PairStakeView(one.a, one.b, one.unit) for one in message.pair_units),
        _all(view.ShortageView(one.seat, one.reserve) for one in message.shortages),
    )


def write_own(message: pb.CapsaOwnView, own: view.CapsaOwnView) -> None:
    """Fill a message with what a seat has arranged; its cards travel as proved reveals."""
    message.SetInParent()
    if own.draft is not None:
        write_set(message.draft, own.draft)
    if own.locked is not None:
        write_set(message.locked, own.locked)


def read_own(message: pb.CapsaOwnView, seat: int, cards: tuple[Card, ...]) -> view.CapsaOwnView:
    """Return what only a seat's holder may know."""
    return view.CapsaOwnView(
        seat,
        cards,
        read_set(message.draft) if message.HasField("draft") else None,
        read_set(message.locked) if message.HasField("locked") else None,
    )


def _all[V](views: Iterable[V]) -> tuple[V, ...]:
    return tuple(views)
