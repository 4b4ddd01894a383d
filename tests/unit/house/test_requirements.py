"""The lock: everything pinned and hashed, one version of a package everywhere, no registry named."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = ["dev", "runtime", "build", "bench"]
PINNED = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;\\]+)", re.MULTILINE)


def text(lock: str) -> str:
    return (ROOT / "requirements" / f"{lock}.txt").read_text()


def versions(lock: str) -> dict[str, str]:
    return {match["name"]: match["version"] for match in PINNED.finditer(text(lock))}


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock):
    joined = text(lock).replace("\\\n", " ")
    requirements = [line for line in joined.splitlines() if line and not line.lstrip().startswith("#")]
    assert len(requirements) == len(versions(lock)) > 0
    assert all("--hash=sha256:" in line for line in requirements)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_registry_is_named(lock):
    assert not re.search(r"https?:|file:|index-url|find-links", text(lock))


@pytest.mark.parametrize("lock", ["runtime", "build"])
def test_the_smaller_locks_are_parts_of_the_large_one(lock):
    assert versions(lock).items() <= versions("dev").items()


def test_what_the_project_asks_for_is_in_the_lock():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = [
        *project["project"]["dependencies"],
        *(name for group in project["dependency-groups"].values() for name in group),
    ]
    names = {re.split(r"[=<>~! ]", requirement)[0].lower() for requirement in asked}
    assert names <= {*versions("dev"), *versions("bench")}


def test_what_benchmarks_need_besides_is_in_no_other_lock():
    """Peers to measure against are installed by ``./run bench`` alone."""
    assert {"eval7", "phevaluator"} <= set(versions("bench"))
    assert not {"eval7", "phevaluator"} & set(versions("dev"))


def test_the_build_is_pinned_the_same_with_and_without_isolation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requires = project["build-system"]["requires"]
    assert project["dependency-groups"]["build"] == requires
    assert {tuple(pin.split("==")) for pin in requires} <= set(versions("build").items())


def test_grpcio_is_at_least_the_generator_that_writes_its_stubs():
    """Stubs refuse at import a grpcio older than the grpcio-tools that made them."""
    assert as_numbers(versions("runtime")["grpcio"]) >= as_numbers(versions("build")["grpcio-tools"])
