-- migrate:up
-- What a consumer of other services' feeds has done, kept in the same transaction as the effect.

create table inbox (
    consumer text primary key,
    last_seq bigint not null check (last_seq >= 0)
);

create table quarantine (
    consumer text not null,
    global_seq bigint not null,
    stream_id uuid not null,
    error text not null,
    parked_at timestamptz not null default now(),
    primary key (consumer, global_seq)
);
comment on table quarantine is 'Events set aside: the first of a stream could not be applied, the others wait behind it.';
create index quarantine_stream on quarantine (consumer, stream_id, global_seq);

grant select, insert, update on inbox to store_writer;
grant select, insert, delete, update on quarantine to store_writer;
grant select on inbox, quarantine to store_reader;

-- migrate:down
drop table quarantine, inbox;
