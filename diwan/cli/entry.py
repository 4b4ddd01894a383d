"""Where the `diwan` program begins. Nothing is imported before a Ctrl-C can be answered with silence, not a traceback."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the `diwan` command."""
    try:
        from diwan.cli.main import app  # noqa: PLC0415 - importing takes a second, in which somebody may think again
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    app()
