"""What a table takes and plans for each of its games: settings, who is dealt in, what is owed (RULES.md, SB, NK, OM)."""

import pytest

from diwan.core.decider import Rejected
from diwan.core.fairness import draw
from diwan.core.games.naiko.carousel import CAROUSELS
from diwan.core.hand.commands import VoidHand
from diwan.core.hand.events import Due
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.table.checking import checked
from diwan.core.table.commands import CloseTable, CommitSecret, StartNextHand
from diwan.core.table.config import TableConfig
from tests.unit.table.play import ROOT, SECRET, Table, hand_id_of, kinds

OMAHA = HandSettings(game="omaha", limit="pot_limit")
NAIKO = HandSettings(game="naiko", naiko=NaikoSettings())
SARAB = HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=SarabSettings(forced_bets=(10,)))


def seated(hand, *players, amount=200, **changes):
    table = Table(hand=hand, **changes)
    for seat, player in enumerate(players):
        table.seat(player, seat=seat, amount=amount)
    return table


def refused(hand):
    with pytest.raises(Rejected) as refusal:
        checked(TableConfig(name="t", hand=hand))
    assert refusal.value.reason == "SETTING_INVALID"
    return refusal.value.facts["setting"]


@pytest.mark.parametrize(
    ("hand", "setting"),
    [
        (HandSettings(game="whist"), "hand.game"),
        (HandSettings(game="omaha"), "hand.limit"),
        (HandSettings(game="sarab", limit="pot_limit", small_blind=0, big_blind=10), "hand.limit"),
        (HandSettings(sarab=SarabSettings()), "hand.sarab"),
        (HandSettings(naiko=NaikoSettings()), "hand.naiko"),
        (HandSettings(game="sarab", small_blind=0, naiko=NaikoSettings()), "hand.naiko"),
        (HandSettings(game="naiko", sarab=SarabSettings()), "hand.sarab"),
        (HandSettings(game="naiko", naiko=NaikoSettings(response_seconds=0)), "hand.naiko.response_seconds"),
        (HandSettings(game="sarab", small_blind=5, big_blind=10), "hand.small_blind"),
        (HandSettings(game="sarab", small_blind=0, big_blind=5, sarab=SarabSettings()), "hand.big_blind"),
        (
            HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=SarabSettings(deals_per_level=0)),
            "hand.sarab.deals_per_level",
        ),
    ],
)  # fmt: skip
def test_a_game_takes_its_own_settings_and_no_other_s(hand, setting):
    assert refused(hand) == setting


@pytest.mark.parametrize("hand", [OMAHA, NAIKO, SARAB, HandSettings()])
def test_every_game_is_played_with_its_usual_settings(hand):
    config = checked(TableConfig(name="t", hand=hand))
    assert config.hand == hand
    assert (config.buy_in_min, config.buy_in_max) == (20 * hand.big_blind, 100 * hand.big_blind)


def test_what_a_game_needs_and_was_not_told_is_as_usual():
    assert checked(TableConfig(name="t", hand=HandSettings(game="naiko"))).hand.naiko == NaikoSettings()
    sarab = checked(TableConfig(name="t", hand=HandSettings(game="sarab", small_blind=0, big_blind=7))).hand.sarab
    assert sarab.forced_bets == (7,)


def test_omaha_deals_four_cards_and_posts_blinds():
    """OM-1."""
    table = seated(OMAHA, "ann", "ben", "cid")
    table.start()
    assert [len(holding) for holding in table.live.holdings] == [4, 4, 4]
    assert table.live.deal.started.dues == (Due(1, "small_blind", 1), Due(2, "big_blind", 2))


def test_naiko_s_carousel_is_the_one_that_the_hand_s_secret_gives():
    """C3."""
    table = seated(NAIKO, "ann", "ben")
    table.start()
    number = draw(SECRET, "carousel/v1", hand_id_of(1), (1, 1, 1))
    assert table.live.deal.started.naiko.carousel == CAROUSELS[number]


def test_destellos_begin_at_0_grow_with_every_deal_to_3_and_what_powers_cost_is_gone():
    """C1, NK-1, NK-3: saved from hand to hand at the seat."""
    table = seated(NAIKO, "ann", "ben")
    for wanted in (1, 2, 3, 3):
        table.start()
        assert [seat.destellos for seat in table.state.seats] == [wanted, wanted]
        table.fold_out()
    while True:
        table.start()
        if "short_anchor" in table.live.deal.started.naiko.carousel:
            break
        table.fold_out()
    target = 1 - table.to_act
    declarer = table.to_act
    table.use("short_anchor", target=target)
    assert table.state.seat(declarer).destellos == 1
    if table.live.window is not None:
        table.answer("pass")
    table.fold_out()
    table.start()
    assert (table.state.seat(declarer).destellos, table.state.seat(target).destellos) == (2, 3)


def test_who_sits_out_gains_nothing_and_keeps_what_was_saved_and_who_leaves_loses_it():
    """C1, C2."""
    table = seated(NAIKO, "ann", "ben", "cid")
    table.start()
    table.fold_out()
    table.sit_out("cid")
    table.start()
    table.fold_out()
    assert [seat.destellos for seat in table.state.seats] == [2, 2, 1]
    table.stand_up("cid")
    table.seat("cid", seat=2, amount=201, post=True)
    assert table.state.seat(2).destellos == 0


def test_sarab_s_first_dealer_is_drawn_and_everybody_owes_the_forced_bet():
    """A1, SB-6."""
    table = seated(SARAB, "ann", "ben", "cid")
    table.start()
    drawn = draw(SECRET, "dealer/v1", hand_id_of(1), (1, 1, 1))
    started = table.live.deal.started
    assert started.button == drawn
    assert started.dues == tuple(Due(seat, "ante", 10) for seat in (0, 1, 2))
    assert started.big_blind_seat is None
    assert table.to_act == (drawn + 1) % 3


def deal(table):
    table.start()
    return table.live.deal.started


def void(table):
    """Check everything until the hand is void."""
    while table.state.is_running:
        table.act("check")
    assert table.state.hand.ended.result == "void"


def test_sarab_s_button_moves_to_the_next_seat_dealt_in_but_stays_after_a_void_hand():
    """A1, A6."""
    table = seated(SARAB, "ann", "ben", "cid")
    first = deal(table).button
    table.fold_out()
    assert deal(table).button == (first + 1) % 3
    void(table)
    assert deal(table).button == (first + 1) % 3
    table.fold_out()
    table.sit_out(table.state.seat((first + 2) % 3).player)
    assert deal(table).button == first


def test_sarab_s_forced_bet_follows_the_schedule_by_deals():
    """SB-28, A7: a void deal counts unless the table says otherwise."""
    schedule = SarabSettings(forced_bets=(10, 20, 30))
    table = seated(HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=schedule), "ann", "ben", amount=900)
    seen = []
    for _ in range(6):
        started = deal(table)
        seen.append((started.deal_no, started.settings.big_blind))
        void(table)
    assert seen == [(1, 10), (2, 10), (3, 20), (4, 20), (5, 30), (6, 30)]


def test_a_newcomer_plays_the_next_deal_of_sarab_without_waiting():
    """RULES.md 'joining': there is no big blind to wait for."""
    table = seated(SARAB, "ann", "ben")
    table.start()
    table.seat("cid", seat=2, amount=200)
    table.fold_out()
    assert [seat.player for seat in deal(table).seats] == ["ann", "ben", "cid"]


CARRY = HandSettings(
    game="sarab", small_blind=0, big_blind=10, sarab=SarabSettings(forced_bets=(10,), void_antes="carry")
)


def test_what_a_void_hand_carries_over_is_won_in_the_next_one_that_is_played():
    """A6: chips at the seats and in the middle are always those that came."""
    table = seated(CARRY, "ann", "ben", "cid")
    deal(table)
    void(table)
    assert (table.state.carried, [seat.stack for seat in table.state.seats]) == (30, [190, 190, 190])
    assert deal(table).carried == 30
    void(table)
    assert table.state.carried == 60
    assert deal(table).carried == 60
    table.act("bet", 20)
    table.fold_out()
    assert table.state.carried == 0
    assert sum(seat.stack for seat in table.state.seats) == 600


def test_an_interrupted_hand_leaves_the_carried_chips_where_they_are():
    """H9, A6."""
    table = seated(CARRY, "ann", "ben")
    deal(table)
    void(table)
    deal(table)
    table.when(VoidHand("interrupted", table.state.version, table.now))
    assert (table.state.carried, [seat.stack for seat in table.state.seats]) == (20, [190, 190])
    assert deal(table).carried == 20


def test_carried_chips_go_back_to_whoever_put_them_in_when_the_table_closes():
    """A6: also to a player who has left since."""
    table = seated(CARRY, "ann", "ben", "cid")
    deal(table)
    void(table)
    table.stand_up("cid")
    deal(table)
    void(table)
    events = table.when(CloseTable("host", table.now))
    assert kinds(events) == [
        "TableClosing",
        "CarriedPotReturned",
        "SeatReleased",
        "SeatReleased",
        "TableClosed",
    ]
    assert [(share.player, share.amount) for share in events[1].shares] == [("ann", 20), ("ben", 20), ("cid", 10)]
    assert table.state.carried == 0


def test_a_table_that_closes_in_mid_hand_gives_carried_chips_back_after_it_if_nobody_won_them():
    table = seated(CARRY, "ann", "ben")
    deal(table)
    void(table)
    deal(table)
    assert "CarriedPotReturned" not in kinds(table.when(CloseTable("host", table.now)))
    while table.state.is_running:
        last = table.act("check")
    assert kinds(last)[-4:] == ["CarriedPotReturned", "SeatReleased", "SeatReleased", "TableClosed"]


@pytest.mark.parametrize(("button", "carousel"), [(1, ()), (None, CAROUSELS[0])])
def test_nothing_is_drawn_that_the_plan_does_not_leave_open(button, carousel):
    table = seated(OMAHA, "ann", "ben")
    table.start()
    table.fold_out()
    start = StartNextHand(hand_id_of(2), ROOT, (), bytes(32), table.now, button, carousel)
    assert table.refused(start)[0] == "UNEXPECTED"


def test_a_button_is_drawn_among_the_seats_that_are_dealt_in():
    table = seated(SARAB, "ann", "ben")
    table.when(CommitSecret(bytes(32), table.now))
    start = StartNextHand(hand_id_of(1), ROOT, (), bytes(32), table.now, 5)
    assert table.refused(start)[0] == "FIELD_INVALID"


def test_who_declared_an_anchor_and_stands_up_is_played_for_once_the_window_has_closed():
    """CL-2, NK-40: while the target is asked nobody else decides."""
    table = anchored()
    declarer = table.state.seat(table.to_act)
    table.stand_up(declarer.player)
    assert table.live.window is not None
    table.answer("pass")
    assert not table.state.is_running or table.to_act != declarer.seat
    assert table.state.seat_of(declarer.player) is None or table.state.seat_of(declarer.player).leaving


def test_an_anchor_s_target_that_stands_up_passes():
    """A11, NK-34."""
    table = anchored()
    declarer, target = table.to_act, table.state.seat(table.asked)
    events = table.stand_up(target.player)
    answered = next(event for event in events if type(event).__name__ == "AnchorAnswered")
    assert (answered.answer, answered.decided_by) == ("pass", "system")
    assert table.to_act == declarer


def anchored():
    """A table in the response window of an Anchor."""
    table = seated(NAIKO, "ann", "ben", "cid")
    for _ in range(30):
        table.start()
        carousel = table.live.deal.started.naiko.carousel
        if {"short_anchor", "seal_shield"} <= set(carousel) and table.state.seats[0].destellos >= 2:
            break
        table.fold_out()
    target = next(seat.seat for seat in table.state.seats if seat.seat != table.to_act)
    table.use("short_anchor", target=target)
    assert table.live.window is not None
    return table
