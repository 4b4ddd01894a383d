"""What the ledger refuses can be told to people."""

from diwan.chassis.reasons import CATALOGUE
from diwan.core.ledger.requests import Result


def test_every_refusal_of_the_ledger_can_be_read_in_two_languages():
    assert {result.name for result in Result if not result.is_posted} <= CATALOGUE.keys()
