-- migrate:up
-- How tables stood between two hands, now and then: so that a hand deep in a long stream is replayed without folding all
-- that lies before it. Nothing here is truth: delete it, and the same is read from the events (H5).

create table table_standing (
    table_id uuid not null,
    version bigint not null check (version > 0),
    layout bytea not null,
    stream_hash bytea not null check (octet_length(stream_hash) = 32),
    body bytea not null,
    digest bytea not null check (octet_length(digest) = 32),
    primary key (table_id, version)
);
comment on column table_standing.version is 'The last event that is folded in; no hand was running.';
comment on column table_standing.layout is 'The shape of the state that was written; another shape is not read.';
comment on column table_standing.stream_hash is 'The hash of that last event: what is read goes on from this place of this stream.';

grant select, insert, update, delete on table_standing to table_rw;

-- migrate:down
drop table table_standing;
