"""The conditions of a tournament: one object for lobby, details and the moment before entering (F1, TR-5)."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import tournament_pb2
from diwan.api.tournament.v1 import lobby_pb2 as pb
from diwan.core.tournament.payouts import bands
from diwan.core.tournament.settings import EntryTerms, Ladder, Multiplier, TournamentConfig
from diwan.wire.hand import write_settings
from diwan.wire.mirror import mirror_of

CANCELLATION_POLICY: Final = "diwan/1"
"""The policy that docs/operating/tournaments.md publishes; what it says is code of the core."""


def conditions_message(config: TournamentConfig) -> pb.TournamentConditions:
    """Return the conditions that follow from a tournament's settings."""
    message = pb.TournamentConditions(
        kind=config.kind,
        game=config.hand.game,
        limit=config.hand.limit,
        table_size=config.table_size,
        players_min=config.players_min,
        players_max=config.players_max,
        entry=config.entry,
        fee=config.fee,
        starting_stack=config.starting_stack,
        guarantee=config.payout.guarantee,
        multipliers=[_line(config, line) for line in config.multipliers],
        has_bots=config.bots.up_to > 0,
        bots_up_to=config.bots.up_to,
        decision_seconds=config.hand.decision_seconds,
        time_bank_seconds=config.tables.time_bank_seconds,
        is_hand_for_hand=config.floor.hand_for_hand,
        cancellation_policy=CANCELLATION_POLICY,
    )
    mirror_of(Ladder, tournament_pb2.TournamentLadder).write(message.ladder, config.ladder)
    mirror_of(EntryTerms, tournament_pb2.TournamentEntryTerms).write(message.entries, config.entries)
    write_settings(message.hand, config.hand)
    if not config.multipliers:
        message.payouts.extend(_payouts(config))
    return message


def _line(config: TournamentConfig, line: Multiplier) -> pb.MultiplierLine:
    return pb.MultiplierLine(
        times=line.times,
        weight=line.weight,
        weights=sum(each.weight for each in config.multipliers),
        pool=line.times * config.entry,
        shares=line.shares,
        starting_stack=line.starting_stack or config.starting_stack,
        level_ms=line.level_ms,
    )


def _payouts(config: TournamentConfig) -> list[pb.PayoutLine]:
    """Return the lines that the field can come to."""
    if config.payout.table == "shares":
        return [pb.PayoutLine(entries_min=1, shares=config.payout.shares)]
    return [
        pb.PayoutLine(entries_min=entries, shares=shares)
        for entries, shares in bands()
        if entries <= config.players_max
    ]
