"""What a table's stream means for the ledger: followed once, in order, and only while it adds up."""

import pytest
from msgspec.structs import replace

from diwan.core.games.capsa.events import CapsaStarted, PairSettled
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.hand.events import HandEnded, HandSeat, HandStarted, HandVoided
from diwan.core.hand.settings import HandSettings
from diwan.core.ledger.accounts import BOTS, escrow_account, named_id, player_account, pot_account
from diwan.core.ledger.moves import MOVES
from diwan.core.ledger.requests import Confirmation, LinkedSet, Revocation
from diwan.core.ledger.seats import Disagreement, TableSeats, follow
from diwan.core.table.config import TableConfig
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    CarriedPotReturned,
    CarriedShare,
    Entrant,
    MatchEnded,
    MatchPlace,
    MatchStarted,
    SeatFunded,
    SeatReleased,
    TableCreated,
    TableEvent,
    TopUpRequested,
)

TABLE = named_id(BOTS.account_id, "table")
HAND = named_id(TABLE, "hand/1")
S0, S1 = named_id(TABLE, "sitting/0"), named_id(TABLE, "sitting/1")
TOP_UP = named_id(TABLE, "top-up")


def created(chips: str = "wallet") -> TableCreated:
    config = TableConfig(name="t", hand=HandSettings(small_blind=1, big_blind=2), chips=chips)
    return TableCreated(TABLE, config, "host", 1)


def asks(seat: int, player: str, sitting: str) -> BuyInRequested:
    return BuyInRequested(seat, player, player == "bot", 100, sitting, 1, post_at_once=False)


def started(*stacks: int) -> HandStarted:
    seats = tuple(
        HandSeat(i, f"p{i}", stack, sitting=s) for i, (s, stack) in enumerate(zip((S0, S1), stacks, strict=True))
    )
    return HandStarted(HAND, 1, 1, created().config.hand, seats, 0, 1, (), b"", (), (), b"", b"", 1)


def ended(payoffs: tuple[int, int], stacks: tuple[int, int], result: str = "showdown") -> HandEnded:
    return HandEnded(result, stacks, payoffs, (0, 0), (0, 0), b"", 1)


SEATED: tuple[TableEvent, ...] = (
    created(),
    asks(0, "p0", S0),
    SeatFunded(0, 100, S0, 1),
    asks(1, "bot", S1),
    SeatFunded(1, 100, S1, 1),
)


def given(*events: TableEvent) -> tuple[TableSeats, list[object]]:
    """Return the table after the events, and everything that was asked of the ledger."""
    table, requests = TableSeats(TABLE), []
    for version, event in enumerate(events, 1):
        table, asked = follow(table, event, version)
        requests += asked
    return table, requests


def refused(*events: TableEvent) -> str:
    table, _ = given(*events[:-1])
    with pytest.raises(Disagreement) as caught:
        follow(table, events[-1], len(events))
    return str(caught.value)


def test_a_funded_seat_is_checked_against_the_ledger():
    _, requests = given(*SEATED)

    assert requests == [
        Confirmation(S0, player_account("p0").account_id, escrow_account(S0).account_id, 100),
        Confirmation(S1, BOTS.account_id, escrow_account(S1).account_id, 100),
    ]


def test_a_hand_is_settled_from_its_end_and_the_seat_goes_home_with_its_stack():
    table, requests = given(
        *SEATED,
        started(100, 100),
        ended((-30, 30), (70, 130)),
        SeatReleased(0, "p0", S0, 70, "player", 1),
        SeatReleased(1, "bot", S1, 130, "player", 1),
    )

    paid, home, bot_home = requests[2:]
    e0, e1 = escrow_account(S0).account_id, escrow_account(S1).account_id
    assert [(t.debit_account, t.credit_account, t.amount, t.code) for t in paid.transfers] == [(e0, e1, 30, "hand")]
    assert [(t.debit_account, t.credit_account, t.amount) for t in home.transfers] == [
        (e0, player_account("p0").account_id, 70)
    ]
    assert (bot_home.transfers[0].credit_account, bot_home.closes) == (BOTS.account_id, (e1,))
    assert table.sittings == ()


def test_an_event_that_comes_again_asks_for_nothing():
    table, _ = given(*SEATED, started(100, 100), ended((-30, 30), (70, 130)))

    assert follow(table, ended((-30, 30), (70, 130)), 7) == (table, ())
    assert follow(table, SEATED[0], 1) == (table, ())


def test_a_hole_is_never_stepped_over():
    table, _ = given(*SEATED)

    with pytest.raises(Disagreement):
        follow(table, started(100, 100), 7)


def test_a_voided_hand_settles_nothing():
    _, requests = given(*SEATED, started(100, 100), ended((0, 0), (100, 100), "void"))

    assert len(requests) == 2


def test_a_busted_seat_closes_its_escrow_without_a_transfer():
    _, requests = given(
        *SEATED, started(100, 100), ended((-100, 100), (0, 200)), SeatReleased(0, "p0", S0, 0, "busted", 1)
    )

    assert requests[-1] == LinkedSet((), closes=(escrow_account(S0).account_id,))


def test_a_top_up_adds_to_the_stack_of_the_next_hand():
    table, requests = given(
        *SEATED,
        started(100, 100),
        TopUpRequested(0, 50, TOP_UP, 1),
        SeatFunded(0, 50, TOP_UP, 1),
        ended((-30, 30), (70, 130)),
    )

    assert table.sittings[0].stack == 120
    assert requests[2] == Confirmation(TOP_UP, player_account("p0").account_id, escrow_account(S0).account_id, 50)


def test_a_refused_buy_in_leaves_no_sitting_and_can_never_come_true():
    table, requests = given(*SEATED[:2], BuyInRefused(0, S0, "EXCEEDS_BALANCE", 1))

    assert (table.sittings, table.asked) == ((), ())
    assert [type(request) for request in requests] == [Revocation]


def test_a_refused_top_up_keeps_the_seat():
    table, _ = given(*SEATED, TopUpRequested(0, 50, TOP_UP, 1), BuyInRefused(0, TOP_UP, "EXCEEDS_BALANCE", 1))

    assert [(s.seat, s.stack) for s in table.sittings] == [(0, 100), (1, 100)]
    assert table.asked == ()


def test_a_top_up_still_on_its_way_is_revoked_before_the_seat_goes_home():
    _, requests = given(*SEATED, TopUpRequested(0, 50, TOP_UP, 1), SeatReleased(0, "p0", S0, 100, "operator", 1))

    assert [type(request) for request in requests[2:]] == [Revocation, LinkedSet]


def test_the_hands_of_a_match_never_reach_the_wallet():
    """L12: only its entries have come from there."""
    _, requests = given(created("match"), *SEATED[1:], started(5, 5), ended((5, -5), (10, 0)))

    assert [type(request) for request in requests] == [Confirmation, Confirmation]


@pytest.mark.parametrize(
    "events",
    [
        (*SEATED, started(100, 101)),
        (*SEATED, started(100, 100), started(100, 100)),
        (*SEATED, ended((0, 0), (100, 100))),
        (*SEATED, started(100, 100), ended((-30, 31), (70, 131))),
        (*SEATED, started(100, 100), ended((-30, 30), (70, 131))),
        (*SEATED, started(100, 100), ended((-101, 101), (-1, 201))),
        (*SEATED, started(100, 100), ended((-30, 30), (70, 130), "void")),
        (*SEATED, SeatReleased(0, "p0", S0, 101, "player", 1)),
        (*SEATED, SeatReleased(0, "p1", S0, 100, "player", 1)),
        (*SEATED, SeatReleased(0, "p0", S1, 100, "player", 1)),
        (*SEATED, started(100, 100), SeatReleased(0, "p0", S0, 100, "player", 1)),
        (*SEATED, SeatReleased(5, "p0", S0, 100, "player", 1)),
        (*SEATED, SeatFunded(0, 100, S0, 1)),
        (*SEATED[:2], SeatFunded(0, 101, S0, 1)),
        (*SEATED, asks(0, "p2", TOP_UP)),
        (*SEATED, BuyInRefused(0, TOP_UP, "EXCEEDS_BALANCE", 1)),
    ],
)
def test_events_that_do_not_add_up_are_refused_whole(events):
    """L10: a stream at odds with itself moves no chip; its table waits for an operator."""
    assert refused(*events)


POT = pot_account(TABLE)


def voided(carried: int) -> HandVoided:
    return HandVoided("no_raise", (), 1, "system", carried)


def sides(requests: list[object]) -> list[tuple[str, str, int, str]]:
    return [(t.debit_account, t.credit_account, t.amount, t.code) for r in requests[2:] for t in r.transfers]


CARRIED = (*SEATED, started(100, 100), voided(20), ended((-10, -10), (90, 90), "void"))


def test_what_a_void_hand_carries_over_stands_in_the_tables_pot_and_goes_to_who_wins_it():
    """A6, L10: escrow to pot, pot to escrow, each in its hand's one linked set."""
    table, requests = given(
        *CARRIED, replace(started(90, 90), carried=20, hand_id=named_id(TABLE, "hand/2")), ended((70, -50), (160, 40))
    )

    first, second = (escrow_account(sitting).account_id for sitting in (S0, S1))
    assert sides(requests) == [
        (first, POT.account_id, 10, "carried"),
        (second, POT.account_id, 10, "carried"),
        (second, first, 50, "hand"),
        (POT.account_id, first, 20, "carried_won"),
    ]
    assert requests[2].opens == (POT,)
    assert table.carried == 0
    assert [sitting.stack for sitting in table.sittings] == [160, 40]


def test_carried_chips_go_home_to_whoever_put_them_in_when_the_table_closes():
    """A6, L10: all of the pot, and no more."""
    shares = (CarriedShare("ann", is_bot=False, amount=12), CarriedShare("bot-1", is_bot=True, amount=8))
    table, requests = given(*CARRIED, CarriedPotReturned(shares, 1))

    assert table.carried == 0
    assert sides(requests)[-2:] == [
        (POT.account_id, player_account("ann").account_id, 12, "carried_returned"),
        (POT.account_id, BOTS.account_id, 8, "carried_returned"),
    ]
    assert refused(*CARRIED, CarriedPotReturned(shares[:1], 1))
    assert refused(*CARRIED, replace(started(90, 90), carried=20), CarriedPotReturned(shares, 1))


def test_a_second_void_hand_adds_to_the_pot():
    table, requests = given(
        *CARRIED, replace(started(90, 90), carried=20), voided(30), ended((-10, 0), (80, 90), "void")
    )

    assert table.carried == 30
    assert sides(requests)[-1] == (escrow_account(S0).account_id, POT.account_id, 10, "carried")


def test_an_interrupted_hand_leaves_the_pot_as_it_was():
    table, requests = given(*CARRIED, replace(started(90, 90), carried=20), voided(20), ended((0, 0), (90, 90), "void"))

    assert table.carried == 20
    assert len(requests) == 3


@pytest.mark.parametrize(
    "events",
    [
        (*CARRIED, started(90, 90)),
        (*CARRIED, replace(started(90, 90), carried=21)),
        (*CARRIED, replace(started(90, 90), carried=20), ended((50, -50), (140, 40))),
        (*CARRIED, replace(started(90, 90), carried=20), ended((71, -50), (161, 40))),
        (*CARRIED, replace(started(90, 90), carried=20), voided(19)),
        (*SEATED, voided(0)),
        (*SEATED, started(100, 100), voided(20), ended((-10, -10), (90, 90))),
        (*SEATED, started(100, 100), voided(20), ended((10, -30), (110, 70), "void")),
        (*SEATED, started(100, 100), voided(21), ended((-10, -10), (90, 90), "void")),
    ],
)
def test_carried_chips_that_do_not_add_up_are_refused_whole(events: tuple[TableEvent, ...]):
    """L10."""
    assert refused(*events)


def capsa(*seats: int, stack: int = 100) -> CapsaStarted:
    sittings = {0: S0, 1: S1}
    dealt = tuple(HandSeat(i, f"p{i}", stack, sitting=sittings[i]) for i in seats)
    return CapsaStarted(HAND, 1, 1, CapsaSettings(players=2), dealt, 0, b"", (), (), b"", b"", 1)


def line(a: int, b: int, chips: int) -> PairSettled:
    return PairSettled(a, b, None, 0, 0, 0, 0, chips, chips, chips)


def test_a_hand_of_capsa_is_paid_pair_by_pair():
    """CS-66: one transfer a pair, in the order of the lines, keyed by the hand."""
    _, requests = given(*SEATED, capsa(0, 1), line(1, 0, -30), ended((30, -30), (130, 70)))

    (paid,) = requests[2:]
    assert isinstance(paid, LinkedSet)
    (transfer,) = paid.transfers
    assert transfer.transfer_id == named_id(HAND, "line/1/0")
    assert (transfer.debit_account, transfer.credit_account, transfer.amount, transfer.code) == (
        escrow_account(S1).account_id,
        escrow_account(S0).account_id,
        30,
        "line",
    )


def test_pairs_that_exchange_nothing_and_a_void_hand_move_nothing():
    for events in ((line(1, 0, 0), ended((0, 0), (100, 100))), (ended((0, 0), (100, 100), "void"),)):
        table, requests = given(*SEATED, capsa(0, 1), *events)
        assert requests[2:] == []
        assert table.hand is None


@pytest.mark.parametrize(
    "events",
    [
        (line(1, 0, 5),),  # No hand.
        (started(100, 100), line(1, 0, 5)),  # Not of Capsa.
        (capsa(0, 1), line(1, 2, 5)),
        (capsa(0, 1), line(1, 1, 5)),
        (capsa(0, 1), line(1, 0, 5), line(0, 1, 5)),
        (capsa(0, 1), line(1, 0, -30), ended((20, -20), (120, 80))),
        (capsa(0, 1), ended((30, -30), (130, 70))),
        (capsa(0, 1, stack=90),),
        (capsa(0, 1), line(1, 0, -130), ended((130, -130), (230, -30))),
    ],
)
def test_lines_that_do_not_add_up_are_refused_whole(events: tuple[TableEvent, ...]):
    """L10: pairs and the hand's end say the same, or nothing is posted."""
    refused(*SEATED, *events)


POOL = pot_account(TABLE)
ENTRANTS = (Entrant(0, "p0", is_bot=False, sitting=S0), Entrant(1, "bot", is_bot=True, sitting=S1))


def entered(entry_fee: int = 100) -> tuple:
    """Two seats of a match that are paid for."""
    return (created("match"), *SEATED[1:], MatchStarted(ENTRANTS, 1000, entry_fee, 1))


def match_ended(*prizes: int) -> MatchEnded:
    places = [MatchPlace(n + 1, one.seat, one.player, one.is_bot, prizes[n]) for n, one in enumerate(ENTRANTS)]
    return MatchEnded("won", tuple(places), 2)


def test_nobody_takes_or_adds_chips_where_a_table_keeps_them_by_naming_the_account():
    """Entries of a match, as what void hands carry over, move by the table's log alone: nobody may ask for a move of theirs."""
    _, requests = given(*entered(), match_ended(150, 50))
    kept = {opened.kind for request in requests if isinstance(request, LinkedSet) for opened in request.opens}

    assert kept == {"pot"}
    assert not [move for move in MOVES if {move.debit, move.credit} & {*kept, "escrow"} and move.asked_by]


def test_entries_of_a_match_stand_in_its_pool_and_go_to_the_places():
    """L12: no hand of it moves a chip; all of the pool is paid out."""
    coins = replace(started(1000, 1000), seats=tuple(replace(s, stack=1000) for s in started(1, 1).seats))
    table, requests = given(*entered(), coins, ended((-1000, 1000), (0, 2000)), match_ended(150, 50))

    first, second = (escrow_account(sitting).account_id for sitting in (S0, S1))
    assert sides(requests) == [
        (first, POOL.account_id, 100, "match_entry"),
        (second, POOL.account_id, 100, "match_entry"),
        (POOL.account_id, player_account("p0").account_id, 150, "match_prize"),
        (POOL.account_id, BOTS.account_id, 50, "match_prize"),
    ]
    assert (table.pool, [sitting.stack for sitting in table.sittings]) == (0, [0, 0])


@pytest.mark.parametrize(
    "events",
    [
        (*entered(), match_ended(150, 49)),
        (*entered(), match_ended(250, -50)),
        (*entered(), match_ended(200, 0), match_ended(200, 0)),
        entered(entry_fee=99),
        (*entered(), MatchStarted(ENTRANTS, 1000, 0, 1)),
        (*SEATED, MatchStarted(ENTRANTS, 1000, 100, 1)),
    ],
)  # fmt: skip
def test_a_match_that_does_not_add_up_is_refused_whole(events):
    """L10: prizes are the entries, entries are those that were paid."""
    assert refused(*events)
