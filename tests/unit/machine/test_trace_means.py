"""The means by which a command is traced, and its answer in one line."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from perf_culprit.errors import DataError
from perf_culprit.explain.tracer.traced_command import HOOK_FOLDER
from perf_culprit.machine import trace_means
from perf_culprit.machine.this_machine import TracePlan
from perf_culprit.machine.trace_means import (
    GIVEN_PROFILER,
    GO_MEANS,
    JAVA_MEANS,
    NATIVE_MEANS,
    NODE_MEANS,
    PYTHON_MEANS,
    Means,
    means_of,
    own_python_path,
    trace_revisions,
)
from perf_culprit.read.results.result_formats import READERS

if TYPE_CHECKING:
    from perf_culprit.measure.workplace import Workplace


@pytest.mark.parametrize(
    ("command", "tool", "means"),
    [
        ("python3.12 bench.py", "auto", PYTHON_MEANS),
        ("PYTHONPATH=src .venv/bin/pytest bench", "auto", PYTHON_MEANS),
        ("cd sub && go test -bench . ./parse", "auto", GO_MEANS),
        ("npx vitest bench", "auto", NODE_MEANS),
        ("java -jar target/benchmarks.jar", "auto", JAVA_MEANS),
        ("./gradlew jmh", "auto", JAVA_MEANS),
        ("make bench", "google_benchmark", NATIVE_MEANS),
        ("make bench", "pytest_benchmark", PYTHON_MEANS),
        ("./spy.sh", "profile", GIVEN_PROFILER),
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
        traced = trace_revisions(
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
