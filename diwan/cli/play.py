"""``diwan play``: sit down at a table and play from the keyboard, with nothing but the client library."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from diwan.chassis.access import Role
from diwan.cli.running import DEFAULT_DATA, DataOption, own_token, refusal_text, running_stack
from diwan.client import DiwanClient, DiwanError, ProofFailed, SeatStream, connect
from diwan.core.cards import format_card

HELP = "f fold, x check, c call, b TOTAL bet, r TOTAL raise to, a all-in, q leave"


class Typed(asyncio.Queue[str]):
    """Lines from the keyboard; the end of the input counts as leaving."""

    def listen(self) -> None:
        """Read standard input without holding up the stream."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            line = sys.stdin.readline()
            self.put_nowait(line.strip() if line else "q")
            if not line:
                loop.remove_reader(sys.stdin)

        loop.add_reader(sys.stdin, read)


def play(
    table: Annotated[str, typer.Argument(help="The table's id, as `diwan tables list` shows it.")],
    name: Annotated[str, typer.Option(help="Your player id.")] = "guest",
    chips: Annotated[int, typer.Option(min=1, help="Chips to bring.")] = 1000,
    hands: Annotated[int, typer.Option(min=0, help="Stand up after so many hands; 0 plays on.")] = 0,
    auto: Annotated[bool, typer.Option(help="Check or call by itself instead of asking.")] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Sit down at a table and play. The first time your account gets the starting grant of chips."""
    layout, addresses = running_stack(data)
    token = own_token(layout, name, Role.PLAYER)

    async def run() -> None:
        async with connect(addresses.services, token) as client:
            await Player(client, table, name, hands, is_auto=auto).play(chips)

    try:
        asyncio.run(run())
    except (DiwanError, ProofFailed) as error:
        typer.echo(f"diwan play: {refusal_text(error) if isinstance(error, DiwanError) else error}", err=True)
        raise typer.Exit(1) from None


class Player:
    """Somebody at the keyboard, from sitting down to standing up."""

    def __init__(self, client: DiwanClient, table_id: str, name: str, hands: int, *, is_auto: bool) -> None:
        self._client = client
        self._table_id = table_id
        self._name = name
        self._hands_wanted = hands
        self._is_auto = is_auto
        self._hands: set[str] = set()
        self._told = ""
        self._asked_turn = 0

    async def play(self, chips: int) -> None:
        """Open the account, sit down, play, stand up; says what became of the chips."""
        account = await self._client.wallet.open_account()
        try:
            seat = await self._client.tables.sit_down(self._table_id, chips, post_at_once=True)
            print(f"You sit at seat {seat.seat} with {chips} of your {account.account.balance} chips.")
        except DiwanError as error:
            if error.reason != "ALREADY_SEATED":
                raise
            print("You are back at your seat.")
        if not self._is_auto:
            print(HELP)
        print("You wait for the next hand.\n")
        try:
            await self._at_the_table()
        finally:
            await self._client.tables.stand_up(self._table_id)
            print("\nYou stand up; your chips go home after the hand.")

    async def _at_the_table(self) -> None:
        typed = Typed()
        if not self._is_auto:
            typed.listen()
        async with self._client.tables.play(self._table_id) as seat:
            async for _ in seat:
                self._tell(seat)
                if self._has_played_enough(seat):
                    return
                decision = seat.decision
                if decision is None or decision.turn == self._asked_turn:
                    continue
                self._asked_turn = decision.turn
                if not await self._decide(seat, decision, typed):
                    return

    def _has_played_enough(self, seat: SeatStream) -> bool:
        view = seat.table
        if view is None or view.is_closed:
            return view is not None
        if view.hand.HasField("decision") or view.hand.pot or not own_cards(seat):
            return False
        self._hands.add(view.hand.hand_id)
        if any(each.player == self._name and not each.stack for each in view.seats):
            print("You have no chips left at this table.")
            return True
        return 0 < self._hands_wanted <= len(self._hands)

    def _tell(self, seat: SeatStream) -> None:
        if seat.table is None:
            return
        line = table_line(seat.table, own_cards(seat), self._name)
        if line != self._told:
            self._told = line
            print(line)

    async def _decide(self, seat: SeatStream, decision: Any, typed: Typed) -> bool:
        """Ask until an action is taken or the clock runs out; returns whether to play on."""
        if self._is_auto:
            await seat.act(decision.turn, "check" if decision.can_check else "call" if decision.can_call else "fold")
            return True
        print(f"  your turn: {choices(decision)}")
        while True:
            waiting = asyncio.create_task(typed.get())
            done, _ = await asyncio.wait({waiting}, timeout=decision_seconds(seat))
            if not done:
                waiting.cancel()
                print("  the clock decided for you")
                return True
            words = waiting.result().split()
            if words[:1] == ["q"]:
                return False
            try:
                await act(seat, decision, words)
            except ValueError:
                print(f"  {HELP}")
            except DiwanError as error:
                print(f"  refused: {refusal_text(error)}")
                if error.reason in {"STALE_TURN", "DEADLINE_PASSED", "HAND_OVER", "NOT_YOUR_TURN"}:
                    return True
            else:
                return True


async def act(seat: SeatStream, decision: Any, words: Sequence[str]) -> None:
    """Send what was typed; raises ValueError where it says nothing, `DiwanError` where it is refused."""
    match list(words):
        case ["f"]:
            await seat.act(decision.turn, "fold")
        case ["x"]:
            await seat.act(decision.turn, "check")
        case ["c"]:
            await seat.act(decision.turn, "call")
        case ["a"]:
            await seat.act(decision.turn, "call", is_all_in=True)
        case [("b" | "r") as kind, total]:
            await seat.act(decision.turn, "bet" if kind == "b" else "raise", to=int(total))
        case _:
            raise ValueError(words)


def choices(decision: Any) -> str:
    """Return what may be done, for how much."""
    found = [word for word, can in (("fold", decision.can_fold), ("check", decision.can_check)) if can]
    if decision.can_call:
        found.append(f"call {decision.call_amount}")
    if decision.can_bet or decision.can_raise:
        word = "bet" if decision.can_bet else "raise to"
        found.append(f"{word} {decision.min_to} to {decision.max_to} (pot {decision.pot_to})")
    return ", ".join(found)


def decision_seconds(seat: SeatStream) -> float:
    """Return a little more than decision clock and time bank: the table decides when they are over, not we."""
    table = seat.table
    if table is None:
        return 1.0
    bank_ms = sum(each.time_bank_ms for each in table.seats if each.player == seat.player)
    return table.config.hand.decision_seconds + bank_ms / 1000 + 1.0


def own_cards(seat: SeatStream) -> str:
    """Return one's own cards of the running hand."""
    private, view = seat.private, seat.table
    if private is None or view is None or private.hand_id != view.hand.hand_id:
        return ""
    return " ".join(format_card(reveal.card) for reveal in private.reveals)


def table_line(view: Any, own: str, name: str) -> str:
    """Return the table in one line: board, pot, and every seat with its chips, bet and state."""
    board = " ".join(format_card(card) for card in view.hand.board)
    parts = []
    for seat in view.seats:
        state = " folded" if seat.has_folded else " all-in" if seat.is_all_in else ""
        shown = " ".join(format_card(card) for card in seat.shown_cards)
        who = "you" if seat.player == name else seat.display_name or seat.player
        bet = f"+{seat.bet}" if seat.bet else ""
        parts.append(f"{who} {seat.stack}{bet}{state}{f' [{shown}]' if shown else ''}")
    head = f"hand {view.hand.hand_no}: " if view.hand.hand_no else ""
    return f"{head}[{board}] pot {view.hand.pot}{f'  your cards {own}' if own else ''}  |  {'  '.join(parts)}"
