-- migrate:up
-- What draws are made from. The vault itself is diwan/chassis/vault_migrations.
comment on schema vault is 'Wrapped secrets of draws that are committed to and not made yet, and of those that were.';
call vault.make_table_for('draw');

-- migrate:down
drop table vault.draw_secret;
