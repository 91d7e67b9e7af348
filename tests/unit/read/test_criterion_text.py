import pytest

from perf_culprit.model.run import Direction, Metric
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

NAMES = ["sum to 1000", "a name longer than the column", "nothing", "sums/xor/100", "sums/xor/200000"]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("native_0.5.txt", (677.2, 6.4539, 0.78907, 56.278, 129_840.0)),
        ("native_0.5_with_progress.txt", (797.83, 13.297, 2.5662, 113.38, 167_110.0)),
        ("native_0.8_with_progress.txt", (695.71, 17.207, 1.0619, 178.88, 171_350.0)),
    ],
)
def test_the_golden_texts(path: str, values: tuple[float, ...]) -> None:
    parsed = READERS["criterion_text"].read(Source("log", golden(f"criterion/{path}")))
    assert [b.name for b in parsed.benchmarks] == NAMES
    assert [b.value for b in parsed.benchmarks] == pytest.approx(values)
    metric = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
    assert all(b.metric == metric and not b.samples for b in parsed.benchmarks)


def test_the_interval_in_mixed_units() -> None:
    parsed = READERS["criterion_text"].read(Source("log", golden("criterion/native_0.5_with_progress.txt")))
    summary = parsed.benchmarks[0].summary
    assert summary is not None
    assert summary.confidence_interval == pytest.approx((639.43, 1013.9))
    assert summary.confidence_level == 0.95


@pytest.mark.parametrize(
    ("interval", "nanoseconds"),
    [("[1.0 ms 2.0 ms 3.0 ms]", 2e6), ("[1.0 s 1.5 s 2.0 s]", 1.5e9), ("[1 ps 2 ps 3 ps]", 2e-3)],
)
def test_units(interval: str, nanoseconds: float) -> None:
    parsed = READERS["criterion_text"].read(Source("log", f"\x1b[32mf\x1b[0m      time:   {interval}\n".encode()))
    assert [b.name for b in parsed.benchmarks] == ["f"]
    assert parsed.benchmarks[0].value == pytest.approx(nanoseconds)


def test_changes_are_no_times() -> None:
    text = "f    time:   [1.0 ns 2.0 ns 3.0 ns]\n    change:\n        time:   [-1.0% +2.0% +3.0%] (p = 0.1 > 0.05)\n"
    assert len(READERS["criterion_text"].read(Source("log", text.encode())).benchmarks) == 1
