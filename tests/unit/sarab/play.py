"""Hands of Sarab to begin with; the language is that of the hand's tests."""

from diwan.core.games.sarab import forced_bet_of, forced_dues
from diwan.core.hand.commands import StartHand
from diwan.core.hand.events import HandSeat
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings, SarabSettings
from tests.unit.hand.hands import NOW, Hand, deck

RULES_OF_EVERY_GAME = ("short_allins_add_up", "show_all_in", "decision_seconds", "limit")


def start(stacks, button=0, deal_no=1, carried=0, dues=None, big_blind=None, **settings):
    """A StartHand of Sarab; ``stacks`` is a list, or a dict of seats; everybody owes the forced bet of the deal."""
    by_seat = stacks if isinstance(stacks, dict) else dict(enumerate(stacks))
    seats = sorted(by_seat)
    general = {name: settings.pop(name) for name in RULES_OF_EVERY_GAME if name in settings}
    sarab = SarabSettings(**settings)
    forced_bet = forced_bet_of(sarab, deal_no)
    return StartHand(
        hand_id="00000000-0000-0000-0000-000000000001",
        hand_no=1,
        rules_version=CURRENT_RULES_VERSION,
        settings=HandSettings(game="sarab", small_blind=0, big_blind=big_blind or forced_bet, sarab=sarab, **general),
        seats=tuple(HandSeat(seat, f"player-{seat}", by_seat[seat]) for seat in seats),
        button=button,
        big_blind_seat=None,
        dues=forced_dues(seats, forced_bet) if dues is None else dues,
        secret_commitment=b"\1" * 32,
        seeds=(),
        absent=tuple(seats),
        deck_root=b"\2" * 32,
        next_commitment=b"\3" * 32,
        version=0,
        now_ms=NOW,
        deal_no=deal_no,
        carried=carried,
    )


def dealt(stacks, hole=None, board="", **settings):
    """A hand in play; ``hole`` maps seats to cards, the button's left first in the deck as they are dealt."""
    command = start(stacks, **settings)
    if hole is None:
        return Hand(command, deck(board) if board else None)
    seats = [seat.seat for seat in command.seats]
    order = [seat for seat in seats if seat > command.button] + [seat for seat in seats if seat <= command.button]
    first = "".join(hole[seat][:2] for seat in order) + "".join(hole[seat][2:] for seat in order)
    return Hand(command, deck(first + board))


def checks(hand, rounds, players):
    """Everybody checks, round after round."""
    return hand.do(*["check"] * (rounds * players))
