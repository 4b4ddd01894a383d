"""What events of entries and payments record."""

from __future__ import annotations

from msgspec.structs import replace

from diwan.core.tournament.events import (
    BotsWanted,
    EntryAccepted,
    EntryEnded,
    EntryRequested,
    EntryWithdrawn,
    ExtraEnded,
    ExtraPaid,
    ExtraRequested,
    PaymentDue,
    PaymentOverdue,
    PaymentSettled,
    RegistrationOpened,
    SeedOpened,
    SeedsAsked,
)
from diwan.core.tournament.state import Entrant, EntryState, Extra, Pending, TournamentState

type EntryEvent = EntryRequested | EntryAccepted | EntryWithdrawn | EntryEnded | RegistrationOpened | BotsWanted
type SeedEvent = SeedsAsked | SeedOpened
type PaymentEvent = PaymentDue | PaymentSettled | PaymentOverdue
type ExtraEvent = ExtraRequested | ExtraPaid | ExtraEnded

_FIRM = frozenset({"entry", "re_entry", "rebuy", "add_on"})
"""Payments that a refusal ends: nobody is owed them."""


def entry_changed(state: TournamentState, event: EntryEvent) -> TournamentState:
    """Record an entry's progress."""
    match event:
        case RegistrationOpened():
            return replace(state, phase="registering", is_open=True)
        case BotsWanted():
            return _bots_wanted(state, event.count)
        case EntryRequested():
            return _requested(state, event)
        case EntryAccepted():
            return _accepted(state, event)
        case EntryWithdrawn() | EntryEnded():
            return _ended(state, event)


def _requested(state: TournamentState, event: EntryRequested) -> TournamentState:
    entry = EntryState(
        event.entry_no,
        event.player,
        event.is_bot,
        event.kind,
        event.entry,
        event.fee,
        requested_at_ms=event.at_ms,
        seed_commitment=event.seed_commitment,
    )
    before = state.entrants.get(event.player) or Entrant(event.player, event.is_bot, 0)
    entrant = replace(before, entry_no=event.entry_no, standing="requested")
    return replace(
        state,
        entries=state.entries.put(event.entry_no, entry),
        entrants=state.entrants.put(event.player, entrant),
        entry_count=event.entry_no,
        open_entries=state.open_entries + 1,
        bots=state.bots + event.is_bot,
        first_entry_at_ms=state.first_entry_at_ms or (0 if event.is_bot else event.at_ms),
    )


def _bots_wanted(state: TournamentState, count: int) -> TournamentState:
    """Record how many may enter; none: everything is as before the first person's entry."""
    first, asked = (state.first_entry_at_ms, state.bots_asked + 1) if count else (0, 0)
    return replace(state, bots_wanted=count, bots_asked=asked, bots_refused=0, first_entry_at_ms=first)


def _accepted(state: TournamentState, event: EntryAccepted) -> TournamentState:
    entry = state.entries[event.entry_no]
    entrant = state.entrants[entry.player]
    entrant = replace(entrant, standing="registered", entries=entrant.entries + 1)
    is_late = bool(state.seeds_until_ms)
    return replace(
        state,
        entries=state.entries.put(event.entry_no, replace(entry, status="accepted", is_late=is_late)),
        seeds_committed=state.seeds_committed + (bool(entry.seed_commitment) and not is_late),
        entrants=state.entrants.put(entry.player, entrant),
        open_entries=state.open_entries - 1,
        accepted=state.accepted + 1,
        left=state.left + 1,
        pool=state.pool + entry.entry,
        fees=state.fees + entry.fee,
    )


def _ended(state: TournamentState, event: EntryWithdrawn | EntryEnded) -> TournamentState:
    entry = state.entries[event.entry_no]
    entrant = state.entrants[entry.player]
    if entrant.entry_no == event.entry_no:
        # A re-entry that came to nothing leaves the player out, as before.
        # One that was given back never counted.
        entries = entrant.entries - (entry.status == "accepted")
        entrant = replace(entrant, standing="out" if entries else "none", entries=entries)
        state = replace(state, entrants=state.entrants.put(entry.player, entrant))
    removals = tuple([each for each in state.removals if each != entry.player])
    is_refused = isinstance(event, EntryEnded) and event.cause == "refused"
    was_open, counted = entry.status == "requested", entry.status == "accepted"
    return replace(
        state,
        entries=state.entries.put(event.entry_no, replace(entry, status="ended")),
        open_entries=state.open_entries - was_open,
        accepted=state.accepted - counted,
        seeds_committed=state.seeds_committed - (counted and bool(entry.seed_commitment)),
        left=state.left - counted,
        bots=state.bots - entry.is_bot,
        bots_refused=state.bots_refused + (entry.is_bot and is_refused),
        bot_refused_at_ms=event.at_ms if entry.is_bot and is_refused else state.bot_refused_at_ms,
        removals=removals,
        pool=state.pool - entry.entry * counted,
        fees=state.fees - entry.fee * counted,
    )


def seeds_changed(state: TournamentState, event: SeedEvent) -> TournamentState:
    """Record that the first draw waits for seeds, and each one that comes."""
    match event:
        case SeedsAsked():
            return replace(state, seeds_until_ms=event.until_ms, seeds_missing=state.seeds_committed)
        case SeedOpened():
            entry = replace(state.entries[event.entry_no], seed=event.seed)
            entries = state.entries.put(event.entry_no, entry)
            return replace(state, entries=entries, seeds_missing=state.seeds_missing - 1)


def payment_changed(state: TournamentState, event: PaymentEvent) -> TournamentState:
    """Record a payment's progress; what is owed and was refused stays pending with another attempt."""
    match event:
        case PaymentDue():
            key = event.payment.key
            return replace(state, payments=state.payments.put(key, Pending(event.payment, event.at_ms)))
        case PaymentOverdue():
            pending = replace(state.payments[event.key], is_alarmed=True)
            return replace(state, payments=state.payments.put(event.key, pending))
        case PaymentSettled():
            return _settled(state, event)


def _settled(state: TournamentState, event: PaymentSettled) -> TournamentState:
    pending = state.payments[event.key]
    payment = pending.payment
    is_reserve = payment.key == "guarantee/reserved"
    if event.is_refused and payment.code not in _FIRM and not is_reserve:
        again = replace(pending, attempt_no=pending.attempt_no + 1)
        return replace(state, payments=state.payments.put(event.key, again))
    reserved = state.reserved
    if not event.is_refused and payment.code == "guarantee":
        reserved += payment.amount if is_reserve else -payment.amount
    return replace(state, payments=state.payments.drop(event.key), reserved=reserved)


def extra_changed(state: TournamentState, event: ExtraEvent) -> TournamentState:
    """Record the progress of extra chips."""
    match event:
        case ExtraRequested():
            return _extra_requested(state, event)
        case ExtraPaid():
            extra = replace(state.extras[event.extra_no], is_paid=True, add_id=event.add_id)
            extras = state.extras.put(event.extra_no, extra)
            return replace(state, extras=extras, pool=state.pool + extra.price)
        case ExtraEnded():
            extra = state.extras[event.extra_no]
            entrant = state.entrants[extra.player]
            if extra.kind == "rebuy":
                entrant = replace(entrant, rebuys=entrant.rebuys - 1)
            else:
                entrant = replace(entrant, has_add_on=False)
            return replace(
                state,
                extras=state.extras.drop(event.extra_no),
                entrants=state.entrants.put(extra.player, replace(entrant, extra_no=0)),
                pool=state.pool - extra.price * extra.is_paid,
            )


def _extra_requested(state: TournamentState, event: ExtraRequested) -> TournamentState:
    extra = Extra(event.extra_no, "", event.player, event.kind, event.price, event.chips)
    entrant = state.entrants[event.player]
    is_rebuy = event.kind == "rebuy"
    entrant = replace(
        entrant,
        extra_no=event.extra_no,
        rebuys=entrant.rebuys + is_rebuy,
        has_add_on=entrant.has_add_on or not is_rebuy,
    )
    return replace(
        state,
        extras=state.extras.put(event.extra_no, extra),
        entrants=state.entrants.put(event.player, entrant),
        extra_count=event.extra_no,
    )
