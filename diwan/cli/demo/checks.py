"""The demo's checks: each looks at the evidence by itself and names the hand where something does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from diwan.cli.demo.evidence import Evidence, FeedLine, WalletTotals, table_name
from diwan.cli.demo.gather import decode_line
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.hashing import uuid_text
from diwan.core.log import StreamKind
from diwan.core.table.events import (
    BuyInRefused,
    BuyInRequested,
    MatchStarted,
    SeatFunded,
    SeatReleased,
    TableCreated,
    TopUpRequested,
)
from diwan.core.table.playing import StartedEvent
from diwan.verifier.report import Report, Rule
from diwan.verifier.stream import StreamReport, verify_stream


class Result(Struct, frozen=True):
    """What one check found. ``at_fault`` names the hand, the table or the number where it does not hold."""

    name: str
    holds: bool
    detail: str
    at_fault: str = ""


_PLAY: Final = frozenset({
    Rule.ACT_REFUSED, Rule.BATCH_DIFFERS, Rule.BATCH_SPLIT, Rule.OUT_OF_PLACE, Rule.IMPOSSIBLE, Rule.NOBODY_LEFT,
    Rule.RULES_UNKNOWN, Rule.CARD_NOT_REVEALED, Rule.HAND_ID_DIFFERS,
})  # fmt: skip
_DECK: Final = frozenset({
    Rule.SECRET_NOT_COMMITTED, Rule.SECRET_DIFFERS, Rule.SECRET_COMMITTED_LATE, Rule.SEEDS_NOT_COMMITTED,
    Rule.SEED_DIFFERS, Rule.ABSENT_DIFFER, Rule.REVEAL_FALSE, Rule.CARD_TWICE, Rule.EARLIER_EVENTS_MISSING,
})  # fmt: skip


class HandChecks(Struct, frozen=True):
    """The three checks of the hands, and how much they looked at."""

    results: tuple[Result, ...]
    hands: int
    acts: int
    reveals: int


def check_hands(evidence: Evidence) -> HandChecks:
    """Verify every table's whole stream: chain and digest, every act decided again, every commitment and card."""
    reports = [verify_stream(stream_id, StreamKind.TABLE, events) for stream_id, events in evidence.streams()]
    named = list(zip((table_name(stream_id) for stream_id, _ in evidence.streams()), reports, strict=True))
    hands = [hand for report in reports for hand in report.hands]
    acts, reveals = sum(hand.acts for hand in hands), sum(hand.reveals for hand in hands)

    def result(name: str, detail: str, is_of: Callable[[Rule], bool]) -> Result:
        faults = [_fault(table, report) for table, report in named if report.rule is not None and is_of(report.rule)]
        if faults:
            return Result(name, holds=False, detail=faults[0][1], at_fault=faults[0][0])
        return Result(name, holds=bool(hands), detail=detail)

    return HandChecks(
        results=(
            result(
                "every hand replayed from its log to its digest",
                f"{len(hands)} hands, {len(evidence.table_feed)} events",
                lambda rule: rule not in _PLAY and rule not in _DECK,
            ),
            result("every act decided again by the rules", f"{acts} acts", lambda rule: rule in _PLAY),
            result("every commitment and shown card proved", f"{reveals} cards", lambda rule: rule in _DECK),
        ),
        hands=len(hands),
        acts=acts,
        reveals=reveals,
    )


def _fault(table: str, report: StreamReport) -> tuple[str, str]:
    hand: Report | None = next((hand for hand in report.hands if not hand.is_verified), None)
    where = f"table {table}" if hand is None else f"hand {hand.hand_id}"
    what = f"{report.rule} at version {report.at_version}: expected {report.expected}, found {report.found}"
    return where, what


def check_ledger(evidence: Evidence) -> Result:
    """Sum zero, every sitting's escrow what its table's own events say at the same feed position, books as their events say."""
    name = "ledger sums to zero and every seat's escrow is its stack"
    compared = 0
    for totals in evidence.totals:
        if totals.sum:
            return Result(name, holds=False, detail=f"the accounts sum to {totals.sum}", at_fault="the ledger")
        if totals.quarantined:
            return Result(
                name, holds=False, detail="set aside by the wallet", at_fault=f"table {totals.quarantined[0]}"
            )
        stacks = folded_stacks(evidence.table_feed, totals.table_feed_cursor)
        fault = _first_difference(stacks, totals, chips_on_their_way(evidence.table_feed, totals.table_feed_cursor))
        if fault is not None:
            return Result(name, holds=False, detail=fault[1], at_fault=fault[0])
        compared += len(stacks)
    if evidence.reconciled:
        at_fault, finding = evidence.reconciled[0]
        return Result(name, holds=False, detail=finding, at_fault=at_fault)
    return Result(name, holds=compared > 0, detail=f"{compared} escrows at {len(evidence.totals)} moments")


class Stack(Struct):
    """Chips of a sitting by the table's own events, and the hand that changed them last."""

    chips: int
    hand_id: str


def folded_stacks(feed: tuple[FeedLine, ...], cursor: int) -> dict[str, Stack]:
    """Add up funding, payoffs and release of every sitting, from the table feed alone up to a position."""
    stacks: dict[str, Stack] = {}
    sittings: dict[tuple[bytes, int], str] = {}
    matches: set[bytes] = set()
    running: dict[bytes, StartedEvent] = {}
    for line in feed:
        if line.global_seq > cursor:
            break
        stream_id = line.event.stream_id
        match decode_line(line):
            case SeatFunded(seat=seat, amount=amount, transfer_id=transfer):
                sitting = sittings.setdefault((stream_id, seat), transfer)
                stacks.setdefault(sitting, Stack(0, "")).chips += amount
            case HandStarted() | CapsaStarted() as started:
                running[stream_id] = started
            case TableCreated(config=config) if config.chips != "wallet":
                matches.add(stream_id)
            case MatchStarted(entrants=entrants, entry_fee=entry_fee):
                for entrant in entrants:
                    stacks[entrant.sitting].chips -= entry_fee
            case HandEnded() if stream_id in matches:  # Coins of a match are nobody's chips (L12).
                pass
            case HandEnded(payoffs=payoffs):
                started = running.pop(stream_id)
                for seat_of_hand, payoff in zip(started.seats, payoffs, strict=True):
                    stack = stacks[seat_of_hand.sitting]
                    stack.chips += payoff
                    stack.hand_id = started.hand_id
            case SeatReleased(seat=seat, sitting=sitting, amount=amount):
                sittings.pop((stream_id, seat), None)
                stacks[sitting].chips -= amount
            case _:
                pass
    return stacks


def chips_on_their_way(feed: tuple[FeedLine, ...], cursor: int) -> dict[str, list[int]]:
    """Return by sitting the amounts that the table asked for and that it books only after a position of its feed.

    The wallet is asked by a call, which may run ahead of the feed: each such amount may be in escrow already.
    """
    sitting_of: dict[tuple[bytes, int], str] = {}
    amounts: dict[str, dict[str, int]] = {}
    for line in feed:
        stream_id = line.event.stream_id
        match decode_line(line):
            case BuyInRequested(seat=seat, amount=amount, transfer_id=transfer):
                sitting_of[stream_id, seat] = transfer
                amounts.setdefault(transfer, {})[transfer] = amount
            case TopUpRequested(seat=seat, amount=amount, transfer_id=transfer):
                amounts.setdefault(sitting_of[stream_id, seat], {})[transfer] = amount
            case SeatFunded(seat=seat, transfer_id=transfer) if line.global_seq <= cursor:
                del amounts[sitting_of[stream_id, seat]][transfer]
            case BuyInRefused(seat=seat, transfer_id=transfer):
                del amounts[sitting_of[stream_id, seat]][transfer]
            case _:
                pass
    return {sitting: list(waiting.values()) for sitting, waiting in amounts.items()}


def _first_difference(
    stacks: dict[str, Stack], totals: WalletTotals, on_their_way: dict[str, list[int]]
) -> tuple[str, str] | None:
    for sitting in sorted(stacks.keys() | totals.balances.keys()):
        stack = stacks.get(sitting, Stack(0, ""))
        balance = totals.balances.get(sitting, 0)
        if balance - stack.chips not in _sums(on_their_way.get(sitting, [])):
            where = f"hand {stack.hand_id}" if stack.hand_id else f"sitting {sitting}"
            return where, f"sitting {sitting}: escrow {balance}, stack {stack.chips}"
    return None


def _sums(amounts: list[int]) -> set[int]:
    sums = {0}
    for amount in amounts:
        sums |= {each + amount for each in sums}
    return sums


def check_copies(evidence: Evidence) -> Result:
    """The bus copy, read back whole, against the store."""
    name = "the bus copy read back equals the store"
    for service, report in evidence.copies.items():
        if report.is_equal:
            continue
        at_fault = f"feed {service}"
        bad = report.missing or report.different
        if bad:
            at_fault = _hand_at(evidence, bad[0]) if service == "table" else f"feed {service} number {bad[0]}"
        missing, different = len(report.missing), len(report.different)
        detail = f"{missing} missing, {different} different, bus ends at {report.last_seq}, store at {report.head}"
        return Result(name, holds=False, detail=detail, at_fault=at_fault)
    messages = sum(report.messages for report in evidence.copies.values())
    return Result(name, holds=messages > 0, detail=f"{messages} messages of {len(evidence.copies)} feeds")


def _hand_at(evidence: Evidence, global_seq: int) -> str:
    """Name the hand that an event of the table feed belongs to."""
    running: dict[bytes, str] = {}
    for line in evidence.table_feed:
        event = decode_line(line)
        if isinstance(event, HandStarted | CapsaStarted):
            running[line.event.stream_id] = event.hand_id
        if line.global_seq == global_seq:
            hand = running.get(line.event.stream_id)
            return f"hand {hand}" if hand else f"table {uuid_text(line.event.stream_id)}"
    return f"feed table number {global_seq}"


def check_audit(evidence: Evidence, hands: int) -> Result:
    """The independent audit came to the same result by its own way."""
    name = "the independent audit agrees"
    audit = evidence.audit
    if audit.findings or audit.hands_not_verified or audit.hands_cannot_say:
        detail = f"{audit.hands_not_verified} not verified, {audit.hands_cannot_say} cannot say"
        return Result(name, holds=False, detail=detail, at_fault=audit.findings[0] if audit.findings else "the audit")
    is_same = audit.hands_verified == hands
    return Result(name, is_same, f"{audit.hands_verified} hands verified", "" if is_same else "the audit")
