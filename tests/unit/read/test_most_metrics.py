"""A run may have 50,000 metrics: more are refused where they are read."""

from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.model.run import MOST_METRICS, Benchmark, Run, Summary
from perf_culprit.model.run_file import encode_run
from tests.support.measurements import SECONDS

# Runs of the largest size are written and read.
pytestmark = pytest.mark.slow


def written(path: Path, names: range) -> str:
    summary = Summary(value=1.0)
    benchmarks = (Benchmark.of(name=f"b{number}", metric=SECONDS, summary=summary) for number in names)
    path.write_bytes(encode_run(Run(benchmarks=tuple(benchmarks))))
    return str(path)


def test_the_largest_run_is_read_and_one_metric_more_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = written(tmp_path / "first.json", range(MOST_METRICS))
    out = str(tmp_path / "out.json")
    assert main(["collect", first, "--json", out]) == 0
    capsys.readouterr()
    more = written(tmp_path / "more.json", range(MOST_METRICS, MOST_METRICS + 1))
    assert main(["collect", first, more, "--json", str(tmp_path / "none.json")]) == 3
    error = capsys.readouterr().err
    assert f"{first} and 1 more: holds 50,001 metrics, and a run may have 50,000" in error
    assert "--suite" in error
    assert not (tmp_path / "none.json").exists()


def test_a_run_file_of_too_many_metrics_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = written(tmp_path / "large.json", range(MOST_METRICS + 1))
    assert main(["compare", "--baseline", large, "--target", large]) == 3
    assert f"{large}: holds 50,001 metrics" in capsys.readouterr().err
