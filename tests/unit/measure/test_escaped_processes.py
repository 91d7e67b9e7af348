"""Every process that a command started ends with it, even if it escaped, and none can read our environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.measure import processes
from perf_culprit.measure.processes import Log, run_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers and /proc are Linux")
PROJECT = Path(__file__).parents[3]
# Each writes its process id into a file once it has escaped.
ESCAPES = {
    "a session of its own": "setsid sh -c 'echo $$ > pid; exec sleep 60' &",
    "an orphan's child": "(setsid sh -c 'setsid sh -c \"echo \\$\\$ > pid; exec sleep 60\" &' &) &",
    "without environment": "setsid env -i sh -c 'echo $$ > pid; exec /bin/sleep 60' &",
    "without pipes": "setsid sh -c 'exec >/dev/null 2>&1 </dev/null; echo $$ > pid; exec sleep 60' &",
    "that forks on": "setsid sh -c 'echo $$ > pid; while :; do sleep 60 & sleep 0.02; done' &",
}


def alive(directory: Path) -> set[int]:
    """The ids of the processes whose working directory is `directory`."""
    pids = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == directory:
                pids.add(int(entry.name))
        except OSError:
            continue
    return pids


@pytest.mark.parametrize("way", ESCAPES)
def test_what_gets_away_is_ended(tmp_path: Path, way: str) -> None:
    command = f"{ESCAPES[way]} while [ ! -s pid ]; do sleep 0.01; done"
    with Log(tmp_path / "log.txt") as log:
        fault = run_command(command, directory=tmp_path, environment=dict(os.environ), log=log, timeout_seconds=20)
    assert fault is None
    assert int((tmp_path / "pid").read_text()) not in alive(tmp_path)
    assert alive(tmp_path) == set()
    assert "that had left the command's session" in (tmp_path / "log.txt").read_text()


def test_what_cannot_be_ended_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses to kill another user's process, such as one that sudo started."""

    def refuse(_: int, __: int) -> None:
        raise PermissionError

    kill = os.kill
    monkeypatch.setattr(processes, "SWEEP_SECONDS", 0.1)
    with Log(tmp_path / "log.txt") as log:
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", refuse)
            command = f"{ESCAPES['a session of its own']} while [ ! -s pid ]; do sleep 0.01; done"
            run_command(command, directory=tmp_path, environment=dict(os.environ), log=log, timeout_seconds=20)
        kill(int((tmp_path / "pid").read_text()), 9)
    assert "could not end 1, as they are another user's" in (tmp_path / "log.txt").read_text()


def test_our_own_helpers_stay(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as helper, Log(tmp_path / "log.txt") as log:
        run_command("setsid sleep 60 &", directory=tmp_path, environment=dict(os.environ), log=log, timeout_seconds=20)
        assert helper.poll() is None
        helper.kill()


# Run as the runner's user, since root reads everything. A process that changes its user starts as not dumpable.
READ_PARENT = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[2])
from perf_culprit.undumpable import PR_SET_DUMPABLE
from perf_culprit.measure.processes import guard
os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
if sys.argv[1] == "guarded":
    assert guard()
os.system("cat /proc/$PPID/environ 2>&1")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize(("case", "readable"), [("open", True), ("guarded", False)])
def test_a_child_cannot_read_our_environment(case: str, readable: bool) -> None:
    text = subprocess.run(
        [sys.executable, "-c", READ_PARENT, case, str(PROJECT)],
        env={"PATH": os.environ["PATH"], "API_KEY": "hunter2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("hunter2" in text.stdout) == readable
    assert ("Permission denied" in text.stdout) != readable
