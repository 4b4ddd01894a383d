"""Settings that make sense, those that ship, and what is said of those that make none (TR-1 to TR-3, F1)."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import diwan.core.tournament
from diwan.core.decider import Rejected
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.limits import STACK_MAX
from diwan.core.tournament import spin
from diwan.core.tournament.checking import checked, checked_to_announce, usual_final_table
from diwan.core.tournament.settings import (
    BotTerms,
    Break,
    EntryTerms,
    FloorRules,
    Ladder,
    Level,
    Multiplier,
    Payout,
    TournamentConfig,
)
from tests.property.tournament_fields import a_spin, ladder, scheduled, sit_and_go
from tests.property.tournament_sim import START_MS

FOLDER = Path(diwan.core.tournament.__file__).parent / "templates"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.toml"))


def template(name):
    return msgspec.toml.decode((FOLDER / f"{name}.toml").read_bytes(), type=TournamentConfig)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_template_makes_sense_and_checking_it_twice_changes_nothing(name):
    config = checked(template(name))

    assert checked(config) == config
    assert config.hand.big_blind == config.ladder.levels[0].big_blind


def test_templates_ship_for_every_kind_and_every_poker_game():
    configs = [template(name) for name in SHIPPED]

    assert {config.kind for config in configs} == {"sit_and_go", "spin", "scheduled"}
    assert {config.hand.game for config in configs} == {"holdem", "omaha", "naiko", "sarab"}
    assert {config.players_max for config in configs if config.kind == "sit_and_go"} >= {6, 9, 18}


def test_the_shipped_spin_has_the_multipliers_of_the_code():
    assert template("spin").multipliers == spin.MULTIPLIERS


def test_the_shipped_sarab_rises_as_its_schedule_says():
    """SB-28: 10, 20, 30, 40, 60, 90, 135, 200, 325, a step every two deals."""
    levels = template("sarab_freeze_out").ladder.levels
    sarab = SarabSettings()

    assert tuple(level.big_blind for level in levels) == sarab.forced_bets
    assert {level.hands for level in levels} == {sarab.deals_per_level}


def test_no_shipped_template_asks_for_bots_in_a_scheduled_tournament():
    assert not any(config.bots.up_to for config in map(template, SHIPPED) if config.kind == "scheduled")


@pytest.mark.parametrize(("size", "players"), [(9, 9), (8, 9), (7, 8), (6, 7), (4, 4), (2, 2)])
def test_the_final_table_is_formed_with_one_more_than_a_table_seats_as_far_as_nine(size, players):
    """WSOP R68; nine seats are the most that a table has (RULES.md 'table defaults')."""
    assert usual_final_table(size) == players


def levels(*steps, **changes):
    return tuple(Level(small, big, **({"duration_ms": 60_000} | changes)) for small, big in steps)


WRONG = {
    "name": (scheduled(name=" "), "name"),
    "unprintable name": (scheduled(name="a\nb"), "name"),
    "one player": (scheduled(players_min=1), "players_min"),
    "minimum above maximum": (scheduled(players_min=5, players_max=4), "players_min"),
    "ten seats": (scheduled(size=10), "table_size"),
    "more than a field": (scheduled(players_max=10_001), "players_max"),
    "negative fee": (scheduled(fee=-1), "fee"),
    "no levels": (scheduled(ladder=Ladder(())), "ladder.levels"),
    "falling blinds": (scheduled(ladder=Ladder(levels((2, 4), (1, 2)))), "ladder.levels"),
    "the wrong pair of a published ladder": (scheduled(ladder=Ladder(levels((5, 3)))), "ladder.levels[1]"),
    "no length": (scheduled(ladder=Ladder(levels((1, 2), (2, 4), duration_ms=0))), "ladder.levels[1]"),
    "an ante of no kind": (scheduled(ladder=Ladder(levels((1, 2), ante=1))), "ladder.levels[1]"),
    "an ante above the big blind": (
        scheduled(ladder=Ladder(levels((1, 2), ante=3, ante_kind="each"))),
        "ladder.levels[1]",
    ),
    "levels by hands at many tables": (
        scheduled(ladder=Ladder((Level(1, 2, hands=5), Level(2, 4)), "hands")),
        "ladder.by",
    ),
    "a break after the last level": (scheduled(ladder=ladder(breaks=(Break(21, 1000),))), "ladder.breaks"),
    "breaks out of order": (scheduled(ladder=ladder(breaks=(Break(2, 1), Break(1, 1)))), "ladder.breaks"),
    "a stack of a blind": (scheduled(starting_stack=20), "starting_stack"),
    "shares that do not sum": (scheduled(payout=Payout(table="shares", shares=(60_000, 30_000))), "payout.shares"),
    "shares that rise": (scheduled(payout=Payout(table="shares", shares=(40_000, 60_000))), "payout.shares"),
    "more places than players": (
        scheduled(payout=Payout(table="shares", shares=(50_000, 30_000, 20_000))),
        "payout.shares",
    ),
    "rebuys without late entries": (
        scheduled(entries=EntryTerms(starts_at_ms=1, rebuys=1, rebuy_chips=10)),
        "entries.late_levels",
    ),
    "opening after the start": (scheduled(entries=EntryTerms(starts_at_ms=5, opens_at_ms=9)), "entries.opens_at_ms"),
    "late entry to the end": (scheduled(entries=EntryTerms(starts_at_ms=5, late_levels=21)), "entries.late_levels"),
    "a Sit & Go at a time": (sit_and_go(6, entries=EntryTerms(starts_at_ms=5)), "entries.starts_at_ms"),
    "a Sit & Go that may start short": (sit_and_go(6, players_min=3), "players_min"),
    "a guarantee in a Sit & Go": (sit_and_go(6, payout=Payout(guarantee=5)), "payout.guarantee"),
    "a Spin for four": (a_spin(players_min=4, players_max=4, table_size=4), "players_max"),
    "multipliers in a Sit & Go": (sit_and_go(3, multipliers=spin.MULTIPLIERS), "multipliers"),
    "a mean above three": (
        a_spin(multipliers=(Multiplier(times=2, weight=1), Multiplier(times=5, weight=1))),
        "multipliers",
    ),
    "a split of a half": (a_spin(multipliers=(Multiplier(times=3, weight=1, shares=(50_000,)),)), "multipliers"),
    "Sarab at two tables": (
        sit_and_go(12, size=6, hand=HandSettings(game="sarab"), ladder=Ladder((Level(0, 10),))),
        "players_max",
    ),
    "Sarab with a carried pot": (
        sit_and_go(
            6,
            size=6,
            hand=HandSettings(game="sarab", sarab=SarabSettings(void_antes="carry")),
            ladder=Ladder((Level(0, 10),)),
        ),
        "hand.sarab.void_antes",
    ),
    "no-limit Omaha": (sit_and_go(6, hand=HandSettings(game="omaha")), "hand.limit"),
    "a final table larger than a table": (scheduled(floor=FloorRules(final_table_at=10)), "floor.final_table_at"),
    "more bots than places": (sit_and_go(6, bots=BotTerms(up_to=7)), "bots.up_to"),
}


@pytest.mark.parametrize("fault", sorted(WRONG))
def test_what_makes_no_sense_is_refused_by_the_name_of_the_setting(fault):
    config, setting = WRONG[fault]

    with pytest.raises(Rejected) as refused:
        checked(config)

    assert refused.value.reason == "SETTING_INVALID"
    assert refused.value.facts["setting"] == setting


def test_a_scheduled_tournament_is_announced_with_its_start_only():
    config = scheduled(entries=EntryTerms())

    assert checked(config).kind == "scheduled"
    with pytest.raises(Rejected) as refused:
        checked_to_announce(config)
    assert refused.value.facts["setting"] == "entries.starts_at_ms"
    assert checked_to_announce(replace(config, entries=EntryTerms(starts_at_ms=1))).entries.starts_at_ms == 1


def times_of_the_same_weight(weight):
    return tuple(Multiplier(times=times, weight=weight) for times in (2, 3, 4))


@pytest.mark.parametrize(
    "config",
    [
        a_spin(multipliers=times_of_the_same_weight(2**63 - 1)),
        scheduled(entry=STACK_MAX // 10_000, fee=STACK_MAX // 10_000),
        scheduled(
            starting_stack=STACK_MAX // 50_000,
            entries=EntryTerms(
                starts_at_ms=START_MS + 60_000, late_levels=1, rebuys=100, rebuy_chips=STACK_MAX // 50_000
            ),
        ),
    ],
)
def test_numbers_that_add_up_to_more_than_can_be_drawn_paid_or_dealt_are_refused(config):
    with pytest.raises(Rejected) as refused:
        checked(config)

    assert refused.value.reason == "SETTING_INVALID"
    checked(a_spin(multipliers=times_of_the_same_weight(2**51)))
