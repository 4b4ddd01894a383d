-- migrate:up
-- What is read from the events, and could be made again from them at any time. One consumer fills it, the one of the
-- table service's own feed, with its cursor in the shared table inbox.

create table table_index (
    table_id uuid primary key,
    created_at_ms bigint not null,
    created_by text not null,
    is_closing boolean not null default false,
    is_closed boolean not null default false,
    game text not null,
    bet_limit text not null,
    stake bigint not null,
    seats smallint not null,
    chips smallint not null,
    bots_fill smallint not null,
    is_private boolean not null,
    host text not null,
    first_host text not null,
    config bytea not null
);
comment on column table_index.first_host is 'Who opened it, whoever hosts by now: it counts among the tables of both.';
comment on column table_index.stake is 'The big blind; where there is none the smallest bet, in Capsa the unit.';
comment on column table_index.chips is 'The number of ChipSource in the contract.';
comment on column table_index.config is 'The settings as the message TableConfig; the columns before it are what a lobby is searched by.';
create index table_index_open on table_index (created_at_ms desc, table_id desc) where not is_closed;

create index table_index_host on table_index (host) where host <> '' and not is_closed;
create index table_index_first_host on table_index (first_host) where first_host <> '' and not is_closed;

create table join_code (
    code_hash bytea primary key,
    table_id uuid not null
);
comment on table join_code is 'Every code that ever let guests in, also those that count no more: whether one does, its table says.';

create table guest_index (
    table_id uuid not null,
    player text not null,
    id uuid not null,
    status smallint not null,
    invited_by text not null,
    sent_at_ms bigint not null,
    expires_at_ms bigint not null,
    primary key (table_id, player)
);
comment on table guest_index is 'The newest invitation of each player to each private table.';
comment on column guest_index.status is 'The number of InvitationStatus in the contract; a pending one whose time is over is expired.';
create index guest_index_player on guest_index (player, sent_at_ms desc, id desc);

create table sitting_index (
    sitting uuid primary key,
    table_id uuid not null,
    seat smallint not null,
    player text not null,
    is_bot boolean not null,
    first_version bigint not null,
    last_version bigint
);
comment on table sitting_index is 'Who sat where from which version of the table to which; last_version is null while the seat is held.';
create unique index sitting_index_now on sitting_index (table_id, seat) where last_version is null;
create index sitting_index_player on sitting_index (player) where last_version is null;
create index sitting_index_table on sitting_index (table_id, last_version);

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
-- Every pot and every end looks for the hand that runs, however many a table has behind it.
create index hand_index_running on hand_index (table_id) where last_version = 0;

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

grant select, insert, update, delete on table_index, join_code, guest_index, sitting_index, hand_index, hand_seat, directory to table_rw;
grant select on table_index, join_code, guest_index, sitting_index, hand_index, hand_seat, directory to store_reader;

-- migrate:down
drop table directory, hand_seat, hand_index, sitting_index, guest_index, join_code, table_index;
