"""Who came where: by the order of going out, in one hand by the stack it began with, in one round together (F2).

At one table the larger stack at the start of the hand ranks higher, equal stacks share (WSOP R126). Players of different
tables who go out in one round of hand-for-hand are equal: those who went out first at their tables share a place with
each other, those who went out second with each other, and so on, so that the rule for one table is never broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.core.tournament import paying
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import OutCause, OutPlayer, PlayersOut, TournamentWon
from diwan.core.tournament.state import Bust, TournamentState

ONE_HAND: Final = "F2"
ONE_ROUND: Final = "WSOP R126"


def rank_busts(batch: Batch, *, is_over: bool = False) -> None:
    """Rank who has gone out, as far as no hand is still owed that could change it; is play over, none is."""
    while batch.state.busts:
        state = batch.state
        owed = None if is_over else _oldest_owed_round(state)
        first = min(map(_occasion, state.busts))
        round_no = first[1]
        if owed is not None and (not round_no or round_no >= owed):
            return
        outs = [bust.player for bust in state.busts if _occasion(bust) == first]
        rank(batch, outs, "busted", ONE_ROUND if round_no else ONE_HAND)


def _occasion(bust: Bust) -> tuple[bool, int, int]:
    """Return what somebody went out in: rounds come before hands that belong to none, which came after hand-for-hand."""
    return bust.round_no == 0, bust.round_no, bust.hand if bust.round_no == 0 else 0


def _oldest_owed_round(state: TournamentState) -> int | None:
    if not state.round_no:
        return None
    owed = [
        table.round_no
        for table in state.tables.values()
        if table.round_done < table.round_no and table.status != "gone"
    ]
    return min(owed, default=None)


def rank(batch: Batch, outs: Sequence[OutPlayer], cause: OutCause, rule: str) -> None:
    """Record players who went out together, the lowest rank first, and order their prizes."""
    for group in reversed(levels(outs)):
        first = batch.state.out_count + 1
        last = batch.state.out_count + len(group)
        places = paying.places_of(batch.state, first, last)
        batch.add(PlayersOut(tuple(group), first, last, *places, cause, rule, batch.now_ms))
        paying.pay_places(batch, group, *places)


def levels(outs: Sequence[OutPlayer]) -> list[list[OutPlayer]]:
    """Return players who went out together in groups that share a place, the best first."""
    by_table: dict[int, list[OutPlayer]] = {}
    for out in outs:
        by_table.setdefault(out.table_no, []).append(out)
    groups: dict[int, list[OutPlayer]] = {}
    for own in by_table.values():
        stacks = sorted({out.stack_before for out in own}, reverse=True)
        for out in own:
            groups.setdefault(stacks.index(out.stack_before), []).append(out)
    return [sorted(groups[level], key=_by_entry) for level in sorted(groups)]


def _by_entry(out: OutPlayer) -> int:
    return out.entry_no


def win(batch: Batch) -> None:
    """End play when one player is left and everybody else is ranked."""
    state = batch.state
    if state.phase != "playing" or state.left != 1 or state.busts or state.prizes is None:
        return
    winner = next(each for each in state.entrants.values() if each.standing == "playing")
    batch.add(TournamentWon(winner.player, batch.now_ms))
    paying.pay_places(batch, [OutPlayer(winner.player, winner.entry_no, 0, 0)], 1, 1)
    paying.pay_fee(batch, state.fees)
    paying.return_unused(batch, sum(state.prizes))
