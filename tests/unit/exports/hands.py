"""One hand of hold'em, played by the rules from a fixed deck: a side pot, an uncalled bet, a hand that is mucked by folding."""

from diwan.core.cards import DECK, parse_card
from diwan.core.hand.commands import Act, StartHand
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Due, HandSeat
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.history.exports.record import About

HAND_ID = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"
ABOUT = About(table_id="6ec0bd7f-11c0-43da-975e-2a8ad9ebae0b", table_name="Lobby 7", table_seats=6, chips="wallet")
STARTED_MS = 1_767_367_230_500  # 2026-01-02 15:20:30.5 UTC
PLAYERS = {0: "amal", 2: "bot:rami", 4: "dina", 5: "zaid: [x]"}


def deck():
    """Two cards each from the small blind on, one round after the other, then the board."""
    first = {0: "As Kd", 2: "9c 9d", 4: "Qh Qs", 5: "7d 2c"}
    seats = [5, 0, 2, 4]  # left of the button
    cards = [first[seat].split()[round_] for round_ in range(2) for seat in seats] + ["2d", "7c", "Kh", "9s", "3c"]
    known = [parse_card(card) for card in cards]
    return dict(enumerate([*known, *(card for card in DECK if card not in known)]))


def played():
    """The hand's events, in order, and its deck."""
    start = StartHand(
        hand_id=HAND_ID,
        hand_no=12,
        rules_version=CURRENT_RULES_VERSION,
        settings=HandSettings(small_blind=10, big_blind=20),
        seats=tuple(HandSeat(seat, player, stack) for (seat, player), stack in zip(
            PLAYERS.items(), (2000, 300, 900, 500), strict=True)),
        button=4,
        big_blind_seat=0,
        dues=(Due(5, "small_blind", 10), Due(0, "big_blind", 20)),
        secret_commitment=bytes(32),
        seeds=(),
        absent=tuple(PLAYERS),
        deck_root=bytes(32),
        next_commitment=bytes(32),
        version=100,
        now_ms=STARTED_MS,
    )  # fmt: skip
    cards = deck()
    events, state = advance(None, start, cards)
    log = list(events)
    for seat, kind, to in (
        (2, "raise", 60), (4, "raise", 200), (5, "fold", 0), (0, "call", 0), (2, "raise", 300), (4, "call", 0),
        (0, "call", 0), (0, "bet", 800), (4, "call", 0),
    ):  # fmt: skip
        command = Act(seat, kind, to, state.turn, 100 + len(log), STARTED_MS + 1000 * len(log))
        events, state = advance(state, command, cards)
        log += events
    return log, cards
