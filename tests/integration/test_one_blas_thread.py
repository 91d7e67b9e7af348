"""Our own processes load numpy with one thread; processes that they start have the user's environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.one_blas_thread import USERS_CHOICE, VARIABLE
from tests.support.counting_valgrind import counting_valgrind
from tests.support.measured_repository import line, measured_repository


def run(folder: Path, *arguments: str, chosen: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in USERS_CHOICE} | chosen
    command = [sys.executable, "-m", "perf_culprit", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow  # a whole measurement or search, as processes of its own
@pytest.mark.parametrize(("command", "chosen"), [("measure", {}), ("measure", {VARIABLE: "3"}), ("bisect", {})])
def test_a_command_of_the_user_has_what_the_user_set(command: str, chosen: dict[str, str], tmp_path: Path) -> None:
    measured_repository(tmp_path / "repository", line(9, step_at=5))
    counting = {"PATH": f"{counting_valgrind(tmp_path / 'bin')}:{os.environ['PATH']}"}
    record = tmp_path / "record"
    options = {
        "measure": ["--commits", "HEAD~1", "HEAD", "--rounds", "1", "--output", str(tmp_path / "out")],
        # Its jobs are processes of ours.
        "bisect": ["--good", "HEAD~8", "--bad", "HEAD", "--metric", "instructions", "--jobs", "2"],
    }[command]
    options += ["--run", f"env >> {record}; cat value"]
    ended = run(tmp_path / "repository", command, *options, chosen={**counting, **chosen})
    assert ended.returncode == 0, ended.stderr
    seen = [line for line in record.read_text().splitlines() if line.startswith(USERS_CHOICE)]
    assert set(seen) == {f"{name}={value}" for name, value in chosen.items()}


@pytest.mark.parametrize(("chosen", "threads"), [({}, "1"), ({VARIABLE: "3"}, "3"), ({"OMP_NUM_THREADS": "2"}, "None")])
def test_our_process_and_its_pools_load_numpy_with_one_thread_unless_the_user_says_otherwise(
    chosen: dict[str, str], threads: str, tmp_path: Path
) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "from multiprocessing import get_context\n"
        "from perf_culprit.one_blas_thread import use_one_blas_thread\n"
        "from perf_culprit.python_child import process_pool\n"
        "if __name__ == '__main__':\n"
        "    use_one_blas_thread()\n"
        f"    assert os.environ.get({VARIABLE!r}) == {chosen.get(VARIABLE)!r}\n"
        "    with process_pool(1, context=get_context('spawn')) as pool:\n"
        f"        print(pool.submit(os.getenv, {VARIABLE!r}).result())\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in USERS_CHOICE} | chosen
    environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "bot")
    ended = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == threads, ended.stderr
