"""The course of a Capsa hand between decisions: deal, naturals, setting, answers, reveal, settlement (CS-18).

Private reads, the named exceptions to the law that `decide` reads only what it reveals in the same batch: the search
for naturals reads every hand, the judgement of a set (draft, lock, timeout, settlement of one that is not shown) reads
that seat's own thirteen cards.
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal

from diwan.core.evaluation import CATEGORIES
from diwan.core.games.capsa.arrangement import CardRows, server_arrangement
from diwan.core.games.capsa.batch import Batch, Step
from diwan.core.games.capsa.events import (
    AnswerAsked,
    Arrangement,
    DeclaredRoyalty,
    NaturalShown,
    RoyaltiesDeclared,
    SetLocked,
    SetSource,
    SetsShown,
    SettingBegan,
    ShownSet,
    Standing,
)
from diwan.core.games.capsa.naturals import Natural, find_natural
from diwan.core.games.capsa.outcome import outcome_digest, payoffs_of
from diwan.core.games.capsa.rows import RowValue, category_name, is_fouled, row_value
from diwan.core.games.capsa.royalties import NO_ROYALTIES, RowRoyalty, royalties_of
from diwan.core.games.capsa.settings import naturals_of
from diwan.core.games.capsa.settlement import Contestant, settle_pair
from diwan.core.games.capsa.state import EndedCapsa, Place
from diwan.core.hand.events import DecidedBy, HandEnded, HandResult, HandVoided

type RowValues = tuple[RowValue, RowValue, RowValue]


def after_deal(batch: Batch) -> Step:
    """Show naturals (CS-69), then let the others set, where at least two are left (CS-82)."""
    for place in batch.state.deal.order:
        natural = natural_of(batch, place)
        if natural is not None:
            batch.add(_natural_shown(batch, place, natural))
    setters = batch.state.setters
    if len(setters) < 2:
        return settle(batch)
    seats = tuple(sorted([batch.state.deal.seats[place] for place in setters]))
    deadline_ms = batch.now_ms + batch.settings.set_seconds * 1000
    batch.add(SettingBegan(seats, batch.next_version, deadline_ms))
    return batch.close()


def after_lock(batch: Batch) -> Step:
    """Go on after a set was locked: with the last one all sets are final (CS-21)."""
    setters = batch.state.setters
    if any(batch.state.plays[place].locked is None for place in setters):
        return batch.close()
    if not batch.settings.surrender.allowed:  # CS-31
        return settle(batch)
    return _ask(batch, setters[0])


def after_answer(batch: Batch) -> Step:
    """Ask the next one; who is left alone by surrenders is not asked (CS-57)."""
    setters = batch.state.setters
    plays = batch.state.plays
    unasked = [place for place in setters if plays[place].answer is None]
    is_alone = len(unasked) == 1 and all(plays[place].answer != "play" for place in setters)
    if not unasked or is_alone:
        return settle(batch)
    return _ask(batch, unasked[0])


def make_set(batch: Batch, place: Place, decided_by: DecidedBy) -> None:
    """Lock a set for who was late, by the timeout policy (CS-28)."""
    arrangement, source = _late_set(batch, place)
    seat = batch.state.deal.seats[place]
    batch.add(SetLocked(seat, arrangement, False, source, batch.state.turn, decided_by, batch.now_ms))  # noqa: FBT003  (an event's field)


def settle(batch: Batch) -> Step:
    """Declare royalties, show the sets, settle every pair (CS-41, CS-84, CS-66) and end the hand."""
    deal = batch.state.deal
    contestants = {place: _contestant(batch, place) for place in deal.order}
    batch.add(RoyaltiesDeclared(tuple([contestants[place][1] for place in sorted(contestants)])))
    playing = [place for place in batch.state.setters if batch.state.plays[place].answer != "surrender"]
    result: HandResult = "uncontested"
    if len(playing) > 1:  # CS-57: who is left alone shows nothing.
        result = "showdown"
        shown = [_shown_set(batch, place) for place in sorted(playing)]
        batch.add(SetsShown(tuple([each for each in shown if each is not None])))
    for first, second in combinations(deal.order, 2):
        batch.add(settle_pair(batch.settings, contestants[first][0], contestants[second][0]))
    return _end(batch, result)


def void(batch: Batch, reason: Literal["interrupted", "operator"], decided_by: DecidedBy) -> Step:
    """End a hand without a result; nobody has put in anything."""
    batch.add(HandVoided(reason, (), batch.now_ms, decided_by))
    return _end(batch, "void")


def natural_of(batch: Batch, place: Place) -> Natural | None:
    """Return the natural that a place holds, if any; one that was found would have been turned up."""
    if batch.unseen(place) is not None:
        return None
    cards = batch.look(batch.state.holdings[place])
    return find_natural(cards, naturals_of(batch.settings), batch.settings.wheel)


def values_of(batch: Batch, arrangement: Arrangement) -> RowValues:
    """Return the strengths of front, middle and back of a complete arrangement."""
    front, middle, back = batch.look_at_rows(arrangement)
    wheel = batch.settings.wheel
    return row_value(front, wheel), row_value(middle, wheel), row_value(back, wheel)


def _natural_shown(batch: Batch, place: Place, natural: Natural) -> NaturalShown:
    holding = batch.state.holdings[place]
    division = None if natural.rows is None else _positions(batch, place, natural.rows)
    award = natural.award
    return NaturalShown(batch.state.deal.seats[place], award.kind, award.units, holding, division)


def _positions(batch: Batch, place: Place, rows: CardRows) -> Arrangement:
    position_of = {batch.cards[position]: position for position in batch.state.holdings[place]}
    front, middle, back = [tuple([position_of[card] for card in row]) for row in rows]
    return Arrangement(front, middle, back)


def _late_set(batch: Batch, place: Place) -> tuple[Arrangement | None, SetSource]:
    policy = batch.settings.timeout_policy
    if policy == "foul":
        return None, "none"
    draft = batch.state.plays[place].usable_draft
    if policy == "draft_then_auto" and draft is not None:
        return draft, "draft"
    unseen = batch.unseen(place)
    if unseen is not None:
        return unseen.set_made(batch.state.deal.seats[place], batch.state.holdings[place]), "server"
    cards = batch.look(batch.state.holdings[place])
    return _positions(batch, place, server_arrangement(cards, batch.settings.wheel)), "server"


def _ask(batch: Batch, place: Place) -> Step:
    deadline_ms = batch.now_ms + batch.settings.declare_seconds * 1000
    batch.add(AnswerAsked(batch.state.deal.seats[place], batch.next_version, deadline_ms))
    return batch.close()


def _contestant(batch: Batch, place: Place) -> tuple[Contestant, Standing]:
    seat, play = batch.state.deal.seats[place], batch.state.plays[place]
    if play.natural is not None:
        return Contestant(seat, "natural", natural_of(batch, place)), Standing(seat, "natural")
    if play.answer == "surrender":
        return Contestant(seat, "surrendered"), Standing(seat, "surrendered")
    if play.locked is None:  # Alone among naturals: nothing to set (finer point 12).
        return Contestant(seat, "set"), Standing(seat, "set")
    if play.locked.arrangement is None:
        return Contestant(seat, "fouled"), Standing(seat, "fouled")
    unseen = batch.unseen(place)
    if unseen is not None:
        return _taken(unseen.standing(seat))
    values = values_of(batch, play.locked.arrangement)
    if is_fouled(*values):
        return Contestant(seat, "fouled"), Standing(seat, "fouled")
    royalties = royalties_of(batch.look_at_rows(play.locked.arrangement), batch.settings)
    front, middle, back = royalties
    units = (front.units, middle.units, back.units)
    standing = Standing(seat, "set", _declared(front), _declared(middle), _declared(back))
    return Contestant(seat, "set", None, values, units), standing


def _taken(standing: Standing) -> tuple[Contestant, Standing]:
    """Return a seat that is left alone by surrenders as the log has it: nobody's rows are compared with its own."""
    units = (standing.front.units, standing.middle.units, standing.back.units)
    return Contestant(standing.seat, standing.status, royalties=units), standing


def _declared(royalty: RowRoyalty) -> DeclaredRoyalty:
    if royalty is NO_ROYALTIES[0]:
        return DeclaredRoyalty()
    return DeclaredRoyalty(CATEGORIES[royalty.category], royalty.units)


def _shown_set(batch: Batch, place: Place) -> ShownSet | None:
    """Return a set as it is turned up; who was late and fouled for it has none."""
    locked = batch.state.plays[place].locked
    if locked is None or locked.arrangement is None:
        return None
    values = values_of(batch, locked.arrangement)
    front, middle, back = [category_name(value) for value in values]
    return ShownSet(locked.seat, locked.arrangement, front, middle, back, is_fouled(*values))


def _end(batch: Batch, result: HandResult) -> Step:
    state = batch.state
    payoffs = payoffs_of(state)
    ended = HandEnded(
        result=result,
        stacks=state.stacks,
        payoffs=payoffs,
        won=tuple([max(payoff, 0) for payoff in payoffs]),
        returned=(0,) * len(state.stacks),
        digest=outcome_digest(state, result, batch.cards),
        ended_at_ms=batch.now_ms,
    )
    batch.events.append(ended)
    return batch.close(EndedCapsa(state, ended))
