"""Ctrl-C, also an impatient one, leaves no process and no file behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diwan.chassis.embedded.process import wait_until


def processes_of(folder: Path) -> list[str]:
    """Return the command lines that name a folder, or have it in their settings."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            texts = [(process / name).read_bytes() for name in ("cmdline", "environ")]
        except OSError:  # it has ended, or is somebody else's
            continue
        if int(process.name) != os.getpid() and any(bytes(folder) in text for text in texts):
            found.append(texts[0].decode("utf-8", "replace"))
    return found


@pytest.mark.parametrize(("when", "times"), [("Starting", 1), ("Open after", 3)])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path, when, times):
    program = [sys.executable, "-c", "from diwan.cli.entry import main; main()", "demo", "--hands", "1000"]
    demo = subprocess.Popen(
        program, env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    assert any(line.startswith(when) for line in demo.stdout)
    assert wait_until(lambda: bool(list(tmp_path.glob("diwan-demo-*/postgres*"))), 20)

    for _ in range(times):
        demo.send_signal(signal.SIGINT)
        time.sleep(0.3)  # a person's second thought, not a wait for a condition
    _, errors = demo.communicate(timeout=90)

    assert demo.returncode == 130
    assert "everything that was started is stopped" in errors
    assert not list(tmp_path.iterdir())
    assert not [line for line in processes_of(tmp_path) if str(demo.pid) not in line]
