"""What a typed line means at a table: a pure function of the line and of what the seat sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from diwan.cli.play.commands import Act, Command, Reload, Simple, Unclear
from diwan.cli.play.drawing import can_go_all_in, choices
from diwan.cli.play.parsing_capsa import parse_capsa, parse_stake
from diwan.cli.play.parsing_naiko import parse_power, parse_window
from diwan.cli.play.rows import Arranged
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words, typed_words
from diwan.client.messages import Decision, SeatView

_COMMON: Final = ("help", "leave", "table", "conditions", "reload", "sit_out", "come_back", "yes")
_ACTIONS: Final = ("fold", "check", "call", "bet", "raise", "all_in", "pot", "least", "most")
_OF_A_TURN: Final = (*_ACTIONS, "hidden_glance", "sleeve_trick", "short_anchor", "lock", "unlock", "play", "surrender")


def parse(line: str, scene: Scene, words: Words, arranged: Arranged | None = None) -> Command | None:
    """Return what a line means, None for an empty one.

    What the moment asks for goes first, so that ``p`` is a pot-sized raise, a pass or "I play", whatever fits. A line that
    means nothing now comes back as `Unclear`, with what could be typed instead.
    """
    typed = line.split()
    if not typed:
        return None
    word, rest = typed[0].lower(), typed[1:]
    found = _of_the_moment(word, rest, scene, words, arranged)
    return found or _common(word, rest) or _unclear(line, word, scene, words)


def _of_the_moment(
    word: str, rest: Sequence[str], scene: Scene, words: Words, arranged: Arranged | None
) -> Command | None:
    if scene.game == "capsa":
        return parse_capsa(word, rest, scene, words, arranged) or parse_stake(word, rest, scene, words)
    if scene.window is not None:
        return parse_window(word)
    decision = scene.decision
    if decision is None:
        return None
    return parse_power(word, rest, scene, words) or parse_action(word, rest, decision, words, scene.own)


def _common(word: str, rest: Sequence[str]) -> Command | None:
    name: Any = typed_words(*_COMMON).get(word)
    if name != "reload":
        return None if name is None else Simple(name)
    if not rest:
        return Reload(None)
    amount = number(rest[0])
    return Reload(None) if amount is None else Reload(amount)


def _unclear(line: str, word: str, scene: Scene, words: Words) -> Command:
    if scene.window is not None:
        return Unclear(words("window_unclear"))
    is_asked = scene.decision is not None or scene.table.hand.capsa.HasField("decision")
    if not is_asked and word in typed_words(*_OF_A_TURN, "seal_shield", "pass", "sarab"):
        return Unclear(words("not_your_turn"))
    return Unclear(words("not_understood", text=line.strip()))


def parse_action(
    word: str, rest: Sequence[str], decision: Decision, words: Words, own: SeatView | None = None
) -> Command | None:
    """Return what a word means as an action of a seat, None where it is none."""
    known = typed_words(*_ACTIONS, *(("sarab",) if words.game == "sarab" else ()))
    kind: Any = known.get(word)
    match kind:
        case None:
            return None
        case "fold" | "check" | "call":
            is_legal = getattr(decision, f"can_{kind}")
            return Act(kind) if is_legal else _cannot(kind, decision, words, own)
        case "sarab" | "all_in":
            return Act("all_in") if can_go_all_in(decision, own) else _cannot("all_in", decision, words, own)
        case "pot" | "least" | "most":
            return _lift(_lift_kind(decision), [word], decision, words, own)
        case _:
            # Whoever types "bet" over a bet, or "raise" where nobody has bet, means the one that there is.
            return _lift(_lift_kind(decision) or kind, rest, decision, words, own)


def _lift_kind(decision: Decision) -> Any:
    return "bet" if decision.can_bet else "raise" if decision.can_raise else None


def _lift(kind: Any, rest: Sequence[str], decision: Decision, words: Words, own: SeatView | None) -> Command:
    if _lift_kind(decision) is None:
        return _cannot(kind or "raise", decision, words, own)
    low, high = decision.min_to, decision.max_to
    if not rest:
        return Act(kind, low) if low == high else Unclear(words("how_much", key=kind[0], low=low, high=high))
    named = {"pot": decision.pot_to, "least": low, "most": high}
    short = typed_words("pot", "least", "most").get(rest[0].lower())
    to = number(rest[0]) if short is None else named[short]
    if to is None:
        return Unclear(words("no_number", text=rest[0], low=low))
    if to < low:
        return Unclear(words("too_small", amount=to, low=low, high=high))
    return Act(kind, to) if to <= high else Unclear(words("too_large", amount=to, high=high))


def _cannot(kind: str, decision: Decision, words: Words, own: SeatView | None) -> Unclear:
    return Unclear(words("cannot", word=words(kind), choices="     ".join(choices(decision, words, own))))


def number(text: str) -> int | None:
    """Return a whole number as people write it: 1000, 1,000, also in Arabic digits; None where it is none."""
    plain = text.replace(",", "").replace("٬", "")
    return int(plain) if plain.isdecimal() else None


def is_risky(command: Command, scene: Scene) -> bool:
    """Say whether a command is asked about once more: a fold where nothing is to be paid."""
    decision = scene.decision
    return command == Act("fold") and decision is not None and decision.can_check


def help_lines(scene: Scene, words: Words) -> list[str]:
    """Return what can be typed at this table."""
    if scene.game == "capsa":
        found = words("help_set").splitlines()
    else:
        named = {kind: words(kind) for kind in ("fold", "check", "call", "bet", "raise", "all_in")}
        found = [words("help_betting", **named), words("help_totals")]
        found += [words("help_powers"), words("window_help")] if scene.game == "naiko" else []
        found += [words("hint")] if "hint" in words else []
    return [words.line(line) for text in (*found, words("help_common")) for line in text.strip("\n").splitlines()]
