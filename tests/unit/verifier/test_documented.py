"""The page that auditors read names every rule, and says of each whether something is wrong or missing."""

from __future__ import annotations

import re
from pathlib import Path

from diwan.verifier.report import Fault, Rule, Verdict

PAGE = Path(__file__).parents[3] / "docs" / "auditing" / "verdicts.md"


def test_every_rule_is_explained_with_its_verdict():
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(rows) == {rule.value for rule in Rule}
    for rule in Rule:
        is_missing = Fault(rule, 1, "", "").verdict is Verdict.CANNOT_SAY
        assert rows[rule.value].startswith("cannot say") is is_missing, rule
