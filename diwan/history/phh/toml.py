"""The small part of TOML that histories need, written: numbers, texts, truth, and lists of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+").fullmatch


def toml_text(fields: Mapping[str, Any]) -> str:
    """Return ``key = value`` lines; raise TypeError for a value that has no place in a history."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in fields.items())


def _key(key: str) -> str:
    return key if _BARE_KEY(key) else _quoted(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case str():
            return _quoted(value)
        case _ if hasattr(value, "isoformat"):  # a time of day; this module knows no clock
            return str(value.isoformat())
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
        case _:
            raise TypeError(f"a history holds no {type(value).__name__}")


def _quoted(text: str) -> str:
    """TOML's basic strings escape what JSON's do, and DEL too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
