"""One bot at one table, against a scripted table: what it asks for and when (CL-6, S7, H6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Self

import grpc
import pytest

from diwan.api.event.v1 import hand_pb2, table_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import view_pb2
from diwan.client import DiwanError, ProofFailed
from diwan.core.cards import parse_cards
from services.bots.player import BotPlayer, End
from services.bots.roster import Assignment

BOT = "bot:amal-01"
TABLE = "5f0c4ba0-6f0e-4f3a-9d53-0f6f6a3a1a10"
REQUEST = "3a7c6a52-90a3-4a5e-8f47-1a2b3c4d5e6f"

OUTAGE = DiwanError("UNAVAILABLE", code=grpc.StatusCode.UNAVAILABLE, is_from_server=False)


def refusal(reason: str) -> DiwanError:
    return DiwanError(reason, code=grpc.StatusCode.FAILED_PRECONDITION)


def table_view(
    *,
    turn: int | None = None,
    status: view_pb2.SeatStatus = view_pb2.SEAT_STATUS_PLAYING,
    stack: int = 200,
    is_over: bool = False,
    is_seated: bool = True,
    is_closing: bool = False,
    hand_no: int = 1,
) -> view_pb2.TableView:
    """The bot on seat 1 against a person on seat 0; ``turn`` is the bot's open decision, a free check before the flop."""
    view = view_pb2.TableView(
        table_id=TABLE,
        version=turn or 1,
        is_closing=is_closing,
        config=table_pb2.TableConfig(
            name="t",
            seats=2,
            buy_in_min=40,
            buy_in_max=200,
            hand=hand_pb2.HandSettings(game="holdem", small_blind=1, big_blind=2, decision_seconds=20),
        ),
    )
    view.seats.add(seat=0, player="ann", stack=198, status=view_pb2.SEAT_STATUS_PLAYING, in_hand=True, bet=2)
    if is_seated:
        view.seats.add(
            seat=1, player=BOT, is_bot=True, stack=stack, status=status, in_hand=bool(turn), bet=2 if turn else 0
        )
    view.hand.hand_id = "h1"
    view.hand.game = "holdem"
    view.hand.hand_no = hand_no
    view.hand.street = hand_pb2.STREET_OVER if is_over or turn is None else hand_pb2.STREET_PREFLOP
    view.hand.pot = 4
    if turn is not None:
        view.hand.decision.CopyFrom(
            view_pb2.Decision(
                seat=1, turn=turn, can_fold=True, can_check=True, can_raise=True, min_to=4, max_to=200, pot_to=6
            )
        )
    return view


def private(cards: str) -> view_pb2.PrivateView:
    shown = [hand_pb2.Reveal(position=position, card=card) for position, card in enumerate(parse_cards(cards))]
    return view_pb2.PrivateView(seat=1, hand_id="h1", reveals=shown)


class Stream:
    """A seat's stream that shows one view after the other; a `None` cuts it, an exception ends it."""

    def __init__(self, table: Scripted) -> None:
        self._table = table
        self.table: view_pb2.TableView | None = None
        self.private = private(table.cards) if table.cards else None

    @property
    def decision(self) -> view_pb2.Decision | None:
        return self.table.hand.decision if self.table is not None and self.table.hand.HasField("decision") else None

    @property
    def window(self) -> view_pb2.ResponseWindow | None:
        naiko = None if self.table is None else self.table.hand.naiko
        return naiko.window if naiko is not None and naiko.HasField("window") and naiko.window.seat == 1 else None

    @property
    def held(self) -> list[hand_pb2.Reveal]:
        return [] if self.private is None else list(self.private.reveals)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def __aiter__(self) -> AsyncIterator[pb.PlayResponse]:
        while self._table.views:
            shown = self._table.views.pop(0)
            if isinstance(shown, Exception):
                raise shown
            self.table = shown
            yield pb.PlayResponse()

    async def use_power(
        self, turn: int, power: str, *, target: int | None, discard: int | None, request_id: str
    ) -> pb.CommandResult:
        self._table.used.append((turn, power, target, discard))
        if power == "hidden_glance" and self._table.glanced is not None:
            assert self.private is not None
            self.private.glanced.CopyFrom(self._table.glanced)
        return await self.act(turn, power, request_id=request_id)

    async def answer_anchor(self, turn: int, answer: str, *, request_id: str) -> pb.CommandResult:
        return await self.act(turn, answer, request_id=request_id)

    async def act(self, turn: int, kind: str, *, to: int = 0, request_id: str | None = None) -> pb.CommandResult:
        self._table.acts.append((turn, kind, request_id, asyncio.get_running_loop().time()))
        if self._table.act_answers:
            answer = self._table.act_answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
        return pb.CommandResult()


class Scripted:
    """The table service as far as a bot meets it."""

    def __init__(self, *views: view_pb2.TableView | Exception, cards: str = "As Ad") -> None:
        self.views = list(views)
        self.cards = cards
        self.calls: list[tuple[str, object]] = []
        self.acts: list[tuple[int, str, str | None, float]] = []
        self.used: list[tuple[int, str, int | None, int | None]] = []
        self.glanced: hand_pb2.Reveal | None = None
        self.act_answers: list[Exception | None] = []
        self.answers: dict[str, list[Exception | None]] = {}
        self.reached = 0

    def play(self, table_id: str) -> Stream:
        assert table_id == TABLE
        return Stream(self)

    async def sit_down(self, table_id: str, amount: int, *, post_at_once: bool, request_id: str) -> pb.SitDownResponse:
        self._answer("sit_down", (amount, request_id))
        return pb.SitDownResponse(seat=1)

    async def top_up(self, table_id: str, amount: int) -> pb.CommandResult:
        self._answer("top_up", amount)
        return pb.CommandResult(last_version=self.reached)

    async def set_sitting_out(self, table_id: str, *, is_sitting_out: bool, post_at_once: bool) -> pb.CommandResult:
        self._answer("set_sitting_out", is_sitting_out)
        return pb.CommandResult(last_version=self.reached)

    async def stand_up(self, table_id: str, *, is_yielding: bool) -> pb.CommandResult:
        self._answer("stand_up", is_yielding)
        return pb.CommandResult(last_version=self.reached)

    def _answer(self, name: str, content: object) -> None:
        self.calls.append((name, content))
        if self.answers.get(name):
            answer = self.answers[name].pop(0)
            if answer is not None:
                raise answer

    def named(self, name: str) -> list[object]:
        return [content for called, content in self.calls if called == name]


def bot_at(
    table: Scripted,
    *,
    think: Callable[[], float] = lambda: 0.0,
    secret: bytes = bytes(32),
    is_leaving: bool = False,
) -> BotPlayer:
    assignment = Assignment(BOT, TABLE, REQUEST, 200, is_leaving)
    return BotPlayer(table, assignment, think=think, secret=secret)  # type: ignore[arg-type]


async def test_a_bot_sits_down_decides_and_ends_when_its_seat_is_gone():
    table = Scripted(table_view(turn=5), table_view(is_over=True), table_view(is_seated=False))
    bot = bot_at(table)

    assert await bot.run() is End.SEAT_GONE
    assert table.named("sit_down") == [(200, REQUEST)]
    assert [turn for turn, *_ in table.acts] == [5]
    assert bot.decisions == 1


async def test_a_decision_is_answered_once_however_often_it_is_shown():
    table = Scripted(*[table_view(turn=5)] * 4, table_view(is_seated=False))

    await bot_at(table).run()

    assert len(table.acts) == 1


async def test_cards_that_have_not_come_yet_are_waited_for():
    table = Scripted(table_view(turn=5), table_view(is_seated=False), cards="")

    assert await bot_at(table).run() is End.SEAT_GONE
    assert table.acts == []


async def test_an_unknown_outcome_is_asked_again_under_the_same_id():
    """H6: a retry that changed its id could act twice."""
    table = Scripted(table_view(turn=5), table_view(is_seated=False))
    table.act_answers = [OUTAGE, OUTAGE, None]

    await bot_at(table).run()

    assert len(table.acts) == 3
    assert len({request_id for _, _, request_id, _ in table.acts}) == 1


async def test_a_refused_decision_becomes_a_check():
    """Given a policy's mistake, then the table is not kept waiting."""
    table = Scripted(table_view(turn=5), table_view(is_seated=False))
    table.act_answers = [refusal("AMOUNT_TOO_SMALL"), None]

    await bot_at(table).run()

    assert [kind for _, kind, *_ in table.acts] == ["raise", "check"]


async def test_a_late_decision_is_let_go():
    table = Scripted(table_view(turn=5), table_view(is_seated=False))
    table.act_answers = [refusal("STALE_TURN")]

    await bot_at(table).run()

    assert len(table.acts) == 1


async def test_think_time_is_drawn_before_the_cards_matter_and_decides_alone_when_the_answer_goes_out():
    """S7: with aces and with seven-deuce the same draws make the same delays, though the decisions differ."""
    delays: dict[str, list[float]] = {}
    for cards in ("As Ad", "7s 2d"):
        drawn = iter([0.05, 0.02, 0.08])
        table = Scripted(*[table_view(turn=turn) for turn in (5, 6, 7)], table_view(is_seated=False), cards=cards)
        began = asyncio.get_running_loop().time()

        await bot_at(table, think=lambda drawn=drawn: next(drawn)).run()

        times = [began, *(at for *_, at in table.acts)]
        delays[cards] = [later - earlier for earlier, later in pairwise(times)]

    for delay in delays.values():
        # Never before its time; how much later a busy machine lets it go says nothing about the cards.
        assert all(drawn <= waited < drawn + 0.2 for drawn, waited in zip([0.05, 0.02, 0.08], delay, strict=True))


async def test_thinking_never_takes_more_than_half_of_the_clock():
    view = table_view(turn=5)
    view.config.hand.decision_seconds = 0
    table = Scripted(view, table_view(is_seated=False))

    async with asyncio.timeout(2):
        await bot_at(table, think=lambda: 3600.0).run()

    assert len(table.acts) == 1


async def test_a_busted_bot_rebuys_and_comes_back():
    busted = table_view(status=view_pb2.SEAT_STATUS_SITTING_OUT, stack=0)
    reloaded = table_view(status=view_pb2.SEAT_STATUS_SITTING_OUT, stack=200)
    table = Scripted(busted, reloaded, table_view(is_seated=False))

    await bot_at(table).run()

    assert table.named("top_up") == [200]
    assert table.named("set_sitting_out") == [False]


async def test_a_view_from_before_an_answer_is_of_the_past():
    """Given a rebuy that was answered with version 9, when older views still come in, then it is not asked for again."""
    past = table_view(status=view_pb2.SEAT_STATUS_SITTING_OUT, stack=0)
    table = Scripted(past, past, past, table_view(is_seated=False))
    table.reached = 9
    bot = bot_at(table)

    await bot.run()

    assert table.named("top_up") == [200]
    assert not bot._is_leaving


async def test_a_wish_that_was_not_granted_is_not_repeated_at_every_view():
    busted = table_view(status=view_pb2.SEAT_STATUS_SITTING_OUT, stack=0)
    table = Scripted(*[busted] * 5, table_view(is_seated=False))
    table.answers["top_up"] = [refusal("BUY_IN_PENDING")]

    await bot_at(table).run()

    assert len(table.named("top_up")) == 1


async def test_a_bot_without_chips_makes_room():
    busted = table_view(status=view_pb2.SEAT_STATUS_SITTING_OUT, stack=0)
    table = Scripted(busted, busted, table_view(is_seated=False))
    table.answers["top_up"] = [refusal("BUY_IN_REFUSED")]

    await bot_at(table).run()

    assert table.named("stand_up") == [False], "it goes for want of chips, nobody asked for its seat"


async def test_a_leaving_bot_plays_its_hand_and_stands_up_after_it():
    """CL-6: after the hand, not in it."""
    table = Scripted(table_view(turn=5), table_view(is_over=True), table_view(is_seated=False))

    await bot_at(table, is_leaving=True).run()

    assert [turn for turn, *_ in table.acts] == [5]
    assert table.named("stand_up") == [True], "the log tells that it made room"


async def test_a_leaving_bot_that_was_dealt_in_once_more_goes_at_once():
    """Given views that come faster than they are read, when the end of the hand was never seen, then it goes all the same."""
    table = Scripted(table_view(turn=5), table_view(turn=30, hand_no=2), table_view(is_seated=False))

    await bot_at(table, is_leaving=True).run()

    assert [turn for turn, *_ in table.acts] == [5]
    assert table.named("stand_up") == [True], "the log tells that it made room"


async def test_an_outage_while_sitting_down_is_waited_out_under_the_same_id():
    table = Scripted(table_view(is_seated=False))
    table.answers["sit_down"] = [OUTAGE, OUTAGE, None]

    assert await bot_at(table).run() is End.SEAT_GONE
    assert table.named("sit_down") == [(200, REQUEST)] * 3


async def test_a_lost_stream_is_opened_again():
    table = Scripted(table_view(turn=5), OUTAGE, table_view(turn=9), table_view(is_seated=False))

    assert await bot_at(table).run() is End.SEAT_GONE
    assert [turn for turn, *_ in table.acts] == [5, 9]


@pytest.mark.parametrize("reason", ["TABLE_FULL", "TABLE_CLOSED", "BUY_IN_REFUSED"])
async def test_a_bot_that_gets_no_seat_gives_up(reason):
    table = Scripted(table_view(turn=5))
    table.answers["sit_down"] = [refusal(reason)]

    assert await bot_at(table).run() is End.REFUSED
    assert table.acts == []


async def test_a_restarted_bot_goes_on_in_the_seat_that_it_has():
    table = Scripted(table_view(turn=5), table_view(is_seated=False))
    table.answers["sit_down"] = [refusal("ALREADY_SEATED")]
    bot = bot_at(table)

    assert await bot.run() is End.SEAT_GONE
    assert bot.decisions == 1


async def test_a_bot_does_not_play_for_a_house_that_broke_its_commitment():
    table = Scripted(table_view(turn=5), ProofFailed("h1", "the deck's root changed within the hand"))

    assert await bot_at(table).run() is End.DISTRUSTS
    assert table.named("stand_up") == [False]


async def test_a_closing_table_is_left_to_send_everybody_home():
    table = Scripted(
        table_view(status=view_pb2.SEAT_STATUS_SITTING_OUT, stack=0, is_closing=True), table_view(is_seated=False)
    )

    assert await bot_at(table).run() is End.SEAT_GONE
    assert [name for name, _ in table.calls] == ["sit_down"]


def naiko_view(*powers: str, turn: int | None = 5, used: tuple[str, ...] = ()) -> view_pb2.TableView:
    """The bot's free check before the flop in Naiko, with these powers to use now and three destellos to pay with."""
    view = table_view(turn=turn)
    view.hand.game = view.config.hand.game = "naiko"
    view.config.hand.limit = "no_limit"
    view.config.hand.naiko.response_seconds = 8
    naiko = view.hand.naiko
    naiko.carousel.extend(["hidden_glance", "sleeve_trick", "short_anchor"])
    naiko.activations_left = 3
    naiko.seats.add(seat=0, destellos=3)
    naiko.seats.add(seat=1, destellos=3, used=used)
    for power in powers:
        naiko.powers.add(power=power, seat=1, cost=2, targets=[0] if power == "short_anchor" else [])
    return view


async def test_a_power_is_used_before_the_act_of_the_same_turn_and_names_the_card_by_its_position():
    """NK-20: seven-deuce throws a card away, then decides, without waiting for another turn."""
    used = naiko_view(used=("sleeve_trick",))
    table = Scripted(naiko_view("sleeve_trick"), used, table_view(is_seated=False), cards="7s 2d")

    class Discarding(Stream):
        async def use_power(self, turn: int, power: str, **more: object) -> pb.CommandResult:
            assert self.private is not None
            self.private.discarded.position = 1
            return await super().use_power(turn, power, **more)  # type: ignore[arg-type]

    table.play = lambda _table_id: Discarding(table)  # type: ignore[method-assign]
    await bot_at(table).run()

    assert table.used == [(5, "sleeve_trick", None, 1)]
    assert [(turn, kind) for turn, kind, *_ in table.acts] == [(5, "sleeve_trick"), (5, "check")]


async def test_a_card_that_a_power_brings_is_waited_for_before_the_act():
    """Given a view that tells of the glance, when the card has not come yet, then nothing is decided without it."""
    table = Scripted(naiko_view(used=("hidden_glance",)), table_view(is_seated=False), cards="7s 2d")

    await bot_at(table).run()

    assert table.acts == []


async def test_an_anchor_is_answered_within_its_window_and_once():
    """NK-34."""
    asked = naiko_view(turn=None)
    asked.hand.street = hand_pb2.STREET_PREFLOP
    asked.seats[1].in_hand = True
    window = asked.hand.naiko.window
    window.seat, window.declared_by, window.turn = 1, 0, 7
    table = Scripted(asked, asked, table_view(is_seated=False), cards="7s 2d")

    await bot_at(table).run()

    assert [(turn, kind) for turn, kind, *_ in table.acts] == [(7, "pass")]


async def test_a_power_that_is_refused_becomes_a_check():
    table = Scripted(naiko_view("sleeve_trick"), table_view(is_seated=False), cards="7s 2d")
    table.act_answers = [refusal("CARD_NOT_HELD"), None]

    await bot_at(table).run()

    assert [kind for _, kind, *_ in table.acts] == ["sleeve_trick", "check"]
