"""What a request says of a Capsa table counts, and what it leaves out is as usual (capsa.md section 3)."""

import pytest

from diwan.api.event.v1 import capsa_pb2
from diwan.core.decider import Rejected
from diwan.core.games.capsa.settings import CapsaSettings, NaturalAward, Royalties
from services.table.capsa_fields import capsa_settings


def test_what_is_left_out_takes_its_default():
    assert capsa_settings(capsa_pb2.CapsaSettings(), 0) == CapsaSettings()
    assert capsa_settings(capsa_pb2.CapsaSettings(), 3).players == 3


def test_every_setting_of_the_contract_is_read():
    """A setting that does nothing would be a lie: each field, changed alone, changes the settings."""
    said = {
        "players": 3, "scoring": "1-6", "overall_bonus": 0, "scoop_bonus": 0, "royalties": capsa_pb2.Royalties(),
        "royalty_mode": "net", "one_royalty_per_player": True, "broken_royalties": True,
        "naturals": capsa_pb2.NaturalTable(), "surrender": capsa_pb2.SurrenderTerms(allowed=False),
        "foul_pays_royalties": False, "wheel": "second", "unit": 5, "pair_units": [capsa_pb2.PairUnit(a=0, b=1, unit=2)],
        "loss_cap_units": 7, "set_seconds": 30, "declare_seconds": 5, "timeout_policy": "foul",
    }  # fmt: skip
    fixed = {"game", "royalty_declaration"}

    assert {*said, *fixed} == set(capsa_pb2.CapsaSettings.DESCRIPTOR.fields_by_name)
    for setting, value in said.items():
        assert capsa_settings(capsa_pb2.CapsaSettings(**{setting: value}), 0) != CapsaSettings(), setting
    assert capsa_settings(capsa_pb2.CapsaSettings(surrender={"price": 2}), 0).surrender.price == 2


def test_an_empty_table_is_meant():
    """CS-47, CS-80: no royalties, no naturals."""
    given = capsa_pb2.CapsaSettings(royalties=capsa_pb2.Royalties(), naturals=capsa_pb2.NaturalTable())
    settings = capsa_settings(given, 0)
    assert (settings.royalties, settings.naturals) == (Royalties(), ())
    awards = [capsa_pb2.NaturalAward(kind="dragon", units=20)]
    given = capsa_pb2.CapsaSettings(naturals=capsa_pb2.NaturalTable(awards=awards))
    assert capsa_settings(given, 0).naturals == (NaturalAward("dragon", 20),)


@pytest.mark.parametrize(
    "given",
    [
        {"game": "pusoy"},
        {"scoring": "3-5"},
        {"royalty_mode": "mine"},
        {"royalty_declaration": "spoken"},
        {"wheel": "third"},
        {"timeout_policy": "wait"},
        {"naturals": {"awards": [{"kind": "seven_kings"}]}},
        {"naturals": {"awards": [{"kind": ""}]}},
        {"naturals": {"awards": [{"kind": "dragon", "units": 1}] * 15}},
    ],
)
def test_a_word_that_means_nothing_is_refused(given):
    with pytest.raises(Rejected) as refusal:
        capsa_settings(capsa_pb2.CapsaSettings(**given), 0)
    assert refusal.value.reason == "SETTING_INVALID"
    assert refusal.value.facts["setting"].startswith("capsa.")
