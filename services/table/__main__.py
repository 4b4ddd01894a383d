"""Run the table service: ``python -m services.table``; settings from ``DIWAN_TABLE_*``."""

import sys

from diwan.chassis.service import run_service
from services.table.app import build
from services.table.settings import TableSettings

if __name__ == "__main__":
    sys.exit(run_service(TableSettings, build))
