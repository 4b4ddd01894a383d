"""Whole hands between policies, decided by the core itself: what a policy chooses illegally is refused here."""

from __future__ import annotations

import random  # noqa: TID251  (tests may use chance)
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from diwan.core.games import GAMES
from diwan.core.hand.betting import LegalActions, legal_actions
from diwan.core.hand.commands import Act, StartHand
from diwan.core.hand.decide import advance
from diwan.core.hand.events import Due, HandSeat
from diwan.core.hand.rules import CURRENT_RULES_VERSION
from diwan.core.hand.settings import HandSettings
from diwan.core.hand.state import EndedHand, HandState, LiveHand
from diwan.core.policy import Chance, Choice, Options, Situation, Style
from diwan.core.policy.betting import bet
from diwan.core.policy.holdem import HOLDEM

type Player = Callable[[Situation, Chance], Choice]

SMALL, BIG = 1, 2


@dataclass
class PlayedHand:
    payoffs: tuple[int, ...]
    choices: list[tuple[Situation, Choice]] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    """Choices made in each betting round."""


def styled(style: Style) -> Player:
    return lambda situation, chance: bet(situation, chance, style, HOLDEM)


def uniform(situation: Situation, chance: Chance) -> Choice:
    """Any legal action as likely as any other, amounts too."""
    options = situation.options
    kinds = [
        kind
        for kind, is_allowed in {
            "fold": options.can_fold,
            "check": options.can_check,
            "call": options.can_call,
            "bet": options.can_bet,
            "raise": options.can_raise,
        }.items()
        if is_allowed
    ]
    kind = kinds[chance(len(kinds))]
    to = options.min_to + chance(options.max_to - options.min_to + 1) if kind in {"bet", "raise"} else 0
    return Choice(kind, to)


def situation_at(state: LiveHand, legal: LegalActions, deck: Sequence[int]) -> Situation:
    place = state.actor
    others = [other for other in range(len(state.stacks)) if other != place and state.unfolded >> other & 1]
    seats = len(state.stacks)
    button = state.deal.places[state.deal.started.button]
    lift = legal.lift or (0, 0)
    return Situation(
        own_cards=tuple(deck[position] for position in state.holdings[place]),
        board=tuple(deck[position] for position in state.board),
        street=state.street,
        big_blind=BIG,
        pot=state.pot,
        own_bet=state.bets[place],
        own_stack=state.stacks[place],
        opponents=len(others),
        acting_later=sum((other - place) % seats <= (button - place) % seats for other in others),
        reachable=max(state.bets[other] + state.stacks[other] for other in others),
        options=Options(
            can_fold=legal.fold,
            can_check=legal.check,
            can_call=legal.call is not None,
            call_amount=legal.call or 0,
            can_bet=legal.bet is not None,
            can_raise=legal.raise_to is not None,
            min_to=lift[0],
            max_to=lift[1],
        ),
    )


def play_hand(
    players: Sequence[Player], stacks: Sequence[int], button: int, deal: random.Random, limit: str = "no_limit"
) -> PlayedHand:
    """Play one hand; ``players`` sit at seats 0, 1, ... clockwise."""
    seats = len(players)
    small = button if seats == 2 else (button + 1) % seats
    big = (small + 1) % seats
    deck = list(range(52))
    deal.shuffle(deck)
    start = StartHand(
        hand_id="00000000-0000-0000-0000-000000000001",
        hand_no=1,
        rules_version=CURRENT_RULES_VERSION,
        settings=HandSettings(small_blind=SMALL, big_blind=BIG, limit=limit),
        seats=tuple(HandSeat(seat, f"p{seat}", stack) for seat, stack in enumerate(stacks)),
        button=button,
        big_blind_seat=big,
        dues=(Due(small, "small_blind", SMALL), Due(big, "big_blind", BIG)),
        secret_commitment=bytes(32),
        seeds=(),
        absent=tuple(range(seats)),
        deck_root=bytes(32),
        next_commitment=bytes(32),
        version=0,
        now_ms=0,
    )
    cards = dict(enumerate(deck))
    events, state = advance(None, start, cards)
    return _play_on(state, len(events), players, cards, deal)


def _play_on(
    state: HandState, version: int, players: Sequence[Player], cards: dict[int, int], deal: random.Random
) -> PlayedHand:
    played, street = PlayedHand(()), ""
    while isinstance(state, LiveHand):
        legal = legal_actions(GAMES["holdem"], state)
        assert legal is not None
        situation = situation_at(state, legal, [cards[position] for position in range(52)])
        choice = players[legal.seat](situation, deal.randrange)
        played.choices.append((situation, choice))
        if state.street != street:
            street = state.street
            played.rounds.append(0)
        played.rounds[-1] += 1
        act = Act(legal.seat, choice.kind, choice.to, state.turn, version, 0)
        events, state = advance(state, act, cards)
        version += len(events)
    assert isinstance(state, EndedHand)
    played.payoffs = state.ended.payoffs
    return played
