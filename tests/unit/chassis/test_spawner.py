"""Children are started from one thread, and a Ctrl-C at its start does not keep the program from ending."""

import subprocess
import sys
import threading

import pytest

from diwan.chassis.embedded.spawner import Spawner

INTERRUPTED = """
import threading
from diwan.chassis.embedded.spawner import Spawner

start, spawner = threading.Thread.start, Spawner("spawn")

def interrupted(thread):
    threading.Thread.start = start
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
try:
    spawner.run(lambda: None)
except KeyboardInterrupt:
    print("interrupted", spawner.run(lambda: "goes on"))
"""


def test_all_work_is_done_by_one_thread_that_lives_on():
    spawner = Spawner("spawn")

    threads = {spawner.run(threading.current_thread) for _ in range(3)}

    (thread,) = threads
    assert thread.is_alive()
    assert thread.daemon


def test_what_the_work_raises_is_raised_and_the_thread_goes_on():
    spawner = Spawner("spawn")

    with pytest.raises(OSError, match="no such program"):
        spawner.run(lambda: (_ for _ in ()).throw(OSError("no such program")))

    assert spawner.run(lambda: 1) == 1


def test_a_program_that_was_interrupted_while_the_thread_began_goes_on_and_ends():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=30, check=True)

    assert done.stdout == "interrupted goes on\n"
