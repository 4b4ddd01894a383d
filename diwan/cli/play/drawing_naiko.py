"""What a table of Naiko has beyond others: the powers on show, why each is out of reach, the response window."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from diwan.cli.play.look import Look, columns, who_text
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words
from diwan.client.messages import PowerOffer, ResponseWindow

KEYS: Final = {"hidden_glance": "g", "sleeve_trick": "d CARD", "short_anchor": "n SEAT", "seal_shield": "s"}


def offer_lines(scene: Scene, look: Look) -> list[Text]:
    """Return the powers on show as they stand for the seat that is asked: key, name, cost, what it does or why not now."""
    words, naiko = look.words, scene.table.hand.naiko
    offers = scene.offers
    if not offers:
        return []
    mine = next((each.destellos for each in naiko.seats if each.seat == scene.seat), 0)
    head = words("powers", count=mine, left=naiko.activations_left, destellos=words("destellos"))
    rows = [_cells(offer, words) for offer in offers]
    return [Text(words.line(f"   {head}")), *(Text(words.line(f"      {line}")) for line in columns(rows))]


def _cells(offer: PowerOffer, words: Words) -> tuple[str, ...]:
    if offer.why_not:
        state = words("not_now", why=why_text(offer.why_not, words))
    elif offer.targets:
        state = words("at_seats", does=words(f"does_{offer.power}"), seats=", ".join(map(str, offer.targets)))
    else:
        state = words(f"does_{offer.power}")
    key = "" if offer.why_not else words.cards(KEYS.get(offer.power, ""))
    return key, words(offer.power), words.piece(offer.cost), state


def why_text(reason: str, words: Words) -> str:
    """Return why a power cannot be used now; a reason that this client does not know is shown as it is."""
    return words(reason) if reason in words else reason


def window_lines(scene: Scene, window: ResponseWindow, look: Look) -> list[Text]:
    """Return the question to the target of an Anchor, with what it can answer."""
    words = look.words
    who = who_text(scene.table.seats, window.declared_by, scene.seat, words)
    seconds = scene.seconds_to(window.deadline_ms)
    asked = words("window", who=who, power=words("short_anchor"), seconds=seconds)
    choices = [
        words("key_shield", power=words("seal_shield"), cost=offer.cost)
        for offer in scene.offers
        if offer.power == "seal_shield" and not offer.why_not
    ]
    choices.append(words("key_pass"))
    return [Text(words.line(asked), style="bold reverse"), Text(words.line("   " + "     ".join(choices)))]
