-- migrate:up
-- The event store: one row a stream to compare and set, its events, what every command came to.
-- Rights go to three group roles that ensure_roles() makes for the whole server before any migration runs;
-- a service's login roles are members, and only they may connect to that service's database.

create table stream (
    stream_id uuid primary key,
    kind smallint not null,
    version bigint not null default 0 check (version >= 0),
    epoch bigint not null default 0 check (epoch >= 0),
    owner text,
    lease_until timestamptz,
    head_hash bytea not null check (octet_length(head_hash) = 32),
    recorded_at_ms bigint not null default 0
) with (fillfactor = 50);
comment on table stream is 'One row a table, tournament or ledger shard: every append compares and sets (epoch, version) here.';
comment on column stream.owner is 'A hint for finding the owner; safety is the epoch alone.';
comment on column stream.recorded_at_ms is 'The time of the stream''s last event: the next one is not earlier.';
comment on column stream.lease_until is 'A hint by the database clock; safety is the epoch alone.';

-- No foreign key to stream: the append inserts only for stream rows that it has just locked, no role may delete one,
-- and the check was a sixth of the statement.
create table event (
    stream_id uuid not null,
    version bigint not null check (version > 0),
    event_id uuid not null unique,
    command_id uuid not null,
    epoch bigint not null,
    type_id smallint not null,
    schema_v smallint not null,
    recorded_at_ms bigint not null,
    -- With its headers it must fit a message of the bus, which takes 64 KiB: a bigger one would stop the relay for good.
    body bytea not null check (octet_length(body) <= 61440),
    prev_hash bytea not null check (octet_length(prev_hash) = 32),
    hash bytea not null check (octet_length(hash) = 32),
    primary key (stream_id, version)
);
comment on column event.body is 'The exact bytes that were hashed; never re-encoded.';
comment on column event.recorded_at_ms is 'Milliseconds since the Unix epoch, as hashed: the owner''s clock, never decreasing in a stream.';

create table command (
    stream_id uuid not null,
    command_id uuid not null,
    caller text not null,
    request_hash bytea not null,
    outcome smallint not null check (outcome in (1, 2)),
    first_version bigint,
    last_version bigint,
    reply bytea not null,
    primary key (stream_id, command_id),
    check ((outcome = 1) = (first_version is not null and last_version is not null))
);
comment on column command.outcome is '1 applied, 2 refused for ever (reply holds the reason).';

create table outbox (
    n bigserial primary key,
    stream_id uuid not null,
    version bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
comment on table outbox is 'Committed events that have no place in the feed yet; n orders a batch so that effects follow causes.';

create table feed (
    feed_id smallint not null,
    global_seq bigint not null check (global_seq > 0),
    stream_id uuid not null,
    version bigint not null,
    leaf_hash bytea not null check (octet_length(leaf_hash) = 32),
    primary key (feed_id, global_seq),
    unique (stream_id, version)
);
comment on table feed is 'The gap-free order: global_seq = JetStream sequence = Merkle leaf index + 1.';

-- The same bytes as diwan.core.hashing.feed_leaf; a test compares the two.
create function feed_leaf(feed_id smallint, global_seq bigint, stream_id uuid, version bigint, hash bytea)
returns bytea language sql immutable parallel safe as $$
    select sha256(
        '\x00'::bytea
        || '\x00000007'::bytea || 'feed/v1'::bytea
        || '\x00000008'::bytea || int8send(feed_id::bigint)
        || '\x00000008'::bytea || int8send(global_seq)
        || '\x00000010'::bytea || uuid_send(stream_id)
        || '\x00000008'::bytea || int8send(version)
        || '\x00000020'::bytea || hash)
$$;

create function refuse_rewriting() returns trigger language plpgsql as $$
begin
    raise exception 'the register is never rewritten: % of % refused', tg_op, tg_table_name
        using errcode = 'insufficient_privilege';
end $$;

create trigger event_is_never_rewritten before update or delete or truncate on event
    for each statement execute function refuse_rewriting();
create trigger command_is_never_rewritten before update or delete or truncate on command
    for each statement execute function refuse_rewriting();
create trigger feed_is_never_rewritten before update or delete or truncate on feed
    for each statement execute function refuse_rewriting();

grant select, insert on event, command to store_writer;
grant select, insert, update on stream to store_writer;
grant insert on outbox to store_writer;
grant usage on sequence outbox_n_seq to store_writer;
grant select on feed to store_writer;

grant select on event, stream, feed to store_sequencer;
grant select, delete on outbox to store_sequencer;
grant insert on feed to store_sequencer;

grant select on stream, event, feed to store_reader;

-- migrate:down
drop table feed, outbox, command, event, stream;
drop function refuse_rewriting();
drop function feed_leaf;
