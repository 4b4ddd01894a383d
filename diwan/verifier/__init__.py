"""Offline verification of stored bytes: no network, no database, no trust in whoever kept them (DESIGN 7)."""

from diwan.verifier.hand import verify_hand
from diwan.verifier.opening import open_hand
from diwan.verifier.report import Report, Verdict
from diwan.verifier.stream import StreamReport, verify_stream

__all__ = ["Report", "StreamReport", "Verdict", "open_hand", "verify_hand", "verify_stream"]
