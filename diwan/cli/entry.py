"""Where the `diwan` program begins. Nothing is imported before a Ctrl-C can be answered with silence, not a traceback."""

from __future__ import annotations

import io
import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the `diwan` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # What a terminal cannot write is a question mark, never a traceback.
    try:
        from diwan.cli.main import app  # noqa: PLC0415 - importing takes a second, time to think again
        from diwan.cli.running import program  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    app(prog_name=program())
