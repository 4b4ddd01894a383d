"""Whose own part in a tournament an event may have changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from diwan.core.tournament import events as told
from diwan.core.tournament.events import HandPlayed, PlayersOut, SeatsDrawn, TournamentEvent

_NOBODY_S: Final = (
    told.BotsWanted,
    told.SeedsAsked,
    told.SeedOpened,
    told.Drawn,
    told.MultiplierDrawn,
    told.TableOpened,
    told.TableReady,
    told.StartModeSet,
    told.TableClockSet,
    told.BalancingOrdered,
    told.SeatChosen,
    told.TableHalted,
    told.TableBreaking,
    told.RedrawOrdered,
    told.HandForHandBegan,
    told.RoundGranted,
    told.RunoutHeld,
    told.RunoutsReleased,
    told.TablesLate,
    told.RoundEnded,
    told.HandForHandEnded,
    told.ClockSet,
    told.LevelBegan,
    told.TournamentPaused,
    told.TournamentResumed,
    told.PaymentDue,
    told.PaymentOverdue,
)
"""What changes nobody's table, seat, stack, place or prize."""


def concerned_by(events: Sequence[TournamentEvent]) -> Collection[str] | None:
    """Return the players, None where it may be everybody."""
    players: set[str] = set()
    for event in events:
        match event:
            case HandPlayed(seats=seats) | SeatsDrawn(seats=seats):
                players.update([seat.player for seat in seats])
            case PlayersOut(players=out):
                players.update([one.player for one in out])
            case _ if isinstance(event, _NOBODY_S):
                pass
            case _:
                player = getattr(event, "player", None)
                if player is None:
                    return None
                players.add(player)
    return players
