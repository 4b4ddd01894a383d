"""The event store's SQL, each statement one round trip (RELIABILITY 3.1, 3.3)."""

from typing import Final

# Rows are locked in sorted order, and their compare-and-set is judged again after any wait for the lock. Only a
# command that matched and that nobody recorded before goes on; each other one fails alone, as the inserts join
# `locked`. (Between the look and the lock only a refusal can slip in: the primary key of `command` then fails the
# statement, and its appends are tried again one by one.) Streams that share a commit are in no order to each other.
APPEND_WAITING: Final = """
with a as materialized (
    select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[], $7::bigint[],
                         $8::uuid[], $9::text[], $10::bytea[], $11::bytea[]) with ordinality
        as a(stream_id, expected_version, epoch, prev_hash, last_version, head_hash, recorded_at_ms,
             command_id, caller, request_hash, reply, i)),
locked as materialized (
    select a.* from a join stream s on s.stream_id = a.stream_id
    where s.version = a.expected_version and s.epoch = a.epoch and s.head_hash = a.prev_hash
      and s.recorded_at_ms <= a.recorded_at_ms
      and not exists (select from command c where c.stream_id = a.stream_id and c.command_id = a.command_id)
    order by s.stream_id
    for no key update of s),
recorded as (
    insert into command (stream_id, command_id, caller, request_hash, outcome, first_version, last_version, reply)
    select stream_id, command_id, caller, request_hash, 1, expected_version + 1, last_version, reply from locked),
moved as (
    update stream s set version = l.last_version, head_hash = l.head_hash, recorded_at_ms = l.recorded_at_ms
    from locked l where s.stream_id = l.stream_id),
written as (
    insert into event (stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms,
                       body, prev_hash, hash)
    select l.stream_id, e.version, e.event_id, l.command_id, l.epoch, e.type_id, e.schema_v, l.recorded_at_ms,
           e.body, e.prev_hash, e.hash
    from unnest($12::bigint[], $13::bigint[], $14::uuid[], $15::smallint[], $16::smallint[], $17::bytea[],
                $18::bytea[], $19::bytea[]) as e(i, version, event_id, type_id, schema_v, body, prev_hash, hash)
    join locked l using (i)),
queued as (
    insert into outbox (stream_id, version)
    select l.stream_id, v from locked l cross join lateral generate_series(l.expected_version + 1, l.last_version) v)
select i from locked
"""

# For a shared commit: a stream whose row somebody holds is left out, so that it holds up no other.
APPEND: Final = APPEND_WAITING.replace("for no key update of s", "for no key update of s skip locked")

CREATE_STREAMS: Final = """
insert into stream (stream_id, kind, head_hash)
select * from unnest($1::uuid[], $2::smallint[], $3::bytea[]) order by 1
on conflict do nothing
"""

# A failed append asks with a fresh snapshot what stands in its way.
STANDING: Final = """
select a.i, s.version, s.epoch, s.head_hash, s.recorded_at_ms, c.request_hash, c.first_version, c.last_version, e.hash
from unnest($1::uuid[], $2::uuid[]) with ordinality as a(stream_id, command_id, i)
left join stream s using (stream_id)
left join command c using (stream_id, command_id)
left join event e on e.stream_id = a.stream_id and e.version = c.last_version
"""

OUTCOME: Final = """
select stream_id, command_id, outcome, caller, request_hash, first_version, last_version, reply
from command where stream_id = $1 and command_id = $2
"""

REFUSE: Final = """
insert into command (stream_id, command_id, caller, request_hash, outcome, reply)
values ($1, $2, $3, $4, 2, $5) on conflict do nothing
"""

READ: Final = """
select stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms, body, prev_hash, hash
from event where stream_id = $1 and version > $2 order by version limit $3
"""

# Stream by stream along the key, however many are asked for and whatever the planner thinks of their length.
READ_MANY: Final = """
select e.* from unnest($1::uuid[], $2::bigint[]) with ordinality as wanted(stream_id, after, place), lateral (
    select stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms, body, prev_hash, hash
    from event where stream_id = wanted.stream_id and version > wanted.after order by version offset 0) e
order by wanted.place, e.version
"""

_HEAD: Final = """
select stream_id, kind, version, epoch, head_hash, recorded_at_ms, owner,
       coalesce(lease_until > now(), false) as is_leased
from stream
"""
HEAD: Final = _HEAD + " where stream_id = $1"
HEADS_OF_KIND: Final = _HEAD + " where kind = $1 and stream_id > $2 order by stream_id limit $3"

# All times are the database's. Losing a race for the row shows as no row (O8).
CLAIM: Final = """
update stream set epoch = epoch + 1, owner = $2, lease_until = clock_timestamp() + $3
where stream_id = $1 and (lease_until is null or lease_until < clock_timestamp() or owner = $2)
returning epoch, version, head_hash, recorded_at_ms,
          (extract(epoch from clock_timestamp()) * 1000)::bigint as database_now_ms
"""

# Rows in sorted order, and none that somebody holds: whoever does is claiming it.
CLAIM_MANY: Final = """
update stream s set epoch = s.epoch + 1, owner = $2, lease_until = clock_timestamp() + $3
from (select stream_id from stream
      where stream_id = any($1::uuid[])
        and (lease_until is null or lease_until < clock_timestamp() or owner = any($4::text[]))
      order by stream_id for no key update skip locked) l
where s.stream_id = l.stream_id
returning s.stream_id, s.epoch, s.version, s.head_hash, s.recorded_at_ms,
          (extract(epoch from clock_timestamp()) * 1000)::bigint as database_now_ms
"""

# Not one that was released: whoever hands streams over renews the others meanwhile.
RENEW: Final = """
update stream s set lease_until = clock_timestamp() + $2
from (select l.stream_id, l.epoch from unnest($3::uuid[], $4::bigint[]) as l(stream_id, epoch)
      join stream using (stream_id) order by l.stream_id for no key update of stream) l
where s.stream_id = l.stream_id and s.owner = $1 and s.epoch = l.epoch and s.lease_until is not null
returning s.stream_id
"""

RELEASE: Final = """
update stream s set lease_until = null
from (select l.stream_id, l.epoch from unnest($2::uuid[], $3::bigint[]) as l(stream_id, epoch)
      join stream using (stream_id) order by l.stream_id for no key update of stream) l
where s.stream_id = l.stream_id and s.owner = $1 and s.epoch = l.epoch
returning s.stream_id
"""
