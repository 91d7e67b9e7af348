"""Several counter files of one side are separate tests, each a run of its own, whichever command reads them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from perf_culprit.action.jobs.job_results import JobResults, collect_baseline, compare_results
from perf_culprit.cli.entry import main
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows.compare import collect_run, compare_result_files
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Report
from perf_culprit.store.opening import HistoryPlace

GOOD, TARGET = ("good-*.csv",), ("new.csv",)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name, level in (("good-1", 50.0), ("good-2", 50.0), ("good-3", 50.0), ("new", 80.0), ("new-2", 80.0)):
        rows = [f"{15 * i},{busy:.3f},{i % 7}" for i, busy in enumerate(rng.normal(level, 1, 90))]
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,busy,calm", *rows]) + "\n")
    return tmp_path


def by_option(*, paired: bool) -> Report:
    return compare_result_files(Compare(baseline=GOOD, target=TARGET, paired=paired), config=Config())


def by_action() -> Report:
    results = JobResults(
        run=collect_run(TARGET, config=Config(), paired=True), baseline=collect_baseline(GOOD, config=Config())
    )
    return compare_results(results, config=Config(), base="main", merge=None, place=HistoryPlace()).report


DOORS: dict[str, Callable[[], Report]] = {
    "compare": lambda: by_option(paired=False),
    "compare --paired": lambda: by_option(paired=True),
    "action": by_action,
}


@pytest.mark.parametrize("door", DOORS)
def test_each_file_is_a_run(door: str) -> None:
    report = DOORS[door]()
    verdicts = {finding.key.metric: finding.verdict for finding in report.findings}
    assert verdicts == {"busy": Verdict.REGRESSION, "calm": Verdict.NOT_SEEN}
    assert report.baseline_runs == 3
    assert {finding.baseline.runs for finding in report.findings if finding.baseline} == {3}


def test_benchmarks_beside_them_are_compared(folder: Path) -> None:
    for side in ("good", "new"):
        entry = '{"name": "parse", "unit": "ms", "samples": [1, 2, 3, 1, 2, 3]}'
        text = f'{{"format": "perf-culprit-run", "version": 1, "benchmarks": [{entry}]}}'
        (folder / f"{side}.json").write_text(text)
    asked = Compare(baseline=(*GOOD, "good.json"), target=(*TARGET, "new.json"), paired=True)
    report = compare_result_files(asked, config=Config())
    assert {finding.benchmark for finding in report.findings} == {"parse", "counters"}
    assert (report.missing, report.new) == ((), ())


@pytest.mark.parametrize("paired", [False, True])
def test_a_target_of_several_tests_is_refused_with_what_to_do(paired: bool, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--paired"] if paired else []
    assert main(["compare", *options, "--baseline", *GOOD, "--target", "new*.csv"]) == UsageError.exit_code
    text = capsys.readouterr().err
    assert "2 tests of the same counters (counters (new-2.csv), counters (new.csv))" in text
    assert "give one of them" in text
