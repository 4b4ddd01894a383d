"""`GetReplay`: whose eyes one may borrow, what is recorded before anything is shown, and what attackers get (P10, S1, S4, S6, S8)."""

import asyncio
import base64
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest

from diwan.api.event.v1 import hand_pb2
from diwan.api.table.v1 import replay_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.store import EventStore
from diwan.chassis.vault import HandVault, new_secret
from services.table import replays
from services.table.ids import hand_id_of
from tests.integration.table.house import Seat, error_of, has_decision, named, player_of
from tests.integration.table.recorders import raw, replayed
from tests.integration.table.test_looking_back import eventually, fold_hands, two
from tests.integration.table.test_my_hands import to_showdown, unique
from tests.integration.table.test_opening import openings_in_log, spellings
from tests.integration.table.test_private import clients, let_in, opened, someone

SPECTATOR, SEAT, AUDITOR = 1, 2, 3
EYES = {"spectator": SPECTATOR, "seat": SEAT, "auditor": AUDITOR}


async def replay(house, hand_id, player, role=Role.PLAYER, **asked):
    return await house.call("GetReplay", replay_pb2.GetReplayRequest(hand_id=hand_id, **asked), player, role)


async def reason_of(house, hand_id, player, role=Role.PLAYER, **asked):
    request = replay_pb2.GetReplayRequest(hand_id=hand_id, **asked)
    return (await house.refused("GetReplay", request, named(player, role), role))[0]


async def running(house, **config):
    """A table with a hand that waits for a decision; returns its id, the hand's and its players."""
    players = unique("ann", "ben")
    table_id = await two(house, players, **config)
    view = await house.until(table_id, has_decision)
    return table_id, view.hand.hand_id, players


async def folded(house, players=None):
    """A hand that ended by a fold, so that no hidden card was ever shown."""
    players = players or unique("ann", "ben")
    table_id = await two(house, players, pause_ms=600_000)
    (hand_id,) = await fold_hands(house, table_id, 1)
    return table_id, hand_id, players


def salts(answer):
    return {reveal.salt for moment in answer.moments for private in moment.private for reveal in private.reveals}


# ---- whose eyes ------------------------------------------------------------------------------------------------------


async def test_a_player_sees_through_the_own_seat_also_while_the_hand_runs_and_no_other(house, postgres, database):
    """P10: every moment as it was sent, own cards from the deal on; a running hand leaves no record."""
    table_id, hand_id, (ann, ben) = await running(house)
    answer = await replay(house, hand_id, ann)
    assert (answer.eyes, answer.seat, answer.is_ended, answer.opened_version) == (SEAT, 0, False, 0)
    assert [len(private.reveals) for private in answer.moments[-1].private] == [2]
    assert raw(answer.moments[-1].view) == raw(await house.view(table_id))
    assert await reason_of(house, hand_id, ann, eyes=SEAT, seat=1) == "NOT_YOUR_SEAT"
    assert await reason_of(house, hand_id, "stranger", eyes=SEAT) == "NOT_IN_HAND"
    assert await reason_of(house, hand_id, "stranger", eyes=SEAT, seat=0) == "NOT_IN_HAND"
    for player in (ann, ben, "stranger"):
        assert await reason_of(house, hand_id, player, eyes=AUDITOR, reason="why not") == "PERMISSION_DENIED"
    assert await openings_in_log(postgres, database, table_id) == []


async def test_a_spectators_eyes_see_no_hidden_card_whoever_looks(house):
    """S1, S8: not its number, not its salt, in any spelling."""
    _, hand_id, (ann, ben) = await folded(house)
    secrets = salts(await replay(house, hand_id, ann)) | salts(await replay(house, hand_id, ben))
    assert len(secrets) == 4
    seen = {}
    for player, role in (
        (ann, Role.PLAYER),
        ("stranger", Role.PLAYER),
        ("bot:x", Role.BOT),
        ("clerk", Role.OPERATOR),
        ("inspector", Role.AUDITOR),
        ("phones", Role.BACKEND),
    ):
        answer = await replay(house, hand_id, player, role, eyes=SPECTATOR)
        assert answer.opened_version == 0
        assert not any(moment.private for moment in answer.moments)
        seen[role, player] = answer.SerializeToString(deterministic=True)
        assert not any(text in seen[role, player] for salt in secrets for text in spellings(salt))
    assert len(set(seen.values())) == 1, "all of them see the same"


async def test_who_knew_which_positions_is_told_to_everybody_and_who_acted_how(house):
    _, hand_id = await to_showdown(house, unique("ann", "ben"))
    answer = await replay(house, hand_id, "stranger")
    first, last = answer.moments[0], answer.moments[-1]
    assert [each.kind for each in first.events][:1] == ["HandStarted"]
    assert {each.seat: len(each.positions) for each in first.knowledge} == {0: 2, 1: 2}
    assert not first.public_positions
    assert len(last.public_positions) == 5 + 4
    assert last.events[-1].kind == "HandEnded"
    assert answer.result == hand_pb2.HAND_RESULT_SHOWDOWN
    acts = [each for moment in answer.moments for each in moment.events if each.kind == "Acted"]
    assert {each.decided_by for each in acts} == {hand_pb2.DECIDED_BY_PLAYER}
    assert all(each.time_left_ms > 0 for each in acts)
    assert not last.HasField("clock")
    for moment in answer.moments[:-1]:
        assert 0 < moment.clock.left_ms <= 20_000
        assert list(moment.clock.seats) == [moment.view.hand.decision.seat]
        assert moment.clock.deadline_ms == moment.view.hand.decision.deadline_ms
    assert [moment.spectators_at_version for moment in answer.moments] == [moment.version for moment in answer.moments]


async def test_a_decision_by_the_clock_is_marked(house):
    _, hand_id, (ann, _) = await running(house, decision_seconds=1, pause_ms=600_000)
    answer = await eventually(lambda: replay(house, hand_id, ann), lambda answer: answer.is_ended)
    (act,) = [each for moment in answer.moments for each in moment.events if each.kind == "Acted"]
    assert act.decided_by == hand_pb2.DECIDED_BY_CLOCK
    assert act.time_left_ms <= 0
    assert "decided by the clock" in act.what


# ---- the house looks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eyes", EYES)
async def test_an_auditor_sees_nothing_of_a_hand_that_runs_through_any_eyes(house, postgres, database, eyes):
    """S4: and is not in the log as having looked."""
    table_id, hand_id, _ = await running(house)
    seat = {"seat": 0} if eyes == "seat" else {}
    asked = {"eyes": EYES[eyes], "reason": "a complaint", **seat}
    assert await reason_of(house, hand_id, "inspector", Role.AUDITOR, **asked) == "HAND_NOT_SETTLED"
    assert await openings_in_log(postgres, database, table_id) == []


async def test_an_auditor_gives_a_reason_and_the_look_is_an_event_before_it_is_answered(house, postgres, database):
    table_id, hand_id, _ = await folded(house)
    for asked in ({"eyes": AUDITOR}, {"eyes": AUDITOR, "reason": "  "}, {"eyes": SEAT, "seat": 1}):
        assert await reason_of(house, hand_id, "inspector", Role.AUDITOR, **asked) == "REASON_REQUIRED"
    assert await openings_in_log(postgres, database, table_id) == []
    answer = await replay(
        house, hand_id, "inspector", Role.AUDITOR, eyes=AUDITOR, reason="the pot was wrong", case_id="C-9"
    )
    (recorded,) = await openings_in_log(postgres, database, table_id)
    assert (recorded.opened_by, recorded.role, recorded.lens) == ("inspector", "auditor", "auditor")
    assert (recorded.hand_id, recorded.reason, recorded.case_id) == (hand_id, "the pot was wrong", "C-9")
    assert answer.opened_version > answer.moments[-1].version
    assert [private.seat for private in answer.moments[-1].private] == [0, 1]
    opened_too = await house.call(
        "OpenHand", pb.OpenHandRequest(hand_id=hand_id, reason="again"), "inspector", Role.AUDITOR
    )
    assert [list(seat.reveals) for seat in opened_too.seats] == [
        list(private.reveals) for private in answer.moments[-1].private
    ]


async def test_an_operator_looks_through_a_seat_of_an_ended_hand_for_a_reason_and_never_through_all(
    house, postgres, database
):
    table_id, hand_id, _ = await running(house, pause_ms=600_000)
    asked = {"eyes": SEAT, "seat": 1, "reason": "complaint 4711"}
    assert await reason_of(house, hand_id, "clerk", Role.OPERATOR, **asked) == "HAND_NOT_SETTLED"
    assert not (await replay(house, hand_id, "clerk", Role.OPERATOR)).moments[-1].private
    await fold_hands(house, table_id, 1)
    assert await reason_of(house, hand_id, "clerk", Role.OPERATOR, eyes=SEAT, seat=1) == "REASON_REQUIRED"
    assert await reason_of(house, hand_id, "clerk", Role.OPERATOR, eyes=SEAT, reason="x") == "FIELD_REQUIRED"
    assert await reason_of(house, hand_id, "clerk", Role.OPERATOR, eyes=AUDITOR, reason="x") == "PERMISSION_DENIED"
    assert await openings_in_log(postgres, database, table_id) == []
    answer = await replay(house, hand_id, "clerk", Role.OPERATOR, **asked)
    assert [private.seat for private in answer.moments[-1].private] == [1]
    recorded = await openings_in_log(postgres, database, table_id)
    assert [(each.opened_by, each.role, each.lens, each.reason) for each in recorded] == [
        ("clerk", "operator", "seat:1", "complaint 4711")
    ]


async def test_a_look_that_cannot_be_recorded_shows_nothing(house, monkeypatch):
    """DESIGN 6: each opening is an event, and first of all."""
    _, hand_id, (ann, _) = await folded(house)
    hidden = salts(await replay(house, hand_id, ann))

    async def fails(_store, _append, _meanwhile):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(EventStore, "append", fails)
    request = replay_pb2.GetReplayRequest(hand_id=hand_id, eyes=AUDITOR, reason="dispute")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await house.call("GetReplay", request, "inspector", Role.AUDITOR)
    told = repr(refused.value) + refused.value.debug_error_string()
    assert error_of(refused.value)[0] == "INTERNAL"
    assert not any(salt.hex() in told for salt in hidden)


async def test_the_pages_of_one_question_are_one_look_and_their_tokens_open_nothing_else(
    house, postgres, database, monkeypatch
):
    """S4: a token names the look's own event; forged, of somebody else, of another question or old it is refused."""
    table_id, hand_id, (ann, _) = await folded(house)
    _, other_hand, _ = await folded(house)
    asked = {"eyes": AUDITOR, "reason": "dispute", "page_size": 1}
    first = await replay(house, hand_id, "inspector", Role.AUDITOR, **asked)
    second = await replay(house, hand_id, "inspector", Role.AUDITOR, **asked, page_token=first.next_page_token)
    assert second.moments[0].version > first.moments[0].version
    assert second.opened_version == first.opened_version
    assert len(await openings_in_log(postgres, database, table_id)) == 1
    token = first.next_page_token
    after, look, digest = base64.urlsafe_b64decode(token + "==").decode().split("/")

    def forged(*parts):
        return base64.urlsafe_b64encode("/".join(map(str, parts)).encode()).decode().rstrip("=")

    for wrong in (
        "x",
        token[:-2],
        forged(after, look, "0" * len(digest)),
        forged(-1, look, digest),
        forged(after, 2**63, digest),
        forged(after, int(look) - 1, digest),
        forged(after, int(look) + 1, digest),
        forged(after, 1, digest),
    ):
        refusal = await reason_of(house, hand_id, "inspector", Role.AUDITOR, **asked, page_token=wrong)
        assert refusal == "PAGE_TOKEN_INVALID", wrong
    for hand, player, role, changes in (
        (other_hand, "inspector", Role.AUDITOR, {}),
        (hand_id, "another", Role.AUDITOR, {}),
        (hand_id, "inspector", Role.AUDITOR, {"reason": "another"}),
        (hand_id, "inspector", Role.AUDITOR, {"eyes": SEAT, "seat": 0}),
        (hand_id, "inspector", Role.OPERATOR, {"eyes": SEAT, "seat": 0}),
        (hand_id, ann, Role.PLAYER, {"eyes": SEAT}),
    ):
        changed = {**asked, **changes, "page_token": token}
        assert await reason_of(house, hand, player, role, **changed) == "PAGE_TOKEN_INVALID"
    # Without a look named in it a token is of none: a new look is recorded.
    await replay(house, hand_id, "inspector", Role.AUDITOR, **asked, page_token=forged(after, 0, digest))
    assert len(await openings_in_log(postgres, database, table_id)) == 2
    monkeypatch.setattr(replays, "LOOK_SECONDS", -1)
    assert await reason_of(house, hand_id, "inspector", Role.AUDITOR, **asked, page_token=token) == "PAGE_TOKEN_INVALID"


async def test_a_player_s_look_back_is_recorded_once_however_many_pages_it_has(house, postgres, database):
    table_id, hand_id, (ann, _) = await folded(house)
    for _ in range(2):
        first = await replay(house, hand_id, ann, page_size=1)
        answer = await replay(house, hand_id, ann, page_size=1, page_token=first.next_page_token)
    recorded = await openings_in_log(postgres, database, table_id)
    assert [(each.opened_by, each.role, each.lens) for each in recorded] == [(ann, "player", "seat:0")]
    assert answer.opened_version


# ---- who is refused --------------------------------------------------------------------------------------------------


async def test_services_bots_and_back_ends_borrow_nobody_s_eyes(house):
    """S3, S4: a bot's token is good for its own seat, a back end's for its own players."""
    _, hand_id, (ann, _) = await folded(house, unique("ours.ann", "theirs.ben"))
    assert await reason_of(house, hand_id, "wallet", Role.SERVICE) == "PERMISSION_DENIED"
    assert await reason_of(house, hand_id, ann, Role.BOT, eyes=SEAT, seat=0) == "NOT_IN_HAND"
    assert await reason_of(house, hand_id, "x", Role.BOT, on_behalf_of=ann) == "ON_BEHALF_OF_NOT_ALLOWED"
    assert await reason_of(house, hand_id, "phones", Role.BACKEND, eyes=SEAT) == "ON_BEHALF_OF_REQUIRED"
    for role in (Role.OPERATOR, Role.AUDITOR, Role.PLAYER):
        refusal = await reason_of(house, hand_id, "staff", role, eyes=SEAT, reason="x", on_behalf_of=ann)
        assert refusal == "ON_BEHALF_OF_NOT_ALLOWED"
    theirs = replay_pb2.GetReplayRequest(hand_id=hand_id, on_behalf_of=ann)
    metadata = house.metadata("phones", Role.BACKEND, players="theirs.")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await house.stub.GetReplay(theirs, timeout=5, metadata=metadata)
    assert error_of(refused.value)[0] == "ON_BEHALF_OF_NOT_ALLOWED"
    ours = house.metadata("phones", Role.BACKEND, players="ours.")
    answer = await house.stub.GetReplay(theirs, timeout=5, metadata=ours)
    assert [private.seat for private in answer.moments[-1].private] == [0]


async def test_a_hand_of_a_private_table_is_for_who_played_or_may_look_on(house):
    """TB-3."""
    hal, ann, eve = someone("hal"), someone("ann"), someone("eve")
    async with clients(house, hal, ann, eve) as (host, guest, _):
        table_id = await opened(host, pause_ms=600_000)
        await let_in(host, table_id, (ann, guest))
        await host.sit_down(table_id, 100)
        await guest.sit_down(table_id, 100)
        view = await house.until(table_id, has_decision)
        hand_id = view.hand.hand_id
        for eyes in (0, SPECTATOR, SEAT):
            assert await reason_of(house, hand_id, eve, eyes=eyes) == "INVITATION_REQUIRED"
        await house.act(table_id, player_of(view, view.hand.decision.seat), view.hand.decision.turn)
        for eyes in (0, SPECTATOR, SEAT):
            assert await reason_of(house, hand_id, eve, eyes=eyes) == "INVITATION_REQUIRED"
        metadata = house.metadata("phones", Role.BACKEND, players="nobody.")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await house.stub.GetReplay(replay_pb2.GetReplayRequest(hand_id=hand_id), timeout=5, metadata=metadata)
        assert error_of(refused.value)[0] == "INVITATION_REQUIRED"
        for player in (hal, ann):
            assert (await replay(house, hand_id, player)).is_ended
            assert (await replay(house, hand_id, player, eyes=SPECTATOR)).is_ended
        assert (await replay(house, hand_id, "clerk", Role.OPERATOR)).is_ended


async def test_nonsense_is_refused_with_a_reason(house):
    _, hand_id, (ann, _) = await folded(house)
    for wrong, reason in (
        ("", "FIELD_REQUIRED"),
        ("garbage", "ID_INVALID"),
        (hand_id.upper(), "ID_INVALID"),
        (str(uuid4()), "HAND_NOT_FOUND"),
    ):
        assert await reason_of(house, wrong, ann) == reason
    for asked, reason in (
        ({"eyes": 77}, "FIELD_INVALID"),
        ({"eyes": SPECTATOR, "seat": 0}, "FIELD_INVALID"),
        ({"page_size": 201}, "PAGE_SIZE_INVALID"),
        ({"page_size": -1}, "PAGE_SIZE_INVALID"),
        ({"page_token": "😀"}, "PAGE_TOKEN_INVALID"),
        ({"after_version": -5}, "FIELD_INVALID"),
        ({"seat": 8}, "NOT_YOUR_SEAT"),
    ):
        assert await reason_of(house, hand_id, ann, **asked) == reason, asked
    for asked, reason in (
        ({"eyes": SEAT, "seat": 8, "reason": "x"}, "SEAT_NOT_FOUND"),
        ({"eyes": AUDITOR, "seat": 0, "reason": "x"}, "FIELD_INVALID"),
        ({"eyes": AUDITOR, "reason": "x" * 501}, "FIELD_INVALID"),
        ({"eyes": AUDITOR, "reason": "x\x00"}, "FIELD_INVALID"),
    ):
        assert await reason_of(house, hand_id, "inspector", Role.AUDITOR, **asked) == reason, asked
    assert not (await replay(house, hand_id, ann, after_version=2**60)).moments


async def test_a_player_asks_only_so_often_and_the_house_as_often_as_it_must(house):
    """P12: a replay costs the process in which tables live; nobody's curiosity slows them down."""
    _, hand_id, _ = await folded(house)
    curious = f"curious-{uuid4()}"
    reasons = set()
    async with asyncio.timeout(20):
        while "RATE_LIMITED" not in reasons:
            try:
                await replay(house, hand_id, curious, page_size=1)
            except grpc.aio.AioRpcError as error:
                reasons.add(error_of(error)[0])
    assert reasons == {"RATE_LIMITED"}
    for _ in range(3):
        await replay(house, hand_id, "clerk", Role.OPERATOR, page_size=1)


# ---- how far ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.PLAYER, Role.OPERATOR, Role.BOT, Role.BACKEND])
async def test_who_holds_no_seat_sees_a_running_hand_as_late_as_the_table_shows_it(house, role):
    """S8: no door shows more than `Watch` does."""
    ann, ben = players = unique("ann", "ben")
    table_id = await two(house, players, spectator_delay_events=6, pause_ms=600_000)
    hand_id = str(hand_id_of(UUID(table_id), 1))
    async with Seat(house, table_id, ann) as seat:
        await seat.until(lambda seat: seat.view is not None and has_decision(seat.view))
    guest = named("guest", role)
    assert await reason_of(house, hand_id, "guest", role) == "HAND_NOT_FOUND"
    for _ in range(3):
        own = await replay(house, hand_id, ann)
        decision = own.moments[-1].view.hand.decision
        await house.act(table_id, (ann, ben)[decision.seat], decision.turn, "check" if decision.can_check else "call")
        own = await replay(house, hand_id, ann)
        view = (await house.call("GetTable", pb.GetTableRequest(table_id=table_id), guest, role)).table
        if view.hand.hand_id != hand_id:
            assert await reason_of(house, hand_id, "guest", role) == "HAND_NOT_FOUND"
            continue
        late = await replay(house, hand_id, guest, role)
        assert late.moments[-1].version == view.version < own.moments[-1].version
        assert raw(late.moments[-1].view) == raw(view)
        known = {moment.version: moment.spectators_at_version for moment in own.moments}
        shown = [moment.version for moment in late.moments]
        assert shown == [version for version, at in known.items() if at], "the seat is told what others have seen"
    decision = own.moments[-1].view.hand.decision
    await house.act(table_id, (ann, ben)[decision.seat], decision.turn, "fold")
    whole = await replay(house, hand_id, guest, role)
    assert whole.is_ended
    for moment in whole.moments:
        assert moment.version <= moment.spectators_at_version <= whole.moments[-1].version
        if moment.spectators_at_version != whole.moments[-1].version:
            assert moment.spectators_at_version - moment.version >= 6


async def test_a_void_hand_is_replayed_and_is_as_settled_as_any(house, postgres, database):
    """H9: an auditor may look, for a reason; a hand that is void has ended."""
    players = unique("ann", "ben")
    table_id = await two(house, players, game="sarab", big_blind=10, pause_ms=600_000, buy_in_min=10)
    view = await house.until(table_id, has_decision)
    while has_decision(view):
        decision = view.hand.decision
        await house.act(table_id, player_of(view, decision.seat), decision.turn, "check")
        view = await house.view(table_id)
    hand_id = view.hand.hand_id
    answer = await replay(house, hand_id, players[0])
    assert answer.result == hand_pb2.HAND_RESULT_VOID
    assert answer.is_ended
    assert "HandVoided" in [each.kind for each in answer.moments[-1].events]
    assert await reason_of(house, hand_id, "inspector", Role.AUDITOR, eyes=AUDITOR) == "REASON_REQUIRED"
    looked = await replay(house, hand_id, "inspector", Role.AUDITOR, eyes=AUDITOR, reason="void?")
    assert len(looked.moments[-1].private) == 2
    assert len(await openings_in_log(postgres, database, table_id)) == 2


async def test_what_was_refused_during_the_hand_is_told_at_its_end(house):
    """DESIGN 3: counted by seat and reason, from the event that sums it up."""
    table_id, hand_id, (ann, ben) = await running(house, pause_ms=600_000)
    view = await house.view(table_id)
    other = ben if player_of(view, view.hand.decision.seat) == ann else ann
    for _ in range(3):
        request = pb.ActRequest(
            request_id=str(uuid4()), table_id=table_id, action=pb.Action(turn=view.hand.decision.turn, kind=1)
        )
        assert (await house.refused("Act", request, other))[0] == "NOT_YOUR_TURN"
    assert not (await replay(house, hand_id, ann)).refusals
    await fold_hands(house, table_id, 1)
    answer = await eventually(lambda: replayed(house, hand_id, "stranger"), lambda answer: answer.refusals_version)
    seat = next(each.seat for each in view.seats if each.player == other)
    assert [(each.seat, each.reason, each.count) for each in answer.refusals] == [(seat, "NOT_YOUR_TURN", 3)]
    assert answer.refusals_version > answer.moments[-1].version


@pytest.mark.parametrize("read_behind", [0, 1, 16])
async def test_a_hand_that_closed_its_table_is_told_to_the_last_event_of_its_last_command(
    house, postgres, database, monkeypatch, read_behind
):
    """And looked at afterwards: disputes come when the table is long gone."""
    monkeypatch.setattr(replays, "EVENTS_BEHIND", read_behind)
    monkeypatch.setattr(replays, "EVENTS_A_READ", 2)
    table_id, hand_id, (ann, _) = await running(house)
    await house.call("CloseTable", pb.CloseTableRequest(request_id=str(uuid4()), table_id=table_id))
    await fold_hands(house, table_id, 1)
    assert (await house.view(table_id)).is_closed
    answer = await replay(house, hand_id, ann)
    kinds = [each.kind for each in answer.moments[-1].events]
    assert kinds[-4:] == ["HandEnded", "SeatReleased", "SeatReleased", "TableClosed"]
    assert answer.moments[-1].view.is_closed
    asked = {"eyes": SEAT, "seat": 1, "reason": "a late complaint"}
    looked = await replay(house, hand_id, "clerk", Role.OPERATOR, **asked)
    assert len(looked.moments[0].private) == 1
    assert [each.reason for each in await openings_in_log(postgres, database, table_id)] == ["", "a late complaint"]


async def test_moments_behind_a_version_are_the_rest_of_the_hand(house):
    _, hand_id = await to_showdown(house, unique("ann", "ben"))
    whole = await replay(house, hand_id, "stranger", page_size=200)
    for at in (1, 4, len(whole.moments)):
        rest = await replay(house, hand_id, "stranger", after_version=whole.moments[at - 1].version)
        assert list(rest.moments) == list(whole.moments)[at:]


# ---- secrets that are gone, or wrong ---------------------------------------------------------------------------------


async def test_of_a_hand_whose_secret_is_destroyed_the_public_part_is_told_and_the_reason_for_the_rest(
    house, postgres, database
):
    """S5."""
    table_id, hand_id, (ann, _) = await folded(house)
    before = await replay(house, hand_id, "stranger")
    connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
    await connection.execute("update vault.hand_secret set wrapped = null where hand_id = $1", UUID(hand_id))
    await connection.close()
    for player, role, asked in (
        (ann, Role.PLAYER, {}),
        ("clerk", Role.OPERATOR, {"eyes": SEAT, "seat": 0, "reason": "dispute"}),
        ("inspector", Role.AUDITOR, {"eyes": AUDITOR, "reason": "dispute"}),
    ):
        answer = await replay(house, hand_id, player, role, **asked)
        assert answer.is_secret_destroyed
        assert not answer.opened_version
        assert [raw(moment) for moment in answer.moments] == [raw(moment) for moment in before.moments]
    assert await openings_in_log(postgres, database, table_id) == []
    assert not (await replay(house, hand_id, "stranger")).is_secret_destroyed


async def test_a_secret_that_gives_another_deck_shows_no_card_and_says_nothing(house, monkeypatch, capfd):
    """S6: neither in the error nor in the log."""
    _, hand_id, (ann, _) = await folded(house)
    wrong = new_secret()

    async def other(_vault, _hand_id):
        return wrong

    monkeypatch.setattr(HandVault, "get", other)
    for player, role, asked in (
        (ann, Role.PLAYER, {}),
        ("inspector", Role.AUDITOR, {"eyes": AUDITOR, "reason": "dispute"}),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await replay(house, hand_id, player, role, **asked)
        assert error_of(refused.value)[0] == "INTERNAL"
        told = repr(refused.value) + "".join(capfd.readouterr())
        assert "another deck" in told, "the log says what is wrong"
        assert not any(text in told.encode() for text in spellings(bytes(wrong)))


async def test_no_failure_on_the_way_tells_a_card(house, monkeypatch, capfd):
    """S6: it fails with the opened cards in hand, and neither the caller nor the log has one."""
    _, hand_id, (ann, _) = await folded(house)
    hidden = salts(await replay(house, hand_id, ann))
    capfd.readouterr()

    def fails(writer, _moment, _stored):
        raise RuntimeError(f"fell over with {writer._eyes!r}")

    monkeypatch.setattr(replays.MomentWriter, "message", fails)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await replay(house, hand_id, ann)
    told = (repr(refused.value) + "".join(capfd.readouterr())).encode()
    assert b"cards withheld" in told
    assert not any(text in told for salt in hidden for text in spellings(salt))


# ---- tables of matches -----------------------------------------------------------------------------------------------


async def test_a_hand_of_a_match_is_settled_with_its_own_end_while_the_match_goes_on(house):
    """S4: the same rule as at any table, whatever the chips are."""
    players = unique("ann", "ben")
    table_id = await house.create(game="sarab", chips="CHIP_SOURCE_MATCH", seats=2, pause_ms=600_000)
    for player in players:
        await house.sit(table_id, player, amount=0)
    view = await house.until(table_id, has_decision)
    hand_id = view.hand.hand_id
    assert hand_id == hand_id_of(UUID(table_id), 1)
    look = {"eyes": AUDITOR, "reason": "dispute"}
    assert await reason_of(house, hand_id, "inspector", Role.AUDITOR, **look) == "HAND_NOT_SETTLED"
    while has_decision(view):
        decision = view.hand.decision
        await house.act(table_id, player_of(view, decision.seat), decision.turn, "check")
        view = await house.view(table_id)
    assert not view.match.result
    answer = await replay(house, hand_id, "inspector", Role.AUDITOR, **look)
    assert len(answer.moments[-1].private) == 2
    assert raw(answer.moments[-1].view) == raw(view)
