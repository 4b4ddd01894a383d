-- migrate:up
-- The ledger's books: what every account holds, and every transfer with its two legs. They are written in the same
-- transaction as the event that says so, and can be rebuilt from the events.

create table currency (
    -- Match and tournament chips are no money of the wallet: there is no row that an account of theirs could refer to.
    code text primary key check (code = 'CHIP')
);
insert into currency (code) values ('CHIP');

create table account (
    account_id uuid primary key,
    kind text not null check (kind in ('player', 'escrow', 'issuance', 'bots', 'house', 'pool', 'pot')),
    owner text not null,
    currency text not null references currency,
    balance bigint not null default 0 check (balance between -9007199254740991 and 9007199254740991),
    version bigint not null default 0 check (version >= 0),
    is_closed boolean not null default false,
    held bigint not null default 0 check (held >= 0),
    is_frozen boolean not null default false check (not is_frozen or kind = 'player'),
    has_top_up_consent boolean not null default false,
    home uuid,
    opened_at_ms bigint not null,
    constraint account_never_owes check (kind = 'issuance' or balance >= 0),
    constraint account_keeps_what_is_held check (held = 0 or balance >= held),
    constraint account_closes_empty check (not is_closed or balance = 0)
) with (fillfactor = 70);
comment on column account.version is 'Counts the account''s entries, without gap.';
comment on column account.home is 'Of an escrow: the account that its first chips came from.';
create index account_at_tables on account (home) where kind = 'escrow' and not is_closed;
comment on column account.held is 'The sum of its open holds.';
create index account_of_kind on account (kind, account_id);
-- Sittings end, their accounts stay: only the open ones are ever listed.
create index account_open_escrow on account (account_id) where kind = 'escrow' and not is_closed;

create table transfer (
    transfer_id uuid primary key,
    debit_account uuid not null,
    debit_version bigint not null check (debit_version > 0),
    debit_previous bigint not null,
    credit_account uuid not null,
    credit_version bigint not null check (credit_version > 0),
    credit_previous bigint not null,
    currency text not null default 'CHIP' constraint transfer_currency_is_chips check (currency = 'CHIP'),
    amount bigint not null check (amount between 1 and 9007199254740991),
    code text not null,
    cause text not null,
    hold_id uuid,
    reverses uuid,
    ledger_version bigint not null,
    posted_at_ms bigint not null,
    check (debit_account <> credit_account),
    unique (debit_account, debit_version),
    unique (credit_account, credit_version)
);
comment on column transfer.debit_version is 'Which of its account''s entries this leg is: they are counted without gap.';
comment on column transfer.debit_previous is 'The account''s balance before.';
comment on column transfer.ledger_version is 'The version of the event that posted it.';
-- Whatever a program believes, a hold is posted once and a transfer taken back once.
create unique index transfer_posts_once on transfer (hold_id) where hold_id is not null;
create unique index transfer_reverses_once on transfer (reverses) where reverses is not null;

-- Both legs stand in the transfer's row: one row, not three, and they cannot be at odds with each other.
create view entry as
select debit_account as account_id, debit_version as version, transfer_id, -amount as amount,
       debit_previous as previous_balance, debit_previous - amount as balance, code, cause, posted_at_ms,
       credit_account as other_account, hold_id, reverses
from transfer
union all
select credit_account, credit_version, transfer_id, amount, credit_previous, credit_previous + amount, code, cause,
       posted_at_ms, debit_account, hold_id, reverses
from transfer;
comment on view entry is 'The legs of all transfers, by account and version.';

-- What foreign keys would check row by row, once a statement: the accounts are there, in the transfer's currency, and
-- an account's last leg says what the account says. By their keys, also where the plan was made when there were none.
create function refuse_legs_that_do_not_fit() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    if exists (
        select from posted p
        left join account d on d.account_id = p.debit_account and d.currency = p.currency
        left join account c on c.account_id = p.credit_account and c.currency = p.currency
        where not coalesce(
            d.version >= p.debit_version and (d.version > p.debit_version or d.balance = p.debit_previous - p.amount)
            and c.version >= p.credit_version
            and (c.version > p.credit_version or c.balance = p.credit_previous + p.amount), false)
    ) then
        raise exception 'a transfer does not fit its accounts'
            using errcode = 'integrity_constraint_violation', constraint = 'transfer_fits_its_accounts';
    end if;
    return null;
end $$;

create table hold (
    hold_id uuid primary key,
    debit_account uuid not null references account,
    credit_account uuid not null references account,
    currency text not null constraint hold_currency_is_chips check (currency = 'CHIP'),
    amount bigint not null check (amount between 1 and 9007199254740991),
    code text not null,
    cause text not null,
    lasts_ms bigint not null check (lasts_ms >= 0),
    expires_at_ms bigint not null check ((lasts_ms = 0) = (expires_at_ms = 0)),
    placed_version bigint not null,
    resolution text not null default '' check (resolution in ('', 'posted', 'voided', 'expired')),
    posted bigint not null default 0 check (posted between 0 and amount and (posted > 0) = (resolution = 'posted')),
    resolved_by text not null default '',
    resolved_version bigint check ((resolved_version is null) = (resolution = '')),
    check (debit_account <> credit_account)
);
comment on column hold.resolution is 'Empty as long as the hold is open; then how it ended, once and for all.';
comment on column hold.placed_version is 'The version of the event that placed it; resolved_version that of its end.';
create index hold_open_of on hold (debit_account) where resolution = '';
create index hold_open_until on hold (expires_at_ms) where resolution = '' and expires_at_ms > 0;

create table tally (
    account_id uuid not null references account,
    code text not null,
    day integer not null,
    count bigint not null check (count > 0),
    amount bigint not null check (amount > 0),
    last_at_ms bigint not null,
    primary key (account_id, code, day)
);
comment on table tally is 'How often and how much of what policies limit, by account, code and UTC day since 1970.';

create table shortfall (
    transfer_id uuid primary key references transfer,
    account_id uuid not null references account,
    amount bigint not null check (amount > 0),
    ledger_version bigint not null
);
comment on table shortfall is 'What the refund of a purchase could not take back, because it was spent.';

create table refused (
    transfer_id uuid primary key,
    reason text not null,
    ledger_version bigint not null
);
comment on table refused is 'Transfers that were refused and stay refused, with the first reason.';

create table answered (
    command_id uuid primary key,
    caller text not null,
    request_hash bytea not null,
    has_opened boolean not null
);
comment on table answered is 'Requests by id that move no chips: the same request gets the same answer for ever.';

create table table_seats (
    table_id uuid primary key,
    version bigint not null check (version >= 0),
    state text not null
);
comment on table table_seats is 'How far each table''s stream was followed, and whose escrow holds what at that point.';

create function refuse_unless_all(changed bigint, wanted bigint) returns boolean language plpgsql as $$
begin
    if changed <> wanted then
        raise exception 'an account or a hold is not what it was when this was decided'
            using errcode = 'integrity_constraint_violation', constraint = 'account_is_as_it_was';
    end if;
    return true;
end $$;

create function refuse_new_identity() returns trigger language plpgsql as $$
begin
    raise exception 'an account keeps its kind, owner and currency' using errcode = 'insufficient_privilege';
end $$;

create function refuse_second_end() returns trigger language plpgsql as $$
begin
    raise exception 'a hold ends once' using errcode = 'insufficient_privilege';
end $$;

create trigger hold_ends_once before update on hold for each row when (old.resolution <> '')
    execute function refuse_second_end();
create trigger hold_keeps_its_identity
    before update of hold_id, debit_account, credit_account, currency, amount, code, cause, lasts_ms, expires_at_ms,
        placed_version on hold
    for each statement execute function refuse_rewriting();
create trigger hold_is_never_removed before delete or truncate on hold
    for each statement execute function refuse_rewriting();
create trigger tally_is_never_removed before delete or truncate on tally
    for each statement execute function refuse_rewriting();
create trigger shortfall_is_never_rewritten before update or delete or truncate on shortfall
    for each statement execute function refuse_rewriting();
create trigger transfer_is_never_rewritten before update or delete or truncate on transfer
    for each statement execute function refuse_rewriting();
create trigger transfer_fits_its_accounts after insert on transfer referencing new table as posted
    for each statement execute function refuse_legs_that_do_not_fit();
create trigger refused_is_never_rewritten before update or delete or truncate on refused
    for each statement execute function refuse_rewriting();
create trigger answered_is_never_rewritten before update or delete or truncate on answered
    for each statement execute function refuse_rewriting();
create trigger account_is_never_removed before delete or truncate on account
    for each statement execute function refuse_rewriting();
create trigger account_keeps_its_identity before update of account_id, kind, owner, currency, opened_at_ms on account
    for each statement execute function refuse_new_identity();

grant select on currency to store_writer, store_reader;
grant select, insert on account, transfer, hold, tally, shortfall, refused, answered to store_writer;
grant select on entry to store_writer;
grant update (balance, version, is_closed, held, is_frozen, has_top_up_consent, home) on account to store_writer;
grant update (resolution, posted, resolved_by, resolved_version) on hold to store_writer;
grant update (count, amount, last_at_ms) on tally to store_writer;
grant select, insert, update on table_seats to store_writer;
grant select on account, transfer, entry, hold, tally, shortfall, refused, table_seats to store_reader;

-- migrate:down
drop view entry;
drop table table_seats, answered, refused, shortfall, tally, hold, transfer, account, currency;
drop function refuse_legs_that_do_not_fit();
drop function refuse_new_identity();
drop function refuse_second_end();
drop function refuse_unless_all(bigint, bigint);
