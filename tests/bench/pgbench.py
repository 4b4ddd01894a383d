"""The peer of every figure about transfers: pgbench's TPC-B on the same server, and the processor time of both."""

import os
import re
import resource
import subprocess
from pathlib import Path

SCALE = 32
CLIENTS = (8, 16, 32)
DATABASE = "pgbench"
TICKS = os.sysconf("SC_CLK_TCK")


class PgBench:
    """pgbench with its own tables beside ours; ``clients`` is the number at which it is fastest here."""

    def __init__(self, server):
        self._server = server
        self.clients = CLIENTS[-1]

    def prepare(self, seconds):
        """Fill the tables and find the best number of clients, as pgbench runs without being told otherwise."""
        self._server.ensure_database(DATABASE)
        self._run("-i", "-q", "-s", str(SCALE), "-I", "dtGvp")
        rates = {clients: self.rate(seconds, clients=clients) for clients in CLIENTS}
        self.clients = max(rates, key=rates.get)
        return rates

    def rate(self, seconds, *, mode="simple", clients=None):
        """Return transactions a second."""
        clients = str(clients or self.clients)
        out = self._run("-n", "-M", mode, "-c", clients, "-j", "2", "-T", str(max(1, round(seconds))))
        return float(re.search(r"tps = ([\d.]+)", out)[1])

    def measured(self, seconds, *, mode="simple"):
        """Return transactions a second and the processor time of one (us): the server's and pgbench's own."""
        servers, own = server_cpu_seconds(self._server), children_cpu_seconds()
        rate = self.rate(seconds, mode=mode)
        used = server_cpu_seconds(self._server) - servers + children_cpu_seconds() - own
        return rate, used / (rate * max(1, round(seconds))) * 1e6

    def _run(self, *arguments):
        server = self._server
        target = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres")
        done = subprocess.run(
            [str(server._programs / "pgbench"), *target, *arguments, DATABASE],
            env=os.environ | {"PGPASSWORD": server.password},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"pgbench failed: {done.stderr}")
        return done.stdout


def children_cpu_seconds():
    """Return the processor time of our children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds(pid):
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def server_cpu_seconds(server):
    """Return the processor time of a PostgreSQL server: of its children that live and of those that have ended."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    total = sum(map(int, fields[11:15])) / TICKS
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                child = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if child[1] == str(server.pid):
                total += (int(child[11]) + int(child[12])) / TICKS
    return total
