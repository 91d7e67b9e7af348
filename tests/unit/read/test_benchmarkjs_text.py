import pytest

from perf_culprit.model.run import Direction, Summary
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden


def summaries(text: bytes) -> dict[str, Summary | None]:
    return {b.name: b.summary for b in READERS["benchmarkjs_text"].read(Source("suite.txt", text)).benchmarks}


def test_the_golden_suite() -> None:
    parsed = READERS["benchmarkjs_text"].read(Source("suite.txt", golden("benchmarkjs/suite.txt")))
    assert [(b.name, b.value) for b in parsed.benchmarks] == [
        ("RegExp#test", 14_939_010.0),
        ("String#indexOf", 521_693_845.0),
        ("sort 20000", 133.0),
    ]
    assert {(b.metric.name, b.metric.unit, b.metric.direction) for b in parsed.benchmarks} == {
        ("throughput", "ops/sec", Direction.HIGHER_IS_BETTER)
    }


def test_the_error_is_of_the_time_so_the_rate_has_its_inverse() -> None:
    summary = summaries("a x b x 1,000 ops/sec ±25.00% (64 runs sampled)\n".encode())["a x b"]
    assert summary is not None
    assert (summary.value, summary.count, summary.confidence_level) == (1000.0, 64, 0.95)
    assert summary.confidence_interval == pytest.approx((800.0, 4000.0 / 3.0))


def test_an_error_of_all_or_more_bounds_nothing() -> None:
    summary = summaries(b"f x 3.5 ops/sec +-140.1% (1 run sampled)\n")["f"]
    assert summary == Summary(value=3.5, statistic="mean", count=1)


def test_other_lines_are_passed_over() -> None:
    text = "Fastest is b\nf x 1 ops/sec ±1% (2 runs sampled)\ng x many ops/sec ±1% (2 runs sampled)\nh: Error\n"
    assert list(summaries(text.encode())) == ["f"]
