"""What the wallet tells, as messages."""

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.core.ledger.books import Account
from services.wallet.projections import PostedTransfer, StatementLine


def account_message(account: Account, issuable: int = 0) -> pb.Account:
    """Return an account; of an issuance account ``issuable`` is what it may still issue today."""
    available = issuable if account.kind == "issuance" else account.available
    return pb.Account(
        account_id=account.account_id,
        kind=account.kind,
        owner=account.owner,
        balance=account.balance,
        version=account.version,
        currency=account.currency,
        held=account.held,
        available=available,
        is_frozen=account.is_frozen,
        is_closed=account.is_closed,
        has_top_up_consent=account.has_top_up_consent,
    )


def entry_message(line: StatementLine) -> pb.Entry:
    """Return an entry of a statement."""
    return pb.Entry(
        version=line.version,
        transfer_id=line.transfer_id,
        amount=line.amount,
        previous_balance=line.previous_balance,
        balance=line.balance,
        code=line.code,
        cause=line.cause,
        posted_at_ms=line.posted_at_ms,
        other_account_id=line.other_account,
        hold_id=line.hold_id,
        reverses=line.reverses,
    )


def transfer_message(posted: PostedTransfer) -> pb.Transfer:
    """Return a transfer as it stands."""
    return pb.Transfer(
        transfer_id=posted.transfer_id,
        debit_account_id=posted.debit_account,
        credit_account_id=posted.credit_account,
        amount=posted.amount,
        code=posted.code,
        cause=posted.cause,
        currency=posted.currency,
        posted_at_ms=posted.posted_at_ms,
        hold_id=posted.hold_id,
        reverses=posted.reverses,
        reversed_by=posted.reversed_by,
    )
