"""Verifies every tournament that is finished: each decision made again, each draw, each payment held against the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

import structlog

from diwan.chassis.database import Connection, Database
from diwan.core.ledger.accounts import BOTS, HOUSE, named_id, player_account, pool_account
from diwan.core.log import TOURNAMENT_FEED, LoggedEvent
from diwan.core.tournament.events import Payment, PaymentDue, PaymentSettled, TournamentFinished
from diwan.verifier.report import Verdict
from diwan.verifier.tournament import TournamentReport, verify_tournament
from diwan.wire.events import decode, is_tournament_event
from services.audit import statements
from services.audit.findings import Finding, record
from services.audit.hands import VERDICT_NUMBERS
from services.audit.keeping import Read
from services.audit.rows import logged_of
from services.audit.working import work_on

IDLE_SECONDS: Final = 1.0
LEDGER_SECONDS: Final = 60.0
"""How long the wallet's feed may be behind the tournament's before a payment counts as missing."""

_log = structlog.get_logger(__name__)

_NOTE: Final = """
insert into tournament (tournament_id, last_version, ended_seq) values ($1, $2, $3) on conflict do nothing
"""
_DUE: Final = """
select tournament_id, last_version, ended_seq, extract(epoch from now() - seen_at)::float8 as age
from tournament where verdict is null order by ended_seq limit 1 offset $1
"""
_POSTED: Final = """
select transfer_id, debit_account, credit_account, amount, code from posted where transfer_id = any($1::text[])
"""
_JUDGE: Final = """
update tournament set verdict = $2, detail = $3, commands = $4, draws = $5
where tournament_id = $1 and verdict is null returning 1
"""

type Transfer = tuple[str, str, int, str]
"""Debit, credit, amount, code."""


class TournamentExaminer:
    """Examines the tournament feed: what does not belong, and which tournaments are finished."""

    def __init__(self, on_finished: Callable[[], None] = lambda: None) -> None:
        self._on_finished = on_finished

    async def examine(self, connection: Connection, events: Sequence[Read]) -> list[Finding]:
        """Return what does not belong; note what is to be verified."""
        findings = []
        for one in events:
            stored = one.kept.event
            if one.event is not None and not is_tournament_event(one.event):
                detail = f"expected an event of a tournament, found {type(one.event).__name__}"
                findings.append(
                    Finding(
                        TOURNAMENT_FEED, one.kept.global_seq, stored.stream_id, stored.version, "OUT_OF_PLACE", detail
                    )
                )
            if isinstance(one.event, TournamentFinished):
                await connection.execute(_NOTE, stored.stream_id, stored.version, one.kept.global_seq)
                self._on_finished()
        return findings


class TournamentVerifier:
    """Works off the tournaments that are due. What is due stands in the database, so nothing is forgotten by a crash."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due = asyncio.Event()

    def wake(self) -> None:
        """Look again: a tournament is finished."""
        self._due.set()

    async def run(self) -> None:
        """Verify tournaments as they become due, for ever."""
        await work_on(self._verify_all, "verifying", idle_seconds=IDLE_SECONDS, woken=self._due)

    async def _verify_all(self) -> None:
        waiting = 0
        while (is_judged := await self.verify_one(waiting)) is not None:
            waiting += not is_judged

    async def verify_one(self, offset: int = 0) -> bool | None:
        """Verify a tournament that is due; False where the ledger is not known far enough yet, None where none is due."""
        due = await self._database.run(lambda c: c.fetchrow(_DUE, offset))
        if due is None:
            return None
        tournament_id = due["tournament_id"]
        rows = await self._events(tournament_id, due["last_version"])
        report, payments = await asyncio.to_thread(_verified, tournament_id, rows)
        posted = {
            row["transfer_id"]: (row["debit_account"], row["credit_account"], row["amount"], row["code"])
            for row in await self._database.run(lambda c: c.fetch(_POSTED, list(payments)))
        }
        if payments.keys() - posted.keys() and due["age"] < LEDGER_SECONDS:
            return False
        await self._database.run(lambda c: _keep(c, due, report, _faults(payments, posted)))
        return True

    async def _events(self, tournament_id: UUID, last_version: int) -> list[Any]:
        """Read a tournament's kept events in pages, each within the time that a unit has."""
        rows: list[Any] = []
        for first in range(1, last_version + 1, 2_000):
            page = first, min(first + 1_999, last_version)
            rows += await self._database.run(lambda c, page=page: c.fetch(statements.OF_STREAM, tournament_id, *page))  # type: ignore[misc]
        return rows


def _verified(tournament_id: UUID, rows: list[Any]) -> tuple[TournamentReport, dict[str, Transfer]]:
    """Return what verification says, and the transfers that the log says were made."""
    events = [logged_of(row) for row in rows]
    report = verify_tournament(tournament_id.bytes, events)
    return report, transfers_of(str(tournament_id), events) if report.is_verified else {}


def transfers_of(tournament_id: str, events: Sequence[LoggedEvent]) -> dict[str, Transfer]:
    """Return the transfers that a verified log says were made, by id."""
    due: dict[str, Payment] = {}
    made: dict[str, Transfer] = {}
    for logged in events:
        event = decode(logged.type_id, logged.schema_v, logged.body).event
        if isinstance(event, PaymentDue):
            due[event.payment.key] = event.payment
        elif isinstance(event, PaymentSettled) and not event.is_refused:
            payment = due[event.key]
            name = f"{event.key}#{event.attempt_no}" if event.attempt_no else event.key
            accounts = [_account(tournament_id, party, payment.player) for party in (payment.giver, payment.taker)]
            made[named_id(tournament_id, name)] = (accounts[0], accounts[1], payment.amount, payment.code)
    return made


def _account(tournament_id: str, party: str, player: str) -> str:
    match party:
        case "player":
            return player_account(player).account_id
        case "pool":
            return pool_account(tournament_id).account_id
        case "bots":
            return BOTS.account_id
        case _:
            return HOUSE.account_id


def _faults(expected: dict[str, Transfer], posted: dict[str, Transfer]) -> list[tuple[str, str]]:
    """Return kind and detail of every payment that the ledger does not have as the log says."""
    faults = []
    for transfer_id, transfer in expected.items():
        found = posted.get(transfer_id)
        if found is None:
            faults.append(("TRANSFER_MISSING", f"transfer {transfer_id}: {transfer[3]} of {transfer[2]} is not posted"))
        elif found != transfer:
            faults.append(("TRANSFER_DIFFERS", f"transfer {transfer_id}: expected {transfer}, found {found}"))
    return faults


async def _keep(connection: Connection, due: Any, report: TournamentReport, faults: list[tuple[str, str]]) -> None:
    """Keep the verdict once, and its findings with it."""
    await connection.execute(statements.ONE_AT_A_TIME)
    verdict = Verdict.NOT_VERIFIED if faults else report.verdict
    detail = faults[0][1] if faults else f"expected {report.expected}, found {report.found}" if report.rule else ""
    judged = (due["tournament_id"], VERDICT_NUMBERS[verdict], detail[:2_000], report.commands, report.draws)
    if not await connection.fetchval(_JUDGE, *judged):
        return
    at_version = report.at_version or due["last_version"]
    seq = await connection.fetchval(statements.SEQ_OF, TOURNAMENT_FEED, due["tournament_id"], at_version)
    where = (TOURNAMENT_FEED, seq or due["ended_seq"], due["tournament_id"], at_version)
    found = [(str(report.rule), detail)] if report.rule is not None else faults
    await record(connection, [Finding(*where, kind, text) for kind, text in found])
