"""The demo's checks of tournaments: every decision again, every draw, every chip, from the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self
from uuid import UUID, uuid5

from msgspec import Struct

from diwan.cli.demo.checks import Result
from diwan.client import AccountName, DiwanClient
from diwan.client.tournaments import Standing, TournamentView
from diwan.core.log import LoggedEvent
from diwan.core.tournament.events import EntryAccepted, Payment, PaymentDue, PaymentSettled, TournamentEvent
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.payouts import shared
from diwan.core.tournament.state import TournamentState
from diwan.verifier.tournament import TournamentReport, verify_tournament
from diwan.wire.events import decode, is_tournament_event
from diwan.wire.stored import logged_event


class Line(Struct, frozen=True):
    """A line of the pool's statement: what came in or, negative, went out."""

    transfer_id: str
    amount: int
    code: str


class Played(Struct):
    """A tournament as it was read back; none of it is believed without a check."""

    tournament_id: str
    log: list[LoggedEvent]
    pool: list[Line]
    pool_balance: int
    standings: list[Standing]
    view: TournamentView
    views: list[TournamentView]
    """What was told while it was played."""
    report: TournamentReport | None = None

    @classmethod
    async def read(cls, client: DiwanClient, tournament_id: str, views: Sequence[TournamentView]) -> Self:
        """Read everything that the checks look at."""
        pool = AccountName("pool", tournament_id)
        return cls(
            tournament_id,
            [logged_event(each) async for each in client.tournaments.log(tournament_id)],
            [Line(each.transfer_id, each.amount, each.code) async for each in client.wallet.entries(name=pool)],
            (await client.wallet.get_account(name=pool)).balance,
            [each async for each in client.tournaments.standings(tournament_id)],
            (await client.tournaments.get(tournament_id)).tournament,
            list(views),
        )

    def places(self) -> Iterator[str]:
        """Yield who was paid what."""
        paid = [each for each in self.standings if each.prize]
        entries = f"{self.view.entries} entries, pool {sum(self.view.prizes)}"
        times = f", multiplier {self.view.multiplier}x" if self.view.multiplier else ""
        yield f"  {self.view.name}: {entries}{times}"
        for standing in paid:
            yield f"      {standing.place}. {standing.player}  {standing.prize}"

    def events(self) -> list[TournamentEvent]:
        """Return the log's events."""
        found = [decode(each.type_id, each.schema_v, each.body).event for each in self.log]
        return [each for each in found if is_tournament_event(each)]


def check_tournaments(played: Sequence[Played]) -> list[Result]:
    """Return the checks of some tournaments that are over."""
    for one in played:
        stream_id = UUID(one.tournament_id).bytes
        one.report = verify_tournament(stream_id, one.log)
    return [_decisions(played), _draws(played), _replay(played), _prizes(played), _ledger(played)]


def _decisions(played: Sequence[Played]) -> Result:
    name = "every decision of the floor made again from its log"
    for one in played:
        report = one.report
        if report is None or not report.is_verified:
            what = "" if report is None else f"{report.rule}: expected {report.expected}, found {report.found}"
            version = None if report is None else report.at_version
            return Result(name, holds=False, detail=what[:400], at_fault=f"tournament {one.tournament_id} at {version}")
    commands = sum(one.report.commands for one in played if one.report is not None)
    return Result(name, holds=commands > 0, detail=f"{commands} decisions of {len(played)} tournaments")


def _draws(played: Sequence[Played]) -> Result:
    """Deciding again draws again, with the secrets that the log shows and had committed to: seats, multiplier, moves."""
    draws = sum(one.report.draws for one in played if one.report is not None)
    name = "every draw recomputed from the secret committed to"
    lacking = next((one for one in played if one.report is None or not one.report.draws), None)
    where = "" if lacking is None else f"tournament {lacking.tournament_id}"
    return Result(name, lacking is None and draws > 0, f"{draws} draws", where)


def _replay(played: Sequence[Played]) -> Result:
    """What was told live, at every version that a view was told of, is what the log folds to."""
    name, compared = "replay of each log equals what was told live", 0
    for one in played:
        told = {view.version: view for view in [*one.views, one.view]}
        state: TournamentState | None = None
        for event in one.events():
            state = evolve(state, event)
            view = told.get(state.version)
            if view is None:
                continue
            compared += 1
            if (fault := _difference(view, state)) is not None:
                return Result(name, holds=False, detail=fault, at_fault=f"tournament {one.tournament_id}")
        if state is None or not state.is_over or state.version != one.view.version:
            at = None if state is None else state.version
            detail = f"the log ends at {at}, the service at {one.view.version}"
            return Result(name, holds=False, detail=detail, at_fault=f"tournament {one.tournament_id}")
    return Result(name, holds=compared > 0, detail=f"{compared} views of {len(played)} tournaments")


def _difference(view: TournamentView, state: TournamentState) -> str | None:
    pairs = (
        ("phase", view.phase, state.phase),
        ("entries", view.entries, state.accepted),
        ("players left", view.players_left, state.left),
        ("tables", view.tables, len(state.in_play)),
        ("chips in play", view.chips_in_play, state.chips_in_play),
        ("level", view.level.level_no, state.level_no),
        ("prizes", tuple(view.prizes), state.prizes or ()),
        ("winner", view.winner, state.winner),
    )
    return next((f"{what} told {told}, replayed {folded}" for what, told, folded in pairs if told != folded), None)


def _prizes(played: Sequence[Played]) -> Result:
    """Prizes follow from the places: computed here from who went out when, and from the final list of prizes."""
    name, count = "prizes paid are those of the places, exact to the chip", 0
    for one in played:
        report = one.report
        if report is None or report.state is None:
            continue
        due = {key: payment.amount for key, payment in _settled(one.events()).items() if payment.code == "prize"}
        expected = expected_prizes(report.state)
        if due != expected:
            detail = f"expected {expected}, found {due}"
            return Result(name, holds=False, detail=detail, at_fault=f"tournament {one.tournament_id}")
        count += len(due)
    return Result(name, holds=count > 0, detail=f"{count} prizes")


def expected_prizes(state: TournamentState) -> dict[str, int]:
    """Return what each place is due, by the payment's key, from the order of going out alone."""
    prizes, expected = state.prizes or (), {}
    groups: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for entry in state.entries.values():
        if entry.status == "out" and entry.out_first:
            first, last = state.accepted + 1 - entry.out_last, state.accepted + 1 - entry.out_first
            groups.setdefault((first, last), []).append((entry.entry_no, entry.player))
    if state.winner:
        groups[1, 1] = [(0, state.winner)]
    for (first, last), equals in groups.items():
        if first > len(prizes):
            continue
        for (_, player), amount in zip(sorted(equals), shared(prizes, first, last), strict=True):
            if amount:
                expected[f"prize/{first}/{player}"] = amount
    return expected


def _settled(events: Sequence[TournamentEvent]) -> dict[str, Payment]:
    """Return the payments that the wallet has made, by key."""
    due = {event.payment.key: event.payment for event in events if isinstance(event, PaymentDue)}
    made = {event.key for event in events if isinstance(event, PaymentSettled) and not event.is_refused}
    return {key: payment for key, payment in due.items() if key in made}


def _ledger(played: Sequence[Played]) -> Result:
    """Every line of a pool's statement is a payment of its tournament, each payment is there once, and nothing is left."""
    name, lines = "the pools' statements are the tournaments' payments, and the pools are empty", 0
    for one in played:
        where = f"tournament {one.tournament_id}"
        if one.pool_balance:
            return Result(name, holds=False, detail=f"the pool holds {one.pool_balance}", at_fault=where)
        events = one.events()
        made = {event.key: event for event in events if isinstance(event, PaymentSettled) and not event.is_refused}
        expected = {}
        for key, payment in _settled(events).items():
            attempt = made[key].attempt_no
            named = f"{key}#{attempt}" if attempt else key
            sign = 1 if payment.taker == "pool" else -1
            expected[str(uuid5(UUID(one.tournament_id), named))] = sign * payment.amount
        found = {line.transfer_id: line.amount for line in one.pool}
        if found != expected or len(found) != len(one.pool):
            differing = {key for key in {*found, *expected} if found.get(key) != expected.get(key)}
            detail = f"transfers {sorted(differing)[:3]} of {len(differing)} differ"
            return Result(name, holds=False, detail=detail, at_fault=where)
        if not any(isinstance(event, EntryAccepted) for event in events):
            return Result(name, holds=False, detail="nobody has entered", at_fault=where)
        lines += len(found)
    return Result(name, holds=lines > 0, detail=f"{lines} transfers of {len(played)} pools")
