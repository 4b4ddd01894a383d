-- migrate:up
-- By what hands are found. Made from the kept events, hand by hand, and could be made again from them at any time:
-- services/audit/search.

alter table hand add column index_version smallint not null default 0;
comment on column hand.index_version is 'Of the index that this hand stands in; 0 where it is to be read (again).';
create index hand_to_index on hand (index_version, ended_seq) where last_version is not null;

create table index_state (
    is_one boolean primary key default true check (is_one),
    version smallint not null
);
comment on table index_state is 'Which version of the program made the index; another one empties it and begins anew.';

create table hand_index (
    hand_id uuid primary key,
    table_id uuid not null,
    started_at_ms bigint not null,
    ended_at_ms bigint not null,
    first_version bigint not null,
    last_version bigint not null,
    hand_no bigint not null,
    stake bigint not null,
    pot bigint not null,
    flags integer not null,
    result smallint not null,
    chips smallint not null,
    table_seats smallint not null,
    pot_class smallint not null,
    game text not null,
    bet_limit text not null,
    table_name text not null,
    tournament_id text,
    players text[] not null,
    seats smallint[] not null,
    payoffs bigint[] not null
);
comment on column hand_index.pot_class is 'Binary digits of the pot: hands of one class are read in the order of time.';
comment on column hand_index.flags is 'Bits: services/audit/search/facts.py.';
comment on column hand_index.players is 'Parallel to seats and payoffs.';
create index hand_index_newest on hand_index (started_at_ms desc, hand_id desc);
create index hand_index_of_table on hand_index (table_id, started_at_ms desc, hand_id desc);
create index hand_index_of_tournament on hand_index (tournament_id, started_at_ms desc, hand_id desc)
    where tournament_id is not null;
create index hand_index_of_game on hand_index (game, started_at_ms desc, hand_id desc);
create index hand_index_of_pot on hand_index (pot_class, started_at_ms desc, hand_id desc);
create index hand_index_void on hand_index (started_at_ms desc, hand_id desc) where flags & 1 <> 0;
create index hand_index_clock on hand_index (started_at_ms desc, hand_id desc) where flags & 2 <> 0;
create index hand_index_operator on hand_index (started_at_ms desc, hand_id desc) where flags & 4 <> 0;
create index hand_index_interrupted on hand_index (started_at_ms desc, hand_id desc) where flags & 8 <> 0;
create index hand_index_powers on hand_index (started_at_ms desc, hand_id desc) where flags & 16 <> 0;
create index hand_index_all_in on hand_index (started_at_ms desc, hand_id desc) where flags & 32 <> 0;
create index hand_index_refusals on hand_index (started_at_ms desc, hand_id desc) where flags & 64 <> 0;
create index hand_index_looked_at on hand_index (started_at_ms desc, hand_id desc) where flags & 128 <> 0;
create index hand_index_bots_only on hand_index (started_at_ms desc, hand_id desc) where flags & 256 <> 0;

create table hand_player (
    player text not null,
    started_at_ms bigint not null,
    hand_id uuid not null,
    primary key (player, started_at_ms, hand_id)
);
comment on table hand_player is 'Whose hands these were, in the order in which they are looked through.';

create table hand_not_indexed (
    table_id uuid not null,
    first_version bigint not null,
    why text not null,
    noted_at_ms bigint not null,
    primary key (table_id, first_version)
);
comment on table hand_not_indexed is 'Hands whose events could not be read as a hand: they are in no answer, and named here.';

create table hand_look (
    global_seq bigint primary key,
    table_id uuid not null,
    version bigint not null,
    hand_id text not null,
    opened_by text not null,
    is_own boolean not null
);
comment on table hand_look is 'Events by which somebody looked at a hand''s hidden cards, by their number in the tables'' feed.';
comment on column hand_look.is_own is 'A player looked back at the own seat.';
create index hand_look_at on hand_look (hand_id, global_seq);
create index hand_look_by on hand_look (opened_by, global_seq);
create index hand_look_of_others on hand_look (global_seq) where not is_own;

-- What a table says of a hand when it is over is looked for behind its end.
create index kept_event_of_refusals on kept_event (stream_id, version) where type_id = 52;

grant select, insert, update, delete, truncate on hand_index, hand_player, hand_not_indexed to store_writer;
grant select, insert, update on index_state to store_writer;
grant select, insert on hand_look to store_writer;
grant select on index_state, hand_index, hand_player, hand_not_indexed, hand_look to store_reader;

-- migrate:down
drop index kept_event_of_refusals;
drop table hand_look, hand_not_indexed, hand_player, hand_index, index_state;
drop index hand_to_index;
alter table hand drop column index_version;
