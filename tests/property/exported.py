"""Random hands as readers may see them, and what a read-back hand says to the rules."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.cards import format_card
from diwan.core.hand.events import BoardDealt, CardsShown, Due
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.table.button import first_hand_positions
from diwan.history.exports.record import About, Act, Board, PokerHand, Post, poker_hand
from tests.property.random_hands import random_start

ABOUT = About(table_id="0a0b0c0d-0000-4000-8000-000000000001", table_name="Lobby 7", table_seats=9, chips="wallet")


def shown_cards(played):
    """What everybody saw of a hand."""
    return {
        position: played.cards[position]
        for event in played.events
        if isinstance(event, CardsShown | BoardDealt)
        for position in event.positions
    }


def own_cards(played, place):
    """What everybody saw, and a place's own cards."""
    return shown_cards(played) | {position: played.cards[position] for position in played.last.holdings[place]}


def public(played) -> PokerHand:
    """A hand as everybody has it."""
    return poker_hand(played.events, shown_cards(played), ABOUT)


def own(played) -> PokerHand:
    """A hand as one of its players has it, the first."""
    return poker_hand(played.events, own_cards(played, 0), ABOUT, heroes=(played.start.seats[0].seat,))


def opened(played) -> PokerHand:
    """A hand as an auditor has it."""
    return poker_hand(played.events, played.cards, ABOUT, heroes=range(9))


def plain_start(chance, *, antes=True, **choices):
    """A beginning at which everybody can post what is owed: blinds in their places, an ante of everybody or of nobody."""
    start = random_start(chance, version=CURRENT_RULES_VERSION, **choices)
    numbers = [seat.seat for seat in start.seats]
    big = chance.choice([4, 10, 20])
    small = chance.randint(1, big - 1)
    positions = first_hand_positions(chance.choice(numbers), numbers, small, big)
    ante = chance.choice([0, chance.randint(1, big)]) if antes else 0
    largest = chance.choice([4, 10, 60]) * big
    return replace(
        start,
        settings=replace(start.settings, small_blind=small, big_blind=big),
        seats=tuple(replace(seat, stack=ante + big + chance.randint(1, largest)) for seat in start.seats),
        button=positions.spots.button,
        big_blind_seat=positions.spots.big_blind,
        dues=(*[Due(number, "ante", ante) for number in numbers if ante], *positions.dues),
    )


def phh_of(hand: PokerHand) -> dict:
    """A hand that a format told, in the words of PHH: then the rules can be asked for its end (`check_hand`).

    What formats tell of forced bets is what went in, so whoever could not post in full is asked for as much.
    """
    numbers = sorted(seat.seat for seat in hand.seats)
    order = [*[n for n in numbers if n > hand.button], *[n for n in numbers if n <= hand.button]]
    place = {seat: index for index, seat in enumerate(order)}
    seats = {seat.seat: seat for seat in hand.seats}
    antes, blinds = [0] * len(order), [0] * len(order)
    actions = [
        f"d dh p{place[seat] + 1} " + "".join("??" if card is None else format_card(card) for card in seats[seat].cards)
        for seat in order
    ]
    for line in hand.lines:
        if isinstance(line, Post) and line.kind in {"ante", "dead_blind"}:
            antes[place[line.seat]] += line.amount
        elif isinstance(line, Post):
            blinds[place[line.seat]] += line.amount
        elif isinstance(line, Board):
            actions.append("d db " + "".join(map(format_card, line.cards)))
        elif isinstance(line, Act):
            word = {"fold": "f", "check": "cc", "call": "cc"}.get(line.kind, f"cbr {line.to}")
            actions.append(f"p{place[line.seat] + 1} {word}")
    if len(order) == 2:
        antes, blinds = antes[::-1], blinds[::-1]
    put_in = dict.fromkeys(order, 0)
    for line in hand.lines:
        if isinstance(line, Post):
            put_in[line.seat] += line.amount
        elif isinstance(line, Act):
            put_in[line.seat] += line.added
    # What nobody matched came back; of formats that do not tell it, it is what is in no pot.
    uncalled = sum(put_in.values()) - sum(pot.amount for pot in hand.pots)
    most = max(put_in, key=lambda seat: put_in[seat])
    return {
        "variant": {"holdem": "NT", "omaha": "PO"}[hand.game],
        "antes": antes,
        "blinds_or_straddles": blinds,
        "min_bet": hand.big_blind,
        "starting_stacks": [seats[seat].stack for seat in order],
        "actions": actions,
        "finishing_stacks": [
            seats[seat].stack - put_in[seat] + hand.won.get(seat, 0) + (uncalled if seat == most else 0)
            for seat in order
        ],
    }
