"""Hands of Capsa at live tables: sets, answers, clocks, naturals, privacy, stakes, deaths (capsa.md; CL-2, H6, H9, S1)."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import grpc
import pytest

from diwan.api.event.v1 import capsa_pb2 as event_pb
from diwan.api.event.v1 import event_pb2, table_pb2
from diwan.api.table.v1 import history_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.vault import HandVault
from diwan.client import DiwanError
from diwan.core.fairness import Secret, deal, secret_commitment
from diwan.core.games.capsa import events as capsa
from diwan.core.games.capsa.naturals import find_natural
from diwan.core.games.capsa.settings import CapsaSettings, naturals_of
from diwan.core.hand.events import DeadlineMoved, HandEnded, HandVoided
from diwan.core.hashing import StoredEvent, chain_start, verify_chain
from diwan.wire.events import decode
from diwan.wire.stored import FOR_ONE_SEAT, logged_event
from services.table.ids import hand_id_of, table_id_of
from tests.integration.table.capsa_house import (
    CHIPS,
    act,
    act_request,
    answer,
    answer_all,
    best,
    draft,
    fouled,
    is_declaring,
    is_over,
    is_setting,
    lock,
    lock_all,
    open_table,
    own_cards,
    refusal,
    rows_of,
    stake_request,
    unlock,
)
from tests.integration.table.gamers import client_of, verified
from tests.integration.table.house import Seat, a_house, a_wallet, error_of, keys_in, player_of
from tests.integration.table.test_crash import a_process


async def setting(house, *players, **config):
    """Return a table where a hand of all of them is being set, and its view: two begin before others have come."""
    players = players or ("ann", "ben")
    table_id = await open_table(house, players, **config)
    turn = 0
    while True:
        view = await house.until(table_id, lambda v, t=turn: is_setting(v) and turn_of(v) > t)
        if len(view.hand.capsa.decision.seats) == len(players):
            return table_id, view
        turn = turn_of(view)
        await lock_all(house, table_id, view)
        await answer_all(house, table_id)


def turn_of(view):
    return view.hand.capsa.decision.turn


def seat_of(view, player):
    return next(seat.seat for seat in view.seats if seat.player == player)


def capsa_seat(view, number):
    return next(seat for seat in view.hand.capsa.seats if seat.seat == number)


# ---- a hand ----------------------------------------------------------------------------------------------------------


async def test_a_hand_is_played_to_its_settlement_and_verified(house):
    """CS-18, CS-66, F4: thirteen cards, sets, answers, reveal, a line a pair; the log decides the same."""
    table_id, view = await setting(house, "ann", "ben", "cid", pause_ms=1_500)
    assert view.hand.game == "capsa"
    assert [seat.hidden_cards for seat in view.seats] == [13, 13, 13]
    await lock_all(house, table_id, view)
    over = await answer_all(house, table_id)
    capsa_view = over.hand.capsa
    assert len(capsa_view.lines) == 3
    assert all(seat.set.is_complete and not seat.set.is_fouled for seat in capsa_view.seats)
    net = {seat.seat: 0 for seat in capsa_view.seats}
    for line in capsa_view.lines:
        net[line.a] += line.chips
        net[line.b] -= line.chips
    assert net == {seat.seat: seat.payoff for seat in capsa_view.seats}
    before = {seat.seat: seat.stack for seat in view.seats}
    assert {seat.seat: seat.stack for seat in over.seats} == {seat: before[seat] + net[seat] for seat in net}
    events = await verified(house, table_id)
    ended = [event for event in events if isinstance(event, HandEnded)][over.hand.hand_no - 1]
    assert list(ended.payoffs) == [net[seat] for seat in sorted(net)]


async def test_who_surrenders_pays_the_price_and_shows_nothing(house):
    """CS-30, CS-53, CS-84."""
    table_id, view = await setting(house, "ann", "ben", "cid", pause_ms=1_500)
    await lock_all(house, table_id, view)
    quitter = seat_of(view, "ben")
    over = await answer_all(house, table_id, lambda seat: "surrender" if seat == quitter else "play")
    gone = capsa_seat(over, quitter)
    assert gone.payoff == -2 * 3 * 10
    assert not gone.HasField("set")
    assert gone.hidden_cards == 13
    assert next(seat for seat in over.seats if seat.seat == quitter).has_folded
    await verified(house, table_id)


async def test_a_foul_is_only_where_it_is_meant_and_pays_the_scoop(house):
    """CS-24, CS-26, CS-50."""
    table_id, view = await setting(house, pause_ms=60_000, royalties=event_pb.Royalties())
    turn, cards = turn_of(view), await own_cards(house, view, "ann")
    if fouled(cards) == best(cards):
        pytest.skip("two equal rows")
    assert await refusal(house, table_id, "ann", lock(turn, fouled(cards))) == "FOULED_SET"
    await act(house, table_id, "ann", lock(turn, fouled(cards), is_foul_confirmed=True))
    await act(house, table_id, "ben", lock(turn, best(await own_cards(house, view, "ben"))))
    over = await answer_all(house, table_id)
    lost = capsa_seat(over, seat_of(view, "ann"))
    assert (lost.status, lost.payoff) == (event_pb.CAPSA_STATUS_FOULED, -40)
    await verified(house, table_id)


async def test_sets_of_other_cards_are_refused_in_the_order_of_the_rules(house):
    """CS-19, RULES.md: STALE_TURN, then NOT_ASKED, then BAD_SET; none of them counts as a foul."""
    table_id, view = await setting(house)
    turn = turn_of(view)
    ann, ben = await own_cards(house, view, "ann"), await own_cards(house, view, "ben")
    swapped = rows_of(ann[:3], ann[3:8], [*ann[8:12], ben[0]])
    assert await refusal(house, table_id, "ann", lock(turn, swapped)) == "BAD_SET"
    assert await refusal(house, table_id, "ann", lock(turn, rows_of(ann[:3], ann[3:8], ann[8:12]))) == "BAD_SET"
    assert (
        await refusal(house, table_id, "ann", lock(turn, rows_of(ann[:3], ann[3:8], [*ann[8:12], ann[0]]))) == "BAD_SET"
    )
    assert await refusal(house, table_id, "ann", draft(turn, rows_of([99], [], []))) == "BAD_SET"
    assert await refusal(house, table_id, "ann", lock(turn + 1, swapped)) == "STALE_TURN"
    assert await refusal(house, table_id, "ann", answer(turn)) == "NOT_ASKED"
    assert await refusal(house, table_id, "zoe", lock(turn, best(ann))) == "NOT_SEATED"
    assert await refusal(house, table_id, "ann", lock(0, best(ann))) == "FIELD_REQUIRED"
    assert await refusal(house, table_id, "ann", draft(turn, rows_of([0] * 60, [], []))) == "FIELD_INVALID"
    nothing = act_request(table_id, None)
    assert (await house.refused("ActCapsa", nothing, "ann"))[0] == "FIELD_REQUIRED"
    fold = pb.ActRequest(request_id=str(uuid4()), table_id=table_id, action=pb.Action(turn=turn, kind=1))
    assert (await house.refused("Act", fold, "ann"))[0] == "NOT_IN_THIS_GAME"


async def test_a_lock_that_is_tapped_twice_takes_effect_once_by_call_or_stream(house):
    """H6: the first answer again under its id; from another device it is locked already."""
    table_id, view = await setting(house)
    turn, cards = turn_of(view), await own_cards(house, view, "ann")
    request_id = str(uuid4())
    first = await act(house, table_id, "ann", lock(turn, best(cards)), request_id=request_id)
    again = await act(house, table_id, "ann", lock(turn, best(cards)), request_id=request_id)
    assert (again.is_replayed, again.first_version) == (True, first.first_version)
    async with Seat(house, table_id, "ann") as seat:
        action = lock(turn, best(cards))
        await seat.call.write(pb.PlayRequest(request_id=request_id, capsa=action))
        assert (await seat.result(request_id)).is_replayed
        other = str(uuid4())
        await seat.call.write(pb.PlayRequest(request_id=other, capsa=action))
        assert (await seat.result(other)).refusal.reason == "ALREADY_LOCKED"
    other_content = act_request(table_id, unlock(turn), request_id=request_id)
    assert (await house.refused("ActCapsa", other_content, "ann"))[0] == "REQUEST_ID_CONFLICT"
    await act(house, table_id, "ann", unlock(turn))
    await act(house, table_id, "ann", lock(turn, best(cards)))
    events = await verified(house, table_id)
    assert sum(isinstance(event, capsa.SetLocked) for event in events) == 2


# ---- clocks ----------------------------------------------------------------------------------------------------------


async def test_who_is_late_plays_the_last_usable_draft_and_answers_by_the_clock(house):
    """CS-28, CS-31: the draft, not the server's set; a timeout never surrenders."""
    table_id, view = await setting(house, set_seconds=1, declare_seconds=1, pause_ms=60_000)
    cards = await own_cards(house, view, "ann")
    front, middle, back = best(cards).front, best(cards).middle, best(cards).back
    mine = rows_of(front, [*middle[1:], middle[0]], back)
    await act(house, table_id, "ann", draft(turn_of(view), mine))
    over = await house.until(table_id, is_over)
    assert all(seat.answer == event_pb.CAPSA_ANSWER_PLAY for seat in over.hand.capsa.seats)
    events = await verified(house, table_id)
    locked = {event.seat: event for event in events if isinstance(event, capsa.SetLocked)}
    assert locked[seat_of(view, "ann")].source == "draft"
    assert locked[seat_of(view, "ben")].source == "server"
    shown = capsa_seat(over, seat_of(view, "ann")).set.rows
    assert list(shown.middle) == list(mine.middle)


async def test_who_is_late_where_that_fouls_has_no_set(house):
    """CS-28 "foul"."""
    table_id, view = await setting(house, set_seconds=1, declare_seconds=1, timeout_policy="foul", pause_ms=60_000)
    await act(house, table_id, "ann", lock(turn_of(view), best(await own_cards(house, view, "ann"))))
    over = await house.until(table_id, is_over)
    assert capsa_seat(over, seat_of(view, "ben")).status == event_pb.CAPSA_STATUS_FOULED
    assert capsa_seat(over, seat_of(view, "ann")).payoff > 0
    await verified(house, table_id)


async def test_a_late_set_never_acts_on_the_next_decision(house):
    """H7: DEADLINE_PASSED or STALE_TURN, whichever the tap meets."""
    table_id, view = await setting(house, set_seconds=1, declare_seconds=30)
    cards = await own_cards(house, view, "ann")
    await house.until(table_id, is_declaring)
    assert await refusal(house, table_id, "ann", lock(turn_of(view), best(cards))) == "STALE_TURN"


async def test_who_leaves_is_played_for_and_goes_home_after_the_hand(house):
    """CS-28, TB-2."""
    table_id, view = await setting(house, pause_ms=60_000)
    await house.call("StandUp", pb.StandUpRequest(request_id=str(uuid4()), table_id=table_id), "ben")
    await act(house, table_id, "ann", lock(turn_of(view), best(await own_cards(house, view, "ann"))))
    over = await answer_all(house, table_id)
    assert [seat.player for seat in over.seats] == ["ann"]
    await verified(house, table_id)


# ---- naturals --------------------------------------------------------------------------------------------------------


async def test_naturals_are_found_shown_and_paid_at_once(house, monkeypatch):
    """CS-67, CS-69, CS-82: with one of two holding a natural nobody sets."""
    request_id = str(uuid4())
    table_id = table_id_of("host", request_id)
    hand_id = hand_id_of(table_id, 1)
    awards = naturals_of(CapsaSettings())
    for number in range(10_000):
        secret = Secret(number.to_bytes(32))
        deck = deal(hand_id, secret, {}).cards
        found = [find_natural(deck[place:26:2], awards, "low") for place in (0, 1)]
        if sum(each is not None for each in found) == 1:
            break
    put = HandVault.put

    async def finds_one(vault, of, *drawn, epoch):
        # This hand's alone: tables of the tests before go on beside it, and draw secrets too.
        if of == hand_id:
            await put(vault, of, secret_commitment(of, secret), secret, epoch=epoch)
        await put(vault, of, *drawn, epoch=epoch)

    monkeypatch.setattr(HandVault, "put", finds_one)
    config = table_pb2.TableConfig(
        name="C", seats=2, capsa=event_pb.CapsaSettings(unit=10), buy_in_max=CHIPS, pause_ms=60_000
    )
    await house.call("CreateTable", pb.CreateTableRequest(request_id=request_id, config=config))
    for player in ("ann", "ben"):
        await house.sit(str(table_id), player, amount=CHIPS)
    over = await house.until(str(table_id), is_over)
    (holder,) = [seat for seat in over.hand.capsa.seats if seat.HasField("natural")]
    assert len(holder.natural.cards) == 13
    assert holder.payoff == 10 * holder.natural.units > 0
    assert not any(seat.HasField("set") for seat in over.hand.capsa.seats)
    events = await verified(house, str(table_id))
    assert not any(isinstance(event, capsa.SettingBegan) for event in events)


# ---- what nobody else learns -------------------------------------------------------------------------------------------


async def test_what_a_seat_arranges_is_told_to_nobody_else(house):
    """CS-22, CS-83, S1: bodies withheld on every stream, rows only in the seat's own view; the chain goes on."""
    table_id, view = await setting(house, "ann", "ben", pause_ms=60_000)
    turn, cards = turn_of(view), await own_cards(house, view, "ann")
    async with Seat(house, table_id, "ann", after_version=0) as ann, Seat(house, table_id, "ben") as ben:
        await ann.until(lambda seat: seat.private is not None)
        await ben.until(lambda seat: seat.private is not None)
        await act(house, table_id, "ann", draft(turn, best(cards)))
        await ann.until(lambda seat: seat.private.capsa.HasField("draft"))
        assert list(ann.private.capsa.draft.rows.back) == list(best(cards).back)
        await act(house, table_id, "ann", lock(turn, best(cards)))
        await ann.until(lambda seat: seat.private.capsa.HasField("locked"))
        await ben.until(lambda seat: seat.view.version >= ann.view.version)
        assert capsa_seat(ben.view, seat_of(view, "ann")).has_locked
        assert not ben.private.capsa.HasField("draft")
        assert not ben.private.capsa.HasField("locked")
        await lock_all_but(house, table_id, view, "ann")
        for _ in range(2):
            await answer_next(house, table_id)
        over = await house.until(table_id, is_over)
        await ben.until(lambda seat: seat.view.version >= over.version)
        await ann.until(lambda seat: seat.view.version >= over.version)
        for stream in (ann, ben):
            told = [event for event in stream.events if event.type_id in FOR_ONE_SEAT]
            assert told
            assert all(not event.body and event.body_hash for event in told)
    found = await house.call("GetHand", pb.GetHandRequest(hand_id=view.hand.hand_id), "a", Role.AUDITOR)
    assert all(not event.body for event in found.events if event.type_id in FOR_ONE_SEAT)
    logged = [logged_event(event) for event in found.events]
    head = chain_start(UUID(table_id).bytes, 1)
    start = type(head)(logged[0].version - 1, logged[0].prev_hash, logged[0].recorded_at_ms)
    assert verify_chain(UUID(table_id).bytes, start, logged).fault is None
    assert isinstance(logged[0], StoredEvent)


async def lock_all_but(house, table_id, view, absent):
    for seat in view.hand.capsa.decision.seats:
        player = player_of(view, seat)
        if player != absent:
            await act(house, table_id, player, lock(turn_of(view), best(await own_cards(house, view, player))))


async def answer_next(house, table_id):
    view = await house.until(table_id, is_declaring)
    asked = view.hand.capsa.decision.seats[0]
    await act(house, table_id, player_of(view, asked), answer(turn_of(view)))
    await house.until(table_id, lambda later: later.version > view.version)


async def test_an_own_hand_is_told_with_own_drafts_alone_and_opened_by_its_door(house):
    """CS-83, S5: my hands, OpenHand of a seat, OpenHand of an auditor with a reason."""
    table_id, view = await setting(house, pause_ms=60_000)
    hand_id, turn = view.hand.hand_id, turn_of(view)
    for player in ("ann", "ben"):
        await act(house, table_id, player, draft(turn, best(await own_cards(house, view, player))))
    await lock_all(house, table_id, view)
    await answer_all(house, table_id)
    told = await house.call("GetMyHand", history_pb2.GetMyHandRequest(hand_id=hand_id), "ann")
    private = [step for step in told.steps if step.event.type_id in FOR_ONE_SEAT]
    own_steps = [step for step in private if step.event.body]
    assert (len(private), len(own_steps)) == (4, 2)
    for step in own_steps:
        event = decode(step.event.type_id, step.event.schema_version, step.event.body).event
        assert event.seat == told.seat
    assert sum("saves a draft: " in step.what for step in private) == 1
    own = await house.call("OpenHand", pb.OpenHandRequest(hand_id=hand_id), "ann")
    assert len(own.arranged) == 2
    assert all(event.body for event in own.arranged)
    assert len(own.seats[0].reveals) == 13
    request = pb.OpenHandRequest(hand_id=hand_id, reason="a complaint")
    auditor = await house.call("OpenHand", request, "sue", Role.AUDITOR)
    assert len(auditor.arranged) == 4
    assert auditor.secret


async def test_a_watcher_who_comes_back_sees_what_the_others_see(house):
    """H10: from any version on, the same view at the same version."""
    table_id, view = await setting(house, pause_ms=60_000)
    await act(house, table_id, "ann", draft(turn_of(view), best(await own_cards(house, view, "ann"))))
    await lock_all(house, table_id, view)
    over = await answer_all(house, table_id)
    for after in range(0, over.version, 3):
        async for seen in house.views(table_id, after):
            if seen.version == over.version:
                assert seen == over
                break


# ---- stakes of pairs ---------------------------------------------------------------------------------------------------


async def test_a_pair_agrees_upon_a_stake_of_its_own_for_the_hands_to_come(house):
    """CS-62: proposed by one, accepted by the other, shown to all; ended by either."""
    table_id, view = await setting(house, "ann", "ben", "cid", pause_ms=1_500)
    a, b = sorted((seat_of(view, "ann"), seat_of(view, "ben")))
    ann, ben = seat_of(view, "ann"), seat_of(view, "ben")
    await house.call("SetPairStake", stake_request(table_id, other=ben, propose_unit=50), "ann")
    offered = await house.until(table_id, lambda v: v.capsa.offers)
    assert [(offer.seat, offer.other, offer.unit) for offer in offered.capsa.offers] == [(ann, ben, 50)]
    wrong = stake_request(table_id, other=ann, accept_unit=60)
    assert (await house.refused("SetPairStake", wrong, "ben"))[0] == "NOT_ASKED"
    request_id = str(uuid4())
    accept = stake_request(table_id, request_id=request_id, other=ann, accept_unit=50)
    assert not (await house.call("SetPairStake", accept, "ben")).result.is_replayed
    assert (await house.call("SetPairStake", accept, "ben")).result.is_replayed
    agreed = await house.until(table_id, lambda v: v.capsa.pair_units)
    assert [(pair.a, pair.b, pair.unit) for pair in agreed.capsa.pair_units] == [(a, b, 50)]
    await lock_all(house, table_id, view)
    await answer_all(house, table_id)
    following = await house.until(table_id, lambda v: is_setting(v) and v.hand.hand_no > view.hand.hand_no)
    await lock_all(house, table_id, following)
    over = await answer_all(house, table_id)
    for line in over.hand.capsa.lines:
        assert line.chips == line.units * (50 if {line.a, line.b} == {a, b} else 10)
    async with Seat(house, table_id, "ben") as seat:
        said = stake_request(table_id, other=ann, end=True)
        await seat.call.write(pb.PlayRequest(request_id=said.request_id, pair_stake=said.stake))
        assert not (await seat.result(said.request_id)).HasField("refusal")
    await house.until(table_id, lambda v: not v.capsa.pair_units)
    await verified(house, table_id)


async def test_who_cannot_cover_the_reserve_is_dealt_out_and_told_why(house):
    """CS-65: RESERVE_TOO_SMALL, with the chips that would be needed."""
    table_id = await open_table(house, ("ann", "ben"), pause_ms=60_000, unit=20)
    await house.sit(table_id, "cid", amount=1_000)
    view = await house.until(table_id, lambda v: len(v.seats) == 3 and is_setting(v))
    cid = seat_of(view, "cid")
    assert cid not in view.hand.capsa.decision.seats
    (short,) = view.capsa.shortages
    assert (short.seat, short.reserve) == (cid, 2 * 20 * 28)
    assert not next(seat for seat in view.seats if seat.seat == cid).in_hand


async def test_a_stake_is_paced_and_judged(house):
    """P12: offers are events for ever; one that no seat could cover is refused."""
    table_id, view = await setting(house)
    ben = seat_of(view, "ben")
    too_much = stake_request(table_id, other=ben, propose_unit=2**50)
    assert (await house.refused("SetPairStake", too_much, "ann"))[0] == "SETTING_INVALID"
    assert (await house.refused("SetPairStake", stake_request(table_id, other=ben), "ann"))[0] == "FIELD_REQUIRED"
    reasons = set()
    for _ in range(80):
        try:
            await house.call("SetPairStake", stake_request(table_id, other=ben, propose_unit=5), "ann")
        except grpc.aio.AioRpcError as error:
            reasons.add(error_of(error)[0])
    assert reasons == {"RATE_LIMITED"}


# ---- deaths ------------------------------------------------------------------------------------------------------------


async def test_a_hand_goes_on_after_kill_9_in_the_middle_of_setting(postgres, database, folder):
    """P1, O7: drafts and locks stand, the clock has its time back, the same request is the same; then played out."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as first:
            table_id, view = await setting(first, pause_ms=60_000)
            turn, cards = turn_of(view), await own_cards(first, view, "ann")
            request_id = str(uuid4())
            await act(first, table_id, "ben", draft(turn, best(await own_cards(first, view, "ben"))))
            locked = await act(first, table_id, "ann", lock(turn, best(cards)), request_id=request_id)
            first.process.kill()
            await first.process.wait()
        async with a_house(postgres, database, folder, wallet=wallet) as second:
            after = await second.until(table_id, is_setting)
            assert turn_of(after) == turn
            assert capsa_seat(after, seat_of(view, "ann")).has_locked
            again = await act(second, table_id, "ann", lock(turn, best(cards)), request_id=request_id)
            assert (again.is_replayed, again.first_version) == (True, locked.first_version)
            async with Seat(second, table_id, "ben") as seat:
                await seat.until(lambda each: each.private is not None and each.private.capsa.HasField("draft"))
            await act(second, table_id, "ben", lock(turn, best(await own_cards(second, after, "ben"))))
            await answer_all(second, table_id)
            events = await verified(second, table_id)
            assert any(isinstance(event, DeadlineMoved) for event in events)
            assert sum(isinstance(event, HandEnded) for event in events) == 1


async def test_a_hand_whose_secret_is_gone_is_void_and_nobody_loses_a_chip(postgres, database, folder):
    """H9: interrupted by our own loss; the dealer stays."""
    key = keys_in(folder)
    async with a_wallet(folder) as wallet:
        async with a_process(postgres, database, folder, wallet, key) as first:
            table_id, view = await setting(first, pause_ms=60_000)
            first.process.kill()
            await first.process.wait()
        connection = await asyncpg.connect(postgres.url("postgres", postgres.password, database))
        await connection.execute("alter table vault.hand_secret disable trigger user")
        await connection.execute("delete from vault.hand_secret")
        await connection.close()
        async with a_house(postgres, database, folder, wallet=wallet) as second:
            after = await second.until(table_id, is_over)
            assert after.hand.capsa.is_void
            assert [seat.stack for seat in after.seats] == [CHIPS, CHIPS]
            events = await verified(second, table_id)
            assert any(isinstance(event, HandVoided) for event in events)
            assert view.hand.hand_id == after.hand.hand_id


# ---- the client library ------------------------------------------------------------------------------------------------


async def test_the_client_library_plays_hands_and_checks_its_cards(house):
    """Everything by `diwan.client`: seeds, proofs, drafts, locks, answers, stakes, for three hands."""
    table_id = await open_table(house, ())

    async def play(player):
        async with client_of(house, player) as client:
            await client.tables.sit_down(table_id, CHIPS)
            async with client.tables.play(table_id) as seat:
                async for _ in seat:
                    if seat.table is not None and seat.table.hand.hand_no > 3:
                        return seat.table.hand.hand_no
                    await decide(seat)
        raise AssertionError("the stream ended")

    async def decide(seat):
        decision = seat.capsa_decision
        if decision is None or not seat.held:
            return
        try:
            if decision.kind == "answer":
                await seat.answer_call(decision.turn, "play")
            elif not seat.private.capsa.HasField("locked"):
                rows = best([reveal.card for reveal in seat.held])
                await seat.save_draft(decision.turn, (rows.front, rows.middle, rows.back))
                await seat.lock_set(decision.turn, (rows.front, rows.middle, rows.back))
        except DiwanError as refusal:
            if refusal.reason not in {"STALE_TURN", "DEADLINE_PASSED", "ALREADY_LOCKED", "NOT_ASKED", "HAND_OVER"}:
                raise

    async with asyncio.timeout(60):
        await asyncio.gather(play("ann"), play("ben"), play("cid"))
    events = await verified(house, table_id)
    started = [event for event in events if isinstance(event, capsa.CapsaStarted)]
    assert any(event.seeds for event in started[1:]), "the clients' seeds are in the decks"
    assert event_pb2.Event.DESCRIPTOR.fields_by_name["capsa_started"].number == 100
