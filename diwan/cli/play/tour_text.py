"""A tournament in lines: its conditions before entering, how it stands above a table, how it ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diwan.cli.play.words import Words
from diwan.client.tournaments import Conditions, LevelView, OwnEntry, PayoutLine, TournamentView

_LEVELS_SHOWN: Final = 6
_LINES_SHOWN: Final = 4
_SHARES_SHOWN: Final = 6
_SHARE_PERCENT: Final = 1000


def condition_lines(name: str, conditions: Conditions, words: Words) -> list[str]:
    """Return what a tournament is like as it matters to who enters: price, field, chips, levels, prizes, clocks, bots."""
    parts = [words("name")]
    parts += [words(conditions.limit)] if conditions.limit in words else []
    low, high = conditions.players_min, conditions.players_max
    parts.append(words("tour_players", count=low) if low == high else words("tour_field", low=low, high=high))
    parts.append(words("tour_chips", amount=conditions.starting_stack))
    parts.append(_bots_text(conditions, words))
    told = [
        f"{words('conditions')}: " + words.both([words.piece(name), *parts]),
        "   " + price_text(conditions, words),
        "   " + words.both([_levels_text(conditions, words), _clock_text(conditions, words)]),
        *("   " + line for line in _prize_lines(conditions, words)),
    ]
    return [words.line(line) for line in told]


def price_text(conditions: Conditions, words: Words) -> str:
    """Return what entering costs, and what of it is no prize."""
    if conditions.fee:
        total = conditions.entry + conditions.fee
        return words("tour_price_fee", amount=total, entry=conditions.entry, fee=conditions.fee)
    return words("tour_price", amount=conditions.entry)


def _bots_text(conditions: Conditions, words: Words) -> str:
    return words("tour_bots", count=conditions.bots_up_to) if conditions.has_bots else words("tour_no_bots")


def _levels_text(conditions: Conditions, words: Words) -> str:
    levels = conditions.ladder.levels
    blinds = " ".join(_blinds(each.small_blind, each.big_blind, each.ante) for each in levels[:_LEVELS_SHOWN])
    more = " ..." if len(levels) > _LEVELS_SHOWN else ""
    if levels[0].duration_ms:
        return words("tour_levels", length=clock_text(levels[0].duration_ms), blinds=blinds + more)
    return words("tour_levels_hands", count=levels[0].hands, blinds=blinds + more)


def _clock_text(conditions: Conditions, words: Words) -> str:
    seconds, bank = conditions.decision_seconds, conditions.time_bank_seconds
    return words("terms_clock", seconds=seconds, bank=bank) if bank else words("terms_clock_plain", seconds=seconds)


def _prize_lines(conditions: Conditions, words: Words) -> list[str]:
    told = []
    for spun in conditions.multipliers:
        facts = {"times": spun.times, "weight": spun.weight, "weights": spun.weights, "pool": spun.pool}
        told.append(words("tour_multiplier", shares=_shares(spun.shares), **facts))
    payouts = _payouts(conditions)
    told += [
        words("tour_payout", count=line.entries_min, shares=_shares(line.shares)) for line in payouts[:_LINES_SHOWN]
    ]
    if len(payouts) > _LINES_SHOWN:
        told.append(words("tour_payouts_more", count=len(payouts) - _LINES_SHOWN))
    if conditions.guarantee:
        told.append(words("tour_guarantee", amount=conditions.guarantee))
    return told


def _payouts(conditions: Conditions) -> Sequence[PayoutLine]:
    """Return the lines of fields that there can be."""
    lines = conditions.payouts
    least = max((line.entries_min for line in lines if line.entries_min <= conditions.players_min), default=0)
    return [line for line in lines if least <= line.entries_min <= conditions.players_max]


def _shares(shares: Sequence[int]) -> str:
    more = " ..." if len(shares) > _SHARES_SHOWN else ""
    return " ".join(f"{share / _SHARE_PERCENT:g}" for share in shares[:_SHARES_SHOWN]) + more


def _blinds(small: int, big: int, ante: int) -> str:
    return (f"{small:,}/{big:,}" if small else f"{big:,}") + (f"+{ante:,}" if ante else "")


def level_text(level: LevelView) -> str:
    """Return a level's blinds, such as ``50/100+10`` with an ante of 10; the forced bet where a game has no blinds."""
    return _blinds(level.small_blind, level.big_blind, level.ante)


def clock_text(milliseconds: int) -> str:
    """Return a time that is left as minutes and seconds; none that is over is less than 0:00."""
    seconds = max(0, -(-milliseconds // 1000))
    return f"{seconds // 60}:{seconds % 60:02}"


def standing_lines(view: TournamentView, own: OwnEntry | None, words: Words, now_ms: int) -> list[str]:
    """Return how a tournament stands, in a line: level, what is next and when, who is left, what there is to win."""
    parts = [words.piece(view.name)]
    if view.level.level_no:
        parts.append(words("tour_level", no=view.level.level_no, blinds=level_text(view.level)))
        parts += _next_parts(view, words, now_ms)
    left = {"left": view.players_left, "entries": view.entries}
    parts.append(words("tour_players_left", **left) if view.level.level_no else words("tour_in", count=view.entries))
    if view.tables > 1 and own is not None and own.table_no:
        parts.append(words("tour_table", no=own.table_no, tables=view.tables))
    if view.average_stack:
        parts.append(words("tour_average", amount=view.average_stack))
    parts.append(words("tour_pool", amount=view.pool))
    parts += [words("tour_hand_for_hand")] if view.is_hand_for_hand else []
    parts += [words("tour_paused")] if view.is_paused else []
    return [words.line("== " + " · ".join(parts) + " ==")]


def _next_parts(view: TournamentView, words: Words, now_ms: int) -> list[str]:
    if view.level.is_break:
        left = clock_text(view.level.ends_at_ms - now_ms)
        return [words("tour_break", time=left) if view.level.ends_at_ms else words("tour_break_now")]
    told = []
    if view.HasField("next_level") and view.next_level.level_no:
        blinds = level_text(view.next_level)
        if view.level.ends_at_ms:
            told.append(words("tour_next_in", blinds=blinds, time=clock_text(view.level.ends_at_ms - now_ms)))
        else:
            told.append(words("tour_next", blinds=blinds))
    if view.next_break_at_ms:
        told.append(words("tour_break_in", time=clock_text(view.next_break_at_ms - now_ms)))
    return told


def change_lines(before: TournamentView | None, now: TournamentView, words: Words) -> list[str]:
    """Return what a player should hear of between two views: a new level, a break, a multiplier, a pause, who is left."""
    if before is None:
        return []
    told = []
    if now.multiplier and not before.multiplier:
        told.append(words("tour_multiplier_drawn", times=now.multiplier, pool=now.pool))
    if now.entries != before.entries and not now.level.level_no:
        told.append(words("tour_entered", entries=now.entries))
    if now.level.is_break and not before.level.is_break:
        told.append(words("tour_break_begins"))
    elif now.level.level_no and now.level.level_no != before.level.level_no:
        key = "tour_level_begins" if before.level.level_no else "tour_begins"
        told.append(words(key, no=now.level.level_no, blinds=level_text(now.level)))
    if 1 < now.players_left < before.players_left and before.level.level_no:
        told.append(words("tour_left_now", left=now.players_left, entries=now.entries))
    if now.is_hand_for_hand and not before.is_hand_for_hand:
        told.append(words("tour_hand_for_hand_begins"))
    if now.is_paused != before.is_paused:
        told.append(words("tour_paused_now" if now.is_paused else "tour_resumed"))
    return [words.line(line) for line in told]


def ending_lines(view: TournamentView, own: OwnEntry | None, words: Words) -> list[str]:
    """Return how it ended for its player: the place, shared or not, and the prize; or why it was called off."""
    if view.cancelled:
        key = f"tour_cancelled_{view.cancelled}"
        told = [words(key) if key in words else words("tour_cancelled_operator")]
        return [words.line(line) for line in told]
    if own is None or not own.place:
        return [words.line(words("tour_over"))]
    if own.place == 1 and own.place_last in {0, 1}:
        told = [words("tour_won", entries=view.entries)]
    elif own.place_last > own.place:
        told = [words("tour_out_shared", place=own.place, last=own.place_last, entries=view.entries)]
    else:
        told = [words("tour_out", place=own.place, entries=view.entries)]
    told.append(words("tour_prize", amount=own.prize) if own.prize else words("tour_no_prize"))
    return [words.line(line) for line in told]


def is_settled(view: TournamentView | None, own: OwnEntry | None) -> bool:
    """Say whether a player's tournament is over, with its place and its prize known."""
    if view is None:
        return False
    if view.phase == "finished":
        return True
    is_out = own is not None and own.status == "out" and bool(own.place)
    return is_out and bool(view.prizes) and not view.cancelled
