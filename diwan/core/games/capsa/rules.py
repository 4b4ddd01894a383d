"""Versions of the Capsa rules: a hand is always decided by the version that its first event names (DESIGN 3)."""

from typing import Final

from diwan.core.hand.rules import UnknownRules

CAPSA_RULES_VERSION: Final = 1
"""The first: capsa.md as it stands."""
SUPPORTED_CAPSA_RULES: Final = frozenset({1})


def require_known(version: int) -> None:
    """Raise `UnknownRules` unless hands under this version can be decided."""
    if version not in SUPPORTED_CAPSA_RULES:
        raise UnknownRules(version)
