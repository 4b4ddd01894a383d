-- migrate:up
-- What is read from the events, and could be made again from them at any time. One consumer fills it, the one of the
-- table service's own feed, with its cursor in the shared table inbox.

create table table_index (
    table_id uuid primary key,
    name text not null,
    created_at_ms bigint not null,
    is_closed boolean not null default false
);
create index table_index_open on table_index (created_at_ms desc, table_id desc) where not is_closed;

create table seat_index (
    table_id uuid not null,
    seat smallint not null,
    player text not null,
    sitting text not null,
    primary key (table_id, seat)
);
comment on table seat_index is 'Who sits where now: how many tables a player has.';
create index seat_index_player on seat_index (player);

create table hand_index (
    hand_id uuid primary key,
    table_id uuid not null,
    hand_no bigint not null,
    first_version bigint not null,
    last_version bigint not null default 0,
    result smallint not null default 0,
    started_at_ms bigint not null,
    pot bigint not null default 0,
    game text not null,
    players text[] not null,
    payoffs bigint[] not null default '{}',
    unique (table_id, hand_no)
);
comment on column hand_index.last_version is '0 while the hand runs.';
comment on column hand_index.result is 'The number of HandResult in the contract.';
comment on column hand_index.payoffs is 'Parallel to players; empty while the hand runs.';
create index hand_index_newest on hand_index (started_at_ms desc, hand_id desc);
create index hand_index_of_table on hand_index (table_id, started_at_ms desc, hand_id desc);

create table hand_seat (
    player text not null,
    started_at_ms bigint not null,
    hand_id uuid not null,
    place smallint not null,
    seat smallint not null,
    stack bigint not null,
    primary key (player, started_at_ms, hand_id)
);
comment on table hand_seat is 'Whose hands these were, in the order in which a player looks back on them.';
comment on column hand_seat.place is 'The index in hand_index.players, from 0.';

-- Names to show are no events: they may change, and must be removable (DESIGN 4).
create table directory (
    player text primary key check (length(player) <= 128),
    display_name text not null check (length(display_name) between 1 and 40)
);

grant select, insert, update, delete on table_index, seat_index, hand_index, hand_seat, directory to table_rw;
grant select on table_index, seat_index, hand_index, hand_seat, directory to store_reader;

-- migrate:down
drop table directory, hand_seat, hand_index, seat_index, table_index;
