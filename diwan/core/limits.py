"""Every limit of the rules, with its reason."""

from typing import Final

SEATS_MAX: Final = 9
"""Seats of a poker table, a Sit & Go's too (RULES.md, table defaults)."""

PLAYERS_MIN: Final = 2
"""A hand needs somebody to play against."""

STACK_MAX: Final = 2**53
"""Chips in front of a seat: every client, also one whose numbers are doubles, reads them exactly."""

DECK_CARDS: Final = 52

DECISION_SECONDS_MAX: Final = 3600
"""A decision clock above an hour is a mistyped setting."""

OUTAGE_GRACE_MS: Final = 5_000
"""The least that an open decision has left after an outage of the room's own (O7)."""
