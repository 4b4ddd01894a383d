"""What the wallet is asked for: entries, the house's reserve, prizes, refunds, the fee; and when a tournament is finished.

Every payment has a key that names what it is for (`events.Payment`): however often it is ordered or asked for, it is paid
once. ``Finished`` comes only when none is pending.
"""

from __future__ import annotations

from collections.abc import Sequence

from diwan.core.hand.events import Chips
from diwan.core.tournament import spin
from diwan.core.tournament.batch import Batch
from diwan.core.tournament.events import (
    OutPlayer,
    Party,
    Payment,
    PaymentCode,
    PaymentDue,
    PaymentOverdue,
    PoolFixed,
    TournamentFinished,
)
from diwan.core.tournament.payouts import prizes_of, shared, shares_of
from diwan.core.tournament.settings import TournamentConfig
from diwan.core.tournament.state import EntryState, TournamentState

RESERVED = "guarantee/reserved"
RETURNED = "guarantee/returned"


def house_reserve(config: TournamentConfig) -> Chips:
    """Return what the house puts into the pool before registration opens: the most that it might have to add."""
    if config.kind == "spin":
        return max(spin.largest_difference(config.multipliers, config.entry), 0)
    return config.payout.guarantee


def party_of(is_bot: bool) -> Party:
    """Return whose account pays and is paid: all bots have one."""
    return "bots" if is_bot else "player"


def due(batch: Batch, payment: Payment) -> None:
    """Order a payment, unless it is for nothing."""
    if payment.amount:
        batch.add(PaymentDue(payment, batch.now_ms))


def entry_payment(entry: EntryState) -> Payment:
    """Return what an entry costs, the fee with it: both go into the pool's account, the fee leaves it at the end."""
    code: PaymentCode = entry.kind
    key = f"entry/{entry.entry_no}"
    return Payment(key, code, party_of(entry.is_bot), "pool", entry.entry + entry.fee, entry.player, entry.entry_no)


def refund(batch: Batch, entry: EntryState) -> None:
    """Order an entry's whole price back."""
    key = f"refund/{entry.entry_no}"
    amount = entry.entry + entry.fee
    due(batch, Payment(key, "refund", "pool", party_of(entry.is_bot), amount, entry.player, entry.entry_no))


def pool_of(state: TournamentState) -> Chips:
    """Return what prizes are paid of: entries, at least the guarantee; in a Spin the multiplied entry."""
    if state.config.kind == "spin":
        return state.config.multipliers[state.line].times * state.config.entry
    return max(state.pool, state.config.payout.guarantee)


def shares_by_place(state: TournamentState) -> tuple[int, ...]:
    """Return the shares of `SHARE_UNIT` by place, for the entries that count now."""
    if state.config.kind == "spin":
        return state.config.multipliers[state.line].shares
    return shares_of(state.config.payout, max(state.accepted, 1))


def fix_pool(batch: Batch) -> None:
    """Make the list of prizes final once nobody can enter or buy any more."""
    state = batch.state
    has_open = not state.is_field_known or len(state.extras) > 0
    if state.prizes is not None or has_open or state.phase not in {"seating", "playing"}:
        return
    pool = pool_of(state)
    prizes = prizes_of(pool, shares_by_place(state))
    rule = "F1" if state.config.kind == "spin" else "e3" if state.config.payout.table == "field" else "own shares"
    batch.add(PoolFixed(state.accepted, pool, state.fees, prizes, rule, batch.now_ms))
    _pay_earlier(batch)


def _return_reserve(batch: Batch, amount: Chips) -> None:
    due(batch, Payment(RETURNED, "guarantee", "pool", "house", amount))


def _pay_earlier(batch: Batch) -> None:
    """Pay who went out in the money before the list of prizes was final."""
    state = batch.state
    groups: dict[int, list[EntryState]] = {}
    for entry in state.entries.values():
        if entry.status == "out" and state.accepted - entry.out_last < len(state.prizes or ()):
            groups.setdefault(entry.out_last, []).append(entry)
    for _, entries in sorted(groups.items()):
        first, last = places_of(state, entries[0].out_first, entries[0].out_last)
        outs = [OutPlayer(each.player, each.entry_no, 0, 0) for each in entries]
        pay_places(batch, outs, first, last)


def places_of(state: TournamentState, out_first: int, out_last: int) -> tuple[int, int]:
    """Return the places of those who went out as number ``out_first`` to ``out_last``; 0 while the field is open."""
    if not state.is_field_known:
        return 0, 0
    return state.accepted - out_last + 1, state.accepted - out_first + 1


def pay_places(batch: Batch, outs: Sequence[OutPlayer], place_first: int, place_last: int) -> None:
    """Order the prizes of players who share places (F2)."""
    prizes = batch.state.prizes or ()
    if not place_first or place_first > len(prizes):
        return
    ordered = sorted(outs, key=_by_entry)
    for out, amount in zip(ordered, shared(prizes, place_first, place_last), strict=True):
        is_bot = batch.state.entries[out.entry_no].is_bot
        key = f"prize/{place_first}/{out.player}"
        due(batch, Payment(key, "prize", "pool", party_of(is_bot), amount, out.player, out.entry_no, place_first))


def _by_entry(out: OutPlayer) -> int:
    return out.entry_no


def pay_fee(batch: Batch, amount: Chips) -> None:
    """Order the house's fee out of the pool's account."""
    due(batch, Payment("fee", "fee", "pool", "house", amount))


def return_unused(batch: Batch, pool: Chips) -> None:
    """Order back what the house reserved and a pool of this size does not need."""
    _return_reserve(batch, batch.state.reserved - (pool - batch.state.pool))


def return_reserve(batch: Batch) -> None:
    """Order all of the house's reserve back, of a tournament that is not played."""
    _return_reserve(batch, batch.state.reserved)


def alarm(batch: Batch) -> None:
    """Tell of payments that have been pending too long; once each."""
    limit = batch.now_ms - batch.state.config.alarm_after_ms
    for pending in sorted(batch.state.payments.values(), key=lambda each: each.payment.key):
        if not pending.is_alarmed and pending.due_at_ms <= limit:
            batch.add(PaymentOverdue(pending.payment.key, pending.due_at_ms, batch.now_ms))


def finish(batch: Batch) -> None:
    """End a tournament when every payment is confirmed, every entry answered for and every table closed."""
    state = batch.state
    if state.phase != "paying" or len(state.payments) or state.open_entries:
        return
    if all(table.status == "gone" for table in state.tables.values()):
        batch.add(TournamentFinished(batch.now_ms))
