"""Tables of Capsa: settings, reserve, dealer, leaving, clocks, stakes of pairs (capsa.md, CS-3, CS-27 to CS-31, CS-61 to CS-65)."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.fairness import Secret, deal
from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.games.capsa.commands import AnswerCall, ExpireCapsaClock, LockSet, SaveDraft, Unlock
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.settings import CapsaSettings, PairUnit
from diwan.core.games.capsa.stakes import AcceptStake, EndStake, LeaveStakes, ProposeStake
from diwan.core.games.capsa.state import EndedCapsa, LiveCapsa
from diwan.core.hand.commands import Act, ExpireClock, VoidHand
from diwan.core.hand.settings import HandSettings
from diwan.core.limits import STACK_MAX
from diwan.core.table import capsa
from diwan.core.table.checking import checked
from diwan.core.table.config import TableConfig
from diwan.core.table.decide import decide
from diwan.core.table.evolve import evolve
from diwan.core.table.games import able_seats, plan_next_hand
from diwan.core.table.hosting.commands import ChangeSettings, Invite, RemoveGuest
from diwan.core.table.inverse import command_of
from tests.unit.table.play import TABLE_ID, Table, config, hand_id_of, kinds

SETTINGS = CapsaSettings(unit=10)
RESERVE = 28 * 10
"""M of CS-65 under the defaults, against one opponent."""
CARDS = dict(enumerate(deal(hand_id_of(1), Secret(bytes(32)), {}).cards))
"""A deck that deals no natural to two or three seats, whoever is dealer."""


class CapsaTable(Table):
    """A table of Capsa with its players seated."""

    def __init__(self, *players, settings=SETTINGS, amount=3_000, **changes):
        super().__init__(cards=CARDS, **{"capsa": settings, "buy_in_min": RESERVE, "buy_in_max": 100_000} | changes)
        for seat, player in enumerate(players):
            self.seat(player, seat=seat, amount=amount)

    @property
    def live(self):
        assert isinstance(self.state.hand, LiveCapsa)
        return self.state.hand

    def arranged(self, seat):
        """The server's set, which never fouls, as the seat's own."""
        holding = self.live.holdings[self.live.deal.places[seat]]
        position_of = {self.cards[position]: position for position in holding}
        rows = server_arrangement([self.cards[position] for position in holding], "low")
        return Arrangement(*[tuple(position_of[card] for card in row) for row in rows])

    def lock(self, seat):
        live = self.live
        return self.when(LockSet(seat, self.arranged(seat), live.turn, self.state.version, self.now))

    def answer(self, answer="play"):
        live = self.live
        seat = live.deal.seats[live.asked]
        return self.when(AnswerCall(seat, answer, live.turn, self.state.version, self.now))

    def expire(self, seat=None):
        self.now = max(self.now, self.live.deadline_ms)
        return self.when(ExpireCapsaClock(seat, self.live.turn, self.state.version, self.now))

    def play_out(self):
        for place in self.live.setters:
            self.lock(self.live.deal.seats[place])
        while self.state.is_running:
            last = self.answer()
        return last


def refused(**changes):
    with pytest.raises(Rejected) as refusal:
        checked(config(**{"capsa": SETTINGS} | changes))
    assert refusal.value.reason == "SETTING_INVALID"
    return refusal.value.facts["setting"]


def test_a_table_has_its_game_s_settings_and_no_other_s():
    assert refused(hand=HandSettings(big_blind=4)) == "hand"
    assert refused(seats=9) == "capsa.players"
    assert refused(capsa=replace(SETTINGS, players=5)) == "capsa.players"
    assert refused(seats=3) == "capsa.players"
    assert refused(capsa=replace(SETTINGS, pair_units=(PairUnit(0, 1, 5),))) == "capsa.pair_units"
    assert refused(capsa=replace(SETTINGS, set_seconds=0)) == "capsa.set_seconds"
    assert TableConfig(name="t", capsa=SETTINGS).game == "capsa"


def test_the_buy_in_follows_from_the_unit_and_the_reserve():
    """CS-65: with the defaults three opponents at unit 10 need 840 chips."""
    table = checked(config(capsa=SETTINGS))
    assert (table.buy_in_min, table.buy_in_max) == (840, 4200)
    assert table.capsa.overall_bonus == 1
    assert len(table.capsa.naturals) == 4
    assert refused(buy_in_min=RESERVE - 1) == "buy_in_min"
    assert checked(config(capsa=SETTINGS, buy_in_min=RESERVE)).buy_in_min == RESERVE


def test_two_to_four_are_dealt_in_and_the_dealer_moves_on():
    """CS-2, CS-3, CS-4."""
    table = CapsaTable("ann", "ben", "cid")
    dealers = []
    for _ in range(4):
        table.start()
        dealers.append(table.live.deal.started.button)
        assert [len(holding) for holding in table.live.holdings] == [13, 13, 13]
        if table.state.is_running:
            table.play_out()
    assert dealers == [0, 1, 2, 0]


def test_a_hand_is_played_to_its_end_and_stacks_are_those_of_the_settlement():
    table = CapsaTable("ann", "ben")
    before = sum(seat.stack for seat in table.state.seats)
    table.start()
    events = table.play_out()
    ended = events[-1]
    assert kinds(events)[-3:] == ["SetsShown", "PairSettled", "HandEnded"]
    assert isinstance(table.state.hand, EndedCapsa)
    assert [seat.stack for seat in table.state.seats] == [3_000 + payoff for payoff in ended.payoffs]
    assert sum(seat.stack for seat in table.state.seats) == before


def test_who_cannot_cover_the_reserve_is_dealt_out_and_told_why():
    """CS-65: RESERVE_TOO_SMALL with what would be needed."""
    table = CapsaTable("ann", "ben", "cid")
    table.seat("dan", seat=3, amount=RESERVE)
    (short,) = capsa.shortages(table.state, able_seats(table.state))
    assert (short.seat, short.stack, short.reserve) == (3, RESERVE, 3 * RESERVE)
    table.start()
    assert table.live.deal.seats == (0, 1, 2)
    assert table.state.seat(3).hands_missed == 1


def test_a_dealer_who_is_dealt_out_is_no_dealer():
    """CS-3: the button goes to the next seat clockwise that is dealt in."""
    table = CapsaTable()
    table.seat("dan", seat=0, amount=RESERVE)
    for seat, player in enumerate(("ann", "ben"), start=1):
        table.seat(player, seat=seat, amount=3_000)
    table.start()
    assert table.live.deal.started.button == 1


def test_a_reserve_that_only_one_covers_makes_no_hand():
    table = CapsaTable("ann", "ben", amount=RESERVE)
    table.when(ProposeStake(0, 1, 20, table.now))
    table.when(AcceptStake(1, 0, 20, table.now))
    assert plan_next_hand(table.state, table.now) is None
    assert [short.reserve for short in capsa.shortages(table.state, able_seats(table.state))] == [2 * RESERVE]


def test_a_void_hand_leaves_the_dealer_where_it_was():
    """H9: nothing has happened."""
    table = CapsaTable("ann", "ben", "cid")
    table.start()
    assert table.live.deal.started.button == 0
    events = table.when(VoidHand("interrupted", table.state.version, table.now))
    assert kinds(events) == ["HandVoided", "HandEnded"]
    assert [seat.stack for seat in table.state.seats] == [3_000] * 3
    table.start()
    assert table.live.deal.started.button == 0


def test_the_set_of_who_leaves_is_made_at_once_and_the_seat_is_free_after_the_hand():
    """CS-28: the last usable draft, else the server's set; by the room, not by the clock."""
    table = CapsaTable("ann", "ben")
    table.start()
    draft = table.arranged(0)
    table.when(SaveDraft(0, draft, table.live.turn, table.state.version, table.now))
    events = table.stand_up("ann")
    assert kinds(events) == ["StandUpRequested", "SettingClosed", "SetLocked"]
    assert (events[2].source, events[2].decided_by, events[2].arrangement) == ("draft", "system", draft)
    assert kinds(table.lock(1))[1] == "AnswerAsked"
    while table.state.is_running:
        events = table.answer()
    assert table.state.seat(0) is None
    assert kinds(events)[-2:] == ["HandEnded", "SeatReleased"]


def test_who_leaves_while_asked_plays():
    """CS-31: the mildest answer; a surrender is never anybody else's to give."""
    table = CapsaTable("ann", "ben", "cid")
    table.start()
    for seat in (0, 1, 2):
        table.lock(seat)
    asked = table.live.deal.seats[table.live.asked]
    events = table.stand_up(table.state.seat(asked).player)
    assert kinds(events)[:2] == ["StandUpRequested", "Answered"]
    assert (events[1].answer, events[1].decided_by) == ("play", "system")


def test_leaving_after_the_set_is_locked_changes_nothing_until_asked():
    table = CapsaTable("ann", "ben")
    table.start()
    table.lock(0)
    assert kinds(table.stand_up("ann")) == ["StandUpRequested"]


def test_who_sleeps_twice_running_sits_out():
    """RULES.md 'table defaults': a set and an answer by the clock are two decisions."""
    table = CapsaTable("ann", "ben")
    table.start()
    table.lock(1)
    events = table.expire()
    assert kinds(events)[:2] == ["SettingClosed", "SetLocked"]
    assert table.state.seat(0).clock_decisions == 1
    while not any(type(event).__name__ == "SatOut" for event in events):
        asked = table.live.deal.seats[table.live.asked]
        events = table.expire(asked) if asked == 0 else table.answer()
    assert table.state.seat(0).is_sitting_out


def test_an_own_decision_forgets_those_of_the_clock():
    table = CapsaTable("ann", "ben", sit_out_after=2)
    table.start()
    table.lock(1)
    table.expire()
    while table.state.is_running:
        table.answer()
    assert [seat.clock_decisions for seat in table.state.seats] == [0, 0]


def test_decisions_of_another_game_are_refused():
    table = CapsaTable("ann", "ben")
    table.start()
    turn, version = table.live.turn, table.state.version
    assert table.refused(Act(0, "fold", 0, turn, version, table.now))[0] == "NOT_IN_THIS_GAME"
    assert table.refused(ExpireClock(0, turn, version, table.now))[0] == "NOT_IN_THIS_GAME"
    poker = Table()
    for seat, player in enumerate(("ann", "ben")):
        poker.seat(player, seat=seat)
    assert poker.refused(Unlock(0, 1, poker.state.version, poker.now))[0] == "HAND_OVER"
    poker.start()
    assert poker.refused(Unlock(0, 1, poker.state.version, poker.now))[0] == "NOT_IN_THIS_GAME"
    assert poker.refused(ProposeStake(0, 1, 5, poker.now))[0] == "NOT_IN_THIS_GAME"


def test_an_agreed_stake_holds_from_the_next_deal_and_ends_when_either_leaves():
    """CS-61, CS-62."""
    table = CapsaTable("ann", "ben", "cid", amount=20_000)
    table.when(ProposeStake(2, 0, 100, table.now))
    table.start()
    assert table.live.deal.started.settings.pair_units == ()
    table.when(AcceptStake(0, 2, 100, table.now))
    table.play_out()

    table.start()
    assert table.live.deal.started.settings.pair_units == (PairUnit(0, 2, 100),)
    table.play_out()
    line = next(line for line in table.state.hand.last.lines if {line.a, line.b} == {0, 2})
    assert line.chips == 100 * line.units

    events = table.stand_up("cid")
    assert kinds(events) == ["StandUpRequested", "StakeEnded", "SeatReleased"]
    assert (events[1].seat, events[1].other, events[1].reason) == (2, 0, "left")
    assert table.state.stakes.agreed == {}


def test_a_stake_is_refused_to_who_does_not_sit_here_or_leaves():
    table = CapsaTable("ann", "ben")
    assert table.refused(ProposeStake(0, 3, 5, table.now))[0] == "NOT_SEATED"
    reason, facts = table.refused(ProposeStake(0, 1, 2**50, table.now))
    assert (reason, facts["setting"]) == ("SETTING_INVALID", "pair_units")
    assert table.refused(LeaveStakes(0, table.now))[0] == "UNEXPECTED"
    table.start()
    table.stand_up("ben")
    assert table.refused(ProposeStake(0, 1, 5, table.now))[0] == "NOT_SEATED"


def test_whom_the_host_sends_away_sets_and_answers_by_itself():
    """TB-3: the host folds nobody and sets nobody's cards."""
    table = CapsaTable(host="hal", is_private=True)
    table.seat("hal", seat=0, amount=3_000)
    table.when(Invite("ann", "hal", False, table.now + 1_000, table.now))  # noqa: FBT003
    table.seat("ann", seat=1, amount=3_000)
    table.start()
    assert kinds(table.when(RemoveGuest("ann", "hal", False, table.now))) == ["GuestRemoved", "StandUpRequested"]  # noqa: FBT003
    table.lock(0)
    assert table.live.phase == "setting"
    table.lock(1)
    for _ in range(2):
        last = table.answer()
    assert kinds(last)[-1] == "SeatReleased"


def test_no_agreed_stake_and_no_change_of_settings_leaves_a_table_that_can_deal_no_hand():
    """CS-61, H9: what two agree upon and what a host sets is looked at together, whichever comes first and counts later."""
    unit = STACK_MAX // (28 * 3)  # the highest with M of the defaults
    dearer = replace(SETTINGS, scoring="1-6")
    table = CapsaTable("ann", "ben", "cid", "dan")

    def change(to):
        return ChangeSettings(replace(table.state.config, capsa=to, buy_in_min=0), "op", True, table.now)  # noqa: FBT003

    table.when(ProposeStake(2, 0, unit, table.now))
    table.when(AcceptStake(0, 2, unit, table.now))
    reason, facts = table.refused(change(dearer))
    assert (reason, facts["setting"]) == ("SETTING_INVALID", "capsa.pair_units")
    table.start()
    assert table.live.deal.seats in {(0, 1, 3), (1, 2, 3)}, "the others play on"
    table.when(EndStake(0, 2, table.now))
    table.when(ProposeStake(2, 0, unit, table.now))
    table.when(change(dearer))
    for command in (AcceptStake(0, 2, unit, table.now), ProposeStake(1, 0, unit, table.now)):
        reason, facts = table.refused(command)
        assert (reason, facts["setting"]) == ("SETTING_INVALID", "pair_units")
    table.play_out()
    table.start()
    assert table.live.deal.started.settings.scoop_bonus == 3


def test_every_act_leads_back_to_its_command():
    """DESIGN 3: at every act, deciding again gives exactly the recorded batch."""
    table = CapsaTable("ann", "ben", "cid")
    table.when(ProposeStake(0, 1, 20, table.now))
    table.when(AcceptStake(1, 0, 20, table.now))
    table.when(ProposeStake(0, 2, 20, table.now))
    table.when(EndStake(2, 0, table.now))
    table.start()
    table.when(SaveDraft(0, Arrangement(), table.live.turn, table.state.version, table.now))
    table.lock(1)
    table.when(Unlock(1, table.live.turn, table.state.version, table.now))
    table.lock(1)
    table.expire()
    while table.state.is_running:
        table.answer("surrender" if table.live.deal.seats[table.live.asked] == 1 else "play")
    table.stand_up("ann")
    state = None
    for batch in table.batches:
        command = command_of(batch[0], state)
        assert command is not None
        assert decide(state, command, table.cards) == batch
        for event in batch:
            state = evolve(state, event)
    assert state == table.state
    assert state.table_id == TABLE_ID
