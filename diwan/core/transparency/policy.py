"""Whom to trust, as a file (c2sp.org/tlog-policy): logs, witnesses, and how many of these must have signed.

Beyond that format, a line `valid` bounds a key that was retired, so that what it signed in its time still counts:

    valid <origin>+<key id> sizes 1..4711
    valid <witness> times ..1796083200
    valid <witness> sizes <origin> ..4711

Both ends are included, either may be left out. Sizes are of trees; times are what a cosignature says, in POSIX seconds.
Readers that do not know the line refuse the file, which is better than to trust a retired key for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec import Struct

from diwan.core.transparency.checkpoint import SIZE_MAX, parse_decimal
from diwan.core.transparency.note import KeyType, NoteMalformed, VerifierKey, checked_name, parse_vkey

NONE: Final = "none"
LINES_MAX: Final = 1_000

_RANGE: Final = re.compile(r"([0-9]*)\.\.([0-9]*)").fullmatch
_BLANKS: Final = re.compile(r"[ \t]+")


class PolicyMalformed(NoteMalformed):
    """A policy that is not of its format; the message names the line."""


class Bound(Struct, frozen=True):
    """From where to where a key counts, both ends included; of sizes of one log's trees, or of times."""

    first: int
    last: int
    origin: str | None = None
    """The log whose sizes are meant; None where times are."""


class Log(Struct, frozen=True):
    """A log that is known, by one of its keys."""

    key: VerifierKey
    url: str = ""
    bounds: tuple[Bound, ...] = ()


class Witness(Struct, frozen=True):
    """A witness that is known; ``name`` is the policy's own word for it."""

    name: str
    key: VerifierKey
    url: str = ""
    bounds: tuple[Bound, ...] = ()


class Group(Struct, frozen=True):
    """So many of these: witnesses or other groups."""

    threshold: int
    members: tuple[str, ...]


class Policy(Struct, frozen=True):
    """What a checkpoint must show. ``quorum`` names a witness, a group, or nobody."""

    logs: tuple[Log, ...]
    witnesses: Mapping[str, Witness]
    groups: Mapping[str, Group]
    quorum: str

    def is_quorum(self, cosigners: Collection[str]) -> bool:
        """Whether these witnesses, by the policy's names, are enough."""
        return self.quorum == NONE or self._is_met(self.quorum, cosigners)

    def _is_met(self, name: str, cosigners: Collection[str]) -> bool:
        group = self.groups.get(name)
        if group is None:
            return name in cosigners
        return sum(self._is_met(member, cosigners) for member in group.members) >= group.threshold

    @property
    def threshold(self) -> str:
        """The quorum in words, such as "2 of w1, w2, w3"."""
        if self.quorum == NONE:
            return "no witness"
        group = self.groups.get(self.quorum)
        return self.quorum if group is None else f"{group.threshold} of {', '.join(group.members)}"


def covers(bounds: Collection[Bound], origin: str, size: int, time: int | None = None) -> bool:
    """Whether a key counts for a tree of this log and, where it says one, at this time; without bounds it always does."""
    for bound in bounds:
        if bound.origin is None and time is not None and not bound.first <= time <= bound.last:
            return False
        if bound.origin == origin and not bound.first <= size <= bound.last:
            return False
    return True


def k_of_n(logs: Collection[VerifierKey], witnesses: Mapping[str, VerifierKey], threshold: int) -> Policy:
    """Return the policy under which ``threshold`` of the witnesses must have signed; 0 asks for none."""
    if not 0 <= threshold <= len(witnesses) or "witnesses" in witnesses:
        raise PolicyMalformed(f"{threshold} of {len(witnesses)} witnesses cannot be asked for")
    return Policy(
        tuple(map(Log, logs)),
        {name: Witness(name, key) for name, key in witnesses.items()},
        {"witnesses": Group(threshold, tuple(witnesses))} if threshold else {},
        "witnesses" if threshold else NONE,
    )


def policy_text(policy: Policy) -> str:
    """Return a policy as its file says it."""
    lines = [" ".join(filter(None, ("log", log.key.text, log.url))) for log in policy.logs]
    lines += [
        " ".join(filter(None, ("witness", name, one.key.text, one.url))) for name, one in policy.witnesses.items()
    ]
    for log in policy.logs:
        who = f"{log.key.name}+{log.key.key_id.hex()}"
        lines += [f"valid {who} sizes {bound.first}..{bound.last}" for bound in log.bounds]
    for name, one in policy.witnesses.items():
        for bound in one.bounds:
            what = "times" if bound.origin is None else f"sizes {bound.origin}"
            lines.append(f"valid {name} {what} {bound.first}..{bound.last}")
    lines += [f"group {name} {one.threshold} {' '.join(one.members)}" for name, one in policy.groups.items()]
    return "\n".join([*lines, f"quorum {policy.quorum}", ""])


def parse_policy(text: str) -> Policy:
    """Return the policy of a file; raises `PolicyMalformed` naming the line."""
    reader = _Reader()
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        raise PolicyMalformed(f"a policy of more than {LINES_MAX} lines")
    for number, line in enumerate(lines, 1):
        words = [word for word in _BLANKS.split(line) if word]
        if not words or words[0].startswith("#"):
            continue
        try:
            reader.take(words)
        except NoteMalformed as error:
            raise PolicyMalformed(f"line {number}: {error}") from None
    return reader.policy()


class _Reader:
    """What the lines so far define: a line speaks only of what stands before it."""

    def __init__(self) -> None:
        self._logs: dict[str, Log] = {}
        self._witnesses: dict[str, Witness] = {}
        self._groups: dict[str, Group] = {}
        self._quorum: str | None = None
        self._used: set[str] = set()
        self._keys: set[tuple[str, bytes]] = set()

    def take(self, words: list[str]) -> None:
        takers: dict[str, Callable[[list[str]], None]] = {
            "log": self._log,
            "witness": self._witness,
            "group": self._group,
            "quorum": self._take_quorum,
            "valid": self._valid,
        }
        taker = takers.get(words[0])
        if taker is None:
            raise PolicyMalformed(f"no such line: {words[0][:40]!r}")
        taker(words[1:])

    def policy(self) -> Policy:
        if self._quorum is None:
            raise PolicyMalformed("a policy has a quorum line")
        return Policy(tuple(self._logs.values()), self._witnesses, self._groups, self._quorum)

    def _log(self, words: list[str]) -> None:
        if len(words) not in {1, 2}:
            raise PolicyMalformed("log KEY [URL]")
        key = self._key("log", words[0], KeyType.ED25519)
        self._logs[f"{key.name}+{key.key_id.hex()}"] = Log(key, "".join(words[1:]))

    def _witness(self, words: list[str]) -> None:
        if len(words) not in {2, 3}:
            raise PolicyMalformed("witness NAME KEY [URL]")
        name = self._new_name(words[0])
        self._witnesses[name] = Witness(
            name, self._key("witness", words[1], KeyType.COSIGNATURE_V1), "".join(words[2:])
        )

    def _group(self, words: list[str]) -> None:
        if len(words) < 3:
            raise PolicyMalformed("group NAME all|any|K MEMBER...")
        name, many, *members = words
        for member in members:
            if member not in self._witnesses and member not in self._groups:
                raise PolicyMalformed(f"{member[:80]!r} is not defined before")
            if member in self._used:
                raise PolicyMalformed(f"{member[:80]!r} is a member twice")
            self._used.add(member)
        threshold = {"all": len(members), "any": 1}.get(many)
        threshold = parse_decimal(many) if threshold is None else threshold
        if not 1 <= threshold <= len(members):
            raise PolicyMalformed(f"{many} of {len(members)} members")
        self._groups[self._new_name(name)] = Group(threshold, tuple(members))

    def _take_quorum(self, words: list[str]) -> None:
        if len(words) != 1 or self._quorum is not None:
            raise PolicyMalformed("quorum NAME, once")
        if words[0] != NONE and words[0] not in self._witnesses and words[0] not in self._groups:
            raise PolicyMalformed(f"{words[0][:80]!r} is not defined before")
        self._quorum = words[0]

    def _valid(self, words: list[str]) -> None:
        match words:
            case [who, "sizes", ends] if who in self._logs:
                log = self._logs[who]
                bound = Bound(*_ends(ends), log.key.name)
                self._logs[who] = Log(log.key, log.url, (*log.bounds, bound))
            case [who, "times", ends] if who in self._witnesses:
                self._bound(who, Bound(*_ends(ends)))
            case [who, "sizes", origin, ends] if who in self._witnesses:
                self._bound(who, Bound(*_ends(ends), origin))
            case _:
                raise PolicyMalformed("valid LOG+ID sizes A..B, valid WITNESS times A..B, valid WITNESS sizes LOG A..B")

    def _bound(self, name: str, bound: Bound) -> None:
        one = self._witnesses[name]
        self._witnesses[name] = Witness(name, one.key, one.url, (*one.bounds, bound))

    def _new_name(self, name: str) -> str:
        if name == NONE or name in self._witnesses or name in self._groups:
            raise PolicyMalformed(f"the name {name[:80]!r} is taken")
        return name

    def _key(self, what: str, text: str, kind: KeyType) -> VerifierKey:
        key = parse_vkey(text)
        checked_name(key.name)
        if key.kind != kind:
            raise PolicyMalformed(f"a {what}'s key is of type {kind:#04x}, not {key.kind:#04x}")
        # Two lines with one key would let one signer count twice.
        if (what, key.public) in self._keys:
            raise PolicyMalformed(f"the key of {key.name} stands there twice")
        self._keys.add((what, key.public))
        return key


def _ends(text: str) -> tuple[int, int]:
    found = _RANGE(text)
    if found is None:
        raise PolicyMalformed(f"a range is A..B, not {text[:40]!r}")
    first = parse_decimal(found[1]) if found[1] else 0
    last = parse_decimal(found[2]) if found[2] else SIZE_MAX
    if first > last:
        raise PolicyMalformed(f"nothing is in {text}")
    return first, last
