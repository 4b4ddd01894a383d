"""The ledger's SQL. The core speaks of ids as text: asyncpg takes that for a uuid, and reads it where it is cast."""

from typing import Final

from diwan.chassis.store.statements import APPEND_WAITING

# Whoever holds the shard's row decides alone. An account or id that is not there now cannot come to be before we
# commit, so nothing has to be created only to be locked (L8).
LOCK_SHARD: Final = """
select version, epoch, head_hash, recorded_at_ms,
       (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
from stream where stream_id = $1 for no key update
"""

IS_COMMITTED: Final = "select exists (select from event where event_id = $1)"

# What is known of ids, and where the ledger stood at that moment: always at least one row.
KNOWN: Final = """
select s.version, (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms, k.*
from stream s left join (
    select transfer_id::text, debit_account::text, credit_account::text, amount, code, cause, currency, null as reason
    from transfer where transfer_id = any($2::uuid[])
    union all
    select transfer_id::text, null, null, null, null, null, null, reason
    from refused where transfer_id = any($2::uuid[])) k on true
where s.stream_id = $1
"""

ACCOUNTS: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed
from account where account_id = any($1::uuid[])
"""

# In sorted order, before anything refers to them: a transfer there and one back do not wait for each other (L9).
LOCK_ACCOUNTS: Final = ACCOUNTS + "order by account_id for no key update"

ANSWERED: Final = """
select command_id::text, request_hash, has_opened from answered where command_id = any($1::uuid[])
"""

REMEMBER: Final = """
insert into answered (command_id, caller, request_hash, has_opened)
select * from unnest($1::uuid[], $2::text[], $3::bytea[], $4::boolean[])
"""

_WRITE_BOOKS: Final = """,
opened as (
    insert into account (account_id, kind, owner, currency, balance, version, is_closed, opened_at_ms)
    select u.*, l.recorded_at_ms
    from locked l, unnest($20::uuid[], $21::text[], $22::text[], $23::text[], $24::bigint[], $25::bigint[],
                          $26::boolean[]) u),
changed as (
    update account a set balance = n.balance, version = n.version, is_closed = coalesce(m.is_closed, a.is_closed)
    from locked l, unnest($27::uuid[], $28::bigint[], $29::bigint[], $30::bigint[])
        as n(account_id, old_version, balance, version)
    left join unnest($31::uuid[], $32::boolean[]) as m(account_id, is_closed) using (account_id)
    where a.account_id = n.account_id and a.version = n.old_version
    returning 1),
posted as (
    insert into transfer (transfer_id, debit_account, debit_version, debit_previous,
                          credit_account, credit_version, credit_previous, amount, code, cause,
                          ledger_version, posted_at_ms)
    select u.*, l.last_version, l.recorded_at_ms
    from locked l, unnest($33::uuid[], $34::uuid[], $35::bigint[], $36::bigint[], $37::uuid[], $38::bigint[],
                          $39::bigint[], $40::bigint[], $41::text[], $42::text[]) u),
denied as (
    insert into refused (transfer_id, reason, ledger_version)
    select u.*, l.last_version from locked l, unnest($43::uuid[], $44::text[]) u)
select refuse_unless_all((select count(*) from changed), cardinality($27::uuid[])) from locked
"""

# All of a commit in one round trip, and only if the ledger still stands where it stood when it was decided: else no row
# comes back, and nothing was written. It is the event store's own append, whose `locked` is then empty, going on with
# the books. An account is compared too before it is written over, and what fits together is checked once, when all of
# it is there.
WRITE: Final = APPEND_WAITING.replace("\nselect i from locked\n", _WRITE_BOOKS)

ACCOUNT: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed
from account where account_id = $1::uuid
"""

ACCOUNT_PAGE: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed
from account where ($1 = '' or kind = $1) and ($2 or not is_closed) and account_id > $3::uuid
order by account_id limit $4
"""

ENTRIES: Final = """
select version, transfer_id::text, amount, previous_balance, balance, code, cause, posted_at_ms
from entry where account_id = $1::uuid and version < $2
order by version desc limit $3
"""

# An account's entries are in the order of time, so its balance then is found by halving: two looks by key a step. The
# entry ``low`` (0: before the first) is not later than the moment, the entry ``high`` is.
BALANCE_AT: Final = """
with recursive search as (
    select 0::bigint as low, version + 1 as high from account where account_id = $1::uuid
    union all
    select case when e.posted_at_ms <= $2 then s.middle else s.low end,
           case when e.posted_at_ms <= $2 then s.high else s.middle end
    from (select low, high, (low + high) / 2 as middle from search where high - low > 1) s
    cross join lateral (
        select posted_at_ms from entry where account_id = $1::uuid and version = s.middle) e)
select s.low as version,
       coalesce((select balance from entry where account_id = $1::uuid and version = s.low), 0) as balance
from search s where s.high - s.low = 1
"""

TOTALS: Final = (
    "select kind, count(*) as accounts, sum(balance)::bigint as balance from account group by kind order by kind"
)

# The first transfer into an escrow names its table.
SITTINGS: Final = """
select a.owner as sitting, a.balance, t.cause
from account a
join transfer t on t.credit_account = a.account_id and t.credit_version = 1
where a.kind = 'escrow' and not a.is_closed
order by a.account_id
"""

TABLE_SEATS: Final = "select table_id, state from table_seats where table_id = any($1::uuid[])"

KEEP_TABLE_SEATS: Final = """
insert into table_seats (table_id, version, state) values ($1, $2, $3)
on conflict (table_id) do update set version = excluded.version, state = excluded.state
"""

CURSOR: Final = "select last_seq from inbox where consumer = $1"

QUARANTINED: Final = """
select stream_id::text from quarantine where consumer = $1 group by stream_id order by min(global_seq)
"""
