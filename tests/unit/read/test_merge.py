"""Several files as one run, as executions with rounds, or as numbers under one name."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from perf_culprit.cli.entry import main
from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, MetricKey, Part, Run, Summary
from perf_culprit.model.run_file import encode_run
from perf_culprit.read.results.collect import collect, collect_each, collect_executions, collect_separate
from perf_culprit.read.results.merge import NAME, Read, in_order, join_executions, merge, named_alike
from perf_culprit.read.results.parsed import Parsed
from tests.support.counter_tables import table_of
from tests.support.goldens import golden
from tests.support.measurements import SECONDS

MS = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)


EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def samples(*values: float, metric: Metric = MS, group_sizes: tuple[int, ...] = ()) -> Benchmark:
    return Benchmark.of(name="sort", metric=metric, samples=values, group_sizes=group_sizes)


def summary(value: float) -> Benchmark:
    return Benchmark.of(name="sort", metric=MS, summary=Summary(value=value))


def reads(*parsed: Parsed) -> list[Read]:
    return [Read(place=f"{i}.json", run=p) for i, p in enumerate(parsed)]


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
    reads = [Read(place=place, run=Parsed(counters=(table,))) for place in ("x/a.csv", "y/b.csv", "z/b.csv")]
    run = merge(reads)
    assert [entry.name for entry in run.counters] == ["host (a.csv)", "host (b.csv)", "host (b.csv 2)"]
    assert run.benchmarks == ()


TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)


def written(folder: Path, name: str, *entries: Mapping[str, object]) -> str:
    benchmarks = [
        {"name": "a", "metric": "time", "unit": "s", "direction": "lower_is_better", **entry} for entry in entries
    ]
    (folder / name).write_text(json.dumps({"format": "perf-culprit-run", "version": 1, "benchmarks": benchmarks}))
    return str(folder / name)


def test_two_files_of_a_side_make_a_round() -> None:
    assert [in_order(count) for count in (1, 2, 3, 4, 5)] == [(1,), (1, 1), (1, 1, 1), (1, 1, 2, 2), (1, 1, 2, 2, 2)]


def test_each_file_is_one_group_whatever_its_processes(tmp_path: Path) -> None:
    for name in ("head-1-a", "head-1-b", "head-2-a", "head-2-b"):
        written(tmp_path, f"{name}.json", {"samples": [1.0, 2.0, 3.0], "group_sizes": [1, 2]})
    (benchmark,) = collect_executions([str(tmp_path / "head-*.json")]).benchmarks
    assert benchmark.group_sizes == (3, 3, 3, 3)
    assert benchmark.rounds == (1, 1, 2, 2)
    (merged,) = collect([str(tmp_path / "head-*.json")]).benchmarks
    assert merged.group_sizes == (1, 2) * 4
    assert merged.rounds == ()


def test_a_file_that_knows_its_rounds_keeps_them_and_a_second_one_goes_on(tmp_path: Path) -> None:
    fields: dict[str, object] = {"samples": [1.0, 2.0, 3.0, 4.0], "group_sizes": [2, 2], "rounds": [1, 2]}
    files = [written(tmp_path, name, fields) for name in ("a.json", "b.json")]
    (one,) = collect_executions(files[:1]).benchmarks
    assert (one.group_sizes, one.rounds) == ((2, 2), (1, 2))
    (both,) = collect_executions(files).benchmarks
    assert (both.group_sizes, both.rounds) == ((2, 2, 2, 2), (1, 2, 3, 4))


def test_several_files_of_a_target_are_runs_of_their_own(tmp_path: Path) -> None:
    files = [written(tmp_path, f"{name}.json", {"samples": [1.0, 2.0], "group_sizes": [1, 1]}) for name in "abc"]
    several = collect_separate(files)
    assert len(several.origins) > 1
    assert several.benchmarks[0].group_sizes == (2, 2, 2)
    assert not collect_separate(files[:1]).origins


def test_executions_that_shared_a_job_are_no_runs_of_their_own(tmp_path: Path) -> None:
    fields: dict[str, object] = {"samples": [1.0, 2.0, 3.0, 4.0], "group_sizes": [2, 2], "rounds": [1, 2]}
    assert not collect_separate([written(tmp_path, name, fields) for name in ("a.json", "b.json")]).origins


def test_summaries_become_executions_of_one_number() -> None:
    runs = [
        (f"{value}.json", Run(benchmarks=(Benchmark.of(name="a", metric=TIME, summary=Summary(value=value)),)))
        for value in (1.0, 2.0)
    ]
    (both,) = join_executions(runs).benchmarks
    assert (both.samples, both.group_sizes, both.rounds) == ((1.0, 2.0), (1, 1), (1, 1))
    (alone,) = join_executions(runs[:1], rounds=[1]).benchmarks
    assert (alone.summary, alone.group_sizes, alone.rounds) == (Summary(value=1.0), (), ())


@pytest.mark.parametrize(
    "path",
    ["codspeed/results.json", "pytest_benchmark/saved_without_data.json", "tinybench/tasks.json", "vitest/bench.json"],
)
def test_a_target_of_several_summaries_is_judged_by_the_statistic_of_the_baseline(path: str, tmp_path: Path) -> None:
    files = [tmp_path / "1.json", tmp_path / "2.json"]
    for file in files:
        file.write_bytes(golden(path))
    report, same = tmp_path / "report.json", list(map(str, files))
    main(["compare", "--baseline", *same, "--target", *same, "--json", str(report)])
    changes = [finding["relative_change"] for finding in json.loads(report.read_bytes())["findings"]]
    assert changes == [0.0] * len(changes) != []


def test_a_benchmark_that_failed_once_keeps_its_other_rounds(tmp_path: Path) -> None:
    both = {"samples": [1.0]}, {"name": "b", "samples": [2.0]}
    kept = {"1.json": both, "2.json": both[:1], "3.json": both}
    files = [written(tmp_path, name, *entries) for name, entries in kept.items()]
    benchmarks = {entry.name: entry for entry in join(files).benchmarks}
    assert benchmarks["a"].rounds == (1, 2, 3)
    assert benchmarks["b"].rounds == (1, 3)


def join(files: list[str]) -> Run:
    return join_executions([(file, collect([file])) for file in files], rounds=range(1, len(files) + 1))


@pytest.mark.parametrize("count", [1, 3])
def test_rounds_are_one_per_execution(count: int) -> None:
    run = Run(benchmarks=(Benchmark.of(name="a", metric=TIME, samples=(1.0,)),))
    with pytest.raises(ValueError, match="argument"):
        join_executions([("a", run), ("b", run)], rounds=range(count))


def test_executions_keep_what_a_second_measurement_confirmed() -> None:
    benchmark = Benchmark.of(name="a", metric=TIME, samples=(1.0,))
    judged = Run(benchmarks=(benchmark,), regressions=(benchmark.key,), confirmed=(benchmark.key,))
    for executions in ([("one", judged)], [("one", judged), ("two", judged)]):
        joined = join_executions(executions)
        assert (joined.regressions, joined.confirmed) == ((benchmark.key,), (benchmark.key,))


def numbers_written(folder: Path, *names: str, text: str = "1.0\n1.1\n1.2\n") -> list[str]:
    for name in names:
        (folder / name).write_text(text)
    return [str(folder / name) for name in names]


def test_base_and_head_are_one_benchmark(tmp_path: Path) -> None:
    baseline, target = numbers_written(tmp_path, "base.txt"), numbers_written(tmp_path, "head.txt")
    before, after = named_alike(collect_each(baseline), collect_separate(target))
    assert [benchmark.name for run in (*before, after) for benchmark in run.benchmarks] == [NAME, NAME]
    assert after.benchmarks[0].samples == (1.0, 1.1, 1.2)


def test_several_files_stay_runs_or_executions(tmp_path: Path) -> None:
    baseline, target = (
        numbers_written(tmp_path, "b1.txt", "b2.txt"),
        numbers_written(tmp_path, "h1.txt", "h2.txt", "h3.txt"),
    )
    before, after = named_alike(collect_each(baseline), collect_separate(target))
    assert len(before) == 2
    assert after.origins
    assert (after.benchmarks[0].group_sizes, after.benchmarks[0].rounds) == ((3, 3, 3), (1, 2, 3))
    (paired,), _ = named_alike([collect_executions(baseline)], collect_executions(target))
    assert (paired.benchmarks[0].group_sizes, paired.benchmarks[0].rounds) == ((3, 3), (1, 1))


def test_names_that_both_sides_have_are_kept(tmp_path: Path) -> None:
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
        numbers_written(tmp_path / side, "parse.txt", "render.txt")
    read = collect_each([str(tmp_path / "base" / "*.txt")]), collect_separate([str(tmp_path / "head" / "*.txt")])
    assert named_alike(*read) == read


def test_one_benchmark_that_only_its_file_names_is_compared() -> None:
    latency = Metric(name="latency", unit="ms", direction=Direction.LOWER_IS_BETTER)

    def of(name: str) -> Run:
        return Run(benchmarks=tuple(Benchmark.of(name=name, metric=each, samples=(1.0,)) for each in (TIME, latency)))

    before, after = named_alike([of("monday"), of("tuesday")], of("today"), {"monday", "tuesday", "today"})
    assert {each.name for run in (*before, after) for each in run.benchmarks} == {"today"}
    for others in ({"monday"}, set[str]()):
        assert named_alike([of("monday")], of("today"), others) == ((of("monday"),), of("today"))
    assert named_alike([of("a")], of("a"), {"a"}) == ((of("a"),), of("a"))


def test_what_names_its_benchmarks_is_not_renamed(tmp_path: Path) -> None:
    entry = '[{"name": "parse", "unit": "s", "value": 1.5}]'
    read = (
        collect_each(numbers_written(tmp_path, "base.json", text=entry)),
        collect_separate(numbers_written(tmp_path, "head.txt")),
    )
    assert named_alike(*read) == read


def many_written(path: Path, names: range) -> str:
    summary = Summary(value=1.0)
    benchmarks = (Benchmark.of(name=f"b{number}", metric=SECONDS, summary=summary) for number in names)
    path.write_bytes(encode_run(Run(benchmarks=tuple(benchmarks))))
    return str(path)


@pytest.mark.slow
def test_the_largest_run_is_read_and_one_metric_more_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = many_written(tmp_path / "first.json", range(FILE_LIMITS.metrics))
    out = str(tmp_path / "out.json")
    assert main(["collect", first, "--json", out]) == 0
    capsys.readouterr()
    more = many_written(tmp_path / "more.json", range(FILE_LIMITS.metrics, FILE_LIMITS.metrics + 1))
    assert main(["collect", first, more, "--json", str(tmp_path / "none.json")]) == 3
    error = capsys.readouterr().err
    assert f"{first} and 1 more: holds 50,001 metrics, and a run may have 50,000" in error
    assert "--suite" in error
    assert not (tmp_path / "none.json").exists()


@pytest.mark.slow
def test_a_run_file_of_too_many_metrics_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = many_written(tmp_path / "large.json", range(FILE_LIMITS.metrics + 1))
    assert main(["compare", "--baseline", large, "--target", large]) == 3
    assert f"{large}: holds 50,001 metrics" in capsys.readouterr().err


def part(index: int, *names: str, count: int = 3, division: str = "d", cpu: str = "A", commit: str = "a" * 40) -> Run:
    return Run(
        benchmarks=tuple(
            Benchmark.of(name=name, metric=MS, samples=(1.0, 2.0), group_sizes=(1, 1), rounds=(1, 2)) for name in names
        ),
        part=Part(indices=(index,), count=count, division=division),
        commit=commit,
        job=f"job-{index}",
        environment=Environment(components={"cpu": cpu, "os": "L"}),
    )


def parts_in(folder: Path, *runs: Run) -> list[str]:
    for number, run in enumerate(runs):
        (folder / f"{number}.json").write_bytes(encode_run(run))
    return [str(folder / f"{number}.json") for number in range(len(runs))]


def test_parts_are_one_run_whose_rounds_are_the_same(tmp_path: Path) -> None:
    files = parts_in(tmp_path, part(2, "b", cpu="B"), part(1, "a"), part(3, "c"))
    for run in (collect_executions(files), collect_separate(files), collect(files), *collect_each(files)):
        assert [benchmark.name for benchmark in run.benchmarks] == ["a", "b", "c"]
        assert {benchmark.rounds for benchmark in run.benchmarks} == {(1, 2)}, "parts are no blocks"
        assert run.environment.components == {"cpu": "A / B / A", "os": "L"}
        assert (run.part, run.notes, run.origins) == (None, (), ())


def test_what_parts_lack_is_kept(tmp_path: Path) -> None:
    files = parts_in(tmp_path, part(3, "c"), part(1, "a"))
    run = collect_executions(files)
    assert run.part == Part(indices=(1, 3), count=3, division="d")
    assert run.part.missing == (2,)
    (tmp_path / "joined.json").write_bytes(encode_run(run))
    (tmp_path / "late.json").write_bytes(encode_run(part(2, "b")))
    whole = collect_executions([str(tmp_path / "joined.json"), str(tmp_path / "late.json")])
    assert whole.part is None
    assert len(whole.benchmarks) == 3


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (part(1, "b"), "has part 1, as"),
        (part(2, "b", count=4), "its number of parts is `4`, that of"),
        (part(2, "b", commit="b" * 40), "its commit is `bbbb"),
        (structs.replace(part(2, "b"), suite="other"), "its suite is `other`"),
        (part(2, "b", division="e"), "its list is `e`"),
        (part(2, "a"), "has `a`, as"),
    ],
)
def test_what_is_no_other_part_is_refused(tmp_path: Path, other: Run, told: str) -> None:
    with pytest.raises(DataError, match=told) as refused:
        collect_executions(parts_in(tmp_path, part(1, "a"), other))
    assert str(refused.value.place).endswith("1.json")
    assert "give each part of one run once" in str(refused.value.next_step)


@pytest.mark.parametrize("indices", [(), (4,), (0,), (2, 1), (1, 1)])
def test_a_part_of_none_is_refused(tmp_path: Path, indices: tuple[int, ...]) -> None:
    data = encode_run(part(1, "a")).replace(b'"indices":[1]', json.dumps({"indices": indices}).encode()[1:-1])
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(DataError, match="part"):
        collect([str(tmp_path / "run.json")])
