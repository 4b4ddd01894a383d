"""With the secret in hand: the whole deck of a hand, held against everything that its log says of it (F5)."""

from __future__ import annotations

from collections.abc import Iterable

from diwan.core.fairness import Check, Opening, OpeningFault, Reveal, verify_opening
from diwan.core.fairness.material import Seeds
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.games.naiko.carousel import draw_carousel
from diwan.core.games.sarab import draw_button
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
    started: HandStarted | CapsaStarted | None = None
    commitments: dict[int, dict[Seat, bytes]] = {}
    reveals: list[Reveal] = []
    for event in events:
        entry = reader.read_entry(event)
        match entry.event:
            case SeedsCommitted(hand_no=hand_no, commitments=committed):
                commitments[hand_no] = {one.seat: one.commitment for one in committed}
            case HandStarted() | CapsaStarted() if entry.event.hand_id == hand_id:
                started = entry.event
            case HandStarted() | CapsaStarted() if started is not None:
                break
            case _ if started is not None:
                reveals.extend(entry.reveals)
    if started is None:
        raise Fault(Rule.HAND_NOT_FOUND, 0, f"hand {hand_id}", "no such hand in these events")
    seeds = {one.seat: one.seed for one in started.seeds}
    opening = verify_opening(
        hand_id,
        secret,
        seeds,
        committed=started.secret_commitment,
        seed_commitments=commitments.get(started.hand_no, {}),
        root=started.deck_root,
        reveals=reveals,
    )
    if opening.deck is not None and not _are_draws_right(started, secret, seeds):
        return Opening((*opening.faults, OpeningFault(Check.DRAW_DIFFERS)), opening.deck)
    return opening


def _are_draws_right(started: HandStarted | CapsaStarted, secret: bytes, seeds: Seeds) -> bool:
    """Say whether carousel and first dealer are those that the secret gives (C3, A1)."""
    if isinstance(started, CapsaStarted):  # Nothing is drawn but the deck.
        return True
    if started.naiko is not None and started.naiko.carousel != draw_carousel(secret, started.hand_id, seeds):
        return False
    # A table's first hand has no button before it to go on from.
    if started.settings.game == "sarab" and started.hand_no == 1:
        return started.button == draw_button(secret, started.hand_id, [seat.seat for seat in started.seats], seeds)
    return True
