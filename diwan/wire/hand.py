"""Events of a hand and their messages, field by field."""

from __future__ import annotations

from typing import Any, Final, get_type_hints

from diwan.api.event.v1 import hand_pb2 as pb
from diwan.core.hand import events as hand
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.wire.mapping import Row, known, named, plain_row, texts
from diwan.wire.naiko import NAIKO_ROWS, read_deal, read_naiko, write_naiko

ACTION_NUMBER, ACTION_NAME = named(hand.ActionKind, pb.ActionKind)
DECIDED_BY_NUMBER, DECIDED_BY_NAME = named(hand.DecidedBy, pb.DecidedBy)
POST_NUMBER, POST_NAME = named(hand.PostKind, pb.PostKind)
RESULT_NUMBER, RESULT_NAME = named(hand.HandResult, pb.HandResult)
STREET_NUMBER, STREET_NAME = named(get_type_hints(hand.BoardDealt)["street"], pb.Street)
VOID_NUMBER, VOID_NAME = named(hand.VoidReason, pb.VoidReason)

_SETTINGS = get_type_hints(HandSettings)
_GAMES: Final = texts(_SETTINGS["game"])
_LIMITS: Final = texts(_SETTINGS["limit"])
_SHOW_ALL_IN: Final = texts(_SETTINGS["show_all_in"])
_SARAB = get_type_hints(SarabSettings)
_VOID_RULES: Final = texts(_SARAB["void_rule"])
_VOID_ANTES: Final = texts(_SARAB["void_antes"])


def write_settings(message: pb.HandSettings, settings: HandSettings) -> None:
    """Fill a message with a hand's settings."""
    message.game = settings.game
    message.limit = settings.limit
    message.small_blind = settings.small_blind
    message.big_blind = settings.big_blind
    message.short_allins_add_up = settings.short_allins_add_up
    message.show_all_in = settings.show_all_in
    message.decision_seconds = settings.decision_seconds
    if settings.sarab is not None:
        _write_sarab(message.sarab, settings.sarab)
    if settings.naiko is not None:
        write_naiko(message.naiko, settings.naiko)


def read_settings(message: pb.HandSettings) -> HandSettings:
    """Return a hand's settings."""
    return HandSettings(
        game=known(_GAMES, message.game),
        limit=known(_LIMITS, message.limit),
        small_blind=message.small_blind,
        big_blind=message.big_blind,
        short_allins_add_up=message.short_allins_add_up,
        show_all_in=known(_SHOW_ALL_IN, message.show_all_in),
        decision_seconds=message.decision_seconds,
        sarab=_read_sarab(message.sarab) if message.HasField("sarab") else None,
        naiko=read_naiko(message.naiko) if message.HasField("naiko") else None,
    )


def _write_sarab(message: pb.SarabSettings, settings: SarabSettings) -> None:
    message.SetInParent()
    message.forced_bets.extend(settings.forced_bets)
    message.deals_per_level = settings.deals_per_level
    message.void_rule = settings.void_rule
    message.void_antes = settings.void_antes
    message.void_counts_as_deal = settings.void_counts_as_deal
    message.raises_before_river = settings.raises_before_river
    message.sarab_ignores_cap = settings.sarab_ignores_cap
    message.no_fold_at_or_below = settings.no_fold_at_or_below


def _read_sarab(message: pb.SarabSettings) -> SarabSettings:
    return SarabSettings(
        forced_bets=tuple(message.forced_bets),
        deals_per_level=message.deals_per_level,
        void_rule=known(_VOID_RULES, message.void_rule),
        void_antes=known(_VOID_ANTES, message.void_antes),
        void_counts_as_deal=message.void_counts_as_deal,
        raises_before_river=message.raises_before_river,
        sarab_ignores_cap=message.sarab_ignores_cap,
        no_fold_at_or_below=message.no_fold_at_or_below,
    )


def _write_hand_started(message: pb.HandStarted, event: hand.HandStarted) -> None:
    message.hand_id = event.hand_id
    message.hand_no = event.hand_no
    message.rules_version = event.rules_version
    write_settings(message.settings, event.settings)
    for seat in event.seats:
        message.seats.add(
            seat=seat.seat, player=seat.player, stack=seat.stack, is_bot=seat.is_bot, sitting=seat.sitting
        )
    message.button = event.button
    if event.big_blind_seat is not None:
        message.big_blind_seat = event.big_blind_seat
    for due in event.dues:
        message.dues.add(seat=due.seat, kind=POST_NUMBER[due.kind], amount=due.amount)
    message.secret_commitment = event.secret_commitment
    for seed in event.seeds:
        message.seeds.add(seat=seed.seat, seed=seed.seed)
    message.absent.extend(event.absent)
    message.deck_root = event.deck_root
    message.next_commitment = event.next_commitment
    message.started_at_ms = event.started_at_ms
    message.deal_no = event.deal_no
    message.carried = event.carried
    message.time_banks_ms.extend(event.time_banks_ms)
    if event.tournament is not None:
        _write_tournament(message.tournament, event.tournament)
    if event.naiko is not None:
        message.naiko.SetInParent()
        message.naiko.carousel.extend(event.naiko.carousel)
        message.naiko.destellos.extend(event.naiko.destellos)


def _write_tournament(message: pb.TournamentDeal, deal: hand.TournamentDeal) -> None:
    message.tournament_id = deal.tournament_id
    message.level = deal.level
    if deal.small_blind_place is not None:
        message.small_blind_place = deal.small_blind_place
    message.round_no = deal.round_no
    message.hold_ms = deal.hold_ms


def _read_tournament(message: pb.TournamentDeal) -> hand.TournamentDeal:
    return hand.TournamentDeal(
        message.tournament_id,
        message.level,
        message.small_blind_place if message.HasField("small_blind_place") else None,
        message.round_no,
        message.hold_ms,
    )


def _read_hand_started(message: pb.HandStarted) -> hand.HandStarted:
    return hand.HandStarted(
        hand_id=message.hand_id,
        hand_no=message.hand_no,
        rules_version=message.rules_version,
        settings=read_settings(message.settings),
        seats=tuple(hand.HandSeat(one.seat, one.player, one.stack, one.is_bot, one.sitting) for one in message.seats),
        button=message.button,
        big_blind_seat=message.big_blind_seat if message.HasField("big_blind_seat") else None,
        dues=tuple(hand.Due(one.seat, POST_NAME[one.kind], one.amount) for one in message.dues),
        secret_commitment=message.secret_commitment,
        seeds=tuple(hand.OpenedSeed(one.seat, one.seed) for one in message.seeds),
        absent=tuple(message.absent),
        deck_root=message.deck_root,
        next_commitment=message.next_commitment,
        started_at_ms=message.started_at_ms,
        deal_no=message.deal_no,
        carried=message.carried,
        naiko=read_deal(message.naiko) if message.HasField("naiko") else None,
        time_banks_ms=tuple(message.time_banks_ms),
        tournament=_read_tournament(message.tournament) if message.HasField("tournament") else None,
    )


def _write_posted(message: pb.Posted, event: hand.Posted) -> None:
    message.seat = event.seat
    message.kind = POST_NUMBER[event.kind]
    message.amount = event.amount


def _read_posted(message: pb.Posted) -> hand.Posted:
    return hand.Posted(message.seat, POST_NAME[message.kind], message.amount)


def _write_hole_cards_dealt(message: pb.HoleCardsDealt, event: hand.HoleCardsDealt) -> None:
    for holding in event.holdings:
        message.holdings.add(positions=holding)


def _read_hole_cards_dealt(message: pb.HoleCardsDealt) -> hand.HoleCardsDealt:
    return hand.HoleCardsDealt(tuple(tuple(holding.positions) for holding in message.holdings))


def _write_turn_began(message: pb.TurnBegan, event: hand.TurnBegan) -> None:
    message.seat = event.seat
    message.turn = event.turn
    message.deadline_ms = event.deadline_ms


def _read_turn_began(message: pb.TurnBegan) -> hand.TurnBegan:
    return hand.TurnBegan(message.seat, message.turn, message.deadline_ms)


def _write_acted(message: pb.Acted, event: hand.Acted) -> None:
    message.seat = event.seat
    message.kind = ACTION_NUMBER[event.kind]
    message.to = event.to
    message.added = event.added
    message.is_all_in = event.is_all_in
    message.turn = event.turn
    message.decided_by = DECIDED_BY_NUMBER[event.decided_by]
    message.received_at_ms = event.received_at_ms
    message.is_sarab = event.is_sarab
    if event.bank_spent_ms:
        message.bank_spent_ms = event.bank_spent_ms


def _read_acted(message: pb.Acted) -> hand.Acted:
    return hand.Acted(
        message.seat,
        ACTION_NAME[message.kind],
        message.to,
        message.added,
        message.is_all_in,
        message.turn,
        DECIDED_BY_NAME[message.decided_by],
        message.received_at_ms,
        message.is_sarab,
        message.bank_spent_ms,
    )


def _write_bet_returned(message: pb.BetReturned, event: hand.BetReturned) -> None:
    message.seat = event.seat
    message.amount = event.amount


def _read_bet_returned(message: pb.BetReturned) -> hand.BetReturned:
    return hand.BetReturned(message.seat, message.amount)


def _write_betting_round_ended(message: pb.BettingRoundEnded, event: hand.BettingRoundEnded) -> None:
    message.total = event.total


def _read_betting_round_ended(message: pb.BettingRoundEnded) -> hand.BettingRoundEnded:
    return hand.BettingRoundEnded(message.total)


def _write_board_dealt(message: pb.BoardDealt, event: hand.BoardDealt) -> None:
    message.street = STREET_NUMBER[event.street]


def _read_board_dealt(message: pb.BoardDealt) -> hand.BoardDealt:
    return hand.BoardDealt(STREET_NAME[message.street], tuple(one.position for one in message.reveals))


def _write_cards_shown(message: pb.CardsShown, event: hand.CardsShown) -> None:
    message.seat = event.seat
    message.category = event.category
    message.rank = event.rank


def _read_cards_shown(message: pb.CardsShown) -> hand.CardsShown:
    positions = tuple(one.position for one in message.reveals)
    return hand.CardsShown(message.seat, positions, message.category, message.rank)


def _write_shares(messages: Any, shares: tuple[hand.Share, ...]) -> None:
    for share in shares:
        messages.add(seat=share.seat, amount=share.amount, odd=share.odd)


def _read_shares(messages: Any) -> tuple[hand.Share, ...]:
    return tuple(hand.Share(one.seat, one.amount, one.odd) for one in messages)


def _write_pot_awarded(message: pb.PotAwarded, event: hand.PotAwarded) -> None:
    message.index = event.index
    message.amount = event.amount
    message.eligible.extend(event.eligible)
    _write_shares(message.shares, event.shares)


def _read_pot_awarded(message: pb.PotAwarded) -> hand.PotAwarded:
    return hand.PotAwarded(message.index, message.amount, tuple(message.eligible), _read_shares(message.shares))


def _write_time_bank_began(message: pb.TimeBankBegan, event: hand.TimeBankBegan) -> None:
    message.seat = event.seat
    message.turn = event.turn
    message.bank_ms = event.bank_ms
    message.deadline_ms = event.deadline_ms
    message.began_at_ms = event.began_at_ms


def _read_time_bank_began(message: pb.TimeBankBegan) -> hand.TimeBankBegan:
    return hand.TimeBankBegan(message.seat, message.turn, message.bank_ms, message.deadline_ms, message.began_at_ms)


def _write_deadline_moved(message: pb.DeadlineMoved, event: hand.DeadlineMoved) -> None:
    message.turn = event.turn
    message.deadline_ms = event.deadline_ms
    message.reason = event.reason
    message.moved_at_ms = event.moved_at_ms


def _read_deadline_moved(message: pb.DeadlineMoved) -> hand.DeadlineMoved:
    return hand.DeadlineMoved(message.turn, message.deadline_ms, message.reason, message.moved_at_ms)


def _write_hand_voided(message: pb.HandVoided, event: hand.HandVoided) -> None:
    message.reason = VOID_NUMBER[event.reason]
    _write_shares(message.refunds, event.refunds)
    message.voided_at_ms = event.voided_at_ms
    message.decided_by = DECIDED_BY_NUMBER[event.decided_by]
    message.carried = event.carried


def _read_hand_voided(message: pb.HandVoided) -> hand.HandVoided:
    return hand.HandVoided(
        VOID_NAME[message.reason],
        _read_shares(message.refunds),
        message.voided_at_ms,
        DECIDED_BY_NAME[message.decided_by],
        message.carried,
    )


def _write_hand_ended(message: pb.HandEnded, event: hand.HandEnded) -> None:
    message.result = RESULT_NUMBER[event.result]
    message.stacks.extend(event.stacks)
    message.payoffs.extend(event.payoffs)
    message.won.extend(event.won)
    message.returned.extend(event.returned)
    message.digest = event.digest
    message.ended_at_ms = event.ended_at_ms


def _read_hand_ended(message: pb.HandEnded) -> hand.HandEnded:
    return hand.HandEnded(
        RESULT_NAME[message.result],
        tuple(message.stacks),
        tuple(message.payoffs),
        tuple(message.won),
        tuple(message.returned),
        message.digest,
        message.ended_at_ms,
    )


HAND_ROWS: Final = (
    Row(hand.HandStarted, _write_hand_started, _read_hand_started),
    Row(hand.Posted, _write_posted, _read_posted),
    Row(hand.HoleCardsDealt, _write_hole_cards_dealt, _read_hole_cards_dealt),
    Row(hand.TurnBegan, _write_turn_began, _read_turn_began),
    Row(hand.Acted, _write_acted, _read_acted),
    Row(hand.BetReturned, _write_bet_returned, _read_bet_returned),
    Row(hand.BettingRoundEnded, _write_betting_round_ended, _read_betting_round_ended),
    Row(hand.BoardDealt, _write_board_dealt, _read_board_dealt, shows=True),
    Row(hand.CardsShown, _write_cards_shown, _read_cards_shown, shows=True),
    Row(hand.PotAwarded, _write_pot_awarded, _read_pot_awarded),
    Row(hand.DeadlineMoved, _write_deadline_moved, _read_deadline_moved),
    Row(hand.TimeBankBegan, _write_time_bank_began, _read_time_bank_began),
    plain_row(hand.RunoutHeld, pb.RunoutHeld),
    plain_row(hand.RunoutReleased, pb.RunoutReleased),
    Row(hand.HandVoided, _write_hand_voided, _read_hand_voided),
    Row(hand.HandEnded, _write_hand_ended, _read_hand_ended),
    *NAIKO_ROWS,
)
