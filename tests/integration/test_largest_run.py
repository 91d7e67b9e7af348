"""The largest run that is admitted is judged, written, read again and published; one metric more is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.action.jobs.job_results import REPORT_NAME, RUN_NAME, JobResults, result_files
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError
from perf_culprit.flows.compare import Comparison, compare_runs
from perf_culprit.model.count import Count
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.report import decode_report
from perf_culprit.model.run import Benchmark, Direction, Run, shared_metric
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.source import Source
from tests.support.adversary import Scene, open_scene
from tests.support.measurements import measured

pytestmark = pytest.mark.slow  # two runs of 50,000 benchmarks, judged twice

SLOWER = "module.test_parse"
TIMES = 500


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def largest(*, seed: int, commit: str, instructions: int = 10**6) -> Run:
    """Mostly counts: their test is quick, and a time of one run a side is never proven slower."""
    levels = {f"module.test_parse[{number:05d}]": 0.001 * (1 + number % 37) for number in range(TIMES)}
    times = measured(levels, seed=seed, count=2, noise=0.003, run_noise=0, commit=commit)
    counts = (
        counted(f"module.test_parse[{number:05d}]", 10**6 + number) for number in range(TIMES, FILE_LIMITS.metrics - 1)
    )
    return replace(times, benchmarks=(*times.benchmarks, *counts, counted(SLOWER, instructions)), suite="default")


def counted(name: str, instructions: int) -> Benchmark:
    metric = shared_metric(Count.INSTRUCTIONS, "instructions", Direction.LOWER_IS_BETTER)
    return Benchmark.of(name=name, metric=metric, samples=(float(instructions),))


def test_it_is_judged_written_read_again_and_published(scene: Scene) -> None:
    run, baseline = (
        largest(seed=1, commit=scene.head, instructions=2 * 10**6),
        largest(seed=2, commit=scene.commits["main2"]),
    )
    report = compare_runs(run, baseline=(baseline,), source=BaselineSource.FILES, config=Config())
    assert [one.key.benchmark for one in report.findings if one.verdict == "regression"] == [SLOWER]
    files = result_files(Comparison(run=run, report=report), JobResults(run=run, baseline=baseline))
    assert len(decode_report(files[REPORT_NAME], place=REPORT_NAME).findings) == FILE_LIMITS.metrics
    assert decode_run(files[RUN_NAME], place=RUN_NAME) == run
    result = scene.publish(files)
    assert result.exit_code == 0, result.log
    (comment,) = scene.fake.state.comments.values()
    assert f"1 of {FILE_LIMITS.metrics:,} benchmarks" in comment.body
    assert SLOWER in comment.body
    assert len(comment.body) <= 65_536


def test_one_metric_more_is_refused_before_anything_is_judged() -> None:
    run = largest(seed=1, commit="a" * 40)
    larger = replace(run, benchmarks=(*run.benchmarks, replace(run.benchmarks[0], name="one more")))
    with pytest.raises(DataError, match="50,001 metrics") as refused:
        collect_sources([Source(name="run.json", data=encode_run(larger))], Reading())
    assert "suite" in (refused.value.next_step or "")
