"""What an operator must look at: a line in the log, and a count that an alert can stand on."""

from typing import Final

import structlog
from prometheus_client import Counter

ALARMS: Final = Counter("diwan_alarms", "What an operator must look at.", ["kind"])

_log = structlog.get_logger(__name__)


def raise_alarm(kind: str, message: str) -> None:
    """Tell operations.

    Kinds: ``fork`` (store and bus disagree, or a feed shows other events than before), ``poison`` (a stream was set aside), ``shredding`` (old secrets remain),
    ``reconcile`` (the ledger does not add up), ``standing`` (a copy of a table was damaged, and left aside),
    ``index`` (a hand cannot be read for the index), ``draw`` (a tournament's draw waits for its secret).
    """
    ALARMS.labels(kind).inc()
    _log.error("alarm", kind=kind, message=message)
