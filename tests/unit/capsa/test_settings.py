"""Every setting of capsa.md section 3, and what a wrong or contradictory one is told (CS-34 to CS-80)."""

import pytest
from msgspec import convert

from diwan.core.decider import Rejected
from diwan.core.games.capsa.reserve import dealt_in, reserve_of
from diwan.core.games.capsa.settings import (
    CapsaSettings,
    NaturalAward,
    PairUnit,
    RowRoyalties,
    Royalties,
    SurrenderTerms,
    checked,
    most_units,
    naturals_of,
    scoop_value,
)
from tests.unit.capsa.play import Hand


def refusal(**changes):
    with pytest.raises(Rejected) as caught:
        checked(CapsaSettings(**changes))
    assert caught.value.reason == "SETTING_INVALID"
    assert caught.value.facts["why"]
    return caught.value.facts["setting"]


def test_the_defaults_are_those_of_the_page():
    """Section 3."""
    settings = checked(CapsaSettings(unit=10))
    assert (settings.players, settings.scoring, settings.overall_bonus, settings.scoop_bonus) == (4, "2-4", 1, 0)
    assert settings.royalties == Royalties(
        front=RowRoyalties(trips=3),
        middle=RowRoyalties(full_house=2, quads=8, straight_flush=10, royal_flush=14),
        back=RowRoyalties(quads=4, straight_flush=5, royal_flush=7),
    )
    assert (settings.royalty_mode, settings.royalty_declaration) == ("winner", "auto")
    assert not settings.one_royalty_per_player
    assert not settings.broken_royalties
    assert settings.surrender == SurrenderTerms(allowed=True, price=3)
    assert settings.foul_pays_royalties
    assert (settings.wheel, settings.suit_order, settings.pair_units, settings.loss_cap_units) == (
        "low",
        None,
        (),
        None,
    )
    assert (settings.set_seconds, settings.declare_seconds, settings.timeout_policy) == (60, 10, "draft_then_auto")


@pytest.mark.parametrize(
    ("scoring", "scoop", "ordinary", "most"),
    [("2-4", 4, 4, 28), ("1-6", 6, 6, 30), ("1-4", 4, 4, 28), ("rows", 3, 3, 27)],
)
def test_the_scoring_says_the_scoop_value_the_naturals_and_the_reserve(scoring, scoop, ordinary, most):
    """CS-34 to CS-38, CS-65, CS-80."""
    settings = checked(CapsaSettings(scoring=scoring))
    assert scoop_value(settings) == scoop
    assert [(award.kind, award.units) for award in naturals_of(settings)] == [
        ("dragon", 13),
        ("three_flushes", ordinary),
        ("three_straights", ordinary),
        ("six_pairs", ordinary),
    ]
    assert most_units(settings) == most


def test_checked_settings_stay_as_they_are():
    """What the first event records is decided again from it."""
    settings = checked(CapsaSettings(scoring="custom", overall_bonus=2, scoop_bonus=20))
    assert checked(settings) == settings
    assert naturals_of(settings)[0].units == 25  # units never increase down the list


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"players": 1}, "players"),
        ({"players": 5}, "players"),
        ({"scoring": "3-5"}, "scoring"),
        ({"scoring": "2-4", "overall_bonus": 2}, "overall_bonus"),
        ({"scoring": "1-6", "scoop_bonus": 0}, "scoop_bonus"),
        ({"scoring": "custom"}, "overall_bonus"),
        ({"scoring": "custom", "overall_bonus": 1}, "scoop_bonus"),
        ({"scoring": "custom", "overall_bonus": -1, "scoop_bonus": 0}, "overall_bonus"),
        ({"royalties": Royalties(back=RowRoyalties(quads=-1))}, "royalties.back.quads"),
        ({"royalties": Royalties(front=RowRoyalties(full_house=1))}, "royalties.front.full_house"),
        ({"royalty_mode": "all"}, "royalty_mode"),
        ({"royalty_declaration": "player"}, "royalty_declaration"),
        ({"naturals": (NaturalAward("dragon", 4), NaturalAward("six_pairs", 5))}, "naturals"),
        ({"naturals": (NaturalAward("dragon", 4), NaturalAward("dragon", 4))}, "naturals"),
        ({"naturals": (NaturalAward("dragon", 0),)}, "naturals"),
        ({"naturals": (NaturalAward("no_such", 4),)}, "naturals"),
        ({"naturals": (NaturalAward("six_pairs", 4), NaturalAward("five_pairs_trips", 4))}, "naturals"),
        ({"naturals": (NaturalAward("dragon", 4), NaturalAward("suited_dragon", 4))}, "naturals"),
        ({"surrender": SurrenderTerms(price=0)}, "surrender.price"),
        ({"surrender": SurrenderTerms(price=5)}, "surrender.price"),
        ({"scoring": "rows", "surrender": SurrenderTerms(price=4)}, "surrender.price"),
        ({"wheel": "high"}, "wheel"),
        ({"suit_order": "shdc"}, "suit_order"),
        ({"unit": 0}, "unit"),
        ({"unit": 2**53}, "unit"),
        ({"pair_units": (PairUnit(1, 1, 5),)}, "pair_units"),
        ({"pair_units": (PairUnit(0, 4, 5),)}, "pair_units"),
        ({"pair_units": (PairUnit(0, 1, 0),)}, "pair_units"),
        ({"pair_units": (PairUnit(0, 1, 5), PairUnit(1, 0, 6))}, "pair_units"),
        ({"loss_cap_units": 0}, "loss_cap_units"),
        ({"set_seconds": 0}, "set_seconds"),
        ({"declare_seconds": 4000}, "declare_seconds"),
        ({"timeout_policy": "surrender"}, "timeout_policy"),
    ],
)
def test_a_wrong_setting_is_refused_by_name_and_with_a_reason(changes, setting):
    assert refusal(**changes) == setting


def test_settings_are_checked_when_a_hand_is_dealt():
    """CS-61: what a hand records is what was checked."""
    with pytest.raises(Rejected) as caught:
        Hand("KdKc7h|JsJh8d8c4s|AsTs8s5s3s", "AhQd9c|TdTc6h6d2c|QsQhQc3h3d", surrender=SurrenderTerms(price=9))
    assert caught.value.facts["setting"] == "surrender.price"


def test_an_empty_royalty_table_means_none_and_a_partial_one_its_rows_only():
    """CS-47."""
    assert convert({"royalties": {}}, CapsaSettings).royalties == Royalties()
    assert convert({"royalties": {"back": {"quads": 1}}}, CapsaSettings).royalties.front == RowRoyalties()


def test_the_reserve_covers_the_worst_against_everybody():
    """CS-65: three opponents at unit 10 need 840 or 900 chips; CS-62 stakes and CS-64 caps count."""
    seats = (0, 1, 2, 3)
    assert reserve_of(CapsaSettings(unit=10), 0, seats) == 840
    assert reserve_of(CapsaSettings(unit=10, scoring="1-6"), 0, seats) == 900
    assert reserve_of(CapsaSettings(unit=10, pair_units=(PairUnit(1, 0, 100),)), 0, seats) == 28 * 120
    assert reserve_of(CapsaSettings(unit=10, loss_cap_units=8), 0, seats) == 240
    assert reserve_of(CapsaSettings(unit=10, royalties=Royalties(), naturals=()), 0, seats) == 120


def test_who_cannot_cover_the_reserve_is_dealt_out_and_told_why():
    """CS-65."""
    seats, short = dealt_in(CapsaSettings(unit=10), {0: 1000, 1: 839, 2: 840, 3: 840}, 0)
    assert seats == (0, 2, 3)
    assert [(each.seat, each.stack, each.reserve) for each in short] == [(1, 839, 840)]


def test_those_who_cover_a_smaller_game_play_it():
    """CS-65: with the poorest out the others need less; of equally poor ones the last in the order of the deal goes."""
    settings = CapsaSettings(unit=10)
    assert dealt_in(settings, {0: 300, 1: 400, 2: 5000}, 2)[0] == (1, 2)
    assert dealt_in(settings, {0: 300, 1: 300, 2: 5000}, 2)[0] == (0, 2)
    assert dealt_in(settings, {0: 300, 1: 300, 2: 5000}, 0)[0] == (1, 2)
    assert dealt_in(settings, {0: 100, 1: 100}, 0)[0] in {(0,), (1,)}


def test_a_hand_without_the_reserve_is_not_dealt():
    """CS-65: the reason names the seat and what it lacks."""
    with pytest.raises(Rejected) as caught:
        Hand("KdKc7h|JsJh8d8c4s|AsTs8s5s3s", "AhQd9c|TdTc6h6d2c|QsQhQc3h3d", stacks=[279, 280])
    assert caught.value.reason == "RESERVE_TOO_SMALL"
    assert caught.value.facts == {"seat": 0, "stack": 279, "reserve": 280}
    assert Hand("KdKc7h|JsJh8d8c4s|AsTs8s5s3s", "AhQd9c|TdTc6h6d2c|QsQhQc3h3d", stacks=[280, 280]).live.turn > 0
