import json
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Run
from perf_culprit.read.results.collect import collect, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import FOLDER

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
