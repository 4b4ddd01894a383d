"""What a table of Sarab has beyond others: the schedule, the void rule, who may not fold, coins."""

from __future__ import annotations

from rich.text import Text

from diwan.cli.play.look import Look
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words
from diwan.client.messages import Decision, SeatView


def sarab_lines(scene: Scene, look: Look) -> list[Text]:
    """Return how long the forced bet lasts and what void hands left in the pot, before a match what it waits for."""
    table, hand, words = scene.table, scene.table.hand, look.words
    if table.HasField("match") and not table.match.is_started:
        free = table.config.seats - len(table.seats)
        return [Text(words.line("   " + words("match_waits", free=free)))]
    if not hand.HasField("sarab"):
        return []
    sarab = hand.sarab
    amount, deals = sarab.forced_bet, sarab.deals_to_next_step
    if not deals:
        found = [words("level_last", amount=amount)]
    elif deals == 1:
        found = [words("level_next", amount=amount, next=sarab.next_forced_bet)]
    else:
        found = [words("level", amount=amount, deals=deals)]
    if sarab.carried:
        found.append(words("carried", amount=sarab.carried))
    return [Text(words.line("   " + text)) for text in found]


def sarab_notices(scene: Scene, decision: Decision, look: Look) -> list[Text]:
    """Return what a player of Sarab should know before deciding."""
    hand, words = scene.table.hand, look.words
    if not hand.HasField("sarab"):
        return []
    found = []
    if hand.sarab.is_void_unless_bet:
        is_raise_wanted = scene.table.config.hand.sarab.void_rule == "no_raise"
        found.append(words("void_unless_raise" if is_raise_wanted else "void_unless"))
    if scene.seat in hand.sarab.cannot_fold or not decision.can_fold:
        found.append(words("no_fold_you", amount=scene.table.config.hand.sarab.no_fold_at_or_below))
    if scene.own is not None and scene.own.HasField("coins"):
        found.append(words("coins", amount=scene.own.stack, coins=coins_text(scene.own, words)))
    return [Text(words.line("   " + text)) for text in found]


def coins_text(seat: SeatView, words: Words) -> str:
    """Return a stack of a match in coins, and what no coin can pay."""
    coins = seat.coins
    counts = (("dinars", coins.dinars), ("dirhams", coins.dirhams), ("fils", coins.fils), ("stones", coins.stones))
    parts = [words(kind, count=count) for kind, count in counts if count]
    parts += [words("rest", count=seat.coins_rest)] if seat.coins_rest else []
    return words.both(parts)
