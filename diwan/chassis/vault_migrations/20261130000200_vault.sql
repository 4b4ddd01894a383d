-- migrate:up
-- Wrapped secrets: a schema of its own, which neither the event store's roles nor any reader may enter.
-- A day is counted from 1970-01-01 in UTC. The layouts are in docs/reference/hashing.md, section 11.
-- A service has secrets of one kind; its own migration says which: `call vault.make_table_for('hand')`.

create schema vault;
revoke all on schema vault from public;

create table vault.day_key (
    day integer primary key,
    wrapped bytea check (octet_length(wrapped) = 60),
    created_at timestamptz not null default now(),
    destroyed_at timestamptz,
    check ((wrapped is null) = (destroyed_at is not null))
);
comment on column vault.day_key.wrapped is 'nonce, AES-256-GCM of the day key under a key that this server never sees; null once destroyed.';

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

-- For a kind such as `hand`: the table vault.hand_secret with its hand_id, open to the role hand_secret_rw alone.
create procedure vault.make_table_for(kind text) language plpgsql as $$
declare
    statement text;
begin
    foreach statement in array array[
        'create table vault.%1$I (
            %2$I uuid primary key,
            day integer not null references vault.day_key,
            epoch bigint not null check (epoch >= 0),
            commitment bytea not null unique check (octet_length(commitment) = 32),
            fingerprint bytea not null unique check (octet_length(fingerprint) = 32),
            wrapped bytea check (octet_length(wrapped) = 60)
        )',
        'comment on column vault.%1$I.commitment is
            ''What the log holds for this secret; kept after the secret is gone.''',
        'comment on column vault.%1$I.fingerprint is
            ''A hash of the secret alone: no secret serves twice, which commitments, being bound to an id, cannot show.''',
        'create index %4$I on vault.%1$I (day) where wrapped is not null',
        'create trigger %5$I before update or delete on vault.%1$I
            for each row execute function vault.refuse_rewriting()',
        'create trigger %6$I before truncate on vault.%1$I
            for each statement execute function vault.refuse_rewriting()',
        'grant usage on schema vault to %3$I',
        'grant select, insert, update (wrapped, destroyed_at) on vault.day_key to %3$I',
        'grant select, insert, update (wrapped) on vault.%1$I to %3$I'
    ] loop
        execute format(
            statement,
            kind || '_secret', kind || '_id', kind || '_secret_rw',
            kind || '_secret_day', kind || '_secret_is_never_rewritten', kind || '_secret_is_never_emptied'
        );
    end loop;
end $$;
revoke all on procedure vault.make_table_for(text) from public;

-- migrate:down
drop schema vault cascade;
