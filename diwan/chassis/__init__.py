"""What every service stands on. A service says what it does; how a service does such things at all stands here.

- its life: `settings`, `service` (serving, draining, end), `following` (the command line of who follows a feed), `logging`,
  `alarms`, `metrics`;
- what it is asked: `server`, `http2/`, `calls`, `pump`, `access`, `auth`, `keys`, `peers`, `fields` and `paging` (what all
  requests have in common), `pace`, `errors`, `reasons`;
- what it remembers: `database`, `migrate`, `store/` (events; `owned` is a stream as its owner writes it), `ids`, `vault`,
  `keyfile`;
- what it owns: `claims` (its name, leases, what is left alone), `actors` (a mailbox, first answers given again), `clock`;
- what it tells: `feed/`, `bus`, `notices`;
- on one machine: `embedded/` (PostgreSQL, NATS and services as child processes).
"""
