"""Asking the ledger and reading its books, with every trouble told as a refusal."""

from collections.abc import Awaitable, Callable

from google.protobuf.message import Message

from diwan.chassis.calls import Call
from diwan.chassis.database import DATABASE_TROUBLE, Connection, Database, is_own_fault
from diwan.chassis.store import Overloaded, UnknownOutcome
from diwan.core.decider import Rejected
from diwan.core.ledger.accounts import NAMESPACE, named_id
from diwan.core.ledger.requests import Request, Verdict
from services.wallet.books import Done
from services.wallet.ledger import Ledger, TooLarge, Unavailable
from services.wallet.works import EVENT_BYTES_MAX, Remembered


class Asking:
    """What a servicer asks and reads through."""

    def __init__(self, ledger: Ledger, database: Database) -> None:
        self._ledger = ledger
        self._database = database

    async def ask(self, request: Request, remembered: Remembered | None = None, **facts: object) -> Done:
        """Return what became of a request that stands now; raises `Rejected` with the reason and facts if it does not."""
        try:
            done = await self._ledger.ask(request, remembered)
        except TooLarge as error:
            raise Rejected("MESSAGE_TOO_LARGE", bytes=error.size, max=EVENT_BYTES_MAX) from None
        except Overloaded:
            raise Rejected("SERVER_BUSY") from None
        except Unavailable:
            raise Rejected("SERVICE_UNAVAILABLE") from None
        except UnknownOutcome:
            raise Rejected("UNKNOWN_OUTCOME") from None
        if done.is_conflict:
            raise Rejected("REQUEST_ID_CONFLICT")
        # Of a linked set the one that failed tells why; the others failed with it.
        refused = [verdict for verdict in done.outcome.verdicts if not verdict.result.is_posted]
        own = [verdict for verdict in refused if verdict.result != "linked_failed"]
        for verdict in own or refused:
            raise _refusal(verdict, facts)
        return done

    async def read[T](self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Return what is read of the books; raises `Rejected` while the database cannot be reached."""
        try:
            return await self._database.run(work)
        except DATABASE_TROUBLE as error:
            if is_own_fault(error):
                raise
            raise Rejected("SERVICE_UNAVAILABLE") from None


def remembered(call: Call, request: Message, request_id: str) -> Remembered:
    """Return by what a request with an id of its own is known again; ids are their caller's own."""
    caller = f"{call.caller.role}/{call.caller.subject}"
    command_id = named_id(NAMESPACE, f"request/{caller}/{request_id}")
    return Remembered(command_id, caller, call.request_hash(request))


def _refusal(verdict: Verdict, facts: dict[str, object]) -> Rejected:
    facts["transfer_id"] = verdict.transfer_id
    if verdict.first_reason:
        facts["first_reason"] = verdict.first_reason
    if verdict.next_at_ms:
        facts["next_at_ms"] = verdict.next_at_ms
    return Rejected(verdict.result.name, **facts)
