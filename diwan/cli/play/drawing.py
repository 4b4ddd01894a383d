"""A table of a game with betting, drawn: seats, stacks, button, bets, board, pots, own cards, the open decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rich.text import Text

from diwan.cli.play.drawing_capsa import capsa_lines
from diwan.cli.play.drawing_naiko import offer_lines, window_lines
from diwan.cli.play.drawing_sarab import sarab_lines, sarab_notices
from diwan.cli.play.look import Look, cards_text, columns, labelled_cards, name_text
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words
from diwan.client.messages import Decision, PrivateView, SeatStatus, SeatView, Street, is_running, name_of

MARK_OF_TURN: Final = ">"
_RIGHT: Final = (1, 4)


def table_lines(scene: Scene, look: Look) -> list[Text]:
    """Return the whole table, whatever its game."""
    if scene.game == "capsa":
        return capsa_lines(scene, look)
    head = Text(look.words.line(heading(scene, look.words)), style="bold")
    return [head, *sarab_lines(scene, look), *_board(scene, look), *seat_lines(scene, look), *_own(scene, look)]


def heading(scene: Scene, words: Words) -> str:
    """Return the game, its stakes, the hand, the street and the pot in one line."""
    hand, config = scene.table.hand, scene.table.config.hand
    parts = [words("name")]
    small, big = config.small_blind, config.big_blind
    if scene.table.HasField("tournament"):  # Before a table's first hand its level is not known yet.
        level = scene.table.tournament.level
        small, big = (level.small_blind, level.big_blind) if hand.hand_no else (0, 0)
    parts += [words.piece(f"{small:,}/{big:,}")] if small else []
    if hand.hand_no:
        parts += [words("hand", no=hand.hand_no)]
    if is_running(scene.table):
        parts += [words(name_of(Street, hand.street)), f"{words('pot')} {words.piece(hand.pot)}"]
    return "== " + " · ".join(parts) + " =="


def _board(scene: Scene, look: Look) -> list[Text]:
    hand, words = scene.table.hand, look.words
    if not hand.board:
        return [_line(f"   {words('board')}: {words('no_board')}", words)] if is_running(scene.table) else []
    found = labelled_cards(words("board"), hand.board, look)
    if len(hand.pots) > 1:
        found.append(_line("   " + pots_text(scene, words), words))
    return found


def pots_text(scene: Scene, words: Words) -> str:
    """Return main pot and side pots, with the seats that can win them."""
    main, *sides = scene.table.hand.pots
    texts = [words("main_pot", amount=main.amount)]
    texts += [words("side_pot", amount=pot.amount, seats=", ".join(map(str, pot.eligible))) for pot in sides]
    return " · ".join(texts)


def seat_lines(scene: Scene, look: Look) -> list[Text]:
    """Return a line for every taken seat: whose turn, number, name, button, stack, bet, and how it stands."""
    seats = scene.table.seats
    lines = columns([_seat_cells(scene, seat, look) for seat in seats], aligned_right=_RIGHT)
    return [
        Text(look.words.line(line), style="bold" if seat.seat == scene.seat else "dim" if seat.has_folded else "")
        for seat, line in zip(seats, lines, strict=True)
    ]


def _seat_cells(scene: Scene, seat: SeatView, look: Look) -> Sequence[str]:
    words, hand = look.words, scene.table.hand
    is_asked = hand.HasField("decision") and hand.decision.seat == seat.seat
    is_asked = is_asked or (hand.naiko.HasField("window") and hand.naiko.window.seat == seat.seat)
    has_button = bool(hand.hand_no) and hand.button == seat.seat
    return (
        MARK_OF_TURN if is_asked else " ",
        words.piece(seat.seat),
        name_text(seat, scene.seat, words),
        f"({words('button')})" if has_button else "",
        words.piece(seat.stack),
        words("in_bet", amount=seat.bet) if seat.bet else "",
        words.both(_states(scene, seat, look)),
    )


def _states(scene: Scene, seat: SeatView, look: Look) -> list[str]:
    words, hand = look.words, scene.table.hand
    checks: list[tuple[bool, Callable[[], str]]] = [
        (seat.has_folded and seat.in_hand, lambda: words("folded")),
        (seat.is_all_in and seat.in_hand, lambda: words("all_in")),
        (seat.status == SeatStatus.SEAT_STATUS_SITTING_OUT, lambda: words("sitting_out")),
        (seat.status == SeatStatus.SEAT_STATUS_WAITING and bool(hand.hand_no), lambda: words("waiting")),
        (seat.status == SeatStatus.SEAT_STATUS_LEAVING, lambda: words("leaving")),
        (seat.status == SeatStatus.SEAT_STATUS_RESERVED, lambda: words("reserved")),
        (seat.seat in scene.away, lambda: words("away")),
        (seat.seat in hand.sarab.cannot_fold, lambda: words("no_fold")),
        (bool(seat.shown_cards), lambda: cards_text(seat.shown_cards, look)),
    ]
    found = [text() for holds, text in checks if holds]
    for powers in hand.naiko.seats:
        if powers.seat == seat.seat:
            found += [words("anchored")] if powers.is_anchored else []
            found.append(words("destellos_of", count=powers.destellos))
    return found


def _own(scene: Scene, look: Look) -> list[Text]:
    words, private = look.words, scene.private
    if not scene.cards:
        return []
    found = labelled_cards(words("your_cards"), scene.cards, look)
    if private is not None and private.HasField("glanced") and private.glanced.card not in scene.table.hand.board:
        found.append(_line("   " + words("glanced", cards=cards_text([private.glanced.card], look)), words))
    if private is not None and private.HasField("discarded"):
        found.append(_line("   " + words("discarded", cards=cards_text([private.discarded.card], look)), words))
    return found


def learned_lines(before: PrivateView, now: PrivateView, look: Look) -> list[Text]:
    """Return what a power has shown to us alone since a view of the same hand: the card seen, or thrown away and drawn."""
    words, found = look.words, []
    for name in ("glanced", "discarded"):
        if now.HasField(name) and not before.HasField(name):
            card = getattr(now, name).card
            found.append(_line("   " + words(name, cards=cards_text([card], look)), words))
    held = [reveal.card for reveal in now.reveals]
    if found and held != [reveal.card for reveal in before.reveals]:
        found += labelled_cards(words("your_cards"), held, look)
    return found


def question_lines(scene: Scene, look: Look) -> list[Text]:
    """Return what is asked of us now, with every choice, its key and its amounts; nothing where nothing is."""
    if scene.window is not None:
        return window_lines(scene, scene.window, look)
    decision = scene.decision
    if decision is None:
        return []
    words = look.words
    found = [Text(words.line(_whose_turn(scene, decision, words)), style="bold reverse")]
    found += sarab_notices(scene, decision, look) + offer_lines(scene, look)
    return [*found, _line("   " + "     ".join([*choices(decision, words, scene.own), words("key_help")]), words)]


def _whose_turn(scene: Scene, decision: Decision, words: Words) -> str:
    seconds = scene.seconds_to(decision.deadline_ms)
    if decision.is_time_bank_running:
        return words("your_turn_on_bank", seconds=seconds)
    bank = 0 if scene.own is None else scene.own.time_bank_ms // 1000
    return words("your_turn_bank", seconds=seconds, bank=bank) if bank else words("your_turn", seconds=seconds)


def can_go_all_in(decision: Decision, own: SeatView | None) -> bool:
    """Say whether all chips can go in now: pot-limit and an Anchor may forbid it."""
    if decision.can_sarab or own is None:
        return decision.can_sarab or decision.can_call or decision.can_bet or decision.can_raise
    is_by_call = decision.can_call and decision.call_amount >= own.stack
    return is_by_call or ((decision.can_bet or decision.can_raise) and decision.max_to >= own.stack + own.bet)


def choices(decision: Decision, words: Words, own: SeatView | None) -> list[str]:
    """Return every legal action with its key and amounts; ``own`` is our seat."""
    low, high = decision.min_to, decision.max_to
    found = [words("key_fold", word=words("fold"))] if decision.can_fold else []
    found += [words("key_check", word=words("check"))] if decision.can_check else []
    found += [words("key_call", word=words("call"), amount=decision.call_amount)] if decision.can_call else []
    if decision.can_bet or decision.can_raise:
        kind, key = ("bet", "b") if decision.can_bet else ("raise", "r")
        if low == high:
            found.append(words("key_only", key=f"{key} {low}", word=words(kind), low=low))
        else:
            found.append(words(f"key_{kind}", word=words(kind), low=low, high=high))
        if low < decision.pot_to < high:
            found.append(words("key_pot", word=words(kind), amount=decision.pot_to))
    if can_go_all_in(decision, own):
        found.append(words("key_all_in", word=words("all_in")))
    return found


def _line(text: str, words: Words) -> Text:
    return Text(words.line(text))
