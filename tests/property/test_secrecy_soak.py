"""S1, S4, P10: hands of every game through the service itself; nobody is told what is not for them, by no way at all.

The long form is ``python -m tests.property.soak GAME HANDS``.
"""

import asyncio
import os
from contextlib import aclosing

import pytest
from google.protobuf.message import Message

from diwan.api.event.v1 import event_pb2, hand_pb2, table_pb2
from diwan.api.table.v1 import history_pb2, hosting_pb2, replay_pb2, view_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.pump import Pump
from diwan.core.decider import Rejected
from diwan.core.fairness import deal
from tests.property.soak import soak
from tests.property.soak_room import Room, request_id
from tests.property.soak_search import CARD_FIELDS, Tokens, cards_in, spellings, tokens_of

HANDS = 12
HAND_ID = "12345678-1234-4234-8234-123456789abc"
HAPPENS = {
    "holdem": {"BoardDealt", "Acted"},
    "omaha": {"BoardDealt", "Acted"},
    "naiko": {"CardGlanced", "CardSwapped"},
    "sarab": {"BoardDealt", "MatchStarted"},
    "capsa": {"DraftSaved", "SetLocked", "SetsShown"},
}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("game", HAPPENS)
def test_nobody_is_told_a_card_salt_or_secret_that_is_not_for_them(game):
    """Seats, onlookers of every role, strangers, back ends, the feed, recorded answers and the log, errors in it too."""
    audit = asyncio.run(soak(game, HANDS, os.urandom(4).hex()))
    assert audit.hands >= HANDS
    assert HAPPENS[game] <= audit.events.keys()
    viewers = {"stranger", "operator", "auditor", "bot", "notices", "feed", "log"}
    assert viewers <= audit.searched.keys()
    assert all(audit.searched[viewer] > 0 for viewer in viewers)
    assert min(audit.found["own"], audit.found["shown"]) > HANDS, "what may be told is told, and the search finds it"


def test_the_search_finds_a_token_however_it_is_written_and_nothing_else():
    """A search that cannot find proves nothing."""
    secret = bytes(range(32))
    deck = deal(HAND_ID, secret, {})
    wanted = tokens_of(HAND_ID, secret, {}, deck)
    tokens = Tokens(wanted)
    for name, token in wanted.items():
        for spelling in spellings(token):
            assert tokens.found_in(b"before " + spelling + b" behind") == {name}
    assert tokens.found_in(deck.root + bytes(100)) == set()
    assert tokens.found_in(wanted[7][:31] + b"\x00") == set()


def test_every_field_of_the_contract_that_holds_cards_is_looked_at():
    """The list is held against the messages: what is named like cards is in it, or is known to be something else."""
    # How many cards; who won a row; positions.
    others = {"hidden_cards", "RowResults", "Arrangement", "CardSwapped"}
    seen, found = set(), set()

    def walk(descriptor):
        if descriptor.full_name in seen:
            return
        seen.add(descriptor.full_name)
        for field in descriptor.fields:
            if field.message_type:
                walk(field.message_type)
                continue
            is_named_so = any(word in field.name for word in ("card", "board", "front", "middle", "back", "rows"))
            if is_named_so and not {descriptor.name, field.name} & others and field.cpp_type == field.CPPTYPE_UINT32:
                found.add((descriptor.full_name, field.name))

    told = pb.PlayResponse, pb.WatchResponse, pb.OpenHandResponse, history_pb2.GetMyHandResponse
    for message in (*told, replay_pb2.GetReplayResponse):
        walk(message.DESCRIPTOR)
    walk(event_pb2.Event.DESCRIPTOR)
    assert found == CARD_FIELDS


def test_cards_are_found_however_deep_they_stand():
    reveal = hand_pb2.Reveal(position=3, card=44)
    private = view_pb2.PrivateView(reveals=[reveal], glanced=hand_pb2.Reveal(card=7))
    view = view_pb2.TableView(seats=[view_pb2.SeatView(shown_cards=[1, 2])], hand=view_pb2.HandView(board=[9]))
    told: Message = pb.PlayResponse(private=private)
    assert sorted(cards_in(told)) == [7, 44]
    assert sorted(cards_in(pb.PlayResponse(update=pb.Update(view=view)))) == [1, 2, 9]


@pytest.mark.parametrize("how", ["RevokeInvitation", "RemoveGuest"])
def test_a_guest_that_is_sent_away_is_told_nothing_of_what_comes_after(how):
    """TB-3: the stream ends with the event itself, not with the next sign of life; here nobody gives any."""

    async def story():
        room, told, has_begun = Room(1), [], asyncio.Event()
        config = table_pb2.TableConfig(name="Friends", is_private=True, hand=hand_pb2.HandSettings())
        created = pb.CreateTableRequest(request_id=request_id(), config=config)
        raw, is_fine = await room.ask("CreateTable", created, "hal")
        assert is_fine, raw
        table_id = pb.CreateTableResponse.FromString(raw).table.table_id
        at = {"table_id": table_id, "player": "ann"}
        assert (await room.ask("InvitePlayer", hosting_pb2.InvitePlayerRequest(request_id=request_id(), **at), "hal"))[
            1
        ]

        async def write(raw):
            told.append(pb.WatchResponse.FromString(raw))
            has_begun.set()

        async def watch():
            watching = room.servicer.Watch(pb.WatchRequest(table_id=table_id), room.call("ann"))
            async with aclosing(watching):
                async for source in watching:
                    await Pump(source, write, lambda: None).run()

        stream = asyncio.create_task(watch())
        await has_begun.wait()
        sent_away = getattr(hosting_pb2, f"{how}Request")(request_id=request_id(), **at)
        assert (await room.ask(how, sent_away, "hal"))[1]
        seen = len(told)
        paused = hosting_pb2.SetPausedRequest(request_id=request_id(), table_id=table_id, is_paused=True)
        assert (await room.ask("SetPaused", paused, "hal"))[1]
        await asyncio.wait({stream}, timeout=5)
        assert stream.done(), "the stream has ended"
        with pytest.raises(Rejected, match="INVITATION_REQUIRED"):
            stream.result()
        assert not any(message.update.view.is_paused for message in told[seen:])
        for actor in room.tables.live():
            await actor.stop()

    asyncio.run(story())
