"""Rates that are a constant divided by the times of the same samples are judged once."""

from msgspec.structs import replace

from perf_culprit.judge.derived import without_derived
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey, Run

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
RATE = Metric(name="bytes_per_second", unit="bytes/s", direction=Direction.HIGHER_IS_BETTER)
TIMES = (10.0, 11.0, 10.5)


def run(times: tuple[float, ...], *, work: float = 4096.0, rates: tuple[float, ...] = ()) -> Run:
    rates = rates or tuple(work / time for time in times)
    return Run(
        benchmarks=(
            Benchmark.of(name="f", metric=TIME, samples=times),
            Benchmark.of(name="f", metric=RATE, samples=rates),
        )
    )


def metrics(base: Run, head: Run, *, keep: bool = False) -> tuple[set[str], tuple[str, ...]]:
    baseline = Baseline(runs=(base,), source=BaselineSource.FILES)
    kept, target, names = without_derived(baseline, head, keep=lambda _: keep)
    assert kept.runs[0].keys == target.keys
    return {key.metric for key in target.keys}, names


def test_a_rate_of_the_same_samples_is_judged_with_their_time() -> None:
    assert metrics(run(TIMES), run((13.0, 13.5, 13.2))) == ({"time"}, ("bytes_per_second",))


def test_a_rate_stays_where_the_work_changed_too() -> None:
    assert metrics(run(TIMES), run(TIMES, work=8192.0)) == ({"time", "bytes_per_second"}, ())


def test_a_rate_stays_that_was_measured_by_itself_or_that_the_user_configured() -> None:
    assert metrics(run(TIMES, rates=(400.0, 390.0, 399.0)), run(TIMES))[1] == ()
    assert metrics(run(TIMES), run(TIMES), keep=True)[1] == ()


def test_one_sample_or_one_value_is_no_evidence() -> None:
    assert metrics(run((10.0,)), run((10.0,)))[1] == ()


def test_other_benchmarks_are_not_touched() -> None:
    other = Benchmark.of(name="g", metric=RATE, samples=(1.0, 2.0, 3.0))
    head = replace(run(TIMES), benchmarks=(*run(TIMES).benchmarks, other))
    _, target, _ = without_derived(
        Baseline(runs=(run(TIMES),), source=BaselineSource.FILES), head, keep=lambda _: False
    )
    assert MetricKey("g", "bytes_per_second") in target.keys


def test_a_rate_that_is_printed_with_two_decimals_is_derived_where_its_times_differ_by_more() -> None:
    # Go's ns/op and MB/s.
    times = (1_239_636.0, 1_966_406.0, 703_126.0)
    assert metrics(run(times, rates=(20.83, 13.13, 36.72)), run(times[::-1], rates=(36.72, 13.13, 20.83)))[1]
    assert not metrics(run(times, rates=(20.85, 13.13, 36.72)), run(times, rates=(20.83, 13.13, 36.72)))[1]
    steady = (10.0, 10.01, 10.02)
    assert not metrics(run(steady, rates=(3.0, 3.0, 3.0)), run(steady, rates=(3.0, 3.0, 3.0)))[1]
