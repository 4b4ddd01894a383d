"""Main pot and side pots, and what comes back because nobody could match it (HD-17, HD-18)."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.hand.events import Chips
from diwan.core.hand.state import LiveHand, Place


class Pot(Struct, frozen=True):
    """Chips that the same places play for."""

    amount: Chips
    eligible: tuple[Place, ...]


def are_antes_equal(state: LiveHand) -> bool:
    """Say whether everybody owes the same ante. Only such antes are matched level by level; others are dead (finer 6)."""
    antes = [due.amount for due in state.deal.started.dues if due.kind == "ante"]
    return len(antes) == len(state.stacks) and len(set(antes)) == 1


def contributions(state: LiveHand) -> tuple[list[Chips], Chips]:
    """Return what each place has put in against the others, and the dead money that belongs to the main pot.

    Dead are dead blinds, antes that not everybody owes alike, and what void hands left behind (finer points 2 and 6).
    """
    dead = state.dead_blinds
    if any(state.antes) and not are_antes_equal(state):
        dead = tuple([blind + ante for blind, ante in zip(dead, state.antes, strict=True)])
    put_in = [before - stack - lost for before, stack, lost in zip(state.deal.stacks, state.stacks, dead, strict=True)]
    return put_in, sum(dead) + state.deal.started.carried


def unmatched(state: LiveHand) -> tuple[Place, Chips] | None:
    """Return whose chips lie above everybody else's contribution, and how many (HD-18)."""
    bets = state.bets
    top = max(bets)
    if top and bets.count(top) > 1:  # The usual end of a round, without looking any further.
        return None
    put_in, _ = contributions(state)
    place = put_in.index(max(put_in))
    top = put_in.pop(place)
    excess = top - max(put_in)
    return (place, excess) if excess else None


def cut_pots(state: LiveHand) -> list[Pot]:
    """Return the pots, main pot first: cut at the totals of players who are all in, and nowhere else (finer point 8)."""
    put_in, dead = contributions(state)
    unfolded = [place for place in range(len(put_in)) if state.unfolded >> place & 1]
    levels = sorted({put_in[place] for place in unfolded if not state.stacks[place]})
    pots: list[Pot] = []
    below = 0
    for level in (*levels, None):
        amount = dead + sum([(total if level is None else min(total, level)) - min(total, below) for total in put_in])
        if not amount:
            continue
        eligible = tuple(
            [place for place in unfolded if state.stacks[place] or (level is not None and put_in[place] >= level)]
        )
        dead = 0
        if eligible:
            pots.append(Pot(amount, eligible))
        elif pots:  # Chips of folded players above everybody who is left: the last pot takes them (HD-11).
            pots[-1] = Pot(pots[-1].amount + amount, pots[-1].eligible)
        else:
            pots.append(Pot(amount, tuple(unfolded)))
        below = level or below
    return pots
