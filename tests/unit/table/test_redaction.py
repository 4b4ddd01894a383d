"""Who sees which card (S1, S2, P10): views of seats, spectators and auditors."""

from uuid import UUID, uuid5

import pytest

from diwan.core.fairness import deal
from diwan.core.hand.settings import HandSettings, NaikoSettings
from diwan.core.redact import private_view, public_view, shown_to, view
from diwan.core.view import SPECTATOR, Lens
from tests.unit.table.play import TABLE_ID, Table, asking, hand_id_of, transfer_of

NEXT = str(uuid5(UUID(TABLE_ID), "hand/2"))


class Watched(dict):
    """Cards that note which positions somebody looked at."""

    def __init__(self, cards):
        super().__init__(cards)
        self.seen = set()

    def __getitem__(self, position):
        self.seen.add(position)
        return super().__getitem__(position)


def four():
    table = Table()
    for seat, player in enumerate(("ann", "ben", "cid", "dan")):
        table.seat(player, seat=seat)
    table.start()
    return table


def seen_by(table, lens=SPECTATOR):
    cards = Watched(table.cards)
    shown = view(table.state, cards, lens, names={}, next_hand_id=NEXT)
    return shown, cards.seen


def test_a_spectator_sees_no_hidden_card_and_no_undealt_one():
    table = four()
    shown, seen = seen_by(table)
    assert seen == set()
    assert shown.own_cards == {}
    assert [seat.hidden_cards for seat in shown.table.seats] == [2, 2, 2, 2]


def test_a_seat_sees_its_own_two_cards_and_no_others():
    table = four()
    shown, seen = seen_by(table, Lens("seat", 2))
    positions = table.live.holdings[2]
    assert seen == set(positions)
    assert shown.own_cards == {2: tuple(table.cards[position] for position in positions)}


def test_an_auditor_sees_every_hidden_card():
    table = four()
    shown, _ = seen_by(table, Lens("auditor"))
    assert sorted(shown.own_cards) == [0, 1, 2, 3]


def test_the_public_view_does_not_depend_on_hidden_cards():
    """S2: other hidden cards, the same view, at every step until somebody shows."""
    table, other = four(), four()
    hidden = {position for holding in table.live.holdings for position in holding}
    other.cards = {position: (card + 1) % 52 if position in hidden else card for position, card in table.cards.items()}
    for kind in ("call", "call", "call", "check", "check", "check", "check"):
        for each in (table, other):
            each.act(kind)
        views = [public_view(each.state, each.cards, names={}, next_hand_id=NEXT) for each in (table, other)]
        assert views[0] == views[1]


def test_shown_cards_and_the_board_are_for_everybody_after_a_showdown():
    """HD-19: all hands that reach showdown are shown; a folded one stays hidden."""
    table = four()
    folder = table.to_act
    table.act("fold")
    while table.state.is_running:
        table.act("call" if max(table.live.bets) > table.live.bets[table.live.actor] else "check")
    shown, _ = seen_by(table)
    hand = shown.table.hand
    assert (hand.street, len(hand.board), hand.pot) == ("over", 5, 0)
    assert {seat.seat: len(seat.shown_cards) for seat in shown.table.seats} == {
        seat: 0 if seat == folder else 2 for seat in range(4)
    }
    assert all(seat.hidden_cards == 0 for seat in shown.table.seats)


def test_the_open_decision_names_turn_deadline_and_amounts():
    table = four()
    decision = seen_by(table)[0].table.hand.decision
    assert (decision.seat, decision.turn) == (table.to_act, table.state.version)
    assert decision.deadline_ms == table.now + 20_000
    assert (decision.can_call, decision.call_amount, decision.can_check) == (True, 2, False)
    assert (decision.can_raise, decision.min_to, decision.max_to, decision.pot_to) == (True, 4, 100, 7)


def test_seats_say_where_they_stand():
    table = four()
    table.seat("eve", seat=4)
    table.when(asking("fay", transfer_of("fay"), table.now, seat=5))
    table.sit_out("ann")
    leaver = next(seat.seat for seat in table.state.seats if seat.seat in {1, 2} and seat.seat != table.to_act)
    table.stand_up(table.state.seat(leaver).player)
    statuses = {seat.seat: seat.status for seat in seen_by(table)[0].table.seats}
    assert (statuses[0], statuses[4], statuses[5]) == ("sitting_out", "waiting", "reserved")
    assert statuses[leaver] == "leaving"


def test_a_stranger_on_a_seat_does_not_inherit_the_last_hand():
    table = four()
    table.fold_out()
    table.stand_up("ann")
    table.seat("zoe", seat=0)
    seat = seen_by(table)[0].table.seats[0]
    assert (seat.player, seat.in_hand, seat.hidden_cards) == ("zoe", False, 0)
    assert private_view(table.state, "zoe", deal(hand_id_of(1), bytes(32), {}).reveal) is None


def test_bots_are_marked_by_name_and_flag_and_people_by_the_directory():
    table = Table()
    table.seat("b1", is_bot=True)
    table.seat("ann")
    shown = public_view(table.state, table.cards, names={"ann": "Ann"}, next_hand_id=NEXT)
    assert [(seat.display_name, seat.is_bot) for seat in shown.seats] == [("BOT b1", True), ("Ann", False)]


def test_a_private_view_holds_the_proofs_of_its_seat_alone_and_prints_none():
    table = four()
    deck = deal(hand_id_of(1), bytes(32), {})
    mine = private_view(table.state, "ben", deck.reveal)
    assert tuple(reveal.position for reveal in mine.reveals) == table.live.holdings[1]
    assert "withheld" in repr(mine)
    assert private_view(table.state, "zoe", deck.reveal) is None


@pytest.mark.parametrize("power", ["hidden_glance", "sleeve_trick"])
def test_a_power_that_shows_a_card_is_told_to_its_seat_alone_and_at_once(power):
    """NK-18, NK-23: whose own view is another one now, and nobody else's."""
    table = Table(hand=HandSettings(game="naiko", naiko=NaikoSettings(gain_per_deal=3)), buy_in_max=1_000)
    for seat in range(3):
        table.seat(f"player-{seat}", seat=seat, amount=200)
    while True:
        assert shown_to(table.state, table.start()[0]) == ("player-0", "player-1", "player-2")
        if power in table.live.deal.started.naiko.carousel:
            break
        table.fold_out()
    place = table.live.actor
    discard = table.live.holdings[place][0] if power == "sleeve_trick" else None
    events = table.use(power, discard=discard)
    assert shown_to(table.state, events[0]) == (f"player-{table.to_act}",)
