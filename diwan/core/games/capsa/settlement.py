"""What every pair of players owes each other (capsa.md section 4)."""

from __future__ import annotations

from msgspec import Struct

from diwan.core.games.capsa.events import PairSettled, RowResults, Status
from diwan.core.games.capsa.naturals import Natural
from diwan.core.games.capsa.rows import RowValue
from diwan.core.games.capsa.settings import CapsaSettings, Units, bonuses, naturals_of, scoop_value, stake_of
from diwan.core.hand.events import Seat


class Contestant(Struct, frozen=True):
    """A seat as the settlement sees it. ``values`` and ``royalties`` are front, middle, back."""

    seat: Seat
    status: Status
    natural: Natural | None = None
    values: tuple[RowValue, RowValue, RowValue] | None = None  # of a legal set that plays
    royalties: tuple[Units, Units, Units] = (0, 0, 0)


class PairUnits(Struct, frozen=True):
    """The parts of a pair's result, seen from the first of the two; ``units`` is their sum, cut to the cap."""

    rows: RowResults | None = None
    row_units: Units = 0
    overall: Units = 0
    scoop: Units = 0
    royalty: Units = 0
    other: Units = 0

    @property
    def total(self) -> Units:
        """All parts together, before the cap."""
        return self.row_units + self.overall + self.scoop + self.royalty + self.other


def settle_pair(settings: CapsaSettings, p: Contestant, q: Contestant) -> PairSettled:
    """Return the line of a pair; positive units go from ``q`` to ``p``."""
    parts = _parts(settings, p, q)
    units = parts.total
    if settings.loss_cap_units is not None:
        units = max(-settings.loss_cap_units, min(units, settings.loss_cap_units))
    return PairSettled(
        a=p.seat,
        b=q.seat,
        rows=parts.rows,
        row_units=parts.row_units,
        overall=parts.overall,
        scoop=parts.scoop,
        royalty=parts.royalty,
        other=parts.other,
        units=units,
        chips=units * stake_of(settings, p.seat, q.seat),
    )


def _parts(settings: CapsaSettings, p: Contestant, q: Contestant) -> PairUnits:
    if p.natural or q.natural:
        return PairUnits(other=_natural_units(settings, p.natural, q.natural))
    if p.status == "set" and q.status == "set":
        return _compared(settings, p, q)
    if p.status == "set":
        royalty, other = _from_absent(settings, p, q)
        return PairUnits(royalty=royalty, other=other)
    if q.status == "set":
        royalty, other = _from_absent(settings, q, p)
        return PairUnits(royalty=-royalty, other=-other)
    return PairUnits()  # CS-52, CS-56


def _natural_units(settings: CapsaSettings, p: Natural | None, q: Natural | None) -> Units:
    """Units of naturals; of two only the winner's own are paid (CS-76), between equal ones none (CS-79)."""
    if q is None:
        return 0 if p is None else p.award.units
    if p is None:
        return -q.award.units
    if p.award.kind != q.award.kind:
        kinds = [award.kind for award in naturals_of(settings)]
        is_higher = kinds.index(p.award.kind) < kinds.index(q.award.kind)
        return p.award.units if is_higher else -q.award.units
    return _sign(p.tie_key, q.tie_key) * p.award.units


def _from_absent(settings: CapsaSettings, winner: Contestant, loser: Contestant) -> tuple[Units, Units]:
    """Royalty and other units that a surrendered (CS-53, CS-55) or fouled (CS-50, CS-51) player owes."""
    if loser.status == "surrendered":
        return 0, settings.surrender.price
    return sum(winner.royalties) if settings.foul_pays_royalties else 0, scoop_value(settings)


def _compared(settings: CapsaSettings, p: Contestant, q: Contestant) -> PairUnits:
    if p.values is None or q.values is None:
        raise ValueError(f"seats {p.seat} and {q.seat} both play and have no rows to compare")
    results = [_sign(mine, theirs) for mine, theirs in zip(p.values, q.values, strict=True)]
    overall_bonus, scoop_bonus = bonuses(settings)
    won, lost = results.count(1), results.count(-1)
    royalty = sum([_royalty(settings, *row) for row in zip(results, p.royalties, q.royalties, strict=True)])
    return PairUnits(
        rows=RowResults(*results),
        row_units=won - lost,
        overall=overall_bonus * ((won >= 2) - (lost >= 2)),  # by rows alone, never by royalties (CS-39)
        scoop=scoop_bonus * ((won == 3) - (lost == 3)),
        royalty=royalty,
    )


def _royalty(settings: CapsaSettings, result: int, mine: Units, theirs: Units) -> Units:
    if settings.royalty_mode == "net":  # CS-45
        return mine - theirs
    if settings.royalty_mode == "cancel" and mine and theirs:  # CS-44
        return 0
    if result > 0:
        return mine
    return -theirs if result < 0 else 0


def _sign[T: (RowValue, tuple[RowValue, ...])](mine: T, theirs: T) -> int:
    return (mine > theirs) - (mine < theirs)
