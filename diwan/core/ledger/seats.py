"""What a table's events mean for the ledger: whose escrow holds what, and what has to be posted.

A fold of one table's stream. It keeps every sitting's stack beside the ledger, so that the two are compared at every
step: an event that does not fit is refused as a whole (`Disagreement`) before any chip moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.games.capsa.events import CapsaStarted, PairSettled
from diwan.core.hand.events import HandEnded, HandStarted, HandVoided
from diwan.core.ledger.accounts import BOTS, escrow_account, named_id, player_account, pot_account
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.disagreement import Disagreement
from diwan.core.ledger.requests import Confirmation, LinkedSet, Revocation, TableRequest
from diwan.core.ledger.settlement import Line, Payoff, settle, settle_lines
from diwan.core.ledger.tournament_seats import TOURNAMENT_EVENTS, TournamentSeats, follow_tournament
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    CarriedPotReturned,
    MatchEnded,
    MatchStarted,
    SeatFunded,
    SeatReleased,
    TableCreated,
    TableEvent,
    TopUpRequested,
)


class Sitting(Struct, frozen=True):
    """Somebody's stay at a seat. ``stack`` is what the escrow account must hold."""

    sitting: str
    seat: int
    player: str
    is_bot: bool
    stack: int = 0


class Asked(Struct, frozen=True):
    """Chips on their way into a sitting's escrow that the table has not heard about yet."""

    transfer_id: str
    sitting: str
    amount: int


class DealtIn(Struct, frozen=True):
    """A sitting in the running hand, with the stack that it brought."""

    seat: int
    sitting: str
    stack: int


class Dealt(Struct, frozen=True):
    """The running hand, as far as the ledger cares. ``carried_on`` is what it leaves in the table's pot.

    A hand of Capsa is settled pair by pair: ``lines`` are those so far; it is None for every other.
    """

    hand_id: str
    seats: tuple[DealtIn, ...]
    carried_on: int = 0
    lines: tuple[Line, ...] | None = None


class TableSeats(Struct, frozen=True):
    """One table after the event of number ``version``.

    ``carried`` is what the table's pot account must hold: chips of void hands before (A6). Of a match no hand moves chips
    (L12): its entries come by buy-in, stand in the same account (``pool``) while it goes on, and are paid out when it ends.
    A ``tournament``'s table moves none at all, and has only to add up.
    """

    table_id: str
    version: int = 0
    sittings: tuple[Sitting, ...] = ()
    asked: tuple[Asked, ...] = ()
    hand: Dealt | None = None
    carried: int = 0
    is_match: bool = False
    pool: int = 0
    tournament: TournamentSeats | None = None


type Step = tuple[TableSeats, tuple[TableRequest, ...]]

_NOTHING: Final[tuple[TableRequest, ...]] = ()


RELEVANT: Final = (
    TableCreated,
    BuyInRequested,
    TopUpRequested,
    SeatFunded,
    BuyInRefused,
    HandStarted,
    CapsaStarted,
    PairSettled,
    HandVoided,
    HandEnded,
    SeatReleased,
    CarriedPotReturned,
    MatchStarted,
    MatchEnded,
    *TOURNAMENT_EVENTS,
)
"""The events that mean something to the ledger."""


_OF_HANDS: Final = (HandStarted, HandVoided, HandEnded)


def follow(table: TableSeats, event: TableEvent | None, version: int) -> Step:
    """Return the table after an event and what the ledger has to do for it; raises `Disagreement`.

    An event that was followed before changes nothing and asks for nothing; a hole in the versions is a disagreement.
    None stands for an event of a kind that is not `RELEVANT` and need not be read.
    """
    if version <= table.version:
        return table, _NOTHING
    if version != table.version + 1:
        raise Disagreement(f"version {version} follows {table.version}")
    if event is None:
        return replace(table, version=version), _NOTHING
    after, requests = _follow(table, event, f"table/{table.table_id}/{version}")
    return replace(after, version=version), requests


def _follow(table: TableSeats, event: TableEvent, cause: str) -> Step:
    if isinstance(event, TableCreated):
        chips = event.config.chips
        seats = TournamentSeats() if chips == "tournament" else None
        return replace(table, is_match=chips == "match", tournament=seats), _NOTHING
    if table.tournament is not None:
        # The audit reads every event; what means nothing to the ledger means nothing here either.
        is_told = isinstance(event, RELEVANT)
        return (replace(table, tournament=follow_tournament(table.tournament, event)) if is_told else table), _NOTHING
    if table.is_match and isinstance(event, _OF_HANDS):
        return table, _NOTHING
    match event:
        case BuyInRequested():
            return _buy_in(table, event)
        case TopUpRequested():
            asked = Asked(event.transfer_id, _at(table, event.seat).sitting, event.amount)
            return replace(table, asked=(*table.asked, asked)), _NOTHING
        case SeatFunded():
            return _funded(table, event)
        case BuyInRefused():
            return _refused(table, event, cause)
        case HandStarted() | CapsaStarted():
            return _started(table, event)
        case PairSettled():
            return _settled(table, event)
        case HandVoided():
            return _voided(table, event)
        case HandEnded():
            return _ended(table, event, cause)
        case SeatReleased():
            return _released(table, event, cause)
        case CarriedPotReturned():
            return _pot_returned(table, event, cause)
        case MatchStarted():
            return _match_started(table, event, cause)
        case MatchEnded():
            return _match_ended(table, event, cause)
        case _:
            return table, _NOTHING


def _buy_in(table: TableSeats, event: BuyInRequested) -> Step:
    if any(sitting.seat == event.seat for sitting in table.sittings):
        raise Disagreement(f"seat {event.seat} is taken")
    sitting = Sitting(event.transfer_id, event.seat, event.player, event.is_bot)
    asked = Asked(event.transfer_id, event.transfer_id, event.amount)
    return replace(table, sittings=(*table.sittings, sitting), asked=(*table.asked, asked)), _NOTHING


def _funded(table: TableSeats, event: SeatFunded) -> Step:
    asked = _awaited(table, event.transfer_id)
    sitting = _at(table, event.seat)
    if (asked.sitting, asked.amount) != (sitting.sitting, event.amount):
        raise Disagreement(f"transfer {event.transfer_id} was asked for otherwise")
    table = _answered(table, asked)
    table = _with(table, replace(sitting, stack=sitting.stack + event.amount))
    escrow = escrow_account(sitting.sitting).account_id
    if not event.amount:  # A match without entry.
        return table, _NOTHING
    return table, (Confirmation(event.transfer_id, _home(sitting), escrow, event.amount),)


def _refused(table: TableSeats, event: BuyInRefused, cause: str) -> Step:
    asked = _awaited(table, event.transfer_id)
    table = _answered(table, asked)
    # The first transfer of a sitting carries its name; without it there is no sitting.
    if asked.transfer_id == asked.sitting:
        table = _without(table, asked.sitting)
    # Whether the refusal was the wallet's or the table never got through: the id must not come true later.
    return table, (Revocation(event.transfer_id, event.reason, cause),)


def _started(table: TableSeats, event: HandStarted | CapsaStarted) -> Step:
    if table.hand is not None:
        raise Disagreement(f"hand {table.hand.hand_id} has not ended")
    carried = 0 if isinstance(event, CapsaStarted) else event.carried
    if carried != table.carried:
        raise Disagreement(f"hand {event.hand_id} begins with {carried} carried chips of {table.carried}")
    by_sitting = {sitting.sitting: sitting for sitting in table.sittings}
    for seat in event.seats:
        sitting = by_sitting.get(seat.sitting)
        if sitting is None or sitting.seat != seat.seat or sitting.stack != seat.stack:
            raise Disagreement(f"seat {seat.seat} of hand {event.hand_id} is not the sitting with its stack")
    seats = tuple(DealtIn(seat.seat, seat.sitting, seat.stack) for seat in event.seats)
    return replace(
        table, hand=Dealt(event.hand_id, seats, lines=() if isinstance(event, CapsaStarted) else None)
    ), _NOTHING


def _settled(table: TableSeats, event: PairSettled) -> Step:
    hand = table.hand
    if hand is None or hand.lines is None:
        raise Disagreement("a pair settles in a hand without lines")
    sittings = {seat.seat: seat.sitting for seat in hand.seats}
    if event.a == event.b or event.a not in sittings or event.b not in sittings:
        raise Disagreement(f"seats {event.a} and {event.b} are no pair of hand {hand.hand_id}")
    if any({line.a, line.b} == {event.a, event.b} for line in hand.lines):
        raise Disagreement(f"seats {event.a} and {event.b} settle hand {hand.hand_id} twice")
    line = Line(event.a, sittings[event.a], event.b, sittings[event.b], event.chips)
    return replace(table, hand=replace(hand, lines=(*hand.lines, line))), _NOTHING


def _voided(table: TableSeats, event: HandVoided) -> Step:
    if table.hand is None:
        raise Disagreement("a hand is void that has not begun")
    if event.carried < table.carried:
        raise Disagreement(f"a void hand leaves {event.carried} of {table.carried} carried chips")
    return replace(table, hand=replace(table.hand, carried_on=event.carried)), _NOTHING


def _ended(table: TableSeats, event: HandEnded, cause: str) -> Step:
    hand = table.hand
    if hand is None or not len(hand.seats) == len(event.payoffs) == len(event.stacks):
        raise Disagreement("an end without its hand")
    for seat, payoff, stack in zip(hand.seats, event.payoffs, event.stacks, strict=True):
        if seat.stack + payoff != stack or stack < 0:
            raise Disagreement(f"seat {seat.seat}: {seat.stack} and {payoff} do not make {stack}")
    is_void = event.result == "void"
    from_pot = table.carried - hand.carried_on
    if (
        sum(event.payoffs) != from_pot
        or (is_void and max(event.payoffs, default=0) > 0)
        or (hand.carried_on and not is_void)
    ):
        raise Disagreement(
            f"payoffs of hand {hand.hand_id} sum to {sum(event.payoffs)} with {from_pot} of the pot, result {event.result}"
        )
    payoffs = [Payoff(s.seat, s.sitting, amount) for s, amount in zip(hand.seats, event.payoffs, strict=True)]
    won = {payoff.sitting: payoff.amount for payoff in payoffs}
    sittings = tuple(replace(s, stack=s.stack + won.get(s.sitting, 0)) for s in table.sittings)
    table = replace(table, sittings=sittings, hand=None, carried=hand.carried_on)
    if hand.lines is None:
        request = settle(hand.hand_id, payoffs, cause, table.table_id)
    else:
        _check_lines(hand, hand.lines, payoffs)
        request = settle_lines(hand.hand_id, hand.lines, cause)
    return table, (request,) if request.transfers else _NOTHING


def _check_lines(hand: Dealt, lines: Sequence[Line], payoffs: Sequence[Payoff]) -> None:
    """Hold what the pairs settled against what the hand's end says that each seat won or lost (CS-66)."""
    net = dict.fromkeys([seat.sitting for seat in hand.seats], 0)
    for line in lines:
        net[line.a_sitting] += line.chips
        net[line.b_sitting] -= line.chips
    for payoff in payoffs:
        if net[payoff.sitting] != payoff.amount:
            raise Disagreement(f"seat {payoff.seat}: its pairs settle {net[payoff.sitting]}, the end {payoff.amount}")


def _released(table: TableSeats, event: SeatReleased, cause: str) -> Step:
    sitting = _at(table, event.seat)
    if (sitting.sitting, sitting.player, sitting.stack) != (event.sitting, event.player, event.amount):
        raise Disagreement(f"seat {event.seat} is released with {event.amount}, its stack is {sitting.stack}")
    if table.hand is not None and any(seat.sitting == sitting.sitting for seat in table.hand.seats):
        raise Disagreement(f"seat {event.seat} is released during its hand")
    requests: list[TableRequest] = []
    for asked in table.asked:
        if asked.sitting == sitting.sitting:
            table = _answered(table, asked)
            requests.append(Revocation(asked.transfer_id, "SEAT_RELEASED", cause))
    escrow = escrow_account(sitting.sitting).account_id
    cash_out = Transfer(named_id(sitting.sitting, "cash_out"), escrow, _home(sitting), event.amount, "cash_out", cause)
    requests.append(LinkedSet((cash_out,) if event.amount else (), closes=(escrow,)))
    return _without(table, sitting.sitting), tuple(requests)


def _match_started(table: TableSeats, event: MatchStarted, cause: str) -> Step:
    """Gather the entries: every sitting's escrow is emptied into the table's pot."""
    entrants = [(one.seat, one.player, one.is_bot, one.sitting, event.entry_fee) for one in event.entrants]
    seated = [(one.seat, one.player, one.is_bot, one.sitting, one.stack) for one in table.sittings]
    if not table.is_match or table.pool or sorted(entrants) != sorted(seated):
        raise Disagreement("a match starts with other seats than those that are paid for")
    pot = pot_account(table.table_id)
    transfers = [
        Transfer(
            named_id(table.table_id, f"match_entry/{one.seat}"),
            escrow_account(one.sitting).account_id,
            pot.account_id,
            event.entry_fee,
            "match_entry",
            cause,
        )
        for one in event.entrants
        if event.entry_fee
    ]
    sittings = tuple([replace(sitting, stack=0) for sitting in table.sittings])
    table = replace(table, sittings=sittings, pool=event.entry_fee * len(entrants))
    return table, (LinkedSet(tuple(transfers), opens=(pot,)),) if transfers else _NOTHING


def _match_ended(table: TableSeats, event: MatchEnded, cause: str) -> Step:
    """Pay the pool out: all of it, to whom the places give it."""
    total = sum([one.prize for one in event.places])
    if not table.is_match or total != table.pool or any(one.prize < 0 for one in event.places):
        raise Disagreement(f"prizes of {total} are paid out of entries of {table.pool}")
    transfers = [
        Transfer(
            named_id(table.table_id, f"match_prize/{one.seat}"),
            pot_account(table.table_id).account_id,
            BOTS.account_id if one.is_bot else player_account(one.player).account_id,
            one.prize,
            "match_prize",
            cause,
        )
        for one in event.places
        if one.prize
    ]
    return replace(table, pool=0), (LinkedSet(tuple(transfers)),) if transfers else _NOTHING


def _pot_returned(table: TableSeats, event: CarriedPotReturned, cause: str) -> Step:
    total = sum([share.amount for share in event.shares])
    if total != table.carried or table.hand is not None or any(share.amount <= 0 for share in event.shares):
        raise Disagreement(f"{total} of {table.carried} carried chips go back")
    pot = pot_account(table.table_id).account_id
    transfers = [
        Transfer(
            named_id(table.table_id, f"carried_returned/{share.player}"),
            pot,
            BOTS.account_id if share.is_bot else player_account(share.player).account_id,
            share.amount,
            "carried_returned",
            cause,
        )
        for share in event.shares
    ]
    return replace(table, carried=0), (LinkedSet(tuple(transfers)),)


def _home(sitting: Sitting) -> str:
    """Return the account that a sitting's chips come from and go to."""
    return BOTS.account_id if sitting.is_bot else player_account(sitting.player).account_id


def _at(table: TableSeats, seat: int) -> Sitting:
    for sitting in table.sittings:
        if sitting.seat == seat:
            return sitting
    raise Disagreement(f"nobody sits at seat {seat}")


def _awaited(table: TableSeats, transfer_id: str) -> Asked:
    for asked in table.asked:
        if asked.transfer_id == transfer_id:
            return asked
    raise Disagreement(f"nobody asked for transfer {transfer_id}")


def _answered(table: TableSeats, answered: Asked) -> TableSeats:
    return replace(table, asked=tuple(asked for asked in table.asked if asked != answered))


def _with(table: TableSeats, changed: Sitting) -> TableSeats:
    return replace(table, sittings=tuple(changed if s.sitting == changed.sitting else s for s in table.sittings))


def _without(table: TableSeats, sitting: str) -> TableSeats:
    return replace(table, sittings=tuple(s for s in table.sittings if s.sitting != sitting))
