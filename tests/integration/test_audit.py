"""An audit of a history branch in a real repository."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.history_requests import AuditRuns
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError
from perf_culprit.flows.look_back import audit_history, audit_runs
from perf_culprit.model.finding import Acceptance
from perf_culprit.store.opening import open_git_branch
from tests.support.audits import make_audits_small
from tests.support.git_repository import init_repository
from tests.support.measurements import measured
from tests.support.stored_runs import make_run

LEVELS = {"parse": 0.004, "render": 0.02}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_audits_small(monkeypatch)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "project.git", bare=True)


def test_stored_runs_are_audited_in_the_order_of_their_times(remote: Path, tmp_path: Path) -> None:
    runs = [
        replace(measured(LEVELS, seed=number, commit=f"{number:040x}"), time=make_run(number).time)
        for number in range(6)
    ]
    with open_git_branch(git.Remote(url=str(remote))) as history:
        for number in (3, 0, 5, 1, 4, 2):
            history.append(runs[number])
    audit = audit_history(AuditRuns(repository=tmp_path, history_url=str(remote)), config=Config())
    assert (audit.runs, audit.metrics, audit.detectors[0].alarms.trials) == (6, 2, 5)
    assert audit == audit_runs(runs, config=Config())
    assert audit != audit_runs(runs[::-1], config=Config())


def test_the_only_suite_is_taken_where_nobody_named_one(remote: Path, tmp_path: Path) -> None:
    runs = [replace(measured(LEVELS, seed=n, commit=f"{n:040x}"), time=make_run(n).time, suite="api") for n in range(6)]
    asked = AuditRuns(repository=tmp_path, history_url=str(remote))
    with open_git_branch(git.Remote(url=str(remote))) as history:
        for run in (*runs, replace(runs[0], suite="api (bisect)")):
            history.append(run)
        assert audit_history(asked, config=Config()).runs == 6
        with pytest.raises(DataError, match="no stored runs of suite 'web'"):
            audit_history(asked, config=Config(suite="web"))
        history.append(replace(runs[0], suite="cli"))
    with pytest.raises(DataError, match="no stored runs of suite 'default'"):
        audit_history(asked, config=Config())


def test_an_empty_history_says_what_to_do(remote: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no stored runs of suite 'default'"):
        audit_history(AuditRuns(repository=tmp_path, history_url=str(remote)), config=Config())


def test_what_somebody_accepted_is_no_alarm_and_later_runs_are_judged_by_it(remote: Path, tmp_path: Path) -> None:
    levels = [LEVELS if number < 7 else {**LEVELS, "parse": 0.008} for number in range(8)]
    runs = [
        replace(measured(level, seed=number, commit=f"{number:040x}"), time=make_run(number).time)
        for number, level in enumerate(levels)
    ]
    assert audit_runs(runs, config=Config()).detectors[0].unknown == 1
    with open_git_branch(git.Remote(url=str(remote))) as history:
        for run in runs:
            history.append(run)
        acceptance = Acceptance(
            suite="default",
            benchmark="parse",
            commit=str(runs[7].commit),
            reason="a new grammar",
            author="ada",
            time=datetime(2031, 1, 1, tzinfo=UTC),
        )
        history.accept([acceptance])
    audit = audit_history(AuditRuns(repository=tmp_path, history_url=str(remote)), config=Config()).detectors[0]
    assert (audit.alarms.count, audit.lasting, audit.unknown) == (0, 0, 0)
