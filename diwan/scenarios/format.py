"""Reading one scenario: every key is known and has a fitting value, or the scenario is refused (FORMAT.md)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

type Json = Mapping[str, Any]

_SCENARIO: Final = {"id", "note", "game", "rules", "stacks"}
_ONE_HAND: Final = {"button", "deck", "hole", "carousel", "destellos", "steps", "end"}
_MANY_HANDS: Final = {"button", "destellos", "hands"}
_HAND: Final = {"deck", "hole", "carousel", "start", "steps", "end"}
_STATE: Final = {
    *("street", "to_act", "board", "pot", "pots", "stacks", "bets", "hole", "glance", "destellos", "window", "legal"),
    *("to_call", "can_raise", "min_to", "max_to"),
}
_END: Final = {
    *_STATE,
    *("result", "payoffs", "won", "shown", "returned", "category", "button_next"),
    *("units", "status", "naturals", "royalties", "pairs"),
}
_START: Final = {"button", "stacks", "blinds", "ante", "destellos"}
_LEGAL: Final = {"fold", "check", "sarab", "call", "bet", "raise", "powers"}
_SUITS_OF_KEYS: Final = (
    frozenset({"seat", "do"}),
    frozenset({"seat", "power"}),
    frozenset({"seat", "respond"}),
    frozenset({"timeout"}),
    frozenset({"expect"}),
    frozenset({"seat", "set"}),
    frozenset({"seat", "declare"}),
)
_EXTRAS: Final[Mapping[str, frozenset[str]]] = {
    "do": frozenset({"to", "error"}),
    "power": frozenset({"discard", "target", "error"}),
    "respond": frozenset({"error"}),
    "timeout": frozenset({"error"}),
    "expect": frozenset(),
    "set": frozenset({"confirm_foul", "error"}),
    "declare": frozenset({"error"}),
}
_STEP: Final = frozenset().union(*_SUITS_OF_KEYS, *_EXTRAS.values())
_VALUES: Final[Mapping[str, Collection[str]]] = {
    "do": ("fold", "check", "call", "bet", "raise", "all_in"),
    "power": ("hidden_glance", "sleeve_trick", "short_anchor"),
    "respond": ("seal_shield", "pass"),
    "declare": ("play", "surrender"),
}
GAMES_OF_THE_FORMAT: Final = ("holdem", "omaha", "naiko", "sarab", "capsa")


class FormatError(ValueError):
    """A scenario that cannot be read; the message says what and where."""


def read_scenario(line: str) -> Json:
    """Return the scenario of one line, with every key checked."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise FormatError(f"no JSON: {error}") from None
    scenario = _object(raw, "a scenario")
    for key, kind in (("id", str), ("game", str), ("stacks", list)):
        if not isinstance(scenario.get(key), kind):
            raise FormatError(f"{key!r} is missing or wrong")
    if scenario["game"] not in GAMES_OF_THE_FORMAT:
        raise FormatError(f"unknown game {scenario['game']!r}")
    whole_numbers(scenario["stacks"], "stacks")
    _object(scenario.get("rules", {}), "rules")
    if "hands" not in scenario:
        known_keys(scenario, _SCENARIO | _ONE_HAND, "the scenario")
        _check_hand(scenario, "")
        return scenario
    known_keys(scenario, _SCENARIO | _MANY_HANDS, "the scenario")
    if not isinstance(scenario["hands"], list) or not scenario["hands"]:
        raise FormatError("'hands' is no list of hands")
    for number, hand in enumerate(scenario["hands"]):
        where = f"hand {number}"
        known_keys(_object(hand, where), _HAND, where)
        known_keys(_object(hand.get("start", {}), f"start of {where}"), _START, f"start of {where}")
        _check_hand(hand, f" of {where}")
    return scenario


def known_keys(found: Json, known: Collection[str], where: str) -> None:
    """Refuse the first unknown key."""
    for key in found:
        if key not in known:
            raise FormatError(f"unknown key {key!r} in {where}")


def whole_number(value: object, where: str) -> int:
    """Return a whole number that is not negative, or refuse it."""
    if type(value) is not int or value < 0:
        raise FormatError(f"{where}: {value!r} is no whole number")
    return value


def whole_numbers(value: object, where: str) -> list[int]:
    """Return a list of whole numbers, or refuse it."""
    if not isinstance(value, list):
        raise FormatError(f"{where}: {value!r} is no list")
    return [whole_number(each, where) for each in value]


def _object(value: object, where: str) -> Json:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is no object")
    return value


def _check_hand(hand: Json, suffix: str) -> None:
    if not isinstance(hand.get("steps", []), list):
        raise FormatError(f"steps{suffix} is no list")
    for number, step in enumerate(hand.get("steps", [])):
        _check_step(step, f"step {number}{suffix}")
    end = _object(hand.get("end", {}), f"end{suffix}")
    known_keys(end, _END, f"end{suffix}")
    known_keys(_object(end.get("legal", {}), f"legal in end{suffix}"), _LEGAL, f"legal in end{suffix}")


def _check_step(raw: object, where: str) -> None:
    step = _object(raw, where)
    known_keys(step, _STEP, where)
    kinds = [kind for kind in _EXTRAS if kind in step]
    if len(kinds) != 1:
        raise FormatError(f"{where} is no step: it has {' and '.join(kinds) or 'nothing to do'}")
    kind = kinds[0]
    needed = next(keys for keys in _SUITS_OF_KEYS if kind in keys)
    known_keys(step, needed | _EXTRAS[kind], where)
    for key in needed - step.keys():
        raise FormatError(f"{where} lacks {key!r}")
    for key in ("seat", "timeout", "to", "target"):
        if key in step:
            whole_number(step[key], f"{key} in {where}")
    if not isinstance(step.get("discard", ""), str):
        raise FormatError(f"discard in {where}: {step['discard']!r} is no card")
    if kind in _VALUES and step[kind] not in _VALUES[kind]:
        raise FormatError(f"{where}: {kind} is never {step[kind]!r}")
    if ("to" in step) != (step.get("do") in {"bet", "raise"}):
        raise FormatError(f"{where}: 'to' belongs to a bet or a raise")
    if kind == "expect":
        expected = _object(step["expect"], f"expect in {where}")
        known_keys(expected, _STATE, where)
        known_keys(_object(expected.get("legal", {}), f"legal in {where}"), _LEGAL, where)
