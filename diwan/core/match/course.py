"""The course of a match from deal to deal: forced bets by the schedule, the button, who is out, who has won."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.games.sarab import forced_dues, next_button
from diwan.core.hand.events import Chips, Due, Seat
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand
from diwan.core.limits import PLAYERS_MIN
from diwan.core.match.settings import MatchSettings, hand_settings, sarab_of

type Stacks = dict[Seat, Chips]


class Match(Struct, frozen=True):
    """A match between two deals. ``stacks`` holds the seats that are still in, in their order."""

    hand: HandSettings
    stacks: Stacks
    button: Seat  # of the coming deal
    deal_no: int = 1  # of the coming deal, in the schedule of forced bets
    carried: Chips = 0  # the carried-pot account (A6)
    out: tuple[tuple[Seat, ...], ...] = ()  # who went out together, the latest first

    @property
    def winner(self) -> Seat | None:
        """The last one with coins (SB-38), or None while the match goes on."""
        return next(iter(self.stacks)) if len(self.stacks) < PLAYERS_MIN else None


class NextDeal(Struct, frozen=True):
    """The coming hand as far as the match decides it; the fields are those of ``HandStarted``."""

    settings: HandSettings
    stacks: Stacks
    button: Seat
    dues: tuple[Due, ...]
    deal_no: int
    carried: Chips


def open_match(settings: MatchSettings, seats: Sequence[Seat], button: Seat) -> Match:
    """Return the match before its first deal; ``button`` is the first dealer, by a committed draw (SB-29)."""
    coins = settings.starting_coins.value
    return Match(settings.hand, dict.fromkeys(sorted(seats), coins), button)


def next_deal(match: Match) -> NextDeal | None:
    """Return the coming hand, or None where the match is won. Absent players are dealt in like all others."""
    if match.winner is not None:
        return None
    settings = hand_settings(match.hand, match.deal_no)
    dues = forced_dues(tuple(match.stacks), settings.big_blind)
    return NextDeal(settings, match.stacks, match.button, dues, match.deal_no, match.carried)


def after_hand(match: Match, hand: EndedHand) -> Match:
    """Return the match after a hand of it.

    The button stays after a void hand and else moves to the next player left of it (A6, SB-29). Void hands count as
    deals unless the table says otherwise (A7). Who has nothing left is out, also where it was carried (finer point 2).
    """
    is_void = hand.ended.result == "void"
    counts = not is_void or sarab_of(match.hand).void_counts_as_deal
    left = dict(zip(hand.last.deal.seats, hand.ended.stacks, strict=True))
    stacks = {seat: stack for seat, stack in left.items() if stack}
    return replace(
        match,
        stacks=stacks,
        button=match.button if is_void else next_button(match.button, tuple(stacks)),
        deal_no=match.deal_no + counts,
        carried=match.carried + sum(match.stacks.values()) - sum(left.values()),
        out=ranked_out(match.stacks, stacks) + match.out,
    )


def standings(match: Match) -> tuple[tuple[Seat, ...], ...]:
    """Return the seats by place, the best first; who shares a place stands together. Players still in are one place."""
    return (tuple(match.stacks), *match.out)


def ranked_out(before: Stacks, after: Stacks) -> tuple[tuple[Seat, ...], ...]:
    """Return who went out with a hand: who began it with more stands higher, equals share their place (F2)."""
    gone = {seat: stack for seat, stack in before.items() if seat not in after}
    return tuple(
        [tuple([seat for seat in gone if gone[seat] == stack]) for stack in sorted(set(gone.values()), reverse=True)]
    )
