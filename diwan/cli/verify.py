"""``diwan verify FILE...``: bundles checked with no network and no trust but the keys that are given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from diwan.core.transparency.checkpoint import Checkpoint, parse_checkpoint
from diwan.core.transparency.note import KeyType, NoteMalformed, VerifierKey, parse_note, parse_vkey
from diwan.core.transparency.policy import Policy, k_of_n, parse_policy
from diwan.history.bundle import LINE_BYTES_MAX
from diwan.signing.notekey import read_vkeys
from diwan.verifier.bundle_report import BundleReport
from diwan.verifier.many import verify_bundles
from diwan.verifier.report import Report, Verdict

EXIT_CODES: Final = {Verdict.VERIFIED: 0, Verdict.NOT_VERIFIED: 1, Verdict.CANNOT_SAY: 2}

KEPT: Final = ".checkpoint"

_WORDS: Final = {
    Verdict.VERIFIED: "verified",
    Verdict.NOT_VERIFIED: "NOT VERIFIED",
    Verdict.CANNOT_SAY: "cannot say",
}


def verify(
    files: Annotated[
        list[Path], typer.Argument(help="Bundles, as `diwan export` writes them.", exists=True, dir_okay=False)
    ],
    key: Annotated[
        list[str] | None, typer.Option(help="A public key that you trust (NAME+ID+KEY), or a file of them, one a line.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="Whom you trust, as a file: logs, witnesses, how many of them.", exists=True, dir_okay=False),
    ] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(help="A checkpoint that you have from elsewhere; it must fit.", exists=True, dir_okay=False),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="A folder of checkpoints: those in it must fit, those of verified bundles are added.", file_okay=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, an object a bundle.")] = False,
) -> None:
    """Check bundles offline. Exit 0: all verified; 1: something does not hold; 2: something needed is missing.

    Give the keys yourself, from a source other than the bundle: a checkpoint that is signed by a key of its own maker
    proves nothing.
    """
    trusted = _policy(key or [], policy)
    kept = sorted(keep.glob(f"*{KEPT}")) if keep is not None and keep.is_dir() else []
    seen = [_checkpoint(path) for path in (*(checkpoint or []), *kept)]
    reports = verify_bundles(((str(path), lines_of_file(path)) for path in files), trusted, seen=seen)
    for report in reports:
        print(json.dumps(as_builtins(report)) if as_json else "\n".join(map(_clean, text_of(report))))
    if keep is not None:
        _keep(keep, reports)
    raise typer.Exit(EXIT_CODES[worst(reports)])


def _keep(folder: Path, reports: Sequence[BundleReport]) -> None:
    """Put the newest checkpoint of each log into the folder; older ones are proved to be its beginning."""
    folder.mkdir(parents=True, exist_ok=True)
    for report in reports:
        for one in report.checkpoints if report.is_verified else ():
            name = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in one.origin)
            path = folder / f"{name}{KEPT}"
            if not path.exists() or _checkpoint(path).size < one.size:
                path.write_text(one.note, "utf-8")


def worst(reports: Sequence[BundleReport]) -> Verdict:
    """Return the verdict on all of several bundles."""
    verdicts = {report.verdict for report in reports}
    return next(
        (one for one in (Verdict.NOT_VERIFIED, Verdict.CANNOT_SAY) if one in verdicts),
        Verdict.VERIFIED,
    )


def lines_of_file(path: Path) -> Iterator[bytes]:
    """Yield a file's lines, none of them longer than the reader of bundles looks at."""
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES_MAX + 1):
            yield line


def _policy(keys: Sequence[str], path: Path | None) -> Policy | None:
    if path is not None and keys:
        raise typer.BadParameter("a policy or keys, not both", param_hint="--policy")
    try:
        if path is not None:
            return parse_policy(path.read_text("utf-8"))
        found = [one for text in keys for one in _keys(text)]
        if not found:
            return None
        logs = [one for one in found if one.kind == KeyType.ED25519]
        witnesses = {one.name: one for one in found if one.kind == KeyType.COSIGNATURE_V1}
        return k_of_n(logs, witnesses, len(witnesses))
    except (NoteMalformed, UnicodeDecodeError, OSError) as error:
        raise typer.BadParameter(str(error), param_hint="--policy" if path else "--key") from None


def _keys(text: str) -> list[VerifierKey]:
    return [parse_vkey(text)] if "+" in text and not Path(text).exists() else read_vkeys(Path(text))


def _checkpoint(path: Path) -> Checkpoint:
    try:
        return parse_checkpoint(parse_note(path.read_bytes()).text)
    except NoteMalformed as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint="--checkpoint") from None


def as_builtins(report: BundleReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    made: dict[str, Any] = msgspec.to_builtins(report)
    for one, told in zip(report.findings, made["findings"], strict=True):
        told["place"] = one.place
    return made


def text_of(report: BundleReport) -> Iterator[str]:
    """Yield a report as lines for a person: the verdict first, and why, then what was looked at."""
    lens = report.lens if report.seat is None else f"seat {report.seat}"
    about = f"{report.about} {report.subject}, as {lens}" if report.about else "no bundle"
    yield f"{report.name}: {_WORDS[report.verdict]} ({about})"
    for one in report.findings:
        yield f"  {_WORDS[one.verdict]}: {one.text}"
    for checkpoint in report.checkpoints:
        signed = f"signed by {checkpoint.log_key.split('+')[0]}" if checkpoint.log_key else "signed by nobody you trust"
        cosigned = f", cosigned by {', '.join(checkpoint.witnesses)}" if checkpoint.witnesses else ""
        yield f"  register: {checkpoint.origin}, {checkpoint.size} entries, {signed}{cosigned}"
    if report.about:
        own = (
            "all cards, by the hands' secrets" if report.lens == "auditor" else f"{report.own_cards} cards of the lens"
        )
        yield f"  {report.events} events stand in it; {report.postings} transfers; {own}"
    if report.commands:
        yield f"  {report.commands} commands of the table decided again from its first event on, between hands too"
    if report.draws:
        multiplier = f"; its multiplier is {report.multiplier}" if report.multiplier else ""
        yield f"  {report.draws} draws of the tournament made again from the secrets that were committed to{multiplier}"
    for hand in report.hands if len(report.hands) < _HANDS_TOLD else ():
        yield f"  {_hand_text(hand)}"
    if len(report.hands) >= _HANDS_TOLD:
        yield f"  {sum(hand.is_verified for hand in report.hands)} of {len(report.hands)} hands hold"


_HANDS_TOLD: Final = 20


def _clean(line: str) -> str:
    """A bundle's maker wrote some of these words: nothing in them may steer a terminal, or turn a line around."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)


def _hand_text(hand: Report) -> str:
    parts = [
        f"hand {hand.hand_id} (number {hand.hand_no}): {_WORDS[hand.verdict]}",
        f"{hand.acts} acts decided again",
        f"{hand.reveals} cards proved",
        f"seeds of seats {_seats(hand.contributed)}",
    ]
    if hand.absent:
        parts.append(f"none of seats {_seats(hand.absent)}")
    if hand.secrets > 1:
        parts.append(f"a secret was committed to {hand.secrets} times")
    if hand.unseen:
        parts.append(f"taken at the log's word: what hangs on the cards of seats {_seats(hand.unseen)} alone")
    if hand.withheld:
        parts.append(f"{len(hand.withheld)} events of setting withheld")
    return "; ".join(parts)


def _seats(seats: Sequence[int]) -> str:
    return ", ".join(map(str, seats)) or "nobody"
