"""What verification answers, and the fault that ends it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from diwan.core.hand.events import Seat


class Verdict(StrEnum):
    """Everything holds; something does not; or something needed is missing."""

    VERIFIED = "verified"
    NOT_VERIFIED = "not_verified"
    CANNOT_SAY = "cannot_say"


class Rule(StrEnum):
    """Why a log is not verified, or what is missing."""

    # the chain (H1, H2, H8)
    VERSION_GAP = "VERSION_GAP"
    PREV_HASH_DIFFERS = "PREV_HASH_DIFFERS"
    HASH_DIFFERS = "HASH_DIFFERS"
    TIME_RUNS_BACKWARDS = "TIME_RUNS_BACKWARDS"
    MALFORMED = "MALFORMED"
    STREAM_DIFFERS = "STREAM_DIFFERS"
    EPOCH_RUNS_BACKWARDS = "EPOCH_RUNS_BACKWARDS"
    NONCE_MISSING = "NONCE_MISSING"
    UNKNOWN_EVENT = "UNKNOWN_EVENT"
    # the deck (F1, F2, F3, F5)
    SECRET_NOT_COMMITTED = "SECRET_NOT_COMMITTED"  # noqa: S105  (a reason, not a password)
    SECRET_DIFFERS = "SECRET_DIFFERS"  # noqa: S105  (a reason, not a password)
    SECRET_COMMITTED_LATE = "SECRET_COMMITTED_LATE"  # noqa: S105  (a reason, not a password)
    SEEDS_NOT_COMMITTED = "SEEDS_NOT_COMMITTED"
    SEED_DIFFERS = "SEED_DIFFERS"
    ABSENT_DIFFER = "ABSENT_DIFFER"
    REVEAL_FALSE = "REVEAL_FALSE"
    CARD_TWICE = "CARD_TWICE"
    EARLIER_EVENTS_MISSING = "EARLIER_EVENTS_MISSING"
    # the play (F4, H7, H9)
    ACT_REFUSED = "ACT_REFUSED"
    BATCH_DIFFERS = "BATCH_DIFFERS"
    DIGEST_DIFFERS = "DIGEST_DIFFERS"
    BATCH_SPLIT = "BATCH_SPLIT"
    OUT_OF_PLACE = "OUT_OF_PLACE"
    IMPOSSIBLE = "IMPOSSIBLE"
    NOBODY_LEFT = "NOBODY_LEFT"
    CLOCK_AT_ODDS = "CLOCK_AT_ODDS"
    HAND_ID_DIFFERS = "HAND_ID_DIFFERS"
    RULES_UNKNOWN = "RULES_UNKNOWN"
    CARD_NOT_REVEALED = "CARD_NOT_REVEALED"
    BODY_WITHHELD = "BODY_WITHHELD"
    HAND_NOT_FOUND = "HAND_NOT_FOUND"
    HAND_NOT_ENDED = "HAND_NOT_ENDED"
    TOURNAMENT_NOT_ENDED = "TOURNAMENT_NOT_ENDED"
    HAND_NOT_TOLD = "HAND_NOT_TOLD"
    # the file (docs/reference/bundle.md)
    BUNDLE_MALFORMED = "BUNDLE_MALFORMED"
    BUNDLE_UNKNOWN = "BUNDLE_UNKNOWN"
    SUBJECT_DIFFERS = "SUBJECT_DIFFERS"
    PLACE_DIFFERS = "PLACE_DIFFERS"
    LENS_DIFFERS = "LENS_DIFFERS"
    OPENING_DIFFERS = "OPENING_DIFFERS"
    REPORT_DIFFERS = "REPORT_DIFFERS"
    # the register (P7, P8)
    NOT_IN_REGISTER = "NOT_IN_REGISTER"
    FEED_ORDER = "FEED_ORDER"
    CHECKPOINT_MALFORMED = "CHECKPOINT_MALFORMED"
    CHECKPOINT_FORKED = "CHECKPOINT_FORKED"
    CHECKPOINT_INCONSISTENT = "CHECKPOINT_INCONSISTENT"
    CONSISTENCY_MISSING = "CONSISTENCY_MISSING"
    LOG_SIGNATURE_FALSE = "LOG_SIGNATURE_FALSE"
    LOG_KEY_RETIRED = "LOG_KEY_RETIRED"
    COSIGNATURE_FALSE = "COSIGNATURE_FALSE"
    LOG_UNKNOWN = "LOG_UNKNOWN"
    LOG_SIGNATURE_MISSING = "LOG_SIGNATURE_MISSING"
    QUORUM_MISSING = "QUORUM_MISSING"
    KEYS_MISSING = "KEYS_MISSING"
    # the wallet (L1, L10)
    CHIPS_AT_ODDS = "CHIPS_AT_ODDS"
    POSTING_DIFFERS = "POSTING_DIFFERS"
    POSTING_TWICE = "POSTING_TWICE"
    POSTING_WITHOUT_CAUSE = "POSTING_WITHOUT_CAUSE"
    POSTINGS_MISSING = "POSTINGS_MISSING"


_MISSING = frozenset({
    Rule.UNKNOWN_EVENT,
    Rule.EARLIER_EVENTS_MISSING,
    Rule.RULES_UNKNOWN,
    Rule.CARD_NOT_REVEALED,
    Rule.BODY_WITHHELD,
    Rule.HAND_NOT_FOUND,
    Rule.HAND_NOT_ENDED,
    Rule.TOURNAMENT_NOT_ENDED,
    Rule.HAND_NOT_TOLD,
    Rule.BUNDLE_UNKNOWN,
    Rule.CONSISTENCY_MISSING,
    Rule.LOG_UNKNOWN,
    Rule.LOG_SIGNATURE_MISSING,
    Rule.QUORUM_MISSING,
    Rule.KEYS_MISSING,
    Rule.POSTINGS_MISSING,
})  # fmt: skip


class Fault(Exception):  # noqa: N818  (what verification found, not that it failed)
    """The first thing that does not hold, at the version of the event at fault."""

    def __init__(self, rule: Rule, version: int, expected: object, found: object) -> None:
        super().__init__(f"{rule} at version {version}: expected {expected}, found {found}")
        self.rule = rule
        self.version = version
        self.expected = str(expected)
        self.found = str(found)

    @property
    def verdict(self) -> Verdict:
        """Say whether something is wrong or something is missing."""
        return Verdict.CANNOT_SAY if self.rule in _MISSING else Verdict.NOT_VERIFIED


class Report(Struct, frozen=True):
    """What was found about one hand.

    Unless verified, ``at_version`` names the first event at fault, with the rule, what was expected and what was found.
    ``acts`` were decided again, ``reveals`` held against the deck's root. ``contributed`` lists the seats whose seeds
    are in the deck: no more than that is claimed of its fairness. ``secrets`` counts how often a secret was committed
    to for this hand before it began; more than one is no fault, but somebody may ask why. ``unseen`` lists seats of a
    hand of Capsa whose cards nothing turned up: what hangs on these alone was taken at the log's word. ``withheld`` lists
    events of a hand of Capsa that could not be read, and without which the rest was decided.
    """

    verdict: Verdict
    hand_id: str
    hand_no: int = 0
    first_version: int = 0
    last_version: int = 0
    at_version: int | None = None
    rule: Rule | None = None
    expected: str = ""
    found: str = ""
    acts: int = 0
    reveals: int = 0
    contributed: tuple[Seat, ...] = ()
    absent: tuple[Seat, ...] = ()
    secrets: int = 0
    unseen: tuple[Seat, ...] = ()
    withheld: tuple[int, ...] = ()

    @property
    def is_verified(self) -> bool:
        """True where everything that can be checked holds."""
        return self.verdict is Verdict.VERIFIED

    @property
    def detail(self) -> str:
        """Where and why, in one line; empty where verified."""
        if self.rule is None:
            return ""
        return f"{self.rule} at version {self.at_version}: expected {self.expected}, found {self.found}"
