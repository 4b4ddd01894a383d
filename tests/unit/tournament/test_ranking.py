"""Who came where: one hand, one round, ties and what they share (F2, WSOP R126, RP-8)."""

from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.core.tournament.events import OutPlayer
from diwan.core.tournament.ranking import levels
from diwan.core.tournament.settings import EntryTerms, Payout
from tests.property.tournament_fields import scheduled, sit_and_go
from tests.property.tournament_sim import START_MS
from tests.unit.tournament.floor import Floor, pay_of

START = EntryTerms(starts_at_ms=START_MS + 60_000)


def out(player, entry_no, table_no, stack):
    return OutPlayer(player, entry_no, table_no, stack)


def names(groups):
    return [[each.player for each in group] for group in groups]


def test_at_one_table_the_larger_stack_at_the_start_of_the_hand_ranks_higher():
    assert names(levels([out("a", 1, 1, 500), out("b", 2, 1, 900)])) == [["b"], ["a"]]


def test_equal_stacks_share_their_place():
    assert names(levels([out("b", 2, 1, 500), out("a", 1, 1, 500)])) == [["a", "b"]]


def test_of_different_tables_all_who_go_out_in_one_round_are_equal():
    assert names(levels([out("a", 1, 1, 500), out("b", 2, 2, 900), out("c", 3, 3, 1)])) == [["a", "b", "c"]]


def test_in_one_round_the_rule_for_one_table_is_kept_too():
    """Who went out second at a table is below who went out first there, and equal to who did so elsewhere."""
    outs = [out("a", 1, 1, 500), out("b", 2, 1, 900), out("c", 3, 2, 1), out("d", 4, 2, 2)]

    assert names(levels(outs)) == [["b", "d"], ["a", "c"]]


def test_a_hand_ranks_its_own_and_pays_by_place():
    floor = Floor(sit_and_go(4, size=4, payout=Payout(table="shares", shares=(50_000, 30_000, 20_000))), 4)
    order = floor.players_at(1)
    floor.settle_stacks(1, {order[1]: 1000, order[2]: 1200, order[3]: 800})
    floor.hand(1, out=order[2:], by=order[0])

    places = {event.players[0].player: (event.place_first, event.rule) for event in floor.told(e.PlayersOut)}
    assert places == {order[2]: (3, "F2"), order[3]: (4, "F2")}
    assert pay_of(floor, f"prize/3/{order[2]}") == 80


def test_equal_stacks_in_one_hand_share_what_their_places_cover():
    floor = Floor(sit_and_go(4, size=4, payout=Payout(table="shares", shares=(50_000, 30_000, 20_000))), 4)
    order = floor.players_at(1)
    floor.hand(1, out=order[2:], by=order[0])

    event = floor.told(e.PlayersOut)[0]
    assert (event.place_first, event.place_last) == (3, 4)
    assert sorted(payment.amount for payment in floor.paid if payment.code == "prize") == [40, 40]


def test_the_odd_chip_of_a_shared_prize_goes_to_the_earlier_entry():
    shares = (50_000, 30_000, 20_000)
    floor = Floor(sit_and_go(4, size=4, entry=101, payout=Payout(table="shares", shares=shares)), 4)
    floor.hand(1, out=["p1"], by="p0")
    floor.hand(1, out=["p2", "p3"], by="p0")

    assert floor.state.prizes == (203, 121, 80)
    assert [pay_of(floor, f"prize/2/{player}") for player in ("p2", "p3")] == [101, 100]


def fifty_two_left():
    """Return a field of 401 with 52 left, 50 of 60 paid by own shares, at six tables in hand-for-hand."""
    shares = (51_000, *[1_000] * 49)
    config = scheduled(size=9, entries=START, players_min=50, payout=Payout(table="shares", shares=shares))
    floor = Floor(config, 60)
    floor.bust_down_to(52)
    return floor


def test_with_52_left_and_50_paid_three_who_go_out_in_one_round_share_50th_place():
    """Page e1, RP-8: all who go out in the announced hand count, at whatever table and whenever in the round."""
    floor = fifty_two_left()
    running = floor.state.hand_for_hand
    assert (floor.state.left, len(floor.state.prizes), running.round_no) == (52, 50, 1)
    tables = list(running.tables)
    losers = [floor.players_at(number)[0] for number in tables[:3]]
    for number, loser in zip(tables[:3], losers, strict=True):
        floor.hand(number, out=[loser])
        assert not [event for event in floor.told(e.PlayersOut) if event.rule == "WSOP R126"], (
            "not ranked before the end"
        )
    for number in tables[3:]:
        floor.hand(number)

    event = floor.told(e.PlayersOut)[-1]
    assert {each.player for each in event.players} == set(losers)
    assert (event.place_first, event.place_last, event.rule) == (50, 52, "WSOP R126")
    assert sorted(pay_of(floor, f"prize/50/{loser}") for loser in losers) == [20, 20, 20]
    assert floor.told(e.HandForHandEnded)[0].players_left == 49
    floor.finish()
    assert sum(payment.amount for payment in floor.paid if payment.code == "prize") == 6000


def test_two_of_one_table_and_one_of_another_do_not_all_share():
    """WSOP R126: at one table the larger stack ranks higher, also in a round."""
    floor = fifty_two_left()
    first, second, *others = floor.state.hand_for_hand.tables
    a, b, *_ = floor.players_at(first)
    stack = floor.table_of(a).sitter(a).stack
    if floor.table_of(b).sitter(b).stack == stack:
        for number in (first, second, *others):
            floor.settle_stacks(number, {a: stack - 100}) if number == first else floor.hand(number)
    lower, upper = sorted((a, b), key=lambda player: floor.table_of(player).sitter(player).stack)
    elsewhere = floor.players_at(second)[0]
    floor.hand(first, out=[a, b])
    floor.hand(second, out=[elsewhere])
    for number in others:
        floor.hand(number)

    events = floor.told(e.PlayersOut)[-2:]
    assert [(event.place_first, event.place_last) for event in events] == [(52, 52), (50, 51)]
    assert events[0].players[0].player == lower
    assert {each.player for each in events[1].players} == {upper, elsewhere}
    assert pay_of(floor, f"prize/50/{upper}") == pay_of(floor, f"prize/50/{elsewhere}") == 30
    assert pay_of(floor, f"prize/52/{lower}") == 0


def test_who_goes_out_while_entries_are_open_is_placed_by_all_who_will_have_entered():
    terms = EntryTerms(starts_at_ms=START_MS + 60_000, late_levels=2)
    floor = Floor(scheduled(size=9, entries=terms, payout=Payout(table="shares", shares=(60_000, 40_000))), 6)
    floor.hand(1, out=["p3"])
    floor.enter("late")
    first = floor.told(e.PlayersOut)[0]
    floor.tick(floor.now + 20 * 60_000)
    floor.finish()

    entry = floor.state.entries[floor.state.entrants["p3"].entry_no]
    assert (first.out_first, first.place_first) == (1, 0)
    assert floor.state.accepted + 1 - entry.out_last == 7
    assert floor.state.phase == "finished"


def test_a_removed_player_is_out_at_once_and_the_chips_leave_play():
    floor = Floor(sit_and_go(4, size=4), 4)
    floor.do(c.Remove("p2", "op", "collusion", floor.now))
    floor.obey()

    event = floor.told(e.PlayersOut)[0]
    assert (event.cause, event.place_first, event.rule) == ("removed", 4, "operator")
    assert floor.state.chips_in_play == 4500
    assert floor.refuse(c.Remove("p2", "op", "again", floor.now)) == "NOT_ENTERED"


def test_who_is_removed_in_a_round_ranks_above_those_who_had_gone_out_in_it():
    """A removal must not lift somebody into the money who is out already, nor push the removed one below them."""
    floor = fifty_two_left()
    first, second, *others = floor.state.hand_for_hand.tables
    loser, removed = floor.players_at(first)[0], floor.players_at(second)[0]
    floor.hand(first, out=[loser])
    floor.hand(second)
    floor.do(c.Remove(removed, "op", "collusion", floor.now))
    floor.obey()
    assert floor.told(e.PlayersOut)[-1].place_first == 53, "nobody is ranked while the round is played"
    for number in others:
        floor.hand(number)

    placed = {each.player: event.place_first for event in floor.told(e.PlayersOut) for each in event.players}
    assert (placed[loser], placed[removed]) == (52, 51)
    floor.finish()
    assert floor.state.phase == "finished"


def test_a_removed_player_who_waits_for_a_place_has_no_part_in_what_is_called_off():
    floor = fifty_two_left()
    first, second, *_ = floor.state.hand_for_hand.tables
    loser, removed = floor.players_at(first)[0], floor.players_at(second)[0]
    floor.hand(first, out=[loser])
    floor.hand(second)
    floor.do(c.Remove(removed, "op", "collusion", floor.now))
    floor.obey()
    floor.do(c.Cancel("op", "fire", floor.now))
    floor.obey()

    assert pay_of(floor, f"share/{removed}") == pay_of(floor, f"share/{loser}") == 0
    assert floor.state.phase == "finished"
    assert sum(p.amount for p in floor.paid if p.taker == "pool") == sum(
        p.amount for p in floor.paid if p.giver == "pool"
    )


def test_hands_that_wait_for_a_late_table_are_ranked_one_by_one():
    """F2 is for one hand: who goes out in a later hand ranks higher, whatever the stacks, also where both had to wait."""
    floor = fifty_two_left()
    late, *others = floor.state.hand_for_hand.tables
    for number in others:
        floor.hand(number)
    floor.tick(floor.state.hand_for_hand.limit_at_ms)
    for number in floor.state.hand_for_hand.tables:
        floor.hand(number, out=floor.players_at(number)[:1] if number in others[:2] else ())
    assert floor.state.hand_for_hand is None
    number = others[2]
    earlier, later, *_ = floor.players_at(number)
    floor.settle_stacks(number, {later: 100})
    floor.hand(number, out=[earlier], by=floor.players_at(number)[2])
    floor.hand(floor.state.entrants[later].table_no, out=[later])
    floor.hand(late)

    outs = {each.player: event.out_first for event in floor.told(e.PlayersOut) for each in event.players}
    assert outs[later] == outs[earlier] + 1


def test_the_last_two_cannot_both_be_removed():
    floor = Floor(sit_and_go(2, size=2), 2)
    floor.do(c.Remove("p0", "op", "x", floor.now))

    assert floor.refuse(c.Remove("p1", "op", "x", floor.now)) == "LAST_PLAYER"
    floor.obey()
    assert floor.state.winner == "p1"
