"""Criterion, critcmp, cargo's text and divan, beyond their golden files."""

import json
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, Metric, Run, Summary
from perf_culprit.read.results.collect import collect, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import FOLDER, golden
from tests.support.readings import times

TREE = FOLDER / "criterion" / "tree"


def tree(*, root: str = "target/criterion") -> dict[str, Source]:
    paths = (path for path in sorted(TREE.rglob("*")) if path.is_file())
    sources = {str(path.relative_to(TREE)): path.read_bytes() for path in paths}
    return {name: Source(f"{root}/{name}", data) for name, data in sources.items()}


def read(sources: dict[str, Source]) -> Run:
    return collect_sources(list(sources.values()))


def test_samples_are_times_per_iteration() -> None:
    sources = tree()
    run = read(sources)
    assert [b.name for b in run.benchmarks] == ["sum to 1000", "sums/xor/100", "sums/xor/200000"]
    sample = sources["sums/xor/100/new/sample.json"].json()
    expected = tuple(total / count for total, count in zip(sample["times"], sample["iters"], strict=True))
    assert run.benchmarks[1].samples == expected
    assert len(expected) == 10
    assert (run.benchmarks[1].metric.name, run.benchmarks[1].metric.unit) == ("time", "ns")
    assert run.notes == ()


def test_a_directory_on_disk() -> None:
    assert collect([str(TREE)]).benchmarks == read(tree()).benchmarks


def test_report_files_are_silently_part_of_the_tree() -> None:
    sources = tree()
    for name in (
        "report/index.html",
        "sums/report/lines.svg",
        "sums/xor/100/new/raw.csv",
        "sums/xor/100/new/tukey.json",
    ):
        sources[name] = Source(f"target/criterion/{name}", b"<html>1</html>")
    assert read(sources).notes == ()


def test_names_come_from_the_path_without_benchmark_json() -> None:
    sources = {name: source for name, source in tree().items() if "benchmark.json" not in name}
    assert [b.name for b in read(sources).benchmarks] == ["sum to 1000", "sums/xor/100", "sums/xor/200000"]


def test_only_the_newest_measurement_counts() -> None:
    sources = tree()
    expected = read(sources).benchmarks
    older = [name for name in sources if "/base/" in name]
    for name in older:
        named = name.replace("/base/", "/main/")
        sources[named] = Source(f"target/criterion/{named}", sources[name].data)
    assert read(sources).benchmarks == expected


def test_a_lone_earlier_measurement_is_read_and_several_are_refused() -> None:
    sources = {name: source for name, source in tree().items() if name.startswith("sums/xor/100/base/")}
    assert [b.name for b in read(sources).benchmarks] == ["sums/xor/100"]
    for name in list(sources):
        named = name.replace("/base/", "/main/")
        sources[named] = Source(f"target/criterion/{named}", sources[name].data)
    with pytest.raises(DataError, match="one of several measurements"):
        read(sources)


def test_a_change_is_no_measurement() -> None:
    sources = {name: source for name, source in tree().items() if "/change/" in name}
    assert sources
    with pytest.raises(DataError, match="holds no benchmark"):
        read(sources)


def test_estimates_do_where_samples_are_missing() -> None:
    sources = {name: source for name, source in tree().items() if not name.endswith("sample.json")}
    run = read(sources)
    summary = run.benchmarks[0].summary
    estimates = sources["sum to 1000/new/estimates.json"].json()
    assert summary is not None
    assert summary.value == estimates["mean"]["point_estimate"]
    assert summary.standard_deviation == estimates["std_dev"]["point_estimate"]
    assert summary.confidence_level == 0.95


def test_a_file_given_alone_needs_a_path_for_its_name(tmp_path: Path) -> None:
    sample = tree()["sums/xor/100/new/sample.json"]
    assert [b.name for b in collect_sources([sample]).benchmarks] == ["sums/xor/100"]
    with pytest.raises(DataError, match="does not hold its benchmark's name"):
        READERS["criterion"].read(Source("sample.json", sample.data))
    alone = tmp_path / "criterion" / "f" / "new" / "kept.json"
    alone.parent.mkdir(parents=True)
    alone.write_bytes(sample.data)
    assert [b.name for b in collect([str(alone)]).benchmarks] == ["f"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iters": [1.0]}, "holds 2 times for 1 samples"),
        ({"iters": [1.0, 0.0]}, "without iterations"),
        ({"iters": [], "times": []}, "holds no samples"),
        ({"times": [1.0, "x"]}, "is text, not a number"),
        ({"times": [1.0, -1.0]}, "cannot be negative"),
        ({"iters": [1e-320, 1.0], "times": [1e300, 1.0]}, "not a finite number"),
    ],
)
def test_broken_samples_are_refused(change: dict[str, object], message: str) -> None:
    content = {"sampling_mode": "Flat", "iters": [1.0, 2.0], "times": [3.0, 4.0], **change}
    source = Source("criterion/f/new/sample.json", json.dumps(content).encode())
    with pytest.raises(DataError, match=message):
        READERS["criterion"].read(source)


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


def test_the_golden_export() -> None:
    parsed = READERS["critcmp"].read(Source("export.json", golden("critcmp/export.json")))
    assert [b.name for b in parsed.benchmarks] == [
        "a name longer than the column",
        "nothing",
        "sum to 1000",
        "sums/xor/100",
        "sums/xor/200000",
    ]
    assert parsed.benchmarks[2].summary == Summary(
        value=736.7900501916547,
        statistic="mean",
        standard_deviation=213.51741012642293,
        confidence_interval=(631.6264430138684, 877.4553702435624),
        confidence_level=0.95,
    )
    assert {(b.metric.name, b.metric.unit) for b in parsed.benchmarks} == {("time", "ns")}


def test_an_entry_without_a_mean_is_refused_with_its_place() -> None:
    root = json.loads(golden("critcmp/export.json"))
    del root["benchmarks"]["nothing"]["criterion_estimates_v1"]["mean"]
    with pytest.raises(DataError, match=r"export\.json: benchmarks\.nothing\.criterion_estimates_v1: has no `mean`"):
        READERS["critcmp"].read(Source("export.json", json.dumps(root).encode()))


TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)


def parse(text: str) -> dict[tuple[str, str], float]:
    return {
        (b.name, b.metric.name): b.value
        for b in READERS["bencher_text"].read(Source("bench.txt", text.encode())).benchmarks
    }


@pytest.mark.parametrize(
    ("version", "values"), [("0.5", (681.0, 5.0, 71.0, 136_663.0)), ("0.8", (805.0, 11.0, 76.0, 137_443.0))]
)
def test_criterion_writes_medians(version: str, values: tuple[float, ...]) -> None:
    parsed = READERS["bencher_text"].read(Source("bench.txt", golden(f"criterion/bencher_{version}.txt")))
    names = ("sum to 1000", "a name longer than the column", "sums/xor/100", "sums/xor/200000")
    assert parsed.notes == ("left out because the tool printed them as 0: `nothing` time",)
    assert [b.name for b in parsed.benchmarks] == list(names)
    assert all(b.metric == TIME and not b.samples for b in parsed.benchmarks)
    summaries = [b.summary for b in parsed.benchmarks if b.summary is not None]
    assert [(s.value, s.statistic) for s in summaries] == [(value, "median") for value in values]
    assert [s.standard_deviation for s in summaries] == [None] * len(values)


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


def test_divan_medians_are_named_by_their_path() -> None:
    parsed = READERS["divan"].read(Source("d.txt", golden("divan/table.txt")))
    assert times(parsed) == {"sorted::10": 36.49, "sorted::1000": 8697.0, "sum": 1.092, "text::repeat": 44.32}
    assert parsed.notes == ("left out: throughputs (the same times said again) and allocations, lines: 1",)
    summary = parsed.benchmarks[0].summary
    assert summary is not None
    assert (summary.minimum, summary.maximum, summary.count) == (35.08, 57.77, 20)


def test_divan_tables_of_several_binaries_keep_their_names_apart() -> None:
    table = golden("divan/table.txt")
    other = table.replace(b"d              fastest", b"other          fastest")
    assert set(times(READERS["divan"].read(Source("d.txt", table + other)))) >= {"d::sum", "other::sum"}
    twice = READERS["divan"].read(Source("d.txt", table + table)).benchmarks
    assert [len(benchmark.samples) for benchmark in twice] == [2, 2, 2, 2]
