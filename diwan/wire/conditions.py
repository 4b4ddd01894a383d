"""A table's conditions as their message."""

from __future__ import annotations

from diwan.api.table.v1 import lobby_pb2 as pb
from diwan.core.table.conditions import Conditions
from diwan.wire.table import CHIPS_NUMBER
from diwan.wire.tournament_table import write_tournament_terms


def conditions_message(shown: Conditions) -> pb.TableConditions:
    """Return the message of a table's conditions."""
    added, clocks = shown.added, shown.clocks
    message = pb.TableConditions(
        game=shown.game,
        limit=shown.limit,
        small_blind=shown.small_blind,
        big_blind=shown.big_blind,
        ladder=[pb.ForcedBetLevel(forced_bet=level.forced_bet, deals=level.deals) for level in added.ladder],
        special_rules=[
            pb.SpecialRule(name=rule.name, value=rule.value, is_default=rule.is_default) for rule in added.special_rules
        ],
        seats=shown.seats,
        chips=CHIPS_NUMBER[shown.chips],
        buy_in_min=shown.buy_in_min,
        buy_in_max=shown.buy_in_max,
        entry_fee=added.entry_fee,
        starting_stack=added.starting_stack,
        prizes=added.prizes,
        clocks=pb.TableClocks(
            decision_seconds=clocks.decision_seconds,
            response_seconds=clocks.response_seconds,
            reserve_seconds=clocks.reserve_seconds,
            pause_ms=clocks.pause_ms,
            sit_out_after=clocks.sit_out_after,
            return_minutes=clocks.return_minutes,
            setting_seconds=clocks.setting_seconds,
            declaring_seconds=clocks.declaring_seconds,
            time_bank_seconds=clocks.time_bank_seconds,
            time_bank_gain_seconds=clocks.time_bank_gain_seconds,
        ),
        has_bots=shown.bots_fill > 0,
        bots_fill=shown.bots_fill,
        unit=added.unit,
        spectator_delay_events=shown.spectator_delay_events,
        is_private=shown.is_private,
    )
    if shown.tournament is not None:
        write_tournament_terms(message.tournament, shown.tournament)
    return message
