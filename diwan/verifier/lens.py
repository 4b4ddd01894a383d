"""What a lens adds to a hand's events: a seat's own cards, or the secret, held against what was committed to (F3, F5)."""

from __future__ import annotations

from collections.abc import Sequence

from diwan.core.cards import Card
from diwan.core.fairness import Reveal, verify_reveal
from diwan.core.log import LoggedEvent
from diwan.core.table.playing import StartedEvent
from diwan.history.bundle import HandRecord, HeaderRecord
from diwan.history.entries import Entry
from diwan.history.lenses import own_positions
from diwan.verifier.opening import open_hand
from diwan.verifier.report import Fault, Rule


def opened_deck(header: HeaderRecord, hand: HandRecord, events: Sequence[LoggedEvent]) -> tuple[Card, ...]:
    """Return the whole deck where the lens has its secret, held against everything that the log says of it; else nothing.

    Raises `Fault`: OPENING_DIFFERS where the secret does not give the hand that was dealt.
    """
    if header.lens != "auditor":
        return ()
    if not hand.secret:
        raise Fault(Rule.LENS_DIFFERS, hand.first_version, "the hand's secret, which an auditor is shown", "none")
    opening = open_hand(events, hand.hand_id, hand.secret)
    if opening.faults:
        first = opening.faults[0]
        where = "" if first.position is None else f", position {first.position}"
        where += "" if first.seat is None else f", seat {first.seat}"
        raise Fault(Rule.OPENING_DIFFERS, hand.first_version, "the deck that was committed to", f"{first.check}{where}")
    assert opening.deck is not None  # noqa: S101  (without faults there is one)
    return opening.deck.cards


def check_own_cards(header: HeaderRecord, hand: HandRecord, started: StartedEvent, entries: Sequence[Entry]) -> int:
    """Hold a seat's own cards against the deck's root and the deal; return how many there are. Raises `Fault`."""
    if header.seat is None:
        return 0
    version = hand.first_version
    if header.seat not in {one.seat for one in started.seats}:
        raise Fault(Rule.LENS_DIFFERS, version, "a seat that was dealt in", f"seat {header.seat}")
    wanted = own_positions((entry.event for entry in entries), header.seat)
    found = tuple(one.position for one in hand.reveals)
    if wanted != found:
        raise Fault(Rule.LENS_DIFFERS, version, f"the positions {wanted} of seat {header.seat}", found)
    shown = {reveal.position: reveal.card for entry in entries for reveal in entry.reveals}
    for one in hand.reveals:
        reveal = Reveal(one.position, one.card, one.salt, one.path)
        if not verify_reveal(started.hand_id, started.deck_root, reveal):
            raise Fault(Rule.REVEAL_FALSE, version, f"a proof of position {one.position}", "one that does not hold")
        if any(card == one.card and position != one.position for position, card in shown.items()):
            raise Fault(Rule.CARD_TWICE, version, "52 different cards", f"card {one.card} a second time")
        shown[one.position] = one.card
    return len(found)
