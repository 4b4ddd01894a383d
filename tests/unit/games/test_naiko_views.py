"""What viewers may know of powers (NK-18, NK-23, NK-41)."""

from diwan.core.cards import parse_card, parse_cards
from diwan.core.fairness import Reveal
from diwan.core.hand.commands import VoidHand
from diwan.core.redact import private_view, view
from diwan.core.view import SPECTATOR, Lens, NaikoView, PowerView, SeatPowers, WindowView
from tests.property.naiko_hands import table_of
from tests.unit.games.naiko import ANCHOR, GLANCE, NO_SHIELD, NO_TRICK, SHIELD, TRICK, naiko
from tests.unit.hand.hands import NOW, Hand, deck, start


def shown(hand, lens=SPECTATOR):
    return view(table_of(hand.state), hand.cards, lens, names={}, next_hand_id="n")


def block(hand):
    return shown(hand).table.hand.naiko


def test_everybody_sees_carousel_destellos_and_what_the_seat_to_act_may_use():
    hand = naiko(destellos=[3, 1, 2, 2]).do("glance")
    assert block(hand) == NaikoView(
        carousel=NO_SHIELD,
        activations_left=2,
        seats=(
            SeatPowers(0, 3, (), is_anchored=False),
            SeatPowers(1, 1, (), is_anchored=False),
            SeatPowers(2, 2, (), is_anchored=False),
            SeatPowers(3, 1, (GLANCE,), is_anchored=False),
        ),
        window=None,
        powers=(
            PowerView(GLANCE, 3, 1, "POWER_ALREADY_USED", ()),
            PowerView(TRICK, 3, 2, "ONE_POWER_PER_TURN", ()),
            PowerView(ANCHOR, 3, 2, "ONE_POWER_PER_TURN", ()),
        ),
    )


def test_an_anchor_that_may_be_cast_names_its_targets():
    hand = naiko().do("fold")
    assert block(hand).powers[2] == PowerView(ANCHOR, 0, 2, "", (1, 2))


def test_an_open_window_is_shown_and_nobody_else_is_asked():
    """NK-40: the target may answer, the declarer has no decision."""
    hand = naiko(carousel=NO_TRICK).do("anchor 0")
    window = hand.live.window
    seen = shown(hand).table.hand
    assert seen.decision is None
    assert seen.naiko.window == WindowView(0, 3, window.turn, window.deadline_ms)
    assert seen.naiko.powers == (
        PowerView(GLANCE, 3, 1, "WINDOW_OPEN", ()),
        PowerView(ANCHOR, 3, 2, "WINDOW_OPEN", ()),
        PowerView(SHIELD, 0, 1, "", ()),
    )
    hand.do("pass")
    seen = shown(hand).table.hand
    assert (seen.decision.seat, seen.naiko.window) == (3, None)
    assert [one.seat for one in seen.naiko.seats if one.is_anchored] == [0]


def test_who_used_the_shield_is_shown():
    hand = naiko(carousel=NO_TRICK).do("anchor 0", "shield")
    assert block(hand).seats[0] == SeatPowers(0, 2, (SHIELD,), is_anchored=False)


def test_a_glanced_card_is_for_the_seat_that_looked():
    """NK-18; an auditor sees it as every hidden card."""
    hand = naiko(cards=deck("2c3c4c5c6c7c8c9cKh")).do("glance")
    assert shown(hand, Lens("seat", 3)).glanced == {3: parse_card("Kh")}
    assert shown(hand, Lens("auditor")).glanced == {3: parse_card("Kh")}
    for lens in (SPECTATOR, Lens("seat", 0)):
        assert shown(hand, lens).glanced == {}


def test_a_tricked_seat_sees_its_new_card_and_the_one_that_it_threw_away():
    """NK-23."""
    hand = naiko(cards=deck("2c3c4c5c6c7c8c9cKh")).do("trick 8c")
    own = shown(hand, Lens("seat", 3))
    assert (set(own.own_cards[3]), own.discarded) == (set(parse_cards("4cKh")), {3: parse_card("8c")})
    assert shown(hand, Lens("seat", 0)).discarded == {}
    assert shown(hand).table.seats[3].hidden_cards == 2


def test_proofs_come_for_own_cards_and_for_what_powers_showed():
    def reveal(position):
        return Reveal(position, 0, b"", ())

    hand = naiko().do("glance", "call", "trick 3s")
    looked = private_view(table_of(hand.state), "player-3", reveal)
    assert (looked.glanced, looked.discarded) == (reveal(8), None)
    threw = private_view(table_of(hand.state), "player-0", reveal)
    assert (threw.glanced, threw.discarded) == (None, reveal(7))
    assert [one.position for one in threw.reveals] == list(hand.live.holdings[0])
    assert private_view(table_of(hand.state), "player-1", reveal).glanced is None


def test_after_the_hand_only_what_is_left_is_shown():
    hand = naiko(carousel=NO_TRICK).do("anchor 0")
    hand.tell(VoidHand("interrupted", len(hand.events), NOW))
    after = block(hand)
    assert (after.window, after.powers, after.activations_left) == (None, (), 0)
    assert [one.destellos for one in after.seats] == [3, 3, 3, 3]


def test_other_games_have_no_such_block():
    assert block(Hand(start([100, 100]))) is None
