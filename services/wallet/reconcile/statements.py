"""What reconciling reads; all of one pass is of one snapshot."""

from typing import Final

SNAPSHOT: Final = "select version, recorded_at_ms from stream where stream_id = $1"

NOW_MS: Final = "select (extract(epoch from now()) * 1000)::bigint"

EVENTS: Final = """
select version, type_id, schema_v, recorded_at_ms, command_id, body, prev_hash, hash
from event where stream_id = $1 and version > $2 order by version limit $3
"""

# Behind which hash a pass goes on that does not begin at the first event.
HEAD_AT: Final = "select hash, recorded_at_ms from event where stream_id = $1 and version = $2"

TRANSFERS: Final = """
select transfer_id::text, debit_account::text, debit_version, debit_previous,
       credit_account::text, credit_version, credit_previous, currency, amount, code, cause,
       coalesce(hold_id::text, '') as hold_id, coalesce(reverses::text, '') as reverses, ledger_version
from transfer where ledger_version > $1 and ledger_version <= $2
"""

REFUSED: Final = """
select transfer_id::text, reason, ledger_version from refused where ledger_version > $1 and ledger_version <= $2
"""

# Those placed by some commits, and those that they end, whenever they were placed.
HOLDS: Final = """
select hold_id::text, debit_account::text, credit_account::text, amount, code, cause, expires_at_ms, placed_version,
       resolution, posted, resolved_by, resolved_version
from hold where (placed_version > $1 and placed_version <= $2) or hold_id = any($3::uuid[])
"""

STRAY_HOLDS: Final = """
select hold_id::text, placed_version from hold where placed_version < 1 or placed_version > $1 limit 10
"""

SHORTFALLS: Final = """
select transfer_id::text, account_id::text, amount, ledger_version from shortfall
"""

STRAY_TRANSFERS: Final = """
select transfer_id::text, amount, ledger_version from transfer where ledger_version < 1 or ledger_version > $1 limit 10
"""

STRAY_REFUSALS: Final = """
select transfer_id::text, ledger_version from refused where ledger_version < 1 or ledger_version > $1 limit 10
"""

REFUSED_AND_POSTED: Final = """
select t.transfer_id::text, t.ledger_version, r.reason
from transfer t join refused r using (transfer_id) order by t.ledger_version limit 10
"""

REFUSED_AND_POSTED_AMONG: Final = """
select t.transfer_id::text, t.ledger_version, r.reason
from refused r join transfer t using (transfer_id)
where r.transfer_id = any($1::uuid[]) order by t.ledger_version limit 10
"""

# Accounts as they were after a commit: what their newest entry up to there says.
ACCOUNTS_AT: Final = """
select a.account_id::text, a.kind, a.owner, a.currency, coalesce(e.version, 0) as version,
       coalesce(e.balance, 0) as balance
from account a
left join lateral (
    select * from (
        (select debit_version as version, debit_previous - amount as balance from transfer
         where debit_account = a.account_id and ledger_version <= $2 order by debit_version desc limit 1)
        union all
        (select credit_version, credit_previous + amount from transfer
         where credit_account = a.account_id and ledger_version <= $2 order by credit_version desc limit 1)
    ) leg order by version desc limit 1
) e on true
where a.account_id = any($1::uuid[])
"""

_ACCOUNT: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed, is_frozen, has_top_up_consent from account
"""

ACCOUNTS: Final = f"{_ACCOUNT} where account_id > $1::uuid order by account_id limit $2"

ACCOUNTS_AMONG: Final = f"{_ACCOUNT} where account_id = any($1::uuid[])"

SUMS: Final = """
select currency, count(*) as accounts, sum(balance)::bigint as balance from account group by currency
"""

# Accounts whose holds do not add up, and the last event that had to do with them.
HELD: Final = """
select a.account_id::text, a.kind, a.owner, a.held, coalesce(h.open, 0)::bigint as open
from account a
full join (select debit_account as account_id, sum(amount) as open from hold where resolution = '' group by 1) h
    using (account_id)
where a.held is distinct from coalesce(h.open, 0) limit 10
"""

HOLDS_OPEN: Final = "select count(*) from hold where resolution = ''"

OVERDUE: Final = """
select hold_id::text, debit_account::text, expires_at_ms, placed_version from hold
where resolution = '' and expires_at_ms > 0 and expires_at_ms < $1 order by expires_at_ms limit 10
"""

NEWEST_HOLD_OF: Final = """
select max(greatest(placed_version, coalesce(resolved_version, 0))) from hold where debit_account = $1::uuid
"""

TALLIES: Final = """
select t.account_id::text, a.owner, t.code, t.day, t.count, t.amount from tally t join account a using (account_id)
where a.kind = 'issuance'
"""

ISSUED_ON: Final = """
select a.account_id::text, a.owner, t.code, t.amount from tally t join account a using (account_id)
where a.kind = 'issuance' and t.day = $1
"""

# Which transfer went beyond a day's limit.
BEYOND: Final = """
select ledger_version from (
    select ledger_version, sum(amount) over (order by ledger_version, debit_version) as issued
    from transfer where debit_account = $1::uuid and code = $2 and posted_at_ms >= $3
) t where issued > $4::bigint order by ledger_version limit 1
"""

CLOSED_NOT_EMPTY: Final = """
select account_id::text, kind, owner, balance from account where is_closed and balance <> 0 limit 10
"""

CLOSED: Final = "select count(*) from account where is_closed"

ESCROWS: Final = """
select account_id::text, owner as sitting, balance from account
where kind = 'escrow' and (not is_closed or balance <> 0)
"""

# A table where nobody sits, nothing is on its way and nothing is carried over cannot be at odds with the ledger.
TABLE_SEATS: Final = """
select state from table_seats
where state not like '%"sittings":[],"asked":[]%' or (state like '%"carried":%' and state not like '%"carried":0%')
"""

POTS: Final = "select account_id::text, owner as table_id, balance from account where kind = 'pot'"

# What went through an escrow, oldest first.
THROUGH: Final = """
select transfer_id::text, credit_account = $1::uuid as is_in, amount, code, cause, ledger_version
from transfer where debit_account = $1::uuid or credit_account = $1::uuid
order by ledger_version
"""
