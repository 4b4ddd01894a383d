"""What a request leaves out takes its default; what it says counts, also where it says 0 or no (RULES.md 'table defaults')."""

import pytest

from diwan.api.event.v1 import hand_pb2, table_pb2, tournament_table_pb2
from diwan.core.hand.settings import HandSettings
from diwan.core.table.config import TableConfig
from services.table.fields import config


def test_what_is_left_out_takes_its_default():
    plain = TableConfig(name="A", hand=HandSettings(), time_bank_seconds=30, time_bank_gain_seconds=1)
    assert config(table_pb2.TableConfig(name="A")) == plain


@pytest.mark.parametrize(
    "setting", ["pause_ms", "reserve_seconds", "sit_out_after", "return_minutes", "time_bank_seconds"]
)
@pytest.mark.parametrize("number", [0, 1, 17])
def test_a_number_that_is_said_counts_also_0(setting, number):
    assert getattr(config(table_pb2.TableConfig(name="A", **{setting: number})), setting) == number


@pytest.mark.parametrize("adds_up", [False, True])
def test_whether_short_all_ins_add_up_is_the_table_s_to_say(adds_up):
    """B2."""
    said = table_pb2.TableConfig(name="A", hand=hand_pb2.HandSettings(short_allins_add_up=adds_up))
    assert config(said).hand.short_allins_add_up == adds_up


def test_every_setting_of_the_contract_is_read():
    """A setting that does nothing would be a lie: each field, changed alone, changes the settings."""
    plain = config(table_pb2.TableConfig(name="A"))
    said = {
        "name": "B", "seats": 5, "buy_in_min": 30, "buy_in_max": 90, "pause_ms": 1, "reserve_seconds": 1,
        "sit_out_after": 1, "return_minutes": 1, "bots_fill": 1, "chips": table_pb2.CHIP_SOURCE_MATCH,
        "start": table_pb2.START_MODE_ON_GRANT, "is_private": True, "hold_seconds": 5,
        "time_bank_seconds": 1, "time_bank_gain_seconds": 2, "spectator_delay_events": 3,
        "match": table_pb2.MatchTerms(entry_fee=5),
        "tournament": tournament_table_pb2.TournamentTerms(table_no=3),
    }  # fmt: skip
    of_hand = {
        "limit": "pot_limit", "small_blind": 3, "big_blind": 4, "short_allins_add_up": False,
        "show_all_in": "at_once", "decision_seconds": 7,
    }  # fmt: skip

    assert {*of_hand, "game", "sarab", "naiko"} == set(hand_pb2.HandSettings.DESCRIPTOR.fields_by_name)
    assert {*said, "hand", "capsa"} == set(table_pb2.TableConfig.DESCRIPTOR.fields_by_name)
    for setting, value in said.items():
        assert config(table_pb2.TableConfig(**{"name": "A", setting: value})) != plain, setting
    for setting, value in of_hand.items():
        hand = hand_pb2.HandSettings(**{setting: value})
        assert config(table_pb2.TableConfig(name="A", hand=hand)) != plain, setting
