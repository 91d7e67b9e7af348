from datetime import UTC, datetime

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, MetricKey, Summary
from perf_culprit.read.results.merge import Read, merge
from perf_culprit.read.results.parser import Parsed
from tests.support.counter_tables import table_of

MS = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def samples(*values: float, metric: Metric = MS, group_sizes: tuple[int, ...] = ()) -> Benchmark:
    return Benchmark.of(name="sort", metric=metric, samples=values, group_sizes=group_sizes)


def summary(value: float) -> Benchmark:
    return Benchmark.of(name="sort", metric=MS, summary=Summary(value=value))


def reads(*parsed: Parsed) -> list[Read]:
    return [Read(place=f"{i}.json", parsed=p) for i, p in enumerate(parsed)]


def of(*benchmarks: Benchmark) -> list[Read]:
    return reads(*(Parsed(benchmarks=(benchmark,)) for benchmark in benchmarks))


def test_one_file_is_left_as_it_is() -> None:
    assert merge(of(samples(1.0, 2.0))).benchmarks == (samples(1.0, 2.0),)


def test_one_file_that_measured_a_metric_in_two_units_is_refused() -> None:
    other = samples(1.0, metric=Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER))
    with pytest.raises(DataError, match=r"0\.json: `sort` \(time\) stands there more than once, in ms and s"):
        merge(reads(Parsed(benchmarks=(samples(2.0), other))))


def test_the_same_metric_in_two_files_is_one_more_group() -> None:
    (merged,) = merge(of(samples(1.0, 2.0), samples(3.0, 4.0, 5.0, group_sizes=(1, 2)), samples(6.0))).benchmarks
    assert merged.samples == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert merged.group_sizes == (2, 1, 2, 1)


def test_summaries_of_several_files_are_samples_and_it_is_said() -> None:
    run = merge(of(summary(1.0), summary(2.0), summary(3.0)))
    assert run.benchmarks[0].samples == (1.0, 2.0, 3.0)
    assert run.benchmarks[0].group_sizes == (1, 1, 1)
    assert any("counts as one sample: 1" in note for note in run.notes)


@pytest.mark.parametrize("pair", [(samples(1.0), summary(1.0)), (summary(1.0), samples(1.0))])
def test_samples_and_summaries_do_not_mix(pair: tuple[Benchmark, Benchmark]) -> None:
    with pytest.raises(DataError, match=r"1\.json: .*0\.json"):
        merge(of(*pair))
    with pytest.raises(DataError):
        merge(of(*pair, pair[1]))


@pytest.mark.parametrize(
    "other",
    [
        Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER),
        Metric(name="time", unit="ms", direction=Direction.HIGHER_IS_BETTER),
    ],
)
def test_another_unit_or_direction_names_both_files(other: Metric) -> None:
    with pytest.raises(DataError, match=r"1\.json: `sort` \(time\).*0\.json"):
        merge(of(samples(1.0), samples(1.0, metric=other)))


def test_facts_of_the_run_come_from_the_files_that_know_them() -> None:
    a = Parsed(benchmarks=(samples(1.0),), time=LATE, commit="a" * 40, suite="core", job="j")
    b = Parsed(benchmarks=(), time=EARLY, regressions=(MetricKey("x", "time"),), notes=("noted",))
    run = merge(reads(a, b))
    assert (run.time, run.commit, run.suite, run.job) == (EARLY, "a" * 40, "core", None)
    assert run.regressions == (MetricKey("x", "time"),)
    assert run.notes == ("noted",)
    assert merge(reads(a)).job == "j"


def test_the_caller_overrules_the_files() -> None:
    parsed = Parsed(benchmarks=(samples(1.0),), time=LATE, commit="a" * 40, suite="core", job="j")
    run = merge(reads(parsed), time=EARLY, commit="b" * 40, suite="other", job="k")
    assert (run.time, run.commit, run.suite, run.job) == (EARLY, "b" * 40, "other", "k")


def test_two_commits_or_suites_are_not_one_run() -> None:
    with pytest.raises(DataError, match=r"1\.json: commit is `b+`, but `a+` in 0\.json"):
        merge(reads(Parsed(benchmarks=(), commit="a" * 40), Parsed(benchmarks=(), commit="b" * 40)))
    with pytest.raises(DataError, match="suite"):
        merge(reads(Parsed(benchmarks=(), suite="a"), Parsed(benchmarks=(), suite="b")))


def test_environments_complete_each_other_and_differences_are_noted() -> None:
    a = Parsed(benchmarks=(), environment=Environment(components={"cpu": "A"}))
    b = Parsed(benchmarks=(), environment=Environment(components={"cpu": "B", "python": "3.13"}))
    run = merge(reads(a, b), environment=Environment(components={"os": "Linux"}))
    assert run.environment.components == {"cpu": "A", "python": "3.13", "os": "Linux"}
    assert run.notes == ("1.json and 0.json were measured in different environments (cpu)",)


def test_a_machine_that_a_file_contradicts_completes_nothing() -> None:
    parsed = Parsed(benchmarks=(), environment=Environment(components={"cpu": "A"}))
    run = merge(reads(parsed), environment=Environment(components={"cpu": "C", "os": "Linux"}))
    assert run.environment.components == {"cpu": "A"}
    assert run.notes == (
        "0.json: not measured by this job (cpu: A); what it does not say of its machine stays unknown",
    )


def test_our_own_run_files_are_complete() -> None:
    run = merge(reads(Parsed(benchmarks=(), suite="a")), environment=Environment(components={"os": "Linux"}))
    assert run.environment.components == {}
    assert run.notes == ()


def test_tables_of_one_name_are_told_apart_by_their_files() -> None:
    table = table_of(times_s=[1], a=[1])
    reads = [Read(place=place, parsed=Parsed(counters=(table,))) for place in ("x/a.csv", "y/b.csv", "z/b.csv")]
    run = merge(reads)
    assert [entry.name for entry in run.counters] == ["host (a.csv)", "host (b.csv)", "host (b.csv 2)"]
    assert run.benchmarks == ()
