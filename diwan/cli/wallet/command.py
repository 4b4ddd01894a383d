"""``diwan wallet``: accounts, statements and transfers; corrections by operators, each with its reason and its case."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from diwan.chassis.access import Role
from diwan.cli.running import DEFAULT_DATA, DataOption, as_role, first
from diwan.cli.tables import JsonOption, as_operator
from diwan.cli.wallet.telling import (
    account_facts,
    account_line,
    entry_facts,
    links,
    moment,
    tell_hold,
    tell_moved,
    tell_transfer,
)
from diwan.client import AccountName, DiwanClient, DiwanError, new_request_id

app = typer.Typer(
    help="Accounts, statements and transfers; corrections by operators. Chips are virtual and have no cash value.",
    no_args_is_help=True,
)

NameArgument = Annotated[
    str,
    typer.Argument(
        help="A player id, or KIND/OWNER: escrow/SITTING, issuance/PURPOSE, pool/TOURNAMENT, pot/TABLE, house, bots."
    ),
]
AsPlayerOption = Annotated[
    bool, typer.Option("--as-player", help="Ask as the player whose account it is, with a player's rights.")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; kept for ever.")]
CaseOption = Annotated[str, typer.Option("--case", help="The case that it belongs to; kept for ever.")]
IdOption = Annotated[
    str, typer.Option("--id", help="The transfer's id: repeat a command with it, and it takes effect once.")
]

KINDS: Final = ("player", "escrow", "issuance", "bots", "house", "pool", "pot")
"""Kinds of accounts, as they stand before the slash."""


def named(text: str) -> AccountName:
    """Return the account that a person means: without a kind, it is a player's."""
    kind, slash, owner = text.partition("/")
    if kind in KINDS and (slash or kind in {"house", "bots"}):
        return AccountName(kind, owner)
    return AccountName("player", text)


def because(reason: str, case: str) -> str:
    """Return reason and case as one text, where the contract has one place for both."""
    return f"{reason} (case {case})"


def looking[R](
    data: DataOption,
    command: str,
    name: str,
    work: Callable[[DiwanClient, AccountName | None], Coroutine[Any, Any, R]],
    *,
    as_player: bool,
) -> R:
    """Look at an account as an operator, or as the player whose it is and who names none."""
    account = named(name)
    if not as_player:
        return as_operator(data, command, lambda client: work(client, account))
    if account.kind != "player":
        raise typer.BadParameter("a player sees no account but the own one", param_hint="--as-player")
    return as_role(data, command, lambda client: work(client, None), Role.PLAYER, subject=account.owner)


def moving[R](
    data: DataOption,
    command: str,
    transfer_id: str,
    work: Callable[[DiwanClient, str], Coroutine[Any, Any, R]],
    *,
    player: str = "",
) -> R:
    """Do what has a transfer's id, as an operator or a player; where the outcome is not known, say how to ask again."""
    chosen = transfer_id or new_request_id()

    async def asked(client: DiwanClient) -> R:
        try:
            return await work(client, chosen)
        except DiwanError as error:
            if error.can_be_retried:
                typer.echo(f"Whether it took effect is not known. Repeat the command with --id {chosen}", err=True)
            raise

    return as_role(data, command, asked, Role.PLAYER, subject=player) if player else as_operator(data, command, asked)


@app.command()
def show(
    name: NameArgument,
    as_player: AsPlayerOption = False,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Show an account: what it holds, what is set aside, what can be spent."""

    async def work(client: DiwanClient, account: AccountName | None) -> Any:
        return await client.wallet.get_account(name=account)

    account = looking(data, "wallet show", name, work, as_player=as_player)
    if as_json:
        print(json.dumps(account_facts(account), ensure_ascii=False))
        return
    print(account_line(account))
    print(f"    account {account.account_id}, {account.version} entries")


@app.command("list")
def list_accounts(
    kind: Annotated[str, typer.Option(help="Only accounts of this kind.")] = "",
    closed: Annotated[bool, typer.Option("--closed", help="Also those that are closed.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """List accounts by their ids."""

    async def work(client: DiwanClient) -> list[Any]:
        return await first(limit, client.wallet.accounts(kind=kind, with_closed=closed, page_size=min(limit, 500)))

    for account in as_operator(data, "wallet list", work):
        print(json.dumps(account_facts(account), ensure_ascii=False) if as_json else account_line(account))


@app.command()
def statement(
    name: NameArgument,
    limit: Annotated[int, typer.Option(min=1, help="At most so many entries.")] = 20,
    as_player: AsPlayerOption = False,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """List an account's entries, newest first: amount, balance afterwards, what for, and the transfer."""

    async def work(client: DiwanClient, account: AccountName | None) -> list[Any]:
        return await first(limit, client.wallet.entries(name=account, page_size=min(limit, 500)))

    entries = looking(data, "wallet statement", name, work, as_player=as_player)
    if not entries and not as_json:
        print("No entries yet.")
    for entry in entries:
        if as_json:
            print(json.dumps(entry_facts(entry), ensure_ascii=False))
        else:
            print(
                f"{entry.version:>6}  {moment(entry.posted_at_ms)}  {entry.amount:>+12}  {entry.balance:>12}  {entry.code}"
            )
            print(f"        {entry.cause}{links(entry)}  transfer {entry.transfer_id}")


@app.command("find")
def find_transfer(
    transfer: Annotated[str, typer.Argument(help="The transfer's id.")],
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Show a transfer by its id: between which accounts, what for, and what took it back."""
    found = as_operator(data, "wallet find", lambda client: client.wallet.get_transfer(transfer))
    tell_transfer(found, as_json=as_json)


@app.command("hold")
def show_hold(
    hold: Annotated[str, typer.Argument(help="The hold's id.")],
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Show a hold by its id: what is set aside for what, and whether it is open or how it ended."""
    found = as_operator(data, "wallet hold", lambda client: client.wallet.get_hold(hold))
    tell_hold(found, as_json=as_json)


@app.command("balance-at")
def balance_at(
    name: NameArgument,
    at: Annotated[datetime, typer.Argument(help="The moment, UTC.")],
    as_player: AsPlayerOption = False,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Say what an account held at a moment, commits of that very moment included."""
    at_ms = int(at.replace(tzinfo=UTC).timestamp() * 1000)

    async def work(client: DiwanClient, account: AccountName | None) -> Any:
        return await client.wallet.balance_at(at_ms, name=account)

    found = looking(data, "wallet balance-at", name, work, as_player=as_player)
    facts = {"account": name, "at": moment(at_ms), "balance": found.balance, "version": found.version}
    print(json.dumps(facts, ensure_ascii=False) if as_json else f"{found.balance} chips after entry {found.version}")


@app.command()
def transfer(
    debit: Annotated[str, typer.Argument(metavar="FROM", help="The account that gives: a player, house, ...")],
    credit: Annotated[str, typer.Argument(metavar="TO", help="The account that takes.")],
    amount: Annotated[int, typer.Argument(min=1, help="Chips.")],
    reason: ReasonOption,
    case: CaseOption,
    code: Annotated[str, typer.Option(help="What it is for.")] = "adjustment",
    transfer_id: IdOption = "",
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Move chips between two accounts: what may go where is fixed by the ledger."""
    given = (named(debit), named(credit), amount)

    async def work(client: DiwanClient, chosen: str) -> dict[str, Any]:
        answer = await client.wallet.transfer(*given, code=code, cause=because(reason, case), transfer_id=chosen)
        return {"result": answer.result, "transfer": chosen, "accounts": [answer.debit, answer.credit]}

    tell_moved(moving(data, "wallet transfer", transfer_id, work), as_json=as_json)


@app.command()
def issue(
    player: Annotated[str, typer.Argument(help="The player.")],
    amount: Annotated[int, typer.Argument(min=1, help="Chips.")],
    reason: ReasonOption,
    case: CaseOption,
    transfer_id: IdOption = "",
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Bring new chips into play for a player, within the operators' limit of the day."""

    async def work(client: DiwanClient, chosen: str) -> dict[str, Any]:
        answer = await client.wallet.issue(player, amount, reason=because(reason, case), transfer_id=chosen)
        return {"result": answer.result, "transfer": chosen, "accounts": [answer.account]}

    tell_moved(moving(data, "wallet issue", transfer_id, work), as_json=as_json)


@app.command()
def reverse(
    transfer: Annotated[str, typer.Argument(help="The transfer to take back; each can be taken back once.")],
    reason: ReasonOption,
    case: CaseOption,
    transfer_id: IdOption = "",
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Take a transfer back by a new one that names it; the ledger keeps both."""

    async def work(client: DiwanClient, chosen: str) -> Any:
        return await client.wallet.reverse(transfer, reason=reason, case_id=case, transfer_id=chosen)

    answer = moving(data, "wallet reverse", transfer_id, work)
    if not as_json:
        print(f"{answer.result}: taken back by")
    tell_transfer(answer.transfer, as_json=as_json)


@app.command("top-up")
def top_up(
    player: Annotated[str, typer.Argument(help="The player.")],
    transfer_id: IdOption = "",
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Ask for the free top-up as the player would; how much, how often and below what is the house's policy."""

    async def work(client: DiwanClient, chosen: str) -> dict[str, Any]:
        answer = await client.wallet.top_up(transfer_id=chosen)
        return {"result": answer.result, "transfer": chosen, "accounts": [answer.account], "amount": answer.amount}

    tell_moved(moving(data, "wallet top-up", transfer_id, work, player=player), as_json=as_json)


@app.command()
def freeze(
    player: Annotated[str, typer.Argument(help="The player.")],
    reason: ReasonOption,
    case: CaseOption,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Freeze a player's account: it gives nothing, and gets no top-up and no reward; what is due to it still arrives."""
    account = as_operator(
        data, "wallet freeze", lambda client: client.wallet.freeze(player, reason=reason, case_id=case)
    )
    print(json.dumps(account_facts(account), ensure_ascii=False) if as_json else account_line(account))


@app.command()
def unfreeze(
    player: Annotated[str, typer.Argument(help="The player.")],
    reason: ReasonOption,
    case: CaseOption,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Set a frozen account free."""
    account = as_operator(
        data, "wallet unfreeze", lambda client: client.wallet.unfreeze(player, reason=reason, case_id=case)
    )
    print(json.dumps(account_facts(account), ensure_ascii=False) if as_json else account_line(account))


@app.command("void-hold")
def void_hold(
    hold: Annotated[str, typer.Argument(help="The hold's id.")],
    reason: ReasonOption,
    case: CaseOption,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Give a hold up: the chips that it set aside can be spent again."""
    result = as_operator(
        data, "wallet void-hold", lambda client: client.wallet.void_hold(hold, cause=because(reason, case))
    )
    print(json.dumps({"result": result, "hold": hold}) if as_json else result)
