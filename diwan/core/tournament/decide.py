"""What a tournament makes of a command: the act first, then everything that follows from it until nothing does.

Rules: TR-1 to TR-5, F1 to F3, B5, and practice by `docs/reference/tournaments.md`.
"""

from __future__ import annotations

from diwan.core.decider import Rejected
from diwan.core.tournament import (
    balancing,
    breaking,
    handforhand,
    paying,
    ranking,
    registration,
    timing,
    trouble,
)
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.checking import checked_to_announce
from diwan.core.tournament.commands import (
    BuyExtra,
    Cancel,
    Chance,
    CreateTournament,
    Enter,
    OpenSeed,
    Pause,
    Remove,
    ReportChipsAdded,
    ReportClock,
    ReportHand,
    ReportPayment,
    ReportReleased,
    ReportRunoutHeld,
    ReportSeated,
    ReportStartMode,
    ReportTableGone,
    ReportTableReady,
    Resume,
    Tick,
    TournamentCommand,
    Withdraw,
)
from diwan.core.tournament.events import (
    Payment,
    PlayBegan,
    TournamentCancelled,
    TournamentCreated,
    TournamentEvent,
)
from diwan.core.tournament.evolve import evolve
from diwan.core.tournament.reports import report
from diwan.core.tournament.state import TournamentState

type Step = tuple[tuple[TournamentEvent, ...], TournamentState]


def decide(
    state: TournamentState | None, command: TournamentCommand, chance: Chance | None = None
) -> tuple[TournamentEvent, ...]:
    """Return the events of a command, none where it tells nothing new; raises `Rejected`, and nothing has happened.

    ``chance`` is the secret of the coming draw: batches that draw hold ``Drawn``, all others can be decided without.
    """
    return advance(state, command, chance)[0]


def advance(state: TournamentState | None, command: TournamentCommand, chance: Chance | None = None) -> Step:
    """Return the events of `decide` together with the tournament after them, which is that of folding them."""
    if state is None:
        if not isinstance(command, CreateTournament):
            raise Rejected("TOURNAMENT_NOT_FOUND")
        return _created(command, chance)
    batch = Batch(state, chance, command.now_ms)
    match command:
        case CreateTournament():
            raise Rejected("UNEXPECTED", why="a tournament is created once")
        case Tick():
            paying.alarm(batch)
        case Enter():
            registration.enter(batch, command)
        case OpenSeed():
            registration.open_seed(batch, command)
        case Withdraw():
            registration.withdraw(batch, command)
        case BuyExtra():
            registration.buy_extra(batch, command)
        case ReportPayment():
            registration.report_payment(batch, command)
        case Pause():
            trouble.pause(batch, command)
        case Resume():
            trouble.resume(batch, command)
        case Remove():
            trouble.remove(batch, command)
        case Cancel():
            trouble.cancel(batch, command)
        case (
            ReportTableReady()
            | ReportSeated()
            | ReportReleased()
            | ReportStartMode()
            | ReportClock()
            | ReportHand()
            | ReportRunoutHeld()
            | ReportChipsAdded()
            | ReportTableGone()
        ):
            report(batch, command)
    # What was known before gives nothing; time alone speaks only through a tick.
    if batch.length or isinstance(command, Tick):
        _settle(batch)
    return batch.events, batch.state


def _created(command: CreateTournament, chance: Chance | None) -> Step:
    config = checked_to_announce(command.config)
    created = TournamentCreated(command.tournament_id, config, command.commitment, command.created_by, command.now_ms)
    batch = Batch(evolve(None, created), chance, command.now_ms)
    reserve = paying.house_reserve(config)
    paying.due(batch, Payment(paying.RESERVED, "guarantee", "house", "pool", reserve))
    _settle(batch)
    return (created, *batch.events), batch.state


def _settle(batch: Batch) -> None:
    """Let everything follow that follows; each step looks at the tournament as the one before has left it."""
    while True:
        before = batch.length
        _settle_entries(batch)
        if batch.state.phase == "playing":
            _settle_play(batch)
        else:
            batch.touched.clear()
        registration.end_extras(batch)
        paying.finish(batch)
        if batch.length == before and not batch.touched:
            return


def _settle_entries(batch: Batch) -> None:
    registration.open_when_due(batch)
    registration.send_bots_home(batch)
    registration.want_bots(batch)
    _start_when_due(batch)
    if batch.state.phase == "seating":
        _begin_play(batch)


def _start_when_due(batch: Batch) -> None:
    """Start with the last seat, or at the time that was set; with too few it is called off and everything goes back."""
    state = batch.state
    if state.phase != "registering":
        return
    config = state.config
    if state.seeds_until_ms:
        if not state.seeds_missing or batch.now_ms >= state.seeds_until_ms:
            registration.first_draw(batch)
        return
    if config.kind != "scheduled":
        if state.accepted == config.players_max:
            registration.close(batch, "full")
            registration.first_draw(batch)
        return
    if batch.now_ms < config.entries.starts_at_ms:
        return
    if not config.entries.late_levels and not state.is_closed:
        registration.close(batch, "start")
    is_short = state.accepted < config.players_min
    if state.open_entries and (is_short or not config.entries.late_levels):
        return
    if is_short:
        batch.add(TournamentCancelled("too_few", "", "", trouble.BEFORE_PLAY, batch.now_ms))
        trouble.give_everything_back(batch)
        return
    registration.first_draw(batch)


def _begin_play(batch: Batch) -> None:
    """Begin once everybody sits."""
    state = batch.state
    paying.fix_pool(batch)
    if not len(state.moves) and all(state.tables[number].status == "open" for number in state.in_play):
        base = batch.now_ms + state.config.first_hand_ms
        batch.add(PlayBegan(state.clock.clock_no + 1, base, batch.now_ms))


def _settle_play(batch: Batch) -> None:
    ranking.rank_busts(batch)
    trouble.out_removed(batch)
    timing.begin_level(batch)
    registration.close_when_due(batch)
    registration.end_extras(batch)
    paying.fix_pool(batch)
    ranking.win(batch)
    if batch.state.phase != "playing":
        return
    handforhand.begin(batch)
    handforhand.advance(batch)
    # A round that has ended may have brought a break, which the next one has to wait for.
    timing.begin_level(batch)
    breaking.redraw(batch)
    running = batch.state.hand_for_hand
    if running is None or not running.is_playing:
        breaking.draw_broken(batch)
        breaking.order_breaks(batch)
        balancing.order_moves(batch)
    touched, batch.touched = batch.touched, set()
    for table_no in sorted(touched):
        balancing.continue_moves(batch, table_no)
        balancing.halt(batch, table_no)
    balancing.unhalt(batch)
    if batch.touched:
        return
    handforhand.grant(batch)
