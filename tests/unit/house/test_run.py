"""The `run` script on machines that are not as it would like them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from diwan.cli.main import app

ROOT = Path(__file__).parents[3]
TOOLS = ["sh", "cat", "cksum", "dirname", "rm"]
FAKE = """#!/bin/sh
echo "$0 $*" >>"{log}"
case $1 in
-c) exit 0 ;;
--version) echo Python 3.12.99 ;;
*) exit 7 ;;
esac
"""
NO_NETWORK = """#!/bin/sh
case $1 in
-m)
    mkdir -p .venv/bin
    printf '#!/bin/sh\\nexit 1\\n' >.venv/bin/python
    chmod +x .venv/bin/python
    ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A clone without `.venv`, in a folder with a space, on a machine whose PATH holds only what a test puts there."""
    folder = tmp_path / "a checkout"
    (folder / "requirements").mkdir(parents=True)
    for name in ("run", "pyproject.toml", "build_hook.py", "requirements/dev.txt"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return folder


def add_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def run(checkout: Path, programs: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(programs), "HOME": "/nonexistent", **env}
    return subprocess.run(
        [checkout / "run", *arguments], cwd="/", env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(
    any(Path("/usr/local/bin").glob("python3.1[2-9]")) or any(Path("/opt").glob("python*/bin/python3")),
    reason="a Python stands where run looks beside the PATH",
)
def test_without_a_python_it_says_what_is_missing(checkout, programs):
    add_program(programs, "python3", "#!/bin/sh\nexit 1\n")  # too old
    done = run(checkout, programs, "test")
    assert done.returncode == 1
    assert "no working Python 3.12 or newer" in done.stderr


def test_a_shim_that_does_not_run_is_passed_over(checkout, programs, tmp_path):
    log = tmp_path / "log"
    add_program(programs, "python3.13", "#!/bin/sh\necho no such version >&2\nexit 127\n")
    add_program(programs, "python3.12", FAKE.format(log=log))

    done = run(checkout, programs, "test")

    assert done.returncode == 7
    assert "Python 3.12.99" in done.stderr
    assert log.read_text().splitlines()[-1] == f"{programs}/python3.12 -m venv .venv"


def test_a_python_that_pyenv_keeps_is_found_without_its_shims(checkout, programs, tmp_path):
    version = tmp_path / "pyenv" / "versions" / "3.13.1" / "bin"
    version.mkdir(parents=True)
    add_program(version, "python3", FAKE.format(log=tmp_path / "log"))
    assert run(checkout, programs, "test", PYENV_ROOT=str(tmp_path / "pyenv")).returncode == 7


def test_the_first_choice_is_the_one_that_was_named(checkout, programs, tmp_path):
    add_program(programs, "mine", FAKE.format(log=tmp_path / "log"))
    assert run(checkout, programs, "test", DIWAN_PYTHON=str(programs / "mine")).returncode == 7


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_in_is_named(checkout, programs, tmp_path):
    add_program(programs, "python3.12", FAKE.format(log=tmp_path / "log"))
    checkout.chmod(0o555)
    done = run(checkout, programs, "test")
    assert (done.returncode, f"cannot write in {checkout}" in done.stderr) == (1, True)


def test_packages_that_do_not_come_are_explained(checkout, programs):
    """A Python whose virtual environment is made and whose pip fails, as without a network."""
    add_program(programs, "python3.12", NO_NETWORK)
    for tool in ("mkdir", "chmod"):
        (programs / tool).symlink_to(shutil.which(tool))
    done = run(checkout, programs, "test")
    assert (done.returncode, "needs a network" in done.stderr) == (1, True)
    assert not list(checkout.glob(".venv/*.stamp"))


def test_a_set_up_that_failed_leaves_no_stamp(checkout, programs, tmp_path):
    add_program(programs, "python3.12", FAKE.format(log=tmp_path / "log"))
    run(checkout, programs, "test")
    assert not list(checkout.glob(".venv/*.stamp"))


@pytest.mark.parametrize("arguments", [[], ["help"], ["-h"], ["--help"]])
def test_help_needs_no_set_up(checkout, programs, arguments):
    done = run(checkout, programs, *arguments)
    assert (done.returncode, "usage: ./run COMMAND" in done.stdout) == (0, True)


def test_its_help_names_every_command_of_diwan():
    shown = subprocess.run([ROOT / "run", "--help"], capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in shown.splitlines() if line.startswith("  ")}
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert commands <= listed
    assert listed <= commands | {"test", "lint", "bench", "soak", "lock"}


def test_scripts_are_executable_and_ci_runs_the_tests():
    assert os.access(ROOT / "run", os.X_OK)
    assert (ROOT / ".ci/run").read_text().splitlines()[-1] == 'exec "$(dirname -- "$0")/../run" test'
