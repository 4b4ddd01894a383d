"""Hands of Capsa over gRPC: tables, sets and answers by unary calls."""

from uuid import uuid4

from diwan.api.event.v1 import capsa_pb2 as event_pb
from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import capsa_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.core.games.capsa.arrangement import server_arrangement
from tests.integration.table.house import player_of

CHIPS = 10_000


def rows_of(front, middle, back):
    return capsa_pb2.CapsaRows(front=front, middle=middle, back=back)


def best(cards):
    """The server's own arrangement, which never fouls."""
    return rows_of(*server_arrangement(sorted(cards), "low"))


def fouled(cards):
    """The weakest row behind: the server's back in the middle."""
    front, middle, back = server_arrangement(sorted(cards), "low")
    return rows_of(front, back, middle)


def lock(turn, rows, *, is_foul_confirmed=False):
    return capsa_pb2.CapsaAction(turn=turn, lock=capsa_pb2.CapsaLock(rows=rows, is_foul_confirmed=is_foul_confirmed))


def draft(turn, rows):
    return capsa_pb2.CapsaAction(turn=turn, save_draft=rows)


def unlock(turn):
    return capsa_pb2.CapsaAction(turn=turn, unlock=capsa_pb2.CapsaUnlock())


def answer(turn, said="play"):
    return capsa_pb2.CapsaAction(turn=turn, answer=event_pb.CapsaAnswer.Value(f"CAPSA_ANSWER_{said.upper()}"))


def asked(view, kind):
    return view.hand.capsa.HasField("decision") and view.hand.capsa.decision.kind == kind


def is_setting(view):
    return asked(view, "set")


def is_declaring(view):
    return asked(view, "answer")


def is_over(view):
    return view.hand.capsa.phase == "over"


def act_request(table_id, action, *, request_id=None):
    return pb.ActCapsaRequest(request_id=request_id or str(uuid4()), table_id=table_id, action=action)


def stake_request(table_id, *, request_id=None, **stake):
    said = capsa_pb2.PairStakeAction(**stake)
    return pb.SetPairStakeRequest(request_id=request_id or str(uuid4()), table_id=table_id, stake=said)


async def act(house, table_id, player, action, *, request_id=None):
    return (await house.call("ActCapsa", act_request(table_id, action, request_id=request_id), player)).result


async def refusal(house, table_id, player, action):
    return (await house.refused("ActCapsa", act_request(table_id, action), player))[0]


async def open_table(house, players=("ann", "ben"), *, amount=CHIPS, pause_ms=1, **settings):
    """Open a table of Capsa without naturals unless they are asked for, and seat players."""
    settings = {"unit": 10, "set_seconds": 60, "naturals": event_pb.NaturalTable()} | settings
    seats = settings.pop("seats", 4)
    config = table_pb2.TableConfig(
        name="Capsa",
        seats=seats,
        capsa=event_pb.CapsaSettings(**settings),
        buy_in_min=1_000,
        buy_in_max=100_000,
        pause_ms=pause_ms,
    )
    request = pb.CreateTableRequest(request_id=str(uuid4()), config=config)
    table_id = (await house.call("CreateTable", request)).table.table_id
    for player in players:
        await house.sit(table_id, player, amount=amount)
    return table_id


async def own_cards(house, view, player):
    """A player's thirteen cards, by the door that is always open to it."""
    answered = await house.call("OpenHand", pb.OpenHandRequest(hand_id=view.hand.hand_id), player, Role.PLAYER)
    return [reveal.card for reveal in answered.seats[0].reveals]


async def lock_all(house, table_id, view):
    """Lock the server's set for everybody who sets."""
    for seat in view.hand.capsa.decision.seats:
        player = player_of(view, seat)
        await act(
            house, table_id, player, lock(view.hand.capsa.decision.turn, best(await own_cards(house, view, player)))
        )


async def answer_all(house, table_id, said=lambda _seat: "play"):
    """Answer for everybody who is asked; returns the view at the hand's end."""
    turn = 0
    while True:
        view = await house.until(
            table_id, lambda v, t=turn: is_over(v) or (is_declaring(v) and v.hand.capsa.decision.turn > t)
        )
        if is_over(view):
            return view
        decision = view.hand.capsa.decision
        turn = decision.turn
        await act(house, table_id, player_of(view, decision.seats[0]), answer(turn, said(decision.seats[0])))
