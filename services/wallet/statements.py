"""The ledger's SQL. The core speaks of ids as text: asyncpg takes that for a uuid, and reads it where it is cast."""

import re
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

# What is known of ids, and where the ledger stood at that moment: always at least one row. Transfers and holds share
# one space of ids; `part` is what was posted of a hold, or what a refund of the transfer could not take back, and `by`
# what ended the hold or took the transfer back.
KNOWN: Final = """
select s.version, (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms, k.*
from stream s left join (
    select 'transfer' as what, transfer_id::text as id, debit_account::text, credit_account::text, amount, code, cause,
           currency, coalesce(hold_id::text, '') as hold_id, coalesce(reverses::text, '') as reverses,
           0::bigint as lasts_ms, 0::bigint as expires_at_ms, '' as resolution,
           (select f.amount from shortfall f where f.transfer_id = t.transfer_id) as part,
           (select b.transfer_id::text from transfer b where b.reverses = t.transfer_id) as by
    from transfer t where transfer_id = any($2::uuid[])
    union all
    select 'hold', hold_id::text, debit_account::text, credit_account::text, amount, code, cause, currency, '', '',
           lasts_ms, expires_at_ms, resolution, posted, resolved_by
    from hold where hold_id = any($2::uuid[])
    union all
    select 'refused', transfer_id::text, '', '', 0, reason, '', '', '', '', 0, 0, '', 0, ''
    from refused where transfer_id = any($2::uuid[])) k on true
where s.stream_id = $1
"""

# Holds that have expired and still stand on these accounts.
DUE: Final = """
select hold_id::text, debit_account::text, credit_account::text, amount, code, cause, currency, lasts_ms, expires_at_ms,
       resolution, posted, resolved_by
from hold
where debit_account = any($1::uuid[]) and resolution = '' and expires_at_ms > 0 and expires_at_ms <= $2
order by expires_at_ms limit $3
"""

DUE_ANYWHERE: Final = """
select hold_id::text from hold
where resolution = '' and expires_at_ms > 0
  and expires_at_ms <= (extract(epoch from clock_timestamp()) * 1000)::bigint
order by expires_at_ms limit $1
"""

TALLIES: Final = """
select t.account_id::text, t.code, t.day, t.count, t.amount, t.last_at_ms
from unnest($1::uuid[], $2::text[]) as k(account_id, code) join tally t using (account_id, code)
where t.day between $3::integer - 1 and $3::integer
"""

ACCOUNTS: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed, held, is_frozen, has_top_up_consent,
       coalesce(home::text, '') as home
from account where account_id = any($1::uuid[])
"""

AT_TABLES: Final = """
select home::text, sum(balance)::bigint as balance from account
where home = any($1::uuid[]) and kind = 'escrow' and not is_closed group by home
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
    insert into account (account_id, kind, owner, currency, balance, version, is_closed, held, is_frozen,
                         has_top_up_consent, home, opened_at_ms)
    select u.*, l.recorded_at_ms
    from locked l, unnest($20::uuid[], $21::text[], $22::text[], $23::text[], $24::bigint[], $25::bigint[],
                          $26::boolean[], $27::bigint[], $28::boolean[], $29::boolean[], $30::uuid[]) u),
changed as (
    update account a set balance = n.balance, version = n.version, is_closed = coalesce(m.is_closed, a.is_closed),
                         held = coalesce(m.held, a.held), is_frozen = coalesce(m.is_frozen, a.is_frozen),
                         has_top_up_consent = coalesce(m.has_top_up_consent, a.has_top_up_consent),
                         home = coalesce(m.home, a.home)
    from locked l, unnest($31::uuid[], $32::bigint[], $33::bigint[], $34::bigint[])
        as n(account_id, old_version, balance, version)
    left join unnest($35::uuid[], $36::boolean[], $37::bigint[], $38::boolean[], $39::boolean[], $40::uuid[])
        as m(account_id, is_closed, held, is_frozen, has_top_up_consent, home) using (account_id)
    where a.account_id = n.account_id and a.version = n.old_version
    returning 1),
posted as (
    insert into transfer (transfer_id, debit_account, debit_version, debit_previous,
                          credit_account, credit_version, credit_previous, amount, code, cause,
                          ledger_version, posted_at_ms)
    select u.*, l.last_version, l.recorded_at_ms
    from locked l, unnest($41::uuid[], $42::uuid[], $43::bigint[], $44::bigint[], $45::uuid[], $46::bigint[],
                          $47::bigint[], $48::bigint[], $49::text[], $50::text[]) u),
denied as (
    insert into refused (transfer_id, reason, ledger_version)
    select u.*, l.last_version from locked l, unnest($51::uuid[], $52::text[]) u)
"""

# A transfer that resolves a hold or takes another back says so.
_POSTED: Final = """ledger_version, posted_at_ms)
    select u.*, l.last_version, l.recorded_at_ms
    from locked l, unnest($41::uuid[], $42::uuid[], $43::bigint[], $44::bigint[], $45::uuid[], $46::bigint[],
                          $47::bigint[], $48::bigint[], $49::text[], $50::text[]) u),"""
_POSTED_NAMING: Final = """hold_id, reverses, ledger_version, posted_at_ms)
    select u.*, r.hold_id, r.reverses, l.last_version, l.recorded_at_ms
    from locked l, unnest($41::uuid[], $42::uuid[], $43::bigint[], $44::bigint[], $45::uuid[], $46::bigint[],
                          $47::bigint[], $48::bigint[], $49::text[], $50::text[])
        as u(transfer_id, debit_account, debit_version, debit_previous, credit_account, credit_version, credit_previous,
             amount, code, cause)
    left join unnest($53::uuid[], $54::uuid[], $55::uuid[]) as r(transfer_id, hold_id, reverses)
        on r.transfer_id = u.transfer_id),"""

_WRITE_MORE: Final = """,
placed as (
    insert into hold (hold_id, debit_account, credit_account, amount, code, cause, currency, lasts_ms, expires_at_ms,
                      resolution, posted, resolved_by, resolved_version, placed_version)
    select u.*, case when u.resolution = '' then null else l.last_version end, l.last_version
    from locked l, unnest($56::uuid[], $57::uuid[], $58::uuid[], $59::bigint[], $60::text[], $61::text[], $62::text[],
                          $63::bigint[], $64::bigint[], $65::text[], $66::bigint[], $67::text[])
        as u(hold_id, debit_account, credit_account, amount, code, cause, currency, lasts_ms, expires_at_ms, resolution,
             posted, resolved_by)),
ended as (
    update hold h set resolution = n.resolution, posted = n.posted, resolved_by = n.resolved_by,
                      resolved_version = l.last_version
    from locked l, unnest($68::uuid[], $69::text[], $70::bigint[], $71::text[])
        as n(hold_id, resolution, posted, resolved_by)
    where h.hold_id = n.hold_id and h.resolution = ''
    returning 1),
counted as (
    insert into tally as t (account_id, code, day, count, amount, last_at_ms)
    select u.* from locked l, unnest($72::uuid[], $73::text[], $74::integer[], $75::bigint[], $76::bigint[],
                                     $77::bigint[]) u
    on conflict (account_id, code, day) do update
    set count = t.count + excluded.count, amount = t.amount + excluded.amount, last_at_ms = excluded.last_at_ms),
short as (
    insert into shortfall (transfer_id, account_id, amount, ledger_version)
    select u.*, l.last_version from locked l, unnest($78::uuid[], $79::uuid[], $80::bigint[]) u)
"""

_ALL_CHANGED: Final = "select refuse_unless_all((select count(*) from changed), cardinality($31::uuid[])) from locked"
_ALL_CHANGED_AND_ENDED: Final = """
select refuse_unless_all((select count(*) from changed), cardinality($31::uuid[]))
   and refuse_unless_all((select count(*) from ended), cardinality($68::uuid[]))
from locked
"""


def _from_literals(statement: str) -> str:
    """Take each column as one text, as `services.wallet.literals` writes it."""
    return re.sub(r"(\$\d+)(::\w+\[\])", r"\1::text\2", statement)


# All of a commit in one round trip, and only if the ledger still stands where it stood when it was decided: else no row
# comes back, and nothing was written. It is the event store's own append, whose `locked` is then empty, going on with
# the books. An account is compared too before it is written over, and what fits together is checked once, when all of
# it is there.
WRITE: Final = APPEND_WAITING.replace("\nselect i from locked\n", _from_literals(_WRITE_BOOKS + _ALL_CHANGED))

# The same for a commit with reversals, holds, tallies or shortfalls, which most have nothing of.
WRITE_MORE: Final = APPEND_WAITING.replace(
    "\nselect i from locked\n",
    _from_literals(_WRITE_BOOKS.replace(_POSTED, _POSTED_NAMING).rstrip() + _WRITE_MORE + _ALL_CHANGED_AND_ENDED),
)

# An expired hold counts as expired from its moment on, whoever looks and whether or not its end is written yet.
ACCOUNTS_NOW: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed,
       case held when 0 then 0 else held - coalesce((
           select sum(h.amount)::bigint from hold h
           where h.debit_account = a.account_id and h.resolution = '' and h.expires_at_ms > 0
             and h.expires_at_ms <= (extract(epoch from clock_timestamp()) * 1000)::bigint), 0) end as held,
       is_frozen, has_top_up_consent
from account a where account_id = any($1::uuid[])
"""

ACCOUNT_PAGE: Final = """
select account_id::text, kind, owner, currency, balance, version, is_closed, held, is_frozen, has_top_up_consent
from account where ($1 = '' or kind = $1) and ($2 or not is_closed) and account_id > $3::uuid
order by account_id limit $4
"""

ENTRIES: Final = """
select version, transfer_id::text, amount, previous_balance, balance, code, cause, posted_at_ms, other_account::text,
       coalesce(hold_id::text, '') as hold_id, coalesce(reverses::text, '') as reverses
from entry where account_id = $1::uuid and version < $2
order by version desc limit $3
"""

TRANSFER: Final = """
select transfer_id::text, debit_account::text, credit_account::text, amount, code, cause, currency, posted_at_ms,
       coalesce(hold_id::text, '') as hold_id, coalesce(reverses::text, '') as reverses,
       coalesce((select b.transfer_id::text from transfer b where b.reverses = t.transfer_id), '') as reversed_by
from transfer t where transfer_id = $1::uuid
"""

# As `ACCOUNTS_NOW`: what has expired is, also while its end is not written yet.
HOLD: Final = """
select hold_id::text, debit_account::text, credit_account::text, amount, code, cause, currency, expires_at_ms,
       case when resolution <> '' then resolution
            when expires_at_ms > 0 and expires_at_ms <= (extract(epoch from clock_timestamp()) * 1000)::bigint
            then 'expired' else 'open' end as state,
       posted, resolved_by
from hold where hold_id = $1::uuid
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

ISSUED_TODAY: Final = """
select account_id::text, sum(amount)::bigint as amount from tally
where account_id = any($1::uuid[]) and day = floor(extract(epoch from clock_timestamp()) / 86400)::integer
group by account_id
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
