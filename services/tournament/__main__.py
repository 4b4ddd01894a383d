"""Run the tournament service, or do what only an operator may.

    python -m services.tournament                    serve until SIGTERM
    python -m services.tournament quarantined        list the tables whose events are set aside, and why
    python -m services.tournament release TABLE      report what waits of a table, now that the cause is mended

The settings are the service's own, DIWAN_TOURNAMENT_DATABASE_URL and DIWAN_TOURNAMENT_TABLE_ADDRESS at least. Before a
release the running service is stopped: the tournament must be ours to report to.
"""

import sys

from diwan.chassis.following import run_following
from services.tournament.app import build, operating
from services.tournament.settings import TournamentSettings

if __name__ == "__main__":
    sys.exit(run_following(sys.argv[1:], TournamentSettings, build, operating, usage=__doc__ or "", applied="reported"))
