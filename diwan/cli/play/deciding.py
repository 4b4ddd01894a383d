"""Each command as a call of the client library."""

from __future__ import annotations

from diwan.cli.play.commands import Act, Answer, Call, Power, Stake
from diwan.cli.play.scene import Scene
from diwan.client import SeatStream
from diwan.client.arranging import suggested_set
from diwan.client.messages import PairStakeAction

type Move = Act | Power | Answer | Call | Stake


async def make(move: Move, seat: SeatStream, scene: Scene) -> None:
    """Send a move; it names the decision that the player was shown. Raises `DiwanError`."""
    hand = scene.table.hand
    match move:
        case Act(kind="all_in"):
            await seat.act(hand.decision.turn, "call", is_all_in=True)
        case Act():
            await seat.act(hand.decision.turn, move.kind, to=move.to)
        case Power():
            await seat.use_power(hand.decision.turn, move.power, target=move.target, discard=move.discard)
        case Answer():
            await seat.answer_anchor(hand.naiko.window.turn, move.answer)
        case Call():
            await seat.answer_call(hand.capsa.decision.turn, move.answer)
        case Stake():
            await seat.say_stake(_stake(move))


def _stake(stake: Stake) -> PairStakeAction:
    match stake.kind:
        case "propose":
            return PairStakeAction(other=stake.seat, propose_unit=stake.unit)
        case "accept":
            return PairStakeAction(other=stake.seat, accept_unit=stake.unit)
        case _:
            return PairStakeAction(other=stake.seat, end=True)


async def decide_alone(seat: SeatStream, scene: Scene) -> None:
    """Decide without asking anybody: check or call, let Anchors pass, play the suggested set. Raises `DiwanError`."""
    hand = scene.table.hand
    if scene.window is not None:
        await seat.answer_anchor(hand.naiko.window.turn, "pass")
    elif scene.decision is not None:
        kind = "check" if scene.decision.can_check else "call" if scene.decision.can_call else "fold"
        await seat.act(scene.decision.turn, kind)
    elif hand.capsa.decision.kind == "set":
        rows = suggested_set(scene.cards, scene.table.config.capsa)
        await seat.lock_set(hand.capsa.decision.turn, rows)
    else:
        await seat.answer_call(hand.capsa.decision.turn, "play")
