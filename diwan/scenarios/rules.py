"""From a scenario's ``rules`` to settings and to what each seat owes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from diwan.core.games import GAMES
from diwan.core.hand.events import Chips, Due, PostKind, Seat
from diwan.core.hand.settings import HandSettings, NaikoSettings
from diwan.core.table.button import Positions, Spots, first_hand_positions
from diwan.scenarios.format import FormatError, Json, known_keys, whole_number, whole_numbers
from diwan.scenarios.naiko import read_settings

_NAMES_OF_GAMES: Final = {"game", "sarab", "naiko"}
_OWED: Final = {"ante", "antes", "blinds"}


class ScenarioRules(Struct, frozen=True):
    """Settings, and the forced bets that follow no button."""

    hand: HandSettings
    ante: Chips
    antes: list[Chips] | None
    blinds: list[Chips] | None


def read_rules(game: str, raw: Json, seats: int) -> ScenarioRules:
    """Return the rules of a scenario; a setting that the game does not have is refused."""
    own = NaikoSettings.__struct_fields__ if game == "naiko" else ()
    known_keys(raw, {*HandSettings.__struct_fields__, *own, *_OWED} - _NAMES_OF_GAMES, "rules")
    settings = {key: value for key, value in raw.items() if key in HandSettings.__struct_fields__}
    naiko = read_settings({key: value for key, value in raw.items() if key in own}) if game == "naiko" else None
    try:
        hand = convert({"game": game, "limit": GAMES[game].limits[0], **settings}, HandSettings)
        hand = replace(hand, naiko=naiko)
    except ValidationError as error:
        raise FormatError(f"rules: {error}") from None
    lists: dict[str, list[int] | None] = {"antes": None, "blinds": None}
    for key in lists:
        if key in raw:
            lists[key] = whole_numbers(raw[key], key)
            if len(raw[key]) != seats:
                raise FormatError(f"{key}: one number a seat is needed")
    if "ante" in raw and "antes" in raw:
        raise FormatError("rules: 'ante' and 'antes' exclude each other")
    return ScenarioRules(hand, whole_number(raw.get("ante", 0), "ante"), lists["antes"], lists["blinds"])


def place_bets(rules: ScenarioRules, stacks: Sequence[Chips], positions: Positions) -> tuple[Due, ...]:
    """Return what is owed, antes first, then the blinds from the button's left."""
    dealt_in = positions.dealt_in
    antes = rules.antes or [rules.ante] * len(stacks)
    dues = tuple(Due(seat, "ante", antes[seat]) for seat in dealt_in if antes[seat])
    if rules.blinds is None:
        return dues + positions.dues
    return dues + tuple(_listed_blinds(rules.blinds, positions))


def recorded_positions(rules: ScenarioRules, stacks: Sequence[Chips], button: Seat) -> Positions | None:
    """Return the first hand's positions, by the button or, for recorded hands, by the list of blinds."""
    seats = [seat for seat, stack in enumerate(stacks) if stack]
    hand = rules.hand
    positions = first_hand_positions(button, seats, hand.small_blind, hand.big_blind)
    if positions is None or rules.blinds is None or not any(rules.blinds):
        return positions
    order = [seat for seat in seats if seat > button] + [seat for seat in seats if seat <= button]
    big_blind = max(order, key=lambda seat: (rules.blinds or [])[seat])  # the first of them, where several post it
    before = [seat for seat in order[: order.index(big_blind)] if rules.blinds[seat]]
    small_blind = button if len(seats) == 2 else next(iter(before), (button + 1) % len(stacks))
    return Positions(Spots(button, small_blind, big_blind), positions.dealt_in, ())


def big_blind_seat(rules: ScenarioRules, positions: Positions) -> Seat | None:
    """Return who has the big blind, if anybody."""
    return None if rules.blinds is not None and not any(rules.blinds) else positions.spots.big_blind


def _listed_blinds(blinds: Sequence[Chips], positions: Positions) -> list[Due]:
    button = positions.spots.button
    order = sorted(positions.dealt_in, key=lambda seat: (seat - button - 1) % len(blinds))
    largest = max(blinds)
    dues: list[Due] = []
    for seat in order:
        if blinds[seat]:
            kind: PostKind = "big_blind" if blinds[seat] == largest else "small_blind"
            dues.append(Due(seat, kind, blinds[seat]))
    return dues
