-- migrate:up
-- Reconciling reads the books commit by commit. Rows lie in the order of their commits, so a summary of each range of
-- blocks finds them, and costs an insert next to nothing.
create index transfer_of_commit on transfer using brin (ledger_version) with (pages_per_range = 32);
create index refused_of_commit on refused using brin (ledger_version) with (pages_per_range = 32);
create index hold_of_commit on hold using brin (placed_version) with (pages_per_range = 32);

-- migrate:down
drop index hold_of_commit, refused_of_commit, transfer_of_commit;
