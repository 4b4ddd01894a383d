"""The master key outside the database (DESIGN 6, S5)."""

import os
import threading

import pytest

from diwan.chassis.keyfile import DAYS_AHEAD_MAX, KeyFile, VaultError, day_of, next_master, wrapping_key_of

DAY = 20_787


@pytest.fixture
def keyfile(tmp_path):
    return KeyFile.open_or_create(tmp_path / "master.key", oldest_day=DAY)


def _reason(act, *arguments):
    with pytest.raises(VaultError) as caught:
        act(*arguments)
    return caught.value.reason


def _names(folder):
    return [path.name for path in folder.iterdir()]


def test_a_new_file_has_mode_0600_whatever_the_umask_and_leaves_nothing_beside_it(tmp_path):
    before = os.umask(0)
    try:
        keyfile = KeyFile.open_or_create(tmp_path / "master.key", oldest_day=DAY)
    finally:
        os.umask(before)

    assert keyfile.path.stat().st_mode & 0o7777 == 0o600
    assert _names(tmp_path) == ["master.key"]
    assert keyfile.oldest_day() == DAY


def test_opening_again_keeps_the_key_and_two_files_have_two_keys(tmp_path, keyfile):
    again = KeyFile.open_or_create(keyfile.path, oldest_day=DAY + 5)
    other = KeyFile.open_or_create(tmp_path / "other.key", oldest_day=DAY)

    assert again.wrapping_key(DAY) == keyfile.wrapping_key(DAY)
    assert other.wrapping_key(DAY) != keyfile.wrapping_key(DAY)


def test_processes_that_create_it_at_once_all_have_the_one_that_stands(tmp_path):
    found, barrier = [], threading.Barrier(8)

    def create():
        barrier.wait()
        found.append(KeyFile.open_or_create(tmp_path / "master.key", oldest_day=DAY).wrapping_key(DAY))

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len(set(found)) == 1
    assert _names(tmp_path) == ["master.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620, 0o700, 0o601])
def test_a_file_that_others_may_touch_is_refused(keyfile, mode):
    keyfile.path.chmod(mode)

    assert _reason(keyfile.wrapping_key, DAY) == "KEY_FILE_UNSAFE"
    assert _reason(keyfile.forget_through, DAY) == "KEY_FILE_UNSAFE"


def test_a_file_that_only_its_owner_may_read_is_accepted(keyfile):
    keyfile.path.chmod(0o400)

    assert keyfile.oldest_day() == DAY


def test_a_link_a_folder_and_no_file_are_refused(tmp_path, keyfile):
    link = tmp_path / "link.key"
    link.symlink_to(keyfile.path)
    (tmp_path / "folder").mkdir(mode=0o700)

    assert _reason(KeyFile(link).oldest_day) == "KEY_FILE_UNREADABLE"
    assert _reason(KeyFile(tmp_path / "folder").oldest_day) == "KEY_FILE_UNSAFE"
    assert _reason(KeyFile(tmp_path / "none.key").oldest_day) == "KEY_FILE_UNREADABLE"


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_damaged_file_is_refused_and_never_shown_or_replaced(keyfile, cut):
    content = keyfile.path.read_bytes()
    damaged = content[:cut]
    keyfile.path.write_bytes(damaged)

    with pytest.raises(VaultError) as caught:
        KeyFile.open_or_create(keyfile.path, oldest_day=DAY)
    assert caught.value.reason == "KEY_FILE_DAMAGED"
    assert content.split()[-1].decode() not in str(caught.value)
    assert keyfile.path.read_bytes() == damaged


def test_forgetting_destroys_a_day_and_all_before_it_and_no_later_one(keyfile):
    """S5: after it, nothing in the file leads back."""
    before = {day: keyfile.wrapping_key(day) for day in range(DAY, DAY + 6)}
    keyfile.forget_through(DAY + 2)

    assert [_reason(keyfile.wrapping_key, day) for day in range(DAY, DAY + 3)] == ["DAY_DESTROYED"] * 3
    assert [keyfile.wrapping_key(day) for day in range(DAY + 3, DAY + 6)] == [
        before[d] for d in range(DAY + 3, DAY + 6)
    ]
    assert keyfile.oldest_day() == DAY + 3
    assert keyfile.path.stat().st_mode & 0o7777 == 0o600
    assert _names(keyfile.path.parent) == ["master.key"]


def test_forgetting_is_never_undone_by_forgetting_less(keyfile):
    keyfile.forget_through(DAY + 4)
    content = keyfile.path.read_bytes()
    keyfile.forget_through(DAY + 1)
    keyfile.forget_through(DAY + 4)

    assert keyfile.path.read_bytes() == content


def test_a_held_file_is_overwritten_when_it_is_replaced(keyfile):
    """Who still has the old file open finds no key in it."""
    with keyfile.path.open("rb") as held:
        old = held.read()
        keyfile.forget_through(DAY)
        held.seek(0)

        assert held.read() == bytes(len(old))


def test_other_holders_of_the_path_see_it_move(keyfile):
    other = KeyFile(keyfile.path)
    keyfile.forget_through(DAY)

    assert _reason(other.wrapping_key, DAY) == "DAY_DESTROYED"


def test_a_clock_ten_years_ahead_is_no_reason_to_move(keyfile):
    content = keyfile.path.read_bytes()

    assert len(keyfile.wrapping_key(DAY + DAYS_AHEAD_MAX)) == 32
    assert _reason(keyfile.wrapping_key, DAY + DAYS_AHEAD_MAX + 1) == "DAY_OUT_OF_RANGE"
    assert _reason(keyfile.forget_through, DAY + DAYS_AHEAD_MAX) == "DAY_OUT_OF_RANGE"
    assert keyfile.path.read_bytes() == content


def test_days_masters_and_wrapping_keys_are_all_different():
    master, keys = bytes(32), set()
    for day in range(DAY, DAY + 20):
        keys |= {bytes(master), bytes(wrapping_key_of(master, day))}
        master = next_master(master, day)

    assert len(keys) == 40


@pytest.mark.parametrize(
    ("milliseconds", "day"), [(0, 0), (86_399_999, 0), (86_400_000, 1), (1_796_083_200_000, 20_788)]
)
def test_days_begin_at_midnight_utc(milliseconds, day):
    assert day_of(milliseconds) == day
