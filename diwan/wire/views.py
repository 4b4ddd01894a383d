"""Views and their messages: what a viewer may know, as it is sent and as a client reads it back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, get_type_hints

from msgspec.structs import replace

from diwan.api.table.v1 import view_pb2 as pb
from diwan.core import view
from diwan.core.games.capsa.view import CapsaHandView
from diwan.core.table.config import TableConfig
from diwan.wire import capsa_views
from diwan.wire.hand import STREET_NUMBER as DEALT_STREET_NUMBER
from diwan.wire.mapping import known, named, read_reveal, read_reveals, texts, write_reveal, write_reveals
from diwan.wire.table import RESULT_NAME, RESULT_NUMBER, config_bytes, write_config
from diwan.wire.tournament_views import read_tournament, write_tournament

STATUS_NUMBER, STATUS_NAME = named(view.SeatStatus, pb.SeatStatus)
STREET_NUMBER: Final[dict[str, int]] = {**DEALT_STREET_NUMBER, "preflop": 1, "over": 5}
STREET_NAME: Final = {number: name for name, number in STREET_NUMBER.items()}


def varint(number: int) -> bytes:
    """Return a length as the wire format writes it."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _tag(field: str) -> bytes:
    return varint(pb.TableView.DESCRIPTOR.fields_by_name[field].number << 3 | 2)


_CONFIG: Final = _tag("config")
_NEXT_CONFIG: Final = _tag("next_config")
_SEATS: Final = _tag("seats")


class ViewWriter:
    """Serialises the views of one table: settings once, a seat again only when it has changed.

    A decision changes one seat or two of nine, and every view goes to all who watch.
    """

    def __init__(self, config: TableConfig, following: TableConfig | None = None) -> None:
        self._config = _settings(_CONFIG, config)
        if following is not None:
            self._config += _settings(_NEXT_CONFIG, following)
        self._seats: dict[int, tuple[view.SeatView, bytes]] = {}

    def write(self, shown: view.TableView) -> bytes:
        """Return a serialised TableView."""
        message = pb.TableView()
        _write_around_seats(message, shown)
        return b"".join([message.SerializeToString(), self._config, *map(self._seat, shown.seats)])

    def _seat(self, seat: view.SeatView) -> bytes:
        known = self._seats.get(seat.seat)
        if known is not None and known[0] == seat:
            return known[1]
        message = pb.SeatView()
        _write_seat(message, seat)
        raw = message.SerializeToString()
        framed = _SEATS + varint(len(raw)) + raw
        self._seats[seat.seat] = (seat, framed)
        return framed


def _settings(tag: bytes, config: TableConfig) -> bytes:
    raw = config_bytes(_without_ladder(config))
    return tag + varint(len(raw)) + raw


def _without_ladder(config: TableConfig) -> TableConfig:
    """Return settings as every view carries them: of a tournament's ladder it tells the levels that matter now."""
    terms = config.tournament
    return config if terms is None else replace(config, tournament=replace(terms, levels=()))


def table_view_message(shown: view.TableView, config: TableConfig) -> pb.TableView:
    """Return the message of a view."""
    message = pb.TableView()
    write_table_view(message, shown)
    write_config(message.config, _without_ladder(config))
    return message


def write_table_view(message: pb.TableView, shown: view.TableView) -> None:
    """Fill a message with everything but the settings."""
    _write_around_seats(message, shown)
    for seat in shown.seats:
        _write_seat(message.seats.add(), seat)


def _write_around_seats(message: pb.TableView, shown: view.TableView) -> None:
    message.table_id = shown.table_id
    message.version = shown.version
    message.epoch = shown.epoch
    if shown.hand is not None:
        _write_hand(message.hand, shown.hand)
    if shown.seed_exchange is not None:
        exchange = message.seed_exchange
        exchange.hand_no = shown.seed_exchange.hand_no
        exchange.hand_id = shown.seed_exchange.hand_id
        exchange.secret_commitment = shown.seed_exchange.secret_commitment
        exchange.is_opening = shown.seed_exchange.is_opening
    if shown.is_closing:
        message.is_closing = True
    if shown.is_closed:
        message.is_closed = True
    if shown.host:
        message.host = shown.host
    if shown.is_paused:
        message.is_paused = True
        message.paused_until_ms = shown.paused_until_ms
    for each in shown.waiting:
        message.waiting.add(player=each.player, seat=each.seat, until_ms=each.until_ms)
    if shown.capsa is not None:
        capsa_views.write_table(message.capsa, shown.capsa)
    if shown.match is not None:
        _write_match(message.match, shown.match)
    if shown.tournament is not None:
        write_tournament(message.tournament, shown.tournament)


def _write_match(message: pb.MatchView, match: view.MatchView) -> None:
    message.SetInParent()
    message.is_started = match.is_started
    message.still_in.extend(match.still_in)
    if match.result:
        message.result = RESULT_NUMBER[match.result]
    for one in match.places:
        message.places.add(place=one.place, seat=one.seat, player=one.player, is_bot=one.is_bot, prize=one.prize)


def _read_match(message: pb.MatchView) -> view.MatchView:
    return view.MatchView(
        message.is_started,
        tuple(message.still_in),
        RESULT_NAME[message.result] if message.result else "",
        tuple([view.PlaceView(one.place, one.seat, one.player, one.is_bot, one.prize) for one in message.places]),
    )


def _write_seat(message: pb.SeatView, seat: view.SeatView) -> None:
    message.seat = seat.seat
    message.player = seat.player
    message.display_name = seat.display_name
    message.stack = seat.stack
    message.status = STATUS_NUMBER[seat.status]
    if seat.is_bot:
        message.is_bot = True
    if seat.time_bank_ms:
        message.time_bank_ms = seat.time_bank_ms
    if seat.coins is not None:
        coins = message.coins
        coins.SetInParent()
        coins.dinars, coins.dirhams, coins.fils = seat.coins.dinars, seat.coins.dirhams, seat.coins.fils
        coins.stones, message.coins_rest = seat.coins.stones, seat.coins.rest
    if not seat.in_hand:
        return
    message.in_hand = True
    message.bet = seat.bet
    message.hidden_cards = seat.hidden_cards
    if seat.has_folded:
        message.has_folded = True
    if seat.is_all_in:
        message.is_all_in = True
    if seat.shown_cards:
        message.shown_cards.extend(seat.shown_cards)


def _write_hand(message: pb.HandView, hand: view.HandView) -> None:
    message.hand_id = hand.hand_id
    message.hand_no = hand.hand_no
    message.street = STREET_NUMBER[hand.street]  # type: ignore[assignment]
    message.button = hand.button
    message.board.extend(hand.board)
    message.pot = hand.pot
    for pot in hand.pots:
        message.pots.add(amount=pot.amount, eligible=pot.eligible)
    message.deck_root = hand.deck_root
    message.game = hand.game
    message.rules_version = hand.rules_version
    if hand.decision is not None:
        _write_decision(message.decision, hand.decision)
    if hand.sarab is not None:
        message.sarab.SetInParent()
        for name in _SARAB:
            setattr(message.sarab, name, getattr(hand.sarab, name))
        message.sarab.cannot_fold.extend(hand.sarab.cannot_fold)
    if hand.naiko is not None:
        _write_naiko(message.naiko, hand.naiko)
    if hand.capsa is not None:
        capsa_views.write_hand(message.capsa, hand.capsa)


def _write_naiko(message: pb.NaikoView, naiko: view.NaikoView) -> None:
    message.carousel.extend(naiko.carousel)
    message.activations_left = naiko.activations_left
    for seat in naiko.seats:
        message.seats.add(seat=seat.seat, destellos=seat.destellos, used=seat.used, is_anchored=seat.is_anchored)
    if naiko.window is not None:
        window = message.window
        window.seat, window.declared_by = naiko.window.seat, naiko.window.declared_by
        window.turn, window.deadline_ms = naiko.window.turn, naiko.window.deadline_ms
    for offer in naiko.powers:
        message.powers.add(
            power=offer.power, seat=offer.seat, cost=offer.cost, why_not=offer.why_not, targets=offer.targets
        )


def _write_decision(message: pb.Decision, decision: view.Decision) -> None:
    message.seat = decision.seat
    message.turn = decision.turn
    message.deadline_ms = decision.deadline_ms
    message.can_fold = decision.can_fold
    message.can_check = decision.can_check
    message.can_call = decision.can_call
    message.call_amount = decision.call_amount
    message.can_bet = decision.can_bet
    message.can_raise = decision.can_raise
    message.min_to = decision.min_to
    message.max_to = decision.max_to
    message.pot_to = decision.pot_to
    if decision.can_sarab:
        message.can_sarab = True
    if decision.is_time_bank_running:
        message.is_time_bank_running = True


def private_view_message(shown: view.PrivateView) -> pb.PrivateView:
    """Return the message of what a seat's holder alone may know."""
    message = pb.PrivateView(seat=shown.seat, hand_id=shown.hand_id)
    write_reveals(message.reveals, shown.reveals)
    if shown.glanced is not None:
        write_reveal(message.glanced, shown.glanced)
    if shown.discarded is not None:
        write_reveal(message.discarded, shown.discarded)
    if shown.capsa is not None:
        capsa_views.write_own(message.capsa, shown.capsa)
    return message


def read_table_view(message: pb.TableView) -> view.TableView:
    """Return the view of a message, as a client or a bot reads it."""
    config, hand = message.config, message.config.hand
    exchange = message.seed_exchange
    return view.TableView(
        table_id=message.table_id,
        version=message.version,
        epoch=message.epoch,
        settings=view.Settings(
            config.name,
            config.capsa.game if config.HasField("capsa") else hand.game,
            hand.limit,
            hand.small_blind,
            hand.big_blind,
            hand.decision_seconds,
            config.seats,
            config.buy_in_min,
            config.buy_in_max,
        ),
        seats=tuple(map(_read_seat, message.seats)),
        hand=_read_hand(message.hand) if message.HasField("hand") else None,
        seed_exchange=view.SeedExchangeView(
            exchange.hand_no, exchange.hand_id, exchange.secret_commitment, exchange.is_opening
        )
        if message.HasField("seed_exchange")
        else None,
        is_closing=message.is_closing,
        is_closed=message.is_closed,
        host=message.host,
        is_paused=message.is_paused,
        paused_until_ms=message.paused_until_ms,
        waiting=tuple(
            view.WaitingView(each.player, each.seat if each.HasField("seat") else None, each.until_ms)
            for each in message.waiting
        ),
        capsa=capsa_views.read_table(message.capsa) if message.HasField("capsa") else None,
        match=_read_match(message.match) if message.HasField("match") else None,
        tournament=read_tournament(message.tournament) if message.HasField("tournament") else None,
    )


def _read_seat(message: pb.SeatView) -> view.SeatView:
    return view.SeatView(
        message.seat,
        message.player,
        message.display_name,
        message.is_bot,
        message.stack,
        STATUS_NAME[message.status],
        message.in_hand,
        message.has_folded,
        message.is_all_in,
        message.bet,
        tuple(message.shown_cards),
        message.hidden_cards,
        message.time_bank_ms,
        _read_coins(message) if message.HasField("coins") else None,
    )


def _read_coins(message: pb.SeatView) -> view.CoinsView:
    coins = message.coins
    return view.CoinsView(coins.dinars, coins.dirhams, coins.fils, coins.stones, message.coins_rest)


def _read_hand(message: pb.HandView) -> view.HandView:
    return view.HandView(
        hand_id=message.hand_id,
        hand_no=message.hand_no,
        street=STREET_NAME[message.street],  # type: ignore[arg-type]
        button=message.button,
        board=tuple(message.board),
        pot=message.pot,
        pots=tuple(view.PotView(pot.amount, tuple(pot.eligible)) for pot in message.pots),
        decision=_read_decision(message.decision) if message.HasField("decision") else None,
        deck_root=message.deck_root,
        game=message.game,
        rules_version=message.rules_version,
        sarab=_read_sarab(message.sarab) if message.HasField("sarab") else None,
        naiko=_read_naiko(message.naiko) if message.HasField("naiko") else None,
        capsa=_read_capsa(message) if message.HasField("capsa") else None,
    )


def _read_capsa(message: pb.HandView) -> CapsaHandView:
    return capsa_views.read_hand(
        message.capsa,
        hand_id=message.hand_id,
        hand_no=message.hand_no,
        rules_version=message.rules_version,
        button=message.button,
        deck_root=message.deck_root,
    )


def _read_sarab(message: pb.SarabView) -> view.SarabView:
    numbers = {name: getattr(message, name) for name in _SARAB}
    return view.SarabView(**numbers, cannot_fold=tuple(message.cannot_fold))


def _read_naiko(message: pb.NaikoView) -> view.NaikoView:
    window = message.window
    return view.NaikoView(
        carousel=_read_powers(message.carousel),
        activations_left=message.activations_left,
        seats=tuple(
            [
                view.SeatPowers(seat.seat, seat.destellos, _read_powers(seat.used), seat.is_anchored)
                for seat in message.seats
            ]
        ),
        window=view.WindowView(window.seat, window.declared_by, window.turn, window.deadline_ms)
        if message.HasField("window")
        else None,
        powers=tuple(
            [
                view.PowerView(known(_POWERS, offer.power), offer.seat, offer.cost, offer.why_not, tuple(offer.targets))
                for offer in message.powers
            ]
        ),
    )


def _read_powers(names: Iterable[str]) -> tuple[view.Power, ...]:
    return tuple([known(_POWERS, name) for name in names])


def _read_decision(message: pb.Decision) -> view.Decision:
    return view.Decision(**{name: getattr(message, name) for name in _DECISION})


_DECISION: Final = tuple(get_type_hints(view.Decision))
_SARAB: Final = tuple(name for name in get_type_hints(view.SarabView) if name != "cannot_fold")
_POWERS: Final = texts(view.Power)


def read_private_view(message: pb.PrivateView) -> view.PrivateView:
    """Return what a seat's holder alone may know; the proofs are unverified."""
    reveals = read_reveals(message.reveals)
    cards = tuple([reveal.card for reveal in reveals])
    return view.PrivateView(
        message.seat,
        message.hand_id,
        reveals,
        read_reveal(message.glanced) if message.HasField("glanced") else None,
        read_reveal(message.discarded) if message.HasField("discarded") else None,
        capsa_views.read_own(message.capsa, message.seat, cards) if message.HasField("capsa") else None,
    )
