"""Run the audit: ``python -m services.audit``; settings from ``DIWAN_AUDIT_*``."""

import sys

from diwan.chassis.service import run_service
from services.audit.app import build
from services.audit.settings import AuditSettings

if __name__ == "__main__":
    sys.exit(run_service(AuditSettings, build))
