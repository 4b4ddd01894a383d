"""The register as a bundle shows it: signed checkpoints, and each event's way to their roots (P7, P8)."""

from __future__ import annotations

from collections.abc import Iterable

from diwan.core.hashing import feed_leaf
from diwan.core.log import LoggedEvent
from diwan.core.transparency.checkpoint import Checkpoint, origin_of, parse_checkpoint
from diwan.core.transparency.note import NoteMalformed, parse_note
from diwan.core.transparency.policy import Policy
from diwan.core.transparency.proof import is_consistent
from diwan.history.bundle import CheckpointRecord, EventRecord, KnownTree
from diwan.verifier.bundle_report import CheckpointReport
from diwan.verifier.report import Fault, Rule
from diwan.verifier.signatures import judge_note


class Register:
    """The checkpoints of one bundle. The first of a feed is the one that all its events are proved to be in."""

    def __init__(self, house: str, policy: Policy | None) -> None:
        self.reports: list[CheckpointReport] = []
        self._house = house
        self._policy = policy
        self._trees: dict[int, KnownTree] = {}
        self._first: dict[int, Checkpoint] = {}
        self._heads: dict[int, list[Checkpoint]] = {}

    @property
    def heads(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint that a trusted key of its log has signed: only these can convict the log."""
        return tuple(head for heads in self._heads.values() for head in heads)

    def take(self, record: CheckpointRecord) -> list[Fault]:
        """Take a checkpoint in; returns what is wrong with it or missing of it."""
        try:
            note = parse_note(record.note.encode())
            head = parse_checkpoint(note.text)
            if self._policy is None:
                faults = [Fault(Rule.KEYS_MISSING, 0, f"a key of {head.origin} that is trusted", "none was given")]
                log_key, witnesses = "", tuple[str, ...]()
            else:
                judged = judge_note(note, self._policy)
                faults = []
                if judged.rule is not None:
                    faults = [Fault(Rule(judged.rule), 0, "a checkpoint signed as the policy asks", judged.detail)]
                log_key = "" if judged.log_key is None else judged.log_key.text
                witnesses = tuple(one.witness for one in judged.cosigners)
        except NoteMalformed as error:
            return [Fault(Rule.CHECKPOINT_MALFORMED, 0, "a checkpoint (c2sp.org/tlog-checkpoint)", error)]
        wanted = origin_of(self._house, record.feed_id)
        if head.origin != wanted:
            faults.append(Fault(Rule.SUBJECT_DIFFERS, 0, f"a checkpoint of {wanted}", head.origin))
        faults += self._compare(record, head, is_signed=bool(log_key))
        self._first.setdefault(record.feed_id, head)
        if log_key:
            self._heads.setdefault(record.feed_id, []).append(head)
        self._trees.setdefault(record.feed_id, KnownTree(head.size, head.root))
        self.reports.append(
            CheckpointReport(record.feed_id, head.origin, head.size, head.root.hex(), log_key, witnesses, record.note)
        )
        return faults

    def prove(self, feed_id: int, record: EventRecord, event: LoggedEvent) -> Fault | None:
        """Hold an event's place in its feed against the feed's checkpoint."""
        tree = self._trees.get(feed_id)
        if tree is None:  # Its checkpoint was none; that was said.
            return None
        try:
            leaf = feed_leaf(feed_id, record.global_seq, event.stream_id, event.version, event.hash)
        except ValueError as error:
            return Fault(Rule.MALFORMED, event.version, "numbers and a hash of their sizes", error)
        if tree.prove(record.global_seq - 1, leaf, record.path):
            return None
        what = f"a path to the root over {tree.size} entries"
        if record.global_seq > tree.size:
            return Fault(Rule.NOT_IN_REGISTER, event.version, what, f"number {record.global_seq}, which is behind it")
        return Fault(Rule.NOT_IN_REGISTER, event.version, what, "one that does not lead there")

    def remember(self, seen: Iterable[Checkpoint]) -> list[tuple[int, Fault]]:
        """Hold checkpoints that the reader has from elsewhere against those of the bundle; returns faults by feed."""
        faults: list[tuple[int, Fault]] = []
        for old in seen:
            for feed_id, heads in self._heads.items():
                if heads[0].origin != old.origin or old.size == 0:
                    continue
                same = [head for head in heads if head.size == old.size]
                if any(head.root != old.root for head in same):
                    faults.append((feed_id, forked(old, next(head for head in same if head.root != old.root))))
                elif not same:
                    found = f"one over {heads[0].size}, and no proof of what is between"
                    fault = Fault(
                        Rule.CONSISTENCY_MISSING, 0, f"a checkpoint that extends the one seen over {old.size}", found
                    )
                    faults.append((feed_id, fault))
        return faults

    def _compare(self, record: CheckpointRecord, head: Checkpoint, *, is_signed: bool) -> list[Fault]:
        for other in self._heads.get(record.feed_id, ()) if is_signed else ():
            if other.size == head.size and other.root != head.root:
                return [forked(other, head)]
        first = self._first.get(record.feed_id)
        if first is None or is_consistent(head.size, head.root, first.size, first.root, record.consistency):
            return []
        what = f"a proof that the log over {first.size} entries begins with that over {head.size}"
        return [Fault(Rule.CHECKPOINT_INCONSISTENT, 0, what, "one that does not hold")]


def forked(one: Checkpoint, other: Checkpoint) -> Fault:
    """Return what two checkpoints of one log and size with two roots are."""
    return Fault(
        Rule.CHECKPOINT_FORKED,
        0,
        f"one root of {one.origin} over {one.size}",
        f"{one.root.hex()} and {other.root.hex()}",
    )
