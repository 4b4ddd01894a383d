"""``diwan reconcile``: does everything add up, and if not, since which event."""

from __future__ import annotations

import json

import typer
from msgspec.structs import asdict

from diwan.cli.reconcile.gather import Checked, reconcile
from diwan.cli.running import DEFAULT_DATA, DataOption
from diwan.cli.tables import JsonOption, as_operator


def run(as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """Add the whole ledger up and hold it against the tables. Exits 1 naming the first event that breaks anything.

    The wallet folds its own events again and compares them with its books; then both feeds are read from their first
    event on and folded here, without the wallet's help.
    """
    found = as_operator(data, "reconcile", reconcile)
    for each in found:
        print(json.dumps(asdict(each), ensure_ascii=False) if as_json else line_of(each))
    if not all(each.holds for each in found):
        raise typer.Exit(1)
    if not as_json:
        print("Everything adds up.")


def line_of(checked: Checked) -> str:
    """Return one line for a person."""
    by = "the wallet" if checked.by == "wallet" else "its feed and the tables' feed"
    if checked.holds:
        return f"  holds  {checked.name}: {checked.detail} (by {by})"
    account = f" (account {checked.account_id})" if checked.account_id else ""
    return f"  FAULT  {checked.name}: {checked.where or 'no event'}: {checked.detail}{account} (by {by})"
