"""Every import rule is seen to catch the import that it forbids, planted in a copy of the tree."""

import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINTER = Path(sysconfig.get_path("scripts")) / "lint-imports"

# contract, file, planted lines. Files that do not exist are made, with the packages above them.
VIOLATIONS = [
    ("layers", "diwan/core/planted.py", "import diwan.chassis"),
    ("layers", "diwan/wire/planted.py", "import diwan.chassis"),
    ("layers", "diwan/history/planted.py", "import diwan.wire"),
    ("layers", "diwan/chassis/planted.py", "import diwan.verifier"),
    ("layers", "diwan/verifier/planted.py", "import diwan.client"),
    ("layers", "diwan/client/planted.py", "import diwan.cli"),
    ("layers", "diwan/cli/planted.py", "import services"),
    ("services", "services/planted_one/app.py", "import services.planted_two"),
    ("purity", "diwan/core/planted.py", "from datetime import datetime"),
    ("purity", "diwan/core/games/planted.py", "import random"),
    ("purity", "diwan/core/hand/planted.py", "def late():\n    import time"),
    ("purity", "diwan/history/planted.py", "import diwan.api"),
    ("purity", "diwan/core/planted.py", "from google.protobuf import message"),
    ("stubs", "diwan/cli/planted.py", "import diwan.api"),
    ("stubs", "diwan/verifier/planted.py", "import diwan.api"),
    ("policy", "diwan/core/policy/planted.py", "import diwan.core.hand"),
    ("policy", "diwan/core/policy/planted.py", "import diwan.core.planted_between"),
    ("verifier", "diwan/verifier/planted.py", "import diwan.chassis"),
    ("signing", "diwan/signing/planted.py", "import socket"),
    ("signing", "diwan/signing/planted.py", "import grpc"),
    ("witness", "diwan/witness/planted.py", "import diwan.chassis"),
    ("witness", "diwan/witness/planted.py", "import typer"),
    ("embedded", "services/planted_one/app.py", "import diwan.chassis.embedded"),
]


@pytest.fixture
def tree(tmp_path):
    """Sources and rules as they stand; generated stubs are stood for by an empty package."""
    for package in ("diwan", "services"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("api", "__pycache__"))
    plant(tmp_path, "diwan/api/__init__.py", "")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(tree: Path, file: str, text: str) -> None:
    path = tree / file
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in path.relative_to(tree).parents:
        if folder != Path():
            (tree / folder / "__init__.py").touch()
    path.write_text(text + "\n")


def lint(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINTER, "--no-logo", "--no-cache", *arguments], cwd=tree, capture_output=True, text=True, check=False
    )


def test_every_contract_has_a_planted_violation():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

    assert {contract["id"] for contract in contracts} == {contract for contract, _, _ in VIOLATIONS}


@pytest.mark.parametrize(("contract", "file", "text"), VIOLATIONS)
def test_a_forbidden_import_breaks_its_contract(tree, contract, file, text):
    plant(tree, "services/planted_two/__init__.py", "")
    plant(tree, "diwan/core/planted_between.py", "import diwan.core.hand")
    assert lint(tree, "--contract", contract).returncode == 0, "the tree keeps the contract before anything is planted"

    plant(tree, file, text)
    done = lint(tree, "--contract", contract)

    assert (done.returncode, "BROKEN" in done.stdout) == (1, True), done.stdout + done.stderr


def test_a_draw_by_pythons_own_chance_is_refused_by_the_linter(tmp_path):
    """F7: the product draws only from committed secrets."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    plant(tmp_path, "diwan/chassis/planted.py", '"""Planted."""\n\nimport random\n\nrandom.random()')
    ruff = Path(sysconfig.get_path("scripts")) / "ruff"
    done = subprocess.run([ruff, "check", "--no-cache", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "TID251" in done.stdout
