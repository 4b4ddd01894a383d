"""Keyboard and screen: whole lines whatever the pieces they come in, and a prompt that stays apart."""

import asyncio
import os

from rich.console import Console
from rich.text import Text

from diwan.cli.play.terminal import Keyboard, Screen, folded
from diwan.cli.play.words import RIGHT_TO_LEFT_MARK


async def read_all(pieces):
    reading, writing = os.pipe()
    lines = []
    ended = asyncio.Event()

    def told(line):
        lines.append(line)
        if line is None:
            ended.set()

    keyboard = Keyboard(told, reading)
    keyboard.listen()
    for piece in pieces:
        os.write(writing, piece)
        await asyncio.sleep(0)
    os.close(writing)
    await asyncio.wait_for(ended.wait(), 5)
    keyboard.close()
    os.close(reading)
    return lines


async def test_lines_are_whole_and_the_end_of_the_input_is_told():
    assert await read_all([b"c\nr 1", b"00\n", b"x"]) == ["c", "r 100", "x", None]


async def test_letters_may_come_in_pieces_and_lines_end_as_anywhere():
    word = "رفع ١٠٠".encode()  # noqa: RUF001  (Arabic digits are meant)
    assert await read_all([word[:3], word[3:] + b"\r\n"]) == [word.decode(), None]


async def test_a_file_in_the_place_of_a_keyboard_is_read_too(tmp_path):
    script = tmp_path / "script"
    script.write_text("c\nq\n")
    lines = []
    file = os.open(script, os.O_RDONLY)
    Keyboard(lines.append, file).listen()
    os.close(file)
    assert lines == ["c", "q", None]


def test_what_comes_while_a_prompt_waits_begins_on_a_line_of_its_own(capsys):
    console = Console(force_terminal=True, color_system=None, width=40)
    screen = Screen(console)
    screen.ask("> ")
    screen.ask("> ")
    screen.show([Text("10 s left")])
    screen.ask("> ")
    screen.was_answered()
    screen.show(["done"])
    assert capsys.readouterr().out == "> \n10 s left\n> done\n"


def test_without_a_terminal_nothing_is_prompted_and_long_lines_stay_whole(capsys):
    screen = Screen(Console(highlight=False, soft_wrap=True))
    screen.ask("> ")
    screen.show([Text("x" * 300, style="bold red"), "[not markup]"])
    assert capsys.readouterr().out == "x" * 300 + "\n[not markup]\n"


def test_a_long_line_is_broken_between_choices_and_no_choice_is_torn():
    line = "   f  fold     c  call 25     r N  raise to 40 up to 1,000     p  raise by the pot: 90     ?  help"
    parts = [part.plain for part in folded(line, 50)]

    assert parts == [
        "   f  fold     c  call 25",
        "     r N  raise to 40 up to 1,000",
        "     p  raise by the pot: 90     ?  help",
    ]


def test_a_long_sentence_is_broken_between_words_on_its_own_side():
    english = [part.plain for part in folded("Conditions: Naiko, no-limit, bots may sit here", 30)]
    words = "الشروط: نايكو، بلا حد، قد تجلس هنا بوتات"
    arabic = [part.plain for part in folded(RIGHT_TO_LEFT_MARK + words, 30)]

    assert english == ["Conditions: Naiko, no-limit,", "  bots may sit here"]
    assert len(arabic) == 2
    assert all(part.startswith(RIGHT_TO_LEFT_MARK) for part in arabic)


def test_a_line_keeps_its_style_and_what_cannot_be_broken_stays_whole():
    parts = folded(Text("Your turn. 60 s, then your time bank", style="bold"), 20)

    assert all(str(part.style or part.spans[0].style) == "bold" for part in parts)
    assert [part.plain for part in folded("x" * 50, 20)] == ["x" * 50]
