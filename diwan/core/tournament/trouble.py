"""Operators' doings, each with a reason: pause and resume, removing a player, calling a tournament off.

The policy for what is called off during play is that of docs/reference/tournaments.md (page e2): before the money half of the pool in
equal parts and half by chips, to those still in; in the money everybody still in gets the lowest prize that is open, the
rest goes by chips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diwan.core.decider import Rejected
from diwan.core.hand.events import Chips
from diwan.core.tournament import paying, ranking, registration, timing
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.commands import Cancel, Pause, Remove, Resume
from diwan.core.tournament.events import (
    EntryEnded,
    OutPlayer,
    Payment,
    RemovalOrdered,
    TournamentCancelled,
    TournamentPaused,
    TournamentResumed,
)
from diwan.core.tournament.state import NO_SEAT, Entrant, TournamentState

BEFORE_PLAY = "before play: everything goes back"
BEFORE_MONEY = "before the money: half in equal parts, half by chips"
IN_MONEY = "in the money: the lowest open prize each, the rest by chips"


def pause(batch: Batch, command: Pause) -> None:
    """Stop: running hands end, none starts."""
    _check_reason(command.reason)
    if batch.state.phase != "playing" or batch.state.is_paused:
        raise Rejected("TOURNAMENT_NOT_RUNNING", phase=batch.state.phase)
    batch.add(TournamentPaused(command.by, command.reason, command.now_ms))
    timing.stop_clock(batch)


def resume(batch: Batch, command: Resume) -> None:
    """Go on."""
    if not batch.state.is_paused or batch.state.phase != "playing":
        raise Rejected("TOURNAMENT_NOT_PAUSED", phase=batch.state.phase)
    batch.add(TournamentResumed(command.by, command.reason, command.now_ms))
    timing.start_clock(batch)


def remove(batch: Batch, command: Remove) -> None:
    """Remove a player: before play the entry goes back, afterwards the chips leave play and the player is out."""
    _check_reason(command.reason)
    state = batch.state
    if state.phase in {"paying", "finished"}:
        raise Rejected("TOURNAMENT_OVER", phase=state.phase)
    entrant = state.entrants.get(command.player)
    if entrant is None or entrant.standing not in {"requested", "registered", "playing"}:
        raise Rejected("NOT_ENTERED", player=command.player)
    if entrant.removal:
        return
    if entrant.standing == "playing" and state.left - len(state.removals) <= 1:
        raise Rejected("LAST_PLAYER", player=command.player)
    if entrant.standing != "playing" and state.phase not in {"registering", "announced"}:
        raise Rejected("ENTRY_PENDING", player=command.player)
    if entrant.standing != "playing":
        registration.check_no_draw(state)
    batch.add(RemovalOrdered(command.player, command.by, command.reason, command.now_ms))
    if entrant.standing == "playing":
        out_if_nowhere(batch, command.player)
        return
    entry = state.entries[entrant.entry_no]
    batch.add(EntryEnded(entry.entry_no, "withdrawn", command.reason, command.now_ms))
    if entry.status == "accepted":
        paying.refund(batch, entry)


def out_if_nowhere(batch: Batch, player: str, *, is_just_released: bool = False) -> None:
    """Rank a removed player who sits nowhere; one who sits, or is just being seated, is let go by that table first.

    Who went out earlier and is not ranked yet, as a round of hand-for-hand is still played, is ranked first.
    """
    state = batch.state
    entrant = state.entrants[player]
    move = state.moves.get(entrant.move_no)
    is_being_seated = move is not None and move.phase == "seating" and not is_just_released
    if entrant.standing != "playing" or entrant.table_no or is_being_seated or state.busts:
        return
    if move is not None:
        batch.touched.update({move.from_table, move.to_table})
    stack = 0 if move is None else move.stack
    ranking.rank(batch, [OutPlayer(player, entrant.entry_no, 0, stack)], "removed", "operator")


def out_removed(batch: Batch) -> None:
    """Rank removed players who had to wait for those who had gone out before them."""
    for player in batch.state.removals:
        out_if_nowhere(batch, player)


def cancel(batch: Batch, command: Cancel) -> None:
    """Call the tournament off."""
    _check_reason(command.reason)
    if batch.state.phase in {"paying", "finished"}:
        raise Rejected("TOURNAMENT_OVER", phase=batch.state.phase)
    if command.now_ms < batch.state.seeds_until_ms + registration.DRAW_OVERDUE_MS:
        registration.check_no_draw(batch.state)
    # A multiplier that is drawn stands (F1): who has seen it cannot undo it.
    if batch.state.phase != "playing" and batch.state.line == NO_SEAT:
        batch.add(TournamentCancelled("operator", command.by, command.reason, BEFORE_PLAY, command.now_ms))
        give_everything_back(batch)
        return
    state = batch.state
    in_money = state.prizes is not None and state.left <= len(state.prizes)
    policy = IN_MONEY if in_money else BEFORE_MONEY
    batch.add(TournamentCancelled("operator", command.by, command.reason, policy, command.now_ms))
    ranking.rank_busts(batch, is_over=True)
    out_removed(batch)
    registration.end_extras(batch)  # Their price is the buyers' again and not to be shared.
    _share_pool(batch, in_money=in_money)


def give_everything_back(batch: Batch) -> None:
    """Order every entry and the house's reserve back: no hand was played."""
    for _, entry in sorted(batch.state.entries.items()):
        if entry.status in {"accepted", "playing"}:
            paying.refund(batch, entry)
    paying.return_reserve(batch)


def _share_pool(batch: Batch, *, in_money: bool) -> None:
    state = batch.state
    chips = _chips_by_player(state)
    players = sorted(chips, key=lambda player: state.entrants[player].entry_no)
    pool = sum(state.prizes) if state.prizes is not None else paying.pool_of(state)
    amounts = shares_called_off(pool, state.prizes or (), [chips[player] for player in players], in_money=in_money)
    fees = 0
    for player, amount in zip(players, amounts, strict=True):
        entrant = state.entrants[player]
        fee = state.entries[entrant.entry_no].fee
        fees += fee
        party = paying.party_of(entrant.is_bot)
        share = Payment(f"share/{player}", "prize", "pool", party, amount + fee, player, entrant.entry_no)
        paying.due(batch, share)
    paying.pay_fee(batch, state.fees - fees)
    paying.return_unused(batch, pool)


def shares_called_off(
    pool: Chips, prizes: Sequence[Chips], stacks: Sequence[Chips], *, in_money: bool
) -> tuple[Chips, ...]:
    """Return what those still in get of a tournament that is called off, in the order of their stacks; sums exactly."""
    count = len(stacks)
    if in_money:
        lowest = prizes[count - 1]
        rest = sum(prizes[:count]) - lowest * count
        equal = [lowest] * count
    else:
        half = pool - pool // 2
        each, odd = divmod(half, count)
        equal = [each + (number < odd) for number in range(count)]
        rest = pool // 2
    total = sum(stacks)
    by_chips = [rest * stack // total for stack in stacks]
    left = rest - sum(by_chips)
    # What rounding leaves goes chip by chip to the largest stacks, of equal ones to the earlier entry.
    order = sorted(range(count), key=lambda index: (-stacks[index], index))
    for index in order[:left]:
        by_chips[index] += 1
    return tuple([share + part for share, part in zip(equal, by_chips, strict=True)])


def _chips_by_player(state: TournamentState) -> Mapping[str, Chips]:
    """Return the stacks of those still in, as after the last hand reported: a hand in progress is void (page e2)."""
    chips: dict[str, Chips] = {}
    for entrant in state.entrants.values():
        if entrant.standing == "playing":
            chips[entrant.player] = stack_of(state, entrant)
    return chips


def stack_of(state: TournamentState, entrant: Entrant) -> Chips:
    """Return a player's stack: at the table, or on the way to one."""
    if entrant.table_no:
        sitter = state.tables[entrant.table_no].sitter(entrant.player)
        return 0 if sitter is None else sitter.stack
    move = state.moves.get(entrant.move_no)
    return 0 if move is None else move.stack


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise Rejected("REASON_REQUIRED")
