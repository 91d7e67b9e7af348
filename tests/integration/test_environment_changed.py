"""A step of the machine, not of the code: the base, measured again with the head, shows it too."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.action.jobs.job_results import JobResults, compare_results
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare_history import compare_run_with_history
from perf_culprit.flows.record import record_run
from perf_culprit.flows.render import report_json
from perf_culprit.model.finding import Finding, Verdict
from perf_culprit.model.reason import VerdictReason
from perf_culprit.model.report import decode_report
from perf_culprit.model.run import Environment, Run
from perf_culprit.store.opening import HistoryPlace
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import MACHINE, measured
from tests.support.reasons import words_of
from tests.support.rounds import in_rounds

OLD = Environment(components={**MACHINE.components, "runner_image": "ubuntu24 20261101.1", "pip:numpy": "2.4.5"})
NEW = Environment(components={**MACHINE.components, "runner_image": "ubuntu24 20261115.2", "pip:numpy": "2.4.6"})
SLOW = {"parse": 0.0096, "render": 0.02}
FAST = {"parse": 0.004, "render": 0.02}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = init_repository(tmp_path_factory.mktemp("stored") / "repository")
    commits = import_commits(folder, chain("main", 8))
    run_git(folder, "update-ref", "refs/heads/main", commits["main8"])
    for number in range(1, 7):
        run = measured(FAST, seed=number, commit=commits[f"main{number}"], environment=OLD)
        judged = compare_run_with_history(
            run, config=Config(), base=None, place=HistoryPlace(repository=folder, url=str(folder))
        )
        record_run(run, report=judged.report, config=Config(), place=HistoryPlace(url=str(folder)))
    return folder, commits


def judged(repository: tuple[Path, dict[str, str]], *, base: dict[str, float], now: Environment) -> Finding:
    folder, commits = repository

    def side(levels: dict[str, float], seed: int, commit: str) -> Run:
        return replace(in_rounds(measured(levels, seed=seed, commit=commits[commit], environment=now)), job="one")

    report = compare_results(
        JobResults(run=side(SLOW, 70, "main8"), baseline=side(base, 80, "main7")),
        config=Config(),
        base=None,
        merge=None,
        place=HistoryPlace(repository=folder, url=str(folder)),
    ).report
    again = decode_report(report_json(report), place="report.json")
    assert again.environment_changes == report.environment_changes
    return next(finding for finding in report.findings if finding.key.benchmark == "parse")


def test_a_step_that_the_base_shows_now_is_the_environments(repository: tuple[Path, dict[str, str]]) -> None:
    finding = judged(repository, base=SLOW, now=NEW)
    assert finding.verdict is Verdict.UNCHANGED
    assert finding.reason.code is VerdictReason.ENVIRONMENT_CHANGED
    assert "image ubuntu24 20261101.1 → ubuntu24 20261115.2, numpy 2.4.5 → 2.4.6" in words_of(finding.reason)


def test_a_step_of_the_head_alone_stays_its_doing(repository: tuple[Path, dict[str, str]]) -> None:
    finding = judged(repository, base=FAST, now=NEW)
    assert (finding.verdict, finding.reason.code) == (Verdict.REGRESSION, VerdictReason.SIGNIFICANT)


def test_without_a_change_of_the_environment_nothing_is_blamed_on_it(repository: tuple[Path, dict[str, str]]) -> None:
    finding = judged(repository, base=SLOW, now=OLD)
    assert finding.reason.code is not VerdictReason.ENVIRONMENT_CHANGED
