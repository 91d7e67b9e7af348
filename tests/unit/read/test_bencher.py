"""The files that Bencher accepts and stores."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import from_golden, keyed, parse


def test_bencher_metric_format_between_lines_refuses_a_name_that_stands_twice() -> None:
    text = b'built\n{"a": {"latency": {"value": 1}}, "a": {"latency": {"value": 2}}}\ndone\n'
    with pytest.raises(DataError, match=r"f\.txt:2: holds the name `a` twice"):
        collect_sources([Source("f.txt", text)])


def test_bencher_counts_a_result_once_and_its_iterations_are_samples() -> None:
    """The branch `topic` started at `main`, so its series repeats the same numbers."""
    source = Source("perf.json", golden("bencher_perf/perf.json"))
    first, second, third = READERS["bencher_perf"].history(source)
    assert [run.commit for run in (first, second, third)] == ["1d3e" * 10, "2c5f" * 10, None]
    assert keyed(first)["shop::search", "time"].samples == (1200.5, 1202.5)
    assert keyed(first)["shop::search", "Cache Hits"].metric.direction is Direction.UNKNOWN
    assert (second.suite, second.environment.components) == ("ubuntu-latest", {})


def test_bencher_reports_that_were_listed_without_their_results_say_how_to_get_them() -> None:
    reports = [{**report, "results": None} for report in from_golden("bencher_perf/reports.json")]
    with pytest.raises(DataError, match="--expand"):
        parse("bencher_perf", reports)
