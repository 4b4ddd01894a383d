"""Deciding again: what a batch should have been, and where the recorded one differs (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from diwan.core.cards import DECK, Card
from diwan.core.decider import Rejected
from diwan.core.hand.events import CardsShown, HandEnded, Position, PotAwarded
from diwan.core.hand.rules import UnknownRules
from diwan.core.table.events import TableEvent
from diwan.history.entries import Entry, Withheld
from diwan.verifier.report import Fault, Rule

type Decide = Callable[[Mapping[Position, Card]], Sequence[TableEvent]]


class Unrevealed(LookupError):  # noqa: N818  (an answer: what is missing)
    """A rule wanted to know a card that nothing has turned up."""

    def __init__(self, position: Position) -> None:
        super().__init__(f"the card at position {position}")
        self.position = position


class RevealedCards(dict[Position, Card]):
    """Cards by position, as far as the log has turned them up."""

    def __missing__(self, position: Position) -> Card:
        raise Unrevealed(position)


class deciding:  # noqa: N801  (reads as a statement)
    """Turns whatever comes of deciding again into a fault at the act: the log, not this program, is on trial."""

    def __init__(self, act: Entry) -> None:
        self._act = act

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        version, found = self._act.version, self._act.event
        match error:
            case Rejected():
                raise Fault(Rule.ACT_REFUSED, version, error, found) from error
            case UnknownRules():
                raise Fault(Rule.RULES_UNKNOWN, version, "rules that this program knows", error) from error
            case Unrevealed():
                raise Fault(Rule.CARD_NOT_REVEALED, version, error, "nothing that turns it up") from error
            # A forged event can ask for a seat or a card that does not exist; honest ones never come here.
            case LookupError() | ValueError() | TypeError() | ArithmeticError() | AssertionError():
                raise Fault(Rule.IMPOSSIBLE, version, "an act that can be decided", error) from error


def compare(expected: tuple[object, ...], group: list[Entry]) -> None:
    """Hold a recorded batch against the decided one; the first difference is the fault."""
    for wanted, entry in zip(expected, group, strict=False):
        if wanted != entry.event:
            rule = Rule.DIGEST_DIFFERS if _is_digest_alone(wanted, entry.event) else Rule.BATCH_DIFFERS
            raise Fault(rule, entry.version, wanted, entry.event)
    if len(expected) > len(group):
        raise Fault(Rule.BATCH_DIFFERS, group[-1].version + 1, expected[len(group)], "nothing")
    if len(expected) < len(group):
        extra = group[len(expected)]
        raise Fault(Rule.BATCH_DIFFERS, extra.version, "nothing", extra.event)


def _is_digest_alone(wanted: object, found: object) -> bool:
    if not (isinstance(wanted, HandEnded) and isinstance(found, HandEnded)):
        return False
    return replace(wanted, digest=b"") == replace(found, digest=b"")


class _Completed(dict[Position, Card]):
    """The known cards, and the others in a given order to whoever asks: some deck that could have been."""

    def __init__(self, known: Mapping[Position, Card], others: Iterable[Card]) -> None:
        super().__init__(known)
        self._others: Iterator[Card] = iter([card for card in others if card not in known.values()])

    def __missing__(self, position: Position) -> Card:
        card = next(self._others, None)
        if card is None:
            raise Unrevealed(position)
        self[position] = card
        return card


def compare_without_cards(decide: Decide, known: Mapping[Position, Card], group: Sequence[Entry]) -> None:
    """Find a difference that no unrevealed card could explain, where deciding needs one.

    Otherwise whoever leaves a showing out would get away with "cannot say". What is the same under two decks that share
    no more than the known cards is taken not to hang on the others.
    """
    first, second = (decide(_Completed(known, deck)) for deck in (DECK, DECK[::-1]))
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if _masked(one) != _masked(other):
            return
        if number == len(group):
            raise Fault(Rule.BATCH_DIFFERS, group[-1].version + 1, one, "nothing")
        if _masked(one) != _masked(group[number].event):
            raise Fault(Rule.BATCH_DIFFERS, group[number].version, one, group[number].event)


def _masked(event: TableEvent | Withheld) -> TableEvent | Withheld:
    """Leave out what cards decide."""
    match event:
        case CardsShown():
            return replace(event, category="", rank=0)
        case PotAwarded():
            return replace(event, shares=())
        case HandEnded():
            return replace(event, stacks=(), payoffs=(), won=(), digest=b"")
        case _:
            return event
