"""Reads Open Hand History: one JSON object a hand, hands behind blank lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from diwan.core.cards import Card, parse_card
from diwan.core.hand.events import PostKind
from diwan.core.limits import SEATS_MAX
from diwan.history.exports import record
from diwan.history.exports.ohh_format import (
    BET_LIMITS,
    BOARD_CARDS,
    GAMES,
    HOLE_CARDS,
    TABLE_SEATS_MAX,
    Action,
    File,
    Ohh,
    Round,
)
from diwan.history.exports.record import PokerHand, Post, Seated, Shown, Take
from diwan.history.exports.times import Moment, milliseconds

TEXT_CHARACTERS_MAX: Final = 256 * 1024
AMOUNT_MAX: Final = 2**53

_GAME_OF: Final = {text: name for name, text in GAMES.items()}
_LIMIT_OF: Final = {text: name for name, text in BET_LIMITS.items()}


class OhhError(ValueError):
    """A text that is no hand of this format, or of a kind that is not played here; the message says why."""


def read_many(text: str) -> Iterator[PokerHand]:
    """Yield the hands of a file; raises `OhhError`."""
    part: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.strip():
            part.append(line)
        elif part:
            yield read("\n".join(part))
            part = []


def read(text: str) -> PokerHand:
    """Return one hand, without what the format cannot say; raises `OhhError`."""
    if len(text) > TEXT_CHARACTERS_MAX:
        raise OhhError(f"more than {TEXT_CHARACTERS_MAX} characters")
    try:
        ohh = msgspec.json.decode(text.encode(errors="surrogatepass"), type=File).ohh
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise OhhError(f"no hand of this format: {error}") from None
    try:
        return _Reader(ohh).hand()
    except (KeyError, ValueError, IndexError) as error:
        raise OhhError(str(error)) from None


def told(hand: PokerHand) -> PokerHand:
    """Return what this format tells of a hand: reading what was written gives exactly that."""
    shown = hand.shown
    hidden = (None,) * HOLE_CARDS[hand.game]
    heroes = tuple(seat.seat for seat in hand.seats if seat.seat in hand.heroes and None not in seat.cards)
    posted = {line.seat for line in hand.lines if isinstance(line, Post) and line.kind == "big_blind"}
    return replace(
        hand,
        hand_no=0,
        table_id="",
        table_name=hand.table_name or hand.table_id,
        table_seats=hand.table_seats or TABLE_SEATS_MAX,
        level=0,
        chips="",
        started_at_ms=hand.started_at_ms // 1000 * 1000,
        big_blind_seat=hand.big_blind_seat if hand.big_blind_seat in posted else 0,
        seats=tuple(
            replace(
                seat,
                is_bot=False,
                cards=seat.cards if seat.seat in heroes else shown[seat.seat].cards if seat.seat in shown else hidden,
            )
            for seat in hand.seats
        ),
        heroes=heroes,
        lines=(
            *[line for line in hand.lines if isinstance(line, Post)],
            *_decided(hand),
            *[replace(show, category="") for show in shown.values()],
        ),
    )


def _decided(hand: PokerHand) -> Iterator[record.Line]:
    """Yield boards and decisions in the words of the format, which tells no lift, and before the flop no bet."""
    is_preflop = True
    for line in hand.lines:
        if isinstance(line, record.Board):
            is_preflop = False
            yield line
        elif isinstance(line, record.Act):
            yield replace(line, by=0, kind="raise" if is_preflop and line.kind == "bet" else line.kind)


class _Reader:
    def __init__(self, ohh: Ohh) -> None:
        self.ohh = ohh
        self.game = _known(_GAME_OF, ohh.game_type)
        self.hole_cards = HOLE_CARDS[self.game]
        self.seat_of = {player.id: player.seat for player in ohh.players}
        self.cards: dict[int, tuple[Card, ...]] = {}
        self.heroes: list[int] = []
        self.lines: list[record.Line] = []
        self.bets: dict[int, int] = defaultdict(int)
        self.big_blind_seat = 0

    def hand(self) -> PokerHand:
        """Return the hand; raises `OhhError` and what the fields' own readers raise."""
        ohh = self.ohh
        seats = [player.seat for player in ohh.players]
        if len(set(seats)) != len(seats) or len(self.seat_of) != len(seats):
            raise OhhError("a seat twice, or an id")
        if not all(1 <= seat <= SEATS_MAX for seat in seats):
            raise OhhError(f"seats are 1 to {SEATS_MAX}")
        for round_ in ohh.rounds:
            self._round(round_)
        return PokerHand(
            hand_id=ohh.game_number,
            hand_no=0,
            table_name=ohh.table_name,
            table_seats=ohh.table_size,
            tournament_id=ohh.tournament_info.tournament_number if ohh.tournament_info is not None else "",
            game=self.game,
            limit=_known(_LIMIT_OF, ohh.bet_limit.bet_type),
            small_blind=_whole(ohh.small_blind_amount),
            big_blind=_whole(ohh.big_blind_amount),
            ante=_whole(ohh.ante_amount),
            started_at_ms=_moment(ohh.start_date_utc),
            button=ohh.dealer_seat,
            big_blind_seat=self.big_blind_seat,
            seats=tuple(
                Seated(
                    player.seat,
                    player.name,
                    _whole(player.starting_stack),
                    is_bot=False,
                    cards=self.cards.get(player.seat, (None,) * self.hole_cards),
                )
                for player in ohh.players
            ),
            heroes=tuple(seat for seat in seats if seat in self.heroes),
            lines=tuple(self.lines),
            pots=tuple(
                record.Pot(
                    _whole(pot.amount),
                    tuple(Take(self.seat_of[win.player_id], _whole(win.win_amount)) for win in pot.player_wins),
                )
                for pot in ohh.pots
            ),
            result="showdown" if any(isinstance(line, Shown) for line in self.lines) else "uncontested",
        )

    def _round(self, round_: Round) -> None:
        street = round_.street.lower()
        if street in BOARD_CARDS:
            self.bets.clear()
            cards = self._cards(round_.cards, BOARD_CARDS[street])
            self.lines.append(record.Board(street, cards))  # type: ignore[arg-type]  # of Street, as the table has it
        elif street not in {"preflop", "showdown"}:
            raise OhhError(f"no street {round_.street}")
        for action in round_.actions:
            self._action(action)

    def _action(self, action: Action) -> None:
        seat, amount = self.seat_of[action.player_id], _whole(action.amount)
        match action.action:
            case "Dealt Cards":
                self.heroes.append(seat)
                self.cards[seat] = self._cards(action.cards, self.hole_cards)
            case "Shows Cards":
                cards = self._cards(action.cards, self.hole_cards)
                self.cards.setdefault(seat, cards)
                self.lines.append(Shown(seat, cards))
            case "Post Ante" | "Post Dead":
                kind: PostKind = "ante" if action.action == "Post Ante" else "dead_blind"
                self.lines.append(Post(seat, kind, amount, action.is_allin))
            case "Post SB" | "Post BB" | "Post Extra Blind":
                if action.action == "Post BB":
                    self.big_blind_seat = seat
                self.bets[seat] += amount
                kind = "small_blind" if action.action == "Post SB" else "big_blind"
                self.lines.append(Post(seat, kind, amount, action.is_allin))
            case "Fold" | "Check" | "Call" | "Bet" | "Raise":
                self._decision(seat, action, amount)
            case word:
                raise OhhError(f"an action {word!r} is not known here")

    def _decision(self, seat: int, action: Action, amount: int) -> None:
        to = self.bets[seat] = self.bets[seat] + amount
        self.lines.append(record.Act(seat, action.action.lower(), amount, to, 0, action.is_allin))  # type: ignore[arg-type]  # of ActionKind

    def _cards(self, texts: tuple[str, ...] | str | msgspec.UnsetType | None, count: int) -> tuple[Card, ...]:
        cards = tuple(map(parse_card, texts)) if isinstance(texts, tuple) else ()
        if len(cards) != count:
            raise OhhError(f"{count} cards are wanted, not {len(cards)}")
        return cards


def _known(names: Mapping[str, str], text: str) -> str:
    if text not in names:
        raise OhhError(f"{text!r} is not played here")
    return names[text]


def _whole(amount: float) -> int:
    if not 0 <= amount <= AMOUNT_MAX or amount != int(amount):
        raise OhhError(f"{amount} is no whole number of chips")
    return int(amount)


def _moment(text: str) -> int:
    date, _, of_day = text.partition("T")
    numbers = [int(part) for part in (*date.split("-"), *of_day.removesuffix("Z").partition(".")[0].split(":"))]
    at = Moment(*numbers) if len(numbers) == 6 else None
    if at is None or not (1 <= at.year <= 9999 and 1 <= at.month <= 12 and 1 <= at.day <= 31):
        raise OhhError(f"no moment: {text!r}")
    return milliseconds(at)
