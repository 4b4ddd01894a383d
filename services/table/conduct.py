"""What a table does by itself: clocks, seeds, the next hand, and going on after an outage (CL-2, F1, F2, H7, H9, O7)."""

from typing import TYPE_CHECKING, Final

import structlog

from diwan.chassis.store import Conflict, Lost, Overloaded
from diwan.core.hand.bank import bank_after_clock
from diwan.core.hand.commands import MoveDeadline, ReleaseRunout, VoidHand
from diwan.core.hand.state import NOBODY, LiveHand
from diwan.core.limits import OUTAGE_GRACE_MS
from diwan.core.table.commands import CloseTable, CommitSecret, CommitSeeds, RecordRefusals, StandUp, StartNextHand
from diwan.core.table.games import plan_next_hand
from diwan.core.table.hosting.commands import ExpirePause
from diwan.core.table.planning import NextHand
from diwan.core.table.playing import OpenClock, expiry, is_well_begun, live_of, open_clock, whole_time_ms
from diwan.core.table.state import TableState
from diwan.core.table.tournament.planning import opens_at_ms
from diwan.core.table.waiting.commands import ExpireHold
from services.table.cards import DeckLost
from services.table.ids import hand_id_of
from services.table.seeds import COMMIT_MS, FIRST_HAND_MS

if TYPE_CHECKING:
    from services.table.actor import Actor

GRACE_MS: Final = OUTAGE_GRACE_MS
"""The least that an open decision has left after an outage of ours (O7)."""

FAULTS_MAX: Final = 3
"""A hand whose clock fails so often running is voided, chips back: no table hangs for ever (H9)."""

HOLD_GRACE_MS: Final = 10_000
"""The least that a seat is kept for after an outage of ours."""

SETTINGS_NOTICE_MS: Final = 10_000
"""So long before the first hand by other settings whoever sits there can see them and leave (TB-3)."""

UNUSED_MS: Final = 31 * 24 * 3_600_000
"""A private table at which nobody has sat for so long is closed; no invitation to it can be open by then."""

_RETRY_MS: Final = 1_000

_log = structlog.get_logger(__name__)


class Conduct:
    """The table's own initiative. Called only by the actor, between requests."""

    def __init__(self, actor: "Actor") -> None:
        self._actor = actor
        self._ready_since_ms: int | None = None
        self._faults = 0
        self._not_before_ms = 0
        self._refusals_told_of = 0
        self._holds_from_ms = 0

    async def _give_up_seats(self, state: TableState, now: int) -> None:
        """Stand up whoever did not come back in time, with the chips, after the hand (G2)."""
        presence = self._actor.presence
        for player in presence.given_up(state, now):
            seat = self._actor.state.seat_of(player)
            # Of a match or tournament nobody takes a seat home: the clock plays on (CL-4).
            is_cash = self._actor.state.match is None and state.config.tournament is None
            if seat is not None and seat.leaving is None and is_cash:
                await self._actor.by_itself(StandUp(player, "disconnected", now))
            presence.forget(player)

    # ---- the line for a seat ----------------------------------------------------------------------------------------

    def _hold_due_ms(self, state: TableState) -> int | None:
        """Return when the first seat has been kept for long enough; never while nobody could have come for it (O7)."""
        untils = [waiter.until_ms for waiter in state.line.waiters if waiter.seat is not None]
        return max(min(untils), self._holds_from_ms) if untils else None

    async def _expire_hold(self, state: TableState, now: int) -> None:
        first = min((each for each in state.line.waiters if each.seat is not None), key=lambda each: each.until_ms)
        await self._actor.by_itself(ExpireHold(first.player, now))

    # ---- after a claim ----------------------------------------------------------------------------------------------

    async def resume(self) -> None:
        """Go on with what the log holds: the deck back from the vault, the open decision with its time back (O7, H9)."""
        actor = self._actor
        actor.stalled_ms = 0
        self._holds_from_ms = actor.clock.now_ms() + HOLD_GRACE_MS
        self._ready_since_ms = None
        if not actor.state.is_running:
            return
        if not actor.cards.may_go_on:
            await self._interrupted(actor.clock.now_ms())
            return
        clock = open_clock(actor.state.hand)
        if clock is not None:
            now = actor.clock.now_ms()
            left = max(clock.deadline_ms - actor.silent_since_ms, GRACE_MS)
            await self._move_deadline(clock, now + left, now)

    async def _interrupted(self, now: int) -> None:
        """Void a hand whose deck is lost: all chips back (H9)."""
        actor = self._actor
        _log.error("hand_interrupted", table=str(actor.table_id), hand=actor.state.hand_id)
        await actor.by_itself(VoidHand("interrupted", actor.state.version, now))

    async def give_time_back(self) -> None:
        """Move the open decision's deadline by as long as we were away; where nobody decides, nothing was lost."""
        actor = self._actor
        stalled = actor.stalled_ms
        clock, now = open_clock(actor.state.hand), actor.clock.now_ms()
        if clock is not None:
            await self._move_deadline(clock, max(clock.deadline_ms + stalled, now + GRACE_MS), now)
        # Only now: what could not be stored is given back later. What the append itself took counts anew.
        actor.stalled_ms -= stalled

    async def _move_deadline(self, clock: OpenClock, deadline_ms: int, now: int) -> None:
        """Move the one clock that runs: the turn's, that of a response window (NK-40), that of setting or declaring.

        Nobody gets more than the whole time of the decision: the log can show no more (docs/auditing/trust.md).
        """
        actor = self._actor
        deadline_ms = min(deadline_ms, now + max(whole_time_ms(actor.state.hand), GRACE_MS))
        if deadline_ms > clock.deadline_ms:
            await actor.by_itself(MoveDeadline(clock.turn, deadline_ms, "outage", actor.state.version, now))

    # ---- when something is due --------------------------------------------------------------------------------------

    def due_ms(self) -> int | None:
        """Return when `act` has something to do next, None for never unless something happens."""
        state = self._actor.state
        if state.is_closed:
            return None
        wanted = (
            self._wanted_ms(state),
            self._hold_due_ms(state),
            _pause_due_ms(state),
            _unused_due_ms(state),
            self._actor.presence.given_up_ms(state),
        )
        dues = [each for each in wanted if each is not None]
        return max(min(dues), self._not_before_ms) if dues else None

    def _wanted_ms(self, state: TableState) -> int | None:
        if state.is_running:
            clock = open_clock(state.hand)
            if self._is_stalled(clock) or not self._actor.cards.may_go_on:
                return 0
            seeds = self._seeds_due_ms(state)
            if clock is None and (held_until_ms := _held_until_ms(state)):
                return held_until_ms if seeds is None else min(held_until_ms, seeds)
            if clock is None:
                return seeds
            return clock.deadline_ms if seeds is None else min(clock.deadline_ms, seeds)
        return self._between_due_ms(state)

    def is_bank_due(self) -> bool:
        """Say whether the decision clock is over and the seat's time bank should run already."""
        state = self._actor.state
        live = state.hand
        if not state.is_running or not isinstance(live, LiveHand) or live.actor == NOBODY or live.window is not None:
            return False
        now = self._actor.clock.now_ms()
        return now > live.deadline_ms and bank_after_clock(live, live.actor, now) is not None

    async def act(self) -> None:
        """Do the first thing that is due; the actor asks again afterwards."""
        now = self._actor.clock.now_ms()
        due = self.due_ms()
        if due is None or now < due:
            return
        try:
            await self._act(now)
        except (Lost, Overloaded):
            raise
        except Conflict as conflict:
            raise Lost(str(conflict)) from None
        except DeckLost as lost:
            if self._actor.state.is_running and not self._actor.cards.may_go_on:
                # The running hand's, found out as a card was to be shown: voiding it is due from now on.
                return
            _log.error("secret_lost", table=str(self._actor.table_id), why=str(lost))
            await self._actor.by_itself(CloseTable("table", now))
        except Exception as error:
            # The vault or the store may be away; a fault of ours must not hang the table either.
            await self._failed(now, error)
        else:
            self._faults = 0

    async def _act(self, now: int) -> None:
        actor, state = self._actor, self._actor.state
        wanted = self._wanted_ms(state)
        if wanted is None or now < wanted:
            if (held := self._hold_due_ms(state)) is not None and now >= held:
                await self._expire_hold(state, now)
            elif (paused := _pause_due_ms(state)) is not None and now >= paused:
                await actor.by_itself(ExpirePause(now))
            elif (unused := _unused_due_ms(state)) is not None and now >= unused:
                await actor.by_itself(CloseTable("table", now))
            else:
                await self._give_up_seats(state, now)
            return
        if state.is_running and not actor.cards.may_go_on:
            await self._interrupted(now)
            return
        if state.is_running:
            clock = open_clock(state.hand)
            expire = expiry(state.hand, state.version, now)
            if self._is_stalled(clock):
                await self.give_time_back()
            elif clock is not None and expire is not None and now >= clock.deadline_ms:
                await actor.by_itself(expire)
            elif (held_until_ms := _held_until_ms(state)) and now >= held_until_ms:
                await actor.by_itself(ReleaseRunout("", state.hand_no, state.version, now, is_by_clock=True))
            else:
                await self._commit_seeds(state, now)
            return
        await self._between_hands(state, now)

    async def _failed(self, now: int, error: Exception) -> None:
        """Try again slower; a hand in which it goes on failing is given up, with all chips back (H9)."""
        actor = self._actor
        self._faults += 1
        self._not_before_ms = now + _RETRY_MS
        _log.error("conduct_failed", table=str(actor.table_id), error=repr(error), faults=self._faults)
        if self._faults >= FAULTS_MAX and actor.state.is_running:
            await actor.by_itself(VoidHand("interrupted", actor.state.version, now))
            self._faults = 0

    def _is_stalled(self, clock: OpenClock | None) -> bool:
        return self._actor.stalled_ms > 0 and clock is not None

    # ---- between hands ----------------------------------------------------------------------------------------------

    def _has_refusals_to_tell(self, state: TableState) -> bool:
        """Once a hand: what is refused between hands is told after the next, else asking nonsense would fill the log."""
        return bool(self._actor.refusals) and state.hand_no > self._refusals_told_of

    def _between_due_ms(self, state: TableState) -> int | None:
        if self._has_refusals_to_tell(state):
            return 0
        if _lacks_secret(state):
            return 0
        now = self._actor.clock.now_ms()
        plan = plan_next_hand(state, now)
        if plan is None:
            self._ready_since_ms = None
            # A break of a tournament ends by itself; until then there is nothing to do.
            return opens if (opens := opens_at_ms(state, now) or 0) > now else None
        if self._ready_since_ms is None:
            self._ready_since_ms = now
        start = max(
            state.hand_ended_at_ms + state.config.pause_ms if state.hand_no else 0,
            self._seeds_awaited_ms(plan),
            _seen_ms(state),
        )
        seeds = self._seeds_due_ms(state)
        return start if seeds is None else min(start, seeds)

    async def _between_hands(self, state: TableState, now: int) -> None:
        actor = self._actor
        if self._has_refusals_to_tell(state):
            await actor.by_itself(RecordRefusals(state.hand_no, actor.refusals.counts(), now))
            actor.refusals.forget()
            self._refusals_told_of = state.hand_no
        elif _lacks_secret(state):
            commitment = await actor.cards.commit(state.hand_no + 1, actor.epoch)
            await actor.by_itself(CommitSecret(commitment, now))
        elif (due := self._seeds_due_ms(state)) is not None and now >= due:
            await self._commit_seeds(state, now)
        elif (plan := plan_next_hand(state, now)) is not None:
            await self._start(state, plan, now)

    async def _start(self, state: TableState, plan: NextHand, now: int) -> None:
        actor, hand_no = self._actor, state.hand_no + 1
        assert state.exchange is not None, "a hand is started after its secret was committed to"  # noqa: S101
        seeds = actor.seeds.opened(state, [seat.seat for seat in plan.seats])
        by_seat = {each.seat: each.seed for each in seeds}
        deck = await actor.cards.prepare(hand_no, state.exchange.secret_commitment, by_seat)
        following = await actor.cards.commit(hand_no + 1, actor.epoch)
        hand_id = hand_id_of(actor.table_id, hand_no)
        drawn = actor.cards.drawn(hand_no, plan, by_seat)
        start = StartNextHand(hand_id, deck.root, seeds, following, now, drawn.button, drawn.carousel)
        await actor.by_itself(start, deck=deck)
        actor.cards.forget_before(hand_no)
        actor.cards.keep_ahead(hand_no + 2, actor.epoch)
        self._ready_since_ms = None

    # ---- seeds ------------------------------------------------------------------------------------------------------

    def _seeds_due_ms(self, state: TableState) -> int | None:
        """Return when commitments are to be closed, None where there are none or they are closed already."""
        exchange, book = state.exchange, self._actor.seeds
        if exchange is None or exchange.commitments is not None or not book.has_commitments(state):
            return None
        if not book.commitments(state):
            return None
        if book.have_committed(state, self._asked_seats(state)):
            return 0
        live = live_of(state.hand)
        if state.is_running and live is not None:
            return 0 if is_well_begun(live) else exchange.opened_at_ms + COMMIT_MS
        since = self._ready_since_ms
        return None if since is None else since + FIRST_HAND_MS // 2

    def _seeds_awaited_ms(self, plan: NextHand) -> int:
        """Return until when a table's first hand waits for seeds; later ones had a whole hand for it (DESIGN 6)."""
        actor, state = self._actor, self._actor.state
        if state.hand_no:
            return 0
        dealt = {seat.seat for seat in plan.seats}
        awaited = dealt & self._asked_seats(state)
        exchange = state.exchange
        if exchange is not None and exchange.commitments is not None:
            awaited &= {each.seat for each in exchange.commitments}
        missing = awaited - {each.seat for each in actor.seeds.opened(state, dealt)}
        return (self._ready_since_ms or 0) + FIRST_HAND_MS if missing else 0

    def _asked_seats(self, state: TableState) -> set[int]:
        """Return the seats that can answer: they play and have a stream open."""
        present = self._actor.hub.players()
        return {
            seat.seat
            for seat in state.seats
            if seat.is_funded and not seat.is_sitting_out and seat.leaving is None and seat.player in present
        }

    async def _commit_seeds(self, state: TableState, now: int) -> None:
        assert state.exchange is not None, "commitments are taken in an exchange"  # noqa: S101
        commitments = self._actor.seeds.commitments(state)
        await self._actor.by_itself(CommitSeeds(state.exchange.hand_no, commitments, now))


def _held_until_ms(state: TableState) -> int:
    """Return until when the rest of the running hand's board is held at most (RP-8), 0 where it is not."""
    hand = state.hand
    return hand.held_until_ms if state.is_running and isinstance(hand, LiveHand) else 0


def _seen_ms(state: TableState) -> int:
    """Return until when changed settings are shown before they are played by, to whoever is there beside the host."""
    hosting = state.hosting
    is_for_others = any(not seat.is_bot and seat.player != hosting.host for seat in state.seats)
    return hosting.settings_changed_at_ms + SETTINGS_NOTICE_MS if is_for_others else 0


def _unused_due_ms(state: TableState) -> int | None:
    """Return when a private table is closed that nobody uses, None where somebody sits there or it is over."""
    if not state.config.is_private or state.seats or state.is_closing:
        return None
    return state.left_at_ms + UNUSED_MS


def _pause_due_ms(state: TableState) -> int | None:
    """Return when a pause ends by itself, None where there is none that does; whatever closes has an end already."""
    until_ms = state.hosting.paused_until_ms
    return until_ms if until_ms and not state.is_closing else None


def _lacks_secret(state: TableState) -> bool:
    is_open = state.exchange is not None and state.exchange.hand_no == state.hand_no + 1
    return not (is_open or state.is_closing)
