"""Gives committed events their places in the feed (RELIABILITY 3.1).

Sequencing comes after the commit, so a number never waits for a transaction that may still roll back. Safety is the
feed's primary key: rivals only collide. The advisory lock merely keeps them from wasting work.
"""

from typing import Final

from diwan.chassis.database import Connection

BATCH_EVENTS: Final = 500

# A row is taken only if its stream's predecessor is in the feed or in the same batch; `turn` keeps a stream's order
# even where its rows were queued the other way round. Effects follow causes because n does.
_SEQUENCE: Final = """
with candidate as materialized (
    select n, stream_id, version from outbox order by n limit $2),
placed as materialized (
    select c.n, c.stream_id, c.version,
           coalesce((select max(f.version) from feed f where f.stream_id = c.stream_id), 0) as done,
           row_number() over (partition by c.stream_id order by c.version) as rank,
           max(c.n) over (partition by c.stream_id order by c.version) as turn
    from candidate c),
ready as materialized (
    select n, stream_id, version,
           (select coalesce(max(global_seq), 0) from feed where feed_id = $1)
           + row_number() over (order by turn, version) as global_seq
    from placed where version = done + rank),
numbered as (
    insert into feed (feed_id, global_seq, stream_id, version, leaf_hash)
    select $1, r.global_seq, r.stream_id, r.version, feed_leaf($1, r.global_seq, r.stream_id, r.version, e.hash)
    from ready r join event e using (stream_id, version) order by r.global_seq
    returning global_seq),
removed as (delete from outbox o using ready r where o.n = r.n)
select (select count(*) from numbered) as events, (select count(*) from candidate) as waiting
"""


async def sequence(connection: Connection, feed_id: int, limit: int = BATCH_EVENTS) -> int:
    """Number the next batch; returns how many events that were.

    Raises asyncpg's `UniqueViolationError` where a rival was quicker: nothing was done, and the next call goes on.
    """
    row = await connection.fetchrow(_SEQUENCE, feed_id, limit)
    assert row is not None, "an aggregate always returns a row"  # noqa: S101
    if not row["events"] and row["waiting"] == limit:
        # Nothing of a full batch was ready: a predecessor is missing from it, and must not hold up who comes behind.
        return await sequence(connection, feed_id, limit * 8)
    return int(row["events"])
