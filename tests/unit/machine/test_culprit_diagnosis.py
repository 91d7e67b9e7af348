"""The methods that a bisection reports for its culprit: with a profile command, without one, and after a failure."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from perf_culprit.errors import DataError
from perf_culprit.machine.culprit_diagnosis import Profiling, diagnose_culprit
from perf_culprit.measure.runner import Commands
from perf_culprit.model.bisection import CulpritDiagnosis
from perf_culprit.model.reason import Doubt
from perf_culprit.model.report import Answer, SuspectReason
from tests.support.git_repository import init_repository, run_git

if TYPE_CHECKING:
    from perf_culprit.measure.workplace import Workplace

BEFORE = "def parse(text):\n    return text\n\n\ndef render(text):\n    return parse(text)\n"
AFTER = BEFORE.replace("return text\n\n\ndef render", "return sorted(text)\n\n\ndef render")


class Machine:
    """A workplace whose profile command writes stacks with the given number of samples in `parse`."""

    def __init__(self, folder: Path, samples: Mapping[str, int], *, fault: Exception | None = None) -> None:
        self.folder, self.samples, self.fault, self.runs = folder, samples, fault, 0
        self.commands = Commands(run="python bench.py")

    def warm_up(self, commit: str) -> None:
        """Do nothing: the numbers are given."""

    def run(self, commit: str, *, command: str, **_: object) -> Path:
        assert command == "profile"
        if self.fault is not None:
            raise self.fault
        self.runs += 1
        file = self.folder / f"{self.runs}.txt"
        file.write_text(f"main;app.render;app.parse {self.samples[commit] + self.runs % 3}\nmain;app.other 1000\n")
        return file


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    repository = init_repository(tmp_path / "repository")
    return repository, [
        commit(repository, {"app.py": BEFORE}),
        commit(repository, {"app.py": AFTER, "tests/test_app.py": AFTER}),
    ]


def commit(repository: Path, files: Mapping[str, str]) -> str:
    for path, text in files.items():
        (repository / path).parent.mkdir(exist_ok=True)
        (repository / path).write_text(text)
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "--quiet", "-m", "commit")
    return run_git(repository, "rev-parse", "HEAD")


def diagnosed(history: tuple[Path, list[str]], machine: Machine, *, budget_s: float = 30.0) -> CulpritDiagnosis:
    repository, commits = history
    profiling = Profiling(command="profile", budget_s=budget_s)
    workplace = cast("Workplace", machine)
    return diagnose_culprit(repository, workplace, commits[1], profiling=profiling, say=lambda _: None)


def test_the_changed_method_comes_first_with_its_path(history: tuple[Path, list[str]], tmp_path: Path) -> None:
    _, commits = history
    machine = Machine(tmp_path, {commits[0]: 500, commits[1]: 2_000})
    diagnosis = diagnosed(history, machine)
    # Tests are not part of the program.
    assert [(one.path, one.qualified_name) for one in diagnosis.changed] == [("app.py", "parse")]
    assert diagnosis.comparison is not None
    assert diagnosis.comparison.answer is Answer.SLOWER
    first = diagnosis.comparison.suspects[0]
    assert first.path == ("main", "app.render", "app.parse")
    assert SuspectReason.TOUCHED in first.reasons
    assert machine.runs == 10


def test_a_profiler_that_fails_loses_nothing_but_the_methods(history: tuple[Path, list[str]], tmp_path: Path) -> None:
    for fault in (DataError("no perf here", next_step="install it"), RuntimeError("no perf here")):
        diagnosis = diagnosed(history, Machine(tmp_path, {}, fault=fault))
        assert [one.qualified_name for one in diagnosis.changed] == ["parse"]
        assert diagnosis.comparison is None
        assert diagnosis.doubt is not None
        assert diagnosis.doubt.code is Doubt.NOT_PROFILED
        assert "no perf here" in str(diagnosis.doubt.arguments["why"])


def test_a_compiled_program_is_told_to_bring_a_profiler(
    history: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trace(*_: object, **__: object) -> None:
        raise DataError("runs no Python", next_step="trace a command that does")

    monkeypatch.setattr("perf_culprit.machine.trace_means.trace_commits", trace)
    repository, commits = history
    workplace = cast("Workplace", Machine(tmp_path, {}))
    doubt = diagnose_culprit(repository, workplace, commits[1], profiling=Profiling(), say=lambda _: None).doubt
    assert doubt is not None
    assert "--profile" in str(doubt.arguments["next"])


def test_without_time_nothing_is_profiled(history: tuple[Path, list[str]], tmp_path: Path) -> None:
    machine = Machine(tmp_path, {})
    diagnosis = diagnosed(history, machine, budget_s=0)
    assert diagnosis.comparison is None
    assert diagnosis.doubt is not None
    assert machine.runs == 0
