"""Run the wallet, or do what only an operator may.

    python -m services.wallet                    serve until SIGTERM
    python -m services.wallet quarantined        list the tables that are set aside, and why
    python -m services.wallet release TABLE      apply what waits of a table, now that the cause is mended

The settings are the service's own, DIWAN_WALLET_DATABASE_URL and DIWAN_WALLET_TABLE_ADDRESS at least. A running wallet
need not be stopped for it.
"""

import sys

from diwan.chassis.following import run_following
from services.wallet.app import build, settlement_consumer
from services.wallet.settings import WalletSettings

if __name__ == "__main__":
    sys.exit(
        run_following(sys.argv[1:], WalletSettings, build, settlement_consumer, usage=__doc__ or "", applied="applied")
    )
