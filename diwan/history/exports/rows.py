"""Hands as rows for analysts: one table of hands, one of players, one of actions; all games."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from diwan.core.cards import Card, format_card
from diwan.core.games.capsa.events import (
    Answered,
    CapsaStarted,
    PairSettled,
    SetLocked,
    SetsShown,
    SettingBegan,
    SetUnlocked,
    ThirteenDealt,
)
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    BetReturned,
    BettingRoundEnded,
    BoardDealt,
    CardGlanced,
    CardsShown,
    CardSwapped,
    HandEnded,
    HandStarted,
    HandVoided,
    HoleCardsDealt,
    Posted,
    PotAwarded,
    TurnBegan,
)
from diwan.core.table.playing import PLAYED_EVENTS, StartedEvent
from diwan.history.entries import Entry
from diwan.history.exports.pseudonyms import PLAIN, Names
from diwan.history.exports.record import NOWHERE, About, NotWritable

type Cards = Mapping[int, Card]

LIMITS: Final = (
    "how a hand went beyond its actions: windows, time banks, deadlines that were moved",
    "in Capsa what was arranged, and the lines between pairs: of them the sum a player alone",
    "in Naiko which cards a power moved or showed",
    "settings of the table beyond the game, the limit and the stake",
    "commitments, seeds and proofs; requests that were refused; who looked at hidden cards",
)
"""What these tables cannot say of a hand."""


class HandRow(Struct, frozen=True, kw_only=True):
    """A hand. Times in milliseconds since the epoch, chips whole; ``board`` is empty where there is none."""

    hand_id: str
    table_id: str
    table_name: str
    tournament_id: str | None
    level: int | None
    hand_no: int
    game: str
    bet_limit: str | None
    stake: int
    chips: str | None
    table_seats: int | None
    players: int
    button: int
    started_at_ms: int
    ended_at_ms: int
    result: str
    void_reason: str | None
    pot: int
    board: str


class PlayerRow(Struct, frozen=True, kw_only=True):
    """A seat of a hand; seats count from 0, as in the log. ``cards`` is null where the reader may not know them."""

    hand_id: str
    seat: int
    player: str
    is_bot: bool
    stack: int
    stack_after: int
    payoff: int
    won: int
    returned: int
    put_in: int
    has_folded: bool
    is_all_in: bool
    has_shown: bool
    cards: str | None


class ActionRow(Struct, frozen=True, kw_only=True):
    """A forced bet or a decision. ``added`` went in, for a total of ``total`` in the round; ``pot`` is before it.

    ``thought_ms`` is from when the seat was asked to when the answer came; null for what nobody was asked for.
    """

    hand_id: str
    number: int
    version: int
    seat: int
    player: str
    street: str
    kind: str
    added: int
    total: int
    pot: int
    is_all_in: bool
    decided_by: str
    at_ms: int
    thought_ms: int | None


class HandRows(Struct, frozen=True):
    """One hand's rows."""

    hand: HandRow
    players: tuple[PlayerRow, ...]
    actions: tuple[ActionRow, ...]


def hand_rows(entries: Iterable[Entry], cards: Cards, about: About = NOWHERE, names: Names = PLAIN) -> HandRows:
    """Return a finished hand's rows; raise `NotWritable` for one that is not over."""
    log = [entry for entry in entries if isinstance(entry.event, PLAYED_EVENTS)]
    events = [entry.event for entry in log]
    started, ended = (events[0], events[-1]) if events else (None, None)
    if not isinstance(started, HandStarted | CapsaStarted) or not isinstance(ended, HandEnded):
        raise NotWritable("the hand is not over")
    hand_id = names.hand(started.hand_id)
    actions = tuple(_Actions(started, hand_id, names).read(log))
    return HandRows(
        _hand(started, ended, events, cards, about, names),
        tuple(_players(started, ended, events, actions, cards, names)),
        actions,
    )


def _hand(
    started: StartedEvent, ended: HandEnded, events: Sequence[object], cards: Cards, about: About, names: Names
) -> HandRow:
    tournament = None if isinstance(started, CapsaStarted) else started.tournament
    voided = next((event for event in events if isinstance(event, HandVoided)), None)
    board = [cards[at] for event in events if isinstance(event, BoardDealt) for at in event.positions]
    pot = sum(event.amount for event in events if isinstance(event, PotAwarded))
    pot += sum(abs(event.chips) for event in events if isinstance(event, PairSettled))
    if voided is not None:
        pot += sum(share.amount for share in voided.refunds) + voided.carried
    return HandRow(
        hand_id=names.hand(started.hand_id),
        table_id=names.table(about.table_id),
        table_name=names.table_name(about.table_name),
        tournament_id=None if tournament is None else names.tournament(tournament.tournament_id),
        level=None if tournament is None else tournament.level,
        hand_no=started.hand_no,
        game=started.settings.game,
        bet_limit=None if isinstance(started, CapsaStarted) else started.settings.limit,
        stake=started.settings.unit if isinstance(started, CapsaStarted) else started.settings.big_blind,
        chips=about.chips or None,
        table_seats=about.table_seats or None,
        players=len(started.seats),
        button=started.button,
        started_at_ms=started.started_at_ms,
        ended_at_ms=ended.ended_at_ms,
        result=ended.result,
        void_reason=None if voided is None else voided.reason,
        pot=pot,
        board=_text(board),
    )


def _players(
    started: StartedEvent,
    ended: HandEnded,
    events: Sequence[object],
    actions: Sequence[ActionRow],
    cards: Cards,
    names: Names,
) -> Iterator[PlayerRow]:
    dealt = next((e.holdings for e in events if isinstance(e, HoleCardsDealt | ThirteenDealt)), ())
    shown = {event.seat for event in events if isinstance(event, CardsShown)}
    shown |= {one.seat for event in events if isinstance(event, SetsShown) for one in event.sets}
    for place, seat in enumerate(started.seats):
        own = [action for action in actions if action.seat == seat.seat]
        held = _held(seat.seat, dealt[place] if dealt else (), events)
        known = [cards.get(position) for position in held]
        yield PlayerRow(
            hand_id=names.hand(started.hand_id),
            seat=seat.seat,
            player=names.player(seat.player),
            is_bot=seat.is_bot,
            stack=seat.stack,
            stack_after=ended.stacks[place],
            payoff=ended.payoffs[place],
            won=ended.won[place],
            returned=ended.returned[place],
            put_in=sum(action.added for action in own),
            has_folded=any(action.kind in {"fold", "surrender"} for action in own),
            is_all_in=any(action.is_all_in for action in own),
            has_shown=seat.seat in shown,
            cards=_text([card for card in known if card is not None]) if known and None not in known else None,
        )


def _held(seat: int, dealt: Sequence[int], events: Iterable[object]) -> list[int]:
    """Return the positions that a seat held in the end: a trick exchanges one of them (NK-20)."""
    held = list(dealt)
    for event in events:
        if isinstance(event, CardSwapped) and event.seat == seat:
            held[held.index(event.discarded)] = event.taken
    return held


class _Actions:
    def __init__(self, started: StartedEvent, hand_id: str, names: Names) -> None:
        self._hand_id = hand_id
        self._players = {seat.seat: names.player(seat.player) for seat in started.seats}
        self._stacks = {seat.seat: seat.stack for seat in started.seats}
        self._bets: dict[int, int] = {}
        self._pot = 0 if isinstance(started, CapsaStarted) else started.carried
        self._street = "setting" if isinstance(started, CapsaStarted) else "preflop"
        self._asked_at_ms: int | None = None
        self._number = 0

    def read(self, entries: Iterable[Entry]) -> Iterator[ActionRow]:
        """Yield a row an action, in order."""
        for entry in entries:
            yield from self._rows(entry)

    def _rows(self, entry: Entry) -> Iterator[ActionRow]:
        match entry.event:
            case TurnBegan() | SettingBegan():
                self._asked_at_ms = entry.recorded_at_ms
            case BoardDealt(street=street):
                self._street = street
            case BettingRoundEnded():
                self._bets.clear()
            case BetReturned(seat=seat, amount=amount):
                self._pot -= amount
                self._stacks[seat] += amount
            case Posted() as event:
                is_live = event.kind in {"small_blind", "big_blind"}
                total = self._bets.get(event.seat, 0) + event.amount if is_live else 0
                if is_live:
                    self._bets[event.seat] = total
                is_all_in = self._stacks[event.seat] == event.amount
                yield self._row(entry, event.seat, event.kind, event.amount, total, is_all_in=is_all_in)
            case Acted() as event:
                self._bets[event.seat] = event.to
                kind: str = "sarab" if event.is_sarab else event.kind
                yield self._row(
                    entry, event.seat, kind, event.added, event.to, event.decided_by, event.received_at_ms,
                    is_all_in=event.is_all_in,
                )  # fmt: skip
            case CardGlanced() | CardSwapped() | AnchorDeclared() as event:
                kind = _POWERS[type(event)]
                yield self._row(entry, event.seat, kind, at_ms=event.received_at_ms)
            case AnchorAnswered() as event:
                yield self._row(entry, event.seat, event.answer, who=event.decided_by, at_ms=event.received_at_ms)
            case SetLocked() as event:
                yield self._row(entry, event.seat, "lock", who=event.decided_by, at_ms=event.received_at_ms)
            case SetUnlocked() as event:
                yield self._row(entry, event.seat, "unlock", at_ms=event.received_at_ms)
            case Answered() as event:
                yield self._row(entry, event.seat, event.answer, who=event.decided_by, at_ms=event.received_at_ms)
            case _:
                pass

    def _row(
        self,
        entry: Entry,
        seat: int,
        kind: str,
        added: int = 0,
        total: int = 0,
        who: str = "player",
        at_ms: int | None = None,
        *,
        is_all_in: bool = False,
    ) -> ActionRow:
        self._number += 1
        before, self._pot = self._pot, self._pot + added
        self._stacks[seat] -= added
        is_asked = at_ms is not None and self._asked_at_ms is not None
        return ActionRow(
            hand_id=self._hand_id,
            number=self._number,
            version=entry.version,
            seat=seat,
            player=self._players[seat],
            street=self._street,
            kind=kind,
            added=added,
            total=total,
            pot=before,
            is_all_in=is_all_in,
            decided_by=who if at_ms is not None else "system",
            at_ms=entry.recorded_at_ms if at_ms is None else at_ms,
            thought_ms=max((at_ms or 0) - (self._asked_at_ms or 0), 0) if is_asked else None,
        )


_POWERS: Final = {
    CardGlanced: "hidden_glance",
    CardSwapped: "sleeve_trick",
    AnchorDeclared: "short_anchor",
}


def _text(cards: Iterable[Card]) -> str:
    return " ".join(map(format_card, cards))
