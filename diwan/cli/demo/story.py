"""One hand of the demo, told step by step from its log."""

from __future__ import annotations

from collections.abc import Iterator

from diwan.cli.demo.evidence import Evidence
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import CardsShown, HandEnded, HandStarted
from diwan.core.log import LoggedEvent
from diwan.history.entries import Entry
from diwan.history.steps import hand_steps
from diwan.history.text import plain_lines
from diwan.wire.events import decode, is_table_event


def hand_story(evidence: Evidence) -> Iterator[str]:
    """Yield the lines of the liveliest hand that went to a showdown: the one with the most events."""
    hands = [hand for _, events in evidence.streams() for hand in _hands(events)]
    shown = [hand for hand in hands if any(isinstance(entry.event, CardsShown) for entry in hand)]
    best = max(shown or hands, key=len, default=[])
    return plain_lines(hand_steps(best))


def _hands(events: list[LoggedEvent]) -> Iterator[list[Entry]]:
    hand: list[Entry] | None = None
    for logged in events:
        if logged.body_hash:  # A look at hidden cards, which is for auditors.
            continue
        decoded = decode(logged.type_id, logged.schema_v, logged.body)
        event = decoded.event
        if not is_table_event(event):
            raise TypeError("an event of no table in a table's stream")
        entry = Entry(logged.version, logged.recorded_at_ms, logged.command_id, event, decoded.reveals)
        if isinstance(entry.event, HandStarted | CapsaStarted):
            hand = []
        if hand is not None:
            hand.append(entry)
        if isinstance(entry.event, HandEnded) and hand is not None:
            yield hand
            hand = None
