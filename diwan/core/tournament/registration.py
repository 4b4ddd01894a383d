"""Who gets in, how and until when: entries by saga with the wallet, late ones, re-entries, withdrawals, bots, extra chips.

An entry is asked for, paid for, then counts (`EntryRequested`, a payment, `EntryAccepted`). What comes in after it can be
used no longer goes back whole.
"""

from __future__ import annotations

from typing import Final

from diwan.core.decider import Rejected
from diwan.core.fairness.material import SEED_BYTES
from diwan.core.ledger.accounts import named_id
from diwan.core.tournament import paying, seating
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.commands import BuyExtra, Enter, OpenSeed, ReportPayment, Withdraw
from diwan.core.tournament.events import (
    BotsWanted,
    CloseCause,
    EntryAccepted,
    EntryEnded,
    EntryKind,
    EntryRequested,
    EntryWithdrawn,
    ExtraEnded,
    ExtraPaid,
    ExtraRequested,
    Payment,
    PaymentDue,
    PaymentSettled,
    RegistrationClosed,
    RegistrationOpened,
    SeedOpened,
    SeedsAsked,
    TournamentCancelled,
)
from diwan.core.tournament.payouts import prizes_of
from diwan.core.tournament.seeds import entrants_digest, entry_seed_commitment, is_commitment
from diwan.core.tournament.state import Entrant, EntryState, TournamentState

BOTS_AGAIN_MS: Final = (60_000, 300_000, 900_000, 3_600_000)
"""How long after a refusal by the wallet bots are asked for again, by how often they were; the last one for ever."""

DRAW_OVERDUE_MS: Final = 3_600_000
"""A first draw that is not made so long after its time will not be: its secret is lost. Then all can have theirs back."""


def enter(batch: Batch, command: Enter) -> None:
    """Let a player ask for an entry, or raise why not."""
    state = batch.state
    if not state.is_open:
        reason = "REGISTRATION_NOT_OPEN" if state.phase == "announced" else "REGISTRATION_CLOSED"
        raise Rejected(reason, tournament_id=state.tournament_id)
    entrant = state.entrants.get(command.player)
    kind = _kind_for(state, entrant)
    yielding = None if free_places(state) else _yielding_bot(state, command)
    if not free_places(state) and yielding is None:
        raise Rejected("TOURNAMENT_FULL", players_max=state.config.players_max)
    if command.is_bot and not state.more_bots:
        raise Rejected("BOTS_NOT_WANTED", wanted=state.bots_wanted)
    if not is_commitment(command.seed_commitment):
        raise Rejected("SEED_INVALID")
    number = state.entry_count + 1
    config = state.config
    price = (config.entry, config.fee)
    batch.add(
        EntryRequested(number, command.player, command.is_bot, kind, *price, command.now_ms, command.seed_commitment)
    )
    if yielding is not None:
        _end_bots_entry(batch, yielding, "YIELDS_TO_A_PERSON")
    payment = paying.entry_payment(batch.state.entries[number])
    if payment.amount:
        batch.add(PaymentDue(payment, command.now_ms))
    else:
        accept(batch, number)


def _yielding_bot(state: TournamentState, command: Enter) -> EntryState | None:
    """Return the bot that came last where a person finds no place before the seats are drawn (CL-6)."""
    if command.is_bot or not state.bots or state.phase != "registering" or state.seeds_until_ms:
        return None
    return max(_bots_entries(state), key=lambda entry: entry.entry_no, default=None)


def _bots_entries(state: TournamentState) -> list[EntryState]:
    """Return the entries of bots that stand, or are asked for."""
    entries = [entry for _, entry in sorted(state.entries.items())]
    return [entry for entry in entries if entry.is_bot and entry.status in {"requested", "accepted"}]


def _end_bots_entry(batch: Batch, entry: EntryState, reason: str) -> None:
    batch.add(EntryEnded(entry.entry_no, "withdrawn", reason, batch.now_ms))
    if entry.status == "accepted":
        paying.refund(batch, entry)


def accept(batch: Batch, entry_no: int) -> None:
    """Let an entry count; once seats are drawn, it is given one at once."""
    batch.add(EntryAccepted(entry_no, batch.now_ms))
    if batch.state.phase in {"seating", "playing"}:
        seating.seat_late(batch, batch.state.entries[entry_no].player)


def _kind_for(state: TournamentState, entrant: Entrant | None) -> EntryKind:
    """Return whether this is an entry or a re-entry."""
    if entrant is None:
        return "entry"
    if entrant.removal:
        raise Rejected("PLAYER_REMOVED", player=entrant.player)
    if entrant.standing == "none":
        return "entry"
    if entrant.standing != "out":
        raise Rejected("ALREADY_ENTERED", standing=entrant.standing)
    allowed = state.config.entries.re_entries
    if entrant.entries > allowed:
        raise Rejected("RE_ENTRY_NOT_ALLOWED", re_entries=allowed)
    return "re_entry"


def withdraw(batch: Batch, command: Withdraw) -> None:
    """Take a player's entry back before play."""
    state = batch.state
    entrant = state.entrants.get(command.player)
    if entrant is None or entrant.standing not in {"requested", "registered"}:
        if entrant is not None and entrant.standing in {"playing", "busted", "out"}:
            raise Rejected("TOURNAMENT_STARTED", tournament_id=state.tournament_id)
        raise Rejected("NOT_ENTERED", player=command.player)
    if state.phase != "registering":
        raise Rejected("TOURNAMENT_STARTED", tournament_id=state.tournament_id)
    check_no_draw(state)
    entry = state.entries[entrant.entry_no]
    batch.add(EntryWithdrawn(entry.entry_no, command.player, command.now_ms))
    if entry.status == "accepted":
        paying.refund(batch, entry)


def check_no_draw(state: TournamentState) -> None:
    """Raise DRAW_PENDING while the first draw waits for seeds: nobody who has seen some may change what is drawn."""
    if state.seeds_until_ms:
        raise Rejected("DRAW_PENDING", until_ms=state.seeds_until_ms)


def first_draw(batch: Batch) -> None:
    """Draw multiplier and seats; where entrants have committed to seeds these are asked for first."""
    state = batch.state
    if state.seeds_committed and state.config.entries.seed_window_ms and not state.seeds_until_ms:
        until_ms = batch.now_ms + state.config.entries.seed_window_ms
        batch.add(SeedsAsked(entrants_digest(state), until_ms, batch.now_ms))
        return
    seating.start(batch)


def open_seed(batch: Batch, command: OpenSeed) -> None:
    """Take a player's seed into the first draw; the same one again tells nothing new."""
    state = batch.state
    if batch.now_ms >= state.seeds_until_ms:
        raise Rejected("SEED_NOT_ASKED")
    entrant = state.entrants.get(command.player)
    entry = None if entrant is None else state.entries[entrant.entry_no]
    if entry is None or entry.status != "accepted" or entry.is_late or not entry.seed_commitment:
        raise Rejected("SEED_NOT_ASKED")
    if len(command.seed) != SEED_BYTES:
        raise Rejected("SEED_INVALID")
    if entry_seed_commitment(state.tournament_id, command.player, command.seed) != entry.seed_commitment:
        raise Rejected("SEED_DOES_NOT_MATCH")
    if not entry.seed:
        batch.add(SeedOpened(entry.entry_no, command.player, command.seed, command.now_ms))


def buy_extra(batch: Batch, command: BuyExtra) -> None:
    """Let a seated player ask for a rebuy or an add-on."""
    state = batch.state
    terms = state.config.entries
    entrant = state.entrants.get(command.player)
    if entrant is None or entrant.standing != "playing" or entrant.removal:
        raise Rejected("NOT_ENTERED", player=command.player)
    if not state.is_open or state.phase != "playing":
        raise Rejected("REGISTRATION_CLOSED", tournament_id=state.tournament_id)
    if entrant.extra_no:
        raise Rejected("EXTRA_PENDING", extra_no=entrant.extra_no)
    if command.kind == "rebuy":
        if entrant.rebuys >= terms.rebuys or _stack(state, entrant) > state.config.starting_stack:
            raise Rejected("EXTRA_NOT_ALLOWED", kind=command.kind)
        price, chips = terms.rebuy_price, terms.rebuy_chips
    else:
        if entrant.has_add_on or not terms.has_add_on:
            raise Rejected("EXTRA_NOT_ALLOWED", kind=command.kind)
        price, chips = terms.add_on_price, terms.add_on_chips
    number = state.extra_count + 1
    batch.add(ExtraRequested(number, command.player, command.kind, price, chips, command.now_ms))
    party = paying.party_of(entrant.is_bot)
    paying.due(batch, Payment(f"extra/{number}", command.kind, party, "pool", price, command.player, entrant.entry_no))
    if not price:
        batch.add(ExtraPaid(number, _add_id(state, number), command.now_ms))


def _stack(state: TournamentState, entrant: Entrant) -> int:
    if entrant.move_no and not entrant.table_no:
        return state.moves[entrant.move_no].stack
    sitter = state.tables[entrant.table_no].sitter(entrant.player)
    return 0 if sitter is None else sitter.stack


def _add_id(state: TournamentState, number: int) -> str:
    return named_id(state.tournament_id, f"extra/{number}")


def report_payment(batch: Batch, command: ReportPayment) -> None:
    """Take the wallet's answer to a payment; one that is not pending has been answered before."""
    pending = batch.state.payments.get(command.key)
    if pending is None or pending.attempt_no != command.attempt_no:
        return
    batch.add(PaymentSettled(command.key, command.attempt_no, command.is_refused, command.reason, command.now_ms))
    payment = pending.payment
    match payment.code:
        case "entry" | "re_entry":
            _entry_answered(batch, payment, command)
        case "rebuy" | "add_on":
            _extra_answered(batch, payment, command)
        case "guarantee" if payment.key == paying.RESERVED:
            if command.is_refused and batch.state.cancelled is None:
                batch.add(TournamentCancelled("house_short", "", command.reason, "before play", command.now_ms))
            elif batch.state.cancelled is not None:
                paying.return_reserve(batch)
        case _:
            pass


def _entry_answered(batch: Batch, payment: Payment, command: ReportPayment) -> None:
    entry = batch.state.entries[payment.entry_no]
    is_waited_for = entry.status == "requested"
    if command.is_refused:
        if is_waited_for:
            batch.add(EntryEnded(entry.entry_no, "refused", command.reason, command.now_ms))
        return
    if is_waited_for and batch.state.cancelled is None:
        accept(batch, entry.entry_no)
        return
    if is_waited_for:
        batch.add(EntryEnded(entry.entry_no, "cancelled", "", command.now_ms))
    paying.refund(batch, entry)


def _extra_answered(batch: Batch, payment: Payment, command: ReportPayment) -> None:
    number = int(payment.key.rpartition("/")[2])
    extra = batch.state.extras.get(number)
    if command.is_refused:
        if extra is not None:
            batch.add(ExtraEnded(number, command.reason, command.now_ms))
        return
    if extra is not None and batch.state.phase == "playing":
        batch.add(ExtraPaid(number, _add_id(batch.state, number), command.now_ms))
        return
    if extra is not None:
        batch.add(ExtraEnded(number, "OVER", command.now_ms))
    refund_extra(batch, payment)


def refund_extra(batch: Batch, payment: Payment) -> None:
    """Order the price of extra chips back that never came."""
    key = payment.key.replace("extra/", "extra_refund/")
    back = Payment(key, "refund", "pool", payment.giver, payment.amount, payment.player, payment.entry_no)
    paying.due(batch, back)


def end_extras(batch: Batch) -> None:
    """End extra chips of players who are out: what they paid goes back, what is still asked for is refused by itself."""
    state = batch.state
    if not len(state.extras):
        return
    for number, extra in sorted(state.extras.items()):
        entrant = state.entrants[extra.player]
        is_over = entrant.standing != "playing" or state.phase == "paying"
        if not is_over:
            continue
        batch.add(ExtraEnded(number, "OUT", batch.now_ms))
        if extra.is_paid:
            party = paying.party_of(entrant.is_bot)
            key = f"extra/{number}"
            refund_extra(batch, Payment(key, extra.kind, party, "pool", extra.price, extra.player, entrant.entry_no))


def open_when_due(batch: Batch) -> None:
    """Open registration once its time has come and the house has reserved its part."""
    state = batch.state
    if state.phase != "announced" or batch.now_ms < state.config.entries.opens_at_ms:
        return
    if state.reserved >= paying.house_reserve(state.config):
        batch.add(RegistrationOpened(batch.now_ms))


def bots_due_at(state: TournamentState) -> int | None:
    """Return when bots are asked for, or None where they are not, or were already.

    Where the wallet refused some, they are asked for again after a while, each time a longer one.
    """
    bots = state.config.bots
    if not bots.up_to or state.phase != "registering":
        return None
    if state.bots_refused:
        return state.bot_refused_at_ms + BOTS_AGAIN_MS[min(state.bots_asked, len(BOTS_AGAIN_MS)) - 1]
    if state.bots_wanted:
        return None
    if state.config.kind == "scheduled":
        return max(state.config.entries.starts_at_ms - bots.after_ms, state.config.entries.opens_at_ms)
    return state.first_entry_at_ms + bots.after_ms if state.first_entry_at_ms else None


def free_places(state: TournamentState) -> int:
    """Return how many more may enter."""
    return state.config.players_max - state.accepted - state.open_entries


def want_bots(batch: Batch) -> None:
    """Ask for bots where seats have been free for long enough."""
    state = batch.state
    due_at = bots_due_at(state)
    if due_at is None or batch.now_ms < due_at:
        return
    free = free_places(state)
    if free > 0:
        batch.add(BotsWanted(min(state.config.bots.up_to, state.bots + free), batch.now_ms))


def send_bots_home(batch: Batch) -> None:
    """Give the bots' entries back where nobody waits for a Sit & Go or a Spin any more: they come for people (CL-6)."""
    state = batch.state
    if state.config.kind == "scheduled" or not state.config.bots.up_to or not state.is_open:
        return
    people = state.accepted + state.open_entries - state.bots
    if state.phase != "registering" or people or not state.first_entry_at_ms:
        return
    batch.add(BotsWanted(0, batch.now_ms))
    for entry in _bots_entries(state):
        _end_bots_entry(batch, entry, "NOBODY_WAITS")


def close(batch: Batch, cause: CloseCause) -> None:
    """Close registration; the order in which tables will be broken is published with it (WSOP R66)."""
    state = batch.state
    # Before seats are drawn there are no tables yet, but it is known how many there will be.
    coming = range(1, -(-(state.accepted + state.open_entries) // state.config.table_size) + 1)
    order = tuple(sorted(state.in_play or coming, reverse=True))
    batch.add(RegistrationClosed(cause, order, batch.now_ms))


def close_when_due(batch: Batch) -> None:
    """Close late registration with its last level, and never later than the money begins."""
    state = batch.state
    if not state.is_open or state.phase != "playing":
        return
    if state.level_no > state.config.entries.late_levels:
        close(batch, "time")
    elif state.left <= len(paying.shares_by_place(state)) and state.left <= max(paid_places(state), 1):
        close(batch, "money")


def paid_places(state: TournamentState) -> int:
    """Return how many places are paid, by the entries that count now where the list is not final."""
    if state.prizes is not None:
        return len(state.prizes)
    return len(prizes_of(paying.pool_of(state), paying.shares_by_place(state)))
