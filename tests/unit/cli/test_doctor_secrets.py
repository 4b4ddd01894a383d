"""What ``diwan doctor`` says of hidden cards (S5)."""

import re

import pytest

from diwan.chassis.keyfile import KeyFile
from diwan.cli.doctor import secrets_finding

KEY_HEX = re.compile(r"[0-9a-f]{16}").search
NOW = 1_796_083_200.0
DAY = int(NOW // 86_400)


@pytest.fixture
def keyfile(tmp_path):
    return lambda oldest: KeyFile.open_or_create(tmp_path / f"{oldest}.key", oldest_day=oldest)


@pytest.mark.parametrize(("oldest", "is_well"), [(DAY, True), (DAY - 89, True), (DAY - 90, True), (DAY - 91, False)])
def test_days_behind_the_window_that_are_still_there_are_wrong(keyfile, oldest, is_well):
    """A day falls due at midnight and is destroyed within the hour, so the newest of those due is given that day."""
    found = secrets_finding(keyfile(oldest), NOW)
    assert found.is_well is is_well
    assert "can be opened since" in found.detail
    assert ("should be" in found.detail) is not is_well


def test_a_hold_is_told_and_what_it_keeps_is_not_overdue(keyfile):
    one = keyfile(DAY - 300)  # 2026-02-04
    assert not secrets_finding(one, NOW).is_well
    one.hold_path.write_text("2026-02-01")
    found = secrets_finding(one, NOW)
    assert found.is_well
    assert "a legal hold keeps those since 2026-02-01" in found.detail
    one.hold_path.write_text("2026-06-01")
    found = secrets_finding(one, NOW)
    assert not found.is_well, "days before the hold are overdue all the same"
    assert "all up to 2026-05-31 should be" in found.detail


@pytest.mark.parametrize("spoil", ["hold", "key", "mode"])
def test_what_cannot_be_read_is_wrong_and_shows_no_key(keyfile, spoil):
    one = keyfile(DAY)
    if spoil == "hold":
        one.hold_path.write_text("next week")
    elif spoil == "key":
        one.path.write_text("gone")
    else:
        one.path.chmod(0o644)
    found = secrets_finding(one, NOW)
    assert not found.is_well
    assert found.mend
    assert KEY_HEX(found.detail) is None
