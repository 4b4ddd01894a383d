"""``diwan demo --tournaments``: a Sit & Go, a Spin and a tournament of four tables, from entries to paid prizes."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from msgspec import Struct
from rich.console import Console

from diwan.chassis.access import Role
from diwan.cli.demo.checks import Result, check_audit, check_copies, check_hands
from diwan.cli.demo.evidence import Evidence
from diwan.cli.demo.floor_checks import Played, check_tournaments
from diwan.cli.demo.gather import everything_applied, gather, until, wallet_totals
from diwan.cli.demo.guest import Guest
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, connect
from diwan.client.fair import EntrySeed
from diwan.core.hand.settings import HandSettings
from diwan.core.tournament.settings import (
    BotTerms,
    Break,
    EntryTerms,
    FloorRules,
    Ladder,
    Level,
    Multiplier,
    TableTerms,
    TournamentConfig,
)

GUEST: Final = "guest"
HOUSE_CHIPS: Final = 10_000_000
PLAY_SECONDS: Final = 110.0
STARTS_IN_MS: Final = 4_000

_LEVEL_MS: Final = 2_000
_HAND: Final = HandSettings(decision_seconds=2)
_TABLES: Final = TableTerms(pause_ms=1, time_bank_seconds=0, time_bank_gain_seconds=0)


def quick_ladder(levels: int = 14, level_ms: int = _LEVEL_MS) -> Ladder:
    """Return blinds that double fast, so that a tournament is over in seconds."""
    steps = tuple(
        [Level(small_blind=10 << number, big_blind=20 << number, duration_ms=level_ms) for number in range(levels)]
    )
    return Ladder(levels=steps)


def sit_and_go() -> TournamentConfig:
    """Return a Sit & Go of six."""
    return TournamentConfig(
        name="Sit & Go",
        kind="sit_and_go",
        hand=_HAND,
        table_size=6,
        players_min=6,
        players_max=6,
        entry=100,
        fee=10,
        starting_stack=1_000,
        ladder=quick_ladder(),
        bots=BotTerms(up_to=5, after_ms=0),
        tables=_TABLES,
        first_hand_ms=0,
    )


def spin() -> TournamentConfig:
    """Return a Spin with the weights of the shipped template, its mean exactly 3."""
    table = ((2, 66_030), (4, 24_860), (6, 8_000), (10, 1_000), (25, 80), (100, 15), (200, 10), (1_000, 5))
    return TournamentConfig(
        name="Spin",
        kind="spin",
        hand=_HAND,
        table_size=3,
        players_min=3,
        players_max=3,
        entry=100,
        starting_stack=500,
        ladder=quick_ladder(),
        multipliers=tuple([Multiplier(times=times, weight=weight) for times, weight in table]),
        bots=BotTerms(up_to=2, after_ms=0),
        tables=_TABLES,
        first_hand_ms=0,
    )


def scheduled(starts_at_ms: int, *, players: int = 24, level_ms: int = _LEVEL_MS) -> TournamentConfig:
    """Return a tournament at tables of six, four of them unless told otherwise, with antes and a break."""
    ladder = quick_ladder(level_ms=level_ms)
    levels = (ladder.levels[0], *[_with_ante(level) for level in ladder.levels[1:]])
    return TournamentConfig(
        name="Evening",
        kind="scheduled",
        hand=_HAND,
        table_size=6,
        players_min=4,
        players_max=players,
        entry=100,
        fee=10,
        starting_stack=1_000,
        ladder=Ladder(levels=levels, breaks=(Break(after_level=2, duration_ms=500),)),
        entries=EntryTerms(starts_at_ms=starts_at_ms),
        floor=FloorRules(hand_clock_ms=500),
        bots=BotTerms(up_to=players, after_ms=3_600_000),
        tables=_TABLES,
        first_hand_ms=0,
    )


def _with_ante(level: Level) -> Level:
    return Level(
        small_blind=level.small_blind,
        big_blind=level.big_blind,
        ante=level.big_blind,
        ante_kind="big_blind",
        duration_ms=level.duration_ms,
    )


class Floor(Struct):
    """The tournaments that are played, with the guest in each."""

    guests: dict[str, Guest]
    seconds: float = 0.0


async def play_and_check(stack: Stack, console: Console) -> bool:
    """Play all three to their ends and check everything; returns whether all of it holds."""
    async with (
        connect(stack.places.services, stack.token("demo", Role.OPERATOR)) as client,
        connect(stack.places.services, stack.token(GUEST, Role.PLAYER)) as guest,
    ):
        began = time.monotonic()
        floor = await open_floor(client, guest)
        await play_out(floor, lambda line: console.print(line, highlight=False))
        console.print(f"\nAll three are played and paid after {time.monotonic() - began:.1f} s. Checking them:")
        played = [await read_back(client, tournament_id, each) for tournament_id, each in floor.guests.items()]
        for one in played:
            for line in one.places():
                console.print(line)
        results = await everything(client, stack, played)
    for result in results:
        _print_result(console, result)
    return all(result.holds for result in results)


async def open_floor(client: DiwanClient, guest: DiwanClient, evening: TournamentConfig | None = None) -> Floor:
    """Announce the tournaments and enter the guest; bots take the other seats."""
    await client.wallet.issue_to_house(HOUSE_CHIPS, reason="what a Spin may draw")
    await guest.wallet.open_account()
    guests: dict[str, Guest] = {}
    # The one that waits for nobody first: registering takes a while where the machine is slow.
    for config in (evening or scheduled(time.time_ns() // 1_000_000 + STARTS_IN_MS), sit_and_go(), spin()):
        made = await client.tournaments.create(config)
        tournament_id = made.tournament.tournament_id

        async def is_open(tournament_id: str = tournament_id) -> bool:
            return (await client.tournaments.get(tournament_id)).tournament.is_open

        await until(f"registration of {config.name} opens", is_open)
        seed = EntrySeed(tournament_id, GUEST)
        await guest.tournaments.register(tournament_id, seed_commitment=seed.commitment)
        guests[tournament_id] = Guest(guest, tournament_id, seed)
    first, *others = guests
    return Floor({each: guests[each] for each in (*others, first)})


async def play_out(floor: Floor, tell: Any, *, seconds: float = PLAY_SECONDS) -> None:
    """Play until every tournament is over; raises what a guest raises, or `TimeoutError`."""
    tasks = [asyncio.create_task(guest.play()) for guest in floor.guests.values()]
    telling = asyncio.create_task(_tell(floor, tell))
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*tasks)
    finally:
        for task in (*tasks, telling):
            task.cancel()
        await asyncio.gather(*tasks, telling, return_exceptions=True)
    tell(_line(floor))


async def _tell(floor: Floor, tell: Any) -> None:
    while True:
        await asyncio.sleep(4.0)
        tell(_line(floor))


def _line(floor: Floor) -> str:
    return "  " + "   ".join(_state_of(guest) for guest in floor.guests.values())


def _state_of(guest: Guest) -> str:
    view = guest.view
    if view is None:
        return "..."
    if view.phase in {"paying", "finished"}:
        return f"{view.name}: {view.phase}"
    return f"{view.name}: {view.players_left} left at {view.tables}, level {view.level.level_no}"


async def read_back(client: DiwanClient, tournament_id: str, guest: Guest | None) -> Played:
    """Read a tournament's log, its pool's statement and how it says that it stands."""
    return await Played.read(client, tournament_id, guest.views if guest is not None else [])


async def everything(client: DiwanClient, stack: Stack, played: list[Played]) -> list[Result]:
    """Return every check: of the tournaments, of all hands at their tables, of ledger, bus and audit."""
    await everything_applied(client)

    async def has_judged() -> bool:
        status = await client.audit.get_status()
        return status.tournaments_verified + status.tournaments_not_verified >= len(played)

    await until("the audit judges every tournament", has_judged)
    judged = (await client.audit.get_status()).tournaments_verified
    evidence = await gather(client, stack, [await wallet_totals(client)])
    checked = await asyncio.to_thread(check_hands, evidence)
    floor = await asyncio.to_thread(check_tournaments, played)
    return [
        *floor,
        *checked.results,
        check_sums(evidence),
        check_copies(evidence),
        check_audit(evidence, checked.hands),
        Result(
            "the independent audit verified every tournament", judged == len(played), f"{judged} tournaments", "audit"
        ),
    ]


def check_sums(evidence: Evidence) -> Result:
    """The ledger adds up, and by its own reconciliation too; no seat of a tournament has an escrow."""
    name = "the ledger sums to zero, and tournament chips never touch it"
    totals = evidence.totals[-1]
    fault = next(
        (
            what
            for what, is_wrong in (
                (f"the accounts sum to {totals.sum}", totals.sum != 0),
                ("a table is set aside", bool(totals.quarantined)),
                (f"{len(totals.balances)} escrows are open", bool(totals.balances)),
                (": ".join(evidence.reconciled[0]) if evidence.reconciled else "", bool(evidence.reconciled)),
            )
            if is_wrong
        ),
        "",
    )
    return Result(name, not fault, fault or "no escrow was opened", "the ledger" if fault else "")


def _print_result(console: Console, result: Result) -> None:
    if result.holds:
        console.print(f"  [green]holds[/green]  {result.name}: {result.detail}", soft_wrap=True)
    else:
        console.print(f"  [bold red]FAULT[/bold red]  {result.name}")
        console.print(f"         {result.at_fault}: {result.detail}", markup=False)
