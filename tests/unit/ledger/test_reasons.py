"""What the ledger refuses can be told to people."""

from diwan.chassis.reasons import CATALOGUE
from diwan.client import DiwanError
from diwan.core.ledger.requests import Result


def test_every_refusal_of_the_ledger_can_be_read_in_two_languages():
    assert {result.name for result in Result if not result.is_posted} <= CATALOGUE.keys()


def test_no_refusal_of_the_ledger_is_asked_again_by_itself():
    """L5: the second answer would be id_already_failed, and hide why and until when."""
    repeated = {
        result.name
        for result in Result
        if not result.is_posted and DiwanError(result.name, code=CATALOGUE[result.name].status).can_be_retried
    }

    assert repeated == set()
