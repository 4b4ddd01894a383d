"""Every statement of the register."""

from typing import Final

SIGNING: Final = "select pg_advisory_xact_lock(hashtext('diwan/register'), hashtext($1))"
"""One signature at a time for each log, whichever process makes it."""

KEEP_NODES: Final = """
insert into tree_node (feed_id, level, place, hash)
select $1, * from unnest($2::smallint[], $3::bigint[], $4::bytea[])
"""
NODES: Final = """
select p.level, p.place, n.hash
from unnest($2::smallint[], $3::bigint[]) as p (level, place)
join tree_node n on n.feed_id = $1 and n.level = p.level and n.place = p.place
"""
LEAVES_AT: Final = """
select global_seq - 1 as place, leaf_hash as hash from kept_event where feed_id = $1 and global_seq = any($2::bigint[])
"""

SIZES: Final = "select feed_id, size from feed_tree order by feed_id"
TREE: Final = "select size, peaks from feed_tree where feed_id = $1"

ADD_CHECKPOINT: Final = """
insert into checkpoint (origin, size, feed_id, root, note, signed_at_ms) values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
"""
ADD_COSIGNATURE: Final = """
insert into cosignature (origin, size, key_name, key_id, line, cosigned_at) values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
"""
ADD_PROVED: Final = "insert into proved_checkpoint (origin, size) values ($1, $2) on conflict do nothing"

_CHECKPOINT: Final = """
select c.origin, c.size, c.root, c.note, c.signed_at_ms,
    exists (select 1 from proved_checkpoint p where p.origin = c.origin and p.size = c.size) as is_proved,
    (select coalesce(string_agg(s.line, '' order by s.key_name, s.key_id), '') from cosignature s
     where s.origin = c.origin and s.size = c.size) as cosignatures
from checkpoint c where c.origin = $1
"""
CHECKPOINT_OF: Final = f"{_CHECKPOINT} and c.size = $2"
NEWEST: Final = f"{_CHECKPOINT} order by c.size desc limit 1"
NEWEST_PROVED_SIZE: Final = "select max(size) from proved_checkpoint where origin = $1"
CHECKPOINTS: Final = f"{_CHECKPOINT} and c.size < $2 order by c.size desc limit $3"

COSIGNERS: Final = "select key_name, key_id from cosignature where origin = $1 and size = $2"
COSIGNED_SIZE: Final = """
select coalesce(max(size), 0) from cosignature where origin = $1 and key_name = $2 and key_id = $3
"""
