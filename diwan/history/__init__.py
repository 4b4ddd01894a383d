"""A hand read back from its log: steps in plain words, seen through somebody's eyes. Pure, and contains no rule."""

from diwan.history.entries import Batch, Entry, Reader, Withheld, batches, fold, hand_events
from diwan.history.lenses import own_positions
from diwan.history.steps import SeatLine, Step, hand_steps
from diwan.history.text import plain_text

__all__ = [
    "Batch",
    "Entry",
    "Reader",
    "SeatLine",
    "Step",
    "Withheld",
    "batches",
    "fold",
    "hand_events",
    "hand_steps",
    "own_positions",
    "plain_text",
]
