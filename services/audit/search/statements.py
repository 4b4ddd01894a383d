"""Every statement by which the index of hands is made."""

from typing import Final

ONE_AT_A_TIME: Final = "select pg_advisory_xact_lock(hashtext('diwan/audit/index'))"
MADE_BY: Final = "select version from index_state"
BEGIN_ANEW: Final = "truncate hand_index, hand_player, hand_not_indexed"
MADE_BY_US: Final = """
insert into index_state (version) values ($1) on conflict (is_one) do update set version = excluded.version
"""

READ_BY_A_NEWER: Final = """
with newer as (
    select stream_id, first_version from hand where last_version is not null and index_version > $1 limit $2
), freed as (
    update hand set index_version = 0 from newer
    where hand.stream_id = newer.stream_id and hand.first_version = newer.first_version returning 1
)
select count(*) from freed
"""

DUE: Final = """
select stream_id, first_version, last_version from hand
where last_version is not null and index_version < $1
order by index_version, ended_seq limit $2 for no key update skip locked
"""
WAITING: Final = """
select count(*) from (select from hand where last_version is not null and index_version < $1 limit $2) as counted
"""
EVENTS: Final = """
select wanted.place, e.version, e.type_id, e.schema_v, e.body
from unnest($1::uuid[], $2::bigint[], $3::bigint[]) with ordinality as wanted (stream_id, first, last, place),
    lateral (select * from kept_event k where k.stream_id = wanted.stream_id
        and k.version between wanted.first and wanted.last and k.type_id = any($4::integer[])
        order by k.version, k.global_seq) e
order by wanted.place, e.version
"""
REFUSALS: Final = """
select wanted.place, e.type_id, e.schema_v, e.body
from unnest($1::uuid[], $2::bigint[]) with ordinality as wanted (stream_id, last, place),
    lateral (select * from kept_event k where k.stream_id = wanted.stream_id and k.type_id = 52
        and k.version > wanted.last and k.version < coalesce((
            select min(h.first_version) from hand h where h.stream_id = wanted.stream_id and h.first_version > wanted.last),
            9223372036854775807)
        order by k.version limit 4) e
"""
"""A table says this between two hands, once; a log that says it more often says nothing more by that."""

LOOKS: Final = (
    "select hand_id, count(*) from hand_look"
    " where table_id = any($1::uuid[]) and hand_id = any($2) and not is_own group by 1"
)
BEGINNING: Final = """
select type_id, schema_v, body from kept_event where stream_id = $1 and version = 1 order by global_seq limit 1
"""

KEEP: Final = """
insert into hand_index as standing values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
    $19, $20, $21)
on conflict (hand_id) do update set flags = excluded.flags, tournament_id = excluded.tournament_id, pot = excluded.pot,
    pot_class = excluded.pot_class, chips = excluded.chips, table_seats = excluded.table_seats, table_name = excluded.table_name
where (standing.table_id, standing.first_version) = (excluded.table_id, excluded.first_version)
returning 1
"""
KEEP_PLAYERS: Final = """
insert into hand_player select player, $2, $1 from unnest($3::text[]) as dealt (player) on conflict do nothing
"""
KEEP_UNREAD: Final = """
insert into hand_not_indexed values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000)::bigint)
on conflict (table_id, first_version) do update set why = excluded.why
"""
FORGET_UNREAD: Final = "delete from hand_not_indexed where table_id = $1 and first_version = $2"
INDEXED: Final = """
update hand set index_version = $3 from unnest($1::uuid[], $2::bigint[]) as done (stream_id, first_version)
where hand.stream_id = done.stream_id and hand.first_version = done.first_version
"""

ADD_LOOK: Final = "insert into hand_look values ($1, $2, $3, $4, $5, $6) on conflict do nothing"
READ_AGAIN: Final = "update hand set index_version = 0 where stream_id = $1 and hand_id = $2 and index_version > 0"
READ_AGAIN_BY_NUMBER: Final = """
update hand set index_version = 0 where stream_id = $1 and index_version > 0 and first_version = (
    select max(first_version) from hand where stream_id = $1 and first_version < $2)
"""
