"""Run the tournament service, or do what only an operator may.

    python -m services.tournament                    serve until SIGTERM
    python -m services.tournament quarantined        list the tables whose events are set aside, and why
    python -m services.tournament release TABLE      report what waits of a table, now that the cause is mended

The settings are the service's own, DIWAN_TOURNAMENT_DATABASE_URL and DIWAN_TOURNAMENT_TABLE_ADDRESS at least. Before a
release the running service is stopped: the tournament must be ours to report to.
"""

import asyncio
import sys
from uuid import UUID

from diwan.chassis.service import run_service
from services.tournament.app import build, operating
from services.tournament.settings import TournamentSettings

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2


async def quarantined(settings: TournamentSettings) -> int:
    """Print a line for every table that is set aside."""
    async with operating(settings) as consumer:
        for one in await consumer.quarantined():
            sys.stdout.write(f"{one.stream_id} {one.events} events from {one.first_seq}: {one.error}\n")
    return EXIT_OK


async def release(settings: TournamentSettings, table_id: UUID) -> int:
    """Report what was set aside of a table, in order; what still fails stays set aside."""
    async with operating(settings) as consumer:
        try:
            events = await consumer.release(table_id)
        except Exception as error:
            sys.stderr.write(f"table {table_id} stays set aside: {error!r}\n")
            return EXIT_FAILED
    sys.stdout.write(f"table {table_id}: {events} events reported\n")
    return EXIT_OK


def main(arguments: list[str]) -> int:
    """Do what the arguments say; returns the process's exit code."""
    match arguments:
        case []:
            return run_service(TournamentSettings, build)
        case ["quarantined"] | ["release", _]:
            try:
                settings, table = TournamentSettings(), UUID(arguments[1]) if arguments[1:] else None
                return asyncio.run(quarantined(settings) if table is None else release(settings, table))
            except ValueError as error:
                sys.stderr.write(f"{error}; settings are those of the service, DIWAN_TOURNAMENT_<NAME>\n")
                return EXIT_USAGE
        case _:
            sys.stderr.write(__doc__ or "")
            return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
