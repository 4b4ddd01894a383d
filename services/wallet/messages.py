"""What the wallet tells, as messages."""

from diwan.api.wallet.v1 import wallet_service_pb2 as pb
from diwan.core.ledger.books import Account
from services.wallet.projections import HoldNow, PostedTransfer, StatementLine


def account_message(account: Account, issuable: int = 0) -> pb.Account:
    """Return an account; of an issuance account ``issuable`` is what it may still issue today."""
    message = pb.Account()
    write_account(message, account, issuable)
    return message


def write_account(message: pb.Account, account: Account, issuable: int = 0) -> None:
    """Write an account into a message in place: an answer that holds accounts is built in half the time so."""
    message.account_id = account.account_id
    message.kind = account.kind
    message.owner = account.owner
    message.balance = account.balance
    message.version = account.version
    message.currency = account.currency
    message.available = issuable if account.kind == "issuance" else account.available
    if account.held:
        message.held = account.held
    if account.is_frozen:
        message.is_frozen = True
    if account.is_closed:
        message.is_closed = True
    if account.has_top_up_consent:
        message.has_top_up_consent = True


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


def hold_message(hold: HoldNow) -> pb.Hold:
    """Return a hold as it stands."""
    return pb.Hold(
        hold_id=hold.hold_id,
        debit_account_id=hold.debit_account,
        credit_account_id=hold.credit_account,
        amount=hold.amount,
        code=hold.code,
        cause=hold.cause,
        currency=hold.currency,
        expires_at_ms=hold.expires_at_ms,
        state=hold.state,
        posted=hold.posted,
        resolved_by=hold.resolved_by,
    )
