"""The workers of a parallel run must collect the same tests: no parameter may differ from process to process."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
FRESH = {"uuid1", "uuid4", "urandom", "token_bytes", "token_hex", "randbytes", "random", "time", "time_ns", "now"}


def fresh_parameters(source: str) -> Iterator[str]:
    """Yield what differs from run to run inside the decorators of tests."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (each for decorator in function.decorator_list for each in ast.walk(decorator)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in FRESH:
                yield ast.unparse(node)


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_parameters_are_the_same_in_every_process(path):
    assert not list(fresh_parameters(path.read_text()))


@pytest.mark.parametrize("parameter", ["str(uuid4()).upper()", "os.urandom(3)", "time.time()"])
def test_a_fresh_parameter_is_found(parameter):
    source = f"@pytest.mark.parametrize('one', [{parameter}])\nasync def test(one): ...\n"
    assert list(fresh_parameters(source))
