"""``diwan witness``: the witness's own program, under this name too."""

from __future__ import annotations

from typing import Final

import typer

from diwan.cli.running import program
from diwan.witness.program import main

CONTEXT: Final = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""The witness reads its own arguments: it can be run without anything of this command line, and is, elsewhere."""


def witness(context: typer.Context) -> None:
    """Sign a log's checkpoints as long as it only grows: init, run, show, trust, distrust, rotate, retire."""
    raise typer.Exit(main(context.args, prog=f"{program()} witness"))
