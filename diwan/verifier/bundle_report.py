"""What was found about a bundle."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from diwan.verifier.report import Fault, Report, Rule, Verdict

TEXT_MAX: Final = 2_000
"""Longer words of what was expected and found are cut: some of them are the bundle's own."""


class Finding(Struct, frozen=True):
    """One thing that does not hold, or that is missing, with its place as far as it has one.

    ``line`` is the line of the file, ``version`` the event's number in its stream, ``global_seq`` its number in the
    feed; 0 and "" where there is none.
    """

    verdict: Verdict
    rule: Rule
    expected: str
    found: str
    line: int = 0
    hand_id: str = ""
    feed_id: int = 0
    stream_id: str = ""
    version: int = 0
    global_seq: int = 0

    @property
    def place(self) -> str:
        """Where it is, in words."""
        parts = []
        if self.hand_id:
            parts.append(f"hand {self.hand_id}")
        if self.version:
            parts.append(f"event {self.version} of stream {self.stream_id}")
        if self.global_seq:
            parts.append(f"number {self.global_seq} of feed {self.feed_id}")
        elif self.feed_id and not self.version:
            parts.append(f"feed {self.feed_id}")
        if self.line:
            parts.append(f"line {self.line}")
        return ", ".join(parts) or "the file"

    @property
    def text(self) -> str:
        """Rule, place, expected and found in one line."""
        return f"{self.rule} at {self.place}: expected {self.expected}, found {self.found}"


def finding(fault: Fault, **place: int | str) -> Finding:
    """Return a fault with its place."""
    expected, found = (text[:TEXT_MAX] for text in (fault.expected, fault.found))
    return Finding(fault.verdict, fault.rule, expected, found, **place)  # type: ignore[arg-type]  # fields by name


class CheckpointReport(Struct, frozen=True):
    """A checkpoint of the bundle and who signed it, as far as the policy knows them.

    ``root`` is in hexadecimal, ``note`` the signed note as it stands in the bundle.
    """

    feed_id: int
    origin: str
    size: int
    root: str
    log_key: str
    witnesses: tuple[str, ...]
    note: str


class BundleReport(Struct, frozen=True):
    """What was found about a bundle: verified where nothing was found; else the first finding comes first.

    ``seat`` is whose eyes a bundle of the lens "seat" has. ``postings`` counts transfers of the wallet that hold, ``events`` those
    whose place in the register was proved,
    ``own_cards`` cards of the lens, ``draws`` a tournament's draws that were made again, ``multiplier`` is a Spin's. ``commands`` of a
    table were decided again from its first event on, those between its hands too; 0 where not all of it could be. ``hands`` has a report for each hand that the bundle tells.
    """

    verdict: Verdict
    name: str
    about: str = ""
    subject: str = ""
    lens: str = ""
    seat: int | None = None
    house: str = ""
    checkpoints: tuple[CheckpointReport, ...] = ()
    hands: tuple[Report, ...] = ()
    findings: tuple[Finding, ...] = ()
    events: int = 0
    postings: int = 0
    own_cards: int = 0
    draws: int = 0
    multiplier: int = 0
    commands: int = 0

    @property
    def is_verified(self) -> bool:
        """True where everything that can be checked holds."""
        return self.verdict is Verdict.VERIFIED


def verdict_of(findings: tuple[Finding, ...]) -> Verdict:
    """Return the worst: something wrong goes before something missing."""
    verdicts = {one.verdict for one in findings}
    for verdict in (Verdict.NOT_VERIFIED, Verdict.CANNOT_SAY):
        if verdict in verdicts:
            return verdict
    return Verdict.VERIFIED
