-- migrate:up
-- Secrets of draws, wrapped. Only draw_secret_rw may enter this schema; neither the event store's roles nor any reader.
-- A day is counted from 1970-01-01 in UTC. The layouts are in docs/reference/hashing.md, section 11.

create schema vault;
revoke all on schema vault from public;
comment on schema vault is 'Wrapped secrets of draws that are committed to and not made yet, and of those that were.';

create table vault.day_key (
    day integer primary key,
    wrapped bytea check (octet_length(wrapped) = 60),
    created_at timestamptz not null default now(),
    destroyed_at timestamptz,
    check ((wrapped is null) = (destroyed_at is not null))
);
comment on column vault.day_key.wrapped is 'nonce, AES-256-GCM of the day key under a key that this server never sees; null once destroyed.';

create table vault.draw_secret (
    draw_id uuid primary key,
    day integer not null references vault.day_key,
    epoch bigint not null check (epoch >= 0),
    commitment bytea not null unique check (octet_length(commitment) = 32),
    fingerprint bytea not null unique check (octet_length(fingerprint) = 32),
    wrapped bytea check (octet_length(wrapped) = 60)
);
comment on column vault.draw_secret.commitment is 'What the log holds for this secret; kept after the secret is gone.';
comment on column vault.draw_secret.fingerprint is 'A hash of the secret alone: no secret serves two draws, which commitments, having the hand in them, cannot show.';
create index draw_secret_day on vault.draw_secret (day) where wrapped is not null;

create function vault.refuse_rewriting() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        -- Destroying is the only change there is.
        if new.wrapped is null then
            return new;
        end if;
    end if;
    raise exception 'a secret is never exchanged or removed: % of % refused', tg_op, tg_table_name
        using errcode = 'insufficient_privilege';
end $$;

create trigger day_key_is_never_rewritten before update or delete on vault.day_key
    for each row execute function vault.refuse_rewriting();
create trigger day_key_is_never_emptied before truncate on vault.day_key
    for each statement execute function vault.refuse_rewriting();
create trigger draw_secret_is_never_rewritten before update or delete on vault.draw_secret
    for each row execute function vault.refuse_rewriting();
create trigger draw_secret_is_never_emptied before truncate on vault.draw_secret
    for each statement execute function vault.refuse_rewriting();

grant usage on schema vault to draw_secret_rw;
grant select, insert, update (wrapped, destroyed_at) on vault.day_key to draw_secret_rw;
grant select, insert, update (wrapped) on vault.draw_secret to draw_secret_rw;

-- migrate:down
drop schema vault cascade;
