"""What a checkpoint's signatures are worth under a policy: the log's own, and how many witnesses' (P7)."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from diwan.core.transparency.checkpoint import Checkpoint, parse_checkpoint
from diwan.core.transparency.note import Note, Signature, VerifierKey
from diwan.core.transparency.policy import Log, Policy, Witness, covers
from diwan.signing.notes import cosigned_at, is_signed


class NoteRule(StrEnum):
    """Why a checkpoint is not to be trusted."""

    LOG_UNKNOWN = "LOG_UNKNOWN"
    """The policy knows no log of this origin."""
    LOG_SIGNATURE_MISSING = "LOG_SIGNATURE_MISSING"
    """No key of the log that the policy knows has signed."""
    LOG_SIGNATURE_FALSE = "LOG_SIGNATURE_FALSE"
    """A known key of the log is named, and its signature does not hold."""
    LOG_KEY_RETIRED = "LOG_KEY_RETIRED"
    """Signed by a known key of the log beyond the sizes for which it counts."""
    COSIGNATURE_FALSE = "COSIGNATURE_FALSE"
    """A known witness is named, and its signature does not hold."""
    QUORUM_MISSING = "QUORUM_MISSING"
    """Too few witnesses of the policy have signed."""


class Cosigner(Struct, frozen=True):
    """A witness that signed, by the policy's name, at the time (POSIX seconds) that it says."""

    witness: str
    key: VerifierKey
    time: int


class NoteJudgement(Struct, frozen=True):
    """What was found about a checkpoint; ``rule`` is None where it is to be trusted.

    ``retired`` names witnesses that signed beyond the bounds that the policy sets their keys.
    """

    checkpoint: Checkpoint
    rule: NoteRule | None
    detail: str = ""
    log_key: VerifierKey | None = None
    cosigners: tuple[Cosigner, ...] = ()
    retired: tuple[str, ...] = ()

    @property
    def is_trusted(self) -> bool:
        """Whether the log signed it and the quorum did."""
        return self.rule is None

    @property
    def is_false(self) -> bool:
        """Whether something is wrong; else, if it is not trusted, something is missing."""
        return self.rule in {NoteRule.LOG_SIGNATURE_FALSE, NoteRule.COSIGNATURE_FALSE, NoteRule.LOG_KEY_RETIRED}


class _Unfit(Exception):  # noqa: N818  (what the note is)
    def __init__(self, rule: NoteRule, detail: str) -> None:
        super().__init__(detail)
        self.rule = rule


def judge_note(note: Note, policy: Policy) -> NoteJudgement:
    """Say whether a checkpoint is signed as the policy asks; raises `NoteMalformed` if its text is none.

    Signatures of unknown keys are ignored, as their makers are; a known key's signature that does not hold makes the
    whole note worthless.
    """
    head = parse_checkpoint(note.text)
    log_key: VerifierKey | None = None
    cosigners: dict[str, Cosigner] = {}
    retired: list[str] = []
    try:
        log_key = _log_key(note, head, policy)
        for witness in policy.witnesses.values():
            for signature in note.signatures:
                if not signature.is_of(witness.key):
                    continue
                found = _cosigner(note, signature, witness)
                if covers(witness.bounds, head.origin, head.size, found.time):
                    cosigners.setdefault(witness.name, found)
                else:
                    retired.append(witness.name)
    except _Unfit as unfit:
        return NoteJudgement(head, unfit.rule, str(unfit), log_key, tuple(cosigners.values()), tuple(retired))
    rule, detail = None, ""
    if not policy.is_quorum(cosigners):
        rule = NoteRule.QUORUM_MISSING
        detail = f"asked for {policy.threshold}; signed by {', '.join(cosigners) or 'nobody'}"
    return NoteJudgement(head, rule, detail, log_key, tuple(cosigners.values()), tuple(retired))


def _log_key(note: Note, head: Checkpoint, policy: Policy) -> VerifierKey:
    logs = [log for log in policy.logs if log.key.name == head.origin]
    if not logs:
        raise _Unfit(NoteRule.LOG_UNKNOWN, f"the policy knows no log {head.origin}")
    signed = [log for log in logs if _has_signed(note, log)]
    for log in signed:
        if covers(log.bounds, head.origin, head.size):
            return log.key
    if signed:
        which = signed[0].key.key_id.hex()
        raise _Unfit(NoteRule.LOG_KEY_RETIRED, f"the key {which} of {head.origin} does not count at size {head.size}")
    raise _Unfit(NoteRule.LOG_SIGNATURE_MISSING, f"no known key of {head.origin} has signed")


def _has_signed(note: Note, log: Log) -> bool:
    own = [signature for signature in note.signatures if signature.is_of(log.key)]
    if not all(is_signed(note.text, signature, log.key) for signature in own):
        raise _Unfit(NoteRule.LOG_SIGNATURE_FALSE, f"the signature of {log.key.name} does not hold")
    return bool(own)


def _cosigner(note: Note, signature: Signature, witness: Witness) -> Cosigner:
    time = cosigned_at(note.text, signature, witness.key)
    if time is None:
        raise _Unfit(NoteRule.COSIGNATURE_FALSE, f"the cosignature of {witness.name} does not hold")
    return Cosigner(witness.name, witness.key, time)
