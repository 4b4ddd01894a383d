"""What the wallet posted for a hand, held against what the hand's end asks for (L1, L10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from diwan.core.games.capsa.events import CapsaStarted, PairSettled
from diwan.core.hand.events import HandEnded, HandStarted, HandVoided
from diwan.core.ledger.books import Transfer
from diwan.core.ledger.disagreement import Disagreement
from diwan.core.ledger.events import LedgerCommitted, LedgerTransfer
from diwan.core.ledger.requests import LinkedSet
from diwan.core.ledger.seats import Sitting, TableSeats, follow
from diwan.history.entries import Entry, Withheld
from diwan.verifier.report import Fault, Rule

_OF_A_HAND = (HandStarted, CapsaStarted, PairSettled, HandVoided, HandEnded)


class Posted(Struct, frozen=True):
    """A transfer as a commit of the ledger has it; ``version`` is the commit's in the ledger's stream."""

    version: int
    transfer: LedgerTransfer


class Ledger:
    """The commits of the ledger that a bundle has, found by what they are for: a day has as many as it has hands."""

    def __init__(self) -> None:
        self.withheld = 0
        self._by_cause: dict[str, list[Posted]] = {}
        self._by_id: dict[str, list[Posted]] = {}

    def take(self, version: int, commit: LedgerCommitted | None) -> None:
        """Take a commit in; None where its body is withheld."""
        if commit is None:
            self.withheld = self.withheld or version
            return
        for transfer in commit.transfers:
            posted = Posted(version, transfer)
            self._by_cause.setdefault(transfer.cause, []).append(posted)
            self._by_id.setdefault(transfer.transfer_id, []).append(posted)

    def about(self, due: Iterable[Transfer], cause: str) -> list[Posted]:
        """Return what was posted under a cause or any of these ids, each once, in the ledger's order."""
        named = [posted for transfer in due for posted in self._by_id.get(transfer.transfer_id, ())]
        others = [posted for posted in named if posted.transfer.cause != cause]
        return sorted([*self._by_cause.get(cause, ()), *others], key=lambda posted: posted.version)


class Postings(Struct, frozen=True):
    """What was found of a hand's postings: how many hold, and the fault, if any, at the version of the ledger's stream.

    ``version`` 0 stands for no event of the ledger: then something is missing.
    """

    count: int = 0
    fault: Fault | None = None


def cause_of(table_id: str, version: int) -> str:
    """Return the cause that the ledger names for what follows from a table's event."""
    return f"table/{table_id}/{version}"


def due_transfers(table_id: str, entries: Iterable[Entry], *, is_match: bool) -> tuple[Transfer, ...]:
    """Return the transfers that a hand's end asks for; ``entries`` are its events, start and end included.

    Raises `Fault` where the hand's own events are at odds about chips.
    """
    table: TableSeats | None = None
    due: list[Transfer] = []
    for entry in entries:
        event = entry.event
        if not isinstance(event, _OF_A_HAND) or isinstance(event, Withheld):
            continue
        if isinstance(event, HandStarted | CapsaStarted):
            table = _table_before(table_id, event, is_match=is_match)
        if table is None:
            continue
        try:
            table, requests = follow(replace(table, version=entry.version - 1), event, entry.version)
        except (Disagreement, ValueError) as disagreement:
            raise Fault(Rule.CHIPS_AT_ODDS, entry.version, "chips that add up", disagreement) from disagreement
        due += [transfer for one in requests if isinstance(one, LinkedSet) for transfer in one.transfers]
    return tuple(due)


def _table_before(table_id: str, started: HandStarted | CapsaStarted, *, is_match: bool) -> TableSeats:
    """Return the table as the hand's beginning says it was: it names each sitting with its stack."""
    sittings = tuple(Sitting(one.sitting, one.seat, one.player, one.is_bot, one.stack) for one in started.seats)
    carried = 0 if isinstance(started, CapsaStarted) else started.carried
    return TableSeats(table_id, 0, sittings, carried=carried, is_match=is_match)


def check_postings(due: Sequence[Transfer], cause: str, ledger: Ledger) -> Postings:
    """Hold the ledger's commits against what a hand asks for: each transfer once, as asked, and nothing else for it."""
    wanted = {transfer.transfer_id: transfer for transfer in due}
    found: set[str] = set()
    place = 0
    for posted in ledger.about(due, cause):
        place = posted.version
        fault = _fault(wanted.get(posted.transfer.transfer_id), posted.transfer, found, place)
        if fault is not None:
            return Postings(len(found), fault)
        found.add(posted.transfer.transfer_id)
    missing = [transfer for transfer in due if transfer.transfer_id not in found]
    if not missing:
        return Postings(len(found))
    if found:
        # They are posted all or none, by one event: where some stand the others are left out.
        return Postings(len(found), Fault(Rule.POSTING_DIFFERS, place, _text(missing[0]), "nothing"))
    if ledger.withheld:
        return Postings(0, Fault(Rule.BODY_WITHHELD, ledger.withheld, "the ledger's event", "its hash alone"))
    return Postings(0, Fault(Rule.POSTINGS_MISSING, 0, f"{len(due)} transfers for {cause}", "no event that posts them"))


def _fault(wanted: Transfer | None, posted: LedgerTransfer, found: set[str], version: int) -> Fault | None:
    if wanted is None:
        return Fault(Rule.POSTING_WITHOUT_CAUSE, version, "nothing else for this hand", _text(posted))
    if posted.transfer_id in found:
        return Fault(Rule.POSTING_TWICE, version, f"transfer {posted.transfer_id} once", "a second one")
    if _content(wanted) != _content(posted) or posted.hold_id or posted.reverses:
        return Fault(Rule.POSTING_DIFFERS, version, _text(wanted), _text(posted))
    return None


def _content(one: Transfer | LedgerTransfer) -> tuple[object, ...]:
    return one.transfer_id, one.debit_account, one.credit_account, one.amount, one.code, one.cause


def _text(one: Transfer | LedgerTransfer) -> str:
    return (
        f"transfer {one.transfer_id}: {one.code} of {one.amount} from {one.debit_account} to {one.credit_account},"
        f" for {one.cause}"
    )
