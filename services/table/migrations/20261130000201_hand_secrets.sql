-- migrate:up
-- What hands are dealt from. The vault itself is diwan/chassis/vault_migrations.
comment on schema vault is 'Wrapped hand secrets: the only place at rest that could tell mucked cards, until their day is destroyed.';
call vault.make_table_for('hand');

-- migrate:down
drop table vault.hand_secret;
