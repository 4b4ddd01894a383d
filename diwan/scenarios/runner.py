"""Plays scenarios against the core and says where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from diwan.core.decider import Rejected
from diwan.core.hand.events import Chips
from diwan.core.table.button import Contender, Positions, Spots, next_hand_positions
from diwan.scenarios.capsa import CapsaTable, PlayedCapsa
from diwan.scenarios.format import FormatError, Json, read_scenario, whole_number
from diwan.scenarios.naiko import Destellos
from diwan.scenarios.played import PlayedHand, UnknownCard
from diwan.scenarios.rules import ScenarioRules, big_blind_seat, place_bets, read_rules, recorded_positions
from diwan.scenarios.sarab import SarabTable

_UNORDERED: Final = frozenset({"shown", "powers"})


class Failure(Struct, frozen=True):
    """One difference: ``where`` is a step's number (0-based), ``start`` or ``end``."""

    where: str
    what: str
    expected: Any = None
    found: Any = None

    def __str__(self) -> str:
        if self.expected is None and self.found is None:
            return f"{self.where}: {self.what}"
        return f"{self.where}: {self.what}: expected {self.expected!r}, found {self.found!r}"


class Report(Struct, frozen=True):
    """How a scenario went."""

    id: str
    game: str
    file: str
    line: int
    failures: tuple[Failure, ...]

    @property
    def is_passed(self) -> bool:
        """Whether nothing differed."""
        return not self.failures


def run_paths(paths: Iterable[Path], game: str | None = None) -> Iterator[Report]:
    """Run the scenarios of files, or of the ``.jsonl`` files of folders; ``game`` leaves out those of other games."""
    for path in paths:
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        for file in files:
            yield from _run_file(file, game)


def run_line(line: str, file: str = "", number: int = 1) -> Report:
    """Run the scenario of one line."""
    try:
        scenario = read_scenario(line)
    except FormatError as error:
        return Report(_id_of(line), "", file, number, (Failure("the scenario", f"unreadable: {error}"),))
    return Report(scenario["id"], scenario["game"], file, number, tuple(run_scenario(scenario)))


def run_scenario(scenario: Json) -> list[Failure]:
    """Play a scenario whose keys are checked; the first hand or step that differs ends it."""
    game = scenario["game"]
    try:
        if game == "capsa":
            return _run_capsa(scenario)
        return _run_sarab(scenario) if game == "sarab" else _run_hands(scenario)
    except FormatError as error:
        return [Failure("the scenario", f"unreadable: {error}")]


def _run_file(file: Path, game: str | None) -> Iterator[Report]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        yield Report(str(file), "", str(file), 0, (Failure("the file", f"unreadable: {error}"),))
        return
    for number, line in enumerate(lines, 1):
        if line.strip():
            report = run_line(line, str(file), number)
            if game is None or report.game in {"", game}:
                yield report


def _id_of(line: str) -> str:
    """Return something to call an unreadable scenario by."""
    start = line.find('"id"')
    parts = line[start:].split('"', 4) if start >= 0 else []
    return parts[3] if len(parts) > 3 else line.strip()[:40]


def _run_hands(scenario: Json) -> list[Failure]:
    stacks: list[Chips] = list(scenario["stacks"])
    rules = read_rules(scenario["game"], scenario.get("rules", {}), len(stacks))
    button = whole_number(scenario.get("button"), "button")
    if button >= len(stacks):
        raise FormatError(f"button: there is no seat {button}")
    positions = recorded_positions(rules, stacks, button)
    destellos = None if rules.hand.naiko is None else Destellos(rules.hand.naiko, scenario)
    hands = scenario.get("hands")
    for number, script in enumerate([scenario] if hands is None else hands):
        prefix = "" if hands is None else f"hand {number}, "
        if positions is None:
            return [Failure(f"{prefix}start", "fewer than two seats have chips left")]
        failures, played = _run_hand(rules, stacks, positions, script, destellos)
        if failures or played is None:
            return [Failure(prefix + each.where, each.what, each.expected, each.found) for each in failures]
        stacks = played.stacks
        if destellos is not None:
            destellos.take(played)
        positions = _following(rules, stacks, positions.spots)
    return []


def _run_capsa(scenario: Json) -> list[Failure]:
    table = CapsaTable(scenario)
    hands = scenario.get("hands")
    for number, script in enumerate([scenario] if hands is None else hands):
        prefix = "" if hands is None else f"hand {number}, "
        try:
            played = table.deal(script)
        except (Rejected, UnknownCard) as error:
            return [Failure(f"{prefix}start", f"the hand does not begin: {error}")]
        failures = _run_script(played, script, lambda: table.next_button(played.stacks))  # noqa: B023  (called at once)
        if failures:
            return [Failure(prefix + each.where, each.what, each.expected, each.found) for each in failures]
        table.take(played)
    return []


def _run_sarab(scenario: Json) -> list[Failure]:
    table = SarabTable(scenario)
    hands = scenario.get("hands")
    for number, script in enumerate([scenario] if hands is None else hands):
        prefix = "" if hands is None else f"hand {number}, "
        try:
            played = table.deal(script)
        except (Rejected, UnknownCard) as error:
            return [Failure(f"{prefix}start", f"the hand does not begin: {error}")]
        if played is None:
            return [Failure(f"{prefix}start", "fewer than two seats have chips left")]
        failures = _run_script(played, script, lambda: table.next_button(played))  # noqa: B023  (called at once)
        if failures:
            return [Failure(prefix + each.where, each.what, each.expected, each.found) for each in failures]
        table.take(played)
    return []


def _following(rules: ScenarioRules, stacks: list[Chips], spots: Spots) -> Positions | None:
    contenders = [Contender(seat) for seat, stack in enumerate(stacks) if stack]
    return next_hand_positions(spots, contenders, rules.hand.small_blind, rules.hand.big_blind)


def _run_hand(
    rules: ScenarioRules, stacks: list[Chips], positions: Positions, script: Json, destellos: Destellos | None
) -> tuple[list[Failure], PlayedHand | None]:
    dues = place_bets(rules, stacks, positions)
    try:
        played = PlayedHand(
            rules.hand,
            stacks,
            positions.spots.button,
            big_blind_seat(rules, positions),
            dues,
            script,
            naiko=None if destellos is None else destellos.deal(stacks, script),
            destellos=None if destellos is None else destellos.balances,
        )
    except (Rejected, UnknownCard) as error:
        return [Failure("start", f"the hand does not begin: {error}")], None

    def button_next() -> int | None:
        following = _following(rules, played.stacks, positions.spots)
        return None if following is None else following.spots.button

    return _run_script(played, script, button_next), played


def _run_script(played: PlayedHand | PlayedCapsa, script: Json, button_next: Callable[[], int | None]) -> list[Failure]:
    failures = _compare("start", script.get("start", {}), played.see_start())
    for number, step in enumerate(script.get("steps", [])):
        if failures:
            return failures
        failures = _run_step(f"step {number}", played, step)
    if failures or "end" not in script:
        return failures
    seen = played.see()
    if not played.is_over:
        return [Failure("end", "the hand is not over", "over", seen["street"])]
    found = {**seen, **played.see_end(), "button_next": button_next()}
    return _compare("end", script["end"], found)


def _run_step(where: str, played: PlayedHand | PlayedCapsa, step: Json) -> list[Failure]:
    if "expect" in step:
        return _compare(where, step["expect"], played.see())
    expected = step.get("error")
    before = played.state
    try:
        played.do_step(step)
    except Rejected as refusal:
        if played.state is not before:
            return [Failure(where, f"refused with {refusal.reason}, and yet something changed")]
        if expected in {"*", refusal.reason}:
            return []
        return [Failure(where, "refusal", expected or "accepted", str(refusal))]
    except UnknownCard as error:
        return [Failure(where, str(error))]
    return [] if expected is None else [Failure(where, "refusal", expected, "accepted")]


def _compare(where: str, expected: Json, found: Mapping[str, Any]) -> list[Failure]:
    failures: list[Failure] = []
    for key, value in expected.items():
        seen = found.get(key)
        if isinstance(value, dict) and key != "pots" and isinstance(seen, dict):
            seen = {inner: seen.get(inner) for inner in value} if key != "blinds" else seen
        if _normal(key, value) != _normal(key, seen):
            failures.append(Failure(where, key, value, seen))
    return failures


def _normal(key: str, value: Any) -> Any:
    """Bring a value into a form in which the order that means nothing is gone."""
    if key == "pots" and isinstance(value, list):
        return [{**pot, "seats": sorted(pot["seats"])} for pot in value]
    if key in _UNORDERED and isinstance(value, list):
        return sorted(value)
    if key == "hole" and isinstance(value, dict):
        return {seat: _normal_cards(cards) for seat, cards in value.items()}
    if key == "legal" and isinstance(value, dict):
        return {name: _normal(name, inner) for name, inner in value.items()}
    return value


def _normal_cards(cards: Any) -> Any:
    return sorted(cards[i : i + 2] for i in range(0, len(cards), 2)) if isinstance(cards, str) else cards
