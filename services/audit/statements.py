"""Every statement of the audit."""

from typing import Final

ONE_AT_A_TIME: Final = "select pg_advisory_xact_lock(hashtext('diwan/audit'))"
"""Feeds are taken in by turns: what one says is compared with what the other said, whichever comes first."""

KEEP: Final = """
insert into kept_event (feed_id, global_seq, stream_id, version, event_id, command_id, epoch, type_id, schema_v,
    recorded_at_ms, body, prev_hash, hash, leaf_hash)
select * from unnest($1::smallint[], $2::bigint[], $3::uuid[], $4::bigint[], $5::uuid[], $6::uuid[], $7::bigint[],
    $8::integer[], $9::integer[], $10::bigint[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[])
"""
LEAVES: Final = "select global_seq, leaf_hash from kept_event where feed_id = $1 and global_seq > $2 order by 1"
IS_KEPT: Final = "select exists (select 1 from kept_event where feed_id = $1 and global_seq = $2)"
NEWEST_KEPT: Final = "select max(global_seq) from kept_event where feed_id = $1"
KEPT: Final = "select * from kept_event where feed_id = $1 and global_seq = $2"
KEPT_FROM: Final = """
select * from kept_event where feed_id = $1 and global_seq > $2 and global_seq <= $3 order by global_seq
"""
KEPT_AT: Final = """
select global_seq, leaf_hash, stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms, body,
    prev_hash, hash
from kept_event where feed_id = $1 and global_seq = any($2::bigint[])
"""
OF_STREAM: Final = """
select stream_id, version, event_id, command_id, epoch, type_id, schema_v, recorded_at_ms, body, prev_hash, hash
from kept_event where stream_id = $1 and version between $2 and $3 order by version, global_seq
"""

TREE: Final = "select size, peaks from feed_tree where feed_id = $1"
KEEP_TREE: Final = """
insert into feed_tree values ($1, $2, $3) on conflict (feed_id) do update set size = excluded.size, peaks = excluded.peaks
"""

HEADS: Final = "select * from stream_head where stream_id = any($1::uuid[])"
KEEP_HEAD: Final = """
insert into stream_head values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (stream_id) do update set version = excluded.version, hash = excluded.hash, epoch = excluded.epoch,
    recorded_at_ms = excluded.recorded_at_ms, hand_version = excluded.hand_version, running_hand = excluded.running_hand
"""

HAND_BEGAN: Final = """
insert into hand (stream_id, first_version, hand_id, hand_no, needs_version) values ($1, $2, $3, $4, $5)
on conflict do nothing
"""
HAND_ENDED: Final = """
update hand set last_version = $3, ended_seq = $4 where stream_id = $1 and first_version = $2 and last_version is null
"""
HANDS_DUE: Final = """
select stream_id, first_version, hand_id, needs_version, last_version, ended_seq from hand
where verdict is null and last_version is not null order by ended_seq limit $1
"""
HAND_VERDICT: Final = """
update hand set verdict = $3, at_version = $4, rule = $5, detail = $6, acts = $7, reveals = $8
where stream_id = $1 and first_version = $2 and verdict is null returning 1
"""
VERDICT_OF: Final = """
select verdict, detail, acts, reveals from hand where hand_id = $1
order by verdict = 2 desc nulls last, verdict = 3 desc nulls last, first_version desc limit 1
"""
SEQ_OF: Final = """
select min(global_seq) from kept_event where feed_id = $1 and stream_id = $2 and version = $3
"""

ADD_FINDING: Final = """
insert into finding (finding_no, feed_id, global_seq, stream_id, version, kind, detail, hand_id, found_at_ms)
select coalesce(max(finding_no), 0) + 1, $1, $2, $3, $4, $5, $6, $7, (extract(epoch from clock_timestamp()) * 1000)::bigint
from finding
"""
IS_FOUND: Final = """
select exists (select 1 from finding where feed_id = $1 and global_seq = $2 and stream_id = $3 and kind = $4)
"""
FINDINGS: Final = "select * from finding where finding_no > $1 order by finding_no limit $2"

STATUS: Final = """
select (select count(*) from hand where verdict = 1) as verified,
       (select count(*) from hand where verdict = 2) as not_verified,
       (select count(*) from hand where verdict = 3) as cannot_say,
       (select count(*) from tournament where verdict = 1) as tournaments_verified,
       (select count(*) from tournament where verdict > 1) as tournaments_not_verified,
       (select count(*) from finding) as findings
"""
TREES: Final = "select feed_id, size, peaks from feed_tree order by feed_id"

FOLLOWED: Final = "select * from followed_table where table_id = any($1::uuid[])"
KEEP_FOLLOWED: Final = """
insert into followed_table values ($1, $2, $3, $4)
on conflict (table_id) do update set version = excluded.version, state = excluded.state, is_at_odds = excluded.is_at_odds
"""

ACCOUNTS: Final = """
select account_id, kind, owner, currency, balance, is_closed, held, is_frozen
from ledger_account where account_id = any($1::text[])
"""
KEEP_ACCOUNT: Final = """
insert into ledger_account (account_id, kind, owner, currency, balance, is_closed, held, is_frozen)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (account_id) do update
set balance = excluded.balance, is_closed = excluded.is_closed, held = excluded.held, is_frozen = excluded.is_frozen
"""
HOLDS: Final = """
select hold_id, debit_account, credit_account, amount, expires_at_ms, resolution
from ledger_hold where hold_id = any($1::text[])
"""
KEEP_HOLD: Final = """
insert into ledger_hold (hold_id, debit_account, credit_account, amount, expires_at_ms, resolution)
values ($1, $2, $3, $4, $5, $6) on conflict (hold_id) do update set resolution = excluded.resolution
"""
POSTED_BEFORE: Final = "select transfer_id from posted where transfer_id = any($1::text[])"
POST: Final = """
insert into posted (transfer_id, ledger_id, ledger_version, global_seq, debit_account, credit_account, amount, code, cause,
    table_id, table_version, is_from_escrow)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing
"""
ADD_DUE: Final = """
insert into due (transfer_id, table_id, table_version, global_seq, kind, of_transfer, debit_account, credit_account, amount,
    code, cause)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing
"""
MATCH: Final = """
with pair as (
    select d.transfer_id, p.ledger_id, p.ledger_version, p.global_seq,
        case d.kind
        when 1 then (d.debit_account, d.credit_account, d.amount, d.code, d.cause)
            = (p.debit_account, p.credit_account, p.amount, p.code, p.cause)
        when 2 then (d.debit_account, d.credit_account, d.amount) = (p.debit_account, p.credit_account, p.amount)
        else d.cause = p.cause and exists (
            select 1 from posted o where o.transfer_id = d.of_transfer
                and (o.credit_account, o.debit_account, o.amount) = (p.debit_account, p.credit_account, p.amount))
        end as is_right,
        format('%s of %s from %s to %s', d.code, d.amount, d.debit_account, d.credit_account) as expected,
        format('%s of %s from %s to %s', p.code, p.amount, p.debit_account, p.credit_account) as found
    from due d join posted p using (transfer_id) where d.state = 0 and p.transfer_id = any($1::text[])
), d as (
    update due set state = case when pair.is_right then 1 else 2 end from pair where due.transfer_id = pair.transfer_id
), p as (
    update posted set state = case when pair.is_right then 1 else 2 end from pair
    where posted.transfer_id = pair.transfer_id
)
select * from pair where not is_right order by global_seq, transfer_id
"""
UNCAUSED: Final = """
update posted p set state = 2
where p.state = 0 and p.is_from_escrow and (p.table_id is null or exists (
    select 1 from followed_table f
    where f.table_id = p.table_id and not f.is_at_odds and f.version >= p.table_version))
returning p.transfer_id, p.ledger_id, p.ledger_version, p.global_seq, p.cause, p.code, p.amount
"""
"""What left a seat's escrow though the table's event of that version asks for nothing of the kind."""

UNPAID: Final = """
update due d set state = 2
where d.state = 0 and d.kind = 1 and exists (
    select 1 from posted p where p.table_id = d.table_id and p.table_version > d.table_version
        and p.code in ('hand', 'cash_out'))
returning d.transfer_id, d.table_id, d.table_version, d.global_seq, d.code, d.amount, d.cause
"""
"""What the ledger stepped over: it follows a table in order, so a later posting says that an earlier one will not come."""

HAND_PLACE: Final = """
select stream_id, hand_no, needs_version, first_version, last_version from hand where hand_id = $1
order by last_version is null, ended_seq, stream_id limit 1
"""
RECORD: Final = """
select distinct on (version) * from kept_event
where stream_id = $1 and feed_id = $4 and (version = 1 or version between $2 and $3) order by version, global_seq
"""
POSTINGS_OF: Final = """
select distinct on (k.global_seq) k.* from posted p
join kept_event k on k.feed_id = $3 and k.global_seq = p.global_seq
where p.table_id = $1 and p.table_version = $2 order by k.global_seq
"""
IS_FOLLOWED: Final = """
select f.version >= $2 and not exists (
    select 1 from due d where d.table_id = $1 and d.table_version = $2 and d.kind = 1 and d.state = 0)
from followed_table f where f.table_id = $1
"""
"""Whether a table was followed up to a version, and all that its event asks for is posted."""

STREAM_PAGE: Final = """
select distinct on (version) * from kept_event where stream_id = $1 and feed_id = $2 and version > $3 and version <= $4
order by version, global_seq limit $5
"""
NEWEST_ENDED: Final = "select max(last_version) from hand where stream_id = $1"
