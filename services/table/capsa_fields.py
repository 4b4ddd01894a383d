"""What requests about Capsa may hold: a table's settings, and rows of cards."""

from typing import Final, get_args, get_type_hints

from diwan.api.event.v1 import capsa_pb2
from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import (
    DEFAULT_ROYALTIES,
    NATURAL_KINDS,
    CapsaSettings,
    NaturalAward,
    PairUnit,
    Scoring,
    SurrenderTerms,
    TimeoutPolicy,
    Wheel,
)
from diwan.wire.capsa import read_royalties

_PLAIN: Final = CapsaSettings()
_HINTS: Final = get_type_hints(CapsaSettings)
_SCORINGS: Final = get_args(Scoring.__value__)
_ROYALTY_MODES: Final = get_args(_HINTS["royalty_mode"])
_DECLARATIONS: Final = get_args(_HINTS["royalty_declaration"])
_WHEELS: Final = get_args(Wheel.__value__)
_POLICIES: Final = get_args(TimeoutPolicy.__value__)

AWARDS_MAX: Final = len(NATURAL_KINDS)


def capsa_settings(given: capsa_pb2.CapsaSettings, seats: int) -> CapsaSettings:
    """Return the settings of a Capsa table with what was left out at its default; the core judges their sense.

    ``seats`` are those of the table, 0 where it does not say.
    """
    return CapsaSettings(
        game=_word(given.game, "capsa.game", ("capsa",)),  # type: ignore[arg-type]  # looked at there, as all below
        players=given.players or seats or _PLAIN.players,
        scoring=_word(given.scoring, "capsa.scoring", _SCORINGS),  # type: ignore[arg-type]
        overall_bonus=given.overall_bonus if given.HasField("overall_bonus") else None,
        scoop_bonus=given.scoop_bonus if given.HasField("scoop_bonus") else None,
        royalties=read_royalties(given.royalties) if given.HasField("royalties") else DEFAULT_ROYALTIES,
        royalty_mode=_word(given.royalty_mode, "capsa.royalty_mode", _ROYALTY_MODES),  # type: ignore[arg-type]
        one_royalty_per_player=given.one_royalty_per_player,
        broken_royalties=given.broken_royalties,
        royalty_declaration=_word(given.royalty_declaration, "capsa.royalty_declaration", _DECLARATIONS),  # type: ignore[arg-type]
        naturals=_naturals(given.naturals) if given.HasField("naturals") else None,
        surrender=_surrender(given.surrender),
        foul_pays_royalties=given.foul_pays_royalties if given.HasField("foul_pays_royalties") else True,
        wheel=_word(given.wheel, "capsa.wheel", _WHEELS),  # type: ignore[arg-type]
        unit=given.unit or _PLAIN.unit,
        pair_units=tuple(PairUnit(pair.a, pair.b, pair.unit) for pair in given.pair_units),
        loss_cap_units=given.loss_cap_units if given.HasField("loss_cap_units") else None,
        set_seconds=given.set_seconds or _PLAIN.set_seconds,
        declare_seconds=given.declare_seconds or _PLAIN.declare_seconds,
        timeout_policy=_word(given.timeout_policy, "capsa.timeout_policy", _POLICIES),  # type: ignore[arg-type]
    )


def _naturals(given: capsa_pb2.NaturalTable) -> tuple[NaturalAward, ...]:
    if len(given.awards) > AWARDS_MAX:
        raise Rejected("SETTING_INVALID", setting="capsa.naturals", why=f"at most {AWARDS_MAX} kinds")
    kinds = [_word(award.kind, "capsa.naturals", tuple(sorted(NATURAL_KINDS)), usual="") for award in given.awards]
    return tuple(NaturalAward(kind, award.units) for kind, award in zip(kinds, given.awards, strict=True))  # type: ignore[arg-type]


def _surrender(given: capsa_pb2.SurrenderTerms) -> SurrenderTerms:
    plain = _PLAIN.surrender
    return SurrenderTerms(
        given.allowed if given.HasField("allowed") else plain.allowed,
        given.price or plain.price,
    )


def _word(text: str, setting: str, known: tuple[str, ...], usual: str | None = None) -> str:
    """Return a word of a setting, the usual one or else the first where it was left out; raises SETTING_INVALID."""
    word = text or (known[0] if usual is None else usual)
    if word not in known:
        raise Rejected("SETTING_INVALID", setting=setting, why=" or ".join(known))
    return word
