"""A hand's stored events as JSON, one event a line: everything the log says of it, in the log's own words.

With the exact bytes and hashes, unless names are pseudonyms: bytes would tell them, and a hash would lead to them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from diwan.core.cards import format_card
from diwan.core.fairness import Reveal
from diwan.core.log import LoggedEvent
from diwan.core.table.playing import PLAYED_EVENTS
from diwan.history.entries import Entry, Withheld
from diwan.history.exports.pseudonyms import PLAIN, Names
from diwan.history.exports.record import NOWHERE, About

FORMAT: Final = "diwan hand events 1"

LIMITS: Final = ("cards that the reader may not know, and in Capsa what others arranged",)
"""What this format cannot say of a hand."""

LIMITS_OF_PSEUDONYMS: Final = (
    "the stored bytes, hashes, commitments, seeds and proofs: they would lead back to the names",
    "what happened at the table between the hand's own events",
)
"""What is left out beside that where names are pseudonyms."""

_LEADING_BACK: Final = frozenset(
    ("secret_commitment", "next_commitment", "deck_root", "seeds", "digest", "hand_id", "sitting", "tournament_id")
)
"""Fields by which whoever has the register would find the hand, or its players."""


def hand_lines(
    stored: Sequence[LoggedEvent],
    entries: Sequence[Entry],
    extra: Iterable[Reveal] = (),
    about: About = NOWHERE,
    names: Names = PLAIN,
    *,
    hand_id: str,
) -> Iterator[str]:
    """Yield the hand as lines of JSON: its heading with the cards that were opened for the reader, then its events."""
    heading = {
        "format": FORMAT,
        "hand": names.hand(hand_id),
        "table": names.table(about.table_id),
        "table_name": names.table_name(about.table_name),
        "opened": [_reveal(reveal, names) for reveal in extra],
    }
    yield _json(heading)
    for logged, entry in zip(stored, entries, strict=True):
        if names.is_plain:
            yield _json(_plain(logged, entry))
        elif isinstance(entry.event, PLAYED_EVENTS):
            yield _json(_pseudonymous(entry, names))


def _plain(logged: LoggedEvent, entry: Entry) -> dict[str, Any]:
    return {
        "version": entry.version,
        "recorded_at_ms": entry.recorded_at_ms,
        "kind": _kind(entry),
        "event": None if isinstance(entry.event, Withheld) else _builtins(entry.event),
        "reveals": [_reveal(reveal, PLAIN) for reveal in entry.reveals],
        "stored": {
            "stream_id": logged.stream_id.hex(),
            "event_id": logged.event_id.hex(),
            "command_id": logged.command_id.hex(),
            "epoch": logged.epoch,
            "type_id": logged.type_id,
            "schema_version": logged.schema_v,
            "body": base64.b64encode(logged.body).decode(),
            "body_hash": logged.body_hash.hex(),
            "prev_hash": logged.prev_hash.hex(),
            "hash": logged.hash.hex(),
        },
    }


def _pseudonymous(entry: Entry, names: Names) -> dict[str, Any]:
    return {
        "version": entry.version,
        "recorded_at_ms": entry.recorded_at_ms,
        "kind": _kind(entry),
        "event": _renamed(_builtins(entry.event), names),
        "reveals": [_reveal(reveal, names) for reveal in entry.reveals],
    }


def _kind(entry: Entry) -> str:
    return entry.event.kind if isinstance(entry.event, Withheld) else type(entry.event).__name__


def _builtins(event: object) -> Any:
    made = msgspec.to_builtins(event)
    made.pop("type", None)
    return made


def _renamed(value: Any, names: Names) -> Any:
    """Return an event of a hand without what leads back, and its players under their pseudonyms."""
    if isinstance(value, dict):
        return {
            key: names.player(one) if key == "player" else _renamed(one, names)
            for key, one in value.items()
            if key not in _LEADING_BACK
        }
    return [_renamed(one, names) for one in value] if isinstance(value, list | tuple) else value


def _reveal(reveal: Reveal, names: Names) -> dict[str, Any]:
    told: dict[str, Any] = {"position": reveal.position, "card": format_card(reveal.card)}
    if names.is_plain:
        told |= {"salt": reveal.salt.hex(), "path": [one.hex() for one in reveal.path]}
    return told


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
