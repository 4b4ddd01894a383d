"""The loop of a seat: what it says of lost lines, other devices, closed tables, empty stacks, and what it sends."""

from contextlib import asynccontextmanager
from types import SimpleNamespace

import grpc
import pytest

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import lobby_pb2, view_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.cli.play.around import Ending
from diwan.cli.play.session import Session
from diwan.cli.play.terminal import Screen
from diwan.client import DiwanError, ProofFailed, SeatStream
from diwan.core.cards import parse_cards
from diwan.core.fairness import NO_SEEDS, deal
from tests.unit.cli.play.keys import AtTheKeys
from tests.unit.cli.play.views import FACING_BET, HAND, OPEN, decision, look, own, reveals, scene, seat, stored


class Table(SeatStream):
    """A seat's stream without a connection: the test says what comes, and sees what is sent."""

    def __init__(self):
        super().__init__(None, None, pb.Attach(), "amal", contributes_seeds=False)
        self.sent = []
        self.refusal = None

    async def comes(self, **message):
        await self._take(pb.PlayResponse(**message))

    async def shows(self, view, *events, **update):
        view.version = self.version + 1
        await self.comes(update=pb.Update(view=view, events=events, **update))

    def breaks(self, error):
        self._messages.put_nowait(error)

    async def _ask(self, request, seconds):
        self.sent.append(request)
        if self.refusal is not None:
            raise self.refusal
        return pb.CommandResult(last_version=self.version)


class House:
    """A client whose table is the test's; everything asked of it is noted."""

    subject = "amal"

    def __init__(self, balance=5000):
        self.table, self.asked, self.tables = Table(), [], self
        self.wallet = SimpleNamespace(get_account=self._account)
        self._balance = balance
        self.refusal = None
        self.on_line = None

    @asynccontextmanager
    async def play(self, _table_id, *, on_line):
        self.on_line = on_line
        yield self.table

    async def _account(self):
        return SimpleNamespace(balance=self._balance)

    async def top_up(self, _table_id, amount):
        self.asked.append(("top_up", amount))
        if self.refusal is not None:
            raise self.refusal

    async def set_sitting_out(self, _table_id, *, is_sitting_out, post_at_once):
        self.asked.append(("sit_out", is_sitting_out))


TERMS = lobby_pb2.TableConditions(game="holdem", buy_in_min=200, buy_in_max=1000, chips=table_pb2.CHIP_SOURCE_WALLET)


class Evening(AtTheKeys):
    """A session that runs while the test types and lets things happen."""

    def __init__(self, game="holdem", terms=TERMS, language="en", **how):
        super().__init__()
        self.house = House(**how)
        self.table = self.house.table
        self.session = Session(
            self.house,
            "t",
            terms,
            look(game, language),
            Screen(self._console),
            keyboard=self._keyboard,
        )

    def _begin(self):
        return self.session.run()


async def at_turn(evening, game="holdem", **said):
    view = scene(game, decision=decision(**said)).table
    await evening.table.shows(view)
    await evening.table.comes(private=scene(game)._replace(seat=0).private)
    await evening.settled()


@pytest.fixture(autouse=True)
def _trusted_cards(monkeypatch, request):
    """Cards of these views are of no deck: proofs have tests of their own."""
    if "proof" not in request.node.name:
        monkeypatch.setattr("diwan.client.fair.verify_reveal", lambda *_: True)


async def test_a_decision_is_asked_once_and_sent_with_its_turn():
    async with Evening() as evening:
        await at_turn(evening, **FACING_BET)
        assert evening.said.count("Your turn.") == 1
        await evening.types("r 100")
        (request,) = evening.table.sent
        assert (request.action.turn, request.action.to) == (7, 100)


async def test_nothing_is_asked_before_the_own_cards_have_come():
    async with Evening() as evening:
        await evening.table.shows(scene(decision=decision(**OPEN)).table)
        await evening.settled()
        assert "Your turn" not in evening.said


async def test_who_comes_into_a_running_hand_is_told_to_wait():
    view = scene().table
    view.seats[0].in_hand = False
    async with Evening() as evening:
        await evening.table.shows(view)
        await evening.settled()
        assert "You wait for the next hand." in evening.said


async def test_wrong_input_sends_nothing_and_a_needless_fold_is_asked_about_once():
    async with Evening() as evening:
        await at_turn(evening, **OPEN)
        for line in ("nonsense", "c", "b 5", "", "f"):
            await evening.types(line)
        assert evening.table.sent == []
        assert "Type f again to fold all the same" in evening.said
        await evening.types("f")
        assert len(evening.table.sent) == 1


@pytest.mark.parametrize(("language", "text"), [("en", "refused: Too late."), ("ar", "فات الأوان")])
async def test_a_refusal_is_told_in_the_players_language(language, text):
    async with Evening(language=language) as evening:
        await at_turn(evening, **OPEN)
        evening.table.refusal = DiwanError("DEADLINE_PASSED", {}, "Too late.", "فات الأوان")
        await evening.types("x")
        assert text in evening.said
        assert not evening.running.done()


async def test_an_answer_that_never_came_is_told_as_unknown_with_the_table_as_it_stands():
    """RELIABILITY: after a lost answer nobody knows; nothing is sent again by itself."""
    async with Evening() as evening:
        await at_turn(evening, **OPEN)
        evening.table.refusal = DiwanError("UNKNOWN_OUTCOME", is_from_server=False)
        before = evening.said.count("== Hold'em")
        await evening.types("x")
        assert "it is not known whether that counted" in evening.said
        assert evening.said.count("== Hold'em") == before + 1
        assert len(evening.table.sent) == 1


async def test_a_lost_line_and_its_return_are_told():
    """H10."""
    async with Evening() as evening:
        evening.house.on_line(False)  # noqa: FBT003  (as the client library calls it)
        assert "Connection lost. Your seat, your bets and your clock are kept" in evening.said
        evening.house.on_line(True)  # noqa: FBT003
        assert "Connected again." in evening.said


async def test_when_the_line_is_back_the_open_question_is_shown_again():
    """H10: what was asked may have scrolled away, and time has gone by."""
    async with Evening() as evening:
        await at_turn(evening, **OPEN)
        evening.house.on_line(False)  # noqa: FBT003  (as the client library calls it)
        evening.house.on_line(True)  # noqa: FBT003
        await at_turn(evening, **OPEN)
        assert evening.said.count("Your turn.") == 2


async def test_what_a_power_shows_to_its_player_is_told_when_it_comes():
    """NK-18, NK-20: the card seen; the card thrown away with the cards held from then on."""
    async with Evening("naiko") as evening:
        await at_turn(evening, "naiko", **OPEN)
        await evening.table.comes(private=own(glanced=reveals("7c")[0]))
        await evening.settled()
        assert evening.said.count("You saw the next card of the deck: 7♣") == 1
        await evening.table.comes(private=own("As 2c", glanced=reveals("7c")[0], discarded=reveals("Kd")[0]))
        await evening.settled()
        assert evening.said.count("You saw the next card") == 1
        told = evening.said.split("You threw away K♦")[1]
        assert "your cards: A♠ 2♣" in told


async def test_after_a_snapshot_the_table_is_shown_as_it_stands():
    async with Evening() as evening:
        await evening.table.shows(scene().table)
        await evening.table.shows(scene(hand_no=15).table, is_snapshot=True)
        await evening.settled()
        assert "Something was missed" in evening.said
        assert "hand 15" in evening.said


async def test_another_device_takes_the_seat_over_without_standing_it_up():
    async with Evening() as evening:
        evening.table.breaks(DiwanError("REPLACED", code=grpc.StatusCode.ABORTED))
        assert await evening.ends() is Ending.REPLACED
        assert "Your seat was opened on another device" in evening.said


async def test_a_table_that_closes_is_told():
    async with Evening() as evening:
        await evening.table.shows(scene().table)
        closed = scene(seats=[seat(2, "rami", 5)]).table
        closed.is_closed = True
        await evening.table.shows(closed, stored("table_closing"))
        assert await evening.ends() is Ending.SEAT_GONE
        assert "The table closes after this hand." in evening.said
        assert "The table is closed. Chips went home" in evening.said


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (table_pb2.SEAT_CAUSE_HOST, "The host has sent you away."),
        (table_pb2.SEAT_CAUSE_DISCONNECTED, "you were away for too long"),
        (table_pb2.SEAT_CAUSE_OPERATOR, "An operator has taken you from the table."),
    ],
)
async def test_a_seat_that_is_gone_says_why(cause, text):
    async with Evening() as evening:
        await evening.table.shows(scene().table)
        gone = stored("seat_released", seat=0, player="amal", cause=cause)
        await evening.table.shows(scene(seats=[seat(2, "rami", 5)]).table, gone)
        assert await evening.ends() is Ending.SEAT_GONE
        assert text in evening.said


def busted(stack=0, status="SEAT_STATUS_SITTING_OUT"):
    return scene(
        street="STREET_OVER", seats=[view_pb2.SeatView(seat=0, player="amal", stack=stack, status=status)]
    ).table


async def test_who_has_no_chips_is_offered_a_reload_and_comes_back_by_it():
    """TB-2: never without the player's word."""
    async with Evening(balance=600) as evening:
        await evening.table.shows(busted())
        await evening.table.shows(busted())
        await evening.settled()
        assert evening.said.count("reload 600  brings more (600 in your wallet)") == 1
        assert evening.house.asked == []
        await evening.types("reload 500")
        assert evening.house.asked == [("top_up", 500)]
        await evening.table.shows(busted(stack=500))
        await evening.settled()
        assert evening.house.asked == [("top_up", 500), ("sit_out", False)]


async def test_who_has_all_that_the_table_takes_is_told_so():
    async with Evening() as evening:
        await evening.table.shows(busted(stack=1000, status="SEAT_STATUS_PLAYING"))
        evening.house.refusal = DiwanError("BUY_IN_OUT_OF_RANGE", {"min": "1", "max": "0"})
        await evening.types("reload 10")
        assert "as many chips in front of you as this table takes" in evening.said


@pytest.mark.parametrize("line", ["reload 100", "reload", "out", "back"])
async def test_at_a_match_nobody_reloads_or_sits_out(line):
    """A match has no top-up, and who is absent is played by the clock (SB-4, SB-38)."""
    terms = lobby_pb2.TableConditions(game="sarab", chips=table_pb2.CHIP_SOURCE_MATCH)
    async with Evening("sarab", terms) as evening:
        await evening.table.shows(scene("sarab").table)
        await evening.settled()
        await evening.types(line)
        assert "A match is played with the coins that it began with" in evening.said
        assert evening.house.asked == []


async def test_who_cannot_pay_a_reload_is_told_so():
    async with Evening(balance=30) as evening:
        await evening.table.shows(busted())
        await evening.settled()
        assert "30 in your wallet are too few to reload" in evening.said


async def test_leaving_a_running_hand_is_confirmed_and_leaving_between_hands_is_not():
    async with Evening() as evening:
        await at_turn(evening, **FACING_BET)
        await evening.types("q")
        assert "leaving gives it up" in evening.said
        await evening.types("t")
        await evening.types("q")
        assert not evening.running.done()
        await evening.types("q")
        assert await evening.ends() is Ending.LEFT
    async with Evening() as evening:
        await evening.table.shows(busted(stack=50, status="SEAT_STATUS_PLAYING"))
        await evening.settled()
        await evening.types("q")
        assert await evening.ends() is Ending.LEFT


async def test_the_end_of_the_input_is_leaving():
    async with Evening() as evening:
        await at_turn(evening, **FACING_BET)
        await evening.types(None)
        assert await evening.ends() is Ending.LEFT


async def test_the_last_of_a_match_has_won_it_and_others_are_out():
    """SB-38."""
    terms = lobby_pb2.TableConditions(game="sarab", chips=table_pb2.CHIP_SOURCE_MATCH)
    for place, text in ((1, "You win the match!"), (2, "You are out of the match: place 2.")):
        async with Evening("sarab", terms) as evening:
            await evening.table.shows(scene("sarab").table)
            over = scene("sarab", seats=[seat(2, "rami", 5)]).table
            over.match.is_started = True
            over.match.result = table_pb2.MATCH_RESULT_WON
            over.match.places.add(place=place, player="amal")
            await evening.table.shows(over)
            assert await evening.ends() is Ending.SEAT_GONE
            assert text in evening.said


def hand_events(root):
    seats = [{"seat": 0, "player": "amal"}, {"seat": 2, "player": "rami"}]
    started = stored("hand_started", hand_id=HAND, hand_no=12, seats=seats, deck_root=root, button=2)
    return started, stored("hand_ended", payoffs=[60, -60], result="HAND_RESULT_UNCONTESTED")


def dealt():
    """Return a real deck's root, and a private view of its first two cards with their proofs."""
    deck = deal(HAND, b"s" * 32, NO_SEEDS)
    reveals = [deck.reveal(position) for position in (0, 1)]
    private = view_pb2.PrivateView(seat=0, hand_id=HAND)
    for one in reveals:
        private.reveals.add(position=one.position, card=one.card, salt=one.salt, path=one.path)
    return deck.root, private


async def test_a_hand_ends_with_its_result_and_proof_of_its_cards():
    root, private = dealt()
    async with Evening() as evening:
        started, ended = hand_events(root)
        await evening.table.shows(scene(deck_root=root).table, started)
        await evening.table.comes(private=private)
        await evening.table.shows(scene(deck_root=root, street="STREET_OVER").table, ended)
        await evening.settled()
        assert "You won 60 in this hand." in evening.said
        assert "checked: your 2 cards and 0 shown ones are in the deck" in evening.said


async def test_a_card_without_proof_ends_the_evening():
    root, private = dealt()
    private.reveals[0].card = (private.reveals[0].card + 1) % 52
    async with Evening() as evening:
        started, _ = hand_events(root)
        await evening.table.shows(scene(deck_root=root).table, started)
        with pytest.raises(ProofFailed) as failed:
            await evening.table.comes(private=private)
        evening.table.breaks(failed.value)
        with pytest.raises(ProofFailed):
            await evening.ends()


async def test_a_shown_card_without_proof_ends_the_evening():
    """What is turned up for all is checked like the own cards."""
    root, private = dealt()
    async with Evening() as evening:
        started, ended = hand_events(root)
        board = stored("board_dealt", street="STREET_FLOP", reveals=[{"position": 9, "card": 3, "salt": b"x" * 32}])
        await evening.table.shows(scene(deck_root=root).table, started)
        await evening.table.comes(private=private)
        await evening.table.shows(scene(deck_root=root, street="STREET_OVER").table, board, ended)
        with pytest.raises(ProofFailed, match="position 9"):
            await evening.ends()


def capsa_view(**private):
    decided = {"kind": "set", "seats": [0], "turn": 5}
    found = scene("capsa", capsa={"phase": "setting", "decision": decided, "seats": [{"seat": 0}]})
    found.table.config.capsa.unit = 10
    cards = reveals("As Ah Kd Ks Qc Qd 9h 8h 7h 5h 3h 4c 2d")
    return found.table, view_pb2.PrivateView(seat=0, hand_id=HAND, reveals=cards, capsa=private)


async def test_a_set_is_drafted_locked_though_it_fouls_only_when_that_is_meant_and_taken_back():
    async with Evening("capsa", lobby_pb2.TableConditions(game="capsa")) as evening:
        table, private = capsa_view()
        await evening.table.shows(table)
        await evening.table.comes(private=private)
        await evening.settled()
        for line in ("u", "f As Ah Kd", "b 9h 7h 5h 4c 2d"):
            await evening.types(line)
        assert "Your set is not locked." in evening.said
        assert [request.capsa.WhichOneof("action") for request in evening.table.sent] == ["save_draft", "save_draft"]
        evening.table.refusal = DiwanError("FOULED_SET", {}, "It fouls.")
        await evening.types("l")
        assert "Type yes to lock them all the same" in evening.said
        evening.table.refusal = None
        await evening.types("yes")
        assert evening.table.sent[-1].capsa.lock.is_foul_confirmed
        await evening.types("u")
        assert evening.table.sent[-1].capsa.HasField("unlock")


async def test_yes_means_nothing_where_nothing_was_asked():
    async with Evening("capsa", lobby_pb2.TableConditions(game="capsa")) as evening:
        table, private = capsa_view()
        await evening.table.shows(table)
        await evening.table.comes(private=private)
        await evening.settled()
        await evening.types("yes")
        assert evening.table.sent == []


async def test_a_set_that_the_clock_has_locked_is_shown_instead_of_the_fouled_draft():
    """CS-28: the last rows in order count, not those that were drafted last."""
    async with Evening("capsa", lobby_pb2.TableConditions(game="capsa")) as evening:
        table, private = capsa_view()
        await evening.table.shows(table)
        await evening.table.comes(private=private)
        await evening.settled()
        await evening.types("f As Ah Kd")
        rows = {"front": parse_cards("Kd Ks 2d"), "middle": parse_cards("As Ah Qc Qd 4c")}
        rows["back"] = parse_cards("9h 8h 7h 5h 3h")
        _, locked = capsa_view(locked={"rows": rows, "is_complete": True, "front_category": "pair"})
        await evening.table.comes(private=locked)
        await evening.settled()
        assert "front: K♠ K♦ 2♦  (pair)" in evening.said.split("saved as a draft")[1]
