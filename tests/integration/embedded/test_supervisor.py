"""Children that live and die with their parent, and a supervisor that brings back what ends."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from diwan.chassis.embedded import Child, DirectoryInUseError, DirectoryLock, EmbeddedError, Process, Supervisor
from diwan.chassis.embedded.process import wait_until

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    """import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
print(child.pid, flush=True); time.sleep(60)""",
]


class Reports:
    def __init__(self):
        self.lines = []

    def __call__(self, name, what):
        self.lines.append((name, what))


def gone(pid: int) -> bool:
    """Ended; a zombie that its new parent has not yet collected counts."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_output_goes_to_the_log_and_the_status_is_told(tmp_path):
    process = Process([sys.executable, "-c", "print('hello'); raise SystemExit(3)"], log_path=tmp_path / "log")
    assert process.wait(10)
    assert (process.returncode, process.log_tail()) == (3, "hello")


def test_a_child_gets_exactly_the_environment_and_folder_it_is_given(tmp_path):
    script = "import os; print(os.environ['WHO'], os.getcwd(), 'HOME' in os.environ)"
    env = {"WHO": "me"} | {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    process = Process([sys.executable, "-c", script], log_path=tmp_path / "log", env=env, cwd=tmp_path)
    assert process.wait(10)
    assert process.log_tail() == f"me {tmp_path.resolve()} False"


def test_a_child_dies_when_its_parent_is_killed(tmp_path):
    script = (
        "import sys, threading, time; from pathlib import Path; from diwan.chassis.embedded import Process\n"
        f"argv = {SLEEPER!r}\n"
        "def begin():\n"
        "    print(Process(argv, log_path=Path(sys.argv[1])).pid, flush=True)\n"
        "thread = threading.Thread(target=begin); thread.start(); thread.join()\n"
        "time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert wait_until(lambda: (tmp_path / "log").read_text().strip() == "up", 10)
    assert not gone(child), "the end of the thread that started it is not the end of the child"

    parent.kill()
    parent.communicate()

    assert wait_until(lambda: gone(child), 10)


def test_stop_kills_the_whole_group_of_a_child_that_ignores_requests(tmp_path):
    process = Process(STUBBORN, log_path=tmp_path / "log")
    assert wait_until(lambda: process.log_tail().isdigit(), 10)
    grandchild = int(process.log_tail())

    status = process.stop([(signal.SIGTERM, 0.3)])

    assert status == -signal.SIGKILL
    assert wait_until(lambda: gone(grandchild), 10)


def test_stopping_twice_is_harmless(tmp_path):
    process = Process(SLEEPER, log_path=tmp_path / "log")
    assert process.stop() == process.stop() == -signal.SIGTERM


def test_a_child_that_ends_before_it_is_ready_is_reported_with_its_last_words(tmp_path):
    child = Child("x", [sys.executable, "-c", "raise SystemExit('no way')"], log_dir=tmp_path, is_ready=lambda: False)
    with pytest.raises(EmbeddedError, match="no way"):
        child.start()


def test_a_child_that_is_never_ready_is_stopped_and_reported(tmp_path):
    child = Child("x", SLEEPER, log_dir=tmp_path, is_ready=lambda: False, ready_seconds=0.3)
    with pytest.raises(EmbeddedError, match=r"is not ready after 0\.3 s"):
        child.start()
    assert not child.is_alive()


def test_a_dead_child_is_brought_back_and_the_others_are_left_alone(tmp_path):
    reports = Reports()
    with Supervisor(reports, backoff_seconds_min=0.01) as supervisor:
        one, two = Child("one", SLEEPER, log_dir=tmp_path), Child("two", SLEEPER, log_dir=tmp_path)
        supervisor.start(one)
        supervisor.start(two)
        first_pid, other_pid = one.pid, two.pid

        os.kill(first_pid, signal.SIGKILL)

        assert wait_until(lambda: supervisor.restarts["one"] == 1, 10)
        assert (one.pid != first_pid, two.pid == other_pid) == (True, True)
        assert ("one", "is back") in reports.lines
    assert gone(one.pid)
    assert gone(other_pid)


def test_the_backoff_doubles_up_to_its_bound(tmp_path):
    reports = Reports()
    failing = Child("failing", [sys.executable, "-c", "raise SystemExit(1)"], log_dir=tmp_path)
    with Supervisor(reports, backoff_seconds_min=0.02, backoff_seconds_max=0.08) as supervisor:
        supervisor.start(failing)
        assert wait_until(lambda: supervisor.restarts["failing"] >= 4, 20)
    waits = [what.split(" in ")[1] for _, what in reports.lines if "restarting" in what]
    assert waits[:4] == ["0.02 s", "0.04 s", "0.08 s", "0.08 s"]


def test_stop_is_in_reverse_order_and_does_not_wait_for_a_backoff():
    order = []

    class Fake:
        def __init__(self, name):
            self.name, self.alive = name, False

        def start(self):
            order.append(f"+{self.name}")
            self.alive = True

        def stop(self):
            order.append(f"-{self.name}")
            self.alive = False

        def is_alive(self):
            return self.alive

    supervisor = Supervisor(lambda *_: None, backoff_seconds_min=60)
    first, second = Fake("first"), Fake("second")
    supervisor.start(first)
    supervisor.start(second)
    second.alive = False
    begun = time.monotonic()
    supervisor.stop()
    assert order == ["+first", "+second", "-second", "-first"]
    assert time.monotonic() - begun < 5
    with pytest.raises(EmbeddedError, match="being stopped"):
        supervisor.start(Fake("late"))


def test_a_restart_that_races_with_stop_leaves_nothing_running():
    entered, go_on = threading.Event(), threading.Event()

    class Slow:
        name = "slow"

        def __init__(self):
            self.alive, self.starts = False, 0

        def start(self):
            self.starts += 1
            if self.starts == 2:
                entered.set()
                assert go_on.wait(10)
            self.alive = True

        def stop(self):
            go_on.set()
            self.alive = False

        def is_alive(self):
            return self.alive

    child = Slow()
    supervisor = Supervisor(lambda *_: None, backoff_seconds_min=0.01)
    supervisor.start(child)
    child.alive = False
    assert entered.wait(10)
    supervisor.stop()
    assert not child.alive


def test_a_folder_has_one_owner_until_it_is_released(tmp_path):
    with DirectoryLock(tmp_path), pytest.raises(DirectoryInUseError, match=str(os.getpid())):
        DirectoryLock(tmp_path).acquire()
    with DirectoryLock(tmp_path):
        pass


STACK = """
import sys, time
from pathlib import Path
from diwan.chassis.embedded import Child, EmbeddedNats, EmbeddedPostgres, Supervisor

folder = Path(sys.argv[1])
sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
parts = [EmbeddedPostgres(folder), EmbeddedNats(folder), Child("sleeper", sleeper, log_dir=folder)]
try:
    with Supervisor(lambda name, what: None) as supervisor:
        for part in parts:
            supervisor.start(part)
        print(*(part.pid for part in parts), flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize(("number", "last_words"), [("SIGINT", "stopped"), ("SIGTERM", ""), ("SIGKILL", "")])
def test_however_a_stack_ends_nothing_of_it_is_left_running(tmp_path, number, last_words):
    stack = subprocess.Popen(
        [sys.executable, "-c", STACK, str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert stack.stdout is not None
    pids = [int(pid) for pid in stack.stdout.readline().split()]
    assert len(pids) == 3
    assert not any(map(gone, pids))

    os.killpg(stack.pid, getattr(signal, number))
    output, _ = stack.communicate(timeout=60)

    assert output.strip() == last_words
    assert wait_until(lambda: all(map(gone, pids)), 20)
    with DirectoryLock(tmp_path / "postgres"), DirectoryLock(tmp_path / "nats"):
        assert not (tmp_path / "postgres/data/postmaster.pid").exists(), "the database was shut down in order"


def test_an_interrupt_while_postgres_starts_leaves_nothing_running(tmp_path):
    program = (
        "import sys; from pathlib import Path; from diwan.chassis.embedded import EmbeddedPostgres\n"
        "print('starting', flush=True)\n"
        "EmbeddedPostgres(Path(sys.argv[1])).start()"
    )
    starting = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert starting.stdout is not None
    assert starting.stdout.readline().strip() == "starting"
    assert wait_until((tmp_path / "postgres" / "data.new").exists, 20)

    starting.send_signal(signal.SIGINT)
    _, errors = starting.communicate(timeout=60)

    assert "KeyboardInterrupt" in errors
    with DirectoryLock(tmp_path / "postgres"):
        assert not any(str(tmp_path).encode() in cmdline for cmdline in command_lines())


def command_lines() -> list[bytes]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended while we looked
            found.append((process / "cmdline").read_bytes())
    return found
