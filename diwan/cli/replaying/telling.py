"""A story as lines of text: plain, complete and the same every time, for tickets, mails and pipes."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

from diwan.cli.play.words import ISOLATE_END, LEFT_TO_RIGHT, OWN_DIRECTION, RIGHT_TO_LEFT_MARK
from diwan.cli.replaying.story import Happening, SeatAt, Step, Story
from diwan.history.text import cards_text, clock_text
from diwan.history.words import seconds

type Language = Literal["en", "ar"]

POSITIONS_MAX: Final = 6
"""More positions are counted: thirteen cards a seat would hide the rest of the line."""


class Teller:
    """Says what a story holds, in one language."""

    def __init__(self, language: Language = "en") -> None:
        self._language: Language = language

    def say(self, key: str, /, **facts: object) -> str:
        """Return a phrase with its facts; in a right-to-left one each keeps its own direction."""
        text = _catalogue()[key][self._language]
        return text.format(**{name: self._piece(fact) for name, fact in facts.items()})

    def _piece(self, fact: object) -> str:
        return f"{OWN_DIRECTION}{fact}{ISOLATE_END}" if self._language == "ar" else str(fact)

    def _line(self, text: str) -> str:
        return RIGHT_TO_LEFT_MARK + text if self._language == "ar" else text

    def _english(self, text: str) -> str:
        return f"{LEFT_TO_RIGHT}{text}{ISOLATE_END}" if self._language == "ar" else text

    # ---- around the moments -----------------------------------------------------------------------------------------

    def lens(self, lens: str) -> str:
        """Return whose eyes these are."""
        return self.say(lens) if lens in {"spectator", "auditor"} else self.say("seat", seat=lens)

    def head(self, story: Story, beside: Story | None = None) -> Iterator[str]:
        """Yield what stands above the moments."""
        yield self._line(
            self.say(
                "title",
                hand=story.hand_id,
                no=story.hand_no,
                table=story.table_id,
                game=story.game,
                lens=self.lens(story.lens),
            )
        )
        if beside is not None:
            yield self._line(self.say("beside", lens=self.lens(beside.lens)))
        first, last = story.steps[0], story.steps[-1]
        yield self._line(
            self.say(
                "span",
                first=moment_text(first.at_ms),
                last=moment_text(last.at_ms),
                **{"from": first.happened[0].version},
                to=last.version,
                steps=len(story.steps),
            )
        )
        players = ", ".join([f"{seat.seat} {seat.player} ({seat.stack + seat.bet})" for seat in first.seats])
        yield self._line(self.say("players", players=players))
        yield self._line(self.say("ended", result=self.say(story.result)) if story.result else self.say("running"))
        for each in (story, *(() if beside is None else (beside,))):
            if each.opened_version:
                yield self._line(self.say("opened", version=each.opened_version))
        if story.is_secret_destroyed or (beside is not None and beside.is_secret_destroyed):
            yield self._line(self.say("destroyed"))

    def tail(self, story: Story) -> Iterator[str]:
        """Yield what stands below the moments: what was refused during the hand."""
        if not story.is_ended:
            return
        if not story.refused:
            yield self._line(self.say("refused_none"))
            return
        yield self._line(self.say("refused", version=story.refusals_version))
        for each in story.refused:
            message = each.message_ar if self._language == "ar" else each.message
            facts = {"seat": each.seat, "count": each.count, "reason": each.reason, "message": message}
            yield self._line("  " + self.say("refused_one", **facts))

    # ---- one moment -------------------------------------------------------------------------------------------------

    def moment(
        self, step: Step, count: int, beside: tuple[str, Step | None] | None = None, lens: str = ""
    ) -> list[str]:
        """Return the lines of a moment; ``beside`` is another lens with the same moment through it."""
        lines = [self.title(step, count), *self.happened(step, None if beside is None else beside[1])]
        if beside is None:
            lines += self.table(step)
        else:
            for name, each in ((lens, step), beside):
                if each is not None:
                    lines += [f"  -- {self.lens(name)}", *self.table(each)]
        return [*lines, *self.around(step)]

    def title(self, step: Step, count: int) -> str:
        """Return a moment's first line."""
        street = self.say(step.street)
        facts = {"number": step.number, "count": count, "version": step.version, "time": clock_text(step.at_ms)}
        return self._line(self.say("moment", street=street, **facts))

    def happened(self, step: Step, beside: Step | None = None) -> Iterator[str]:
        """Yield what happened, and where other eyes were told something else that too."""
        others: Sequence[Happening | None] = (None,) * len(step.happened) if beside is None else beside.happened
        for happening, other in zip(step.happened, others, strict=True):
            who = self.say("room") if happening.seat is None else self.say("seat", seat=happening.seat)
            yield self._line(f"  {who:<7} {self._english(happening.what)}{self._marks(happening)}")
            if other is not None and other.what != happening.what:
                yield self._line(f"  {'':<7} ({self._english(other.what)})")

    def _marks(self, happening: Happening) -> str:
        marks = [] if happening.decided_by is None else [self.say(f"by_{happening.decided_by}")]
        if happening.time_left_ms is not None:
            marks.append(self.say("left", left=seconds(happening.time_left_ms)))
        return f"  [{', '.join(marks)}]" if marks else ""

    def table(self, step: Step) -> Iterator[str]:
        """Yield the table after a moment: pot and board, then a line a seat."""
        if step.pot or step.board:
            board = f"  {self.say('board', cards=cards_text(step.board))}" if step.board else ""
            yield self._line(f"  {self.say('pot', pot=step.pot)}{board}")
        width = max([len(seat.name) for seat in step.seats], default=0)
        for seat in step.seats:
            yield self._line(f"    {self.seat(seat, width)}")

    def seat(self, seat: SeatAt, width: int = 0) -> str:
        """Return one seat with chips, bet and cards; one that has folded stands in brackets."""
        chips = f"{seat.stack}+{seat.bet}" if seat.bet else f"{seat.stack}"
        notes = [*([self.say("all_in")] if seat.is_all_in else []), *seat.notes]
        text = f"{seat.seat} {seat.name:<{width}} {chips:>9}  {cards_text(seat.cards)}".rstrip()
        text += f"  ({'; '.join(notes)})" if notes else ""
        return self._english(f"({text})" if seat.has_folded else text)

    def around(self, step: Step) -> Iterator[str]:
        """Yield who was waited for, who had been shown which positions, and when spectators saw it."""
        yield self._line(f"  {self.waiting(step)}")
        yield self._line(f"  {self.say('knew', who='; '.join(self.knew(step)))}")
        if step.spectators_at_version == 0:
            yield self._line(f"  {self.say('not_yet')}")
        elif step.spectators_at_version != step.version:
            yield self._line(f"  {self.say('late', version=step.spectators_at_version)}")

    def waiting(self, step: Step) -> str:
        """Return who was waited for, until when, and what was left."""
        waiting = step.waiting
        if waiting is None:
            return self.say("nobody_waits")
        seats = ", ".join([self.say("seat", seat=seat) for seat in waiting.seats])
        left = self.say("left", left=seconds(waiting.left_ms))
        return self.say("waiting", seats=seats, time=clock_text(waiting.deadline_ms), left=left)

    def knew(self, step: Step) -> Iterator[str]:
        """Yield who had been shown which positions of the deck by then."""
        yield self.say("knew_all", positions=positions_text(step.public_positions))
        for each in step.knowing:
            yield self.say("knew_seat", seat=each.seat, positions=positions_text(each.positions))


def story_lines(
    story: Story, beside: Story | None = None, *, steps: Iterable[Step] | None = None, language: Language = "en"
) -> Iterator[str]:
    """Yield a story line by line; ``steps`` are those of it that are told, all without it."""
    teller = Teller(language)
    yield from teller.head(story, beside)
    others = {} if beside is None else {step.version: step for step in beside.steps}
    for step in story.steps if steps is None else steps:
        yield ""
        pair = None if beside is None else (beside.lens, others.get(step.version))
        yield from teller.moment(step, len(story.steps), pair, story.lens)
    yield ""
    yield from teller.tail(story)


def positions_text(positions: Sequence[int]) -> str:
    """Return positions such as ``4 5 6``, or how many where they are many."""
    if not positions:
        return "-"
    return f"{len(positions)} of 52" if len(positions) > POSITIONS_MAX else " ".join(map(str, positions))


def moment_text(at_ms: int) -> str:
    """Return a day and a time of day in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at_ms // 1000))


@cache
def _catalogue() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
