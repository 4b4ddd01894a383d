-- migrate:up
-- What the tournament service keeps beside its event store: what runs at its tables, moved on with the cursor of the
-- tables' feed, and what is read from its own events, which could be made again from them at any time.

create table followed_table (
    table_id uuid primary key,
    tournament_id uuid not null,
    table_no integer not null,
    running text
);
comment on table followed_table is 'Tables of tournaments, by the table feed.';
comment on column followed_table.running is 'The running hand as its end is reported with it; null between hands.';

create table tournament_index (
    tournament_id uuid primary key,
    created_at_ms bigint not null,
    created_by text not null,
    name text not null,
    kind text not null,
    game text not null,
    entry bigint not null,
    fee bigint not null,
    has_bots boolean not null,
    starts_at_ms bigint not null,
    phase text not null,
    is_open boolean not null default false,
    is_over boolean not null default false,
    entries integer not null default 0,
    bots integer not null default 0,
    players_left integer not null default 0,
    pool bigint not null default 0,
    multiplier integer not null default 0,
    config bytea not null
);
comment on column tournament_index.config is 'The settings as the message TournamentConfig; the columns before it are what a lobby is searched by.';
create index tournament_index_living on tournament_index (created_at_ms desc, tournament_id desc) where not is_over;
create index tournament_index_all on tournament_index (created_at_ms desc, tournament_id desc);

create table entry_index (
    tournament_id uuid not null,
    entry_no integer not null,
    player text not null,
    is_bot boolean not null,
    is_accepted boolean not null default false,
    is_ended boolean not null default false,
    is_removed boolean not null default false,
    primary key (tournament_id, entry_no)
);
comment on table entry_index is 'Who asked for which entry; is_ended where nothing came of it or it was given back.';
create index entry_index_player on entry_index (player, tournament_id);

create table table_index (
    tournament_id uuid not null,
    table_no integer not null,
    table_id text not null,
    primary key (tournament_id, table_no)
);

create table payment_index (
    tournament_id uuid not null,
    key text not null,
    player text not null,
    code text not null,
    amount bigint not null,
    primary key (tournament_id, key)
);
comment on table payment_index is 'What players are paid, from the moment on when it is due: the wallet''s answer names the key alone.';

-- What a starting owner goes through, and every few seconds afterwards: it must not grow with what has ever been played.
create table unfinished_tournament (tournament_id uuid primary key);
comment on table unfinished_tournament is
    'Every tournament from the transaction of its first event on, until the projections have read its last one.';

create function note_tournament() returns trigger language plpgsql as $$
begin
    insert into unfinished_tournament values (new.stream_id) on conflict do nothing;
    return null;
end $$;
create trigger tournament_begins after insert on stream
    for each row when (new.kind = 3) execute function note_tournament();

grant select, insert, update, delete
    on followed_table, tournament_index, entry_index, table_index, payment_index to store_writer;
grant select, insert, delete on unfinished_tournament to store_writer;
grant select
    on followed_table, tournament_index, entry_index, table_index, payment_index, unfinished_tournament to store_reader;

-- migrate:down
drop trigger tournament_begins on stream;
drop function note_tournament();
drop table unfinished_tournament, payment_index, table_index, entry_index, tournament_index, followed_table;
