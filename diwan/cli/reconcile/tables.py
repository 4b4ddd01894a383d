"""The tables' chips folded from the table feed alone, each event held against what the ledger posted for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from diwan.cli.reconcile.faults import Faults
from diwan.cli.reconcile.ledger import LedgerFold, Posted
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted, HandVoided
from diwan.core.hashing import uuid_text
from diwan.core.ledger.accounts import BOTS, escrow_account, player_account
from diwan.core.ledger.disagreement import Disagreement
from diwan.core.ledger.tournament_seats import TOURNAMENT_EVENTS, TournamentSeats, follow_tournament
from diwan.core.log import LoggedEvent
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    CarriedPotReturned,
    MatchEnded,
    MatchStarted,
    SeatFunded,
    SeatReleased,
    TableCreated,
    TopUpRequested,
)
from diwan.wire.events import WireError, decode
from diwan.wire.stored import FOR_AUDITORS

_OF_HANDS: Final = (HandStarted, CapsaStarted, HandEnded)
"""What moves no chip of a match: its coins never touch the wallet (L12)."""

_OF_TOURNAMENTS: Final = (*TOURNAMENT_EVENTS, HandStarted, HandVoided, HandEnded, BuyInRequested, SeatFunded)
"""What a tournament's chips move by, and what there can be none of at its tables."""

_PAID_LATER: Final = frozenset({"buy_in_returned", "top_up_returned"})


class Sitting(Struct):
    """Somebody's stay at a seat: chips by the table's own events, the last event that changed them, what is asked for."""

    name: str
    home: str
    stack: int = 0
    place: str = ""
    asked: dict[str, int] = {}


class Table(Struct):
    """One table, as far as chips go."""

    name: str
    is_match: bool = False
    tournament: TournamentSeats | None = None
    version: int = 0
    seats: dict[int, Sitting] = {}
    hand: HandStarted | CapsaStarted | None = None


class TableFold:
    """Takes the table feed from its first event on, after the ledger's feed was taken.

    ``cursor`` is where the wallet was: later events only say which chips may be on their way. Tables that the wallet has
    set aside are not compared.
    """

    def __init__(self, ledger: LedgerFold, cursor: int, set_aside: frozenset[str]) -> None:
        self.faults = Faults()
        self.hands = 0
        self.escrows = 0
        self._ledger = ledger
        self._cursor = cursor
        self._set_aside = set_aside
        self._tables: dict[str, Table] = {}
        self._sittings: dict[str, Sitting] = {}
        self._place = ""
        self._is_behind = False

    def take(self, number: int, event: LoggedEvent) -> None:
        """Take the next event of the feed."""
        name = uuid_text(event.stream_id)
        table = self._tables.setdefault(name, Table(name))
        self._place = f"table {name}, version {event.version} (number {number} of the table feed)"
        self._is_behind = number > self._cursor
        if not self._is_behind:
            table.version = event.version
        if name in self._set_aside:
            return
        if event.body_hash and event.type_id in FOR_AUDITORS:
            # Who looked at hidden cards is not for whoever reconciles, and moves no chip.
            return
        try:
            said = decode(event.type_id, event.schema_v, event.body).event
        except (WireError, ValueError) as error:
            self.faults.add(self._place, f"the event cannot be read: {error}")
            return
        if isinstance(said, TableCreated):
            table.is_match = said.config.chips == "match"
            table.tournament = TournamentSeats() if said.config.chips == "tournament" else None
        elif table.tournament is not None:
            self._of_tournament(table, table.tournament, said)
            return
        if not (table.is_match and isinstance(said, _OF_HANDS)):
            self._follow(table, said, f"table/{name}/{event.version}")

    def _of_tournament(self, table: Table, seats: TournamentSeats, said: object) -> None:
        """No wallet stands behind these chips, and they add up all the same (L12)."""
        if not isinstance(said, _OF_TOURNAMENTS):
            return
        try:
            table.tournament = follow_tournament(seats, said)
        except Disagreement as disagreement:
            self.faults.add(self._place, str(disagreement))
        self.hands += isinstance(said, HandEnded)

    def _follow(self, table: Table, said: object, cause: str) -> None:
        match said:
            case BuyInRequested(seat=seat, transfer_id=transfer_id, amount=amount):
                home = BOTS.account_id if said.is_bot else player_account(said.player).account_id
                sitting = Sitting(transfer_id, home, asked={transfer_id: amount})
                self._sittings[transfer_id] = table.seats[seat] = sitting
            case TopUpRequested(seat=seat, transfer_id=transfer_id, amount=amount) if seat in table.seats:
                table.seats[seat].asked[transfer_id] = amount
            case _ if self._is_behind:
                return
            case SeatFunded(seat=seat) if seat in table.seats:
                self._funded(table.seats[seat], said)
            case BuyInRefused(seat=seat, transfer_id=transfer_id) if seat in table.seats:
                self._returned(table.seats[seat], transfer_id, self._ledger.by_cause.pop(cause, []))
                if table.seats[seat].name == transfer_id:  # Without its buy-in there is no sitting.
                    del table.seats[seat]
            case HandStarted() | CapsaStarted():
                table.hand = said
            case HandEnded():
                self._ended(table, said, cause)
            case SeatReleased(seat=seat) if seat in table.seats:
                self._released(table, said, cause)
            case CarriedPotReturned():
                shares = [(share.player, share.is_bot, share.amount) for share in said.shares]
                self._paid_out("pot", shares, cause)
            case MatchStarted():
                self._match_started(said, cause)
            case MatchEnded():
                self._paid_out("pot", [(one.player, one.is_bot, one.prize) for one in said.places], cause)
            case _:
                return

    def _funded(self, sitting: Sitting, said: SeatFunded) -> None:
        sitting.asked.pop(said.transfer_id, None)
        sitting.stack += said.amount
        sitting.place = self._place
        posted = self._ledger.fundings.get(said.transfer_id)
        found = None if posted is None else (posted.debit, posted.credit, posted.amount)
        due = (sitting.home, escrow_account(sitting.name).account_id, said.amount)
        # A seat in a match without an entry brings nothing, and nothing is posted for it.
        if found != (due if said.amount else None):
            what = "never posted" if posted is None else f"posted with {posted.amount} at {_at(posted)}"
            self.faults.add(
                self._place, f"seat {said.seat} relies on transfer {said.transfer_id} of {said.amount}, {what}"
            )

    def _returned(self, sitting: Sitting, transfer_id: str, posted: list[Posted]) -> None:
        amount = sitting.asked.pop(transfer_id, 0)
        back = [each for each in posted if each.code in _PAID_LATER]
        if len(back) != len(posted) or [each.amount for each in back] not in ([], [amount]):
            first = next((each for each in posted if each not in back), posted[0])
            self.faults.add(self._place, f"the ledger moved {first.amount} as {first.code} at {_at(first)}, "
                            f"where {amount} was refused")  # fmt: skip

    def _ended(self, table: Table, said: HandEnded, cause: str) -> None:
        started, table.hand = table.hand, None
        if started is None:
            self.faults.add(self._place, "a hand ends that did not begin")
            return
        self.hands += 1
        posted = self._ledger.by_cause.pop(cause, [])
        nets = _nets(posted)
        for seat, payoff in zip(started.seats, said.payoffs, strict=True):
            sitting = self._sittings.setdefault(seat.sitting, Sitting(seat.sitting, ""))
            sitting.stack += payoff
            sitting.place = f"{self._place}, hand {started.hand_id}, seat {seat.seat}"
            paid = nets.pop(escrow_account(seat.sitting).account_id, 0)
            if paid != payoff:
                self.faults.add(sitting.place, f"the hand brought {payoff}, the ledger posted {paid}{_of(posted)}")
        self._others(nets, posted, f"{self._place}, hand {started.hand_id}")

    def _released(self, table: Table, said: SeatReleased, cause: str) -> None:
        sitting = table.seats.pop(said.seat)
        place = f"{self._place}, seat {said.seat}"
        posted = self._ledger.by_cause.pop(cause, [])
        home = [each for each in posted if each.code not in _PAID_LATER]
        nets = _nets(home)
        escrow = escrow_account(sitting.name).account_id
        paid, arrived = -nets.pop(escrow, 0), nets.pop(sitting.home, 0)
        if (paid, arrived) != (said.amount, said.amount):
            self.faults.add(place, f"{said.amount} chips go home, the ledger posted {paid}{_of(posted)}")
        self._others(nets, posted, place)
        sitting.stack -= said.amount
        sitting.place = place
        sitting.asked.clear()

    def _match_started(self, said: MatchStarted, cause: str) -> None:
        """The entries leave the escrows; what is in front of the seats from now on are coins."""
        posted = self._ledger.by_cause.pop(cause, [])
        nets = _nets(posted)
        for one in said.entrants:
            sitting = self._sittings.setdefault(one.sitting, Sitting(one.sitting, ""))
            sitting.stack -= said.entry_fee
            sitting.place = f"{self._place}, seat {one.seat}"
            paid = -nets.pop(escrow_account(one.sitting).account_id, 0)
            if paid != said.entry_fee:
                self.faults.add(sitting.place, f"an entry of {said.entry_fee}, the ledger posted {paid}{_of(posted)}")
        self._rest("pot", nets, posted)

    def _paid_out(self, kind: str, shares: list[tuple[str, bool, int]], cause: str) -> None:
        """What a table kept for its players goes home to them, and nothing else does."""
        posted = self._ledger.by_cause.pop(cause, [])
        nets = _nets(posted)
        for player, is_bot, amount in shares:
            nets[BOTS.account_id if is_bot else player_account(player).account_id] -= amount
        self._rest(kind, nets, posted)

    def _rest(self, kind: str, nets: Counter[str], posted: list[Posted]) -> None:
        for account_id, net in nets.items():
            account = self._ledger.accounts.get(account_id)
            if net and (account is None or account.kind != kind):
                self.faults.add(self._place, f"the ledger moved {net} more than the event says{_of(posted)}")

    def _others(self, nets: Counter[str], posted: list[Posted], place: str) -> None:
        """Whoever else was paid or charged for an event; a pot that is carried over is the hand's own affair."""
        for account_id, net in nets.items():
            account = self._ledger.accounts.get(account_id)
            if net and (account is None or account.kind != "pot"):
                whose = "an unknown account" if account is None else f"the {account.kind} account of {account.owner}"
                self.faults.add(
                    place, f"the ledger moved {net} for {whose}, of whom the event says nothing{_of(posted)}"
                )

    def end(self, escrows: dict[str, int]) -> None:
        """Hold every seat's stack against its escrow, which is of the moment of the cursor, and look for what is left."""
        for name in sorted(self._sittings.keys() | escrows.keys()):
            sitting = self._sittings.get(name) or Sitting(name, "")
            balance = escrows.get(name, 0)
            self.escrows += 1
            if balance - sitting.stack not in _sums(sitting.asked.values()):
                place = sitting.place or f"sitting {name}"
                self.faults.add(place, f"sitting {name}: escrow {balance}, stack {sitting.stack}")
        for cause, posted in self._ledger.by_cause.items():
            _, _, rest = cause.partition("/")
            name, _, version = rest.partition("/")
            table = self._tables.get(name)
            if name in self._set_aside or (table and version.isdecimal() and int(version) > table.version):
                continue
            self.faults.add(_at(posted[0]), f"{posted[0].amount} was moved for {cause}, which asks for nothing")


def _nets(posted: list[Posted]) -> Counter[str]:
    nets: Counter[str] = Counter()
    for each in posted:
        nets[each.debit] -= each.amount
        nets[each.credit] += each.amount
    return nets


def _at(posted: Posted) -> str:
    return f"ledger version {posted.version}"


def _of(posted: list[Posted]) -> str:
    return f" at {_at(posted[0])}" if posted else ""


def _sums(amounts: Iterable[int]) -> set[int]:
    sums = {0}
    for amount in amounts:
        sums |= {each + amount for each in sums}
    return sums
