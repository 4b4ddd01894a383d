"""How a tournament stands, as messages: for everybody, for one player, for a lobby."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from typing import Any, Final

from diwan.api.tournament.v1 import view_pb2 as pb
from diwan.core.tournament.ladders import next_break_ms, with_level_length
from diwan.core.tournament.payouts import shared
from diwan.core.tournament.settings import Ladder, Level
from diwan.core.tournament.state import NO_SEAT, Entrant, TournamentState

LEADERS: Final = 10

STANDINGS_SECONDS: Final = 1.0
SHOWN_KEPT: Final = 256

_IN: Final = frozenset({"playing", "busted"})
_TABLES_TOLD: Final = frozenset({"ordered", "open", "breaking", "closing"})


def ladder_of(state: TournamentState) -> Ladder:
    """Return the ladder in force: a Spin's multiplier may have set the length of its levels."""
    config = state.config
    level_ms = config.multipliers[state.line].level_ms if state.line != NO_SEAT else 0
    return with_level_length(config.ladder, level_ms)


class Shown:
    """What was made of tournaments lately: whoever asks again and again costs a look, not a count of everybody (P12).

    A view is of the state that it was made of; an order of standings may be a second old.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._views: OrderedDict[str, tuple[TournamentState, pb.TournamentView]] = OrderedDict()
        self._standings: OrderedDict[str, tuple[float, int, list[pb.Standing]]] = OrderedDict()

    def view(self, state: TournamentState) -> pb.TournamentView:
        """Return a tournament as everybody sees it."""
        known = self._views.get(state.tournament_id)
        if known is not None and known[0] is state:
            return known[1]
        view = view_message(state)
        self._views[state.tournament_id] = (state, view)
        _bounded(self._views)
        return view

    def standings(self, state: TournamentState) -> tuple[int, list[pb.Standing]]:
        """Return who stands where, and at which version that was."""
        known = self._standings.get(state.tournament_id)
        now = self._monotonic()
        if known is not None and (known[1] == state.version or now - known[0] < STANDINGS_SECONDS):
            return known[1], known[2]
        ranked = standings(state)
        self._standings[state.tournament_id] = (now, state.version, ranked)
        _bounded(self._standings)
        return state.version, ranked


def _bounded(kept: OrderedDict[str, Any]) -> None:
    if len(kept) > SHOWN_KEPT:
        kept.popitem(last=False)


def view_message(state: TournamentState) -> pb.TournamentView:
    """Return a tournament as everybody sees it."""
    config, levels = state.config, ladder_of(state).levels
    view = pb.TournamentView(
        tournament_id=state.tournament_id,
        version=state.version,
        name=config.name,
        kind=config.kind,
        game=config.hand.game,
        phase=state.phase,
        is_open=state.is_open,
        starts_at_ms=config.entries.starts_at_ms,
        began_at_ms=state.began_at_ms,
        entries=state.accepted,
        bots=state.bots,
        players_left=state.left,
        tables=len(state.in_play),
        next_break_at_ms=_next_break_at(state),
        pool=sum(state.prizes) if state.prizes is not None else max(state.pool, config.payout.guarantee),
        prizes=state.prizes or (),
        multiplier=config.multipliers[state.line].times if state.line != NO_SEAT else 0,
        chips_in_play=state.chips_in_play,
        average_stack=state.chips_in_play // state.left if state.left else 0,
        is_hand_for_hand=state.hand_for_hand is not None,
        round_no=state.round_no,
        is_paused=state.is_paused,
        leaders=standings(state, LEADERS),
        winner=state.winner,
        cancelled=state.cancelled or "",
        seeds_until_ms=state.seeds_until_ms,
    )
    if state.level_no:
        _write_level(view.level, state.level_no, levels[state.level_no - 1])
        view.level.is_break = state.is_break
        view.level.ends_at_ms = _level_ends_at(state)
    if state.level_no < len(levels):
        _write_level(view.next_level, state.level_no + 1, levels[state.level_no])
    return view


def _write_level(message: pb.LevelView, number: int, level: Level) -> None:
    message.level_no = number
    message.small_blind = level.small_blind
    message.big_blind = level.big_blind
    message.ante = level.ante
    message.ante_kind = level.ante_kind


def _level_ends_at(state: TournamentState) -> int:
    is_running = state.level_ends_ms and not state.clock.paused_at_ms
    return state.clock.base_ms + state.level_ends_ms if is_running else 0


def _next_break_at(state: TournamentState) -> int:
    """Return when the next break begins; the time before the running level ends need not be known for it."""
    if not state.began_at_ms or state.clock.paused_at_ms or state.is_break:
        return 0
    ladder = ladder_of(state)
    ended = state.level_ends_ms - ladder.levels[state.level_no - 1].duration_ms if state.level_ends_ms else 0
    begins = next_break_ms(ladder, max(ended, 0)) if state.level_ends_ms else None
    return 0 if begins is None else state.clock.base_ms + begins


def standings(state: TournamentState, most: int | None = None) -> list[pb.Standing]:
    """Return who stands where: players by stack, the largest first, then who is out by place; at most so many."""
    playing = [(_stack(state, entrant), entrant) for entrant in state.entrants.values() if entrant.standing in _IN]
    count = len(playing) if most is None else most
    first = nlargest(count, playing, key=lambda each: (each[0], -each[1].entry_no))
    told = [_standing(state, entrant, stack) for stack, entrant in first]
    if most is not None and len(told) >= most:
        return told
    rest = [_standing(state, entrant, 0) for entrant in state.entrants.values() if entrant.standing not in _IN]
    rest = [each for each in rest if each.status != "none"]
    rest.sort(key=lambda each: (each.place == 0, each.place, each.player))
    return (told + rest)[: most or None]


def _standing(state: TournamentState, entrant: Entrant, stack: int) -> pb.Standing:
    place, place_last, prize = place_of(state, entrant)
    return pb.Standing(
        place=place,
        place_last=place_last,
        player=entrant.player,
        is_bot=entrant.is_bot,
        stack=stack,
        table_no=entrant.table_no,
        status=entrant.standing,
        prize=prize,
        entries=entrant.entries,
    )


def _stack(state: TournamentState, entrant: Entrant) -> int:
    """Return a player's chips after the last hand; on the way to another table, what was taken along."""
    table = state.tables.get(entrant.table_no) if entrant.table_no else None
    sitter = None if table is None else table.sitter(entrant.player)
    if sitter is not None:
        return sitter.stack
    move = state.moves.get(entrant.move_no) if entrant.move_no else None
    return 0 if move is None else move.stack


def place_of(state: TournamentState, entrant: Entrant) -> tuple[int, int, int]:
    """Return the best and the worst place of a player who is out or has won, and the prize; zeros while not known."""
    if state.winner == entrant.player:
        return 1, 1, state.prizes[0] if state.prizes else 0
    entry = state.entries.get(entrant.entry_no)
    if entrant.standing != "out" or entry is None or state.prizes is None or not entry.out_first:
        return 0, 0, 0
    first, last = state.accepted + 1 - entry.out_last, state.accepted + 1 - entry.out_first
    if first > len(state.prizes):
        return first, last, 0
    prizes = shared(state.prizes, first, last)
    if first == last:
        return first, last, prizes[0]
    equals = sorted(
        other.entry_no
        for other in state.entries.values()
        if other.out_first == entry.out_first and other.status == "out"
    )
    return first, last, prizes[equals.index(entry.entry_no)]


def own_message(state: TournamentState, player: str) -> pb.OwnEntry | None:
    """Return a player's own part, None where there never was one."""
    entrant = state.entrants.get(player)
    if entrant is None:
        return None
    place, place_last, prize = place_of(state, entrant)
    own = pb.OwnEntry(
        tournament_id=state.tournament_id,
        version=state.version,
        player=player,
        status=entrant.standing,
        stack=_stack(state, entrant) if entrant.standing in _IN else 0,
        place=place,
        place_last=place_last,
        prize=prize,
        entries=entrant.entries,
        awaits_chips=bool(entrant.extra_no),
    )
    table = state.tables.get(entrant.table_no) if entrant.table_no else None
    if table is not None and table.sitter(player) is not None:
        own.table_id, own.table_no, own.seat = table.table_id, table.table_no, entrant.seat
    move = state.moves.get(entrant.move_no) if entrant.move_no else None
    if move is not None:
        own.is_moving, own.moving_to = True, move.to_table
    return own


def table_messages(state: TournamentState) -> Iterable[pb.TournamentTable]:
    """Return the tables that are there, by number."""
    return sorted(_tables(state), key=lambda table: table.table_no)


def _tables(state: TournamentState) -> Iterator[pb.TournamentTable]:
    for table in state.tables.values():
        if table.status in _TABLES_TOLD:
            yield pb.TournamentTable(
                table_no=table.table_no,
                table_id=table.table_id,
                status=table.status,
                sitters=[
                    pb.TournamentSitter(seat=sitter.seat, player=sitter.player, stack=sitter.stack)
                    for sitter in table.sitters
                ],
                is_halted=table.is_halted,
            )
