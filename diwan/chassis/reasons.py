"""The catalogue of reasons: each with its gRPC status code and its text in English and Arabic.

The entries stand in ``reasons.toml`` beside this module, so that a translator needs no Python.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import grpc
import msgspec

UNEXPLAINED: Final = "INTERNAL"
"""The entry for a reason that has none: a fault of ours, which a test finds before anybody else does."""

_OPTIONAL: Final = re.compile(r"\[([^\[\]]*)\]")
_FACT: Final = re.compile(r"\{([a-z_]+)\}")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reason: how a call ends with it, and what people read."""

    code: str
    en: str
    ar: str

    @property
    def status(self) -> grpc.StatusCode:
        """The status code that a call ends with."""
        return grpc.StatusCode[self.code]

    def facts(self) -> frozenset[str]:
        """Return the names of the facts that the texts may speak of."""
        return frozenset(_FACT.findall(self.en) + _FACT.findall(self.ar))


def _load() -> Mapping[str, Entry]:
    raw = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))
    return MappingProxyType(msgspec.convert(raw, dict[str, Entry]))


CATALOGUE: Final = _load()


def entry_of(reason: str) -> Entry:
    """Return the entry of a reason, or that of INTERNAL for one which nobody has explained."""
    return CATALOGUE.get(reason) or CATALOGUE[UNEXPLAINED]


def rendered(text: str, facts: Mapping[str, str]) -> str:
    """Return a text with its facts; an optional part with a missing fact is left out."""

    def part(match: re.Match[str]) -> str:
        inner = match.group(1)
        return inner if all(name in facts for name in _FACT.findall(inner)) else ""

    return _FACT.sub(lambda match: facts.get(match.group(1), "?"), _OPTIONAL.sub(part, text))
