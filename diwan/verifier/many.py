"""Several bundles at once: each by itself, and their checkpoints against each other's (P8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from diwan.core.transparency.checkpoint import Checkpoint
from diwan.core.transparency.policy import Policy
from diwan.verifier.bundle import verify_bundle
from diwan.verifier.bundle_report import BundleReport, finding, verdict_of
from diwan.verifier.register import forked


def verify_bundles(
    bundles: Iterable[tuple[str, Iterable[bytes]]], policy: Policy | None, *, seen: Sequence[Checkpoint] = ()
) -> tuple[BundleReport, ...]:
    """Verify bundles, each by its name and lines.

    One log that shows two roots of one size has forked: both bundles say so, whichever of the two is the true one.
    """
    reports: list[BundleReport] = []
    heads: dict[tuple[str, int], tuple[Checkpoint, int]] = {}
    for name, lines in bundles:
        report, own = verify_bundle(lines, policy, name=name, seen=seen)
        reports.append(report)
        for head in own:
            first, at = heads.setdefault((head.origin, head.size), (head, len(reports) - 1))
            if first.root != head.root and at != len(reports) - 1:
                for number in (at, len(reports) - 1):
                    reports[number] = _with_fork(reports[number], first, head)
    return tuple(reports)


def _with_fork(report: BundleReport, one: Checkpoint, other: Checkpoint) -> BundleReport:
    feed_id = next((each.feed_id for each in report.checkpoints if each.origin == one.origin), 0)
    findings = (finding(forked(one, other), feed_id=feed_id), *report.findings)
    return replace(report, findings=findings, verdict=verdict_of(findings))
