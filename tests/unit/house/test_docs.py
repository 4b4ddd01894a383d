"""The documentation holds together: links lead somewhere, and every page can be found."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from diwan.cli.main import app
from diwan.witness import program

ROOT = Path(__file__).parents[3]
PAGES = sorted([
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "services").rglob("README.md"),
    *(ROOT / "deploy").rglob("*.md"),
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
])  # fmt: skip
COMMAND = re.compile(r"^(?:\./run|diwan) ([a-z].*?)(?:\s{2,}.*)?$", re.MULTILINE)
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OF_RUN = {"test", "lint", "bench", "soak", "lock"}


def links(page):
    """Return the files that a page links to."""
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    return [(page.parent / link).resolve() for link in found if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    assert [str(target) for target in links(page) if not target.exists()] == []


def test_every_page_can_be_reached_from_the_readme():
    reached, new = set(), [ROOT / "README.md"]
    while new:
        page = new.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            new += links(page)
    assert [str(page) for page in PAGES if page not in reached] == []


def commands(page):
    """Return the `./run` and `diwan` lines of a page's blocks, without what is said beside them."""
    text = "\n".join(BLOCK.findall(page.read_text()))
    return [line for line in COMMAND.findall(text) if line.split()[0] not in OF_RUN]


def options_of_the_witness(command):
    """Return the options of one of its commands: it is a program of its own, which reads them by itself."""
    commands = next(action for action in program._parser("witness")._actions if action.choices)
    return set(commands.choices[command]._option_string_actions)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_command_that_is_shown_exists_with_its_options(page):
    for line in commands(page):
        words = [word for word in shlex.split(line.replace("[", " ").replace("]", " ")) if word]
        command = get_command(app)
        while words and isinstance(command, typer.core.TyperGroup):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        if command.name == "witness":
            known = options_of_the_witness(words[0])
        assert {word for word in words if word.startswith("--")} <= known, line


def test_every_decision_has_a_number_of_its_own_and_one_line_in_the_list():
    folder = ROOT / "docs" / "decisions"
    pages = sorted(path.name for path in folder.glob("0*.md"))
    numbers = [page[:4] for page in pages]

    listed = re.findall(r"^\| \[(\d{4})\]\((\S+)\) \|", (folder / "README.md").read_text(), re.MULTILINE)

    assert listed == [(page[:4], page) for page in pages]
    assert len(set(numbers)) == len(numbers)
    assert [(folder / page).read_text()[:7] for page in pages] == [f"# {number} " for number in numbers]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_two_versions_of_itself(page):
    """What a merge left open is text to no reader."""
    assert re.findall(r"^(?:<{7}|={7}|>{7})(?: .*)?$", page.read_text(), re.MULTILINE) == []
