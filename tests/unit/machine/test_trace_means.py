"""The means by which a command is traced, and its answer in one line."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from perf_culprit.errors import DataError
from perf_culprit.explain.tracer.traced_command import HOOK_FOLDER
from perf_culprit.machine import trace_means
from perf_culprit.machine.this_machine import TracePlan
from perf_culprit.machine.trace_means import (
    GO,
    JAVA,
    NATIVE,
    NODE,
    OWN,
    PYTHON,
    Means,
    means_of,
    own_python_path,
    trace,
)
from perf_culprit.read.results.result_formats import READERS

if TYPE_CHECKING:
    from perf_culprit.measure.workplace import Workplace


@pytest.mark.parametrize(
    ("command", "tool", "means"),
    [
        ("python3.12 bench.py", "auto", PYTHON),
        ("PYTHONPATH=src .venv/bin/pytest bench", "auto", PYTHON),
        ("cd sub && go test -bench . ./parse", "auto", GO),
        ("npx vitest bench", "auto", NODE),
        ("java -jar target/benchmarks.jar", "auto", JAVA),
        ("./gradlew jmh", "auto", JAVA),
        ("make bench", "google_benchmark", NATIVE),
        ("make bench", "pytest_benchmark", PYTHON),
        ("./spy.sh", "profile", OWN),
        ("make bench", "auto", None),
        ("./pythonic --go testing", "auto", None),
    ],
)
def test_the_tool_or_a_word_chooses_the_means(command: str, tool: str, means: Means | None) -> None:
    assert means_of(command, tool) is means


def test_tools_are_formats_of_results() -> None:
    named = {tool for one in trace_means.MEANS for tool in one.tools} - {trace_means.PROFILED}
    assert named <= set(READERS)


def test_the_tracer_comes_before_the_command_s_own_path() -> None:
    assert own_python_path("PYTHONPATH=src python b.py") == f"PYTHONPATH={HOOK_FOLDER}:src python b.py"
    assert own_python_path("PYTHONPATH= python b.py") == "PYTHONPATH= python b.py"
    assert own_python_path("python b.py") == "python b.py"


class Machine:
    """A workplace whose commands fail."""

    def run(self, _commit: str, **_options: object) -> Path:
        raise DataError("the benchmark ended with exit code 1", next_step="run it in a checkout")


def test_a_command_that_fails_is_an_answer(tmp_path: Path) -> None:
    workplace = cast("Workplace", Machine())
    for command in ("go test -bench .", "make bench"):
        traced = trace(
            command,
            "auto",
            workplace=workplace,
            commits={"baseline": "a" * 40, "target": "b" * 40},
            plan=TracePlan(),
            folder=tmp_path,
            say=lambda _: None,
        )
        assert traced.line == "not traced, because the benchmark ended with exit code 1 (run it in a checkout)"
        assert not traced.files
