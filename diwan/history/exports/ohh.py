"""A hand of hold'em or Omaha as Open Hand History: JSON, each hand behind a blank line; amounts are chips of play money."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from diwan.core.cards import Card, format_card
from diwan.history.exports import record
from diwan.history.exports.ohh_format import (
    BET_LIMITS,
    GAMES,
    INTERNAL_VERSION,
    PLAY_MONEY,
    SITE,
    SPEC_VERSION,
    STREETS,
    TABLE_SEATS_MAX,
    Action,
    BetLimit,
    File,
    Ohh,
    OhhPot,
    Player,
    PlayerWins,
    Round,
    TournamentInfo,
)
from diwan.history.exports.record import NotWritable, PokerHand, Post, Returned, Seated, Shown
from diwan.history.exports.times import iso

LIMITS: Final = (
    "hands of Naiko, Sarab and Capsa, and void hands",
    "who is a bot",
    "who decided: a player, the clock or an operator, and how long it took",
    "by how much a raise lifts the price: it tells what goes in",
    "what went back because nobody matched it: it is what went in and is in no pot",
    "what a hand that was shown is worth, and where cards were shown before the board was complete",
    "when exactly: the second in which the hand began, and no time behind it",
    "of a tournament anything but its id: the rest of tournament_info is null",
    "how often the button was at a seat without a player, and that a blind was owed in full by who could not post it",
    "commitments, seeds and proofs; requests that were refused; who looked at hidden cards",
)
"""What this format cannot say of a hand."""


def write(hand: PokerHand) -> str:
    """Return a hand's text, with the blank line that ends it; raise `NotWritable` for what the format does not know."""
    if hand.game not in GAMES:
        raise NotWritable(f"{hand.game}: the format does not know that game")
    if hand.result == "void":
        raise NotWritable("a void hand: the format knows no hand without a result")
    raw = msgspec.json.encode(File(_Writer(hand).made()))
    return msgspec.json.format(raw, indent=2).decode() + "\n\n"


class _Writer:
    def __init__(self, hand: PokerHand) -> None:
        self.hand = hand
        self.ids = {seat.seat: number for number, seat in enumerate(hand.seats)}
        self.count = 0

    def made(self) -> Ohh:
        """Return the hand as the format's object."""
        hand = self.hand
        heroes = [seat for seat in hand.heroes if seat in self.ids]
        return Ohh(
            spec_version=SPEC_VERSION,
            site_name=SITE,
            network_name=SITE,
            internal_version=INTERNAL_VERSION,
            tournament=bool(hand.tournament_id),
            tournament_info=TournamentInfo(hand.tournament_id) if hand.tournament_id else None,
            game_number=hand.hand_id,
            start_date_utc=iso(hand.started_at_ms),
            table_name=hand.table_name or hand.table_id,
            game_type=GAMES[hand.game],
            bet_limit=BetLimit(BET_LIMITS[hand.limit]),
            table_size=hand.table_seats or TABLE_SEATS_MAX,
            currency=PLAY_MONEY,
            dealer_seat=hand.button,
            small_blind_amount=hand.small_blind,
            big_blind_amount=hand.big_blind,
            ante_amount=hand.ante,
            hero_player_id=self.ids[heroes[0]] if len(heroes) == 1 else None,
            flags=() if len(heroes) == 1 else ("Observed",),
            players=tuple(Player(self.ids[seat.seat], seat.seat, seat.player, seat.stack) for seat in hand.seats),
            rounds=tuple(self._rounds()),
            pots=tuple(
                OhhPot(number, pot.amount, tuple(PlayerWins(self.ids[take.seat], take.amount) for take in pot.takes))
                for number, pot in enumerate(hand.pots)
            ),
        )

    def _rounds(self) -> Iterator[Round]:
        number, street, cards = 0, "Preflop", ()  # type: tuple[int, str, tuple[Card, ...]]
        actions: list[Action] = []
        for line in self._with_dealt():
            if isinstance(line, record.Board):
                yield Round(number, street, tuple(actions), _texts(cards))
                number, street, cards, actions = number + 1, STREETS[line.street], line.cards, []
            elif not isinstance(line, Returned | Shown):
                actions.append(self._action(line, street))
        yield Round(number, street, tuple(actions), _texts(cards))
        if shown := self.hand.shown:
            shows = [self._numbered(seat, "Shows Cards", cards=_texts(show.cards)) for seat, show in shown.items()]
            yield Round(number + 1, "Showdown", tuple(shows), ())

    def _with_dealt(self) -> Iterator[record.Line | Seated]:
        """Yield the lines, with the cards of who holds known ones behind the forced bets."""
        posts = [line for line in self.hand.lines if isinstance(line, Post)]
        yield from posts
        yield from (seat for seat in self.hand.seats if seat.seat in self.hand.heroes and None not in seat.cards)
        yield from (line for line in self.hand.lines if not isinstance(line, Post))

    def _action(self, line: record.Line | Seated, street: str) -> Action:
        match line:
            case Seated(seat=seat, cards=cards):
                return self._numbered(seat, "Dealt Cards", cards=_texts(card for card in cards if card is not None))
            case Post(seat=seat, kind=kind, amount=amount, is_all_in=is_all_in):
                return self._numbered(seat, self._post(kind, seat), amount, is_all_in=is_all_in)
            case record.Act(seat=seat, kind=kind, added=added, is_all_in=is_all_in):
                # "Bet" is no word before the flop, where there need not be a blind here.
                word = "Raise" if kind == "bet" and street == "Preflop" else kind.capitalize()
                return self._numbered(seat, word, added, is_all_in=is_all_in)
            case _:
                raise AssertionError("no action of a round")

    def _post(self, kind: str, seat: int) -> str:
        if kind == "big_blind":
            return "Post BB" if seat == self.hand.big_blind_seat else "Post Extra Blind"
        return {"ante": "Post Ante", "small_blind": "Post SB", "dead_blind": "Post Dead"}[kind]

    def _numbered(
        self, seat: int, word: str, amount: int = 0, *, is_all_in: bool = False, cards: tuple[str, ...] = ()
    ) -> Action:
        self.count += 1
        return Action(self.count, self.ids[seat], word, amount, is_all_in, cards or msgspec.UNSET)


def _texts(cards: Iterable[Card]) -> tuple[str, ...]:
    return tuple(map(format_card, cards))
