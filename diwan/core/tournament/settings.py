"""Everything that is set for a tournament before anybody enters; whether it makes sense is said in `checking`.

Chips are whole numbers. Entries, fees and prizes are chips of the wallet; stacks and blinds are the tournament's own
chips, which never touch it (L12, TR-4).
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from diwan.core.hand.events import Chips
from diwan.core.hand.settings import HandSettings

SHARE_UNIT: Final = 100_000
"""Shares of a prize pool are thousandths of a percent: 27.5 % is 27,500."""

type TournamentKind = Literal["sit_and_go", "spin", "scheduled"]
type AnteKind = Literal["none", "each", "big_blind"]
type LadderBy = Literal["time", "hands"]
type PayoutTable = Literal["field", "shares"]


class Level(Struct, frozen=True):
    """One level. Exactly one of ``duration_ms`` and ``hands`` is set, as the ladder runs; the last level stays for ever.

    ``ante`` is owed by each player, or once by the big blind (RP-11). In Sarab ``big_blind`` is the forced bet and
    ``small_blind`` 0.
    """

    small_blind: Chips
    big_blind: Chips
    ante: Chips = 0
    ante_kind: AnteKind = "none"
    duration_ms: int = 0
    hands: int = 0


class Break(Struct, frozen=True):
    """A pause after the level of this number (from 1): no hand starts meanwhile, running ones end."""

    after_level: int
    duration_ms: int


class Ladder(Struct, frozen=True):
    """The schedule of levels. A ladder by hands has no breaks and belongs to single-table tournaments."""

    levels: tuple[Level, ...]
    by: LadderBy = "time"
    breaks: tuple[Break, ...] = ()


class EntryTerms(Struct, frozen=True, kw_only=True):
    """How one gets in. Times are absolute; 0 in ``opens_at_ms`` opens at once, ``starts_at_ms`` is a scheduled one's.

    Late registration and re-entry last until level ``late_levels`` ends (0: until play begins), never beyond the money.
    A re-entry is a new entry at its full price by a player who is out; ``re_entries`` a player (0: none). A rebuy is
    asked for at the seat with no more than the starting stack, an add-on once a player; both as long as entries last,
    both bring ``rebuy_chips`` and ``add_on_chips`` for their price, which goes into the pool without a fee.

    For ``seed_window_ms`` at most the first draw waits for the seeds that entrants have committed to; 0: it takes none.
    """

    opens_at_ms: int = 0
    starts_at_ms: int = 0
    late_levels: int = 0
    re_entries: int = 0
    rebuys: int = 0
    rebuy_price: Chips = 0
    rebuy_chips: Chips = 0
    has_add_on: bool = False
    add_on_price: Chips = 0
    add_on_chips: Chips = 0
    seed_window_ms: int = 5_000


class Payout(Struct, frozen=True, kw_only=True):
    """How the pool is shared: by the published table for the field's size, or by ``shares`` of `SHARE_UNIT` by place.

    The pool is the entries, or ``guarantee`` where they are less; the house pays the difference.
    """

    table: PayoutTable = "field"
    shares: tuple[int, ...] = ()
    guarantee: Chips = 0


class Multiplier(Struct, frozen=True, kw_only=True):
    """One line of a Spin's table: ``times`` the entry is the pool, drawn as often as ``weight`` of all weights says.

    ``shares`` split it by place (F1: the winner takes all unless said). A stack or level length of 0 is the template's.
    """

    times: int
    weight: int
    shares: tuple[int, ...] = (SHARE_UNIT,)
    starting_stack: Chips = 0
    level_ms: int = 0


class FloorRules(Struct, frozen=True, kw_only=True):
    """How the floor is run. Differences are in players between the longest and the shortest table.

    With more than ``few_tables`` tables a difference of ``gap_many`` is let be, with fewer or as many ``gap_few``
    (TDA R11, WSOP R67); a table ``halt_short`` players short waits for its players. ``final_table_at`` 0 is WSOP R68 by
    the table's size. ``redraw_at`` are the numbers of tables at which everybody draws a new seat, in tournaments of
    ``redraw_entries`` or more entries. Hand-for-hand begins when ``hand_for_hand_within`` players or fewer
    are to go out before the money. ``hand_clock_ms`` is what a hand of hand-for-hand takes from the level whatever
    it took, ``late_table_ms`` how long the others wait for a table, ``runout_ms`` how long an all-in waits (RP-8).
    """

    gap_many: int = 2
    gap_few: int = 1
    few_tables: int = 12
    halt_short: int = 3
    final_table_at: int = 0
    redraw_at: tuple[int, ...] = (3, 2)
    redraw_entries: int = 100
    hand_for_hand: bool = True
    hand_for_hand_within: int = 2
    hand_clock_ms: int = 120_000
    late_table_ms: int = 180_000
    runout_ms: int = 180_000


class BotTerms(Struct, frozen=True, kw_only=True):
    """Whether bots may enter: ``up_to`` so many, 0 is none. They are marked everywhere.

    They are asked for where seats are still free ``after_ms`` after the first person's entry, in a scheduled tournament
    so long before its start.
    """

    up_to: int = 0
    after_ms: int = 30_000


class TableTerms(Struct, frozen=True, kw_only=True):
    """What every table of the tournament is opened with; the fields are those of a table's settings."""

    pause_ms: int = 3000
    reserve_seconds: int = 60
    time_bank_seconds: int = 30
    time_bank_gain_seconds: int = 1
    spectator_delay_events: int = 0


class TournamentConfig(Struct, frozen=True, kw_only=True):
    """A tournament's settings: a template with its times filled in.

    ``hand`` names the game, its limit and its clocks; its blinds are those of the ladder's first level. A Sit & Go or a
    Spin starts with the entry of number ``players_max``. ``alarm_after_ms``: a payment that is not settled by then is
    told of, and goes on being retried.
    """

    name: str
    kind: TournamentKind
    hand: HandSettings = HandSettings()
    table_size: int = 9
    players_min: int = 2
    players_max: int = 9
    entry: Chips = 0
    fee: Chips = 0
    starting_stack: Chips = 1500
    ladder: Ladder
    entries: EntryTerms = EntryTerms()
    payout: Payout = Payout()
    multipliers: tuple[Multiplier, ...] = ()  # of a Spin only
    floor: FloorRules = FloorRules()
    bots: BotTerms = BotTerms()
    tables: TableTerms = TableTerms()
    first_hand_ms: int = 5000  # from the last seat taken to the first hand: time to see seats and multiplier
    alarm_after_ms: int = 60_000
    template: str = ""  # the name of the template that it was made from
