-- migrate:up
-- The register: the nodes of the trees over the feeds, what was signed of them, and who signed with us.

create table tree_node (
    feed_id smallint not null,
    level smallint not null check (level > 0),
    place bigint not null check (place >= 0),
    hash bytea not null check (length(hash) = 32),
    primary key (feed_id, level, place)
);
comment on table tree_node is
    'Every fourth level of each feed''s tree: nodes over a full power of two of leaves, which never change. Leaves stand in kept_event.';

create table checkpoint (
    origin text not null,
    size bigint not null check (size >= 0),
    feed_id smallint not null,
    root bytea not null check (length(root) = 32),
    note bytea not null,
    signed_at_ms bigint not null,
    primary key (origin, size)
);
comment on column checkpoint.note is 'The note as the log signed it, without cosignatures.';

create table cosignature (
    origin text not null,
    size bigint not null,
    key_name text not null,
    key_id bytea not null,
    line text not null,
    cosigned_at bigint not null,
    primary key (origin, size, key_name, key_id),
    foreign key (origin, size) references checkpoint
);
comment on column cosignature.cosigned_at is 'POSIX seconds, by the witness''s own clock.';

create table proved_checkpoint (
    origin text not null,
    size bigint not null,
    primary key (origin, size),
    foreign key (origin, size) references checkpoint
);
comment on table proved_checkpoint is 'Checkpoints that as many witnesses signed as the policy of that time asked for.';

create trigger tree_node_is_never_rewritten before update or delete or truncate on tree_node
    for each statement execute function refuse_rewriting();
create trigger checkpoint_is_never_rewritten before update or delete or truncate on checkpoint
    for each statement execute function refuse_rewriting();
create trigger cosignature_is_never_rewritten before update or delete or truncate on cosignature
    for each statement execute function refuse_rewriting();
create trigger proved_checkpoint_is_never_rewritten before update or delete or truncate on proved_checkpoint
    for each statement execute function refuse_rewriting();

grant select, insert on tree_node, checkpoint, cosignature, proved_checkpoint to store_writer;
grant select on tree_node, checkpoint, cosignature, proved_checkpoint to store_reader;

-- migrate:down
drop table proved_checkpoint, cosignature, checkpoint, tree_node;
