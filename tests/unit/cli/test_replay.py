"""A hand that is gathered and told: who sees what, what is checked before it is told, how it is printed (P10, F3, S4)."""

from __future__ import annotations

import json
from functools import cache
from io import StringIO
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from rich.console import Console

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli.replay import ReplayFailedError, Told, Wanted, show, tell
from diwan.core.cards import format_card
from diwan.core.hand.events import HoleCardsDealt
from diwan.wire.mapping import write_reveals
from diwan.wire.stored import stored_message
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.logs import played


@cache
def hand():
    """The last hand of a table: its insider, and the cards that each seat holds."""
    one = Insider(played(105, 2))
    core = one.table.core[one.start() : one.end() + 1]
    dealt = next(event for event in core if isinstance(event, HoleCardsDealt))
    seats = [seat.seat for seat in core[0].seats]
    return one, dict(zip(seats, dealt.holdings, strict=True))


class House:
    """The table service as it would answer, and what it was asked."""

    def __init__(self, events=None, *, wrong_card=False):
        self.insider, self.holdings = hand()
        self.events = self.insider.events[self.insider.start() : self.insider.end() + 1] if events is None else events
        self.wrong_card = wrong_card
        self.opened = []
        self.secret = self.insider.table.secrets[self.insider.hand_id]

    def tables_of(self, role, subject):
        async def get_hand(_hand_id):
            messages = map(stored_message, self.events)
            return pb.GetHandResponse(table_id=str(self.insider.table.stream), events=messages, is_ended=True)

        async def open_hand(_hand_id, *, seat, reason, case_id):
            self.opened.append((role, subject, seat, reason, case_id))
            answer = pb.OpenHandResponse(secret=self.secret if role is Role.AUDITOR and seat is None else b"")
            for number, positions in self.holdings.items():
                if seat in {None, number}:
                    reveals = self.insider.table.deck.reveals(positions)
                    if self.wrong_card:
                        reveals = [replace(reveal, card=(reveal.card + 1) % 52) for reveal in reveals]
                    write_reveals(answer.seats.add(seat=number).reveals, reveals)
            return answer

        return SimpleNamespace(get_hand=get_hand, open_hand=open_hand)

    async def tell(self, lens="public", reason="", case_id="") -> Told:
        return await tell(Wanted(self.insider.hand_id, lens, reason, case_id), self.tables_of)


def names(house, seat):
    return tuple(house.insider.table.deck.cards[position] for position in house.holdings[seat])


async def test_everybody_sees_no_hidden_card_and_nothing_is_opened():
    house = House()
    told = await house.tell()
    assert house.opened == []
    first = next(step for step in told.steps if step.seats and step.seats[0].cards)
    assert {card for line in first.seats for card in line.cards} == {None}
    assert told.is_ended


async def test_a_seat_sees_its_own_cards_as_its_own_player():
    house = House()
    seat = min(house.holdings)
    told = await house.tell(str(seat))
    player = next(one.player for one in house.insider.table.core[house.insider.start()].seats if one.seat == seat)
    assert house.opened == [(Role.PLAYER, player, seat, "", "")]
    first = next(step for step in told.steps if step.seats and step.seats[0].cards)
    for line in first.seats:
        assert line.cards == (names(house, seat) if line.seat == seat else (None, None))


async def test_an_auditor_sees_all_cards_for_a_reason_that_is_told():
    house = House()
    told = await house.tell("auditor", "dispute", "case-7")
    assert house.opened == [(Role.AUDITOR, "replay", None, "dispute", "case-7")]
    first = next(step for step in told.steps if step.seats and step.seats[0].cards)
    assert {line.seat: line.cards for line in first.seats} == {seat: names(house, seat) for seat in house.holdings}


async def test_an_auditor_may_look_at_one_seat_alone():
    house = House()
    seat = max(house.holdings)
    await house.tell(str(seat), "dispute")
    assert house.opened == [(Role.AUDITOR, "replay", seat, "dispute", "")]


async def test_a_seat_that_was_not_dealt_in_is_told_so():
    house = House()
    with pytest.raises(ReplayFailedError, match="was not dealt in"):
        await house.tell("8")


async def test_a_card_that_was_not_dealt_is_never_told():
    """F3: what the service shows is held against the root in the log."""
    house = House(wrong_card=True)
    with pytest.raises(ReplayFailedError, match="not the one that was dealt"):
        await house.tell("auditor", "dispute")


@pytest.mark.parametrize("secret", [bytes(32), b"short"])
async def test_a_secret_that_gives_another_deck_is_told_so(secret):
    """F5."""
    house = House()
    house.secret = secret
    with pytest.raises(ReplayFailedError, match="does not give the deck"):
        await house.tell("auditor", "dispute")


async def test_a_log_that_does_not_hold_is_not_told():
    """H2."""
    one, _ = hand()
    events = one.events[one.start() : one.end() + 1]
    del events[3]
    with pytest.raises(ReplayFailedError, match="VERSION_GAP"):
        await House(events).tell()


async def test_an_answer_without_the_hand_is_told_so():
    with pytest.raises(ReplayFailedError, match="no beginning"):
        await House([]).tell()


def printed(told, *, terminal, width=200):
    out = StringIO()
    show(told, Console(file=out, force_terminal=terminal, width=width, highlight=False))
    return out.getvalue()


async def test_every_step_is_told_with_version_time_who_what_and_chips(capsys):
    told = await House().tell()
    head = printed(told, terminal=False)
    assert f"Hand {told.hand_id} at table {told.table_id}, as everybody saw it" in head
    text = capsys.readouterr().out
    for step in told.steps:
        assert f"{step.version:>6}  " in text
        assert step.what in text


async def test_a_terminal_gets_a_table():
    told = await House().tell()
    text = printed(told, terminal=True)
    for name in ("version", "time (UTC)", "who", "what", "left", "pot", "board", "stacks (+bet)"):
        assert name in text
    assert str(told.steps[-1].version) in text


async def test_json_names_cards_and_leaves_unknown_ones_null(capsys):
    house = House()
    seat = min(house.holdings)
    told = await house.tell(str(seat))
    show(told, Console(), as_json=True)
    made = json.loads(capsys.readouterr().out)
    assert made["hand_id"] == told.hand_id
    assert len(made["steps"]) == len(told.steps)
    first = next(step for step in made["steps"] if step["seats"] and step["seats"][0]["cards"])
    cards = {line["seat"]: line["cards"] for line in first["seats"]}
    assert cards[seat] == [format_card(card) for card in names(house, seat)]
    assert all(found == [None, None] for other, found in cards.items() if other != seat)
    assert {"version", "recorded_at_ms", "seat", "what", "decided_by", "pot", "board", "time_left_ms"} <= set(first)
