"""Rows of the index as no table played them, made by the database itself: as many as are wanted, in seconds."""

from __future__ import annotations

from datetime import UTC, datetime

BEGAN_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
STEP_MS = 700
PLAYERS = 20_000
TABLES = 2_000
TOURNAMENT_TABLES = 400

_HANDS = """
insert into hand_index
select md5('hand/' || n)::uuid,
    md5('table/' || t)::uuid,
    $3::bigint + n * $4::bigint, $3::bigint + n * $4::bigint + 30000,
    100, 150, n, 10, pot, flags, case when flags & 1 <> 0 then 3 when r4 < 0.5 then 1 else 2 end,
    case when t <= $7::integer then 3 else 1 end, 6,
    length(ltrim(pot::bit(54)::text, '0')),
    (array['holdem', 'holdem', 'holdem', 'holdem', 'omaha', 'omaha', 'capsa', 'naiko', 'sarab'])[1 + n % 9], 'no_limit',
    'table ' || t, case when t <= $7::integer then 'tournament-' || (t - 1) / 4 end,
    array[
        'player-' || p,
        'player-' || 1 + (p * 7 + n) % $5,
        'player-' || 1 + (p * 13 + n * 3 + 1) % $5,
        'player-' || 1 + (p * 31 + n * 5 + 2) % $5::bigint],
    array[0, 2, 4, 5]::smallint[], array[-10, 20, -5, -5]
from (
    select n, t, p, r4, (20 + 1000 * power(r1, 8) * 1000)::bigint as pot,
        case when r2 < 0.001 then 1 else 0 end + case when r2 > 0.85 then 2 else 0 end
        + case when r3 < 0.00001 then 4 else 0 end + case when r3 > 0.999 then 8 else 0 end
        + case when n % 9 = 7 and r2 < 0.5 then 16 else 0 end + case when r1 > 0.8 then 32 else 0 end
        + case when r3 between 0.5 and 0.52 then 64 else 0 end + case when r3 between 0.2 and 0.2001 then 128 else 0 end
        + case when r3 > 0.6 then 256 else 0 end as flags
    from (select n, 1 + (random() * ($6::integer - 1))::integer as t, 1 + floor(power(random(), 3) * $5::bigint)::bigint as p,
            random() as r1, random() as r2, random() as r3, random() as r4
        from generate_series($1::bigint, $2::bigint) as n offset 0) as drawn offset 0) as made
"""
_BOTH = """
with made as ({hands} returning players, started_at_ms, hand_id)
insert into hand_player select distinct unnest(players), started_at_ms, hand_id from made
"""


async def make_hands(connection, first, last, *, players=PLAYERS, tables=TABLES, tournament_tables=TOURNAMENT_TABLES):
    """Add hands with these numbers, one every `STEP_MS`, with rare and common flags, busy and quiet players."""
    numbers = (first, last, BEGAN_MS, STEP_MS)
    await connection.execute("select setseed($1)", 0.25)
    await connection.execute(_BOTH.format(hands=_HANDS), *numbers, players, tables, tournament_tables)
