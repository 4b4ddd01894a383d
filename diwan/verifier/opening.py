"""With the secret in hand: the whole deck of a hand, held against everything that its log says of it (F5)."""

from __future__ import annotations

from collections.abc import Iterable

from diwan.core.fairness import Opening, Reveal, verify_opening
from diwan.core.hand.events import HandStarted, Seat
from diwan.core.log import LoggedEvent
from diwan.core.table.events import SeedsCommitted
from diwan.verifier.chain import LogReader
from diwan.verifier.report import Fault, Rule


def open_hand(events: Iterable[LoggedEvent], hand_id: str, secret: bytes) -> Opening:
    """Recompute a hand's deck from its secret; ``events`` as for `verify_hand`.

    Raises `Fault` where the events do not hold together or do not tell of the hand.
    """
    reader = LogReader()
    started: HandStarted | None = None
    commitments: dict[int, dict[Seat, bytes]] = {}
    reveals: list[Reveal] = []
    for event in events:
        entry = reader.read_entry(event)
        match entry.event:
            case SeedsCommitted(hand_no=hand_no, commitments=committed):
                commitments[hand_no] = {one.seat: one.commitment for one in committed}
            case HandStarted() if entry.event.hand_id == hand_id:
                started = entry.event
            case HandStarted() if started is not None:
                break
            case _ if started is not None:
                reveals.extend(entry.reveals)
    if started is None:
        raise Fault(Rule.HAND_NOT_FOUND, 0, f"hand {hand_id}", "no such hand in these events")
    return verify_opening(
        hand_id,
        secret,
        {one.seat: one.seed for one in started.seeds},
        committed=started.secret_commitment,
        seed_commitments=commitments.get(started.hand_no, {}),
        root=started.deck_root,
        reveals=reveals,
    )
