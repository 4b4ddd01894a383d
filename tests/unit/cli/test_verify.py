"""`diwan verify`: exit codes, keys, kept checkpoints, and words that cannot steer a terminal."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from diwan.cli.main import app
from diwan.core.transparency.policy import policy_text
from tests.unit.verifier.registers import WITNESSES, log_key, policy
from tests.unit.verifier.test_bundles import small_bundle


@pytest.fixture
def files(tmp_path):
    (tmp_path / "hand.bundle").write_bytes(b"".join(small_bundle()))
    (tmp_path / "policy").write_text(policy_text(policy()), "utf-8")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["verify", *map(str, words)])


def test_a_verified_bundle_is_exit_0_and_its_checkpoints_are_kept(files):
    told = run(files / "hand.bundle", "--policy", files / "policy", "--keep", files / "kept")
    assert told.exit_code == 0, told.output
    assert "verified" in told.output
    assert len(list((files / "kept").glob("*.checkpoint"))) == 2
    again = run(files / "hand.bundle", "--policy", files / "policy", "--keep", files / "kept")
    assert again.exit_code == 0, again.output


def test_without_keys_it_cannot_be_said_and_is_exit_2(files):
    told = run(files / "hand.bundle", "--json")
    assert told.exit_code == 2
    report = json.loads(told.output)
    assert {one["rule"] for one in report["findings"]} == {"KEYS_MISSING"}


def test_keys_can_be_given_one_by_one_or_in_a_file(files):
    keys = [log_key(feed_id).verifier.text for feed_id in (1, 2)]
    (files / "keys").write_text("# mine\n" + "\n".join(keys) + "\n")
    assert run(files / "hand.bundle", "--key", keys[0], "--key", keys[1]).exit_code == 0
    assert run(files / "hand.bundle", "--key", files / "keys").exit_code == 0
    # A witness that is named must have signed: two of the three did.
    for name, code in (("w1", 0), ("w3", 2)):
        told = run(files / "hand.bundle", "--key", files / "keys", "--key", WITNESSES[name].verifier.text)
        assert told.exit_code == code, told.output


def test_a_forged_bundle_is_exit_1_whatever_stands_beside_it(files):
    raw = bytearray((files / "hand.bundle").read_bytes())
    raw[len(raw) // 2] ^= 1
    (files / "forged.bundle").write_bytes(bytes(raw))
    told = run(files / "hand.bundle", files / "forged.bundle", "--policy", files / "policy")
    assert told.exit_code == 1
    assert "NOT VERIFIED" in told.output


@pytest.mark.parametrize("raw", [b"", b"\x00" * 100, b"[" * 2_000_000, b"\xff\n" * 10, b'{"format":"\x1b[2J"}\n'])
def test_any_other_file_ends_in_a_verdict(files, raw):
    (files / "other").write_bytes(raw)
    told = run(files / "other", "--policy", files / "policy")
    assert told.exit_code == 1
    assert "BUNDLE_MALFORMED" in told.output
    assert "\x1b" not in told.output


@pytest.mark.parametrize("words", [("--key", "nonsense"), ("--policy", "hand.bundle"), ("--checkpoint", "policy")])
def test_what_is_no_key_policy_or_checkpoint_is_said(files, monkeypatch, words):
    monkeypatch.chdir(files)
    told = run("hand.bundle", *words)
    assert told.exit_code == 2
    assert not isinstance(told.exception, OSError | ValueError)
