"""Run the bots service: ``python -m services.bots``; settings from ``DIWAN_BOTS_*``."""

import sys

from diwan.chassis.service import run_service
from services.bots.app import build
from services.bots.settings import BotsSettings

if __name__ == "__main__":
    sys.exit(run_service(BotsSettings, build))
