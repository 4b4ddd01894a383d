"""Whether a tournament's settings make sense; each fault is told by the setting's name, with what would be right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.games import GAMES
from diwan.core.limits import DECISION_SECONDS_MAX, PLAYERS_MIN, SEATS_MAX, STACK_MAX
from diwan.core.reasons import Reason
from diwan.core.tournament import spin
from diwan.core.tournament.settings import SHARE_UNIT, Level, TournamentConfig

FIELD_MAX: Final = 10_000
LEVELS_MAX: Final = 200
LEVEL_MS_MAX: Final = 24 * 3_600_000
RE_ENTRIES_MAX: Final = 100
MULTIPLIERS_MAX: Final = 32
NAME_CHARACTERS_MAX: Final = 80
SEED_WINDOW_MS_MAX: Final = 60_000

type Rules = Iterator[tuple[str, bool, str]]


def checked(config: TournamentConfig) -> TournamentConfig:
    """Return settings with their defaults filled in; raises SETTING_INVALID, which says which one and why."""
    for setting, is_right, why in _rules(config):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    first = config.ladder.levels[0]
    hand = replace(config.hand, small_blind=first.small_blind, big_blind=first.big_blind)
    at = config.floor.final_table_at or usual_final_table(config.table_size)
    return replace(config, hand=hand, floor=replace(config.floor, final_table_at=at))


def checked_to_announce(config: TournamentConfig) -> TournamentConfig:
    """Return `checked` settings that can be announced: of a scheduled tournament a template does not say when it starts."""
    if config.kind == "scheduled" and not config.entries.starts_at_ms:
        raise Rejected(Reason.SETTING_INVALID, setting="entries.starts_at_ms", why="a scheduled tournament has it")
    return checked(config)


def usual_final_table(table_size: int) -> int:
    """Return at how many players the final table is formed: one more than a table's seats (WSOP R68), 9 at most.

    Tables of fewer than six seats make one of their own size.
    """
    return min(table_size + 1, SEATS_MAX) if table_size >= 6 else table_size


def _rules(config: TournamentConfig) -> Rules:
    yield "name", 0 < len(config.name.strip()) <= len(config.name) <= NAME_CHARACTERS_MAX, "1 to 80 characters"
    yield "name", config.name.isprintable(), "printable characters only"
    yield "kind", config.kind in {"sit_and_go", "spin", "scheduled"}, "sit_and_go, spin or scheduled"
    yield "hand.game", config.hand.game in {"holdem", "omaha", "naiko", "sarab"}, "holdem, omaha, naiko or sarab"
    yield "hand.decision_seconds", 1 <= config.hand.decision_seconds <= DECISION_SECONDS_MAX, "1 second to an hour"
    yield "table_size", PLAYERS_MIN <= config.table_size <= SEATS_MAX, "2 to 9"
    yield "players_max", PLAYERS_MIN <= config.players_max <= FIELD_MAX, f"2 to {FIELD_MAX}"
    yield "players_min", PLAYERS_MIN <= config.players_min <= config.players_max, "2 to players_max"
    yield "entry", 0 <= config.entry <= STACK_MAX // FIELD_MAX, "chips"
    yield "fee", 0 <= config.fee <= STACK_MAX // FIELD_MAX, "chips"
    yield "starting_stack", 1 <= config.starting_stack <= STACK_MAX // FIELD_MAX // 4, "chips that all add up exactly"
    yield "first_hand_ms", 0 <= config.first_hand_ms <= 600_000, "0 to 10 minutes"
    yield "alarm_after_ms", 1 <= config.alarm_after_ms <= LEVEL_MS_MAX, "a millisecond to a day"
    yield from _ladder_rules(config)
    yield from _entry_rules(config)
    yield from _payout_rules(config)
    yield from _floor_rules(config)
    yield from _kind_rules(config)


def _ladder_rules(config: TournamentConfig) -> Rules:
    ladder = config.ladder
    yield "ladder.levels", 1 <= len(ladder.levels) <= LEVELS_MAX, f"1 to {LEVELS_MAX}"
    yield "ladder.by", ladder.by in {"time", "hands"}, "time or hands"
    has_one_table = config.players_max <= config.table_size and not config.entries.re_entries
    yield "ladder.by", ladder.by == "time" or has_one_table, "levels by hands are for one table without re-entry"
    last = len(ladder.levels)
    for number, level in enumerate(ladder.levels, 1):
        yield from _level_rules(config, f"ladder.levels[{number}]", level, is_last=number == last)
    for before, after in zip(ladder.levels, ladder.levels[1:], strict=False):
        rises = before.big_blind <= after.big_blind and before.small_blind <= after.small_blind
        yield "ladder.levels", rises, "blinds never fall from a level to the next"
    top = ladder.levels[-1]
    yield "ladder.levels", top.big_blind * SEATS_MAX * 2 <= STACK_MAX, "blinds that clients read exactly"
    first = ladder.levels[0]
    yield "starting_stack", config.starting_stack > first.big_blind + first.ante, "more than the first level asks for"
    numbers = [each.after_level for each in ladder.breaks]
    yield "ladder.breaks", ladder.by == "time" or not numbers, "a ladder by hands has none"
    yield "ladder.breaks", numbers == sorted(set(numbers)), "one after a level, rising"
    yield "ladder.breaks", all(1 <= each < last for each in numbers), "after a level that ends"
    yield "ladder.breaks", all(1 <= each.duration_ms <= LEVEL_MS_MAX for each in ladder.breaks), "a length"


def _level_rules(config: TournamentConfig, name: str, level: Level, *, is_last: bool) -> Rules:
    is_sarab = config.hand.game == "sarab"
    least = 0 if is_sarab else 1
    blinds = level.small_blind == 0 if is_sarab else level.small_blind <= level.big_blind
    yield name, level.small_blind >= least and blinds, "0 in Sarab, else 1 to the big blind"
    yield name, level.big_blind >= 1, "1 at least"
    kinds = {"none"} if is_sarab else {"none", "each", "big_blind"}
    yield name, level.ante_kind in kinds, "none, each or big_blind; Sarab has forced bets instead"
    yield (
        name,
        (level.ante > 0) == (level.ante_kind != "none") and level.ante >= 0,
        "an ante where there is a kind of it",
    )
    yield name, level.ante <= level.big_blind, "an ante of the big blind at most"
    by_time = config.ladder.by == "time"
    yield name, not (level.hands if by_time else level.duration_ms), "by hands or by time, as the ladder is"
    if not is_last:
        length = level.duration_ms if by_time else level.hands
        yield name, 1 <= length <= LEVEL_MS_MAX, "a length"


def _entry_rules(config: TournamentConfig) -> Rules:
    terms = config.entries
    yield "entries.opens_at_ms", terms.opens_at_ms >= 0 <= terms.starts_at_ms, "times since 1970 in milliseconds"
    late = terms.late_levels
    yield "entries.late_levels", 0 <= late < len(config.ladder.levels), "levels that end"
    yield "entries.late_levels", not late or config.ladder.by == "time", "levels by time"
    yield "entries.re_entries", 0 <= terms.re_entries <= RE_ENTRIES_MAX, f"0 to {RE_ENTRIES_MAX}"
    extras = terms.re_entries or terms.rebuys or terms.has_add_on
    yield "entries.late_levels", bool(late) or not extras, "re-entries, rebuys and add-ons need entries after the start"
    yield "entries.rebuys", 0 <= terms.rebuys <= RE_ENTRIES_MAX, f"0 to {RE_ENTRIES_MAX}"
    yield "entries.rebuy_price", 0 <= terms.rebuy_price <= STACK_MAX // FIELD_MAX, "chips"
    yield "entries.rebuy_chips", not terms.rebuys or 1 <= terms.rebuy_chips <= config.starting_stack, "up to a stack"
    yield "entries.add_on_price", 0 <= terms.add_on_price <= STACK_MAX // FIELD_MAX, "chips"
    add_on = not terms.has_add_on or 1 <= terms.add_on_chips <= 10 * config.starting_stack
    yield "entries.add_on_chips", add_on, "up to ten stacks"
    yield "entries.seed_window_ms", 0 <= terms.seed_window_ms <= SEED_WINDOW_MS_MAX, "0 to a minute"
    yield from _total_rules(config)
    yield "bots.up_to", 0 <= config.bots.up_to <= config.players_max, "0 to players_max"
    yield "bots.after_ms", 0 <= config.bots.after_ms <= LEVEL_MS_MAX, "0 to a day"


def _total_rules(config: TournamentConfig) -> Rules:
    """Yield that whatever is bought by everybody adds up to what clients read exactly and tables and wallet take."""
    terms = config.entries
    chips = config.starting_stack + terms.rebuys * terms.rebuy_chips + terms.has_add_on * terms.add_on_chips
    yield "entries.rebuys", chips * config.players_max <= STACK_MAX, "stacks that all add up exactly"
    price = config.entry + config.fee + terms.rebuys * terms.rebuy_price + terms.has_add_on * terms.add_on_price
    yield "entries.rebuy_price", price * config.players_max < STACK_MAX, "a pool that the wallet takes"


def _payout_rules(config: TournamentConfig) -> Rules:
    payout = config.payout
    yield "payout.table", payout.table in {"field", "shares"}, "field or shares"
    yield "payout.guarantee", 0 <= payout.guarantee <= STACK_MAX // 2, "chips"
    if payout.table == "field":
        yield "payout.shares", not payout.shares, "of the table 'shares' only"
        return
    shares = payout.shares
    yield "payout.shares", 1 <= len(shares) <= config.players_min, "one a place, not more than the fewest players"
    yield "payout.shares", all(share > 0 for share in shares), "every place paid gets something"
    yield "payout.shares", sum(shares) == SHARE_UNIT, f"they sum to {SHARE_UNIT}"
    yield "payout.shares", list(shares) == sorted(shares, reverse=True), "no place gets less than the one after it"


def _floor_rules(config: TournamentConfig) -> Rules:
    floor = config.floor
    yield "floor.gap_few", 1 <= floor.gap_few <= floor.gap_many <= SEATS_MAX, "1 to gap_many"
    yield "floor.few_tables", floor.few_tables >= 0, "a number of tables"
    yield "floor.hand_for_hand_within", floor.hand_for_hand_within >= 1, "1 at least"
    yield "floor.halt_short", 2 <= floor.halt_short <= SEATS_MAX, "2 to 9"
    at = floor.final_table_at
    yield "floor.final_table_at", at == 0 or config.table_size <= at <= SEATS_MAX, "0, or a table's size to 9"
    falling = list(floor.redraw_at) == sorted(set(floor.redraw_at), reverse=True)
    yield "floor.redraw_at", falling and all(each >= 2 for each in floor.redraw_at), "numbers of tables, falling"
    yield "floor.redraw_entries", floor.redraw_entries >= 0, "a number of entries"
    for name in ("hand_clock_ms", "late_table_ms", "runout_ms"):
        yield f"floor.{name}", 1 <= getattr(floor, name) <= 3_600_000, "up to an hour"


def _kind_rules(config: TournamentConfig) -> Rules:
    terms, kind = config.entries, config.kind
    is_spin = kind == "spin"
    if kind == "scheduled":
        opens, starts = terms.opens_at_ms, terms.starts_at_ms
        yield "entries.opens_at_ms", opens < starts or not starts, "before the start"
    else:
        yield "entries.starts_at_ms", not terms.starts_at_ms, "of scheduled tournaments only"
        yield "entries.late_levels", not terms.late_levels, "of scheduled tournaments only"
        yield "players_min", config.players_min == config.players_max, "it starts when the seats are full"
        yield "payout.guarantee", not config.payout.guarantee, "of scheduled tournaments only"
    yield "hand.limit", config.hand.limit in GAMES[config.hand.game].limits, "a limit that the game is played with"
    if config.hand.game == "sarab":
        is_carried = config.hand.sarab is not None and config.hand.sarab.void_antes == "carry"
        yield "hand.sarab.void_antes", not is_carried, "refund: between hands all chips stand in front of players"
        yield "players_max", config.players_max <= config.table_size, "Sarab is a freeze-out at one table"
        yield "entries.late_levels", not terms.late_levels, "Sarab is a freeze-out: no late seat"
    yield "multipliers", bool(config.multipliers) == is_spin, "of a Spin only"
    if is_spin:
        yield "players_max", config.players_max == spin.SPIN_SEATS <= config.table_size, "three"
        yield "multipliers", len(config.multipliers) <= MULTIPLIERS_MAX, f"{MULTIPLIERS_MAX} at most"
        yield from _multiplier_rules(config)


def _multiplier_rules(config: TournamentConfig) -> Rules:
    for line in config.multipliers:
        yield "multipliers", line.times >= 1 <= line.weight, "a multiplier and a weight of 1 at least"
        yield "multipliers", spin.splits(line), "shares that split the whole among at most three places"
        least = config.ladder.levels[0].big_blind + config.ladder.levels[0].ante
        is_stack = line.starting_stack == 0 or least < line.starting_stack <= STACK_MAX // SEATS_MAX
        yield "multipliers", is_stack, "a stack above the first blinds, or 0"
        by_time = config.ladder.by == "time"
        yield "multipliers", 0 <= line.level_ms <= (LEVEL_MS_MAX if by_time else 0), "a level's length, or 0"
    most = max([line.times for line in config.multipliers])
    yield "multipliers", most * max(config.entry, 1) <= STACK_MAX // 4, "a pool that clients read exactly"
    all_weights = sum(spin.weights_of(config.multipliers))
    yield "multipliers", all_weights <= STACK_MAX, "weights whose sum can be drawn from and is read exactly"
    yield "multipliers", spin.has_mean(config.multipliers), f"a mean of exactly {spin.MEAN}"
