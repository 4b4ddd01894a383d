"""What the documentation shows of the client library is what the library has: names, methods, keywords."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from diwan.client import DiwanClient, SeatStream
from diwan.client.others import Audit, Bots
from diwan.client.private import PrivateTables
from diwan.client.tables import Tables
from diwan.client.wallet import Wallet

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if BLOCK.search(page.read_text())]

OWNERS = {
    "client": DiwanClient,
    "client.tables": Tables,
    "client.tables.private": PrivateTables,
    "client.wallet": Wallet,
    "client.audit": Audit,
    "client.bots": Bots,
    "seat": SeatStream,
}


def trees(page):
    """Return the blocks of a page as syntax trees; ``await`` may stand at the top, as in ``python -m asyncio``."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return [compile(block, str(page), "exec", flags) for block in BLOCK.findall(page.read_text())]


def calls(tree):
    """Yield each call of something that belongs to the library: what owns it, its name, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            if owner in OWNERS:
                yield OWNERS[owner], node.func.attr, node


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_call_that_is_shown_can_be_made(page):
    for tree in trees(page):
        for owner, name, call in calls(tree):
            method = getattr(owner, name, None)
            assert method is not None, f"{owner.__name__}.{name}"
            keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg}
            starred = any(isinstance(argument, ast.Starred) for argument in call.args)
            bind = inspect.signature(method).bind_partial if starred else inspect.signature(method).bind
            bind(None, *[None for _ in call.args if not starred], **keywords)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_that_is_imported_is_there(page):
    for tree in trees(page):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("diwan"):
                for alias in node.names:
                    if not hasattr(importlib.import_module(node.module), alias.name):
                        importlib.import_module(f"{node.module}.{alias.name}")


def test_calls_are_found_and_wrong_ones_are_told_apart():
    """The check itself: a keyword too many, and a method that there is not."""
    (good,) = calls(ast.parse("client.tables.sit_down(table_id, 5, post_at_once=True)"))
    assert good[:2] == (Tables, "sit_down")
    with pytest.raises(TypeError):
        inspect.signature(Tables.sit_down).bind(None, "t", 5, posts=True)
    assert not hasattr(Tables, "sit")
