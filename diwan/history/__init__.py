"""A hand read back from its log: steps in plain words, seen through somebody's eyes. Pure, and contains no rule."""

from diwan.history.entries import Batch, Entry, Reader, Withheld, batches, fold, hand_events
from diwan.history.lenses import own_positions
from diwan.history.moments import Clock, Happened, Moment, hand_moments
from diwan.history.steps import SeatLine, Step, hand_steps
from diwan.history.text import plain_text

__all__ = [
    "Batch",
    "Clock",
    "Entry",
    "Happened",
    "Moment",
    "Reader",
    "SeatLine",
    "Step",
    "Withheld",
    "batches",
    "fold",
    "hand_events",
    "hand_moments",
    "hand_steps",
    "own_positions",
    "plain_text",
]
