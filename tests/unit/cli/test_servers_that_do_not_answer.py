"""Servers that are named and cannot be used: what is said of them."""

import pytest
from typer.testing import CliRunner

from diwan.cli.main import app
from diwan.cli.prepare import variable_of
from diwan.cli.stack.layout import SERVICES
from diwan.cli.stack.prepare import roles_of


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nonsense", "PostgreSQL at (a URL such as"),
        ("postgresql://postgres:hush@127.0.0.1:1/postgres", "PostgreSQL at 127.0.0.1:1:"),
    ],
)
def test_prepare_names_the_server_and_hides_its_password(monkeypatch, url, told):
    for role in (role for service in SERVICES for role in roles_of(service)):
        monkeypatch.setenv(variable_of(role), "x")

    done = CliRunner().invoke(app, ["prepare", "--postgres-url", url, "--nats-url", "nats://127.0.0.1:1"])

    assert done.exit_code == 1
    assert told in done.output
    assert "hush" not in done.output
