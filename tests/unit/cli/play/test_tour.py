"""Following a seat through a tournament: entering, waiting, being moved, going, and how it ends."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import grpc
import pytest

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import lobby_pb2 as table_lobby_pb2
from diwan.api.tournament.v1 import lobby_pb2, view_pb2
from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.cli.play.terminal import Screen
from diwan.cli.play.tour import Tour
from diwan.client import DiwanError
from diwan.core.tournament.seeds import entry_seed_commitment
from tests.unit.cli.play.keys import AtTheKeys
from tests.unit.cli.play.test_session import Table
from tests.unit.cli.play.test_tour_text import CONDITIONS, level, view
from tests.unit.cli.play.views import OPEN, decision, own, scene

ID = "00000000-0000-5000-8000-0000000000aa"
TERMS = table_lobby_pb2.TableConditions(game="holdem", chips=table_pb2.CHIP_SOURCE_TOURNAMENT)


class Story:
    """A tournament's stream, as the test tells it."""

    def __init__(self):
        self._said = asyncio.Queue()

    def own(self, **said):
        self._said.put_nowait(pb.WatchTournamentResponse(own=view_pb2.OwnEntry(**said)))

    def view(self, **said):
        message = pb.WatchTournamentResponse()
        message.update.view.CopyFrom(view(**said))
        self._said.put_nowait(message)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        """Nothing is open."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self._said.get()


class House:
    """A client whose tournament and tables are the test's; what is asked of it is noted."""

    subject = "amal"

    def __init__(self, status="none"):
        self.tournaments = self.tables = self.wallet = self
        self.story, self.asked, self.seats = Story(), [], {}
        self._own = view_pb2.OwnEntry(status=status)
        self.has_begun = False
        self.answer, self.refusal = "registered", None

    async def open_account(self):
        return SimpleNamespace(account=SimpleNamespace(balance=5000))

    async def templates(self):
        spin = lobby_pb2.TournamentConditions(game="holdem", entry=100, players_min=3, players_max=3)
        spin.multipliers.add(times=2, pool=200)
        spin.multipliers.add(times=100, pool=10_000)
        return [pb.Template(name="sit_and_go_6", conditions=CONDITIONS), pb.Template(name="spin", conditions=spin)]

    async def issue_to_house(self, amount, *, reason):
        assert reason
        self.asked.append(("issue", amount))

    async def create(self, template, *, starts_at_ms):
        self.asked.append(("create", template, starts_at_ms))
        is_short = template == "spin" and ("issue", 9_700) not in self.asked
        self.story.view(cancelled="house_short" if is_short else "", phase="finished" if is_short else "registering")
        return SimpleNamespace(tournament=view_pb2.TournamentView(tournament_id=ID, name="Sit & Go 6"))

    async def get(self, tournament_id):
        assert tournament_id == ID
        return pb.GetTournamentResponse(
            tournament=view(level=None, phase="registering"), conditions=CONDITIONS, own=self._own
        )

    async def register(self, _tournament_id, *, seed_commitment):
        self.asked.append(("register",))
        self.committed = seed_commitment
        if self.refusal is not None:
            raise self.refusal
        return pb.RegisterResponse(own=view_pb2.OwnEntry(status=self.answer))

    async def open_seed(self, tournament_id, seed):
        assert entry_seed_commitment(tournament_id, self.subject, seed) == self.committed
        self.asked.append(("open_seed",))

    async def unregister(self, _tournament_id):
        self.asked.append(("unregister",))
        if self.has_begun:
            raise DiwanError("TOURNAMENT_STARTED", code=grpc.StatusCode.FAILED_PRECONDITION)

    async def cancel(self, _tournament_id, reason):
        self.asked.append(("cancel", reason))

    def watch(self, _tournament_id):
        return self.story

    async def conditions(self, _table_id):
        return TERMS

    @asynccontextmanager
    async def play(self, table_id, *, on_line):
        self.seats[table_id] = Table()
        yield self.seats[table_id]


class Night(AtTheKeys):
    """A tour that runs while the test types and lets things happen."""

    def __init__(self, wanted=ID, **how):
        super().__init__()
        self.house = House(**how)
        self._tour = Tour(self.house, self.house, "en", Screen(self._console), keyboard=self._keyboard)
        self._wanted = wanted

    def _begin(self):
        return self._tour.play(self._wanted)

    async def is_seated_at(self, table_id, number, version=1, **said):
        self.house.story.own(status="playing", table_id=table_id, table_no=number, seat=0, stack=980, version=version)
        self.house.story.view(**said)
        await self.settled()


async def test_the_conditions_are_shown_and_nothing_is_paid_before_a_yes():
    async with Night() as night:
        assert "Entry: 110, of which 100 for prizes" in night.said
        await night.types("what?")
        assert night.house.asked == []
        await night.types("n")
        await night.ends()
        assert night.house.asked == []
        assert "nothing was paid" in night.said


async def test_who_is_moved_is_followed_to_the_new_table_and_what_is_typed_goes_there():
    """TS: the old table's stream ends with MOVED_TO_ANOTHER_TABLE, the tournament says where to."""
    async with Night() as night:
        await night.types("y")
        assert night.house.asked == [("register",)]
        await night.is_seated_at("t1", 1)
        assert "Your seat: table 1, seat 0, with 980 tournament chips." in night.said
        night.house.story.own(status="playing", is_moving=True, stack=980, version=2)
        night.house.seats["t1"].breaks(DiwanError("MOVED_TO_ANOTHER_TABLE", code=grpc.StatusCode.ABORTED))
        await night.settled()
        assert "You are moved to another table" in night.said
        assert "You do not sit here any more" not in night.said
        await night.is_seated_at("t2", 2, 3, tables=2)
        assert "Your seat: table 2" in night.said
        there = night.house.seats["t2"]
        await there.shows(scene(decision=decision(**OPEN)).table)
        await there.comes(private=own())
        await night.settled()
        assert "level 2: 20/40" in night.said
        assert "table 2 of 2" in night.said
        await night.types("x")
        assert len(there.sent) == 1


async def test_the_players_seed_is_put_into_the_first_draw_once():
    """F1, F7: committed to with the entry, opened when the tournament asks."""
    async with Night() as night:
        await night.types("y")
        assert night.house.asked == [("register",)]
        for _ in range(2):
            night.house.story.view(level=None, phase="registering", seeds_until_ms=1_000)
            await night.settled()
        assert night.house.asked == [("register",), ("open_seed",)]
        night.house.story.own(status="out", place=3, place_last=3)
        night.house.story.view(phase="finished")
        await night.ends()


async def test_place_and_prize_are_told_at_the_end():
    async with Night(status="playing") as night:
        assert "You are in this tournament already." in night.said
        await night.is_seated_at("t1", 1)
        night.house.seats["t1"].breaks(DiwanError("NOT_SEATED", code=grpc.StatusCode.FAILED_PRECONDITION))
        night.house.story.own(status="out", place=2, place_last=2, prize=180, version=9)
        night.house.story.view(prizes=[420, 180])
        await night.ends()
        assert night.said.endswith("You are out: place 2 of 6.\nYour prize: 180 chips, for your wallet.\n")
        assert night.house.asked == []


async def test_leaving_before_the_start_gives_the_entry_back_and_calls_off_what_was_announced_for_it():
    async with Night("sit_and_go_6") as night:
        await night.types("y")
        await night.types("t")
        assert "6 entered" in night.said
        await night.types("q")
        await night.ends()
        assert night.house.asked == [
            ("create", "sit_and_go_6", 0),
            ("register",),
            ("unregister",),
            ("cancel", "its player left before it began"),
        ]
        assert "your entry goes back to your wallet" in night.said


async def test_a_house_that_lacks_the_chips_of_a_spin_is_given_them_and_announces_it_again():
    """At most 100 times the entry of 100, less the three entries."""
    async with Night("spin") as night:
        assert "9,700 are issued to it" in night.said
        assert night.house.asked == [("create", "spin", 0), ("issue", 9_700), ("create", "spin", 0)]
        await night.types("n")
        await night.ends()
        assert night.house.asked[-1] == ("cancel", "its player left before it began")


async def test_leaving_in_play_is_asked_about_once_and_tells_how_to_come_back():
    async with Night(status="playing") as night:
        night.house.has_begun = True
        await night.is_seated_at("t1", 1)
        await night.house.seats["t1"].shows(scene().table)
        await night.settled()
        await night.types("q")
        assert "the clock plays for you" in night.said
        assert not night.running.done()
        await night.types("q")
        await night.ends()
        assert f"play --tournament {ID} --name amal" in night.said


async def test_another_device_plays_on_and_nothing_is_given_back():
    async with Night(status="playing") as night:
        await night.is_seated_at("t1", 1)
        night.house.seats["t1"].breaks(DiwanError("REPLACED", code=grpc.StatusCode.ABORTED))
        await night.ends()
        assert "Your seat was opened on another device" in night.said
        assert "You go" not in night.said
        assert night.house.asked == []


async def test_an_entry_that_the_wallet_has_not_answered_is_told_as_that_and_refused_later():
    async with Night() as night:
        night.house.answer = "requested"
        await night.types("y")
        assert "the wallet has not answered yet" in night.said
        assert "You are in." not in night.said
        night.house.story.own(status="none", version=2)
        await night.ends()
        assert "You are not in: the entry was refused" in night.said


async def test_what_was_announced_for_an_entry_that_is_refused_is_called_off():
    async with Night("sit_and_go_6") as night:
        night.house.refusal = DiwanError(
            "ENTRY_REFUSED", {}, "Not enough chips.", code=grpc.StatusCode.FAILED_PRECONDITION
        )
        await night.types("y")
        with pytest.raises(DiwanError, match="ENTRY_REFUSED"):
            await night.ends()
        assert night.house.asked[-1] == ("cancel", "its player left before it began")


async def test_levels_are_told_while_waiting():
    async with Night(status="playing") as night:
        night.house.story.view(level=level(3, 60))
        night.house.story.view(level=level(4, 100))
        await night.settled()
        assert "Level 4 begins: 50/100, from the next hand on." in night.said


async def test_what_is_neither_an_id_nor_a_template_is_answered_with_the_templates():
    async with Night("spinn") as night:
        with pytest.raises(Exception, match="spinn is no id and no template: sit_and_go_6"):
            await night.ends()


async def test_who_is_out_already_is_told_the_place():
    async with Night(status="out") as night:
        night.house.story.own(status="out", place=3, place_last=3)
        night.house.story.view(phase="finished")
        await night.ends()
        assert "You are out: place 3 of 6." in night.said
