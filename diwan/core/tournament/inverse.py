"""Back from a recorded batch to the command that made it, so that a log can be decided again (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.core.tournament.commands import (
    BuyExtra,
    Cancel,
    Chance,
    CreateTournament,
    Enter,
    OpenSeed,
    Pause,
    Remove,
    ReportChipsAdded,
    ReportClock,
    ReportHand,
    ReportPayment,
    ReportReleased,
    ReportRunoutHeld,
    ReportSeated,
    ReportStartMode,
    ReportTableGone,
    ReportTableReady,
    Resume,
    Tick,
    TournamentCommand,
    Withdraw,
)
from diwan.core.tournament.events import (
    ChipsAdded,
    Drawn,
    EntrantReleased,
    EntrantSeated,
    EntryRequested,
    EntryWithdrawn,
    ExtraRequested,
    HandPlayed,
    PaymentSettled,
    RemovalOrdered,
    RunoutHeld,
    SeedOpened,
    StartModeSet,
    TableClockSet,
    TableGone,
    TableReady,
    TournamentCancelled,
    TournamentCreated,
    TournamentEvent,
    TournamentPaused,
    TournamentResumed,
)

_SAME_FIELDS: Final = {
    PaymentSettled: ReportPayment,
    TableReady: ReportTableReady,
    EntrantSeated: ReportSeated,
    EntrantReleased: ReportReleased,
    StartModeSet: ReportStartMode,
    TableClockSet: ReportClock,
    HandPlayed: ReportHand,
    RunoutHeld: ReportRunoutHeld,
    ChipsAdded: ReportChipsAdded,
    TableGone: ReportTableGone,
    TournamentPaused: Pause,
    TournamentResumed: Resume,
    RemovalOrdered: Remove,
    TournamentCreated: CreateTournament,
}
"""Acts whose command has the same fields in the same order, the time last."""


def command_of(event: TournamentEvent) -> TournamentCommand:
    """Return the command of a batch by its first event: the act, or what the clock brought about."""
    same = _SAME_FIELDS.get(type(event))
    if same is not None:
        values = [getattr(event, name) for name in event.__struct_fields__]
        command: TournamentCommand = same(*values)
        return command
    match event:
        case EntryRequested():
            return Enter(event.player, event.is_bot, event.at_ms, event.seed_commitment)
        case SeedOpened():
            return OpenSeed(event.player, event.seed, event.at_ms)
        case EntryWithdrawn():
            return Withdraw(event.player, event.at_ms)
        case ExtraRequested():
            return BuyExtra(event.player, event.kind, event.at_ms)
        case TournamentCancelled() if event.cause == "operator":
            return Cancel(event.by, event.reason, event.at_ms)
        case _:
            return Tick(event.at_ms)


def chance_of(events: Sequence[TournamentEvent]) -> Chance | None:
    """Return the secret that a batch drew with, None where it drew nothing."""
    for event in events:
        if isinstance(event, Drawn):
            return Chance(event.secret, event.next_commitment)
    return None
