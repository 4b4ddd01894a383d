"""Help with thirteen cards of Capsa: which three rows to make of them."""

from collections.abc import Sequence

from diwan.client.messages import CapsaSettings
from diwan.core.cards import Card
from diwan.core.policy.capsa_sets import Rows, best_set
from diwan.wire.capsa import read_capsa_settings


def suggested_set(cards: Sequence[Card], settings: CapsaSettings) -> Rows:
    """Return front, middle and back of the legal set that is expected to win most, by the table's settings.

    The first time takes most of a second, others some hundredths.
    """
    return best_set(cards, read_capsa_settings(settings)).rows
