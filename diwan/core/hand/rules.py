"""Versions of the rules: a hand is always decided by the version that its first event names (DESIGN 3).

| version | what it changed |
| --- | --- |
| 1 | all odd chips of a pot went to the tied winner nearest left of the button |
| 2 | B4 as settled: one odd chip each, beginning there |
"""

from typing import Final

CURRENT_RULES_VERSION: Final = 2
SUPPORTED_RULES_VERSIONS: Final = frozenset({1, 2})


class UnknownRules(Exception):  # noqa: N818  (an answer: this program cannot say what those rules decide)
    """A hand names rules that this program does not know; whoever verifies it cannot say whether it is right."""

    def __init__(self, version: int) -> None:
        super().__init__(f"rules version {version} is unknown; known are {sorted(SUPPORTED_RULES_VERSIONS)}")
        self.version = version


def require_known(version: int) -> None:
    """Raise `UnknownRules` unless hands under this version can be decided."""
    if version not in SUPPORTED_RULES_VERSIONS:
        raise UnknownRules(version)


def odd_chips_go_round(version: int) -> bool:
    """Say whether odd chips are dealt out one each (B4, since version 2) or all to the first winner."""
    return version >= 2
