"""A run of everything fails if a rare state was never reached, with and without xdist; a part of it never does."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sometimes import CALLS, STATES

ROOT = Path(__file__).parents[3]
LAST = next(iter(CALLS))
SUITE = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "conftest.py": 'pytest_plugins = ["tests.support.sometimes"]\n',
    "tests/test_most.py": f"""\
import pytest
from tests.support.sometimes import STATES, hit
@pytest.mark.parametrize("state", [state for state in STATES if state != {LAST!r}])
def test_state(state):
    hit(state)
""",
}
# In a child, as most faults are.
OF_LAST = f"""\
import os
from tests.support.sometimes import hit
def test_last():
    if not os.fork():
        hit({LAST!r})
        os._exit(0)
    os.wait()
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    for name, text in SUITE.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(suite: Path, *options: str) -> tuple[int, str]:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *options)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{ROOT / 'bot'}", "TMPDIR": str(suite)}
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    assert list(suite.glob("tests-sometimes-*")) == []
    return done.returncode, done.stdout


@pytest.mark.slow  # a pytest with its workers
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_of_everything_fails_for_a_state_that_no_test_reached(suite: Path, workers: str) -> None:
    code, output = run(suite, "-n", workers)
    assert (code, f"never reached: {LAST}" in output) == (1, True), output
    (suite / "tests" / "test_last.py").write_text(OF_LAST)
    code, output = run(suite, "-n", workers)
    assert (code, f"     1 {LAST}" in output, "never reached" in output) == (0, True, False), output


@pytest.mark.slow  # a pytest for each part
@pytest.mark.parametrize(
    "part", [["tests/test_most.py"], ["-k", "full"], ["-m", "not slow"], ["--deselect", "tests/x"]]
)
def test_a_part_of_the_suite_is_not_judged(suite: Path, part: list[str]) -> None:
    code, output = run(suite, "-n", "0", *part)
    assert (code, "rare states" in output) == (0, False), output


def test_each_state_is_there_once() -> None:
    assert len(set(STATES)) == len(STATES)
