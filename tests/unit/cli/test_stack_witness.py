"""The witness of `diwan up`: made once, told of new keys, under a policy that stays where somebody wrote his own (A7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from diwan.cli.stack.environment import Places, settings_of
from diwan.cli.stack.layout import SERVICES, Layout
from diwan.cli.stack.witness import REGISTERED_FEEDS, prepare_witness
from diwan.core.transparency.policy import Policy, parse_policy

ADDRESS = "127.0.0.1:7370"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.prepare()
    return layout


def policy_of(layout: Layout) -> Policy:
    return parse_policy(layout.register_policy.read_text())


def audit_settings(layout: Layout) -> dict[str, str]:
    addresses = dict.fromkeys(SERVICES, "127.0.0.1:1")
    return settings_of("audit", layout, Places("postgresql://u:p@h/d", "nats://h", addresses, addresses))


def test_it_knows_every_log_and_the_policy_asks_for_it(layout):
    folder = prepare_witness(layout, ADDRESS)
    policy = policy_of(layout)
    assert [log.key.name for log in policy.logs] == [f"diwan.local/feed/{feed}" for feed in REGISTERED_FEEDS]
    assert folder.logs() == [log.key for log in policy.logs]
    assert [one.url for one in policy.witnesses.values()] == [f"http://{ADDRESS}"]
    assert policy.is_quorum({"witness"})
    assert not policy.is_quorum(())


def test_a_second_start_changes_nothing_but_where_it_answers(layout):
    first = prepare_witness(layout, ADDRESS)
    before, keys = policy_of(layout), [key.verifier for key in first.signing_keys()]
    again = prepare_witness(layout, "127.0.0.1:7371")
    assert [key.verifier for key in again.signing_keys()] == keys
    assert policy_of(layout).logs == before.logs
    assert policy_of(layout).witnesses["witness"].url == "http://127.0.0.1:7371"


def test_a_policy_of_one_s_own_is_left_alone(layout):
    prepare_witness(layout, ADDRESS)
    layout.register_policy.write_text("# ours\nquorum none\n")
    prepare_witness(layout, ADDRESS)
    assert layout.register_policy.read_text() == "# ours\nquorum none\n"


def test_the_runbook_of_the_log_key_is_followed_by_moving_one_file(layout):
    prepare_witness(layout, ADDRESS)
    old = policy_of(layout).logs
    assert "register_old_key_file" not in audit_settings(layout)
    layout.register_key.rename(layout.register_old_key)
    folder = prepare_witness(layout, ADDRESS)
    both = policy_of(layout).logs
    assert both[len(old) :] == old
    assert {log.key for log in both} <= set(folder.logs())
    assert audit_settings(layout)["register_old_key_file"] == str(layout.register_old_key)
    layout.register_old_key.unlink()
    prepare_witness(layout, ADDRESS)
    assert policy_of(layout).logs == both[: len(old)]


def test_the_runbook_of_the_witness_s_key_leaves_either_key_enough(layout):
    folder = prepare_witness(layout, ADDRESS)
    folder.rotate()
    prepare_witness(layout, ADDRESS)
    policy = policy_of(layout)
    assert policy.is_quorum({"witness"})
    assert policy.is_quorum({"witness-before"})
    folder.retire()
    prepare_witness(layout, ADDRESS)
    assert list(policy_of(layout).witnesses) == ["witness"]
