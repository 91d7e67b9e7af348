"""A Python child process imports nothing from its working folder, however it is started."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from perf_culprit.python_child import SAFE_PATH, process_pool, python
from tests.support.spies import importable, write_spies

ROOT = Path(__file__).parents[2] / "bot"
POOL = f"""
import sys
from multiprocessing import get_context
from {process_pool.__module__} import process_pool
if __name__ == "__main__":
    with process_pool(1, context=get_context(sys.argv[1])) as pool:
        print(pool.submit(len, "four").result())
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_pool_works_in_a_hostile_folder(method: str, tmp_path: Path) -> None:
    hostile, script, record = tmp_path / "hostile", tmp_path / "pool.py", tmp_path / "record"
    hostile.mkdir()
    write_spies(hostile, importable(), record=record)
    script.write_text(POOL)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), method]
    done = subprocess.run(command, cwd=hostile, env=environment, capture_output=True, text=True, check=False)
    assert record.read_text() == ""
    assert done.stdout == "4\n", done.stderr


KILLED = f"""
import os, sys, time
from multiprocessing import get_context
from {process_pool.__module__} import process_pool
if __name__ == "__main__":
    with process_pool(2, context=get_context(sys.argv[1])) as pool:
        print(*{{pool.submit(os.getpid).result() for _ in range(9)}}, flush=True)
        for _ in range(2):
            pool.submit(time.sleep, 100)
        time.sleep(100)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="Linux has it")
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_pool_ends_with_its_killed_parent(method: str, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(KILLED)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), method]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = parent.stdout.readline().split()
        assert workers
        parent.kill()
    late = time.monotonic() + 20
    while (living := [pid for pid in workers if is_running(pid)]) and time.monotonic() < late:
        time.sleep(0.05)
    for pid in living:
        os.kill(int(pid), signal.SIGKILL)
    assert living == []


def is_running(pid: str) -> bool:
    """Whether the process runs; one that ended may wait for a parent that asks how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("before", [None, "", "1"])
def test_after_a_pool_the_environment_is_as_before(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SAFE_PATH, raising=False)
    if before is not None:
        monkeypatch.setenv(SAFE_PATH, before)
    with pytest.raises(KeyError), process_pool(1):
        raise KeyError
    assert os.environ.get(SAFE_PATH) == before


def test_a_child_finds_what_the_person_installed_but_not_what_lies_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment has no user site-packages, so the test uses its base interpreter."""
    monkeypatch.setattr(sys, "executable", getattr(sys, "_base_executable", sys.executable))
    user_site = Path(sysconfig.get_path("purelib", f"{os.name}_user", vars={"userbase": str(tmp_path / "user")}))
    places = {"worked_in": tmp_path / "worked_in", "on_the_path": tmp_path / "on_the_path", "user_site": user_site}
    for name, place in places.items():
        place.mkdir(parents=True)
        (place / f"{name}.py").touch()
    code = f"from importlib.util import find_spec; print([find_spec(name) is not None for name in {[*places]}])"
    environment = {"PYTHONPATH": str(places["on_the_path"]), "PYTHONUSERBASE": str(tmp_path / "user")}
    done = subprocess.run(
        python("-c", code), cwd=places["worked_in"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[False, True, True]\n"
