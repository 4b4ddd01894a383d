"""What requests may hold: every field is looked at before anything is done with it (L11, A2)."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from diwan.api.event.v1 import hand_pb2, table_pb2, tournament_table_pb2
from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX
from diwan.chassis.fields import an_id, page_size, request_id
from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.limits import STACK_MAX
from diwan.core.table.config import TIME_BANK_GAIN_SECONDS, TIME_BANK_SECONDS, MatchTerms, TableConfig
from diwan.core.table.tournament.terms import TournamentTerms
from diwan.wire.table import CHIPS_NAME, START_NAME, read_coins
from diwan.wire.tournament_table import ANTE_NAME, read_tournament_terms
from services.table.capsa_fields import capsa_settings

__all__ = ["amount", "an_id", "config", "page_size", "player", "request_id", "short_text"]

REASON_CHARACTERS_MAX: Final = 500
CASE_CHARACTERS_MAX: Final = 100
AMOUNT_MAX: Final = STACK_MAX - 1

LIVE_GAMES: Final = ("holdem", "omaha", "naiko", "sarab")
"""The games with betting that tables are opened for, the usual one first; Capsa has settings of its own."""

_LIMITS: Final = ("no_limit", "pot_limit")
_SHOW_ALL_IN: Final = ("at_showdown", "at_once")
_VOID_RULES: Final = ("no_voluntary_bet", "no_raise", "off")
_VOID_ANTES: Final = ("refund", "carry")
"""Words of settings, the one that is meant where nothing is said first."""


def amount(number: int, field: str = "amount") -> int:
    """Return chips of 1 to 2^53-1; raises AMOUNT_INVALID."""
    if not 1 <= number <= AMOUNT_MAX:
        raise Rejected("AMOUNT_INVALID", field=field)
    return number


def player(text: str) -> str:
    """Return a player id, or nothing; raises FIELD_INVALID."""
    if len(text) > PLAYER_ID_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="player", why="not a player id")
    return text


def short_text(text: str, field: str, most: int) -> str:
    """Return a text of a few words; raises FIELD_INVALID."""
    if len(text) > most or not text.isprintable():
        raise Rejected("FIELD_INVALID", field=field, why=f"at most {most} printable characters")
    return text.strip()


def config(message: table_pb2.TableConfig) -> TableConfig:
    """Return a table's settings with what was left out at its default; whether they make sense is the core's to say."""
    is_capsa = message.HasField("capsa")
    capsa = capsa_settings(message.capsa, message.seats) if is_capsa else None
    # A table has one game: with both, the core says so.
    hand = HandSettings() if is_capsa and not message.HasField("hand") else _hand(message)
    plain = TableConfig(name=message.name, seats=9 if capsa is None else capsa.players)
    bank, gain = (0, 0) if is_capsa else (TIME_BANK_SECONDS, TIME_BANK_GAIN_SECONDS)
    chips, start = message.chips, message.start
    if chips not in {0, *CHIPS_NAME} or start not in {0, *START_NAME}:
        raise Rejected("SETTING_INVALID", setting="chips" if chips not in {0, *CHIPS_NAME} else "start")
    return TableConfig(
        name=message.name,
        hand=hand,
        seats=message.seats or plain.seats,
        buy_in_min=message.buy_in_min,
        buy_in_max=message.buy_in_max,
        pause_ms=message.pause_ms if message.HasField("pause_ms") else plain.pause_ms,
        reserve_seconds=message.reserve_seconds if message.HasField("reserve_seconds") else plain.reserve_seconds,
        sit_out_after=message.sit_out_after if message.HasField("sit_out_after") else plain.sit_out_after,
        return_minutes=message.return_minutes if message.HasField("return_minutes") else plain.return_minutes,
        bots_fill=message.bots_fill,
        time_bank_seconds=message.time_bank_seconds if message.HasField("time_bank_seconds") else bank,
        time_bank_gain_seconds=message.time_bank_gain_seconds if message.HasField("time_bank_gain_seconds") else gain,
        chips=CHIPS_NAME[chips] if chips else plain.chips,
        start=START_NAME[start] if start else plain.start,
        capsa=capsa,
        match=_terms(message.match) if message.HasField("match") else None,
        tournament=_tournament(message.tournament) if message.HasField("tournament") else None,
        is_private=message.is_private,
        hold_seconds=message.hold_seconds,
        spectator_delay_events=message.spectator_delay_events,
    )


def _tournament(given: tournament_table_pb2.TournamentTerms) -> TournamentTerms:
    """Return the terms of a tournament's table; raises SETTING_INVALID."""
    if any(level.ante_kind not in {0, *ANTE_NAME} for level in given.levels):
        raise Rejected("SETTING_INVALID", setting="tournament.levels", why="who pays the ante: each or big_blind")
    return read_tournament_terms(given)


def _terms(given: table_pb2.MatchTerms) -> MatchTerms:
    """Return the terms of a match, what was left out as usual."""
    plain = MatchTerms()
    return MatchTerms(
        starting_coins=read_coins(given.starting_coins) if given.HasField("starting_coins") else plain.starting_coins,
        entry_fee=given.entry_fee,
        prizes=tuple(given.prizes) or plain.prizes,
    )


def _hand(message: table_pb2.TableConfig) -> HandSettings:
    """Return the settings of a table's hands: what was left out is as usual in the game."""
    given = message.hand
    game = _one_of(given.game, "hand.game", LIVE_GAMES)
    is_match = message.chips == table_pb2.CHIP_SOURCE_MATCH
    sarab = _sarab(given, is_match=is_match) if game == "sarab" or given.HasField("sarab") else None
    # Without blinds the smallest bet is the forced bet: one of them says the other.
    small_blind, big_blind = (0, sarab.forced_bets[0]) if sarab is not None and game == "sarab" else (1, 2)
    return HandSettings(
        game=game,  # type: ignore[arg-type]  # looked at above
        limit=_one_of(given.limit, "hand.limit", _LIMITS, GAMES[game].limits[0]),  # type: ignore[arg-type]
        small_blind=given.small_blind or small_blind,
        big_blind=given.big_blind or big_blind,
        short_allins_add_up=given.short_allins_add_up if given.HasField("short_allins_add_up") else True,
        show_all_in=_one_of(given.show_all_in, "hand.show_all_in", _SHOW_ALL_IN),  # type: ignore[arg-type]
        decision_seconds=given.decision_seconds or HandSettings().decision_seconds,
        sarab=sarab,
        naiko=_naiko(given.naiko) if game == "naiko" or given.HasField("naiko") else None,
    )


def _sarab(given: hand_pb2.HandSettings, *, is_match: bool) -> SarabSettings:
    """Return Sarab's settings; without a schedule a match has the usual one (SB-28), else the smallest bet stays."""
    plain, sarab = SarabSettings(), given.sarab
    usual = plain.forced_bets if is_match and not given.big_blind else (given.big_blind or plain.forced_bets[0],)
    counts = sarab.void_counts_as_deal if sarab.HasField("void_counts_as_deal") else plain.void_counts_as_deal
    raises = sarab.raises_before_river if sarab.HasField("raises_before_river") else plain.raises_before_river
    ignores = sarab.sarab_ignores_cap if sarab.HasField("sarab_ignores_cap") else plain.sarab_ignores_cap
    no_fold = sarab.no_fold_at_or_below if sarab.HasField("no_fold_at_or_below") else plain.no_fold_at_or_below
    return SarabSettings(
        forced_bets=tuple(sarab.forced_bets) or usual,
        deals_per_level=sarab.deals_per_level or plain.deals_per_level,
        void_rule=_one_of(sarab.void_rule, "hand.sarab.void_rule", _VOID_RULES),  # type: ignore[arg-type]
        void_antes=_one_of(sarab.void_antes, "hand.sarab.void_antes", _VOID_ANTES),  # type: ignore[arg-type]
        void_counts_as_deal=counts,
        raises_before_river=raises,
        sarab_ignores_cap=ignores,
        no_fold_at_or_below=no_fold,
    )


def _naiko(given: hand_pb2.NaikoSettings) -> NaikoSettings:
    plain = NaikoSettings()
    activations = (
        given.activations_per_round if given.HasField("activations_per_round") else plain.activations_per_round
    )
    said = {field.name: cost for field, cost in given.costs.ListFields()}
    return NaikoSettings(
        max_destellos=given.max_destellos if given.HasField("max_destellos") else plain.max_destellos,
        gain_per_deal=given.gain_per_deal if given.HasField("gain_per_deal") else plain.gain_per_deal,
        costs=replace(plain.costs, **said),
        activations_per_round=activations,
        response_seconds=given.response_seconds or plain.response_seconds,
        destellos_follow_forced_move=given.destellos_follow_forced_move,
    )


def _one_of(text: str, setting: str, known: Sequence[str], usual: str = "") -> str:
    """Return a word of a setting, the usual one or else the first where it was left out; raises SETTING_INVALID."""
    if not text:
        return usual or known[0]
    if text not in known:
        raise Rejected("SETTING_INVALID", setting=setting, why=" or ".join(known))
    return text
