"""The conditions object: everything that a player should know before sitting down, from the settings alone (TB-3, TR-1)."""

import pytest
from msgspec.structs import fields, replace

from diwan.core.games.capsa.settings import CapsaSettings, NaturalAward
from diwan.core.hand.settings import HandSettings, NaikoSettings, PowerCosts, SarabSettings
from diwan.core.table.checking import checked
from diwan.core.table.conditions import GAME_CONDITIONS, Level, SpecialRule, conditions_of
from diwan.core.table.config import MatchTerms, TableConfig
from diwan.core.table.games import TABLE_GAMES
from diwan.wire.conditions import conditions_message


def settings_of(game, **changes):
    hand = HandSettings(
        game=game,
        limit="pot_limit" if game == "omaha" else "no_limit",
        small_blind=0 if game == "sarab" else 5,
        big_blind=10,
        sarab=SarabSettings() if game == "sarab" else None,
        naiko=NaikoSettings() if game == "naiko" else None,
    )
    return TableConfig(**{"name": "t", "hand": hand} | changes)


def rules(conditions):
    return {rule.name: rule for rule in conditions.added.special_rules}


def test_the_terms_of_a_match_are_shown_before_anybody_enters():
    """RULES.md "Sarab's economy"."""
    terms = MatchTerms(entry_fee=500, prizes=(70, 30))
    config = checked(settings_of("sarab", chips="match", match=terms))
    shown = conditions_of(config)
    assert (shown.chips, shown.added.entry_fee, shown.added.starting_stack) == ("match", 500, 1000)
    assert shown.added.prizes == (70, 30)
    assert (shown.buy_in_min, shown.buy_in_max) == (0, 0)


def test_every_game_that_tables_play_says_its_conditions():
    assert set(TABLE_GAMES) <= set(GAME_CONDITIONS)


@pytest.mark.parametrize("game", ["holdem", "omaha", "naiko", "sarab"])
def test_the_common_conditions_are_those_of_the_settings(game):
    config = checked(settings_of(game, seats=6, bots_fill=3, pause_ms=7, reserve_seconds=8, sit_out_after=9))
    shown = conditions_of(config)
    assert (shown.game, shown.seats, shown.bots_fill, shown.big_blind) == (game, 6, 3, 10)
    assert (shown.buy_in_min, shown.buy_in_max) == (200, 1000), "20 to 100 big blinds"
    assert (shown.clocks.pause_ms, shown.clocks.reserve_seconds, shown.clocks.sit_out_after) == (7, 8, 9)
    assert shown.clocks.decision_seconds == 20


def test_hold_em_has_no_rules_but_those_of_betting():
    """B2, HD-19."""
    assert set(rules(conditions_of(settings_of("holdem")))) == {"short_allins_add_up", "show_all_in"}


def test_a_rule_that_is_not_the_house_s_default_is_marked():
    config = settings_of("holdem")
    config = replace(config, hand=replace(config.hand, short_allins_add_up=False))
    assert rules(conditions_of(config))["short_allins_add_up"] == SpecialRule(
        "short_allins_add_up", "false", is_default=False
    )
    assert rules(conditions_of(config))["show_all_in"] == SpecialRule("show_all_in", "at_showdown", is_default=True)


def test_sarab_shows_its_ladder_whose_last_step_stays_and_its_rules():
    """SB-28, A3 to A7, SB-26."""
    shown = conditions_of(settings_of("sarab"))
    steps = (10, 20, 30, 40, 60, 90, 135, 200)
    assert shown.added.ladder == (*(Level(step, 2) for step in steps), Level(325, 0))
    named = rules(shown)
    assert named["sarab.void_rule"].value == "no_voluntary_bet"
    assert named["sarab.no_fold_at_or_below"].value == "50"
    assert all(rule.is_default for rule in named.values())


def test_a_forced_bet_that_stays_is_a_ladder_of_one_step():
    config = settings_of("sarab")
    config = replace(config, hand=replace(config.hand, sarab=SarabSettings(forced_bets=(10,))))
    assert conditions_of(config).added.ladder == (Level(10, 0),)


def test_naiko_shows_what_powers_cost_and_its_response_clock():
    """NK-4, NK-12, NK-34."""
    config = settings_of("naiko")
    naiko = NaikoSettings(costs=PowerCosts(short_anchor=3), response_seconds=12)
    shown = conditions_of(replace(config, hand=replace(config.hand, naiko=naiko)))
    named = rules(shown)
    assert named["naiko.costs.short_anchor"] == SpecialRule("naiko.costs.short_anchor", "3", is_default=False)
    assert named["naiko.costs.hidden_glance"].is_default
    assert named["naiko.activations_per_round"].value == "3"
    assert shown.clocks.response_seconds == 12
    assert conditions_of(settings_of("holdem")).clocks.response_seconds == 0


def test_no_setting_of_a_game_is_left_out():
    """A setting that is in force and not shown would be a hidden rule."""
    for game, record, elsewhere in (
        ("naiko", NaikoSettings, {"response_seconds"}),
        ("sarab", SarabSettings, {"forced_bets", "deals_per_level"}),
    ):
        told = {name.split(".")[1] for name in rules(conditions_of(settings_of(game))) if name.startswith(game)}
        assert told == {field.name for field in fields(record)} - elsewhere
    told = {name.split(".")[1] for name in rules(conditions_of(capsa_table()))}
    elsewhere = {"game", "players", "unit", "set_seconds", "declare_seconds", "pair_units", "suit_order"}
    assert told == {field.name for field in fields(CapsaSettings)} - elsewhere | {"pair_stakes"}


def capsa_table(**changes):
    settings = CapsaSettings(**{"players": 4, "unit": 5} | changes)
    return checked(TableConfig(name="c", seats=4, capsa=settings))


def test_capsa_shows_unit_royalties_naturals_pair_stakes_and_its_clocks():
    """CS-41 to CS-48, CS-62, CS-80; it has neither blinds nor a decision clock."""
    shown = conditions_of(capsa_table(set_seconds=70, declare_seconds=9))
    assert (shown.game, shown.limit, shown.small_blind, shown.big_blind) == ("capsa", "", 0, 0)
    assert shown.added.unit == 5
    assert (shown.clocks.setting_seconds, shown.clocks.declaring_seconds, shown.clocks.decision_seconds) == (70, 9, 0)
    named = rules(shown)
    assert named["capsa.royalties.middle.quads"].value == "8"
    assert named["capsa.royalties.front.quads"].value == "none"
    assert named["capsa.naturals.dragon"].value == "13"
    assert named["capsa.pair_stakes"].value == "true"
    assert all(rule.is_default for rule in named.values())


def test_what_follows_from_capsa_s_scoring_is_as_usual_there_and_anything_else_is_not():
    named = rules(conditions_of(capsa_table(scoring="1-6")))
    assert {name for name, rule in named.items() if not rule.is_default} == {"capsa.scoring"}
    awards = (NaturalAward("dragon", 30),)
    named = rules(conditions_of(capsa_table(naturals=awards, wheel="second", scoop_bonus=9, scoring="custom")))
    odd = {name for name, rule in named.items() if not rule.is_default}
    assert {"capsa.naturals.dragon", "capsa.wheel", "capsa.scoop_bonus", "capsa.scoring"} <= odd
    assert "capsa.naturals.six_pairs" not in named, "only what is paid is told"


def test_a_match_table_is_not_bought_into():
    shown = conditions_of(settings_of("sarab", chips="match", buy_in_min=100, buy_in_max=200))
    assert (shown.buy_in_min, shown.buy_in_max) == (0, 0)


@pytest.mark.parametrize("game", ["holdem", "omaha", "naiko", "sarab"])
def test_the_message_says_what_the_core_says(game):
    shown = conditions_of(checked(settings_of(game, bots_fill=2)))
    message = conditions_message(shown)
    assert [(rule.name, rule.value, rule.is_default) for rule in message.special_rules] == [
        (rule.name, rule.value, rule.is_default) for rule in shown.added.special_rules
    ]
    assert [(level.forced_bet, level.deals) for level in message.ladder] == [
        (level.forced_bet, level.deals) for level in shown.added.ladder
    ]
    for name in ("game", "limit", "small_blind", "big_blind", "seats", "buy_in_min", "buy_in_max", "bots_fill"):
        assert getattr(message, name) == getattr(shown, name)
    for field in fields(type(shown.clocks)):
        assert getattr(message.clocks, field.name) == getattr(shown.clocks, field.name)
    assert message.has_bots
