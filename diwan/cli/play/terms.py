"""What a table is like, in some lines, before anybody sits down."""

from __future__ import annotations

from diwan.cli.play.words import Words
from diwan.client.messages import ChipSource, TableConditions


def terms_lines(terms: TableConditions, words: Words) -> list[str]:
    """Return the conditions of a table as they matter to who sits down."""
    parts = [words("name")]
    parts += [words(terms.limit)] if terms.limit in words else []
    parts += _stakes(terms, words)
    parts.append(words("terms_seats", seats=terms.seats))
    parts += [words("terms_bots")] if terms.has_bots else []
    return [
        words.line(f"{words('conditions')}: " + words.both(parts)),
        words.line("   " + words.both(_times(terms, words))),
    ]


def _stakes(terms: TableConditions, words: Words) -> list[str]:
    found = []
    if terms.small_blind:
        found.append(words("terms_blinds", small=terms.small_blind, big=terms.big_blind))
    if terms.ladder:
        bets = [level.forced_bet for level in terms.ladder]
        found.append(words("terms_forced" if len(bets) > 1 else "terms_forced_one", ladder=" ".join(map(str, bets))))
    if terms.unit:
        found.append(words("terms_unit", amount=terms.unit))
    if terms.chips == ChipSource.CHIP_SOURCE_MATCH:
        found.append(words("terms_coins", amount=terms.starting_stack))
        prizes = "/".join(map(str, terms.prizes))
        is_free = not terms.entry_fee
        found.append(
            words("terms_entry_free") if is_free else words("terms_entry", amount=terms.entry_fee, prizes=prizes)
        )
    else:
        found.append(words("terms_buy_in", low=terms.buy_in_min, high=terms.buy_in_max))
    return found


def _times(terms: TableConditions, words: Words) -> list[str]:
    clocks = terms.clocks
    if clocks.setting_seconds:
        return [words("terms_clock_capsa", setting=clocks.setting_seconds, declaring=clocks.declaring_seconds)]
    if clocks.time_bank_seconds:
        found = [words("terms_clock", seconds=clocks.decision_seconds, bank=clocks.time_bank_seconds)]
    else:
        found = [words("terms_clock_plain", seconds=clocks.decision_seconds)]
    return [*found, words("terms_window", seconds=clocks.response_seconds)] if clocks.response_seconds else found
