"""What the index of hands is asked: hands that fit, newest first, each page bounded in what it looks at.

A question is driven by the narrowest of its conditions that has an index in the order of time; what that finds is
looked through, at most `LOOKED_THROUGH` lines a page, or `LOOKED_UP`. So a page may hold fewer hands than asked for, even none, and
still not be the last: its token tells from where to look on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

import msgspec

from diwan.chassis.database import Connection
from diwan.chassis.fields import page_size_up_to
from diwan.chassis.paging import after_token, page_token
from diwan.core.decider import Rejected
from services.audit.search.facts import Flag
from services.audit.search.indexer import waiting_in

PAGE_HANDS_MAX: Final = 500
LOOKED_THROUGH: Final = 5_000
LOOKED_UP: Final = 1_000
"""Lines that are read one by one from all over the table, as a player's are, cost as much as several in a row."""

PLAYERS_MAX: Final = 9
POT_CLASS_MAX: Final = 63
TIME_MAX: Final = 2**62
NEWEST: Final = UUID(int=2**128 - 1)

RARE: Final = (Flag.OPERATOR, Flag.LOOKED_AT, Flag.INTERRUPTED, Flag.REFUSALS, Flag.VOID, Flag.POWERS)
COMMON: Final = (Flag.CLOCK, Flag.ALL_IN, Flag.BOTS_ONLY)
"""Each the rarest first."""


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Which hands are looked for; what is empty or 0 excludes none. All conditions must hold.

    ``players`` were all dealt in; ``from_ms`` counts in, ``to_ms`` does not; of ``games`` and ``results`` one.
    """

    players: tuple[str, ...] = ()
    table_id: UUID | None = None
    tournament_id: str = ""
    games: tuple[str, ...] = ()
    from_ms: int = 0
    to_ms: int = 0
    pot_min: int = 0
    pot_max: int = 0
    results: tuple[int, ...] = ()
    flags: Flag = Flag(0)
    without: Flag = Flag(0)


class FoundHand(msgspec.Struct, frozen=True):
    """A hand that fits; ``verdict`` as in audit/v1, 0 while nobody has looked. Lists are parallel."""

    hand_id: UUID
    table_id: UUID
    table_name: str
    tournament_id: str
    hand_no: int
    game: str
    bet_limit: str
    stake: int
    chips: int
    table_seats: int
    started_at_ms: int
    ended_at_ms: int
    first_version: int
    last_version: int
    result: int
    pot: int
    flags: int
    players: Sequence[str]
    seats: Sequence[int]
    payoffs: Sequence[int]
    verdict: int


class Page(msgspec.Struct, frozen=True):
    """Hands, newest first; ``next_token`` is empty at the end. ``waiting`` are ended hands that are not in the index yet."""

    hands: Sequence[FoundHand]
    next_token: str
    waiting: int


class Statement(msgspec.Struct, frozen=True):
    """A statement and its arguments."""

    text: str
    arguments: Sequence[object]


_BESIDE: Final = (
    "table_id, table_name, tournament_id, hand_no, game, bet_limit, stake, chips, table_seats, ended_at_ms, first_version, last_version,"
    " result, pot, flags, players, seats, payoffs"
)
_COLUMNS: Final = (
    "f.hand_id, f.table_id, f.table_name, coalesce(f.tournament_id, ''), f.hand_no, f.game, f.bet_limit, f.stake, f.chips, f.table_seats,"
    " f.started_at_ms, f.ended_at_ms, f.first_version, f.last_version, f.result, f.pot, f.flags, f.players, f.seats,"
    " f.payoffs, coalesce(v.verdict, 0)"
)
_ORDER: Final = "order by started_at_ms desc, hand_id desc"


READ_IN_ORDER: Final = """
set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off;
set local enable_hashjoin = off; set local enable_mergejoin = off; set local jit = off;
set local random_page_cost = 1
"""
"""Whatever the statistics say, lines are read in the order of their index: else the bound on them would bound nothing."""


class _Writer:
    """Puts a statement together from fixed pieces; whatever was asked goes in as an argument."""

    def __init__(self, sought: Sought, before: tuple[int, UUID]) -> None:
        self.sought = sought
        self.arguments: list[object] = []
        place = f"({self.argument(before[0], 'bigint')}, {self.argument(before[1], 'uuid')})"
        self.behind = f"(started_at_ms, hand_id) < {place}"
        if sought.from_ms:
            self.behind += f" and started_at_ms >= {self.argument(sought.from_ms, 'bigint')}"

    def argument(self, value: object, kind: str) -> str:
        """Add an argument; returns how the statement speaks of it."""
        self.arguments.append(value)
        return f"${len(self.arguments)}::{kind}"

    @property
    def bound(self) -> int:
        """How many lines a page looks at, at most."""
        is_scattered = not (self.sought.tournament_id or self.sought.table_id is not None)
        return LOOKED_UP if is_scattered and (self.sought.players or self.sought.pot_min > 1) else LOOKED_THROUGH

    def driver(self, columns: str) -> str:
        """Return what is looked through: lines in the order of time, at most `bound`."""
        sought = self.sought
        if sought.tournament_id:
            condition = f"tournament_id = {self.argument(sought.tournament_id, 'text')}"
        elif sought.table_id is not None:
            condition = f"table_id = {self.argument(sought.table_id, 'uuid')}"
        elif sought.players:
            return self._of_player(columns)
        elif (rare := _first(RARE, _wanted(sought))) is not None:
            condition = f"flags & {int(rare)} <> 0"
        elif sought.pot_min > 1:
            return self._by_pot(columns)
        elif len(sought.games) == 1:
            condition = f"game = {self.argument(sought.games[0], 'text')}"
        elif (common := _first(COMMON, sought.flags)) is not None:
            condition = f"flags & {int(common)} <> 0"
        else:
            condition = "true"
        return f"select {columns} from hand_index where {condition} and {self.behind} {_ORDER} limit {self.bound}"  # noqa: S608  (fixed pieces; what was asked is an argument)

    def _of_player(self, columns: str) -> str:
        player = self.argument(self.sought.players[0], "text")
        lines = (
            f"select started_at_ms, hand_id from hand_player where player = {player} and {self.behind}"  # noqa: S608  (fixed pieces; what was asked is an argument)
            f" {_ORDER} limit {self.bound}"
        )
        if columns != "*":
            return lines
        # The fence keeps the order of time, and looks each hand up by its key.
        return (
            f"select p.started_at_ms, p.hand_id, {_BESIDE} from ({lines}) as p cross join lateral"  # noqa: S608  (fixed pieces; what was asked is an argument)
            " (select * from hand_index where hand_id = p.hand_id offset 0) as h"
        )

    def _by_pot(self, columns: str) -> str:
        """Return the newest of each class of pots that may fit: a class is read in the order of time."""
        lowest = self.argument(self.sought.pot_min.bit_length(), "integer")
        highest = self.sought.pot_max.bit_length() if self.sought.pot_max else POT_CLASS_MAX
        return (
            f"select n.{columns} from generate_series({lowest}, {self.argument(highest, 'integer')}) as c (pot_class)"  # noqa: S608  (fixed pieces; what was asked is an argument)
            f" cross join lateral (select {columns} from hand_index where pot_class = c.pot_class::smallint"
            f" and {self.behind} {_ORDER} limit {self.bound}) as n {_ORDER} limit {self.bound}"
        )

    def conditions(self) -> str:
        """Return what a line that is looked at must fulfil."""
        sought = self.sought
        made = ["true"]
        for column, value, kind, how in (
            ("players", list(sought.players), "text[]", "@>"),
            ("table_id", sought.table_id, "uuid", "="),
            ("tournament_id", sought.tournament_id, "text", "="),
            ("pot", sought.pot_min, "bigint", ">="),
            ("pot", sought.pot_max, "bigint", "<="),
        ):
            if value:
                made.append(f"{column} {how} {self.argument(value, kind)}")
        if sought.games:
            made.append(f"game = any({self.argument(list(sought.games), 'text[]')})")
        if sought.results:
            made.append(f"result = any({self.argument(list(sought.results), 'smallint[]')})")
        if sought.flags:
            wanted = self.argument(int(sought.flags), "integer")
            made.append(f"flags & {wanted} = {wanted}")
        if sought.without:
            made.append(f"flags & {self.argument(int(sought.without), 'integer')} = 0")
        return " and ".join(made)


def page_statement(sought: Sought, before: tuple[int, UUID], count: int) -> Statement:
    """Return the statement that reads hands behind a place; at most ``count``, of `LOOKED_THROUGH` lines."""
    writer = _Writer(sought, before)
    lines = f"select * from ({writer.driver('*')}) as looked where {writer.conditions()}"  # noqa: S608  (fixed pieces; what was asked is an argument)
    limit = writer.argument(count, "integer")
    text = (
        f"select {_COLUMNS} from ({lines} {_ORDER} limit {limit}) as f"  # noqa: S608  (fixed pieces; what was asked is an argument)
        " left join lateral (select verdict from hand where stream_id = f.table_id and first_version = f.first_version"
        " offset 0) as v on true order by f.started_at_ms desc, f.hand_id desc"
    )
    return Statement(text, writer.arguments)


def end_statement(sought: Sought, before: tuple[int, UUID]) -> Statement:
    """Return the statement that tells the last line a page looked at; no row where it looked at all that there were."""
    writer = _Writer(sought, before)
    lines = writer.driver("started_at_ms, hand_id")
    text = f"select * from ({lines}) as looked {_ORDER} offset {writer.bound - 1} limit 1"  # noqa: S608  (fixed pieces; what was asked is an argument)
    return Statement(text, writer.arguments)


async def find_in(connection: Connection, sought: Sought, size: int, token: str) -> Page:
    """Return a page of hands; raises `Rejected` for a size, a token or a question that is none."""
    check(sought)
    count = page_size_up_to(PAGE_HANDS_MAX, size)
    scope = msgspec.json.encode(sought)
    before = after_token(token, scope) or (sought.to_ms or TIME_MAX, UUID(int=0) if sought.to_ms else NEWEST)
    await connection.execute(READ_IN_ORDER)
    statement = page_statement(sought, before, count + 1)
    rows = await connection.fetch(statement.text, *statement.arguments)
    hands = [FoundHand(*row) for row in rows[:count]]
    waiting = await waiting_in(connection)
    if len(rows) > count:
        return Page(hands, page_token(hands[-1].started_at_ms, hands[-1].hand_id, scope), waiting)
    statement = end_statement(sought, before)
    last = await connection.fetchrow(statement.text, *statement.arguments)
    return Page(hands, "" if last is None else page_token(last[0], last[1], scope), waiting)


def check(sought: Sought) -> None:
    """Raise `Rejected` FIELD_INVALID for a question that no hand could answer."""
    if len(sought.players) > PLAYERS_MAX:
        raise Rejected("FIELD_INVALID", field="filter.players", why=f"at most {PLAYERS_MAX}")
    for name, value in (
        *(("filter.from_ms", sought.from_ms), ("filter.to_ms", sought.to_ms)),
        *(("filter.pot_min", sought.pot_min), ("filter.pot_max", sought.pot_max)),
    ):
        if not 0 <= value < TIME_MAX:
            raise Rejected("FIELD_INVALID", field=name, why="not negative, below 2^62")
    if any("\0" in text for text in (*sought.players, *sought.games, sought.tournament_id)):
        raise Rejected("FIELD_INVALID", field="filter", why="no text with a NUL in it")


def _wanted(sought: Sought) -> Flag:
    return sought.flags | (Flag.VOID if sought.results == (3,) else Flag(0))


def _first(of: Iterable[Flag], flags: Flag) -> Flag | None:
    return next((flag for flag in of if flag & flags), None)
