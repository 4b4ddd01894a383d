"""Poker Hand History (PHH 0.0.2), the researchers' format: read, replayed through the rules, compared, written.

Hold'em at no limit (``NT``) and pot-limit Omaha (``PO``) are the two of its games that are played here.
"""

from diwan.history.phh.check import Comparison, Verdict, check_hand
from diwan.history.phh.hand import NotCovered, PhhError, PhhHand
from diwan.history.phh.read import Document, read_documents, read_hand
from diwan.history.phh.replay import Replay, replay_hand, start_of
from diwan.history.phh.toml import toml_text
from diwan.history.phh.write import CANNOT_SAY, Export, export_hand

__all__ = [
    "CANNOT_SAY",
    "Comparison",
    "Document",
    "Export",
    "NotCovered",
    "PhhError",
    "PhhHand",
    "Replay",
    "Verdict",
    "check_hand",
    "export_hand",
    "read_documents",
    "read_hand",
    "replay_hand",
    "start_of",
    "toml_text",
]
