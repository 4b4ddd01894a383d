"""A pass as the contract tells it."""

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from services.wallet.reconcile.findings import CHECKS, Check, Report


def reconcile_response(report: Report) -> pb.ReconcileResponse:
    """Return every check with its first finding, if there is one."""
    return pb.ReconcileResponse(
        checks=[_check(report, check) for check in CHECKS],
        ledger_version=report.ledger_version,
        table_feed_cursor=report.cursor,
    )


def _check(report: Report, check: Check) -> pb.ReconcileCheck:
    first = report.first(check)
    told = pb.ReconcileCheck(name=check, holds=first is None, checked=report.checked[check])
    if first is not None:
        told.finding = first.text
        told.first_ledger_version = first.ledger_version
        told.account_id = first.account_id
    return told
