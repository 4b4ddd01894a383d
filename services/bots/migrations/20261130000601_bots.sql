-- migrate:up
-- What the bots know of tables that ask for them, from the tables' feed, and which bot is at which table.

create table watched_table (
    table_id uuid primary key,
    seats smallint not null check (seats between 2 and 9),
    bots_fill smallint not null check (bots_fill between 0 and 9),
    buy_in bigint not null check (buy_in >= 0),
    is_closing boolean not null default false,
    is_tournament boolean not null default false
);
comment on column watched_table.is_tournament is 'Its tournament says who sits there: bots neither come nor go by themselves.';
comment on table watched_table is 'Open tables of games that bots play, also those that want none now; a closed one is forgotten.';

create table taken_seat (
    table_id uuid not null references watched_table on delete cascade,
    seat smallint not null check (seat between 0 and 8),
    player text not null,
    sitting uuid not null,
    is_funded boolean not null default false,
    primary key (table_id, seat)
);
comment on column taken_seat.sitting is 'The transfer that brought the first chips: it names this stay.';

create table waiting_person (
    table_id uuid not null references watched_table on delete cascade,
    player text not null,
    primary key (table_id, player)
);
comment on table waiting_person is 'People in line for a seat: bots leave room for them.';

create table assignment (
    player text primary key,
    table_id uuid not null references watched_table on delete cascade,
    request_id uuid not null unique,
    buy_in bigint not null check (buy_in >= 0),
    is_leaving boolean not null default false,
    is_entrant boolean not null default false,
    assigned_at timestamptz not null default now()
);
comment on column assignment.is_entrant is 'A tournament has given the bot its seat, and takes it away again.';
comment on table assignment is 'Written before a seat is asked for, so that a restart asks again under the same id.';
create index assignment_of_table on assignment (table_id);

grant select, insert, update, delete on watched_table, taken_seat, waiting_person, assignment to store_writer;
grant select on watched_table, taken_seat, waiting_person, assignment to store_reader;

-- migrate:down
drop table assignment, waiting_person, taken_seat, watched_table;
