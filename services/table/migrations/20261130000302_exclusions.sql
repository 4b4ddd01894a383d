-- migrate:up
-- Who may not sit, and who not with whom (CL-7). Rows are written once: an exclusion is set, and it is lifted.

create table exclusion (
    id uuid primary key,
    player text not null check (length(player) between 1 and 128),
    apart_from text not null check (length(apart_from) <= 128 and apart_from <> player),
    reason text not null,
    note text not null,
    set_by text not null,
    set_at_ms bigint not null,
    until_ms bigint not null,
    request_hash bytea not null
);
comment on column exclusion.apart_from is 'Empty: the player sits nowhere.';
comment on column exclusion.until_ms is '0 until it is lifted.';
create index exclusion_player on exclusion (player);
create index exclusion_other on exclusion (apart_from) where apart_from <> '';
create index exclusion_newest on exclusion (set_at_ms desc, id desc);

create table exclusion_lift (
    id uuid primary key references exclusion,
    lifted_by text not null,
    lifted_at_ms bigint not null,
    reason text not null
);

-- The role of the service may add rows and never change or remove one.
grant select, insert on exclusion, exclusion_lift to table_rw;
grant select on exclusion, exclusion_lift to store_reader;

-- migrate:down
drop table exclusion_lift, exclusion;
