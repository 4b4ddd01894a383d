"""Who sees what of a Capsa hand (CS-5, CS-22, CS-83, CS-84; S1, S2)."""

import random  # noqa: TID251  (tests may use chance)

from diwan.core.games.capsa.decide import advance
from diwan.core.games.capsa.events import Arrangement, DraftSaved, SetLocked, SettingBegan
from diwan.core.games.capsa.naturals import find_natural
from diwan.core.games.capsa.redact import public_view, seen_by, view
from diwan.core.games.capsa.settings import CapsaSettings, naturals_of
from diwan.core.games.capsa.view import SeatLocked
from diwan.core.view import SPECTATOR, Lens
from tests.unit.capsa.play import Hand

A = "Kd Kc 7h | Js Jh 8d 8c 4s | As Ts 8s 5s 3s"
B = "Ah Qd 9c | Td Tc 6h 6d 2c | Qs Qh Qc 3h 3d"
C = "Ac Kh 4d | 5h 5c 7d 6c 2d | 9h 8h 7s 6s 5d"
FOUL_A = "As Ts 8s | Js Jh 8d 8c 4s | Kd Kc 7h 5s 3s"


def seat_lens(seat):
    return Lens("seat", seat)


class Watched(dict):
    """Cards that note which positions were looked at."""

    def __init__(self, cards):
        super().__init__(cards)
        self.seen = set()

    def __getitem__(self, position):
        self.seen.add(position)
        return super().__getitem__(position)


def looked_at(hand, lens):
    watched = Watched(hand.cards)
    view(hand.state, watched, lens)
    return watched.seen


def test_before_the_reveal_a_viewer_s_cards_are_all_that_is_looked_at():
    """S1, CS-5."""
    hand = Hand(A, B, C)
    hand.lock(1)
    hand.when(hand.draft_command(2, C))
    assert looked_at(hand, SPECTATOR) == set()
    for place in range(3):
        assert looked_at(hand, seat_lens(place)) == set(hand.live.holdings[place])
    assert looked_at(hand, Lens("auditor")) == set(range(39))


def test_others_see_only_that_a_player_has_locked():
    """CS-22."""
    hand = Hand(A, B)
    hand.when(hand.draft_command(0, A))
    hand.lock(0, FOUL_A, is_foul_confirmed=True)
    seats = public_view(hand.state, hand.cards).seats
    assert [(seat.has_locked, seat.status, seat.rows, seat.hidden_cards) for seat in seats] == [
        (True, "", None, 13),
        (False, "", None, 13),
    ]
    draft, locked = hand.of_kind(DraftSaved)[0], hand.of_kind(SetLocked)[0]
    assert seen_by(draft, seat_lens(1)) is None
    assert seen_by(draft, seat_lens(0)) == draft
    assert seen_by(locked, seat_lens(1)) == seen_by(locked, SPECTATOR) == SeatLocked(0, locked.turn, hand.now)
    assert seen_by(locked, Lens("auditor")) == locked
    began = hand.of_kind(SettingBegan)[0]
    assert seen_by(began, SPECTATOR) == began


def test_a_seat_sees_its_own_draft_and_set_with_what_they_are():
    """No client computes rules."""
    hand = Hand(A, B)
    hand.when(hand.draft_command(0, "Kd Kc 7h | Js Jh | "))
    [own] = view(hand.state, hand.cards, seat_lens(0)).own
    assert own.draft.categories == ("pair", "", "")
    assert (own.draft.is_complete, own.draft.is_fouled, own.locked) == (False, False, None)
    assert "withheld" in repr(own)
    hand.lock(0, FOUL_A, is_foul_confirmed=True)
    [own] = view(hand.state, hand.cards, seat_lens(0)).own
    assert own.locked.categories == ("high_card", "two_pair", "pair")
    assert own.locked.is_fouled


def test_the_open_decision_says_all_that_a_client_needs():
    """CS-20, CS-30, CS-53."""
    hand = Hand(A, B)
    decision = public_view(hand.state, hand.cards).decision
    assert (decision.kind, decision.seats, decision.turn) == ("set", (0, 1), hand.live.turn)
    hand.lock_all()
    decision = public_view(hand.state, hand.cards).decision
    assert (decision.kind, decision.seats, decision.can_surrender, decision.surrender_price) == (
        "answer",
        (0,),
        True,
        3,
    )
    assert decision.deadline_ms == hand.live.deadline_ms
    hand.play_all()
    assert public_view(hand.state, hand.cards).decision is None


def test_the_end_shows_sets_royalties_and_lines_but_no_surrendered_cards():
    """CS-83, CS-84."""
    hand = Hand(
        "7c 7d 7h | Kd Td 8d 5d 2d | Jc Jh Js 4c 4s",
        "Ac Kh Qd | Tc Th Ts 3c 3h | 9c 9d 9h 9s 2c",
        "7s 2s 2h | Ah Ad Kc 5s 5c | 6s 6h 6d 6c 4h",
    )
    hand.lock_all()
    hand.play(0)
    hand.play(1)
    hand.surrender(2)
    seen = public_view(hand.state, hand.cards)
    assert (seen.phase, [seat.status for seat in seen.seats]) == ("over", ["set", "set", "surrendered"])
    assert [(each.row, each.category, each.units) for each in seen.seats[0].royalties] == [
        ("front", "three_of_a_kind", 3)
    ]
    assert seen.seats[0].rows.categories == ("three_of_a_kind", "flush", "full_house")
    assert (seen.seats[2].rows, seen.seats[2].hidden_cards) == (None, 13)
    assert [line.units for line in seen.lines] == [line.units for line in hand.live.lines]
    assert [seat.payoff for seat in seen.seats] == hand.payoffs
    assert sum(seat.units for seat in seen.seats) == 0


def test_a_natural_is_seen_by_all_from_the_deal_on():
    """CS-69."""
    hand = Hand(
        "Ah Kh Qc Jc Ts 9h 8c 7s 6h 5c 3s 3c 2h",
        "4h 4d 2s | As Ac Kc Th 6s | Qd Td 8d 7d 3d",
        "Ks Kd 5h | 9c 9d Jh Tc 2c | Qs Qh Js 8s 4s",
    )
    seat = public_view(hand.state, hand.cards).seats[0]
    assert (seat.status, seat.natural.kind, seat.natural.units, seat.hidden_cards) == ("natural", "three_flushes", 4, 0)
    assert sorted(seat.natural.cards) == sorted(hand.rows[0][0])
    assert [len(row) for row in seat.natural.division] == [3, 5, 5]


def test_a_view_does_not_change_with_the_hidden_cards_of_others():
    """S2: up to the reveal, with the same commands and no natural about."""
    chance = random.Random(30)
    compared = 0
    while compared < 40:
        deck = chance.sample(range(52), 52)
        seat = chance.randrange(3)
        own = set(range((seat + 2) % 3, 39, 3))
        others = [position for position in range(52) if position not in own]
        mixed = dict(enumerate(deck))
        for position, source in zip(others, chance.sample(others, len(others)), strict=True):
            mixed[position] = deck[source]
        if any(has_natural(cards) for cards in (dict(enumerate(deck)), mixed)):
            continue
        compared += 1
        hand = Hand(A, B, C, cards=dict(enumerate(deck)), button=0)
        state = advance(None, hand.batches[0][1], mixed)[1]
        for actor in chance.sample(range(3), 3):
            rows = chance.sample(hand.live.holdings[actor], 13)
            command = hand.lock_command(actor, [[], [], []], arrangement=arrangement_of(rows), is_foul_confirmed=True)
            hand.when(command)
            state = advance(state, command, mixed)[1]
            assert view(hand.state, hand.cards, seat_lens(seat)) == view(state, mixed, seat_lens(seat))
            assert public_view(hand.state, hand.cards) == public_view(state, mixed)


def arrangement_of(positions):
    return Arrangement(tuple(positions[:3]), tuple(positions[3:8]), tuple(positions[8:]))


def has_natural(cards):
    awards = naturals_of(CapsaSettings())
    return any(find_natural([cards[i] for i in range(first, 39, 3)], awards, "low") for first in range(3))
