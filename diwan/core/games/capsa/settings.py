"""What a Capsa table may set, pinned in the hand's first event (capsa.md section 3), and whether it makes sense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import astuple, replace

from diwan.core.decider import Rejected
from diwan.core.games.capsa.view import Chips, Seat
from diwan.core.limits import DECISION_SECONDS_MAX, PLAYERS_MIN, STACK_MAX
from diwan.core.reasons import Reason

type Units = int
type Scoring = Literal["2-4", "1-6", "1-4", "rows", "custom"]
type Wheel = Literal["low", "second"]
type TimeoutPolicy = Literal["draft_then_auto", "auto", "foul"]
type NaturalKind = Literal[
    "dragon",
    "three_flushes",
    "three_straights",
    "six_pairs",
    "suited_dragon",
    "one_colour_13",
    "one_colour_12",
    "five_pairs_trips",
    "three_straight_flushes",
    "four_trips",
    "twelve_royals",
    "all_high",
    "all_low",
    "no_faces",
]

NATURAL_KINDS: Final = frozenset(get_args(NaturalKind.__value__))

CAPSA_SEATS_MAX: Final = 4
"""Four times thirteen cards are the deck (CS-2)."""
UNITS_MAX: Final = 10_000
"""No bonus, price, royalty or natural above this makes sense; sums of them stay exact everywhere."""

_PRESETS: Final[dict[str, tuple[Units, Units]]] = {"2-4": (1, 0), "1-6": (0, 3), "1-4": (0, 1), "rows": (0, 0)}
_DRAGON_UNITS: Final = 13
_ORDINARY: Final[tuple[NaturalKind, ...]] = ("three_flushes", "three_straights", "six_pairs")

# A hand counts as the highest listed kind that it fits (CS-78): a kind below one that contains it would never be paid.
# The order of the four kinds of the default table is the house's own.
_CONTAINED_IN: Final[dict[str, frozenset[str]]] = {
    "five_pairs_trips": frozenset({"six_pairs"}),
    "suited_dragon": frozenset(
        {"dragon", "one_colour_13", "three_flushes", "three_straights", "three_straight_flushes"}
    ),
    "three_straight_flushes": frozenset({"three_flushes", "three_straights"}),
    "all_low": frozenset({"no_faces"}),
}


class NaturalAward(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of natural that the table pays, and its units."""

    kind: NaturalKind
    units: Units


class SurrenderTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a player may surrender, and what that costs against each opponent who plays on (CS-53)."""

    allowed: bool = True
    price: Units = 3


class RowRoyalties(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Units for strong hands in one row. Nothing is 0, but a royal flush then counts as a straight flush (finer 12)."""

    trips: Units | None = None
    full_house: Units | None = None
    quads: Units | None = None
    straight_flush: Units | None = None
    royal_flush: Units | None = None


class Royalties(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The royalty table (CS-46, CS-47); an empty one pays nothing."""

    front: RowRoyalties = RowRoyalties()
    middle: RowRoyalties = RowRoyalties()
    back: RowRoyalties = RowRoyalties()


class PairUnit(Struct, frozen=True, forbid_unknown_fields=True):
    """A stake that two seats agreed upon for themselves (CS-62)."""

    a: Seat
    b: Seat
    unit: Chips


DEFAULT_ROYALTIES: Final = Royalties(
    front=RowRoyalties(trips=3),
    middle=RowRoyalties(full_house=2, quads=8, straight_flush=10, royal_flush=14),
    back=RowRoyalties(quads=4, straight_flush=5, royal_flush=7),
)


class CapsaSettings(Struct, frozen=True, kw_only=True):
    """Settings of one Capsa hand. Stakes in chips, everything else that is won or lost in units, times in seconds.

    ``overall_bonus``, ``scoop_bonus`` and ``naturals`` left out follow from ``scoring``; `checked` fills them in.
    """

    game: Literal["capsa"] = "capsa"
    players: int = 4
    scoring: Scoring = "2-4"
    overall_bonus: Units | None = None
    scoop_bonus: Units | None = None
    royalties: Royalties = DEFAULT_ROYALTIES
    royalty_mode: Literal["winner", "cancel", "net"] = "winner"
    one_royalty_per_player: bool = False  # CS-42
    broken_royalties: bool = False  # CS-48
    royalty_declaration: Literal["auto"] = "auto"  # CS-41, reserved
    naturals: tuple[NaturalAward, ...] | None = None  # CS-80, highest first
    surrender: SurrenderTerms = SurrenderTerms()
    foul_pays_royalties: bool = True  # CS-51
    wheel: Wheel = "low"
    suit_order: None = None  # CS-14, reserved
    unit: Chips = 1
    pair_units: tuple[PairUnit, ...] = ()
    loss_cap_units: Units | None = None  # CS-64
    set_seconds: int = 60
    declare_seconds: int = 10
    timeout_policy: TimeoutPolicy = "draft_then_auto"  # CS-28


def bonuses(settings: CapsaSettings) -> tuple[Units, Units]:
    """Return the overall and the scoop bonus of the scoring (CS-34 to CS-37)."""
    overall, scoop = _PRESETS.get(settings.scoring, (0, 0))
    return (
        overall if settings.overall_bonus is None else settings.overall_bonus,
        scoop if settings.scoop_bonus is None else settings.scoop_bonus,
    )


def scoop_value(settings: CapsaSettings) -> Units:
    """Return what winning all three rows is worth without royalties (CS-38)."""
    return 3 + sum(bonuses(settings))


def naturals_of(settings: CapsaSettings) -> tuple[NaturalAward, ...]:
    """Return the naturals that the table pays, highest first; the ordinary ones pay the scoop value (CS-80)."""
    if settings.naturals is not None:
        return settings.naturals
    ordinary = scoop_value(settings)
    dragon = NaturalAward("dragon", max(_DRAGON_UNITS, ordinary))
    return (dragon, *[NaturalAward(kind, ordinary) for kind in _ORDINARY])


def stake_of(settings: CapsaSettings, a: Seat, b: Seat) -> Chips:
    """Return the chips that a unit is worth between two seats (CS-62)."""
    for pair in settings.pair_units:
        if {pair.a, pair.b} == {a, b}:
            return pair.unit
    return settings.unit


def most_units(settings: CapsaSettings) -> Units:
    """Return M of CS-65: the most units that one player can lose to another."""
    rows = astuple(settings.royalties)
    royalties = sum([max([units or 0 for units in astuple(row)]) for row in rows])
    naturals = max([award.units for award in naturals_of(settings)], default=0)
    most = max(scoop_value(settings) + royalties, naturals, settings.surrender.price)
    return most if settings.loss_cap_units is None else min(most, settings.loss_cap_units)


def checked(settings: CapsaSettings) -> CapsaSettings:
    """Return settings with what follows from the scoring filled in; raises SETTING_INVALID, saying which and why."""
    for setting, is_right, why in setting_rules(settings):
        if not is_right:
            raise Rejected(Reason.SETTING_INVALID, setting=setting, why=why)
    return completed(settings)


def completed(settings: CapsaSettings) -> CapsaSettings:
    """Return settings with what follows from the scoring filled in, whether or not they make sense."""
    overall, scoop = bonuses(settings)
    return replace(settings, overall_bonus=overall, scoop_bonus=scoop, naturals=naturals_of(settings))


def setting_rules(settings: CapsaSettings) -> Iterator[tuple[str, bool, str]]:
    """Yield settings by their names, whether each makes sense, and what would."""
    yield "game", settings.game == "capsa", "capsa"
    yield "players", PLAYERS_MIN <= settings.players <= CAPSA_SEATS_MAX, "2 to 4"
    yield from _scoring_rules(settings)
    yield from _royalty_rules(settings)
    yield from _natural_rules(naturals_of(settings))
    highest = scoop_value(settings)
    is_price = 1 <= settings.surrender.price <= highest
    yield "surrender.price", is_price, f"1 to the scoop value of the scoring, which is {highest} (CS-54)"
    yield "wheel", settings.wheel in {"low", "second"}, "low or second"
    yield "suit_order", settings.suit_order is None, "reserved: suits have no order (CS-14)"
    cap = settings.loss_cap_units
    yield "loss_cap_units", cap is None or cap >= 1, "nothing, or 1 at least"
    yield "set_seconds", 1 <= settings.set_seconds <= DECISION_SECONDS_MAX, "1 second to an hour"
    yield "declare_seconds", 1 <= settings.declare_seconds <= DECISION_SECONDS_MAX, "1 second to an hour"
    is_policy = settings.timeout_policy in {"draft_then_auto", "auto", "foul"}
    yield "timeout_policy", is_policy, "draft_then_auto, auto or foul"
    yield from _stake_rules(settings)


def _scoring_rules(settings: CapsaSettings) -> Iterator[tuple[str, bool, str]]:
    yield "scoring", settings.scoring in {*_PRESETS, "custom"}, "2-4, 1-6, 1-4, rows or custom"
    preset = _PRESETS.get(settings.scoring)
    for number, (name, bonus) in enumerate(
        (("overall_bonus", settings.overall_bonus), ("scoop_bonus", settings.scoop_bonus))
    ):
        if preset is None:
            yield name, bonus is not None, "scoring custom takes both bonuses explicitly (CS-37)"
            yield name, 0 <= (bonus or 0) <= UNITS_MAX, f"0 to {UNITS_MAX}"
        else:
            agrees = bonus is None or bonus == preset[number]
            yield name, agrees, f"scoring {settings.scoring} means {preset[number]}; another bonus is scoring custom"


def _royalty_rules(settings: CapsaSettings) -> Iterator[tuple[str, bool, str]]:
    table = settings.royalties
    for name, row in (("front", table.front), ("middle", table.middle), ("back", table.back)):
        for category, units in zip(RowRoyalties.__struct_fields__, astuple(row), strict=True):
            yield f"royalties.{name}.{category}", 0 <= (units or 0) <= UNITS_MAX, f"0 to {UNITS_MAX}"
            is_possible = name != "front" or category == "trips" or not units
            yield f"royalties.{name}.{category}", is_possible, "three cards are never more than three of a kind"
    yield "royalty_mode", settings.royalty_mode in {"winner", "cancel", "net"}, "winner, cancel or net"
    yield "royalty_declaration", settings.royalty_declaration == "auto", "reserved: the server declares (CS-41)"


def _natural_rules(awards: tuple[NaturalAward, ...]) -> Iterator[tuple[str, bool, str]]:
    above: list[NaturalAward] = []
    for award in awards:
        kinds = {each.kind for each in above}
        yield "naturals", award.kind in NATURAL_KINDS, f"{award.kind} is no kind of natural"
        yield "naturals", award.kind not in kinds, f"{award.kind} is listed twice"
        yield "naturals", 1 <= award.units <= UNITS_MAX, f"{award.kind}: 1 to {UNITS_MAX} units"
        yield "naturals", not above or award.units <= above[-1].units, "units must not increase down the list (CS-80)"
        hidden = sorted(kinds & _CONTAINED_IN.get(award.kind, frozenset()))
        yield "naturals", not hidden, f"{award.kind} below {', '.join(hidden)} would never be paid"
        above.append(award)


def _stake_rules(settings: CapsaSettings) -> Iterator[tuple[str, bool, str]]:
    # The reserve against three opponents (CS-65) must stay a number of chips that a seat can hold.
    highest = STACK_MAX // (most_units(settings) * (CAPSA_SEATS_MAX - 1))
    yield "unit", 1 <= settings.unit <= highest, f"1 to {highest} chips"
    pairs: set[frozenset[Seat]] = set()
    for pair in settings.pair_units:
        seats = frozenset({pair.a, pair.b})
        are_seats = len(seats) == 2 and all(0 <= seat < CAPSA_SEATS_MAX for seat in seats)
        yield "pair_units", are_seats, "two different seats of the table"
        yield "pair_units", seats not in pairs, "one stake a pair"
        yield "pair_units", 1 <= pair.unit <= highest, f"1 to {highest} chips"
        pairs.add(seats)
