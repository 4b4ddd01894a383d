-- migrate:up
create table tournament (
    tournament_id uuid primary key,
    last_version bigint not null,
    ended_seq bigint not null,
    seen_at timestamptz not null default now(),
    verdict smallint,
    detail text not null default '',
    commands integer not null default 0,
    draws integer not null default 0
);
comment on table tournament is 'Tournaments that are finished; verdict as in audit/v1, null until every decision was made again.';
create index tournament_due on tournament (ended_seq) where verdict is null;

grant select, insert, update on tournament to store_writer;
grant select on tournament to store_reader;

-- migrate:down
drop table tournament;
