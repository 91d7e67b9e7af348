import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, Metric
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)


def parse(text: str) -> dict[tuple[str, str], float]:
    return {
        (b.name, b.metric.name): b.value
        for b in READERS["bencher_text"].read(Source("bench.txt", text.encode())).benchmarks
    }


@pytest.mark.parametrize(
    ("version", "values"), [("0.5", (681.0, 5.0, 0.0, 71.0, 136_663.0)), ("0.8", (805.0, 11.0, 0.0, 76.0, 137_443.0))]
)
def test_criterion_writes_medians(version: str, values: tuple[float, ...]) -> None:
    parsed = READERS["bencher_text"].read(Source("bench.txt", golden(f"criterion/bencher_{version}.txt")))
    names = ("sum to 1000", "a name longer than the column", "nothing", "sums/xor/100", "sums/xor/200000")
    assert [b.name for b in parsed.benchmarks] == list(names)
    assert all(b.metric == TIME and not b.samples for b in parsed.benchmarks)
    summaries = [b.summary for b in parsed.benchmarks if b.summary is not None]
    assert [(s.value, s.statistic) for s in summaries] == [(value, "median") for value in values]
    assert [s.standard_deviation for s in summaries] == [None] * len(values)
    assert parsed.notes == ()


def test_thousands_and_fractions() -> None:
    text = "running 2 tests\ntest a::b ... bench:   1,234,567 ns/iter (+/- 8,901)\n"
    text += "test tiny    ... bench:           0.26 ns/iter (+/- 0.01)\ntest result: ok.\n"
    assert parse(text) == {("a::b", "time"): 1_234_567.0, ("tiny", "time"): 0.26}


def test_units_say_what_is_measured_and_which_way_is_good() -> None:
    text = "test mov ... bench:        2,835 cycles/iter (+/- 14)\n"
    text += "test slow ... bench:      12 ms/iter (+/- 1)\n"
    text += "test load ... bench:        9001 MS/s (+/- 69)\n"
    parsed = READERS["bencher_text"].read(Source("bench.txt", text.encode()))
    assert [b.metric for b in parsed.benchmarks] == [
        Metric(name="cycles", unit="cycles", direction=Direction.LOWER_IS_BETTER),
        Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER),
        Metric(name="throughput", unit="MS/s", direction=Direction.HIGHER_IS_BETTER),
    ]


def test_libtest_adds_a_throughput() -> None:
    text = "test read ... bench:   1,000 ns/iter (+/- 20) = 128 MB/s\n"
    assert parse(text) == {("read", "time"): 1000.0, ("read", "throughput"): 128.0}


def test_a_name_written_again_is_measured_again() -> None:
    line = "test f ... bench:   {} ns/iter (+/- 1)\n"
    parsed = READERS["bencher_text"].read(Source("bench.txt", "".join(map(line.format, (10, 11, 12))).encode()))
    assert [b.samples for b in parsed.benchmarks] == [(10.0, 11.0, 12.0)]


def test_lines_without_a_usable_number_are_counted() -> None:
    text = "test a ... bench: 1 ns/iter (+/- 0)\ntest b ... bench: much\ntest c ... bench: 3 apples (+/- 1)\n"
    parsed = READERS["bencher_text"].read(Source("bench.txt", text.encode()))
    assert [b.name for b in parsed.benchmarks] == ["a"]
    assert parsed.notes[0].startswith("left out: bench lines without a number")


def test_one_benchmark_in_two_units_is_refused() -> None:
    text = "test a ... bench: 1 ns/iter (+/- 0)\ntest a ... bench: 1 us/iter (+/- 0)\n"
    with pytest.raises(DataError, match=r"bench\.txt:2.*another unit"):
        READERS["bencher_text"].read(Source("bench.txt", text.encode()))
