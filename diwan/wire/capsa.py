"""Events of a Capsa hand and stakes of pairs, and their messages, field by field."""

from __future__ import annotations

from typing import Any, Final, get_type_hints

from diwan.api.event.v1 import capsa_pb2 as pb
from diwan.core.games.capsa import events as capsa
from diwan.core.games.capsa import settings as settings_of
from diwan.core.games.capsa import stakes
from diwan.core.hand.events import HandSeat, OpenedSeed
from diwan.wire.hand import DECIDED_BY_NAME, DECIDED_BY_NUMBER
from diwan.wire.mapping import Row, known, named, texts

STATUS_NUMBER, STATUS_NAME = named(capsa.Status, pb.CapsaStatus)
ANSWER_NUMBER, ANSWER_NAME = named(capsa.Answer, pb.CapsaAnswer)
SOURCE_NUMBER, SOURCE_NAME = named(capsa.SetSource, pb.SetSource)

_SETTINGS = get_type_hints(settings_of.CapsaSettings)
_GAMES: Final = texts(_SETTINGS["game"])
_SCORINGS: Final = texts(settings_of.Scoring)
_ROYALTY_MODES: Final = texts(_SETTINGS["royalty_mode"])
_DECLARATIONS: Final = texts(_SETTINGS["royalty_declaration"])
_NATURALS: Final = texts(settings_of.NaturalKind)
_WHEELS: Final = texts(settings_of.Wheel)
_POLICIES: Final = texts(settings_of.TimeoutPolicy)
_REASONS: Final = texts(get_type_hints(stakes.StakeEnded)["reason"])
_CATEGORIES: Final = settings_of.RowRoyalties.__struct_fields__


def write_capsa_settings(message: pb.CapsaSettings, settings: settings_of.CapsaSettings) -> None:
    """Fill a message with a hand's settings."""
    message.game = settings.game
    message.players = settings.players
    message.scoring = settings.scoring
    if settings.overall_bonus is not None:
        message.overall_bonus = settings.overall_bonus
    if settings.scoop_bonus is not None:
        message.scoop_bonus = settings.scoop_bonus
    _write_royalties(message.royalties, settings.royalties)
    message.royalty_mode = settings.royalty_mode
    message.one_royalty_per_player = settings.one_royalty_per_player
    message.broken_royalties = settings.broken_royalties
    message.royalty_declaration = settings.royalty_declaration
    if settings.naturals is not None:
        message.naturals.SetInParent()
        for award in settings.naturals:
            message.naturals.awards.add(kind=award.kind, units=award.units)
    message.surrender.allowed = settings.surrender.allowed
    message.surrender.price = settings.surrender.price
    message.foul_pays_royalties = settings.foul_pays_royalties
    message.wheel = settings.wheel
    message.unit = settings.unit
    for pair in settings.pair_units:
        message.pair_units.add(a=pair.a, b=pair.b, unit=pair.unit)
    if settings.loss_cap_units is not None:
        message.loss_cap_units = settings.loss_cap_units
    message.set_seconds = settings.set_seconds
    message.declare_seconds = settings.declare_seconds
    message.timeout_policy = settings.timeout_policy


def read_capsa_settings(message: pb.CapsaSettings) -> settings_of.CapsaSettings:
    """Return a hand's settings."""
    return settings_of.CapsaSettings(
        game=known(_GAMES, message.game),
        players=message.players,
        scoring=known(_SCORINGS, message.scoring),
        overall_bonus=message.overall_bonus if message.HasField("overall_bonus") else None,
        scoop_bonus=message.scoop_bonus if message.HasField("scoop_bonus") else None,
        royalties=read_royalties(message.royalties),
        royalty_mode=known(_ROYALTY_MODES, message.royalty_mode),
        one_royalty_per_player=message.one_royalty_per_player,
        broken_royalties=message.broken_royalties,
        royalty_declaration=known(_DECLARATIONS, message.royalty_declaration),
        naturals=read_naturals(message.naturals) if message.HasField("naturals") else None,
        surrender=settings_of.SurrenderTerms(message.surrender.allowed, message.surrender.price),
        foul_pays_royalties=message.foul_pays_royalties,
        wheel=known(_WHEELS, message.wheel),
        unit=message.unit,
        pair_units=tuple(settings_of.PairUnit(pair.a, pair.b, pair.unit) for pair in message.pair_units),
        loss_cap_units=message.loss_cap_units if message.HasField("loss_cap_units") else None,
        set_seconds=message.set_seconds,
        declare_seconds=message.declare_seconds,
        timeout_policy=known(_POLICIES, message.timeout_policy),
    )


def read_royalties(message: pb.Royalties) -> settings_of.Royalties:
    """Return a royalty table."""
    return settings_of.Royalties(
        front=_read_row_royalties(message.front),
        middle=_read_row_royalties(message.middle),
        back=_read_row_royalties(message.back),
    )


def read_naturals(message: pb.NaturalTable) -> tuple[settings_of.NaturalAward, ...]:
    """Return the naturals that a table pays."""
    return tuple(settings_of.NaturalAward(known(_NATURALS, one.kind), one.units) for one in message.awards)


def _write_royalties(message: pb.Royalties, royalties: settings_of.Royalties) -> None:
    for row, units in (
        (message.front, royalties.front),
        (message.middle, royalties.middle),
        (message.back, royalties.back),
    ):
        row.SetInParent()
        for category in _CATEGORIES:
            if getattr(units, category) is not None:
                setattr(row, category, getattr(units, category))


def _read_row_royalties(message: pb.RowRoyalties) -> settings_of.RowRoyalties:
    return settings_of.RowRoyalties(
        **{
            category: getattr(message, category)
            for category in _CATEGORIES
            if message.HasField(category)  # type: ignore[arg-type]  # fields of both
        }
    )


def _write_arrangement(message: pb.Arrangement, arrangement: capsa.Arrangement) -> None:
    message.SetInParent()
    message.front.extend(arrangement.front)
    message.middle.extend(arrangement.middle)
    message.back.extend(arrangement.back)


def _read_arrangement(message: pb.Arrangement) -> capsa.Arrangement:
    return capsa.Arrangement(tuple(message.front), tuple(message.middle), tuple(message.back))


def _write_capsa_started(message: pb.CapsaStarted, event: capsa.CapsaStarted) -> None:
    message.hand_id = event.hand_id
    message.hand_no = event.hand_no
    message.rules_version = event.rules_version
    write_capsa_settings(message.settings, event.settings)
    for seat in event.seats:
        message.seats.add(
            seat=seat.seat, player=seat.player, stack=seat.stack, is_bot=seat.is_bot, sitting=seat.sitting
        )
    message.button = event.button
    message.secret_commitment = event.secret_commitment
    for seed in event.seeds:
        message.seeds.add(seat=seed.seat, seed=seed.seed)
    message.absent.extend(event.absent)
    message.deck_root = event.deck_root
    message.next_commitment = event.next_commitment
    message.started_at_ms = event.started_at_ms


def _read_capsa_started(message: pb.CapsaStarted) -> capsa.CapsaStarted:
    return capsa.CapsaStarted(
        hand_id=message.hand_id,
        hand_no=message.hand_no,
        rules_version=message.rules_version,
        settings=read_capsa_settings(message.settings),
        seats=tuple(HandSeat(one.seat, one.player, one.stack, one.is_bot, one.sitting) for one in message.seats),
        button=message.button,
        secret_commitment=message.secret_commitment,
        seeds=tuple(OpenedSeed(one.seat, one.seed) for one in message.seeds),
        absent=tuple(message.absent),
        deck_root=message.deck_root,
        next_commitment=message.next_commitment,
        started_at_ms=message.started_at_ms,
    )


def _write_thirteen_dealt(message: pb.ThirteenDealt, event: capsa.ThirteenDealt) -> None:
    for holding in event.holdings:
        message.holdings.add(positions=holding)


def _read_thirteen_dealt(message: pb.ThirteenDealt) -> capsa.ThirteenDealt:
    return capsa.ThirteenDealt(tuple(tuple(holding.positions) for holding in message.holdings))


def _write_natural_shown(message: pb.NaturalShown, event: capsa.NaturalShown) -> None:
    message.seat = event.seat
    message.kind = event.kind
    message.units = event.units
    if event.division is not None:
        _write_arrangement(message.division, event.division)


def _read_natural_shown(message: pb.NaturalShown) -> capsa.NaturalShown:
    return capsa.NaturalShown(
        seat=message.seat,
        kind=known(_NATURALS, message.kind),
        units=message.units,
        positions=tuple(one.position for one in message.reveals),
        division=_read_arrangement(message.division) if message.HasField("division") else None,
    )


def _write_setting_began(message: pb.SettingBegan, event: capsa.SettingBegan) -> None:
    message.seats.extend(event.seats)
    message.turn = event.turn
    message.deadline_ms = event.deadline_ms


def _read_setting_began(message: pb.SettingBegan) -> capsa.SettingBegan:
    return capsa.SettingBegan(tuple(message.seats), message.turn, message.deadline_ms)


def _write_draft_saved(message: pb.DraftSaved, event: capsa.DraftSaved) -> None:
    message.seat = event.seat
    _write_arrangement(message.arrangement, event.arrangement)
    message.is_usable = event.is_usable
    message.turn = event.turn
    message.received_at_ms = event.received_at_ms


def _read_draft_saved(message: pb.DraftSaved) -> capsa.DraftSaved:
    return capsa.DraftSaved(
        message.seat, _read_arrangement(message.arrangement), message.is_usable, message.turn, message.received_at_ms
    )


def _write_set_locked(message: pb.SetLocked, event: capsa.SetLocked) -> None:
    message.seat = event.seat
    if event.arrangement is not None:
        _write_arrangement(message.arrangement, event.arrangement)
    message.is_foul_confirmed = event.is_foul_confirmed
    message.source = SOURCE_NUMBER[event.source]
    message.turn = event.turn
    message.decided_by = DECIDED_BY_NUMBER[event.decided_by]
    message.received_at_ms = event.received_at_ms


def _read_set_locked(message: pb.SetLocked) -> capsa.SetLocked:
    return capsa.SetLocked(
        seat=message.seat,
        arrangement=_read_arrangement(message.arrangement) if message.HasField("arrangement") else None,
        is_foul_confirmed=message.is_foul_confirmed,
        source=SOURCE_NAME[message.source],
        turn=message.turn,
        decided_by=DECIDED_BY_NAME[message.decided_by],
        received_at_ms=message.received_at_ms,
    )


def _write_set_unlocked(message: pb.SetUnlocked, event: capsa.SetUnlocked) -> None:
    message.seat = event.seat
    message.turn = event.turn
    message.received_at_ms = event.received_at_ms


def _read_set_unlocked(message: pb.SetUnlocked) -> capsa.SetUnlocked:
    return capsa.SetUnlocked(message.seat, message.turn, message.received_at_ms)


def _write_setting_closed(message: pb.SettingClosed, event: capsa.SettingClosed) -> None:
    if event.seat is not None:
        message.seat = event.seat
    message.turn = event.turn
    message.decided_by = DECIDED_BY_NUMBER[event.decided_by]
    message.received_at_ms = event.received_at_ms


def _read_setting_closed(message: pb.SettingClosed) -> capsa.SettingClosed:
    return capsa.SettingClosed(
        message.seat if message.HasField("seat") else None,
        message.turn,
        DECIDED_BY_NAME[message.decided_by],
        message.received_at_ms,
    )


def _write_answer_asked(message: pb.AnswerAsked, event: capsa.AnswerAsked) -> None:
    message.seat = event.seat
    message.turn = event.turn
    message.deadline_ms = event.deadline_ms


def _read_answer_asked(message: pb.AnswerAsked) -> capsa.AnswerAsked:
    return capsa.AnswerAsked(message.seat, message.turn, message.deadline_ms)


def _write_answered(message: pb.Answered, event: capsa.Answered) -> None:
    message.seat = event.seat
    message.answer = ANSWER_NUMBER[event.answer]
    message.turn = event.turn
    message.decided_by = DECIDED_BY_NUMBER[event.decided_by]
    message.received_at_ms = event.received_at_ms


def _read_answered(message: pb.Answered) -> capsa.Answered:
    return capsa.Answered(
        message.seat,
        ANSWER_NAME[message.answer],
        message.turn,
        DECIDED_BY_NAME[message.decided_by],
        message.received_at_ms,
    )


def _write_royalty(message: pb.DeclaredRoyalty, royalty: capsa.DeclaredRoyalty) -> None:
    message.SetInParent()
    message.category = royalty.category
    message.units = royalty.units


def _read_royalty(message: pb.DeclaredRoyalty) -> capsa.DeclaredRoyalty:
    return capsa.DeclaredRoyalty(message.category, message.units)


def _write_royalties_declared(message: pb.RoyaltiesDeclared, event: capsa.RoyaltiesDeclared) -> None:
    for standing in event.standings:
        one = message.standings.add(seat=standing.seat, status=STATUS_NUMBER[standing.status])
        _write_royalty(one.front, standing.front)
        _write_royalty(one.middle, standing.middle)
        _write_royalty(one.back, standing.back)


def _read_royalties_declared(message: pb.RoyaltiesDeclared) -> capsa.RoyaltiesDeclared:
    return capsa.RoyaltiesDeclared(
        tuple(
            capsa.Standing(
                one.seat,
                STATUS_NAME[one.status],
                _read_royalty(one.front),
                _read_royalty(one.middle),
                _read_royalty(one.back),
            )
            for one in message.standings
        )
    )


def _write_sets_shown(message: pb.SetsShown, event: capsa.SetsShown) -> None:
    for shown in event.sets:
        one = message.sets.add(
            seat=shown.seat, front=shown.front, middle=shown.middle, back=shown.back, is_fouled=shown.is_fouled
        )
        _write_arrangement(one.arrangement, shown.arrangement)


def _read_sets_shown(message: pb.SetsShown) -> capsa.SetsShown:
    return capsa.SetsShown(
        tuple(
            capsa.ShownSet(one.seat, _read_arrangement(one.arrangement), one.front, one.middle, one.back, one.is_fouled)
            for one in message.sets
        )
    )


def _write_pair_settled(message: pb.PairSettled, event: capsa.PairSettled) -> None:
    message.a = event.a
    message.b = event.b
    if event.rows is not None:
        message.rows.SetInParent()
        message.rows.front = event.rows.front
        message.rows.middle = event.rows.middle
        message.rows.back = event.rows.back
    message.row_units = event.row_units
    message.overall = event.overall
    message.scoop = event.scoop
    message.royalty = event.royalty
    message.other = event.other
    message.units = event.units
    message.chips = event.chips


def _read_pair_settled(message: pb.PairSettled) -> capsa.PairSettled:
    rows = message.rows
    return capsa.PairSettled(
        a=message.a,
        b=message.b,
        rows=capsa.RowResults(rows.front, rows.middle, rows.back) if message.HasField("rows") else None,
        row_units=message.row_units,
        overall=message.overall,
        scoop=message.scoop,
        royalty=message.royalty,
        other=message.other,
        units=message.units,
        chips=message.chips,
    )


def _write_stake(message: Any, event: stakes.StakeProposed | stakes.StakeAgreed) -> None:
    message.seat = event.seat
    message.other = event.other
    message.unit = event.unit


def _write_stake_proposed(message: pb.StakeProposed, event: stakes.StakeProposed) -> None:
    _write_stake(message, event)
    message.proposed_at_ms = event.proposed_at_ms


def _read_stake_proposed(message: pb.StakeProposed) -> stakes.StakeProposed:
    return stakes.StakeProposed(message.seat, message.other, message.unit, message.proposed_at_ms)


def _write_stake_agreed(message: pb.StakeAgreed, event: stakes.StakeAgreed) -> None:
    _write_stake(message, event)
    message.agreed_at_ms = event.agreed_at_ms


def _read_stake_agreed(message: pb.StakeAgreed) -> stakes.StakeAgreed:
    return stakes.StakeAgreed(message.seat, message.other, message.unit, message.agreed_at_ms)


def _write_stake_ended(message: pb.StakeEnded, event: stakes.StakeEnded) -> None:
    message.seat = event.seat
    message.other = event.other
    message.reason = event.reason
    message.ended_at_ms = event.ended_at_ms


def _read_stake_ended(message: pb.StakeEnded) -> stakes.StakeEnded:
    return stakes.StakeEnded(message.seat, message.other, known(_REASONS, message.reason), message.ended_at_ms)


CAPSA_ROWS: Final = (
    Row(capsa.CapsaStarted, _write_capsa_started, _read_capsa_started),
    Row(capsa.ThirteenDealt, _write_thirteen_dealt, _read_thirteen_dealt),
    Row(capsa.NaturalShown, _write_natural_shown, _read_natural_shown, shows=True),
    Row(capsa.SettingBegan, _write_setting_began, _read_setting_began),
    Row(capsa.DraftSaved, _write_draft_saved, _read_draft_saved),
    Row(capsa.SetLocked, _write_set_locked, _read_set_locked),
    Row(capsa.SetUnlocked, _write_set_unlocked, _read_set_unlocked),
    Row(capsa.SettingClosed, _write_setting_closed, _read_setting_closed),
    Row(capsa.AnswerAsked, _write_answer_asked, _read_answer_asked),
    Row(capsa.Answered, _write_answered, _read_answered),
    Row(capsa.RoyaltiesDeclared, _write_royalties_declared, _read_royalties_declared),
    Row(capsa.SetsShown, _write_sets_shown, _read_sets_shown, shows=True),
    Row(capsa.PairSettled, _write_pair_settled, _read_pair_settled),
    Row(stakes.StakeProposed, _write_stake_proposed, _read_stake_proposed),
    Row(stakes.StakeAgreed, _write_stake_agreed, _read_stake_agreed),
    Row(stakes.StakeEnded, _write_stake_ended, _read_stake_ended),
)
