-- migrate:up
-- Wrong join codes, so that neither a restart nor another process forgets who has been guessing (P12). No truth: what is
-- older than the window counts no more, and goes when somebody next names a wrong code.

create table join_guess (
    player text primary key check (length(player) between 1 and 128),
    wrong_at_ms bigint[] not null check (cardinality(wrong_at_ms) between 1 and 10),
    newest_at_ms bigint not null
);
comment on table join_guess is 'Who named wrong join codes lately, and when; the codes themselves are nowhere.';
create index join_guess_oldest on join_guess (newest_at_ms);

grant select, insert, update, delete on join_guess to table_rw;

-- migrate:down
drop table join_guess;
