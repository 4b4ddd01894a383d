"""``diwan witness``: make a witness, run it, and show what it has signed."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from diwan.core.transparency.note import NoteMalformed
from diwan.witness.folder import Folder, WitnessError
from diwan.witness.serving import WitnessServer
from diwan.witness.witness import Witness

DEFAULT_LISTEN = "127.0.0.1:7370"


def main(arguments: Sequence[str], *, prog: str = "diwan witness") -> int:
    """Run the command; returns the exit code."""
    options = _parser(prog).parse_args(arguments)
    try:
        return int(options.run(options))
    except (WitnessError, NoteMalformed, OSError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 1


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Signs a log's checkpoints as long as it only grows.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, words: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=words, description=words)
        one.add_argument("folder", type=Path, help="the witness's folder")
        one.set_defaults(run=run)
        return one

    init = command("init", _init, "make a folder with a new key, and print the public one")
    init.add_argument("--name", required=True, help="a name of yours, such as auditor.example/witness")
    init.add_argument("--log", action="append", default=[], metavar="KEY", help="a log's public key; may be repeated")
    run = command("run", _run, "answer over HTTP until Ctrl-C")
    run.add_argument("--listen", default=DEFAULT_LISTEN, metavar="HOST:PORT", help=f"default {DEFAULT_LISTEN}")
    command("show", _show, "print the public key, and what was signed last of each log: size, root, origin")
    for name, run_it, words in (
        ("trust", _trust, "know a log's key from now on"),
        ("distrust", _distrust, "forget a log's key; what was signed last stays known"),
    ):
        command(name, run_it, words).add_argument("key", help="the log's public key")
    command("rotate", _rotate, "make a new key; the old one signs beside it until it is retired")
    command("retire", _retire, "destroy the older key")
    return parser


def _init(options: argparse.Namespace) -> int:
    folder = Folder(options.folder)
    key = folder.init(options.name)
    for log in options.log:
        folder.trust(log)
    print(key.verifier.text)
    return 0


def _show(options: argparse.Namespace) -> int:
    folder = Folder(options.folder)
    for number, key in enumerate(folder.signing_keys()):
        print(f"{'older key' if number else 'key'}  {key.verifier.text}")
    for head in folder.heads():
        print(f"head  {head.line}", end="")
    if evidence := folder.evidence():
        print(f"evidence  {len(evidence)} checkpoints that contradict these, in {options.folder / 'evidence'}")
    return 0


def _trust(options: argparse.Namespace) -> int:
    print(f"known: {Folder(options.folder).trust(options.key).name}")
    return 0


def _distrust(options: argparse.Namespace) -> int:
    Folder(options.folder).distrust(options.key)
    return 0


def _rotate(options: argparse.Namespace) -> int:
    print(Folder(options.folder).rotate().verifier.text)
    return 0


def _retire(options: argparse.Namespace) -> int:
    Folder(options.folder).retire()
    return 0


def _run(options: argparse.Namespace) -> int:
    host, colon, port = options.listen.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        raise WitnessError(f"--listen takes HOST:PORT, not {options.listen!r}")
    folder = Folder(options.folder)
    folder.hold()
    witness = Witness(folder, say=lambda what: print(what, file=sys.stderr, flush=True))
    stop = threading.Event()

    def stop_asked(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop_asked)
    with WitnessServer((host.strip("[]"), int(port)), witness) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
        serving.start()
        print(f"witness at {server.url}", file=sys.stderr, flush=True)
        stop.wait()
        server.shutdown()
        serving.join()
    return 0
