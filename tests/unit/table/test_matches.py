"""Matches of Sarab at a table: entries, coins, places and prizes (SB-4, SB-38, L12, RULES.md "Sarab's economy")."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games.coins import Coins
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.redact import match_view, public_view
from diwan.core.table.checking import checked
from diwan.core.table.commands import CloseTable, RequestTopUp, SitOut, StandUp
from diwan.core.table.config import MatchTerms, TableConfig
from diwan.core.table.decide import decide
from diwan.core.table.events import CarriedPotReturned, MatchEnded, SeatReleased
from diwan.core.table.evolve import evolve
from diwan.core.table.games import plan_next_hand
from diwan.core.table.hosting.commands import ChangeSettings, ExpirePause, HandOver, Invite, RemoveGuest, SetPaused
from diwan.core.table.hosting.decide import MATCH_PAUSE_MS_MAX
from diwan.core.table.inverse import command_of
from diwan.core.table.matches import IDLE_DEALS_MAX
from diwan.wire.views import read_table_view, table_view_message
from tests.unit.table.play import Table, asking, kinds, transfer_of

TERMS = MatchTerms(starting_coins=Coins(stones=10), entry_fee=500)


def match_of(players=3, *, terms=TERMS, sarab=None, **changes):
    hand = HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=sarab or SarabSettings(forced_bets=(10, 40)))
    return Table(hand=hand, seats=players, chips="match", match=terms, **changes)


def entered(players=("ann", "ben", "cid"), **changes):
    table = match_of(len(players), **changes)
    for seat, player in enumerate(players):
        table.seat(player, seat=seat, amount=500)
    return table


def all_in(table):
    """Play deals all in until somebody is out or the match is over; returns the last batch."""
    while True:
        table.start()
        while table.state.is_running:
            last = table.act("bet", _all_of(table)) if not table.live.lifts else table.act("call")
        if any(isinstance(event, SeatReleased) for event in last):
            return last


def _all_of(table):
    live = table.live
    return live.bets[live.actor] + live.stacks[live.actor]


def refused(**changes):
    hand = HandSettings(game="sarab", small_blind=0, big_blind=10, sarab=SarabSettings(forced_bets=(10,)))
    with pytest.raises(Rejected) as refusal:
        checked(TableConfig(**{"name": "t", "hand": hand, "seats": 3, "chips": "match"} | changes))
    assert refusal.value.reason == "SETTING_INVALID"
    return refusal.value.facts["setting"]


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"hand": HandSettings()}, "chips"),
        ({"chips": "wallet", "match": TERMS}, "match"),
        ({"match": replace(TERMS, prizes=(60, 30))}, "match.prizes"),
        ({"match": replace(TERMS, entry_fee=-1)}, "match.entry_fee"),
        ({"match": replace(TERMS, starting_coins=Coins(stones=1))}, "match.starting_coins"),
        ({"match": TERMS, "buy_in_min": 400}, "buy_in_min"),
    ],
)
def test_terms_that_make_no_match_are_named(changes, setting):
    assert refused(**changes) == setting


def test_a_match_costs_its_entry_and_begins_with_the_usual_coins():
    """SB-4: 1,000, no entry, the winner takes what there is."""
    hand = HandSettings(game="sarab", small_blind=0, big_blind=10)
    config = checked(TableConfig(name="t", hand=hand, seats=4, chips="match"))
    assert (config.match, config.buy_in_min, config.buy_in_max) == (MatchTerms(), 0, 0)
    assert config.match.starting_coins.value == 1000


def test_a_match_starts_with_its_last_seat_and_everybody_has_the_same_coins():
    table = match_of()
    for seat, player in enumerate(("ann", "ben")):
        table.seat(player, seat=seat, amount=500)
    assert table.state.match is None
    assert [seat.stack for seat in table.state.seats] == [500, 500], "the entries, in escrow"
    table.seat("cid", seat=2, amount=500)
    assert [seat.stack for seat in table.state.seats] == [100, 100, 100]
    assert kinds(table.batches[-1]) == ["SeatFunded", "MatchStarted"]


def test_who_leaves_before_the_start_takes_the_entry_home():
    table = match_of()
    table.seat("ann", seat=0, amount=500)
    events = table.stand_up("ann")
    assert events[-1].amount == 500


def test_a_match_without_entry_asks_no_wallet():
    table = match_of(2, terms=replace(TERMS, entry_fee=0))
    events = table.when(asking("ann", transfer_of("ann"), table.now, amount=0))
    assert kinds(events) == ["BuyInRequested", "SeatFunded"]
    assert "MatchStarted" in kinds(table.when(asking("ben", transfer_of("ben"), table.now, amount=0)))


def test_nobody_joins_tops_up_sits_out_or_takes_a_seat_home_once_it_has_started():
    """SB-4."""
    table = entered()
    late = asking("dan", transfer_of("dan"), table.now, amount=500)
    assert table.refused(late)[0] == "MATCH_STARTED"
    assert table.refused(StandUp("ann", "player", table.now))[0] == "MATCH_STARTED"
    assert table.refused(RequestTopUp("ann", 500, transfer_of("more"), table.now))[0] == "NOT_IN_THIS_GAME"
    assert table.refused(SitOut("ann", "player", table.now))[0] == "NOT_IN_THIS_GAME"


def test_who_is_away_pays_the_forced_bet_and_is_played_by_the_clock():
    """SB-4, CL-4: also after more clock decisions than make a player sit out elsewhere."""
    table = entered()
    for _ in range(3):
        table.start()
        assert [seat.player for seat in table.live.deal.started.seats] == ["ann", "ben", "cid"]
        while table.state.is_running:
            if table.to_act == 0:
                table.time_out()
            else:
                table.act("check")
    assert not table.state.seat(0).is_sitting_out


def test_the_last_player_takes_the_entries_and_the_table_is_over():
    """SB-38: out at 0; places from the last to go to the first."""
    table = entered()
    first = last = all_in(table)
    while table.state.match.result is None:
        last = all_in(table)
    ended = next(event for event in last if isinstance(event, MatchEnded))
    assert ended.result == "won"
    assert sum(place.prize for place in ended.places) == 1500
    assert [place.prize > 0 for place in ended.places] == [True, False, False]
    after = kinds(last)[kinds(last).index("MatchEnded") :]
    assert after[:2] == ["MatchEnded", "TableClosing"]
    assert after[-1] == "TableClosed"
    assert table.state.is_closed
    assert all(event.amount == 0 for batch in (first, last) for event in batch if isinstance(event, SeatReleased))


def test_players_who_go_out_together_are_ranked_by_what_they_had_and_equals_share():
    """F2, RULES.md "Sarab's economy"."""
    table = entered(terms=replace(TERMS, prizes=(50, 30, 20)))
    while table.state.match.result is None:
        last = all_in(table)
    ended = next(event for event in last if isinstance(event, MatchEnded))
    places = [place.place for place in ended.places]
    assert places in ([1, 2, 3], [1, 2, 2])
    wanted = [750, 450, 300] if places == [1, 2, 3] else [750, 375, 375]
    assert [place.prize for place in ended.places] == wanted


def test_a_match_that_is_closed_gives_every_entry_back_after_its_hand():
    table = entered()
    table.start()
    assert "MatchEnded" not in kinds(table.when(CloseTable("host", table.now)))
    while table.state.is_running:
        last = table.act("check")
    ended = next(event for event in last if isinstance(event, MatchEnded))
    assert (ended.result, [place.prize for place in ended.places]) == ("cancelled", [500, 500, 500])
    assert {place.place for place in ended.places} == {0}
    assert table.state.is_closed


def test_a_match_that_nobody_plays_any_more_ends_by_coins():
    """Every match ends: with everybody away all hands are void, and no coin changes hands."""
    table = entered()
    table.start()
    table.act("bet", 20)
    table.act("fold")
    table.act("fold")
    for _ in range(IDLE_DEALS_MAX):
        assert table.state.match.result is None
        table.start()
        while table.state.is_running:
            last = table.time_out()
    ended = next(event for event in last if isinstance(event, MatchEnded))
    assert ended.result == "abandoned"
    assert [place.place for place in ended.places] == [1, 2, 2]
    assert sum(place.prize for place in ended.places) == 1500


def test_carried_coins_of_a_match_are_no_wallet_s():
    """L12: nothing goes home but prizes."""
    sarab = SarabSettings(forced_bets=(10,), void_antes="carry")
    table = entered(sarab=sarab)
    table.start()
    while table.state.is_running:
        table.act("check")
    assert table.state.carried == 30
    events = table.when(CloseTable("host", table.now))
    assert not any(isinstance(event, CarriedPotReturned) for event in events)
    assert sum(place.prize for place in events[1].places) == 1500


def test_a_viewer_sees_who_is_in_the_coins_and_the_places():
    """SB-39: 100 are a dinar; what no coins can pay is named."""
    table = entered(terms=replace(TERMS, prizes=(70, 30)))
    shown = public_view(table.state, {}, names={}, next_hand_id="")
    assert shown.match.is_started
    assert shown.match.still_in == (0, 1, 2)
    assert [(seat.coins.dinars, seat.coins.rest) for seat in shown.seats] == [(1, 0)] * 3
    while table.state.match.result is None:
        all_in(table)
        found = match_view(table.state)
        assert len(found.places) + len(found.still_in) == 3
        view = public_view(table.state, table.cards, names={}, next_hand_id="")
        message = table_view_message(view, table.state.config)
        assert read_table_view(type(message).FromString(message.SerializeToString())) == view
    assert found.result == "won"
    assert found.places[0].prize == 1050


@pytest.mark.parametrize("is_begun", [False, True])
def test_the_terms_of_a_match_stay_whoever_asks_and_whenever(is_begun):
    """SB-38: what was shown before the entries were paid is what is played for; an operator changes them no more."""
    table = match_of(host="hal", is_private=True)
    if is_begun:
        for player in ("hal", "ann", "ben"):
            if player != "hal":
                table.when(Invite(player, "hal", False, table.now + 1_000, table.now))  # noqa: FBT003
            table.seat(player, amount=TERMS.entry_fee)
        assert table.state.match is not None
    for is_operator in (False, True):
        for changes in ({"match": replace(TERMS, prizes=(60, 40))}, {"name": "another"}, {"reserve_seconds": 1}):
            wanted = ChangeSettings(replace(table.state.config, **changes), "hal", is_operator, table.now)
            assert table.refused(wanted) == (
                "SETTING_INVALID",
                {"setting": "chips", "why": "the terms of a match stay"},
            )


def test_a_host_calls_off_a_match_until_it_begins_and_an_operator_also_after():
    """Entries come back where a match is called off: who may be losing it does not decide that."""
    for is_begun in (False, True):
        table = match_of(2, host="hal", is_private=True)
        table.when(Invite("ann", "hal", False, table.now + 1_000, table.now))  # noqa: FBT003
        for player in ("hal", "ann")[: 1 + is_begun]:
            table.seat(player, amount=TERMS.entry_fee)
        if is_begun:
            assert table.refused(CloseTable("hal", table.now))[0] == "MATCH_STARTED"
            assert "MatchEnded" in kinds(table.when(CloseTable("op", table.now)))
        else:
            assert kinds(table.when(CloseTable("hal", table.now)))[0] == "TableClosing"


def test_nobody_is_sent_away_from_a_match_that_has_started():
    """SB-4: its prizes are settled; before it begins an entry goes home with its player."""
    table = among_friends()
    assert table.refused(RemoveGuest("ann", "hal", False, table.now))[0] == "MATCH_STARTED"  # noqa: FBT003
    before = match_of(2, host="hal", is_private=True)
    before.when(Invite("ann", "hal", False, before.now + 1_000, before.now))  # noqa: FBT003
    before.seat("ann", amount=TERMS.entry_fee)
    released = before.when(RemoveGuest("ann", "hal", False, before.now))[-1]  # noqa: FBT003
    assert (released.player, released.amount, released.cause) == ("ann", TERMS.entry_fee, "host")


MINUTE = 60_000


def among_friends():
    table = match_of(2, host="hal", is_private=True)
    table.when(Invite("ann", "hal", False, table.now + 1_000, table.now))  # noqa: FBT003
    for player in ("hal", "ann"):
        table.seat(player, amount=TERMS.entry_fee)
    return table


def paused(table, *, op=False):
    return table.when(SetPaused(True, "op" if op else "hal", op, table.now))  # noqa: FBT003


def going_on(table):
    return table.when(SetPaused(False, "hal", False, table.now))  # noqa: FBT003


def test_a_host_pauses_a_match_for_so_long_and_no_longer_in_however_many_parts():
    """SB-4: nobody takes an entry out of a match, so its host must not be able to hold it for ever."""
    table = among_friends()
    (first,) = paused(table)
    assert (first.until_ms, table.state.hosting.paused_until_ms) == (table.now + MATCH_PAUSE_MS_MAX, first.until_ms)
    assert public_view(table.state, {}, names={}, next_hand_id="").paused_until_ms == first.until_ms
    assert plan_next_hand(table.state, table.now) is None
    table.now += 4 * MINUTE
    (resumed,) = going_on(table)
    assert (resumed.is_by_clock, resumed.left_ms) == (False, MATCH_PAUSE_MS_MAX - 4 * MINUTE)
    table.now += 60 * MINUTE
    (second,) = paused(table)
    assert second.until_ms == table.now + MATCH_PAUSE_MS_MAX - 4 * MINUTE
    assert table.refused(ExpirePause(second.until_ms - 1))[0] == "UNEXPECTED"
    table.now = second.until_ms
    (over,) = table.when(ExpirePause(table.now))
    assert (over.resumed_by, over.is_by_clock, over.left_ms) == ("", True, 0)
    assert plan_next_hand(table.state, table.now) is not None
    reason, facts = table.refused(SetPaused(True, "hal", False, table.now))  # noqa: FBT003
    assert (reason, facts) == ("PAUSE_USED_UP", {"max_ms": MATCH_PAUSE_MS_MAX})
    state = None
    for batch in table.batches:
        assert decide(state, command_of(batch[0], state), table.cards) == batch
        for event in batch:
            state = evolve(state, event)


def test_the_time_of_a_match_s_pauses_is_not_begun_anew_by_another_host():
    table = among_friends()
    paused(table)
    table.now += MATCH_PAUSE_MS_MAX + 1  # nobody looked in time
    (resumed,) = going_on(table)
    assert resumed.left_ms == 0
    table.when(HandOver("ann", "hal", False, table.now))  # noqa: FBT003
    assert table.refused(SetPaused(True, "ann", False, table.now))[0] == "PAUSE_USED_UP"  # noqa: FBT003


def test_a_pause_by_an_operator_or_where_everybody_may_leave_has_no_end_of_its_own():
    table = among_friends()
    (operator,) = paused(table, op=True)
    assert operator.until_ms == 0
    assert going_on(table)[0].left_ms == MATCH_PAUSE_MS_MAX, "that was none of the host's time"
    cash = Table(host="hal", is_private=True)
    assert paused(cash)[0].until_ms == 0
    assert cash.refused(ExpirePause(cash.now + 10**12))[0] == "UNEXPECTED"
    assert cash.refused(SetPaused(True, "hal", False, cash.now))[0] == "PAUSED_ALREADY"  # noqa: FBT003
