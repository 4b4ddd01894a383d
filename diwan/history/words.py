"""What an event says, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

from diwan.core.cards import Card, format_card
from diwan.core.games.capsa.events import (
    AnswerAsked,
    Answered,
    CapsaStarted,
    DraftSaved,
    NaturalShown,
    PairSettled,
    RoyaltiesDeclared,
    SetLocked,
    SetsShown,
    SettingBegan,
    SettingClosed,
    SetUnlocked,
    ThirteenDealt,
)
from diwan.core.games.capsa.stakes import StakeAgreed, StakeEnded, StakeProposed
from diwan.core.hand.events import (
    Acted,
    AnchorAnswered,
    AnchorDeclared,
    AnchorSettled,
    BetReturned,
    BettingRoundEnded,
    BoardDealt,
    CardGlanced,
    CardsShown,
    CardSwapped,
    DeadlineMoved,
    DestellosReturned,
    HandEnded,
    HandStarted,
    HandVoided,
    HoleCardsDealt,
    Posted,
    PotAwarded,
    RunoutHeld,
    RunoutReleased,
    Share,
    TimeBankBegan,
    TurnBegan,
    WindowOpened,
)
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    CarriedPotReturned,
    HandOpened,
    MatchEnded,
    MatchStarted,
    OwnerChanged,
    RefusalsRecorded,
    SatIn,
    SatOut,
    SeatFunded,
    SeatReleased,
    SecretCommitted,
    SeedsCommitted,
    StandUpRequested,
    TableClosed,
    TableClosing,
    TableCreated,
    TableEvent,
    TableOnlyEvent,
    TopUpRequested,
)
from diwan.core.table.hosting.events import (
    GuestJoined,
    GuestRemoved,
    HostChanged,
    InvitationAnswered,
    InvitationRevoked,
    InvitationSent,
    JoinCodeIssued,
    JoinCodeRevoked,
    SettingsChanged,
    TablePaused,
    TableResumed,
)
from diwan.core.table.tournament.events import (
    ChipsAdded,
    ClockSet,
    EntrantReleased,
    EntrantReleaseOrdered,
    EntrantSeated,
    HandGranted,
    RunoutHoldSet,
    StartModeSet,
)
from diwan.core.table.waiting.events import SeatHeld, SeatWanted, WaitEnded
from diwan.history.capsa_words import describe_capsa, describe_stake
from diwan.history.entries import Withheld
from diwan.history.hosting_words import describe_hosting
from diwan.history.tournament_words import describe_tournament

HIDDEN: Final = "??"

type Cards = Mapping[int, Card]

_DECIDED_BY: Final = {
    "player": "",
    "clock": " (decided by the clock)",
    "operator": " (decided by an operator)",
    "system": " (decided by the room)",
}
_VOID: Final = {
    "no_voluntary_bet": "nobody bet",
    "no_raise": "nobody raised",
    "interrupted": "it was interrupted",
    "operator": "an operator decided so",
}


def card_texts(positions: Iterable[int], cards: Cards) -> str:
    """Return cards such as ``As Kd``, with ``??`` for each that is not known."""
    return " ".join(format_card(cards[position]) if position in cards else HIDDEN for position in positions)


def seconds(duration_ms: int) -> str:
    """Return a duration such as ``7.5 s``, with a minus where it lies behind."""
    text = f"{duration_ms / 1000:.1f} s"
    return "0.0 s" if text == "-0.0 s" else text


def describe(event: TableEvent | Withheld, cards: Cards, recorded_at_ms: int, seats: Sequence[int] = ()) -> str:
    """Return what happened, as a clause whose subject is the seat or the room.

    ``seats`` are those of the running hand: its end lists results in their order.
    """
    match event:
        case Acted():
            return _acted(event)
        case TurnBegan(deadline_ms=deadline_ms):
            return f"has {seconds(deadline_ms - recorded_at_ms)} to decide"
        case Posted(kind=kind, amount=amount):
            return f"posts the {kind.replace('_', ' ')} of {amount}"
        case HandStarted():
            return _hand_started(event)
        case HandEnded():
            return f"ends the hand: {_result(event, seats)}"
        case HoleCardsDealt(holdings=holdings):
            return f"deals {max(map(len, holdings), default=0)} hidden cards to each of {len(holdings)} seats"
        case BoardDealt(street=street, positions=positions):
            return f"turns up the {street}: {card_texts(positions, cards)}"
        case CardsShown(positions=positions, category=category):
            named = f", {category.replace('_', ' ')}" if category else ""
            return f"shows {card_texts(positions, cards)}{named}"
        case BettingRoundEnded(total=total):
            return f"gathers the bets: {total} in the middle"
        case BetReturned(amount=amount):
            return f"takes back {amount} that nobody matched"
        case PotAwarded(index=index, amount=amount, shares=shares):
            name = f"side pot {index}" if index else "main pot"
            return f"pays the {name} of {amount}: {_shares(shares)}"
        case DeadlineMoved(reason=reason, deadline_ms=deadline_ms):
            return f"gives {seconds(deadline_ms - recorded_at_ms)} to decide again: {reason}"
        case TimeBankBegan(deadline_ms=deadline_ms):
            return f"has {seconds(deadline_ms - recorded_at_ms)} of its time bank to decide"
        case RunoutHeld(until_ms=until_ms, held_at_ms=held_at_ms):
            return f"keeps the rest of the board down for {seconds(until_ms - held_at_ms)} at most"
        case RunoutReleased(is_by_clock=is_by_clock):
            return "goes on with the board" + (_DECIDED_BY["clock"] if is_by_clock else "")
        case HandVoided(reason=reason, refunds=refunds, decided_by=decided_by, carried=carried):
            back = f", back go {_shares(refunds)}" if refunds else ""
            stays = f", {carried} stay in the middle for the next hand" if carried else ""
            return f"voids the hand because {_VOID[reason]}{back}{stays}{_DECIDED_BY[decided_by]}"
        case CardGlanced() | CardSwapped() | AnchorDeclared() | WindowOpened() | AnchorAnswered() | AnchorSettled():
            return _power(event, cards, recorded_at_ms)
        case DestellosReturned():
            return "gives back the destellos that were spent"
        case CapsaStarted() | ThirteenDealt() | NaturalShown() | SettingBegan() | DraftSaved() | SetUnlocked():
            return describe_capsa(event, cards, recorded_at_ms, card_texts, seconds)
        case SetLocked() | SettingClosed() | AnswerAsked() | Answered() | RoyaltiesDeclared() | PairSettled():
            return describe_capsa(event, cards, recorded_at_ms, card_texts, seconds)
        case SetsShown():
            return describe_capsa(event, cards, recorded_at_ms, card_texts, seconds)
        case Withheld(kind="HandOpened"):
            return "has shown hidden cards of some hand; who looked at which, and why, is for auditors"
        case Withheld(kind=kind):
            return f"is told of a {kind}, which is for its seat alone"
        case StakeProposed() | StakeAgreed() | StakeEnded():
            return describe_stake(event)
        case EntrantSeated() | EntrantReleaseOrdered() | EntrantReleased() | ChipsAdded():
            return describe_tournament(event, seconds)
        case ClockSet() | StartModeSet() | HandGranted() | RunoutHoldSet():
            return describe_tournament(event, seconds)
        case SeatWanted(player=player):
            return f"has {player} in line for a seat"
        case SeatHeld(player=player):
            return f"is kept for {player}"
        case WaitEnded(player=player, cause=cause):
            return f"has {player} in line no more ({cause.replace('_', ' ')})"
        case InvitationSent() | InvitationAnswered() | InvitationRevoked() | JoinCodeIssued() | JoinCodeRevoked():
            return describe_hosting(event)
        case GuestJoined() | GuestRemoved() | HostChanged() | TablePaused() | TableResumed() | SettingsChanged():
            return describe_hosting(event)
        case _:
            return _at_the_table(event)


def seat_of(event: TableEvent | Withheld) -> int | None:
    """Return the seat that is the subject; None where it is the room."""
    return getattr(event, "seat", None)


def _acted(event: Acted) -> str:
    match event.kind:
        case "fold":
            text = "folds"
        case "check":
            text = "checks"
        case "call":
            text = f"calls {event.added}"
        case "bet":
            text = f"bets {event.to}"
        case "raise":
            text = f"raises to {event.to} (adds {event.added})"
        case _:
            assert_never(event.kind)
    if event.is_sarab:
        return f"plays Sarab: {text}, all-in" + _DECIDED_BY[event.decided_by]
    return text + (", all-in" if event.is_all_in else "") + _DECIDED_BY[event.decided_by]


type _Power = CardGlanced | CardSwapped | AnchorDeclared | WindowOpened | AnchorAnswered | AnchorSettled


def _power(event: _Power, cards: Cards, recorded_at_ms: int) -> str:
    match event:
        case CardGlanced(position=position, cost=cost):
            return f"uses the Hidden Glance for {cost}: {card_texts([position], cards)}"
        case CardSwapped(discarded=discarded, taken=taken, cost=cost):
            swap = f"{card_texts([discarded], cards)} goes, {card_texts([taken], cards)} comes"
            return f"plays the Sleeve Trick for {cost}: {swap}"
        case AnchorDeclared(target=target, cost=cost):
            return f"casts the Short Anchor on seat {target} for {cost}"
        case WindowOpened(deadline_ms=deadline_ms):
            return f"has {seconds(deadline_ms - recorded_at_ms)} to answer the Anchor"
        case AnchorAnswered(answer="seal_shield", cost=cost):
            return f"answers with the Seal Shield for {cost}"
        case AnchorAnswered(decided_by=decided_by):
            return f"lets the Anchor pass{_DECIDED_BY[decided_by]}"
        case AnchorSettled(target=target, is_blocked=is_blocked):
            return f"{'blocks the Anchor on' if is_blocked else 'anchors'} seat {target}"
        case _:
            assert_never(event)


def _hand_started(event: HandStarted) -> str:
    rules = event.settings
    limit = rules.limit.replace("_", "-")
    stakes = f"{rules.small_blind}/{rules.big_blind}"
    if rules.sarab is not None:
        carried = f", {event.carried} carried over" if event.carried else ""
        stakes = f"deal {event.deal_no}, forced bet {rules.big_blind}{carried}"
    if event.tournament is not None:
        stakes += f", level {event.tournament.level}"
    seats = ", ".join(str(seat.seat) for seat in event.seats)
    return (
        f"begins hand {event.hand_no}: {limit} {rules.game} {stakes}, "
        f"seats {seats}, button {event.button}, deck {event.deck_root.hex()[:16]}"
    )


def _result(event: HandEnded, seats: Sequence[int]) -> str:
    how = {"uncontested": "all others folded", "showdown": "cards were compared", "void": "no result"}[event.result]
    named = zip(seats or range(len(event.payoffs)), event.payoffs, strict=False)
    return f"{how}; " + ", ".join(f"seat {seat} {payoff:+d}" for seat, payoff in named)


def _shares(shares: tuple[Share, ...]) -> str:
    return ", ".join(
        f"{share.amount} to seat {share.seat}" + (f" ({share.odd} of it odd)" if share.odd else "") for share in shares
    )


def _at_the_table(event: TableOnlyEvent) -> str:
    match event:
        case SeedsCommitted(hand_no=hand_no, commitments=commitments):
            seats = ", ".join(str(one.seat) for one in commitments) or "none"
            return f"closes the seed commitments for hand {hand_no}: seats {seats}"
        case SecretCommitted(hand_no=hand_no):
            return f"commits to the secret of hand {hand_no}"
        case RefusalsRecorded(counts=counts):
            return f"notes {sum(one.count for one in counts)} refused requests"
        case BuyInRequested(player=player, amount=amount):
            return f"is taken by {player}, who asks for {amount}"
        case TopUpRequested(amount=amount):
            return f"asks for {amount} more"
        case SeatFunded(amount=amount):
            return f"receives {amount}"
        case BuyInRefused(reason=reason):
            return f"is refused the chips: {reason}"
        case SatOut(cause=cause):
            return f"sits out ({cause.replace('_', ' ')})"
        case SatIn():
            return "comes back"
        case StandUpRequested(cause=cause, requested_by=by):
            return f"leaves after the hand ({cause.replace('_', ' ')}{f' {by}' if by else ''})"
        case SeatReleased(player=player, amount=amount):
            return f"is free again, {amount} go home with {player}"
        case HandOpened(opened_by=opened_by, lens=lens, reason=reason):
            return f"shows hidden cards to {opened_by} ({lens}): {reason or 'own cards'}"
        case OwnerChanged(owner=owner, epoch=epoch):
            return f"moves to {owner}, epoch {epoch}"
        case TableCreated(created_by=created_by):
            return f"is opened by {created_by}"
        case TableClosing(closed_by=closed_by):
            return f"starts no new hand, by {closed_by}"
        case TableClosed():
            return "is closed"
        case MatchStarted(entrants=entrants, coins=coins, entry_fee=fee):
            paid = f", an entry of {fee} each" if fee else ""
            return f"starts the match of {len(entrants)} with {coins} in coins each{paid}"
        case MatchEnded(result=result, places=places):
            paid = ", ".join([f"{one.prize} to {one.player}" for one in places if one.prize])
            ranks = ", ".join([f"{one.place}. {one.player}" for one in places if one.place])
            return f"ends the match ({result}){f': {ranks}' if ranks else ''}{f'; {paid}' if paid else ''}"
        case CarriedPotReturned(shares=shares):
            back = ", ".join([f"{share.amount} to {share.player}" for share in shares])
            return f"gives back what was carried over: {back}"
        case _:
            assert_never(event)
