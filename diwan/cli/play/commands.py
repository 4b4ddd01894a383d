"""What a typed line means: one of these."""

from __future__ import annotations

from typing import Literal, NamedTuple

from diwan.cli.play.rows import Arranged


class Simple(NamedTuple):
    """A command that says all by its name."""

    name: Literal["help", "leave", "table", "conditions", "sit_out", "come_back", "yes", "suggest", "lock", "unlock"]


class Reload(NamedTuple):
    """Bring more chips; None asks how."""

    amount: int | None


class Act(NamedTuple):
    """A decision; ``to`` is a total."""

    kind: Literal["fold", "check", "call", "bet", "raise", "all_in"]
    to: int = 0


class Power(NamedTuple):
    """A power of Naiko; ``target`` is a seat, ``discard`` a deck position of an own card."""

    power: str
    target: int | None = None
    discard: int | None = None


class Answer(NamedTuple):
    """An answer to an Anchor."""

    answer: Literal["seal_shield", "pass"]


class Arrange(NamedTuple):
    """Rows as they stand now."""

    arranged: Arranged


class Call(NamedTuple):
    """Whether the set is played."""

    answer: Literal["play", "surrender"]


class Stake(NamedTuple):
    """About a stake of a pair's own; ``unit`` in chips, 0 where it ends."""

    kind: Literal["propose", "accept", "end"]
    seat: int
    unit: int = 0


class Unclear(NamedTuple):
    """Nothing is done; the message says what could have been typed."""

    message: str


type Command = Simple | Reload | Act | Power | Answer | Arrange | Call | Stake | Unclear
