"""``diwan demo``: start a house, play, check every hand, say what was found."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from diwan.chassis.access import Role
from diwan.chassis.embedded.process import EmbeddedError
from diwan.cli.demo.checks import HandChecks, Result, check_audit, check_copies, check_hands, check_ledger
from diwan.cli.demo.evidence import Evidence, WalletTotals
from diwan.cli.demo.floor import play_and_check
from diwan.cli.demo.games import game_lines
from diwan.cli.demo.gather import NotSettledError, close_tables, everything_applied, gather, wallet_totals
from diwan.cli.demo.play import Count, open_tables, play_until
from diwan.cli.demo.registered import check_register, read_register
from diwan.cli.demo.story import hand_story
from diwan.cli.running import program
from diwan.cli.stack.stack import Stack, print_report, undisturbed
from diwan.client import DiwanClient, DiwanError, connect

DEMO_SETTINGS: Final = {
    "bots": {"think_ms_min": "0", "think_ms_max": "4"},
    "table": {},
}
PLAIN_LINE_SECONDS: Final = 2.0


def demo(
    hands: Annotated[int, typer.Option(min=1, max=100_000, help="Play at least so many hands.")] = 300,
    tables: Annotated[int, typer.Option(min=1, max=64, help="At so many tables, the games in turn.")] = 5,
    tournaments: Annotated[
        bool, typer.Option("--tournaments", help="Play a Sit & Go, a Spin and four tables to paid prizes instead.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the data in this new directory instead of removing it.")
    ] = None,
) -> None:
    """Run a whole house, play by bots over gRPC, then check every hand, chip, card and message. Exits 1 on any fault."""
    if keep is not None and keep.exists():
        raise typer.BadParameter(f"{keep} exists already: name a new directory", param_hint="--keep")
    # Also where a shell has started us in the background: what it starts there ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    data = keep or Path(tempfile.mkdtemp(prefix="diwan-demo-"))
    try:
        is_well = run_floor(data) if tournaments else run_demo(data, hands, tables)
    except (EmbeddedError, OSError) as error:
        typer.echo(f"diwan demo: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("\ninterrupted: everything that was started is stopped", err=True)
        raise typer.Exit(130) from None
    finally:
        if keep is None:
            with undisturbed():
                shutil.rmtree(data, ignore_errors=True)
    if not is_well:
        raise typer.Exit(1)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


async def _nothing(_stack: Stack) -> None:
    """Come between play and checks with nothing."""


def run_demo(
    data: Path, hands: int, tables: int, *, before_checks: Callable[[Stack], Awaitable[None]] = _nothing
) -> bool:
    """Run the demo in a data directory; returns whether every check holds.

    ``before_checks`` is awaited with the stack when play has ended: a test spoils something there.
    """
    console = Console(highlight=False)
    began = time.monotonic()
    console.print("Starting PostgreSQL, NATS, wallet, table, bots and audit on this machine ...")
    with Stack(data, report=_quiet_report, overrides=DEMO_SETTINGS) as stack:
        console.print(f"Open after {time.monotonic() - began:.1f} s. {tables} tables, filled with bots:")
        try:
            return asyncio.run(_play_and_check(stack, hands, tables, console, before_checks))
        except (DiwanError, NotSettledError) as error:
            console.print(f"FAULT {error}", style="bold red")
            console.print(f"The services' own words: {_last_words(stack)}")
            return False
        except KeyboardInterrupt:
            typer.echo("\nstopping ...", err=True)
            raise


def run_floor(data: Path) -> bool:
    """Play tournaments in a data directory and check them; returns whether every check holds."""
    console = Console(highlight=False)
    began = time.monotonic()
    console.print("Starting PostgreSQL, NATS, wallet, table, tournament, bots and audit on this machine ...")
    with Stack(data, report=_quiet_report, overrides=DEMO_SETTINGS) as stack:
        console.print(f"Open after {time.monotonic() - began:.1f} s. A Sit & Go, a Spin and an evening at four tables:")
        try:
            is_well = asyncio.run(play_and_check(stack, console))
        except (DiwanError, NotSettledError, TimeoutError) as error:
            console.print(f"FAULT {error!r}", style="bold red")
            console.print(f"The services' own words: {_last_words(stack)}")
            return False
    console.print("Everything holds." if is_well else "Something does not hold: see FAULT above.")
    return is_well


def _quiet_report(name: str, what: str) -> None:
    if what != "starting":
        print_report(name, what)


async def _play_and_check(
    stack: Stack, hands: int, tables: int, console: Console, before_checks: Callable[[Stack], Awaitable[None]]
) -> bool:
    token = stack.token("demo", Role.OPERATOR)
    async with connect(stack.places.services, token) as client:
        table_ids = await open_tables(client, tables)
        with _progress(console, hands) as show:
            count = await play_until(client, table_ids, hands, show)
        totals = [await wallet_totals(client)]  # in mid-play: chips are on the tables
        await close_tables(client, table_ids)
        await everything_applied(client)
        await before_checks(stack)
        console.print("\nPlay is over. Reading everything back and checking it:")
        return await _check(client, stack, totals, count, console)


async def _check(client: DiwanClient, stack: Stack, totals: list[WalletTotals], count: Count, console: Console) -> bool:
    evidence = await gather(client, stack, totals)
    policy, registered = await read_register(client, stack)
    checked = await asyncio.to_thread(check_hands, evidence)
    results = [
        *(*checked.results, check_ledger(evidence), check_copies(evidence), check_audit(evidence, checked.hands)),
        check_register(policy, registered),
    ]
    for result in results:
        _print_result(console, result)
    console.print()
    for line in game_lines(evidence):
        console.print(line, soft_wrap=True)
    is_well = all(result.holds for result in results)
    if is_well:
        _print_story(console, evidence)
    _print_summary(console, checked, count, is_well=is_well)
    return is_well


def _print_result(console: Console, result: Result) -> None:
    if result.holds:
        console.print(f"  [green]holds[/green]  {result.name}: {result.detail}", soft_wrap=True)
    else:
        console.print(f"  [bold red]FAULT[/bold red]  {result.name}")
        console.print(f"         {result.at_fault}: {result.detail}", markup=False)


def _print_story(console: Console, evidence: Evidence) -> None:
    console.print("\nOne hand, step by step:\n")
    for line in hand_story(evidence):
        console.print(line, markup=False, soft_wrap=True)


def _print_summary(console: Console, checked: HandChecks, count: Count, *, is_well: bool) -> None:
    console.print(
        f"\n{checked.hands} hands, {checked.acts} acts; played at {count.hands / count.seconds:.0f} hands/s and "
        f"{count.actions / count.seconds:.0f} actions/s, every action durable before it was told.",
        soft_wrap=True,
    )
    if is_well:
        console.print("Everything holds.")
        console.print(f"Go on with:  {program()} up    (a house that stays; then the tour in README.md)")
    else:
        console.print("Something does not hold: see FAULT above.", style="bold red")


def _progress(console: Console, hands: int) -> AbstractContextManager[Callable[[Count], None]]:
    return _Bar(console, hands) if console.is_terminal else nullcontext(_Lines(console, hands))


class _Bar(AbstractContextManager[Callable[[Count], None]]):
    """A bar on a terminal."""

    def __init__(self, console: Console, hands: int) -> None:
        columns: tuple[Any, ...] = (
            TextColumn("  hands"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[actions]} actions"),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=console)
        self._task = self._bar.add_task("hands", total=hands, actions=0)

    def __enter__(self) -> Callable[[Count], None]:
        self._bar.start()
        return lambda count: self._bar.update(self._task, completed=count.hands, actions=count.actions)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


class _Lines:
    """A plain line now and then where nobody sees a bar."""

    def __init__(self, console: Console, hands: int) -> None:
        self._console = console
        self._hands = hands
        self._next = 0.0
        self._is_enough = False

    def __call__(self, count: Count) -> None:
        now, is_enough = time.monotonic(), count.hands >= self._hands
        if now >= self._next or is_enough > self._is_enough:
            self._is_enough = is_enough
            self._next = now + PLAIN_LINE_SECONDS
            self._console.print(f"  {count.hands} of {self._hands} hands, {count.actions} actions")


def _last_words(stack: Stack) -> str:
    return "".join(f"\n{service}: {stack.log_tail(service)}" for service in stack.services)
