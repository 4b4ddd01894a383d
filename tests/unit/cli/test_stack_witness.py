"""The witness of `diwan up`: made once, told of new keys, under a policy that stays where somebody wrote his own (A7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from diwan.cli.stack.environment import Places, settings_of
from diwan.cli.stack.layout import SERVICES, Layout
from diwan.cli.stack.witness import REGISTERED_FEEDS, chosen_address, prepare_witness
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


def test_a_policy_of_one_s_own_finds_the_witness_where_it_says(layout):
    """Else no quorum would come together after the next start, and the register would stand still (A7)."""
    assert chosen_address(layout) == ""
    prepare_witness(layout, ADDRESS)
    assert chosen_address(layout) == "", "a policy that is written anew follows the witness"
    text = layout.register_policy.read_text().split("\n", 1)[1]
    other = (
        "witness other auditor.example/w1+b6bcf842+BIdSxZKy7i9ajJyvgZGIsQD5LeV108qM7YUyLO47ljsC http://127.0.0.1:9\n"
    )
    layout.register_policy.write_text("# ours\n" + other + text)
    assert chosen_address(layout) == ADDRESS


@pytest.mark.parametrize("text", ["quorum nobody\n", "quorum none\n", "\xff"])
def test_a_policy_that_does_not_name_the_witness_says_nothing_of_its_place(layout, text):
    prepare_witness(layout, ADDRESS)
    layout.register_policy.write_bytes(text.encode("latin-1"))
    assert chosen_address(layout) == ""


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
