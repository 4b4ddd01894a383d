"""What ``diwan wallet`` prints: for people a line or two, for programs an object a line."""

from __future__ import annotations

import json
import time
from typing import Any

from diwan.cli.running import program


def moment(at_ms: int) -> str:
    """Return a time as people read it, UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_ms / 1000))


def links(entry: Any) -> str:
    """Return what a transfer resolves or takes back."""
    hold = f"  hold {entry.hold_id}" if entry.hold_id else ""
    return f"{hold}  takes back {entry.reverses}" if entry.reverses else hold


def account_facts(account: Any) -> dict[str, Any]:
    """Return an account for programs."""
    return {
        "account": account.account_id,
        "kind": account.kind,
        "owner": account.owner,
        "balance": account.balance,
        "held": account.held,
        "available": account.available,
        "version": account.version,
        "currency": account.currency,
        "is_frozen": account.is_frozen,
        "is_closed": account.is_closed,
        "has_top_up_consent": account.has_top_up_consent,
    }


def account_line(account: Any) -> str:
    """Return an account for people."""
    marks = [word for word, is_so in (("frozen", account.is_frozen), ("closed", account.is_closed)) if is_so]
    held = f", {account.held} of them set aside" if account.held else ""
    name = account.owner if account.owner == account.kind else f"{account.kind}/{account.owner}"
    return f"{name}  {account.balance} chips{held}{''.join(f', {mark}' for mark in marks)}"


def entry_facts(entry: Any) -> dict[str, Any]:
    """Return an entry for programs."""
    return {
        "version": entry.version,
        "transfer": entry.transfer_id,
        "posted": moment(entry.posted_at_ms),
        "amount": entry.amount,
        "previous_balance": entry.previous_balance,
        "balance": entry.balance,
        "code": entry.code,
        "cause": entry.cause,
        "other_account": entry.other_account_id,
        "hold": entry.hold_id,
        "reverses": entry.reverses,
    }


def tell_transfer(transfer: Any, *, as_json: bool) -> None:
    """Print a transfer."""
    if as_json:
        facts = {
            "transfer": transfer.transfer_id,
            "debit": transfer.debit_account_id,
            "credit": transfer.credit_account_id,
            "amount": transfer.amount,
            "code": transfer.code,
            "cause": transfer.cause,
            "posted": moment(transfer.posted_at_ms),
            "hold": transfer.hold_id,
            "reverses": transfer.reverses,
            "reversed_by": transfer.reversed_by,
        }
        print(json.dumps(facts, ensure_ascii=False))
        return
    taken = f"  taken back by {transfer.reversed_by}" if transfer.reversed_by else ""
    print(f"transfer {transfer.transfer_id}  {moment(transfer.posted_at_ms)}  {transfer.amount} chips  {transfer.code}")
    print(f"    from account {transfer.debit_account_id} to account {transfer.credit_account_id}")
    print(f"    {transfer.cause}{links(transfer)}{taken}")


def tell_hold(hold: Any, *, as_json: bool) -> None:
    """Print a hold."""
    if as_json:
        facts = {
            "hold": hold.hold_id,
            "debit": hold.debit_account_id,
            "credit": hold.credit_account_id,
            "amount": hold.amount,
            "code": hold.code,
            "cause": hold.cause,
            "expires": moment(hold.expires_at_ms),
            "state": hold.state,
            "posted": hold.posted,
            "resolved_by": hold.resolved_by,
        }
        print(json.dumps(facts, ensure_ascii=False))
        return
    ended = {
        "posted": f", {hold.posted} chips by transfer {hold.resolved_by}",
        "open": ", until it is posted or voided",
    }
    print(f"hold {hold.hold_id}  {hold.amount} chips  {hold.code}  {hold.state}{ended.get(hold.state, '')}")
    print(f"    from account {hold.debit_account_id} for account {hold.credit_account_id}")
    print(f"    {hold.cause}  expires {moment(hold.expires_at_ms)}")


def tell_moved(done: dict[str, Any], *, as_json: bool) -> None:
    """Print what became of a transfer, and the accounts afterwards."""
    if as_json:
        print(json.dumps(done | {"accounts": [account_facts(each) for each in done["accounts"]]}, ensure_ascii=False))
        return
    print(f"{done['result']}: transfer {done['transfer']}")
    for account in done["accounts"]:
        print(f"    {account_line(account)}")
    if done["result"] == "created":
        print(f"Take it back with: {program()} wallet reverse {done['transfer']} --reason REASON --case CASE")
