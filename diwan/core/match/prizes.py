"""What the places of a match are worth (RULES.md "Sarab's economy": by default the winner takes the entries)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diwan.core.hand.events import Chips, Seat
from diwan.core.match.settings import PERCENT, MatchSettings


def prizes_of(settings: MatchSettings, places: Sequence[Sequence[Seat]]) -> Mapping[Seat, Chips]:
    """Return each seat's prize by its place; the sum is exactly that of the entries.

    ``places`` lists all who entered, the best first. What rounding leaves goes to the first place; who shares a place
    shares the prizes of the places that they cover, a chip that does not divide to the lower seat.
    """
    entries = settings.entry_fee * sum([len(seats) for seats in places])
    amounts = [entries * share // PERCENT for share in settings.prizes]
    amounts[0] += entries - sum(amounts)
    prizes: dict[Seat, Chips] = {}
    first = 0
    for seats in places:
        each, odd = divmod(sum(amounts[first : first + len(seats)]), len(seats))
        for number, seat in enumerate(sorted(seats)):
            prizes[seat] = each + (number < odd)
        first += len(seats)
    return prizes
