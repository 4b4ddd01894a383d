"""A table of Capsa, drawn: who has locked, one's own rows as they stand, and the settlement pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from diwan.cli.play.look import Look, cards_line, cards_text, columns, labelled_cards, name_text, signed, who_text
from diwan.cli.play.rows import ROWS, Arranged, grouped
from diwan.cli.play.scene import Scene
from diwan.cli.play.words import Words
from diwan.client.messages import CapsaSetView, CapsaStatus, SeatStatus, SeatView, name_of


def capsa_lines(scene: Scene, look: Look) -> list[Text]:
    """Return the seats of a table of Capsa, and once the hand is over its settlement."""
    hand, words = scene.table.hand, look.words
    parts = [words("name"), words("unit", amount=scene.table.config.capsa.unit)]
    if hand.HasField("capsa"):
        parts += [words("hand", no=hand.hand_no), words(hand.capsa.phase)]
    found = [Text(words.line("== " + " · ".join(parts) + " =="), style="bold")]
    rows = [_seat_cells(scene, seat, words) for seat in scene.table.seats]
    for seat, line in zip(scene.table.seats, columns(rows, aligned_right=(1, 4)), strict=True):
        found.append(Text(words.line(line), style="bold" if seat.seat == scene.seat else ""))
    for short in scene.table.capsa.shortages:
        who = who_text(scene.table.seats, short.seat, scene.seat, words)
        found.append(Text(words.line("   " + words("shortage", who=who, amount=short.reserve))))
    if hand.HasField("capsa") and hand.capsa.phase == "over":
        found += settlement_lines(scene, look)
    return found


def _seat_cells(scene: Scene, seat: SeatView, words: Words) -> Sequence[str]:
    hand = scene.table.hand
    is_asked = hand.capsa.HasField("decision") and seat.seat in hand.capsa.decision.seats
    return (
        ">" if is_asked else " ",
        words.piece(seat.seat),
        name_text(seat, scene.seat, words),
        f"({words('button')})" if hand.hand_no and hand.button == seat.seat else "",
        words.piece(seat.stack),
        _state(scene, seat, words),
    )


def _state(scene: Scene, seat: SeatView, words: Words) -> str:
    capsa = scene.table.hand.capsa
    if seat.seat in scene.away:
        return words("away")
    dealt = next((each for each in capsa.seats if each.seat == seat.seat), None)
    if dealt is None or capsa.phase == "over":
        is_out = seat.status == SeatStatus.SEAT_STATUS_SITTING_OUT
        return words("sitting_out") if is_out else ""
    if dealt.HasField("natural"):
        return words("natural", kind=words(dealt.natural.kind), units=dealt.natural.units)
    if dealt.answer:
        return words(("", "plays", "surrenders")[dealt.answer])
    if capsa.phase == "setting":
        return words("locked" if dealt.has_locked else "sets")
    return words("is_asked") if seat.seat in capsa.decision.seats else ""


def arranged_lines(scene: Scene, arranged: Arranged, look: Look) -> list[Text]:
    """Return one's own rows as they stand, each with what it is where the server has said so, and the free cards."""
    words = look.words
    view = _server_view(scene, arranged)
    found = []
    for row in ROWS:
        cards = getattr(arranged, row)
        category = "" if view is None else getattr(view, f"{row}_category")
        found += _row_lines(words(row), cards, words(category) if category else "", look)
    if arranged.tray:
        found += labelled_cards(words("tray"), arranged.tray, look)
    is_setting = scene.table.hand.capsa.decision.kind == "set"
    is_locked = scene.private is not None and scene.private.capsa.HasField("locked")
    if view is not None and view.is_complete:
        is_bad = view.is_fouled
        told = words("would_foul" if is_bad else "in_order")
        if is_setting and not is_locked and _draft_counts(scene):
            told += " " + words("draft_does_not_count" if is_bad else "draft_counts")
        found.append(Text(words.line("   " + told), "bold" if is_bad else ""))
    if is_setting and is_locked:
        found.append(Text(words.line("   " + words("is_locked"))))
    return found


def _draft_counts(scene: Scene) -> bool:
    """Say whether who is late is held to the last draft that is complete and in order (CS-28)."""
    return scene.table.config.capsa.timeout_policy in {"", "draft_then_auto"}


def _row_lines(name: str, cards: Sequence[int], category: str, look: Look) -> list[Text]:
    label = f"   {name}: "
    if not cards:
        return [Text(look.words.line(label + "-"))]
    tail = f"  ({category})" if category else ""
    return [Text.assemble(look.words.line(label), cards_line(grouped(cards), look), tail)]


def _server_view(scene: Scene, arranged: Arranged) -> CapsaSetView | None:
    """Return what the server says of the rows, if it has seen them as they stand now."""
    if scene.private is None:
        return None
    capsa = scene.private.capsa
    view = capsa.locked if capsa.HasField("locked") else capsa.draft
    rows = tuple(tuple(sorted(row)) for row in arranged.rows)
    seen = tuple(tuple(sorted(getattr(view.rows, row))) for row in ROWS)
    return view if rows == seen and any(rows) else None


def capsa_question_lines(scene: Scene, look: Look) -> list[Text]:
    """Return what is asked of us now: to set, or whether we play."""
    words, decision = look.words, scene.table.hand.capsa.decision
    seconds = scene.seconds_to(decision.deadline_ms)
    if decision.kind == "set":
        turn = Text(words.line(words("set_turn", seconds=seconds)), style="bold reverse")
        return [turn, Text(words.line("   " + words("set_keys")))]
    asked = words("answer_turn", seconds=seconds)
    if decision.can_surrender:
        asked += "     " + words("answer_surrender", units=decision.surrender_price)
    return [Text(words.line(asked), style="bold reverse")]


def settlement_lines(scene: Scene, look: Look) -> list[Text]:
    """Return every set that was turned up, royalties, and what each pair exchanged."""
    words, capsa = look.words, scene.table.hand.capsa
    found: list[Text] = []
    for seat in capsa.seats:
        who = who_text(scene.table.seats, seat.seat, scene.seat, words)
        status = "" if seat.status <= CapsaStatus.CAPSA_STATUS_SET else words(name_of(CapsaStatus, seat.status))
        if seat.HasField("natural"):
            status = words("natural", kind=words(seat.natural.kind), units=seat.natural.units)
        paid = words("units", units=signed(seat.units))
        found.append(Text(words.line(f"{who}  {paid}  {words.piece(signed(seat.payoff))}  {status}".rstrip()), "bold"))
        if seat.HasField("natural"):
            found.append(Text(words.line("      ") + cards_text(sorted(seat.natural.cards, reverse=True), look)))
        if seat.HasField("set"):
            for row in ROWS:
                category = getattr(seat.set, f"{row}_category")
                named = words(category) if category else ""
                found += _row_lines(f"   {words(row)}", getattr(seat.set.rows, row), named, look)
        for royalty in seat.royalties:
            told = words("royalty", row=words(royalty.row), category=words(royalty.category), units=royalty.units)
            found.append(Text(words.line(f"      {told}")))
    return found + pair_lines(scene, look)


def pair_lines(scene: Scene, look: Look) -> list[Text]:
    """Return a line for every pair, from the side of its first seat."""
    words, capsa = look.words, scene.table.hand.capsa
    if not capsa.lines:
        return []
    found = [Text(words.line(words("pairs")))]
    for line in capsa.lines:
        names = {side: who_text(scene.table.seats, getattr(line, side), scene.seat, words) for side in ("a", "b")}
        told = [words("line", units=signed(line.units), chips=signed(line.chips), **names)]
        if line.HasField("rows"):
            told.append(words("line_rows", **{row: signed(getattr(line.rows, row)) for row in ROWS}))
        parts = (("overall", line.overall), ("scoop", line.scoop), ("royalty", line.royalty), ("other", line.other))
        told += [words(f"line_{name}", units=signed(units)) for name, units in parts if units]
        found.append(Text(words.line("   " + words.both(told))))
    return found
