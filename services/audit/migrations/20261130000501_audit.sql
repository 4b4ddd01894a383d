-- migrate:up
-- What the audit keeps of the other services' feeds, and what it found. Its own copy of the bodies is the point: it can
-- be held against what the services show later.

create table kept_event (
    feed_id smallint not null,
    global_seq bigint not null check (global_seq > 0),
    stream_id uuid not null,
    version bigint not null,
    event_id uuid not null,
    command_id uuid not null,
    epoch bigint not null,
    type_id integer not null,
    schema_v integer not null,
    recorded_at_ms bigint not null,
    body bytea not null,
    prev_hash bytea not null,
    hash bytea not null,
    leaf_hash bytea not null,
    primary key (feed_id, global_seq)
);
comment on column kept_event.leaf_hash is 'As computed here; a feed that says otherwise is a finding.';
-- Not unique: a fork of a stream must be kept to be shown.
create index kept_event_of_stream on kept_event (stream_id, version, global_seq);

create table feed_tree (
    feed_id smallint primary key,
    size bigint not null check (size >= 0),
    peaks bytea[] not null
);
comment on table feed_tree is 'The Merkle tree over each feed''s leaves, as its right edge.';

create table stream_head (
    stream_id uuid primary key,
    feed_id smallint not null,
    version bigint not null,
    hash bytea not null,
    recorded_at_ms bigint not null,
    epoch bigint not null,
    hand_version bigint not null default 1,
    running_hand bigint
);
comment on column stream_head.hand_version is 'Where the newest hand began; the next one''s secret is committed to from there on.';
comment on column stream_head.running_hand is 'The first version of the hand that has not ended.';

create table hand (
    stream_id uuid not null,
    first_version bigint not null,
    hand_id text not null,
    hand_no bigint not null,
    needs_version bigint not null,
    last_version bigint,
    ended_seq bigint,
    verdict smallint,
    at_version bigint,
    rule text,
    detail text not null default '',
    acts integer not null default 0,
    reveals integer not null default 0,
    primary key (stream_id, first_version)
);
comment on column hand.verdict is 'As in audit/v1: 1 verified, 2 not verified, 3 cannot say; null until it was looked at.';
create index hand_by_id on hand (hand_id);
create index hand_due on hand (ended_seq) where verdict is null and last_version is not null;

create table finding (
    finding_no bigint primary key check (finding_no > 0),
    feed_id smallint not null,
    global_seq bigint not null,
    stream_id uuid not null,
    version bigint not null,
    kind text not null,
    detail text not null,
    hand_id text not null default '',
    found_at_ms bigint not null
);

create table followed_table (
    table_id uuid primary key,
    version bigint not null,
    state text not null,
    is_at_odds boolean not null default false
);
comment on table followed_table is 'What each table''s stream means for the ledger so far; at odds with itself, it is followed no further.';

create table ledger_account (
    account_id text primary key,
    kind text not null,
    owner text not null,
    currency text not null,
    balance bigint not null,
    is_closed boolean not null default false,
    held bigint not null default 0,
    is_frozen boolean not null default false
);
comment on column ledger_account.held is 'The sum of its open holds.';

create table ledger_hold (
    hold_id text primary key,
    debit_account text not null,
    credit_account text not null,
    amount bigint not null,
    expires_at_ms bigint not null,
    resolution text not null
);
comment on column ledger_hold.resolution is 'Empty while it is open.';

create table due (
    transfer_id text primary key,
    table_id uuid not null,
    table_version bigint not null,
    global_seq bigint not null,
    kind smallint not null,
    of_transfer text not null,
    debit_account text not null,
    credit_account text not null,
    amount bigint not null,
    code text not null,
    cause text not null,
    state smallint not null default 0
);
comment on table due is 'Transfers that the tables'' events ask for or rely on. State: 0 open, 1 met, 2 found fault with.';
comment on column due.kind is '1 must be posted, 2 was posted before, 3 is the return of another, if that one was posted.';
create index due_open on due (table_id, table_version) where state = 0;

create table posted (
    transfer_id text primary key,
    ledger_id uuid not null,
    ledger_version bigint not null,
    global_seq bigint not null,
    debit_account text not null,
    credit_account text not null,
    amount bigint not null,
    code text not null,
    cause text not null,
    table_id uuid,
    table_version bigint,
    is_from_escrow boolean not null,
    state smallint not null default 0
);
comment on table posted is 'Transfers that the ledger posted; the table and version are those that the cause names. State as in due.';
create index posted_open on posted (table_id, table_version) where state = 0 and is_from_escrow;
create index posted_of_table on posted (table_id, table_version);

create trigger kept_event_is_never_rewritten before update or delete or truncate on kept_event
    for each statement execute function refuse_rewriting();
create trigger finding_is_never_rewritten before update or delete or truncate on finding
    for each statement execute function refuse_rewriting();

grant select, insert on kept_event, finding to store_writer;
grant select, insert, update on feed_tree, stream_head, hand, followed_table, ledger_account, ledger_hold, due, posted to store_writer;
grant select on kept_event, feed_tree, stream_head, hand, finding, followed_table, ledger_account, ledger_hold, due, posted
    to store_reader;

-- migrate:down
drop table posted, due, ledger_hold, ledger_account, followed_table, finding, hand, stream_head, feed_tree, kept_event;
