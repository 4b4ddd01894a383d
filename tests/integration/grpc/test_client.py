"""The client library against a scripted table, on real connections."""

import asyncio
from contextlib import asynccontextmanager

import grpc
import pytest

from diwan.api.event.v1 import event_pb2, hand_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.api.table.v1 import view_pb2
from diwan.chassis.access import Role
from diwan.chassis.errors import refusal_of
from diwan.client import DiwanError, ProofFailed, connect
from diwan.client.fair import SeedKeeper
from diwan.core.decider import Rejected
from diwan.core.fairness import deal, secret_commitment, seed_commitment
from tests.integration.grpc.house import Table, a_house

HAND = "0b8a3c6e-1f5d-5a47-9d8e-5b8f2d0c7a11"
SECRET = bytes(range(32))
SEAT = 4


def view(version, **fields):
    seats = [view_pb2.SeatView(seat=SEAT, player="amal", stack=2000)]
    return pb.Update(view=view_pb2.TableView(table_id="t", version=version, seats=seats, **fields))


def exchange(*, is_opening, secret=SECRET):
    return view_pb2.SeedExchange(
        hand_no=1, hand_id=HAND, secret_commitment=secret_commitment(HAND, secret), is_opening=is_opening
    )


def hand(deck, *, root=None):
    decision = view_pb2.Decision(seat=SEAT, turn=9, can_fold=True, can_check=True)
    return view_pb2.HandView(hand_id=HAND, hand_no=1, deck_root=root or deck.root, decision=decision)


def private(deck, positions=(0, 1), *, card=None):
    reveals = [
        hand_pb2.Reveal(
            position=each.position, card=each.card if card is None else card, salt=each.salt, path=each.path
        )
        for each in deck.reveals(positions)
    ]
    return pb.PlayResponse(private=view_pb2.PrivateView(seat=SEAT, hand_id=HAND, reveals=reveals))


class Room(Table):
    """A table that plays one hand with one seat, and loses connections when it is told to."""

    def __init__(self):
        super().__init__()
        self.attached = []
        self.actions = []
        self.acknowledged = []
        self.acted = asyncio.Event()
        self.seeds = {}
        self.lose_after = []
        self.answers_with_update = True
        self.wrong_card = None
        self.other_root = None
        self.busy = 0

    async def StandUp(self, request, call):  # noqa: N802
        self.actions.append(request.request_id)
        if self.busy:
            self.busy -= 1
            raise Rejected("WALLET_UNAVAILABLE" if self.busy else "TABLE_MOVED")
        return pb.StandUpResponse(result=pb.CommandResult(request_id=request.request_id, last_version=3))

    async def OpenHand(self, request, call):  # noqa: N802
        self.actions.append("open")
        raise Rejected("UNKNOWN_OUTCOME")

    async def Watch(self, request, call):  # noqa: N802
        self.attached.append(request.after_version)
        for version in range(request.after_version + 1, 7):
            events = [event_pb2.StoredEvent(version=version)]
            yield pb.WatchResponse(update=pb.Update(events=events))
            if version in self.lose_after:
                self.lose_after.remove(version)
                raise Rejected("SERVICE_DRAINING")

    async def Play(self, requests, call):  # noqa: N802
        async for request in requests:
            match request.WhichOneof("message"):
                case "attach":
                    self.attached.append(request.attach.after_version)
                    yield self.say(view(max(1, request.attach.after_version), seed_exchange=exchange(is_opening=False)))
                case "commit_seed":
                    self.seeds["commitment"] = request.commit_seed.commitment
                    yield self.say(view(2, seed_exchange=exchange(is_opening=True)))
                case "open_seed":
                    self.seeds["seed"] = request.open_seed.seed
                    deck = deal(HAND, SECRET, {SEAT: request.open_seed.seed})
                    yield private(deck, card=self.wrong_card)
                    yield self.say(view(9, hand=hand(deck)))
                    if self.other_root is not None:
                        yield self.say(view(10, hand=hand(deck, root=self.other_root)))
                    yield pb.PlayResponse(heartbeat=pb.Heartbeat(version=9))
                case "acknowledge":
                    self.acknowledged.append(request.acknowledge.version)
                case "action":
                    self.actions.append(request.request_id)
                    self.acted.set()
                    if "action" in self.lose_after:
                        self.lose_after.remove("action")
                        raise Rejected("SERVICE_DRAINING")
                    result = self.result(request)
                    if self.answers_with_update and not result.HasField("refusal"):
                        update = view(11)
                        update.result.CopyFrom(result)
                        yield self.say(update)
                    else:
                        yield pb.PlayResponse(result=result)

    def say(self, update):
        return pb.PlayResponse(update=update)

    def result(self, request):
        if request.action.turn != 9:
            refusal = refusal_of(Rejected("STALE_TURN", open_turn=9))
            return pb.CommandResult(request_id=request.request_id, refusal=refusal)
        return pb.CommandResult(request_id=request.request_id, first_version=10, last_version=11)


@pytest.fixture
async def room(tmp_path):
    async with a_house(tmp_path, table=Room()) as house:
        yield house


@asynccontextmanager
async def a_client(house, **token):
    chosen = {"subject": "amal", "role": Role.PLAYER, "audience": ["house"], "seconds": 60, **token}
    async with connect(house.address, house.key.mint(**chosen)) as client:
        yield client


async def first_decision(seat):
    async for _ in seat:
        if seat.decision is not None:
            return seat.decision
    raise AssertionError("the stream ended")


async def test_a_seat_commits_opens_checks_its_cards_and_decides(room):
    """F2 and F3 as a player's program sees them."""
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t") as seat:
        decision = await first_decision(seat)
        result = await seat.act(decision.turn, "check")
        assert seat.decision is None, "the view is older than our answer"

    assert (seat.seat, decision.turn, result.last_version) == (SEAT, 9, 11)
    assert room.table.seeds["commitment"] == seed_commitment(HAND, SEAT, room.table.seeds["seed"])
    assert len(room.table.seeds["seed"]) == 32
    assert seat.proofs.reveals_checked == 2
    assert seat.private.hand_id == HAND


async def test_a_seat_acknowledges_what_it_has_read(room):
    """A5: a reader that lives says so."""
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t") as seat:
        async for message in seat:
            if message.HasField("heartbeat"):
                break
        await seat.act(9, "check")

    assert room.table.acknowledged == [9]


async def test_a_refusal_of_a_decision_is_raised_with_both_texts(room):
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t") as seat:
        await first_decision(seat)
        with pytest.raises(DiwanError) as caught:
            await seat.act(8, "fold")

    error = caught.value
    assert (error.reason, error.metadata, error.code) == (
        "STALE_TURN",
        {"open_turn": "9"},
        grpc.StatusCode.FAILED_PRECONDITION,
    )
    assert error.message_ar.startswith("هذا القرار")


@pytest.mark.parametrize("with_update", [True, False])
async def test_a_decision_without_an_answer_is_sent_again_under_the_same_id(room, with_update):
    """P2: the connection breaks between decision and answer, which comes with the update or by itself."""
    room.table.answers_with_update = with_update
    room.table.lose_after = ["action"]
    lines = []
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t", on_line=lines.append) as seat:
        await first_decision(seat)
        result = await seat.act(9, "raise", to=300)

    assert result.last_version == 11
    first, second = room.table.actions
    assert first == second == result.request_id
    assert room.table.attached == [0, 9], "the second connection goes on from the newest version"
    assert lines == [False, True], "the program was told that the line was lost, and that it was back"


async def test_a_card_that_was_not_committed_ends_the_stream(room):
    """F3."""
    room.table.wrong_card = 51
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t") as seat:
        with pytest.raises(ProofFailed) as caught:
            await first_decision(seat)
        with pytest.raises(ProofFailed):
            await anext(seat)

    assert caught.value.hand_id == HAND
    assert "51" not in str(caught.value)


async def test_a_root_that_changes_within_a_hand_ends_the_stream(room):
    room.table.other_root = bytes(32)
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t") as seat:
        with pytest.raises(ProofFailed):
            async for _ in seat:
                pass


async def test_a_decision_fails_with_unknown_outcome_when_the_stream_is_closed(room):
    room.table.result = lambda _: pb.CommandResult(request_id="another's")
    async with asyncio.timeout(10), a_client(room) as client:
        async with client.tables.play("t") as seat:
            await first_decision(seat)
            waiting = asyncio.create_task(seat.act(9, "check"))
            await room.table.acted.wait()
        with pytest.raises(DiwanError) as caught:
            await waiting
        with pytest.raises(DiwanError):
            await seat.act(9, "check")

    assert caught.value.reason == "UNKNOWN_OUTCOME"


async def test_an_answer_that_never_comes_is_an_unknown_outcome(room):
    room.table.result = lambda _: pb.CommandResult(request_id="another's")
    async with asyncio.timeout(10), a_client(room) as client, client.tables.play("t") as seat:
        await first_decision(seat)
        with pytest.raises(DiwanError, match="UNKNOWN_OUTCOME"):
            await seat.act(9, "check", seconds=0.1)


async def test_a_watcher_sees_every_event_once_whatever_becomes_of_its_connections(room):
    """P5."""
    room.table.lose_after = [2, 3, 5]
    versions = []
    async with asyncio.timeout(10), a_client(room) as client, client.tables.watch("t") as messages:
        async for message in messages:
            versions += [event.version for event in message.update.events]

    assert versions == [1, 2, 3, 4, 5, 6]
    assert room.table.attached == [0, 2, 3, 5]
    assert messages.version == 6


async def test_a_watcher_goes_on_when_the_server_is_another_one(tmp_path):
    table = Table()
    async with asyncio.timeout(20):
        async with a_house(tmp_path, table=table, drain_seconds=0) as house:
            client = connect(house.address, house.key.mint("amal", Role.PLAYER, "house", seconds=60))
            messages = client.tables.watch("t", after_version=5)
            assert (await anext(messages)).heartbeat.version == 5
        async with a_house(tmp_path, listen=house.address) as again:
            assert (await anext(messages)).heartbeat.version == 5
            assert again.table.open == 1
            messages.cancel()
            await again.table.ended.wait()
        await client.close()

    assert table.open == 0


async def test_patience_ends(tmp_path):
    async with asyncio.timeout(10):
        async with a_house(tmp_path) as house:
            token = house.key.mint("amal", Role.PLAYER, "house", seconds=60)
        async with connect(house.address, token) as client:
            async with client.tables.watch("t", patience_seconds=0.2) as messages:
                with pytest.raises(DiwanError, match="UNAVAILABLE"):
                    await anext(messages)
            async with client.tables.play("t", patience_seconds=0.2) as seat:
                with pytest.raises(DiwanError, match="UNAVAILABLE"):
                    await anext(seat)


async def test_a_refused_stream_is_not_sought_again(room):
    async with asyncio.timeout(5), a_client(room, audience=["wallet"]) as client:
        async with client.tables.watch("t") as messages:
            with pytest.raises(DiwanError, match="UNAUTHENTICATED"):
                await anext(messages)
        async with client.tables.play("t") as seat:
            with pytest.raises(DiwanError, match="UNAUTHENTICATED"):
                await anext(seat)


async def test_a_call_with_a_request_id_is_repeated_under_it_until_it_is_answered(room):
    room.table.busy = 1
    async with asyncio.timeout(10), a_client(room) as client:
        result = await client.tables.stand_up("t")

    assert room.table.actions == [result.request_id] * 2


async def test_a_call_that_must_not_be_repeated_is_not(room):
    async with asyncio.timeout(10), a_client(room) as client:
        with pytest.raises(DiwanError, match="UNKNOWN_OUTCOME"):
            await client.tables.open_hand(HAND)

    assert room.table.actions == ["open"]


async def test_a_refusal_is_not_repeated_and_tells_everything(room):
    async with asyncio.timeout(5), a_client(room) as client:
        with pytest.raises(DiwanError) as caught:
            await client.tables.get("nowhere")

    assert caught.value.reason == "TABLE_NOT_FOUND"
    assert caught.value.code is grpc.StatusCode.NOT_FOUND
    assert (caught.value.message, caught.value.message_ar) == ("There is no such table.", "لا توجد طاولة كهذه.")


async def test_another_token_shares_the_connection(room):
    async with asyncio.timeout(5), a_client(room) as client:
        other = client.with_token(room.key.mint("wallet", Role.SERVICE, "house"))
        page = await other.feed("table").read(7)
        await other.close()
        with pytest.raises(DiwanError, match="PERMISSION_DENIED"):
            await client.feed("table").read(7)

    assert page.head == 7


async def test_an_address_that_was_not_given_is_named():
    async with connect({"table": "127.0.0.1:1"}, "token") as client:
        with pytest.raises(ValueError, match="wallet"):
            client.wallet  # noqa: B018


def test_a_seed_is_not_opened_for_a_secret_that_came_after_it():
    seeds = SeedKeeper()
    first = seeds.answers(exchange(is_opening=False), SEAT)
    assert first.HasField("commit_seed")

    assert seeds.answers(exchange(is_opening=True, secret=bytes(32)), SEAT) is None


def test_a_house_that_changes_its_secret_once_it_has_our_seed_is_caught():
    seeds = SeedKeeper()
    seeds.answers(exchange(is_opening=False), SEAT)
    assert seeds.answers(exchange(is_opening=True), SEAT).HasField("open_seed")

    with pytest.raises(ProofFailed):
        seeds.answers(exchange(is_opening=True, secret=bytes(32)), SEAT)


def test_a_seed_is_said_once_and_again_only_on_a_new_connection():
    seeds = SeedKeeper()
    commitment = seeds.answers(exchange(is_opening=False), SEAT)

    assert seeds.answers(exchange(is_opening=False), SEAT) is None
    assert seeds.again(exchange(is_opening=False), SEAT) == commitment
    opening = seeds.answers(exchange(is_opening=True), SEAT)
    assert seeds.answers(exchange(is_opening=True), SEAT) is None
    assert seeds.again(exchange(is_opening=True), SEAT) == opening
