"""The table of a Sarab scenario: a match that begins with the scenario's stacks (FORMAT.md)."""

from __future__ import annotations

from typing import Final

from msgspec import ValidationError, convert

from diwan.core.decider import Rejected
from diwan.core.games.sarab import DEAL_NO_MAX, checked
from diwan.core.hand.events import Seat
from diwan.core.hand.settings import HandSettings, SarabSettings
from diwan.core.hand.state import EndedHand
from diwan.core.match.course import Match, after_hand, next_deal
from diwan.scenarios.format import FormatError, Json, known_keys, whole_number
from diwan.scenarios.played import PlayedHand

_OF_EVERY_GAME: Final = ("short_allins_add_up", "show_all_in", "decision_seconds")
_LEVEL_DEAL: Final = "level_deal"


class SarabTable:
    """A table of a scenario: stacks, button, deal number and carried pot go from hand to hand."""

    def __init__(self, scenario: Json) -> None:
        self._seats = len(scenario["stacks"])
        rules = scenario.get("rules", {})
        button = whole_number(scenario.get("button"), "button")
        if button >= self._seats:
            raise FormatError(f"button: there is no seat {button}")
        deal_no = whole_number(rules.get(_LEVEL_DEAL, 1), _LEVEL_DEAL)
        if not 1 <= deal_no <= DEAL_NO_MAX:
            raise FormatError(f"{_LEVEL_DEAL}: deals count from 1")
        stacks = {seat: stack for seat, stack in enumerate(scenario["stacks"]) if stack}
        self._match = Match(_read_settings(rules), stacks, button, deal_no)

    def deal(self, script: Json) -> PlayedHand | None:
        """Deal a hand to everybody who has coins left, or return None where the match is won."""
        deal = next_deal(self._match)
        if deal is None:
            return None
        stacks = [deal.stacks.get(seat, 0) for seat in range(self._seats)]
        return PlayedHand(
            deal.settings, stacks, deal.button, None, deal.dues, script, deal_no=deal.deal_no, carried=deal.carried
        )

    def take(self, played: PlayedHand) -> None:
        """Go on from a hand to the next one."""
        if isinstance(played.state, EndedHand):
            self._match = after_hand(self._match, played.state)

    def next_button(self, played: PlayedHand) -> Seat | None:
        """Return the dealer of the next hand, None where the match is won."""
        if not isinstance(played.state, EndedHand):
            return None
        following = after_hand(self._match, played.state)
        return following.button if following.winner is None else None


def _read_settings(raw: Json) -> HandSettings:
    known_keys(raw, {*SarabSettings.__struct_fields__, *_OF_EVERY_GAME, _LEVEL_DEAL}, "rules")
    sarab = {key: value for key, value in raw.items() if key in SarabSettings.__struct_fields__}
    hand = {key: value for key, value in raw.items() if key in _OF_EVERY_GAME}
    try:
        checked(convert(sarab, SarabSettings))
        return convert({"game": "sarab", **hand, "sarab": sarab}, HandSettings)
    except ValidationError as error:
        raise FormatError(f"rules: {error}") from None
    except Rejected as refusal:
        raise FormatError(f"rules: {refusal}") from None
