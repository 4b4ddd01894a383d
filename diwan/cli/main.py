"""The `diwan` command: one sub-command a file."""

from __future__ import annotations

import stamina.instrumentation
import typer

from diwan.cli import (
    doctor,
    find,
    hands,
    looks,
    phh,
    play,
    prepare,
    register,
    scenarios,
    tables,
    token,
    tournaments,
    up,
    verify,
    witness,
)
from diwan.cli.demo.command import demo
from diwan.cli.exporting.command import export
from diwan.cli.histories.command import export_hands
from diwan.cli.reconcile.command import run as reconcile
from diwan.cli.replaying.command import replay
from diwan.cli.wallet import command as wallet

# What is tried again is the client library's business; a line for every attempt would stand in the middle of a game.
stamina.instrumentation.set_on_retry_hooks([])

app = typer.Typer(
    name="diwan",
    help="A card room whose register of events is the truth: play, replay, verify.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(phh.app, name="phh")
app.command("demo")(demo)
app.command("up")(up.up)
app.command("prepare")(prepare.prepare)
app.command("doctor")(doctor.doctor)
app.command("token")(token.token)
app.add_typer(tables.app, name="tables")
app.add_typer(tournaments.app, name="tournaments")
app.command("play")(play.play)
app.command("replay")(replay)
app.command("find")(find.find)
app.command("looks")(looks.looks)
app.command("export-hands")(export_hands)
app.add_typer(wallet.app, name="wallet")
app.command("reconcile")(reconcile)
app.command("hands")(hands.hands)
app.add_typer(register.app, name="register")
app.command("witness", add_help_option=False, context_settings=witness.CONTEXT)(witness.witness)
app.command("export")(export)
app.command("verify")(verify.verify)
