"""What tables would refuse is refused when the tournament is announced: nobody pays for what cannot be played."""

import pytest
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.hand.settings import HandSettings
from diwan.core.limits import STACK_MAX
from diwan.core.tournament.checking import checked
from diwan.core.tournament.settings import Break, Ladder, Level, TableTerms
from services.tournament.tables import check_tables
from services.tournament.templates import templates
from tests.property.tournament_fields import a_spin, scheduled, sit_and_go


def by_hands(*hands, game="holdem"):
    small = 0 if game == "sarab" else 1
    levels = tuple(Level(small, 10 + number, hands=each) for number, each in enumerate(hands))
    return sit_and_go(4, size=4, ladder=Ladder(levels, by="hands"), hand=HandSettings(game=game))


HUGE = Ladder((Level(10, 20, duration_ms=60_000), Level(10, STACK_MAX // 500)))
UNPLAYABLE = {
    "a blind above what tables take": sit_and_go(4, ladder=HUGE),
    "a level of more hands than tables count": by_hands(5000, 1),
    "Sarab's levels of different lengths": by_hands(2, 3, 2, game="sarab"),
    "a pause of a day": sit_and_go(4, tables=TableTerms(pause_ms=24 * 3_600_000)),
    "less than no time bank": sit_and_go(4, tables=TableTerms(time_bank_seconds=-1)),
    "a name that tables cut to nothing": sit_and_go(4, name=" " * 60 + "x"),
}


@pytest.mark.parametrize("what", UNPLAYABLE)
def test_settings_that_tables_refuse_are_refused_when_a_tournament_is_announced(what):
    config = checked(UNPLAYABLE[what])
    with pytest.raises(Rejected) as refused:
        check_tables(config)

    assert refused.value.reason == "SETTING_INVALID"


@pytest.mark.parametrize("name", sorted(templates()))
def test_tables_take_every_shipped_template(name):
    check_tables(checked(templates()[name]))


def test_tables_take_breaks_spins_and_large_fields():
    broken = replace(scheduled().ladder, breaks=(Break(2, 300_000),))
    for config in (a_spin(), scheduled(ladder=broken), by_hands(5, 5, 1)):
        check_tables(checked(config))
